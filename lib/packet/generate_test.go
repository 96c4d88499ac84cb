package packet

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"kxm/lib/item"
)

// generator makes random pools and requests from a seed, so that a failure can be
// run again by its number.
type generator struct{ *rand.Rand }

func newGenerator(seed uint64) generator { return generator{rand.New(rand.NewPCG(seed, 0x5eed))} }

// eachPool calls check with a pool and a request of every seed.
func eachPool(t *testing.T, check func(t *testing.T, g generator, pool item.Pool, r Request)) {
	t.Helper()
	const pools = 150
	for seed := range uint64(pools) {
		g := newGenerator(seed)
		pool := g.pool(t)
		request := g.request(pool)
		check(t, g, pool, request)
		if t.Failed() {
			t.Fatalf("seed %d: %d items, %+v", seed, len(pool.Items), request)
		}
	}
}

func pick[T any](g generator, from ...T) T { return from[g.IntN(len(from))] }

func (g generator) chance(percent int) bool { return g.IntN(100) < percent }

var vocabulary = strings.Fields("release branch tests database key deploy index worker timeout retry Straße 發布 cache the of how camelCase v2 migration")

func (g generator) words(n int) string {
	words := make([]string, n)
	for i := range words {
		words[i] = pick(g, vocabulary...)
	}
	return strings.Join(words, " ")
}

func (g generator) pool(t *testing.T) item.Pool {
	n, length := g.IntN(40), 0
	switch {
	case g.chance(5):
		n = 0
	case g.chance(5):
		n = 350 + g.IntN(250) // about as many eligible ones as a packet may hold
	case g.chance(10):
		n, length = 1+g.IntN(3), item.MaxSummary-g.IntN(1000) // more than the least budget
	}
	var pool item.Pool
	for i := range n {
		it := g.item(i, n)
		if length > 0 {
			it.Summary = strings.Repeat("w", length)
		}
		if err := it.Check(); err != nil {
			t.Fatalf("the generator made an item that no pool can hold: %v\n%+v", err, it)
		}
		pool.Items = append(pool.Items, it)
	}
	for range g.IntN(5) {
		pool.Gaps = append(pool.Gaps, item.Gap{Gap: pick(g, "memory_unreadable:a.md", "state_unavailable", "zz", "a gap")})
	}
	return pool
}

func (g generator) item(i, n int) item.Item {
	// Ids of journal entries can be told from their number, so that others can cite them.
	it := item.Item{
		ID: fmt.Sprintf("item_%d", i), Project: "demo", Kind: pick(g, item.KindEvidence, item.KindState, item.KindEpisode, item.KindKnowledge, item.KindSkill),
		Confidence: pick(g, item.ConfidenceVerified, item.ConfidenceProbable, item.ConfidenceUncertain),
	}
	it.Provenance.SourceType = pick(g, item.OriginHuman, item.OriginGit, item.OriginWorkflow, item.OriginTool, item.OriginPeer, item.OriginExternal, item.OriginDerived)
	for it.Authority == "" || it.Authority.Rank() > it.Provenance.SourceType.Ceiling().Rank() {
		it.Authority = pick(g, item.AuthorityPolicy, item.AuthorityInstruction, item.AuthorityEvidence, item.AuthorityHypothesis)
	}
	switch {
	case g.chance(70):
		it.Summary = g.words(1 + g.IntN(12))
	case g.chance(80):
		it.Summary = g.words(20 + g.IntN(150))
	default:
		it.Summary = strings.Repeat("é", 1+g.IntN(item.MaxSummary))
	}
	if g.chance(20) {
		it.Project = item.SharedProject
	}
	if g.chance(40) {
		it.Provenance.SourceRef = strings.Repeat("r", 1+g.IntN(60))
	}
	if g.chance(25) {
		it.Status = pick(g, item.StatusCurrent, item.StatusSuperseded, item.StatusProposed, item.StatusRejected)
	}
	if it.Kind == item.KindState {
		it.StateKey = fmt.Sprintf("key.%d", g.IntN(1+n/3)) // shared by some
		it.Status = pick(g, item.StatusCurrent, item.StatusCurrent, item.StatusSuperseded, item.StatusProposed, item.StatusRejected)
	} else if g.chance(35) {
		it.ID = fmt.Sprintf("journal_%d", i)
		it.JournalCategory = pick(g, "plan", "decision", "contradiction", "contradiction", "observation", "lesson", "error", "experiment", "hypothesis", "state-change")
		if it.JournalCategory == "decision" || it.JournalCategory == "lesson" {
			for range g.IntN(3) {
				ref := fmt.Sprintf("%s%d", pick(g, "", "journal_"), g.IntN(n))
				if ref != it.ID && !slices.Contains(it.EvidenceRefs, ref) {
					it.EvidenceRefs = append(it.EvidenceRefs, ref)
				}
			}
		}
		it.RunID, it.StageID = pick(g, "", "run_1", "run_2"), pick(g, "", "", "draft", "review")
	}
	times := []string{"", "2026-01-01", "2026-01-01T00:00:00Z", "2026-01-01T02:00:00+02:00", "2025-12-31T23:59:59.5Z", "2026-03-01"}
	it.ObservedAt, it.ValidFrom = pick(g, times...), pick(g, times...)
	return it
}

func (g generator) request(pool item.Pool) Request {
	r := Request{Project: "demo", Role: FindRole(Roles(nil), pick(g, "repro", "planner", "critic", "implementer", "verifier", "scribe")), Share: pick(g, 0, 0.1, 0.5, 1)}
	if g.chance(80) {
		r.Task = g.words(1 + g.IntN(6))
	}
	if g.chance(80) {
		r.Budget = 512 + g.IntN(pick(g, 1, 500, 5_000))
	}
	if g.chance(30) {
		r.Kinds = []item.Kind{item.KindSkill, item.KindEvidence, item.KindState, item.KindKnowledge, item.KindEpisode}
		g.Shuffle(len(r.Kinds), func(i, j int) { r.Kinds[i], r.Kinds[j] = r.Kinds[j], r.Kinds[i] })
		r.Kinds = r.Kinds[:1+g.IntN(5)]
	}
	if g.chance(20) {
		r.RunID = "run_1"
	}
	if g.chance(20) {
		r.StageID = "draft"
	}
	if len(pool.Items) > 300 && g.chance(70) {
		r.Kinds = []item.Kind{item.KindSkill, item.KindEvidence, item.KindState, item.KindKnowledge, item.KindEpisode}
		r.Budget = 200_000
		r.Role.Categories = []string{"plan", "decision", "contradiction", "observation", "lesson", "error", "experiment"}
	}
	for range g.IntN(3) {
		if len(pool.Items) > 0 {
			r.Contradictions = append(r.Contradictions, pool.Items[g.IntN(len(pool.Items))].ID)
		}
	}
	return r
}

// masks that keep, lengthen and shorten what is printed, as redaction does.
var masks = map[string]Mask{
	"as it is": same,
	"longer": func(it item.Item) item.Item {
		it.Summary = strings.ReplaceAll(it.Summary, "key", "[redacted:generic-api-key]")
		it.ID = strings.ReplaceAll(it.ID, "7", "[redacted:seven]")
		return it
	},
	"shorter": func(it item.Item) item.Item {
		it.Summary = strings.ReplaceAll(it.Summary, "database", "[x]")
		return it
	},
}
