package packet

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"kxm/lib/item"
	"kxm/lib/rank"
)

// expected is what a request must yield, worked out the slow and plain way: each rule
// is a loop over the whole pool.
type expected struct {
	selected      []string // ids as in the pool
	outcomes      map[string]Outcome
	contradiction map[string]bool
	scores        map[string]float64
	gaps          []string
	considered    int
	superseded    int
}

func expect(pool item.Pool, r Request, mask Mask) expected {
	e := expected{outcomes: map[string]Outcome{}, contradiction: map[string]bool{}, scores: map[string]float64{}}
	var alive []item.Item
	for _, it := range pool.Items {
		if it.Status == item.StatusSuperseded || it.Status == item.StatusRejected {
			e.superseded++
		} else {
			alive = append(alive, it)
		}
	}
	for _, it := range alive {
		e.contradiction[it.ID] = contradicted(it, alive) || slices.Contains(r.Contradictions, it.ID)
	}
	kinds := r.Kinds
	if len(kinds) == 0 {
		kinds = r.Role.Kinds
	}
	var eligible []item.Item
	for _, it := range alive {
		proposedSkill := it.Kind == item.KindSkill && it.Status == item.StatusProposed
		proposedState := it.Kind == item.KindState && it.Status != item.StatusCurrent
		switch {
		case it.JournalCategory != "" && !slices.Contains(r.Role.Categories, it.JournalCategory):
			e.outcomes[it.ID] = OtherCategory
			continue
		case r.RunID != "" && it.RunID != "" && it.RunID != r.RunID, r.StageID != "" && it.StageID != "" && it.StageID != r.StageID:
			e.outcomes[it.ID] = OtherRun
			continue
		}
		e.considered++
		switch {
		case !e.contradiction[it.ID] && !slices.Contains(kinds, it.Kind):
			e.outcomes[it.ID] = OtherKind
		case !e.contradiction[it.ID] && (proposedSkill || proposedState):
			e.outcomes[it.ID] = Inert
		default:
			eligible = append(eligible, it)
		}
	}
	for i, score := range bm25(r.Task, eligible) {
		e.scores[eligible[i].ID] = score
	}
	keys := map[string][]float64{}
	for _, it := range eligible {
		keys[it.ID] = e.keys(it, kinds)
	}
	for i := range eligible {
		for j := i + 1; j < len(eligible); j++ {
			a, b := eligible[i], eligible[j]
			if c := slices.Compare(keys[b.ID], keys[a.ID]); c < 0 || c == 0 && b.ID < a.ID {
				eligible[i], eligible[j] = b, a
			}
		}
	}
	e.fill(eligible, r, mask)
	for _, g := range pool.Gaps {
		if !slices.Contains(e.gaps[len(e.gaps)-e.streamed():], g.Gap) {
			e.gaps = append(e.gaps, g.Gap)
		}
	}
	slices.Sort(e.gaps[len(e.gaps)-e.streamed():])
	if len(alive) == 0 {
		e.gaps = slices.Insert(e.gaps, len(e.gaps)-e.streamed(), "no context records exist for this project yet")
	}
	return e
}

// streamed counts the gaps at the end that come from the stream: the selection's own
// never look like the generator's.
func (e *expected) streamed() int {
	n := 0
	for _, g := range e.gaps {
		if !strings.Contains(g, "budget of") && !strings.Contains(g, "deferred") && !strings.Contains(g, "limit reached") {
			n++
		}
	}
	return n
}

// contradicted says whether the pool itself holds a live contradiction about an item.
func contradicted(it item.Item, alive []item.Item) bool {
	entry := func(id string) string { return strings.TrimPrefix(id, "journal_") }
	if it.Kind == item.KindState {
		for _, other := range alive {
			if other.Kind == item.KindState && other.ID != it.ID && other.Project == it.Project && other.StateKey == it.StateKey && other.Status == it.Status {
				return true
			}
		}
	}
	if it.JournalCategory != "contradiction" {
		return false
	}
	for _, other := range alive {
		if other.JournalCategory == "decision" || other.JournalCategory == "lesson" {
			for _, ref := range other.EvidenceRefs {
				if entry(ref) == entry(it.ID) {
					return false
				}
			}
		}
	}
	return true
}

