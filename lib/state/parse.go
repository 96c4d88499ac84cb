package state

import (
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"kxm/lib/fault"
	"kxm/lib/item"
	"kxm/lib/ndjson"
)

// The fields of an event and of each body, in their order.
var (
	eventFields  = []string{"schema", "type", "project", "key", "hlc", "at", "nonce", "actor", "clone", "after", "head", "body"}
	bodyProposal = []string{"summary", "authority", "confidence", "evidenceRefs"}
	bodyPromote  = []string{"proposal", "digest", "evidenceRefs", "expect"}
	bodyEnding   = []string{"proposal", "digest", "why"}
	bodyEntry    = []string{"category", "summary", "severity", "area", "runId", "stageId", "evidence"}
	bodyReview   = []string{"entry", "digest", "to", "evidenceRefs", "why"}
	bodyEpisode  = []string{"runId", "summary", "entries", "outcome"}

	categories = item.JournalCategories()
)

// fields are the values of an object whose names are known; "" is absent.
type fields struct {
	prefix   string // of a field's name in messages
	names    []string
	anyOrder bool
	values   [12]string
	err      error // the first
}

func (f *fields) fail(err error) {
	if f.err == nil {
		f.err = err
	}
}

// read takes the object apart. Null is absent.
func (f *fields) read(object string) {
	last := -1
	err := ndjson.FieldsText(object, func(key, value string) error {
		i := slices.Index(f.names, key)
		if i < 0 {
			return nil
		}
		if i < last && !f.anyOrder {
			return invalid(f.prefix+key, "is out of order")
		}
		last = i
		if value != "null" {
			f.values[i] = value
		}
		return nil
	})
	if err != nil {
		f.fail(err)
	}
}

func (f *fields) raw(name string) string { return f.values[slices.Index(f.names, name)] }

// text reads an optional text.
func (f *fields) text(name string) string {
	value := f.raw(name)
	if value == "" {
		return ""
	}
	s, ok := ndjson.Unquote(value)
	if !ok {
		f.fail(invalid(f.prefix+name, "is not a string"))
	} else if s == "" {
		f.fail(invalid(f.prefix+name, "is empty"))
	}
	return s
}

// list reads an optional list of texts.
func (f *fields) list(name string) []string {
	value := f.raw(name)
	if value == "" || value == "[]" {
		return nil
	}
	if value[0] != '[' {
		f.fail(invalid(f.prefix+name, "is not a list"))
		return nil
	}
	var list []string
	if err := ndjson.ElementsText(value, func(value string) error {
		s, ok := ndjson.Unquote(value)
		if !ok {
			return invalid(f.prefix+name, "holds what is not a string")
		}
		list = append(list, s)
		return nil
	}); err != nil {
		f.fail(err)
	}
	return list
}

// parseEvent reads a valid, compact object.
func parseEvent(text string) (Event, error) {
	f := fields{names: eventFields}
	f.read(text)
	if schema := f.text("schema"); f.err == nil && schema != EventSchema {
		f.fail(invalid("schema", "is %s, not %s", fault.Quote(schema), EventSchema))
	}
	kind := Type(f.text("type"))
	clock, ok := ParseHLC(f.text("hlc"))
	if !ok {
		f.fail(invalid("hlc", "is not 16 hexadecimal digits of a time up to the year 9999"))
	}
	e := Event{
		Project: f.text("project"),
		Key:     f.text("key"),
		Clock:   clock,
		At:      f.text("at"),
		Nonce:   f.text("nonce"),
		Actor:   f.text("actor"),
		Clone:   f.text("clone"),
		After:   f.list("after"),
		Head:    f.text("head"),
	}
	body := f.raw("body")
	if !strings.HasPrefix(body, "{") {
		f.fail(invalid("body", "is not an object"))
	}
	if f.err != nil {
		return Event{}, f.err
	}
	var err error
	if e.Body, err = parseBody(kind, body); err != nil {
		return Event{}, err
	}
	if err := e.check(); err != nil {
		return Event{}, err
	}
	return e, nil
}

