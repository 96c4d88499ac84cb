package packet

import (
	"time"

	"kxm/lib/fault"
	"kxm/lib/ndjson"
)

// HandoffSchema is the form of a handoff manifest.
const HandoffSchema = "kxm.handoff-manifest.v1"

const handoffIDPrefix = "hnd_"

// pending is the status of a manifest that was just built.
const pending = "pending"

// Handoff is a manifest: what one role hands to the next, and on what evidence. Objects
// keep the fields that they have besides, behind the known ones.
type Handoff struct {
	HandoffID         string // "hnd_" and 16 hex digits of the digest of the manifest as it was built, without this and the time
	TaskID            string
	WorkflowRunID     string
	ReworkOf          string // may be empty
	Source            HandoffSource
	Target            HandoffTarget
	Intent            string // request_review, dispatch_fix, request_approval or complete_workflow
	Status            string // pending, accepted, rejected or superseded
	BaseCommit        string
	CandidateTreeHash string // may be empty
	Deliverables      Deliverables
	Evidence          Evidence
	OpenQuestions     []string
	SuggestedNextStep *NextStep // nil: none
	CreatedAt         string
	extra             extra
}

// HandoffSource is who hands over.
type HandoffSource struct {
	Role, AgentID, Harness string
	Model                  string // may be empty
	StepID, AttemptID      string
	extra                  extra
}

// HandoffTarget is who is handed to, and the most that it may do.
type HandoffTarget struct {
	Role       string
	Permission Permission
	extra      extra
}

// Deliverables are references to what was made.
type Deliverables struct {
	Patches, Reports []string
	Artifacts        []Deliverable
	extra            extra
}

// Deliverable is an artifact by its name.
type Deliverable struct {
	Name, ArtifactRef string
	extra             extra
}

// Evidence is what verified the work.
type Evidence struct {
	WitnessExitCode int
	WitnessPassed   bool
	CriticVerdicts  []Verdict
	extra           extra
}

// Verdict is what a critic found.
type Verdict struct {
	Critic  string
	Verdict string // PASS, FAIL, WARN or UNKNOWN
	Summary string // may be empty
	extra   extra
}

// NextStep is what the source proposes; both may be empty.
type NextStep struct {
	StepID, Action string
	extra          extra
}

// maxExitCode bounds a witness's exit status: Windows has 32 bits of it.
const maxExitCode = 1<<32 - 1

var (
	handoffFields = []string{"schema", "handoffId", "taskId", "workflowRunId", "reworkOf", "source", "target", "intent", "status", "baseCommit",
		"candidateTreeHash", "deliverables", "verificationEvidence", "openQuestions", "suggestedNextStep", "createdAt"}
	sourceFields   = []string{"role", "agentId", "harness", "model", "stepId", "attemptId"}
	evidenceFields = []string{"witnessExitCode", "witnessPassed", "criticVerdicts"}
)

// ReadHandoff reads a manifest from a value that package ndjson has validated. The
// error is a *fault.Error that names the field: invalid_handoff, or
// context_authority_violation for a control-plane field.
func ReadHandoff(raw []byte, masks Masks) (Handoff, error) { return readHandoff(raw, masks, true) }

// ReadHandoffDraft reads what a manifest is built of: a manifest whose schema, id,
// status and time may be absent.
func ReadHandoffDraft(raw []byte, masks Masks) (Handoff, error) {
	return readHandoff(raw, masks, false)
}

func readHandoff(raw []byte, masks Masks, complete bool) (Handoff, error) {
	r := reader{subject: "handoff manifest", code: fault.InvalidHandoff, masks: masks}
	o := r.object("", raw, handoffFields...)
	h := Handoff{Status: pending}
	o.schema(HandoffSchema, complete)
	if complete || o.has("handoffId") {
		h.HandoffID = o.derivedID("handoffId", handoffIDPrefix)
	}
	h.TaskID = o.label("taskId")
	h.WorkflowRunID = o.label("workflowRunId")
	h.ReworkOf = o.optionalLabel("reworkOf")
	h.Source = r.source(o)
	target := o.child("target", "role", "permission")
	h.Target = HandoffTarget{
		Role: target.label("role"), Permission: oneOf(target, "permission", PermissionReadOnly, PermissionEdit, PermissionAdmin), extra: target.extra(),
	}
	h.Intent = oneOf(o, "intent", "request_review", "dispatch_fix", "request_approval", "complete_workflow")
	if complete || o.has("status") {
		h.Status = oneOf(o, "status", pending, "accepted", "rejected", "superseded")
	}
	h.BaseCommit = o.label("baseCommit")
	h.CandidateTreeHash = o.optionalLabel("candidateTreeHash")
	h.Deliverables = r.deliverables(o)
	h.Evidence = r.evidence(o)
	h.OpenQuestions = orNone(o, "openQuestions", MaxParts, o.texts("openQuestions", MaxText))
	if o.has("suggestedNextStep") {
		next := o.child("suggestedNextStep", "stepId", "action")
		h.SuggestedNextStep = &NextStep{StepID: next.optionalLabel("stepId"), Action: next.optional("action", MaxText), extra: next.extra()}
	}
	if complete || o.has("createdAt") {
		h.CreatedAt = o.time("createdAt")
	}
	h.extra = o.extra()
	return h, r.err
}

