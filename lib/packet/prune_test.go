package packet

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"kxm/lib/item"
	"kxm/lib/kxmtest"
)

// formal makes a random formal packet whose texts come from text.
func (g generator) formal(t testing.TB, text func() string) Formal {
	step := Step{
		Project: "demo", TargetRole: "critic",
		Task: Task{TaskID: "run_1", StepID: "review", Objective: text(), AllowedOutcomes: []string{"passed", "failed"}, PermissionCeiling: PermissionEdit},
		Plan: Plan{PlanHash: "abc", TotalSteps: 3, SettledDecisions: []string{}}, Criteria: []Criterion{}, Predecessors: []Predecessor{},
	}
	for i := range g.IntN(4) {
		step.Criteria = append(step.Criteria, Criterion{ID: fmt.Sprint("c", i), Description: text(), VerificationKind: pick(g, "gate", "human"), Required: g.chance(50)})
		step.Plan.SettledDecisions = append(step.Plan.SettledDecisions, text())
	}
	for i := range g.IntN(4) {
		p := Predecessor{StepID: fmt.Sprint("s", i), Role: "planner", Status: "passed", Summary: text(), SettledAt: "2026-09-01", Artifacts: []Artifact{}, Decisions: []string{}}
		for j := range g.IntN(4) {
			a := Artifact{Name: fmt.Sprint("n", j), Kind: "log", ArtifactRef: fmt.Sprintf("art:%d.%d", i, j)}
			if g.chance(60) {
				a.ContentSnippet = text()
			}
			p.Artifacts = append(p.Artifacts, a)
		}
		step.Predecessors = append(step.Predecessors, p)
	}
	m := Material{Budget: DefaultFormalBudget, Gaps: []string{"g1"}}
	for i := range g.IntN(25) {
		it := g.item(i, 25)
		it.Summary = text()
		m.Items = append(m.Items, Entry{Item: it, Versioned: g.chance(50), open: g.chance(10)})
	}
	p, err := Build(step, m, kxmtest.Now())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// pieces are everything that pruning may remove, as it names it.
func pieces(p *Formal) []Removed {
	all := []Removed{}
	for _, d := range p.Environment.SharedDefaults {
		all = append(all, Removed{StageDefaults, d.ID, ""})
	}
	for _, e := range p.Environment.CurrentState {
		if e.Kind == item.KindEpisode {
			all = append(all, Removed{StageEpisodes, e.ID, ""})
		}
	}
	for _, e := range p.Environment.ProjectKnowledge {
		all = append(all, Removed{StageDocs, e.ID, ""})
	}
	for _, s := range p.Predecessors {
		for _, a := range s.Artifacts {
			all = append(all, Removed{StageArtifacts, a.ArtifactRef, "artifact"})
			if a.ContentSnippet != "" {
				all = append(all, Removed{StageArtifacts, a.ArtifactRef, "snippet"})
			}
		}
	}
	return all
}

// expectedPrune prunes as the published system does: one element at a time, measured
// after each.
func expectedPrune(p Formal, budget int) Formal {
	size := func() int { return (len([]rune(p.Prompt(false))) + 3) / 4 }
	for env := &p.Environment; size() > budget && len(env.SharedDefaults) > 0; {
		env.SharedDefaults = env.SharedDefaults[:len(env.SharedDefaults)-1]
	}
	for i := len(p.Environment.CurrentState) - 1; i >= 0 && size() > budget; i-- {
		if p.Environment.CurrentState[i].Kind == item.KindEpisode {
			p.Environment.CurrentState = slices.Delete(slices.Clone(p.Environment.CurrentState), i, i+1)
		}
	}
	for env := &p.Environment; size() > budget && len(env.ProjectKnowledge) > 0; {
		env.ProjectKnowledge = env.ProjectKnowledge[:len(env.ProjectKnowledge)-1]
	}
	for _, strip := range []func(s *Predecessor){
		func(s *Predecessor) {
			s.Artifacts = slices.Clone(s.Artifacts)
			for i := range s.Artifacts {
				s.Artifacts[i].ContentSnippet = ""
			}
		},
		func(s *Predecessor) { s.Artifacts = nil },
	} {
		if size() > budget {
			p.Predecessors = slices.Clone(p.Predecessors)
			for i := range p.Predecessors {
				strip(&p.Predecessors[i])
			}
		}
	}
	return p
}

func TestPruning(t *testing.T) {
	reached := map[Stage]int{}
	inviolable := 0
	for seed := range uint64(300) {
		g := newGenerator(seed)
		p := g.formal(t, func() string { return g.words(1 + g.IntN(60)) })
		before := string(encoded(t, p))
		budget := 1 + g.IntN(2*p.estimate())
		pruned, audit := Prune(p, budget)

		if string(encoded(t, p)) != before {
			t.Fatalf("seed %d: the packet given was changed", seed)
		}
		if got, want := pruned.Prompt(true), expectedPrune(p, budget); got != want.Prompt(true) {
			t.Fatalf("seed %d, budget %d: pruned to\n%s\nwant\n%s", seed, budget, got, want.Prompt(true))
		}
		// Never over its budget, unless the gap says so.
		told := slices.Contains(pruned.Budget.UnresolvedGaps, GapTaskInviolable)
		if over := pruned.estimate() > budget; over != told || audit.FinalTokens != pruned.estimate() || pruned.Budget.EstimatedTokens != audit.FinalTokens {
			t.Errorf("seed %d: %d tokens in %d, told %v: %+v", seed, pruned.estimate(), budget, told, audit)
		}
		// Nothing vanishes unnamed, and nothing is named that is still there.
		rest := slices.Concat(audit.Removed, pieces(&pruned))
		all := pieces(&p)
		for _, list := range [][]Removed{rest, all} {
			slices.SortFunc(list, func(a, b Removed) int {
				return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
			})
		}
		if !slices.Equal(rest, all) {
			t.Errorf("seed %d: removed and left are\n%v\nthere was\n%v", seed, rest, all)
		}
		c := audit.PrunedItemCounts
		counts := map[Stage]int{}
		for _, r := range audit.Removed {
			if r.Part != "artifact" {
				counts[r.Stage]++
			}
			reached[r.Stage]++
		}
		if counts[StageDefaults] != c.SharedDefaults || counts[StageEpisodes] != c.Episodes || counts[StageDocs] != c.Docs || counts[StageArtifacts] != c.ArtifactSnippets {
			t.Errorf("seed %d: counts %+v, removed %v", seed, c, audit.Removed)
		}
		// What is inviolable is whole.
		if !reflect.DeepEqual(pruned.Task, p.Task) || !reflect.DeepEqual(pruned.Plan, p.Plan) || !reflect.DeepEqual(pruned.Criteria, p.Criteria) ||
			!reflect.DeepEqual(pruned.Environment.Contradictions, p.Environment.Contradictions) || pruned.PacketID != p.PacketID {
			t.Errorf("seed %d: more is gone than may be", seed)
		}
		again, second := Prune(pruned, budget)
		if string(encoded(t, again)) != string(encoded(t, pruned)) || len(second.Removed) > 0 {
			t.Errorf("seed %d: pruned again:\n%s\nwas\n%s", seed, encoded(t, again), encoded(t, pruned))
		}
		if told {
			inviolable++
		}
		if raw := encoded(t, pruned); string(encoded(t, readFormal(t, raw))) != string(raw) {
			t.Errorf("seed %d: it does not read as it was written", seed)
		}
	}
	for _, stage := range []Stage{StageDefaults, StageEpisodes, StageDocs, StageArtifacts} {
		if reached[stage] < 20 {
			t.Errorf("%s removed only %d", stage, reached[stage])
		}
	}
	if inviolable < 20 {
		t.Errorf("only %d were too large", inviolable)
	}
}

func TestPruningNamesEachPart(t *testing.T) {
	p := readFormal(t, fullPacket(t))
	_, audit := Prune(p, 150)
	want := []Removed{
		{StageDefaults, "d2", ""}, {StageDefaults, "d1", ""}, {StageEpisodes, "ep2", ""}, {StageEpisodes, "ep1", ""},
		{StageDocs, "k7", ""}, {StageDocs, "k6", ""}, {StageDocs, "k5", ""}, {StageDocs, "k4", ""}, {StageDocs, "k3", ""}, {StageDocs, "k2", ""}, {StageDocs, "k1", ""},
		{StageArtifacts, "art:1", "snippet"}, {StageArtifacts, "art:2", "snippet"},
		{StageArtifacts, "art:1", "artifact"}, {StageArtifacts, "art:2", "artifact"}, {StageArtifacts, "art:3", "artifact"},
	}
	if !slices.Equal(audit.Removed, want) {
		t.Errorf("%v\nwant\n%v", audit.Removed, want)
	}
	if raw := string(encoded(t, audit.Removed[0])); raw != `{"stage":"L1_defaults","id":"d2"}` {
		t.Error(raw)
	}
}