func parseBody(kind Type, text string) (Body, error) {
	b := fields{prefix: "body."}
	open := func(names []string) *fields {
		b.names = names
		b.read(text)
		return &b
	}
	var body Body
	switch kind {
	case TypePropose:
		f := open(bodyProposal)
		body = &Proposal{Summary: f.text("summary"), Authority: item.Authority(f.text("authority")),
			Confidence: item.Confidence(f.text("confidence")), EvidenceRefs: f.list("evidenceRefs")}
	case TypePromote:
		f := open(bodyPromote)
		body = &Promotion{Proposal: f.text("proposal"), Digest: f.text("digest"), EvidenceRefs: f.list("evidenceRefs"), Expect: f.list("expect")}
	case TypeReject, TypeWithdraw:
		f := open(bodyEnding)
		body = &Ending{How: kind, Proposal: f.text("proposal"), Digest: f.text("digest"), Why: f.text("why")}
	case TypeJournal:
		f := open(bodyEntry)
		body = &Entry{Category: f.text("category"), Summary: f.text("summary"), Severity: f.text("severity"), Area: f.text("area"),
			RunID: f.text("runId"), StageID: f.text("stageId"), Evidence: f.list("evidence")}
	case TypeReview:
		f := open(bodyReview)
		body = &Review{Entry: f.text("entry"), Digest: f.text("digest"), To: Verdict(f.text("to")), EvidenceRefs: f.list("evidenceRefs"), Why: f.text("why")}
	case TypeEpisode:
		f := open(bodyEpisode)
		body = &Episode{RunID: f.text("runId"), Summary: f.text("summary"), Entries: f.list("entries"), Outcome: f.text("outcome")}
	default:
		return &Unknown{Name: kind, Raw: text}, nil
	}
	return body, b.err
}

// checker keeps the first broken rule.
type checker struct{ err error }

func (c *checker) fail(field, format string, args ...any) {
	if c.err == nil {
		c.err = invalid(field, format, args...)
	}
}

// label checks a text that stands in lists and terminals.
func (c *checker) label(field, s string, limit int) {
	switch {
	case !c.sized(field, s, limit):
	case hasControl(s, false):
		c.fail(field, "holds a control character")
	case s != strings.TrimSpace(s):
		c.fail(field, "has white space around it")
	}
}

// prose checks a text of several lines.
func (c *checker) prose(field, s string) {
	if c.sized(field, s, MaxSummary) && hasControl(s, true) {
		c.fail(field, "holds a control character other than newline and tab")
	}
}

// sized checks what both need.
func (c *checker) sized(field, s string, limit int) bool {
	switch {
	case strings.TrimSpace(s) == "":
		c.fail(field, "is empty")
	case !utf8.ValidString(s):
		c.fail(field, "is not UTF-8")
	case len(s) > limit && utf8.RuneCountInString(s) > limit:
		c.fail(field, "has more than %d characters", limit)
	default:
		return true
	}
	return false
}

// optional applies label unless the text is absent.
func (c *checker) optional(field, s string) {
	if s != "" {
		c.label(field, s, MaxLabel)
	}
}

// refs checks a list of references without repeats.
func (c *checker) refs(field string, list []string, least, most, limit int) {
	if len(list) < least || len(list) > most {
		c.fail(field, "has %d entries; %d to %d are allowed", len(list), least, most)
		return
	}
	for i, s := range list {
		c.label(field, s, limit)
		if slices.Contains(list[:i], s) {
			c.fail(field, "holds an entry twice")
		}
	}
}

func (c *checker) id(field, s string) {
	if _, ok := ParseID(s); !ok {
		c.fail(field, "is no event id")
	}
}

func (c *checker) ids(field string, list []string, most int) {
	if len(list) > most {
		c.fail(field, "has %d entries; at most %d are allowed", len(list), most)
		return
	}
	for _, s := range list {
		c.id(field, s)
	}
	sorted := list
	if !slices.IsSorted(list) {
		sorted = slices.Sorted(slices.Values(list))
	}
	for i := 1; i < len(sorted); i++ {
		if sorted[i] == sorted[i-1] {
			c.fail(field, "holds an entry twice")
		}
	}
}

func (c *checker) digest(field, s string) {
	if !isHex(s, 64) {
		c.fail(field, "is not the 64 hexadecimal digits of a SHA-256")
	}
}

