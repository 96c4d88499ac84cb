package prompt

import (
	"slices"

	"kxm/lib/capability"
	"kxm/lib/descriptor"
	"kxm/lib/fault"
	"kxm/lib/prompt/text"
)

// compiler is one compilation.
type compiler struct {
	*cleaner
	in     *Input
	owners *descriptor.Set
	tools  capability.Set
	pack   *Pack
	values map[string]string // of the placeholders of fixed texts
}

// Compile builds the pack of an input, delivered as to a new conversation. The same
// input gives the same pack. The error is a *fault.Error that names the field.
func Compile(in *Input) (*Pack, error) {
	p, err := compile(in)
	if err == nil {
		p.deliver(nil, true)
	}
	return p, err
}

// compile is Compile without a delivery.
func compile(in *Input) (*Pack, error) {
	c, err := newCompiler(in)
	if err != nil {
		return nil, err
	}
	if in.Launch.Mode == ModeSideQuestion {
		c.fixed(rowIdentity, "identity")
		c.fixed(rowSideQuestion, idSideQuestion)
		c.fixed(rowReporting, idReporting)
	} else if err := c.all(); err != nil {
		return nil, err
	}
	p := c.pack
	slices.SortStableFunc(p.Sections, func(a, b Section) int { return a.Order - b.Order })
	c.attribute()
	p.Redactions = c.redactions()
	p.makeID()
	return p, nil
}

func newCompiler(in *Input) (*compiler, error) {
	l := &in.Launch
	c := &compiler{cleaner: newCleaner(), in: in}
	if in.Capabilities != nil {
		c.tools = *in.Capabilities
	} else if l.Mode != ModeSideQuestion {
		return nil, fault.New(fault.PromptCapabilitiesInvalid, "the input has no capability set, without which no tool may be described").
			On("capabilities").WithHint("kxm-plugin capability show --run DIR prints a run's set")
	}
	var err error
	if c.owners, err = descriptor.NewSet(in.Descriptors...); err != nil {
		return nil, refused(within(recoded(err, fault.PromptInputInvalid), "descriptors"))
	}
	c.pack = &Pack{
		ProductName: c.cleanName(idIdentity, l.ProductName, MaxName), Mode: l.Mode, CompiledAt: l.At,
		Profile: c.cleanName("profile", l.Profile, MaxName),
	}
	c.values = map[string]string{}
	set := func(name, section, value string, most int) {
		if value != "" {
			c.values[name] = c.cleanName(section, value, most)
		}
	}
	c.values["product"] = c.pack.ProductName
	set("model", idIdentity, l.Model, MaxName)
	if l.Mode != ModeSideQuestion {
		set("dataRoot", idTools, l.DataRoot, MaxPath)
		if l.Standard != nil {
			set("cwd", idWorkspace, l.Standard.Cwd, MaxPath)
			set("project", idWorkspace, l.Standard.Project, MaxName)
		}
	}
	if v := in.Variant; v != nil {
		c.pack.Harness = &Harness{c.cleanName("harness", v.Scope, MaxLabel), c.cleanName("harness", v.Fingerprint, MaxLabel)}
	}
	return c, nil
}

func (c *compiler) allows(tool string) bool { return c.tools.Allows(tool) }

// all adds the sections of any run but a side question: ours in the order of the
// table, then the variant's, then the application's, which is their order among
// equals.
func (c *compiler) all() error {
	l := &c.in.Launch
	c.fixed(rowIdentity, "identity")
	if l.Standard != nil {
		for _, r := range standardTexts {
			c.fixed(r, r.id)
		}
	}
	if l.Mode == ModePlan {
		c.fitted(rowPlan, l.Plan, nil)
	}
	if l.Handoff != nil {
		body, cut := l.Handoff.body(c.cleaner)
		c.add(rowContinuation, body, nil, cut)
	}
	if l.SessionState != nil && !l.Child {
		body, cut := Fit(c.sessionState(l.SessionState), rowSessionState.budget, "")
		c.add(rowSessionState, body, nil, cut)
	}
	if len(l.References) > 0 {
		body, cut, sources := c.references(l.References)
		c.add(rowReferences, body, sources, cut)
	}
	if len(l.RequiredSkills) > 0 {
		body, cut, sources := c.skills(l.RequiredSkills)
		c.add(rowSkills, body, sources, cut)
	}
	if l.Spawn != nil {
		body, cut := Fit(c.subagents(l.Spawn), rowSpawn.budget, "")
		c.add(rowSpawn, body, nil, cut)
	}
	c.fitted(rowWiki, l.Wiki, nil)
	if err := c.describeTools(); err != nil {
		return err
	}
	c.fixed(rowReporting, idReporting)
	c.variant()
	c.application()
	return nil
}

