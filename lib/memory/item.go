package memory

import (
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"kxm/lib/fault"
	"kxm/lib/item"
	"kxm/lib/ndjson"
	"kxm/lib/redact"
)

// Item returns the record as a context item of a project, redacted. folder is the
// path of the .kxm folder from the top of the repository, "" outside one; blob is
// the object id of committed content, else "".
//
// The error says why the record cannot be an item: it claims more than its origin
// may (ContextAuthorityViolation), or a text or list is beyond an item's limits.
// The summary's limit is checked before redaction.
func (r *Record) Item(project, folder, blob string) (item.Item, error) {
	it := item.Item{
		ID:      "mem_" + r.ID,
		Kind:    item.KindKnowledge,
		Project: project,
		Summary: r.Summary,
		Provenance: item.Provenance{
			SourceType: r.Origin(),
			SourceRef:  r.Provenance.SourceRef,
			Blob:       blob,
		},
		Authority:    item.AuthorityInstruction,
		Confidence:   r.Confidence,
		Scope:        r.Scope,
		Status:       item.StatusCurrent,
		EvidenceRefs: r.EvidenceRefs,
		MemoryKind:   label(r.Kind),
	}
	if r.Scope == item.ScopeOperator {
		it.Project = item.SharedProject
	}
	if r.Authority == AuthorityEvidence {
		it.Authority = item.AuthorityEvidence
	}
	if !r.Active() {
		it.Status = item.StatusSuperseded
	}
	if it.Provenance.SourceRef == "" {
		it.Provenance.SourceRef = "memory:" + r.File
	}
	if folder != "" {
		it.Provenance.Path = path.Join(folder, "memory", r.File)
	}
	for _, id := range r.Supersedes {
		it.Supersedes = append(it.Supersedes, "mem_"+id)
	}
	if ceiling := it.Provenance.SourceType.Ceiling(); it.Authority.Rank() > ceiling.Rank() {
		return item.Item{}, fault.New(fault.ContextAuthorityViolation, "memory record %s claims authority %s, but its origin %s allows at most %s",
			echo(r.File), r.Authority, it.Provenance.SourceType, ceiling).At(redacted(r.File), r.Line("authority"), 0).On("authority")
	}
	if err := it.Check(); err != nil {
		return item.Item{}, r.noItem(err)
	}
	var inSummary, inSource []redact.Finding
	it.Summary, inSummary = redact.Redact(it.Summary)
	it.Provenance.SourceRef, inSource = redact.Redact(it.Provenance.SourceRef)
	refs, masked := redactUnique(it.EvidenceRefs)
	if len(inSummary) == 0 && len(inSource) == 0 && !masked {
		return it, nil
	}
	it.EvidenceRefs = refs
	// A mask may be longer than what it hides. An item beyond its limits would make
	// a reader refuse the whole pool.
	if err := it.Check(); err != nil {
		return item.Item{}, r.noItem(err)
	}
	return it, nil
}

// label returns a kind as an item carries it, redacted: on one line, and no longer than
// an item's labels. It is a free text, and must not keep a fact from being served.
func label(kind string) string {
	kind = redacted(strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, kind)))
	if utf8.RuneCountInString(kind) > item.MaxLabel {
		kind = strings.TrimSpace(string([]rune(kind)[:item.MaxLabel]))
	}
	return kind
}

// noItem says that no item can be made of the record.
func (r *Record) noItem(err error) error {
	e := fault.New(fault.InvalidMemoryFile, "memory record %s cannot become a context item: %s", echo(r.File), redacted(reason(err))).At(redacted(r.File), 1, 0)
	e.Err = err
	return e
}

// redactUnique redacts each text of an id list, which holds no text twice: two
// secrets of one kind become one mask.
func redactUnique(list []string) (clean []string, changed bool) {
	clean = redactAll(list)
	if slices.Equal(clean, list) {
		return list, false
	}
	unique := clean[:0:0]
	for _, s := range clean {
		if !slices.Contains(unique, s) {
			unique = append(unique, s)
		}
	}
	return unique, true
}

// redactAll redacts each text; the list is copied only if one changes.
func redactAll(list []string) []string {
	copied := false
	for i, s := range list {
		clean, found := redact.Redact(s)
		if len(found) == 0 {
			continue
		}
		if !copied {
			list, copied = slices.Clone(list), true
		}
		list[i] = clean
	}
	return list
}

// Redacted returns a copy of the record whose texts are redacted, for printing.
func (r *Record) Redacted() *Record {
	c := *r
	for _, s := range []*string{&c.Kind, &c.Summary, &c.LifecycleReason, &c.Body, &c.Provenance.SourceType,
		&c.Provenance.SourceRef, &c.Provenance.Timestamp, &c.Provenance.RunID} {
		*s = redacted(*s)
	}
	for _, list := range []*[]string{&c.EvidenceRefs, &c.Supersedes, &c.AppliesTo, &c.Tags} {
		*list = redactAll(*list)
	}
	return &c
}

// AppendJSON appends the record as one object: the fields of its schema in their
// declared order, then the body. Unknown keys are not part of it. Optional fields
// are left out when empty.
func (r *Record) AppendJSON(dst []byte) []byte {
	o := ndjson.NewObject(dst)
	o.Text("schema", Schema)
	o.Text("id", r.ID)
	o.Text("scope", string(r.Scope))
	o.Text("kind", r.Kind)
	o.Text("summary", r.Summary)
	o.Name("provenance")
	p := ndjson.NewObject(o.Bytes)
	p.Optional("sourceType", r.Provenance.SourceType)
	p.Optional("sourceRef", r.Provenance.SourceRef)
	p.Optional("timestamp", r.Provenance.Timestamp)
	p.Optional("runId", r.Provenance.RunID)
	o.Bytes = p.End()
	o.Text("authority", string(r.Authority))
	o.Text("confidence", string(r.Confidence))
	o.Text("lifecycle", string(r.Lifecycle))
	o.List("evidenceRefs", r.EvidenceRefs)
	o.Optional("reviewBy", r.ReviewBy)
	for _, l := range []struct {
		name   string
		values []string
	}{{"supersedes", r.Supersedes}, {"appliesTo", r.AppliesTo}, {"tags", r.Tags}} {
		if len(l.values) > 0 {
			o.List(l.name, l.values)
		}
	}
	o.Optional("lifecycleReason", r.LifecycleReason)
	o.Optional("body", r.Body)
	return o.End()
}

// MarshalJSON returns what AppendJSON appends.
func (r *Record) MarshalJSON() ([]byte, error) { return r.AppendJSON(nil), nil }
