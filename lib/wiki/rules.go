package wiki

import "slices"

// Severity says whether a finding makes a lint fail.
type Severity string

// The severities.
const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
)

// The rules. Ids are part of the contract with scripts: they are added, never renamed.
const (
	RuleBrokenRef               = "broken_ref"
	RuleBrokenLink              = "broken_link"
	RuleOrphanPage              = "orphan_page"
	RuleStaleStateLink          = "stale_state_link"
	RuleUnresolvedContradiction = "unresolved_contradiction"
	RuleHandEdited              = "hand_edited"
	RuleUnreviewedClaim         = "unreviewed_claim"
	RuleForeignProject          = "foreign_project"
)

// Rule is one thing that a lint looks for.
type Rule struct {
	ID       string
	Severity Severity
	Meaning  string // one sentence, lower case, no full stop
	Fix      string // what to do, in one line
}

const compileAnew = "compile the pages anew"

var rules = []Rule{
	{RuleBrokenRef, SeverityError, "a claim shows a record that the pool does not hold", compileAnew},
	{RuleBrokenLink, SeverityError, "a relative link leads to no file or anchor", "compile the pages anew, or restore what the link leads to"},
	{RuleOrphanPage, SeverityWarning, "no entry of the index leads to a generated page", compileAnew},
	{RuleStaleStateLink, SeverityError, "a superseded value is presented as current", compileAnew},
	{RuleUnresolvedContradiction, SeverityError, "the page of contradictions does not show an open contradiction with all its sides", compileAnew},
	{RuleHandEdited, SeverityError, "a hand changed a generated page, or put a file at its path", "move the change into a record, then compile with --force"},
	{RuleUnreviewedClaim, SeverityError, "a record that nobody reviewed is on a page of reviewed ones", compileAnew},
	{RuleForeignProject, SeverityError, "a record belongs to another project", "compile the pages of this project's pool"},
}

// Rules returns all rules, in the order in which the documentation lists them.
func Rules() []Rule { return slices.Clone(rules) }

// ruleOf returns the rule with an id, which is one of the constants.
func ruleOf(id string) Rule { return rules[ruleIndex(id)] }

func ruleIndex(id string) int {
	return slices.IndexFunc(rules, func(r Rule) bool { return r.ID == id })
}
