package packet

import (
	"maps"
	"slices"
	"strconv"

	"kxm/lib/config"
	"kxm/lib/ndjson"
)

// FormalSchema is the form of a formal packet: what one step of a plan is given.
const FormalSchema = "kxm.context-packet.v2"

// Budgets of a formal packet, in tokens.
const (
	MinFormalBudget     = 1
	DefaultFormalBudget = 16_000
	MaxFormalBudget     = config.MaxBudget
)

// Permission is the most that a step may do.
type Permission string

// The permissions.
const (
	PermissionReadOnly Permission = "read-only"
	PermissionEdit     Permission = "edit"
	PermissionAdmin    Permission = "admin"
)

// Formal is a formal packet. Objects keep the fields that they have besides: they are
// written behind the known ones, and neither rendered nor measured.
type Formal struct {
	PacketID     string // "ctxpkt_" and 16 hex digits of the digest of the packet as it was built, without this and the time
	Project      string
	GeneratedAt  string
	TargetRole   string
	Task         Task
	Criteria     []Criterion
	Plan         Plan
	Predecessors []Predecessor
	Environment  Environment
	Budget       Budget
	extra        extra
}

// Task is what the step is to reach and may do.
type Task struct {
	TaskID, StepID    string
	StepAttempt       int
	Objective         string // of as many lines as it likes
	AllowedOutcomes   []string
	PermissionCeiling Permission
	extra             extra
}

// Criterion is what the step's result must hold.
type Criterion struct {
	ID, Description  string
	VerificationKind string // gate, witness, critic or human
	TargetRef        string // may be empty
	Required         bool
	extra            extra
}

// Plan points into the plan that the step is part of.
type Plan struct {
	PlanHash         string
	ActiveStepIndex  int // from 0
	TotalSteps       int
	SettledDecisions []string
	extra            extra
}

// Predecessor is a step that came before, and what it made.
type Predecessor struct {
	StepID, Role string
	Status       string // passed, warning, failed or settled
	Summary      string
	SettledAt    string
	Artifacts    []Artifact
	Decisions    []string
	extra        extra
}

// Artifact is something that a step made.
type Artifact struct {
	Name           string
	Kind           string // patch, report, log, plan, repro_script or doc
	ArtifactRef    string
	ContentSnippet string // may be empty
	extra          extra
}

// Environment is what is known: every item stands in one section.
type Environment struct {
	SharedDefaults   []Default
	ProjectKnowledge []Entry
	CurrentState     []Entry
	Contradictions   []Entry
	ActiveSkills     []Entry
	extra            extra
}

// Default is an item for every project.
type Default struct {
	ID, Summary string
	extra       extra
}

// Budget says how large the packet may be and is, in tokens, and what it lacks.
type Budget struct {
	AllocatedTokens   int
	EstimatedTokens   int
	UnresolvedGaps    []string
	ProvenanceSummary map[string]int // items by kind
	extra             extra
}

var (
	formalFields = []string{"schema", "packetId", "project", "generatedAt", "targetRole", "task", "acceptanceCriteria", "plan", "predecessors",
		"environment", "budget"}
	taskFields        = []string{"taskId", "stepId", "stepAttempt", "objective", "allowedOutcomes", "permissionCeiling"}
	criterionFields   = []string{"id", "description", "verificationKind", "targetRef", "required"}
	planFields        = []string{"planHash", "activeStepIndex", "totalSteps", "settledDecisions"}
	predecessorFields = []string{"stepId", "role", "status", "summary", "settledAt", "artifacts", "decisions"}
	artifactFields    = []string{"name", "kind", "artifactRef", "contentSnippet"}
	environmentFields = []string{"sharedDefaults", "projectKnowledge", "currentState", "contradictions", "activeSkills"}
	budgetFields      = []string{"allocatedTokens", "estimatedTokens", "unresolvedGaps", "provenanceSummary"}
)

// AppendJSON appends the packet as one compact object.
func (p *Formal) AppendJSON(dst []byte) []byte {
	o := ndjson.NewObject(dst)
	o.Text("schema", FormalSchema)
	o.Text("packetId", p.PacketID)
	o.Text("project", p.Project)
	o.Text("generatedAt", p.GeneratedAt)
	o.Text("targetRole", p.TargetRole)
	writeObject(&o, "task", p.Task.appendJSON)
	writeList(&o, "acceptanceCriteria", p.Criteria, (*Criterion).appendJSON)
	writeObject(&o, "plan", p.Plan.appendJSON)
	writeList(&o, "predecessors", p.Predecessors, (*Predecessor).appendJSON)
	writeObject(&o, "environment", p.Environment.appendJSON)
	writeObject(&o, "budget", p.Budget.appendJSON)
	return p.extra.close(&o)
}