func (r *reader) source(in *object) HandoffSource {
	o := in.child("source", sourceFields...)
	return HandoffSource{
		Role: o.label("role"), AgentID: o.label("agentId"), Harness: o.label("harness"), Model: o.optionalLabel("model"),
		StepID: o.label("stepId"), AttemptID: o.label("attemptId"), extra: o.extra(),
	}
}

func (r *reader) deliverables(in *object) Deliverables {
	o := in.child("deliverables", "patches", "reports", "artifacts")
	return Deliverables{
		Patches: elements(o, "patches", MaxParts, o.labels("patches")),
		Reports: elements(o, "reports", MaxParts, o.labels("reports")),
		Artifacts: elements(o, "artifacts", MaxParts, func(path string, value []byte) Deliverable {
			a := r.object(path, value, "name", "artifactRef")
			return Deliverable{Name: a.label("name"), ArtifactRef: a.label("artifactRef"), extra: a.extra()}
		}),
		extra: o.extra(),
	}
}

func (r *reader) evidence(in *object) Evidence {
	o := in.child("verificationEvidence", evidenceFields...)
	return Evidence{
		WitnessExitCode: o.number("witnessExitCode", -maxExitCode, maxExitCode),
		WitnessPassed:   o.boolean("witnessPassed"),
		CriticVerdicts: elements(o, "criticVerdicts", MaxParts, func(path string, value []byte) Verdict {
			v := r.object(path, value, "critic", "verdict", "summary")
			return Verdict{
				Critic: v.label("critic"), Verdict: oneOf(v, "verdict", "PASS", "FAIL", "WARN", "UNKNOWN"),
				Summary: v.optional("summary", MaxText), extra: v.extra(),
			}
		}),
		extra: o.extra(),
	}
}

// BuildHandoff makes a manifest of a draft: pending, made now, with the id of its
// content. The error is invalid_json for an unknown number that has no digest.
func BuildHandoff(draft Handoff, now time.Time) (Handoff, error) {
	h := draft
	h.Status, h.CreatedAt = pending, timeText(now)
	digest, err := ndjson.Digest(h.AppendJSON(nil), "handoffId", "createdAt")
	if err != nil {
		return Handoff{}, err
	}
	h.HandoffID = handoffIDPrefix + digest[:idDigits]
	return h, nil
}

// AppendJSON appends the manifest as one compact object.
func (h *Handoff) AppendJSON(dst []byte) []byte {
	o := ndjson.NewObject(dst)
	o.Text("schema", HandoffSchema)
	o.Text("handoffId", h.HandoffID)
	o.Text("taskId", h.TaskID)
	o.Text("workflowRunId", h.WorkflowRunID)
	o.Optional("reworkOf", h.ReworkOf)
	writeObject(&o, "source", h.Source.appendJSON)
	writeObject(&o, "target", h.Target.appendJSON)
	o.Text("intent", h.Intent)
	o.Text("status", h.Status)
	o.Text("baseCommit", h.BaseCommit)
	o.Optional("candidateTreeHash", h.CandidateTreeHash)
	writeObject(&o, "deliverables", h.Deliverables.appendJSON)
	writeObject(&o, "verificationEvidence", h.Evidence.appendJSON)
	o.List("openQuestions", h.OpenQuestions)
	if h.SuggestedNextStep != nil {
		writeObject(&o, "suggestedNextStep", h.SuggestedNextStep.appendJSON)
	}
	o.Text("createdAt", h.CreatedAt)
	return h.extra.close(&o)
}

// MarshalJSON returns what AppendJSON appends.
func (h Handoff) MarshalJSON() ([]byte, error) { return h.AppendJSON(nil), nil }

func (s *HandoffSource) appendJSON(dst []byte) []byte {
	o := ndjson.NewObject(dst)
	o.Text("role", s.Role)
	o.Text("agentId", s.AgentID)
	o.Text("harness", s.Harness)
	o.Optional("model", s.Model)
	o.Text("stepId", s.StepID)
	o.Text("attemptId", s.AttemptID)
	return s.extra.close(&o)
}

func (t *HandoffTarget) appendJSON(dst []byte) []byte {
	o := ndjson.NewObject(dst)
	o.Text("role", t.Role)
	o.Text("permission", string(t.Permission))
	return t.extra.close(&o)
}

func (d *Deliverables) appendJSON(dst []byte) []byte {
	o := ndjson.NewObject(dst)
	o.List("patches", d.Patches)
	o.List("reports", d.Reports)
	writeList(&o, "artifacts", d.Artifacts, func(a *Deliverable, dst []byte) []byte {
		o := ndjson.NewObject(dst)
		o.Text("name", a.Name)
		o.Text("artifactRef", a.ArtifactRef)
		return a.extra.close(&o)
	})
	return d.extra.close(&o)
}

func (e *Evidence) appendJSON(dst []byte) []byte {
	o := ndjson.NewObject(dst)
	o.Number("witnessExitCode", e.WitnessExitCode)
	o.Flag("witnessPassed", e.WitnessPassed)
	writeList(&o, "criticVerdicts", e.CriticVerdicts, func(v *Verdict, dst []byte) []byte {
		o := ndjson.NewObject(dst)
		o.Text("critic", v.Critic)
		o.Text("verdict", v.Verdict)
		o.Optional("summary", v.Summary)
		return v.extra.close(&o)
	})
	return e.extra.close(&o)
}

func (n *NextStep) appendJSON(dst []byte) []byte {
	o := ndjson.NewObject(dst)
	o.Optional("stepId", n.StepID)
	o.Optional("action", n.Action)
	return n.extra.close(&o)
}