// keys are the first eight of the nine keys, of which less is better.
func (e *expected) keys(it item.Item, kinds []item.Kind) []float64 {
	no := func(b bool) float64 {
		if b {
			return 0
		}
		return 1
	}
	kind := slices.Index(kinds, it.Kind)
	if kind < 0 {
		kind = len(kinds)
	}
	return []float64{
		no(e.contradiction[it.ID]), no(it.Project != item.SharedProject), no(e.scores[it.ID] > 0), float64(kind), -e.scores[it.ID],
		-float64(slices.Index([]item.Confidence{item.ConfidenceUncertain, item.ConfidenceProbable, item.ConfidenceVerified}, it.Confidence)),
		-float64(slices.Index([]item.Authority{item.AuthorityHypothesis, item.AuthorityEvidence, item.AuthorityInstruction, item.AuthorityPolicy}, it.Authority)),
		-seconds(it),
	}
}

// seconds is the time of an item, and less than any for one without.
func seconds(it item.Item) float64 {
	text := it.ObservedAt
	if text == "" {
		text = it.ValidFrom
	}
	if text == "" {
		return math.Inf(-1)
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		if at, err = time.Parse(time.DateOnly, text); err != nil {
			panic(err)
		}
	}
	return float64(at.UnixMilli())
}

// bm25 is the formula as it stands in textbooks, over maps.
func bm25(query string, items []item.Item) []float64 {
	const k1, b = 1.2, 0.75
	docs := make([]map[string]float64, len(items))
	lengths := make([]float64, len(items))
	total := 0.0
	df := map[string]float64{}
	for i, it := range items {
		docs[i] = map[string]float64{}
		for _, word := range rank.Tokenize(it.Summary + " " + it.StateKey) {
			docs[i][word]++
			lengths[i]++
		}
		total += lengths[i]
		for word := range docs[i] {
			df[word]++
		}
	}
	n := float64(len(items))
	scores := make([]float64, len(items))
	var seen []string
	for _, word := range rank.Tokenize(query) {
		if slices.Contains(seen, word) {
			continue
		}
		seen = append(seen, word)
		idf := math.Log(1 + (n-df[word]+0.5)/(df[word]+0.5))
		for i := range items {
			tf := docs[i][word]
			if tf > 0 {
				scores[i] += idf * tf * (k1 + 1) / (tf + k1*(1-b+b*lengths[i]/(total/n)))
			}
		}
	}
	return scores
}

// fill takes what fits, in order, and says why the rest is left.
func (e *expected) fill(ordered []item.Item, r Request, mask Mask) {
	budget := r.Budget
	if budget == 0 {
		budget = r.Role.Budget
	}
	characters := func(it item.Item) int {
		return len([]rune(it.Summary)) + len([]rune(it.ID)) + len([]rune(string(it.Kind))) + len([]rune(it.Provenance.SourceRef))
	}
	// Four characters are a token; sums stay whole numbers.
	most, mostContradictions := 4*budget, 4*(percent(r.Share)*budget/100)
	taken, takenContradictions := 0, 0
	share, deferred, limited := 0, 0, false
	for _, it := range ordered {
		if len(e.selected) == 256 {
			e.outcomes[it.ID] = DeferredLimit
			limited = true
			deferred++
			continue
		}
		e.outcomes[it.ID] = DeferredBudget
		inBudget := func(n int) bool { return taken+n <= most }
		inShare := func(n int) bool { return !e.contradiction[it.ID] || takenContradictions+n <= mostContradictions }
		before, after := characters(it), characters(mask(it))
		switch {
		case !inBudget(before):
			deferred++
		case !inShare(before):
			share++
		case !inBudget(after):
			deferred++
		case !inShare(after):
			share++
		default:
			e.outcomes[it.ID] = Selected
			e.selected = append(e.selected, it.ID)
			taken += after
			if e.contradiction[it.ID] {
				takenContradictions += after
			}
		}
	}
	if limited {
		e.gaps = append(e.gaps, "context item limit reached; refine the task or kinds")
	}
	if deferred > 0 && len(e.selected) == 0 {
		e.gaps = append(e.gaps, fmt.Sprintf("budget of %d tokens cannot fit any selected context", budget))
	} else if deferred > 0 {
		e.gaps = append(e.gaps, fmt.Sprintf("budget of %d tokens reached; %d candidates deferred", budget, deferred))
	}
	if share > 0 {
		e.gaps = append(e.gaps, fmt.Sprintf("%d contradictions deferred", share))
	}
}
