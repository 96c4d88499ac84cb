package packet

import (
	"time"
	"unicode/utf8"

	"kxm/lib/fault"
	"kxm/lib/item"
	"kxm/lib/ndjson"
)

// Material is what a formal packet is built of besides its step.
type Material struct {
	Items  []Entry // already masked; their order is kept, so the first are rendered
	Gaps   []string
	Budget int // tokens
}

// Build makes the packet of a step. Each item goes to one section: an open
// contradiction to contradictions, else a shared item to the defaults, knowledge and
// evidence to project knowledge, states and episodes to the current state, skills to
// the active skills; those that the step brings follow. Nothing is selected and nothing
// left out: see [Prune]. The error is context_isolation_violation for an item of the
// step that belongs to another project, context_limits_exceeded for more items or gaps
// than a packet may hold, or invalid_json for an unknown number that has no digest.
func Build(s Step, m Material, now time.Time) (Formal, error) {
	p := Formal{
		Project: s.Project, GeneratedAt: timeText(now), TargetRole: s.TargetRole,
		Task: s.Task, Criteria: s.Criteria, Plan: s.Plan, Predecessors: s.Predecessors,
		Budget: Budget{
			AllocatedTokens: m.Budget, EstimatedTokens: estimateJSON(&s, m.Items),
			UnresolvedGaps: append([]string{}, m.Gaps...), ProvenanceSummary: map[string]int{},
		},
	}
	for _, e := range m.Items {
		p.Budget.ProvenanceSummary[string(e.Kind)]++
		p.Environment.add(e)
	}
	if err := s.Environment.isolated(s.Project); err != nil {
		return Formal{}, err
	}
	p.Environment.addAll(s.Environment)
	if n := max(p.Environment.longest(), len(p.Budget.UnresolvedGaps)); n > MaxEntries {
		return Formal{}, fault.New(fault.ContextLimitsExceeded, "the packet would hold %d items or gaps in one list, more than %d", n, MaxEntries).
			WithHint("select first: kxm-pack --role NAME")
	}
	digest, err := ndjson.Digest(p.AppendJSON(nil), "packetId", "generatedAt")
	if err != nil {
		return Formal{}, err
	}
	p.PacketID = packetIDPrefix + digest[:idDigits]
	return p, nil
}

// timeText is a time as it is written: to the second, in UTC.
func timeText(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// add puts an item into its section.
func (e *Environment) add(it Entry) {
	switch {
	case it.open:
		e.Contradictions = append(e.Contradictions, it)
	case it.Project == item.SharedProject:
		e.SharedDefaults = append(e.SharedDefaults, Default{ID: it.ID, Summary: it.Summary})
	case it.Kind == item.KindState, it.Kind == item.KindEpisode:
		e.CurrentState = append(e.CurrentState, it)
	case it.Kind == item.KindSkill:
		e.ActiveSkills = append(e.ActiveSkills, it)
	default:
		e.ProjectKnowledge = append(e.ProjectKnowledge, it)
	}
}

func (e *Environment) addAll(with Environment) {
	e.SharedDefaults = append(e.SharedDefaults, with.SharedDefaults...)
	e.ProjectKnowledge = append(e.ProjectKnowledge, with.ProjectKnowledge...)
	e.CurrentState = append(e.CurrentState, with.CurrentState...)
	e.Contradictions = append(e.Contradictions, with.Contradictions...)
	e.ActiveSkills = append(e.ActiveSkills, with.ActiveSkills...)
	e.extra = with.extra
}

// isolated refuses items of another project, as selection does.
func (e *Environment) isolated(project string) error {
	for _, section := range [][]Entry{e.ProjectKnowledge, e.CurrentState, e.Contradictions, e.ActiveSkills} {
		for i := range section {
			if err := section[i].Isolated(project); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *Environment) longest() int {
	return max(len(e.SharedDefaults), len(e.ProjectKnowledge), len(e.CurrentState), len(e.Contradictions), len(e.ActiveSkills))
}

// estimateJSON is the estimate before anything is rendered: a quarter of the characters
// of what the packet is made of, as JSON.
func estimateJSON(s *Step, items []Entry) int {
	raw := s.Task.appendJSON(nil)
	raw = s.Plan.appendJSON(raw)
	raw = appendList(raw, s.Predecessors, (*Predecessor).appendJSON)
	raw = appendList(raw, items, (*Entry).appendJSON)
	return item.Tokens(utf8.RuneCount(raw))
}
