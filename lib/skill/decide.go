package skill

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"kxm/lib/fault"
	"kxm/lib/ndjson"
)

// newEvent starts a line of the history.
func newEvent(event, by, at string, status Status) *object {
	var o object
	return o.text("schema", EventSchema).text("at", at).text("event", event).text("by", by).text("status", string(status))
}

// Evaluate records the result of an evaluation of a skill whose digest verifies.
// One of functional or safety that failed moves a candidate or a promoted skill to
// the quarantined ones. Whether optimization is used at all is the caller's to say.
func (s *Store) Evaluate(id string, e Evaluation, at time.Time) (*Skill, error) {
	if !e.Kind.Valid() {
		return nil, fault.New(fault.Usage, "the evaluation kind is %s", quoted(string(e.Kind))).
			WithHint("one of %s, %s", joined(required), Optimization).On("kind")
	}
	if err := checkActor("evaluator", e.By); err != nil {
		return nil, err
	}
	var err error
	if e.Evidence, err = checkList("evidence", e.Evidence, MaxRefs, MaxRef); err != nil {
		return nil, err
	}
	if e.Notes != "" {
		if err := checkText("notes", e.Notes, MaxText); err != nil {
			return nil, err
		}
	}
	e.By, e.At = strings.TrimSpace(e.By), timestamp(at)

	var done *Skill
	err = s.decide(id, func(skill *Skill) error {
		// Not its status: a quarantine that died half way is completed here.
		if err := skill.verifyFiles(s.fsys()); err != nil {
			return err // the result would be of other files
		}
		status := skill.Status
		if !e.Passed && e.Kind.quarantines() && (status == StatusCandidate || status == StatusPromoted) {
			status = StatusQuarantined
		}
		r := skill.fields.withEvaluation(e)
		if status != skill.Status {
			r = r.with("status", ndjson.AppendString(nil, string(status)))
		}
		event := newEvent("evaluated", e.By, e.At, status).text("kind", string(e.Kind)).
			raw("passed", strconv.AppendBool(nil, e.Passed)).raw("evidence", encodeList(e.Evidence)).optional("notes", e.Notes)
		var err error
		done, err = s.write(skill, status, r, event.end())
		return err
	})
	return done, err
}

// Promote moves a candidate to the promoted skills: those that agents may be given
// once the change is committed. Refused are: an id that is nowhere
// (fault.SkillNotFound); a skill that is no candidate, a decider who is its author,
// and no evidence (fault.SkillPromotionInvalid); an evaluation that is missing or
// failed when last recorded (fault.SkillEvaluationsIncomplete); and files that are
// not those of the digest (fault.SkillIntegrityViolation).
func (s *Store) Promote(id, decider string, evidence []string, at time.Time) (*Skill, error) {
	if err := checkActor("decider", decider); err != nil {
		return nil, err
	}
	evidence, err := checkList("evidence", evidence, MaxRefs, MaxRef)
	if err != nil {
		return nil, err
	}
	decision := Decision{By: strings.TrimSpace(decider), At: timestamp(at), Evidence: evidence}

	var done *Skill
	err = s.decide(id, func(skill *Skill) error {
		if err := promotable(skill, decision); err != nil {
			return err
		}
		if err := skill.Verify(s.fsys()); err != nil {
			return err
		}
		event := newEvent("promoted", decision.By, decision.At, StatusPromoted).raw("evidence", encodeList(evidence))
		var err error
		done, err = s.write(skill, StatusPromoted, skill.fields.withDecision(StatusPromoted, decision), event.end())
		return err
	})
	return done, err
}

// promotable says why a decision may not promote a skill.
func promotable(skill *Skill, d Decision) error {
	refuse := func(format string, args ...any) *fault.Error {
		return fault.New(fault.SkillPromotionInvalid, "cannot promote %s: %s", quoted(skill.ID), fmt.Sprintf(format, args...))
	}
	missing := skill.Missing()
	switch {
	case skill.Status != StatusCandidate:
		return refuse("it is %s", skill.Status)
	case strings.EqualFold(d.By, strings.TrimSpace(skill.Author)):
		return refuse("the author cannot promote it")
	case len(d.Evidence) == 0:
		return refuse("no evidence is given")
	case len(missing) > 0:
		return fault.New(fault.SkillEvaluationsIncomplete, "cannot promote %s: no passed evaluation of %s", quoted(skill.ID), joined(missing)).
			WithHint("the latest of each of %s must have passed", joined(required))
	}
	return nil
}

// Reject moves a skill to the rejected ones. It needs a reason; the files need not
// verify, since a skill that was tampered with is one to reject. What is rejected
// already is refused with fault.SkillNotFound.
func (s *Store) Reject(id, decider, reason string, at time.Time) (*Skill, error) {
	if err := checkActor("decider", decider); err != nil {
		return nil, err
	}
	if err := checkText("reason", reason, MaxText); err != nil {
		return nil, err
	}
	decision := Decision{By: strings.TrimSpace(decider), At: timestamp(at), Reason: strings.TrimSpace(reason)}

	var done *Skill
	err := s.decide(id, func(skill *Skill) error {
		if skill.Status == StatusRejected {
			return fault.New(fault.SkillNotFound, "the skill %s is rejected already", quoted(id))
		}
		event := newEvent("rejected", decision.By, decision.At, StatusRejected).text("reason", decision.Reason)
		var err error
		done, err = s.write(skill, StatusRejected, skill.fields.withDecision(StatusRejected, decision), event.end())
		return err
	})
	return done, err
}

// joined lists kinds for a message.
func joined(kinds []EvaluationKind) string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = string(k)
	}
	return strings.Join(names, ", ")
}
