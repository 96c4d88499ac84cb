package state

import (
	"cmp"
	"slices"
	"unicode/utf8"

	"kxm/lib/fault"
	"kxm/lib/item"
	"kxm/lib/ndjson"
	"kxm/lib/redact"
)

// Severity says whether a finding makes a verification fail.
type Severity string

// The severities.
const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
)

// Rule names what a finding is about. The names are part of the contract with
// scripts.
type Rule string

// The rules.
const (
	RuleUnreadable     Rule = "event-unreadable"
	RuleMalformed      Rule = "event-malformed"
	RuleMisplaced      Rule = "event-misplaced"
	RuleUnsigned       Rule = "event-unsigned"
	RuleUncredentialed Rule = "event-uncredentialed"
	RuleCeiling        Rule = "authority-above-ceiling"
	RuleLineage        Rule = "lineage-missing"
	RuleDigest         Rule = "digest-mismatch"
	RuleAuthor         Rule = "author-promotes"
	RuleNotAuthor      Rule = "withdrawn-by-another"
	RuleNamed          Rule = "named-event-missing"
	RuleCut            Rule = "item-cut"
	RuleSignature      Rule = "signature-worthless"
	RuleSkew           Rule = "clock-skew"
	RuleImpersonation  Rule = "actor-unproven"
	RuleForeign        Rule = "path-foreign"
)

// rules says how severe each is, whether the event is left out, and what to do.
var rules = map[Rule]struct {
	severity Severity
	leftOut  bool
	fix      string
}{
	RuleUnreadable:     {SeverityError, true, "look at the file with git show; an event is never changed, so restore it from another clone"},
	RuleMalformed:      {SeverityError, true, "the event stays ignored; write a new one"},
	RuleMisplaced:      {SeverityError, true, "restore the file from another clone; kxm-state sync does"},
	RuleUnsigned:       {SeverityError, true, "an allowed signer can sign it: kxm-state sign"},
	RuleUncredentialed: {SeverityError, true, "if it still holds, an allowed signer can sign it: kxm-state sign"},
	RuleCeiling:        {SeverityError, true, "someone who may claim as much can sign it: kxm-state sign"},
	RuleLineage:        {SeverityError, true, "fetch what is missing: kxm-state sync"},
	RuleDigest:         {SeverityError, true, "decide about the proposal again"},
	RuleAuthor:         {SeverityError, true, "someone other than the author must sign the promotion: kxm-state sign"},
	RuleNotAuthor:      {SeverityError, true, "the proposal's author must withdraw it"},
	RuleNamed:          {SeverityWarning, false, "fetch what is missing: kxm-state sync"},
	RuleCut:            {SeverityWarning, false, "kxm-state history shows all of it"},
	RuleSignature:      {SeverityWarning, false, "if the event still holds, an allowed signer can sign it: kxm-state sign"},
	RuleSkew:           {SeverityWarning, false, "set the writer's clock"},
	RuleForeign:        {SeverityWarning, false, "it is carried along and never read; whoever put it there can say what it is"},
	RuleImpersonation:  {SeverityWarning, false, "take the name for a label; who it names can sign the event"},
}

// Finding is something that a reader should know about an event. It never holds the
// value of a secret.
type Finding struct {
	Rule     Rule
	Severity Severity
	ID       string // the event's, as its file's name says
	Path     string // in the store's tree
	Key      string
	Message  string
	Fix      string
}

func newFinding(rule Rule, id, path, key, message string) Finding {
	r := rules[rule]
	return Finding{Rule: rule, Severity: r.severity, ID: masked(id), Path: masked(path), Key: masked(key), Message: message, Fix: r.fix}
}

// ForeignFinding is about a path in the store's tree that is no event's.
func ForeignFinding(path string) Finding {
	return newFinding(RuleForeign, "", path, "", "nothing of the log's belongs at this path")
}

// LeftOut reports whether the event counts for nothing because of this.
func (f *Finding) LeftOut() bool { return rules[f.Rule].leftOut }

// Gap returns what a reader's stream says about an event that is left out, or about a
// record that is cut.
func (f *Finding) Gap() item.Gap {
	name := "state_event_untrusted:"
	if !f.LeftOut() {
		name = "state_event_cut:"
	}
	subject := cmp.Or(f.ID, f.Path)
	return item.Gap{Gap: clip(name+fault.Printable(subject), item.MaxLabel), Detail: f.Message}
}

// AppendJSON appends the finding as one compact JSON object.
func (f *Finding) AppendJSON(dst []byte) []byte {
	o := ndjson.NewObject(dst)
	o.Text("schema", FindingSchema)
	o.Text("rule", string(f.Rule))
	o.Text("severity", string(f.Severity))
	o.Optional("id", f.ID)
	o.Optional("path", f.Path)
	o.Optional("key", f.Key)
	o.Text("message", f.Message)
	o.Text("fix", f.Fix)
	return o.End()
}

// MarshalJSON returns what AppendJSON appends.
func (f Finding) MarshalJSON() ([]byte, error) { return f.AppendJSON(nil), nil }

// gapsOf returns the gaps of findings that need one, each once.
func gapsOf(findings []Finding) []item.Gap {
	var gaps []item.Gap
	for i := range findings {
		if f := &findings[i]; f.LeftOut() || f.Rule == RuleCut {
			gaps = append(gaps, f.Gap())
		}
	}
	return gaps
}

// Gaps returns what a reader's stream says about the records that are no events.
func (s *Set) Gaps() []item.Gap { return gapsOf(s.Findings) }

// sortFindings puts findings into their one order.
func sortFindings(findings []Finding) []Finding {
	slices.SortFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(findings)
}

// masked returns the text with its secrets masked.
func masked(s string) string {
	clean, _ := redact.Redact(s)
	return clean
}

// clip cuts a text to at most limit code points.
func clip(s string, limit int) string {
	if len(s) <= limit || utf8.RuneCountInString(s) <= limit {
		return s
	}
	n := 0
	for i := range s {
		if n == limit {
			return s[:i]
		}
		n++
	}
	return s
}
