package prompt

import (
	"kxm/lib/fault"
	"kxm/lib/ndjson"
)

// MainBudget is the most code points of what a side question is told of the main run.
const MainBudget = 40_000

// Launched is what a run starts with.
type Launched struct {
	System  string
	Context string // of a side question: what its main run was given
	// Update is what to append to the conversation's history; empty: nothing to say.
	Update string
	// Snapshot belongs to the message that carries the update; nil for a side question,
	// which has no history of its own.
	Snapshot *Snapshot
	// Compared says whether there was a snapshot to compare the system prompt with;
	// First names the first section that differs, "" if none does.
	Compared bool
	First    string
	Pack     *Pack
}

// Start compiles an input and compares it with what the conversation was given
// before, nil for nothing. After a compaction, which took the updates away, everything
// is sent again; only the system prompt is compared.
func Start(in *Input, before *Snapshot, compacted bool) (*Launched, error) {
	p, err := compile(in)
	if err != nil {
		return nil, err
	}
	l := &Launched{Pack: p}
	if p.Mode == ModeSideQuestion {
		before = nil
		l.Context = sideContext(in.Launch.Main)
	}
	delivered := before
	if compacted {
		delivered = nil
	}
	l.System, l.Update = p.deliver(delivered, false)
	if p.Mode == ModeSideQuestion {
		return l, nil
	}
	l.Snapshot = p.snapshot(l.System)
	if before != nil {
		l.Compared = true
		l.First = firstChange(before, l.Snapshot)
	}
	return l, nil
}

// deliver splits the pack and notes in it how: what the system prompt and the update
// hold, and what each section occupies there. The texts are empty if only that is
// wanted.
func (p *Pack) deliver(before *Snapshot, silent bool) (system, update string) {
	d := &Delivery{}
	known := map[string]string{}
	if before != nil {
		for _, s := range before.Sections {
			known[s.ID] = s.Digest
		}
	}
	given := func(s *Section) bool {
		sum, ok := known[s.ID]
		return ok && s.Part == Dynamic && sum == s.digest()
	}
	withdrawn := p.withdrawn(before, d)
	stable := p.system(&layout{silent: silent}, true)
	changed := p.update(&layout{silent: silent}, func(s *Section) bool {
		if given(s) {
			return false
		}
		d.Updated = append(d.Updated, s.ID)
		return true
	}, withdrawn)
	system, update = stable.end(), changed.end()
	for _, s := range stable.sizes {
		d.System = append(d.System, s.ID)
	}
	d.Sizes = Sizes{true, stable.sizes, changed.sizes, stable.framing, changed.framing}
	p.Delivery = d
	return system, update
}

// withdrawn returns the titles of the sections that were given before and are gone.
func (p *Pack) withdrawn(before *Snapshot, d *Delivery) []string {
	if before == nil {
		return nil
	}
	here := map[string]bool{}
	for i := range p.Sections {
		if p.Sections[i].Part == Dynamic {
			here[p.Sections[i].ID] = true
		}
	}
	var titles []string
	c := newCleaner()
	for _, s := range before.Sections {
		if here[s.ID] {
			continue
		}
		title := s.Title
		if title == "" {
			title = s.ID
		}
		// A snapshot comes from a history that others write to.
		titles = append(titles, Clip(c.clean(s.ID, title), maxSectionTitle))
		d.Withdrawn = append(d.Withdrawn, c.clean(s.ID, s.ID))
	}
	return titles
}

// firstChange names the first section of the system prompt that differs, "framing" if
// none does but the whole, and "" if it is the same.
func firstChange(before, now *Snapshot) string {
	if before.System == now.System {
		return ""
	}
	a, b := before.SystemSections, now.SystemSections
	for i := range max(len(a), len(b)) {
		switch {
		case i == len(b):
			return a[i].ID
		case i == len(a) || a[i].ID != b[i].ID || a[i].Digest != b[i].Digest:
			return b[i].ID
		}
	}
	return framingID
}

// sideContext is what a side question is told of the main run, as material.
func sideContext(m *MainRun) string {
	if m == nil {
		return ""
	}
	c := newCleaner()
	var pieces []piece
	for _, part := range []struct{ name, text string }{{"main.system", m.System}, {"main.update", m.Update}} {
		if part.text != "" {
			pieces = append(pieces, piece{head: frame(part.name), text: c.clean(idSideQuestion, part.text), data: true})
		}
	}
	if len(pieces) == 0 {
		return ""
	}
	intro := frame("main.intro")
	body, _ := material(pieces, MainBudget-length(intro)-len(blank)-len("\n"))
	return intro + blank + body + "\n"
}

// Expect refuses a system prompt of another digest than the one expected.
func (l *Launched) Expect(want string) error {
	got := digest(l.System)
	if got == want {
		return nil
	}
	e := fault.New(fault.PromptPrefixChanged, "the system prompt is %s, not %s as expected", got, fault.Quote(want))
	if l.First != "" {
		e = e.WithHint("the first section that differs from the snapshot is %s", l.First)
	}
	return e
}

// AppendJSON appends the answer as one compact JSON object.
func (l *Launched) AppendJSON(dst []byte) []byte {
	o := ndjson.NewObject(dst)
	o.Text("schema", LaunchSchema)
	o.Text("system", l.System)
	o.Optional("context", l.Context)
	o.Optional("update", l.Update)
	if l.Snapshot != nil {
		o.Name("snapshot")
		o.Bytes = l.Snapshot.AppendJSON(o.Bytes)
	}
	if l.Compared {
		o.Name("prefix")
		prefix := ndjson.NewObject(o.Bytes)
		prefix.Flag("same", l.First == "")
		prefix.Optional("first", l.First)
		o.Bytes = prefix.End()
	}
	o.Name("pack")
	o.Bytes = l.Pack.AppendJSON(o.Bytes)
	return o.End()
}

// Block returns a dynamic section of ours as an update would hold it, and "" if the
// input gives none.
func Block(in *Input, id string) (string, error) {
	p, err := Compile(in)
	if err != nil {
		return "", err
	}
	l := &layout{}
	for i := range p.Sections {
		if s := &p.Sections[i]; s.ID == id && s.Part != Stable {
			l.section(s)
		}
	}
	return l.end(), nil
}

// BlockIDs are the sections of which Block makes sense.
func BlockIDs() []string {
	return []string{idSessionState, idReferences, idSkills, idPlan, idContinuation, idSubagents, idWiki}
}
