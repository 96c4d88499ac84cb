package packet

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"kxm/lib/item"
)

// wantRecall searches the plain way.
func wantRecall(pool item.Pool, r RecallRequest) Recall {
	var alive []item.Item
	for _, it := range pool.Items {
		if it.Status != item.StatusSuperseded && it.Status != item.StatusRejected && (len(r.Kinds) == 0 || slices.Contains(r.Kinds, it.Kind)) {
			alive = append(alive, it)
		}
	}
	scores := bm25(r.Query, alive)
	phrase := strings.ToLower(strings.TrimSpace(r.Query))
	type hit struct {
		it    item.Item
		first float64
		score float64
	}
	var hits []hit
	for i, it := range alive {
		h := hit{it, 1, scores[i]}
		if phrase != "" && (strings.Contains(strings.ToLower(it.Summary), phrase) || strings.Contains(strings.ToLower(it.StateKey), phrase)) {
			h.first = 0
		}
		if phrase == "" || h.first == 0 || h.score > 0 {
			hits = append(hits, h)
		}
	}
	slices.SortFunc(hits, func(a, b hit) int {
		if c := slices.Compare([]float64{a.first, -a.score}, []float64{b.first, -b.score}); c != 0 {
			return c
		}
		return strings.Compare(a.it.ID, b.it.ID)
	})
	out := Recall{Items: []Recalled{}, UnresolvedGaps: []string{}}
	for _, h := range hits {
		if len(out.Items) == r.Limit {
			break
		}
		n := len(h.it.Provenance.DerivedFrom)
		out.Items = append(out.Items, Recalled{
			h.it.ID, h.it.Kind, h.it.Authority, h.it.Confidence, h.it.Provenance.SourceType, n > 0 || h.it.Provenance.SourceType == "derived", n,
			h.it.Status, h.it.Provenance.SourceRef, math.Floor(h.score*1000+0.5) / 1000,
		})
	}
	if len(hits) == 0 {
		out.UnresolvedGaps = append(out.UnresolvedGaps, "no matching context records")
	}
	start := len(out.UnresolvedGaps)
	for _, g := range pool.Gaps {
		if !slices.Contains(out.UnresolvedGaps[start:], g.Gap) {
			out.UnresolvedGaps = append(out.UnresolvedGaps, g.Gap)
		}
	}
	slices.Sort(out.UnresolvedGaps[start:])
	return out
}

func TestSearchFindsWhatTheRulesSay(t *testing.T) {
	empty, full := 0, 0
	eachPool(t, func(t *testing.T, g generator, pool item.Pool, request Request) {
		for i := range pool.Items {
			for range g.IntN(3) {
				pool.Items[i].Provenance.DerivedFrom = append(pool.Items[i].Provenance.DerivedFrom, "some")
			}
		}
		r := RecallRequest{
			Project: "demo", Limit: pick(g, 1, 3, 25, 100), Kinds: request.Kinds,
			Query: pick(g, "", "  ", g.words(1), " "+g.words(2), strings.ToUpper(g.words(1)), "KEY.1", "unheard of", "the", "ééé"),
		}
		got, err := Search(pool, r, plain)
		if err != nil {
			t.Fatal(err)
		}
		if want := wantRecall(pool, r); !reflect.DeepEqual(got, want) {
			t.Errorf("%+v\n got %+v\nwant %+v", r, got, want)
		}
		g.Shuffle(len(pool.Items), func(i, j int) { pool.Items[i], pool.Items[j] = pool.Items[j], pool.Items[i] })
		if again, err := Search(pool, r, plain); err != nil || !reflect.DeepEqual(got, again) {
			t.Errorf("the order of the pool decides something: %+v, %v", again, err)
		}
		if len(got.Items) == 0 {
			empty++
		}
		if len(got.Items) == r.Limit {
			full++
		}
	})
	if empty < 5 || full < 5 {
		t.Errorf("%d answers without an item and %d cut by the limit", empty, full)
	}
}

func TestSearchMasksAllThatItPrints(t *testing.T) {
	it := markdownItem("id", "text", item.KindKnowledge)
	it.Provenance.SourceRef = "ref"
	pool := item.Pool{Items: []item.Item{it}, Gaps: []item.Gap{{Gap: "gap"}}}
	got, err := Search(pool, RecallRequest{Project: "demo", Limit: 1}, func(string) string { return "masked" })
	if err != nil {
		t.Fatal(err)
	}
	if got.Items[0].ID != "masked" || got.Items[0].SourceRef != "masked" || got.UnresolvedGaps[0] != "masked" {
		t.Errorf("%+v", got)
	}
}
