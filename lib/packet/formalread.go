package packet

import (
	"kxm/lib/fault"
	"kxm/lib/ndjson"
)

// ReadFormal reads a formal packet from a value that package ndjson has validated, or
// from an object that holds one as its field "packet", as what prune and dispatch
// print does. The error is a *fault.Error that names the field: invalid_packet, or
// context_authority_violation for a control-plane field.
func ReadFormal(raw []byte, masks Masks) (Formal, error) {
	if inner := within(raw); inner != nil {
		raw = inner
	}
	r := reader{subject: "packet", code: fault.InvalidPacket, masks: masks}
	o := r.object("", raw, formalFields...)
	o.schema(FormalSchema, true)
	p := Formal{
		PacketID:     o.derivedID("packetId", packetIDPrefix),
		Project:      o.label("project"),
		GeneratedAt:  o.time("generatedAt"),
		TargetRole:   o.label("targetRole"),
		Task:         r.task(o),
		Criteria:     elements(o, "acceptanceCriteria", MaxParts, r.criterion),
		Plan:         r.plan(o),
		Predecessors: elements(o, "predecessors", MaxParts, r.predecessor),
		Environment:  r.environment(o, false),
		Budget:       r.budget(o),
		extra:        o.extra(),
	}
	return p, r.err
}

// within returns the packet inside of an answer of ours that holds one, else nil. A
// record, which has a schema or an id, is no such answer.
func within(raw []byte) []byte {
	if ndjson.Kind(raw) != '{' {
		return nil
	}
	var inner []byte
	record := false
	// The value is valid, so iterating over it cannot fail.
	_ = ndjson.Fields(raw, func(key string, value []byte) error {
		switch key {
		case "packet":
			if ndjson.Kind(value) == '{' {
				inner = value
			}
		case "schema", "id":
			record = true
		}
		return nil
	})
	if record {
		return nil
	}
	return inner
}

func (r *reader) task(in *object) Task {
	o := in.child("task", taskFields...)
	return Task{
		TaskID:            o.label("taskId"),
		StepID:            o.label("stepId"),
		StepAttempt:       o.number("stepAttempt", 0, maxNumber),
		Objective:         o.prose("objective"),
		AllowedOutcomes:   elements(o, "allowedOutcomes", MaxParts, o.labels("allowedOutcomes")),
		PermissionCeiling: oneOf(o, "permissionCeiling", PermissionReadOnly, PermissionEdit, PermissionAdmin),
		extra:             o.extra(),
	}
}

func (r *reader) criterion(path string, value []byte) Criterion {
	o := r.object(path, value, criterionFields...)
	return Criterion{
		ID:               o.label("id"),
		Description:      o.text("description", MaxText),
		VerificationKind: oneOf(o, "verificationKind", "gate", "witness", "critic", "human"),
		TargetRef:        o.optional("targetRef", MaxText),
		Required:         o.boolean("required"),
		extra:            o.extra(),
	}
}

func (r *reader) plan(in *object) Plan {
	o := in.child("plan", planFields...)
	p := Plan{
		PlanHash:         o.label("planHash"),
		ActiveStepIndex:  o.number("activeStepIndex", 0, maxNumber),
		TotalSteps:       o.number("totalSteps", 1, maxNumber),
		SettledDecisions: elements(o, "settledDecisions", MaxParts, o.texts("settledDecisions", MaxText)),
		extra:            o.extra(),
	}
	if r.err == nil && p.ActiveStepIndex >= p.TotalSteps {
		o.fail("activeStepIndex", "must be less than totalSteps, which is %d", p.TotalSteps)
	}
	return p
}

func (r *reader) predecessor(path string, value []byte) Predecessor {
	o := r.object(path, value, predecessorFields...)
	return Predecessor{
		StepID:    o.label("stepId"),
		Role:      o.label("role"),
		Status:    oneOf(o, "status", "passed", "warning", "failed", "settled"),
		Summary:   o.prose("summary"),
		SettledAt: o.time("settledAt"),
		Artifacts: elements(o, "artifacts", MaxParts, r.artifact),
		Decisions: elements(o, "decisions", MaxParts, o.texts("decisions", MaxText)),
		extra:     o.extra(),
	}
}

func (r *reader) artifact(path string, value []byte) Artifact {
	o := r.object(path, value, artifactFields...)
	return Artifact{
		Name:           o.label("name"),
		Kind:           oneOf(o, "kind", "patch", "report", "log", "plan", "repro_script", "doc"),
		ArtifactRef:    o.label("artifactRef"),
		ContentSnippet: o.optional("contentSnippet", MaxSnippet),
		extra:          o.extra(),
	}
}

// environment reads the sections, each of which may be absent from a step's.
func (r *reader) environment(in *object, partial bool) Environment {
	o := in.child("environment", environmentFields...)
	section := func(name string) []Entry {
		if partial {
			return orNone(o, name, MaxEntries, r.entry)
		}
		return elements(o, name, MaxEntries, r.entry)
	}
	var e Environment
	if partial {
		e.SharedDefaults = orNone(o, "sharedDefaults", MaxEntries, r.shared)
	} else {
		e.SharedDefaults = elements(o, "sharedDefaults", MaxEntries, r.shared)
	}
	e.ProjectKnowledge = section("projectKnowledge")
	e.CurrentState = section("currentState")
	e.Contradictions = section("contradictions")
	e.ActiveSkills = section("activeSkills")
	e.extra = o.extra()
	return e
}

func (r *reader) shared(path string, value []byte) Default {
	o := r.object(path, value, "id", "summary")
	return Default{ID: o.label("id"), Summary: o.text("summary", MaxText), extra: o.extra()}
}

func (r *reader) budget(in *object) Budget {
	o := in.child("budget", budgetFields...)
	b := Budget{
		AllocatedTokens:   o.number("allocatedTokens", MinFormalBudget, MaxFormalBudget),
		EstimatedTokens:   o.number("estimatedTokens", 0, maxNumber),
		UnresolvedGaps:    elements(o, "unresolvedGaps", MaxEntries, o.texts("unresolvedGaps", MaxText)),
		ProvenanceSummary: map[string]int{},
		extra:             o.extra(),
	}
	for _, count := range r.counts(o, "provenanceSummary") {
		b.ProvenanceSummary[count.key] = r.number(o.field("provenanceSummary"), count.value, 0, maxNumber)
	}
	return b
}

// counts reads the members of an object of any names.
func (r *reader) counts(in *object, name string) []member {
	o := in.child(name)
	if len(o.others) > MaxParts {
		o.r.fail(o.path, "has more than %d entries", MaxParts)
		return nil
	}
	if r.err != nil {
		return nil
	}
	return r.masked(in.values[name])
}
