package item

import "slices"

// Kind says what an item records.
type Kind string

// The kinds.
const (
	KindEvidence  Kind = "evidence"
	KindState     Kind = "state"
	KindEpisode   Kind = "episode"
	KindKnowledge Kind = "knowledge"
	KindSkill     Kind = "skill"
)

// Authority says how far an item may direct a reader. It is ordered, and the
// origin sets a ceiling.
type Authority string

// The authorities, strongest first.
const (
	AuthorityPolicy      Authority = "policy"
	AuthorityInstruction Authority = "instruction"
	AuthorityEvidence    Authority = "evidence"
	AuthorityHypothesis  Authority = "hypothesis"
)

// Confidence says how well an item is established. It is ordered.
type Confidence string

// The confidences, strongest first.
const (
	ConfidenceVerified  Confidence = "verified"
	ConfidenceProbable  Confidence = "probable"
	ConfidenceUncertain Confidence = "uncertain"
)

// Origin says where an item's content comes from (provenance.sourceType).
type Origin string

// The origins.
const (
	OriginHuman    Origin = "human"
	OriginGit      Origin = "git"
	OriginWorkflow Origin = "workflow"
	OriginTool     Origin = "tool"
	OriginPeer     Origin = "peer"
	OriginExternal Origin = "external"
	OriginDerived  Origin = "derived"
)

// Scope says whom an item is for.
type Scope string

// The scopes.
const (
	ScopeAgent    Scope = "agent"
	ScopeProject  Scope = "project"
	ScopeRun      Scope = "run"
	ScopeOperator Scope = "operator"
)

// Status is where an item stands in its life. Items without one are live.
type Status string

// The statuses.
const (
	StatusCurrent    Status = "current"
	StatusSuperseded Status = "superseded"
	StatusProposed   Status = "proposed"
	StatusRejected   Status = "rejected"
)

// The closed sets, in the order in which messages list them.
var (
	kinds       = []Kind{KindEvidence, KindState, KindEpisode, KindKnowledge, KindSkill}
	authorities = []Authority{AuthorityPolicy, AuthorityInstruction, AuthorityEvidence, AuthorityHypothesis}
	confidences = []Confidence{ConfidenceVerified, ConfidenceProbable, ConfidenceUncertain}
	origins     = []Origin{OriginHuman, OriginGit, OriginWorkflow, OriginTool, OriginPeer, OriginExternal, OriginDerived}
	scopes      = []Scope{ScopeAgent, ScopeProject, ScopeRun, ScopeOperator}
	statuses    = []Status{StatusCurrent, StatusSuperseded, StatusProposed, StatusRejected}
	categories  = []string{"plan", "decision", "contradiction", "error", "lesson", "observation", "hypothesis", "experiment", "state-change", "skill-candidate"}
)

// Kinds returns the kinds in the order in which messages list them.
func Kinds() []Kind { return slices.Clone(kinds) }

// JournalCategories returns the categories of journal items.
func JournalCategories() []string { return slices.Clone(categories) }

// Valid reports whether k is one of the five kinds.
func (k Kind) Valid() bool { return slices.Contains(kinds, k) }

// Valid reports whether a is one of the four authorities.
func (a Authority) Valid() bool { return slices.Contains(authorities, a) }

// Valid reports whether c is one of the three confidences.
func (c Confidence) Valid() bool { return slices.Contains(confidences, c) }

// Valid reports whether o is one of the seven origins.
func (o Origin) Valid() bool { return slices.Contains(origins, o) }

// Valid reports whether s is one of the four scopes.
func (s Scope) Valid() bool { return slices.Contains(scopes, s) }

// Valid reports whether s is one of the four statuses.
func (s Status) Valid() bool { return slices.Contains(statuses, s) }

// Rank orders authorities: policy 4, instruction 3, evidence 2, hypothesis 1, and
// 0 for anything else.
func (a Authority) Rank() int {
	switch a {
	case AuthorityPolicy:
		return 4
	case AuthorityInstruction:
		return 3
	case AuthorityEvidence:
		return 2
	case AuthorityHypothesis:
		return 1
	}
	return 0
}

// Rank orders confidences: verified 3, probable 2, uncertain 1, and 0 for
// anything else.
func (c Confidence) Rank() int {
	switch c {
	case ConfidenceVerified:
		return 3
	case ConfidenceProbable:
		return 2
	case ConfidenceUncertain:
		return 1
	}
	return 0
}

// Ceiling returns the strongest authority that content of this origin may claim.
// An unknown origin may claim only the weakest.
func (o Origin) Ceiling() Authority {
	switch o {
	case OriginHuman, OriginWorkflow:
		return AuthorityPolicy
	case OriginGit:
		return AuthorityInstruction
	case OriginPeer, OriginTool, OriginExternal, OriginDerived:
		return AuthorityEvidence
	}
	return AuthorityHypothesis
}
