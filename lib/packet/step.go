package packet

import (
	"strings"
	"unicode/utf8"

	"kxm/lib/fault"
)

// Step is what a formal packet is built for.
type Step struct {
	Project      string // may be empty: others may name it
	TargetRole   string // may be empty
	Instructions string // may be empty; of the selection's task, never of the packet
	Task         Task
	Criteria     []Criterion
	Plan         Plan
	Predecessors []Predecessor
	Environment  Environment // items that are added behind those of the pool
}

// ReadStep reads a step from a value that package ndjson has validated. Its own
// unknown fields are dropped, since a packet is made of its parts; those of the parts
// are kept. The error is a *fault.Error that names the field: invalid_step, or
// context_authority_violation for a control-plane field of a part.
func ReadStep(raw []byte, masks Masks) (Step, error) {
	r := reader{subject: "step", code: fault.InvalidStep, masks: masks}
	o := r.object("", raw, "project", "targetRole", "instructions", "task", "acceptanceCriteria", "plan", "predecessors", "environment")
	s := Step{
		Project:      o.optionalLabel("project"),
		TargetRole:   o.optionalLabel("targetRole"),
		Instructions: o.optional("instructions", MaxText),
		Task:         r.task(o),
		Criteria:     orNone(o, "acceptanceCriteria", MaxParts, r.criterion),
		Plan:         r.plan(o),
		Predecessors: orNone(o, "predecessors", MaxParts, r.predecessor),
	}
	if o.has("environment") {
		s.Environment = r.environment(o, true)
	}
	return s, r.err
}

// selectionTask is what an item must match to be relevant to the step: instructions and
// objective, as much of them as a request may hold, else the step's id.
func (s *Step) selectionTask() string {
	task := strings.TrimSpace(s.Instructions + "\n" + s.Task.Objective)
	if utf8.RuneCountInString(task) > MaxTask {
		task = string([]rune(task)[:MaxTask])
	}
	if task == "" {
		return s.Task.StepID
	}
	return task
}