func (c *compiler) variant() {
	v := c.in.Variant
	if v == nil {
		return
	}
	for _, s := range v.Sections {
		if s.ID == idSubagents && c.in.Launch.Spawn != nil {
			continue // the dynamic section lists every profile there is
		}
		r := variantRow(s)
		r.title = c.cleanName(s.ID, r.title, maxSectionTitle)
		// A mask can be longer than what it hides: a text at its limit keeps it.
		body, cut := Fit(c.clean(s.ID, s.Body), r.budget, "")
		c.add(r, body, variantSources(s.ID, c.pack.Harness), cut)
	}
}

func (c *compiler) application() {
	for i := range c.in.Sections {
		s := &c.in.Sections[i]
		r := row{s.ID, s.Order, Stable, s.Budget, c.cleanName(s.ID, s.Owner, MaxLabel), c.cleanName(s.ID, s.Title, maxSectionTitle)}
		if s.Dynamic {
			r.part = Dynamic
		}
		sources := make([]string, len(s.Sources))
		for i, source := range s.Sources {
			sources[i] = c.clean(s.ID, source)
		}
		c.fitted(r, s.Body, sources)
	}
}

// fixed adds a fixed text, which is never cut.
func (c *compiler) fixed(r row, id string) {
	t, ok := text.Fixed(id)
	if !ok {
		panic("prompt: no fixed text " + id) // a defect; a test compiles every one
	}
	r.title = t.Title
	c.add(r, t.Fill(c.values), []string{textSource(id, t.Digest)}, 0)
}

// fitted adds a text from outside. The note of a cut names its first source.
func (c *compiler) fitted(r row, body string, sources []string) {
	source := ""
	if len(sources) > 0 {
		source = sources[0]
	}
	body, cut := Fit(c.clean(r.id, body), r.budget, source)
	c.add(r, body, sources, cut)
}

// add adds a section unless it is empty.
func (c *compiler) add(r row, body string, sources []string, cut int) {
	if body == "" {
		return
	}
	c.pack.Sections = append(c.pack.Sections, Section{
		ID: r.id, Title: r.title, Body: body, Order: r.order, Part: r.part, Owner: r.owner, Sources: sources,
		Budget: r.budget, Size: length(body), Cut: cut,
	})
}

// attribute lists what no descriptor owns: sections in their order, then groups, then
// tools.
func (c *compiler) attribute() {
	p := c.pack
	for i := range p.Sections {
		s := &p.Sections[i]
		if s.Owner != ownVariant && !c.owners.Declares(s.Owner) {
			p.Unattributed = append(p.Unattributed, Unattributed{"section", s.ID})
		}
	}
	declared := map[string]bool{}
	for _, g := range p.ToolGroups {
		declared[g.ID] = true
		if g.Owner == "" {
			p.Unattributed = append(p.Unattributed, Unattributed{"group", g.ID})
		}
	}
	if p.Mode == ModeSideQuestion {
		return // it has no tools
	}
	for _, tool := range c.tools.Tools {
		if group, ok := c.owners.GroupOf(tool); ok && !declared[group] {
			declared[group] = true
			p.Unattributed = append(p.Unattributed, Unattributed{"group", group})
		}
	}
	for _, tool := range c.tools.Tools {
		if _, ok := c.owners.ToolOwner(tool); !ok {
			p.Unattributed = append(p.Unattributed, Unattributed{"tool", c.clean(idTools, tool)})
		}
	}
}