// MarshalJSON returns what AppendJSON appends.
func (p Formal) MarshalJSON() ([]byte, error) { return p.AppendJSON(nil), nil }

func (t *Task) appendJSON(dst []byte) []byte {
	o := ndjson.NewObject(dst)
	o.Text("taskId", t.TaskID)
	o.Text("stepId", t.StepID)
	o.Number("stepAttempt", t.StepAttempt)
	o.Text("objective", t.Objective)
	o.List("allowedOutcomes", t.AllowedOutcomes)
	o.Text("permissionCeiling", string(t.PermissionCeiling))
	return t.extra.close(&o)
}

func (c *Criterion) appendJSON(dst []byte) []byte {
	o := ndjson.NewObject(dst)
	o.Text("id", c.ID)
	o.Text("description", c.Description)
	o.Text("verificationKind", c.VerificationKind)
	o.Optional("targetRef", c.TargetRef)
	o.Flag("required", c.Required)
	return c.extra.close(&o)
}

func (p *Plan) appendJSON(dst []byte) []byte {
	o := ndjson.NewObject(dst)
	o.Text("planHash", p.PlanHash)
	o.Number("activeStepIndex", p.ActiveStepIndex)
	o.Number("totalSteps", p.TotalSteps)
	o.List("settledDecisions", p.SettledDecisions)
	return p.extra.close(&o)
}

func (p *Predecessor) appendJSON(dst []byte) []byte {
	o := ndjson.NewObject(dst)
	o.Text("stepId", p.StepID)
	o.Text("role", p.Role)
	o.Text("status", p.Status)
	o.Text("summary", p.Summary)
	o.Text("settledAt", p.SettledAt)
	writeList(&o, "artifacts", p.Artifacts, (*Artifact).appendJSON)
	o.List("decisions", p.Decisions)
	return p.extra.close(&o)
}

func (a *Artifact) appendJSON(dst []byte) []byte {
	o := ndjson.NewObject(dst)
	o.Text("name", a.Name)
	o.Text("kind", a.Kind)
	o.Text("artifactRef", a.ArtifactRef)
	o.Optional("contentSnippet", a.ContentSnippet)
	return a.extra.close(&o)
}

func (e *Environment) appendJSON(dst []byte) []byte {
	o := ndjson.NewObject(dst)
	writeList(&o, "sharedDefaults", e.SharedDefaults, (*Default).appendJSON)
	writeList(&o, "projectKnowledge", e.ProjectKnowledge, (*Entry).appendJSON)
	writeList(&o, "currentState", e.CurrentState, (*Entry).appendJSON)
	writeList(&o, "contradictions", e.Contradictions, (*Entry).appendJSON)
	writeList(&o, "activeSkills", e.ActiveSkills, (*Entry).appendJSON)
	return e.extra.close(&o)
}

func (d *Default) appendJSON(dst []byte) []byte {
	o := ndjson.NewObject(dst)
	o.Text("id", d.ID)
	o.Text("summary", d.Summary)
	return d.extra.close(&o)
}

func (b *Budget) appendJSON(dst []byte) []byte {
	o := ndjson.NewObject(dst)
	o.Number("allocatedTokens", b.AllocatedTokens)
	o.Number("estimatedTokens", b.EstimatedTokens)
	o.List("unresolvedGaps", b.UnresolvedGaps)
	o.Name("provenanceSummary")
	counts := ndjson.NewObject(o.Bytes)
	for i, kind := range slices.Sorted(maps.Keys(b.ProvenanceSummary)) {
		if i > 0 {
			counts.Bytes = append(counts.Bytes, ',')
		}
		counts.Bytes = append(ndjson.AppendString(counts.Bytes, kind), ':')
		counts.Bytes = strconv.AppendInt(counts.Bytes, int64(b.ProvenanceSummary[kind]), 10)
	}
	o.Bytes = counts.End()
	return b.extra.close(&o)
}