// check applies every rule but the size of the file.
func (e *Event) check() error {
	c := checker{}
	kind := e.Type()
	c.label("type", string(kind), MaxLabel)
	c.label("project", e.Project, MaxProject)
	if e.Project == item.SharedProject {
		c.fail("project", "is %s, which is for defaults and owns no events", item.SharedProject)
	}
	switch {
	case e.Key != "" && kind.journal():
		c.fail("key", "stands in a %s event", kind)
	case e.Key != "" || kind.Keyed():
		c.label("key", e.Key, MaxKey)
		if !norm.NFC.IsNormalString(e.Key) {
			c.fail("key", "is not in normal form C")
		}
	}
	if e.Clock > maxHLC {
		c.fail("hlc", "is later than the year 9999")
	}
	if _, err := item.ParseTime(e.At); err != nil || !strings.HasSuffix(e.At, "Z") || len(e.At) > len("2006-01-02T15:04:05.000000000Z") {
		c.fail("at", "is no RFC 3339 time in UTC")
	}
	if !isHex(e.Nonce, 16) {
		c.fail("nonce", "is not 16 hexadecimal digits")
	}
	c.label("actor", e.Actor, MaxLabel)
	if !isHex(e.Clone, 8) {
		c.fail("clone", "is not 8 hexadecimal digits")
	}
	c.ids("after", e.After, MaxEvent)
	if e.Head != "" && !isHex(e.Head, 40) && !isHex(e.Head, 64) {
		c.fail("head", "is no object id")
	}
	e.Body.check(&c)
	for _, id := range e.Names() {
		if clock, ok := ParseID(id); ok && clock >= e.Clock {
			c.fail("hlc", "is not later than %s, which it names", id)
		}
	}
	return c.err
}

func (b *Proposal) check(c *checker) {
	c.prose("body.summary", b.Summary)
	if !b.Authority.Valid() {
		c.fail("body.authority", "is no authority")
	}
	if !b.Confidence.Valid() {
		c.fail("body.confidence", "is no confidence")
	}
	c.refs("body.evidenceRefs", b.EvidenceRefs, 1, MaxEvidenceRefs, MaxEvidenceRef)
}

func (b *Promotion) check(c *checker) {
	c.id("body.proposal", b.Proposal)
	c.digest("body.digest", b.Digest)
	c.refs("body.evidenceRefs", b.EvidenceRefs, 1, MaxEvidenceRefs, MaxEvidenceRef)
	c.ids("body.expect", b.Expect, MaxEvent)
}

func (b *Ending) check(c *checker) {
	c.id("body.proposal", b.Proposal)
	c.digest("body.digest", b.Digest)
	if b.Why != "" || b.How == TypeReject {
		c.prose("body.why", b.Why)
	}
}

func (b *Entry) check(c *checker) {
	if !slices.Contains(categories, b.Category) {
		c.fail("body.category", "is no category")
	}
	c.prose("body.summary", b.Summary)
	c.optional("body.severity", b.Severity)
	c.optional("body.area", b.Area)
	c.optional("body.runId", b.RunID)
	c.optional("body.stageId", b.StageID)
	c.refs("body.evidence", b.Evidence, 0, MaxEvidences, MaxEvidence)
}

func (b *Review) check(c *checker) {
	c.id("body.entry", b.Entry)
	c.digest("body.digest", b.Digest)
	if b.To != VerdictApproved && b.To != VerdictRejected && b.To != VerdictQuarantined {
		c.fail("body.to", "is not approved, rejected or quarantined")
	}
	c.refs("body.evidenceRefs", b.EvidenceRefs, 0, MaxEvidenceRefs, MaxEvidenceRef)
	c.prose("body.why", b.Why)
}

func (b *Episode) check(c *checker) {
	c.label("body.runId", b.RunID, MaxLabel)
	c.prose("body.summary", b.Summary)
	c.ids("body.entries", b.Entries, MaxEntries)
	if b.Outcome != "" {
		c.prose("body.outcome", b.Outcome)
	}
}

func (*Unknown) check(*checker) {}

// hasControl reports whether text holds a character of category Cc: C0, DEL or C1,
// which UTF-8 writes as C2 and a byte below A0. In prose, newline and tab are none.
func hasControl(text string, prose bool) bool {
	for i := range len(text) {
		c := text[i]
		switch {
		case c == '\n' || c == '\t':
			if !prose {
				return true
			}
		case c < ' ' || c == 0x7F || c < 0xA0 && i > 0 && text[i-1] == 0xC2:
			return true
		}
	}
	return false
}
