package packet

import (
	"slices"
	"sort"
)

// GapTaskInviolable says that a packet is too large although everything was removed
// that may be.
const GapTaskInviolable = "context_budget_exceeded_task_inviolable"

// Stage is a step of pruning.
type Stage string

// The stages, in their order.
const (
	StageDefaults  Stage = "L1_defaults"
	StageEpisodes  Stage = "L2_episodes"
	StageDocs      Stage = "L2_docs"
	StageArtifacts Stage = "L5_artifacts"
)

// Removed names what pruning removed.
type Removed struct {
	Stage Stage  `json:"stage"`
	ID    string `json:"id"`             // of the item; the reference of an artifact
	Part  string `json:"part,omitempty"` // of an artifact: "snippet" of its text alone, "artifact" of its entry
}

// PruneAudit says what pruning did. Sizes are in tokens, of the rendered packet.
type PruneAudit struct {
	InitialTokens    int         `json:"initialTokens"`
	FinalTokens      int         `json:"finalTokens"`
	BudgetTokens     int         `json:"budgetTokens"`
	PrunedStages     []Stage     `json:"prunedStages"`
	PrunedItemCounts PruneCounts `json:"prunedItemCounts"`
	Removed          []Removed   `json:"removed"`
	UnresolvedGaps   []string    `json:"unresolvedGaps"`
}

// PruneCounts are the numbers of what was removed.
type PruneCounts struct {
	SharedDefaults   int `json:"sharedDefaults"`
	Episodes         int `json:"episodes"`
	Docs             int `json:"docs"`
	ArtifactSnippets int `json:"artifactSnippets"`
}

// Prune removes what a packet can do without until its rendering fits the budget:
// shared defaults from the end, episodes and project knowledge from the end, then all
// snippets, then all artifacts. Task, plan and criteria stay; a packet that is still
// too large has the gap [GapTaskInviolable]. The packet keeps its id, which names it as
// it was built. The packet given is not changed.
func Prune(p Formal, budget int) (Formal, PruneAudit) {
	u := pruning{p: p, budget: budget, size: p.estimate()}
	u.audit = PruneAudit{InitialTokens: u.size, BudgetTokens: budget, PrunedStages: []Stage{}, Removed: []Removed{}}
	env := &u.p.Environment
	counts := &u.audit.PrunedItemCounts
	counts.SharedDefaults = pop(&u, StageDefaults, &env.SharedDefaults,
		func(*Default) bool { return true }, func(d *Default) string { return d.ID })
	entryID := func(e *Entry) string { return e.ID }
	counts.Episodes = pop(&u, StageEpisodes, &env.CurrentState, (*Entry).isEpisode, entryID)
	counts.Docs = pop(&u, StageDocs, &env.ProjectKnowledge, func(*Entry) bool { return true }, entryID)
	u.artifacts()

	gaps := append([]string{}, p.Budget.UnresolvedGaps...)
	if u.size > budget && !slices.Contains(gaps, GapTaskInviolable) {
		gaps = append(gaps, GapTaskInviolable)
	}
	u.p.Budget.AllocatedTokens, u.p.Budget.EstimatedTokens, u.p.Budget.UnresolvedGaps = budget, u.size, gaps
	u.audit.FinalTokens, u.audit.UnresolvedGaps = u.size, gaps
	return u.p, u.audit
}

type pruning struct {
	p      Formal // shares with the packet given what is not changed
	budget int
	size   int // of p as it is
	audit  PruneAudit
}

// begin reports whether a stage has something to do, and records that it began.
func (u *pruning) begin(stage Stage, any bool) bool {
	if u.size <= u.budget || !any {
		return false
	}
	u.audit.PrunedStages = append(u.audit.PrunedStages, stage)
	return true
}

func (u *pruning) removed(r Removed) { u.audit.Removed = append(u.audit.Removed, r) }

// pop removes as few of the removable elements from the end of a list as make the
// packet fit, or all of them, and returns their number. That number is found by
// halving, since each step renders the packet.
func pop[T any](u *pruning, stage Stage, list *[]T, removable func(*T) bool, id func(*T) string) int {
	all := *list
	var at []int // indexes of removable elements, from the end
	for i := len(all) - 1; i >= 0; i-- {
		if removable(&all[i]) {
			at = append(at, i)
		}
	}
	if !u.begin(stage, len(at) > 0) {
		return 0
	}
	without := func(n int) { // leaves out the last n
		kept := make([]T, 0, len(all)-n)
		for i := range all {
			if i < at[n-1] || !removable(&all[i]) {
				kept = append(kept, all[i])
			}
		}
		*list = kept
		u.size = u.p.estimate()
	}
	n := 1 + sort.Search(len(at)-1, func(i int) bool {
		without(i + 1)
		return u.size <= u.budget
	})
	without(n)
	for _, i := range at[:n] {
		u.removed(Removed{Stage: stage, ID: id(&all[i])})
	}
	return n
}

// artifacts removes all snippets and, if that is not enough, all artifacts.
func (u *pruning) artifacts() {
	any := slices.ContainsFunc(u.p.Predecessors, func(p Predecessor) bool { return len(p.Artifacts) > 0 })
	if !u.begin(StageArtifacts, any) {
		return
	}
	u.p.Predecessors = slices.Clone(u.p.Predecessors)
	for i := range u.p.Predecessors {
		list := &u.p.Predecessors[i].Artifacts
		*list = slices.Clone(*list)
		for j := range *list {
			if a := &(*list)[j]; a.ContentSnippet != "" {
				a.ContentSnippet = ""
				u.audit.PrunedItemCounts.ArtifactSnippets++
				u.removed(Removed{StageArtifacts, a.ArtifactRef, "snippet"})
			}
		}
	}
	if u.size = u.p.estimate(); u.size <= u.budget {
		return
	}
	for i := range u.p.Predecessors {
		list := &u.p.Predecessors[i].Artifacts
		for j := range *list {
			u.removed(Removed{StageArtifacts, (*list)[j].ArtifactRef, "artifact"})
		}
		*list = []Artifact{}
	}
	u.size = u.p.estimate()
}
