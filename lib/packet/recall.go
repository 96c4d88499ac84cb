package packet

import (
	"cmp"
	"slices"
	"strings"

	"kxm/lib/item"
	"kxm/lib/rank"
)

// Recalled is what recall tells of an item: metadata, never its text.
type Recalled struct {
	ID           string          `json:"id"`
	Kind         item.Kind       `json:"kind"`
	Authority    item.Authority  `json:"authority"`
	Confidence   item.Confidence `json:"confidence"`
	SourceType   item.Origin     `json:"sourceType"`
	Derived      bool            `json:"derived"`
	LineageDepth int             `json:"lineageDepth"`
	Status       item.Status     `json:"status,omitempty"`
	SourceRef    string          `json:"sourceRef,omitempty"`
	Relevance    float64         `json:"relevance"`
}

// Recall is the answer to a query.
type Recall struct {
	Items          []Recalled `json:"items"`
	UnresolvedGaps []string   `json:"unresolvedGaps"`
}

// RecallRequest is a search over the live pool.
type RecallRequest struct {
	Project string
	Query   string      // trimmed; empty finds everything, by id
	Kinds   []item.Kind // empty: all
	Limit   int         // 1 to MaxRecallLimit
}

// Search finds live items: first those whose summary or state key contains the
// whole query, ignoring case, then those that share a word with it; within each
// group by score, then id.
func Search(pool item.Pool, r RecallRequest, mask func(string) string) (Recall, error) {
	if err := pool.Isolated(r.Project); err != nil {
		return Recall{}, err
	}
	type hit struct {
		item   *item.Item
		phrase bool
		tally  rank.Tally
		score  float64
	}
	query := rank.NewQuery(r.Query)
	phrase := strings.ToLower(strings.TrimSpace(r.Query))
	hits := make([]hit, 0, len(pool.Items))
	for i := range pool.Items {
		it := &pool.Items[i]
		if it.Live() && (len(r.Kinds) == 0 || slices.Contains(r.Kinds, it.Kind)) {
			hits = append(hits, hit{item: it})
		}
	}
	if phrase != "" {
		spread(len(hits), func(from, to int) {
			for i := from; i < to; i++ {
				h := &hits[i]
				h.tally = query.Tally(h.item.Summary, h.item.StateKey)
				h.phrase = strings.Contains(strings.ToLower(h.item.Summary), phrase) || strings.Contains(strings.ToLower(h.item.StateKey), phrase)
			}
		})
		tallies := make([]rank.Tally, len(hits))
		for i := range hits {
			tallies[i] = hits[i].tally
		}
		collection := query.Collect(tallies)
		for i := range hits {
			hits[i].score = collection.Score(tallies[i])
		}
		hits = slices.DeleteFunc(hits, func(h hit) bool { return !h.phrase && h.score == 0 })
	}
	slices.SortFunc(hits, func(a, b hit) int {
		if a.phrase != b.phrase {
			return first(a.phrase)
		}
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(a.item.ID, b.item.ID))
	})
	out := Recall{Items: []Recalled{}, UnresolvedGaps: []string{}}
	for _, h := range hits[:min(len(hits), r.Limit)] {
		p := &h.item.Provenance
		depth := len(p.DerivedFrom)
		out.Items = append(out.Items, Recalled{
			ID: mask(h.item.ID), Kind: h.item.Kind, Authority: h.item.Authority, Confidence: h.item.Confidence, SourceType: p.SourceType,
			Derived: depth > 0 || p.SourceType == item.OriginDerived, LineageDepth: depth,
			Status: h.item.Status, SourceRef: mask(p.SourceRef), Relevance: rank.Round(h.score),
		})
	}
	if len(out.Items) == 0 {
		out.UnresolvedGaps = append(out.UnresolvedGaps, "no matching context records")
	}
	for _, g := range streamGaps(pool.Gaps) {
		out.UnresolvedGaps = append(out.UnresolvedGaps, mask(g))
	}
	return out, nil
}
