package memory

import "slices"

// Severity says whether a finding makes a check fail.
type Severity string

// The severities.
const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
)

// The rules of a check. Ids are part of the contract with scripts and with
// suppressions: they are added, never renamed.
const (
	RuleUnreadable        = "memory-unreadable"
	RuleInvalid           = "memory-invalid"
	RuleControlPlane      = "memory-control-plane"
	RuleDuplicateID       = "memory-duplicate-id"
	RuleFileName          = "memory-file-name"
	RuleSecret            = "memory-secret"
	RuleSummaryMarker     = "memory-summary-marker"
	RuleSummaryNewline    = "memory-summary-newline"
	RuleSummaryLong       = "memory-summary-long"
	RuleUnknownKey        = "memory-unknown-key"
	RuleAuthorityCeiling  = "memory-authority-ceiling"
	RuleItemLimits        = "memory-item-limits"
	RuleReferenceMissing  = "memory-reference-missing"
	RuleSupersedesUnknown = "memory-supersedes-unknown"
	RuleReviewDue         = "memory-review-due"
	RuleNearDuplicate     = "memory-near-duplicate"
	RuleCandidateOld      = "memory-candidate-old"
	RuleBlockMalformed    = "memory-block-malformed"
	RuleBlockStale        = "memory-block-stale"
	RuleInstructionsLong  = "memory-instructions-long"
)

// Rule is one thing that a check looks for.
type Rule struct {
	ID       string
	Severity Severity
	Meaning  string // one sentence, lower case, no full stop
	Fix      string // what to do, in one line
}

var rules = []Rule{
	{RuleUnreadable, SeverityError, "a file cannot be read: missing rights, too large, no regular file, or a link out of .kxm", "make it a regular file inside .kxm that can be read, or remove it"},
	{RuleInvalid, SeverityError, "a file is not what " + Schema + " says", "correct the front matter at the line named"},
	{RuleControlPlane, SeverityError, "the front matter holds a field that would grant something", "remove the field: a record informs, it never grants"},
	{RuleDuplicateID, SeverityError, "two files have one id, so neither is served", "give each record an id of its own, the name of its file"},
	{RuleFileName, SeverityError, "the file's name is not the record's id", "rename the file to <id>.md"},
	{RuleSecret, SeverityError, "a file or its name holds a secret", "remove it and revoke it; mark a false alarm with gitleaks:allow or in [secrets] allow"},
	{RuleSummaryMarker, SeverityError, "the summary holds a marker of the memory block", "take the marker out of the summary"},
	{RuleSummaryNewline, SeverityError, "the summary has more than one line", "write the summary on one line and move the rest to the body"},
	{RuleSummaryLong, SeverityWarning, "the summary is over 500 characters", "shorten the summary and move the rest to the body"},
	{RuleUnknownKey, SeverityWarning, "the front matter holds a key that nothing reads", "correct the key's spelling, or remove it"},
	{RuleAuthorityCeiling, SeverityError, "the record claims more than its origin allows, so it is not served", "let a review change provenance.sourceType to git, or claim authority evidence"},
	{RuleItemLimits, SeverityError, "a text or list is beyond the limits of a context item, so the record is not served", "shorten what the message names"},
	{RuleReferenceMissing, SeverityWarning, "a reference names a path that does not exist at that revision", "correct the path, or remove the reference"},
	{RuleSupersedesUnknown, SeverityError, "supersedes names no record", "correct the id, or remove it"},
	{RuleReviewDue, SeverityWarning, "the date in reviewBy has passed", "confirm the fact and move the date, or deprecate it"},
	{RuleNearDuplicate, SeverityWarning, "two active facts say nearly the same", "supersede one by the other"},
	{RuleCandidateOld, SeverityWarning, "a candidate is older than [memory] candidateDays", "promote it, or delete its file"},
	{RuleBlockMalformed, SeverityError, "an instruction file cannot hold a memory block as it is", "keep one pair of markers, or delete them all so that sync appends a block"},
	{RuleBlockStale, SeverityError, "an instruction file's memory block is out of date", "run kxm-memory sync"},
	{RuleInstructionsLong, SeverityWarning, "an instruction file is longer than its readers take", "shorten the file, or move the memory block up"},
}

// Rules returns all rules, in the order in which the documentation lists them.
func Rules() []Rule { return slices.Clone(rules) }

// rule returns the rule with an id, which is one of the constants.
func rule(id string) Rule {
	return rules[slices.IndexFunc(rules, func(r Rule) bool { return r.ID == id })]
}
