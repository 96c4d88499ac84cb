package packet

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"kxm/lib/item"
	"kxm/lib/rank"
)

// Limits of a request and a packet.
const (
	MaxItems           = 256   // items in one packet
	MaxTask            = 2_000 // code points
	MaxQuery           = 500   // code points
	MaxRoleName        = 64    // code points
	DefaultShare       = 0.5   // of the budget, for contradictions together
	DefaultRecallLimit = 25
	MaxRecallLimit     = 100
)

// Request is what is asked of a pool. Project and Role are required; the other
// zero values mean "not asked for".
type Request struct {
	Project        string
	Role           Role
	Task           string // without one, no item is relevant
	Budget         int    // tokens; 0: the role's
	Kinds          []item.Kind
	RunID, StageID string
	Contradictions []string // ids that count as open contradictions besides those derived
	Share          float64  // of the budget, for contradictions together; 0 to 1
}

// Outcome is what became of a live item.
type Outcome string

// Outcomes. Deferred items were eligible.
const (
	Selected       Outcome = "selected"
	DeferredBudget Outcome = "deferred-budget"
	DeferredLimit  Outcome = "deferred-limit"
	Inert          Outcome = "inert"    // a state that is not current, a proposed skill
	OtherKind      Outcome = "kind"     // a kind that was not asked for
	OtherCategory  Outcome = "category" // a journal entry that the role does not read
	OtherRun       Outcome = "run"      // of another run or stage than asked for
)

// candidate is a live item on its way through selection, with its nine keys.
type candidate struct {
	item          *item.Item
	outcome       Outcome
	contradiction bool // key 1
	shared        bool // key 2: the project's own before _shared
	tally         rank.Tally
	score         float64 // keys 3 (above zero) and 5
	kindOrder     int     // key 4
	newest        time.Time
	place         int // from 1 among the eligible; 0: not eligible
}

// Selection is the outcome for a whole pool.
type Selection struct {
	request    Request
	query      *rank.Query
	collection *rank.Collection // of the eligible items; nil without a task
	eligible   []*candidate     // in their order
	others     []*candidate     // live, but not eligible; by id
	chosen     []chosen
	size       int // sum of the chosen items' sizes
	considered int // live items that neither category, run nor stage kept out
	superseded int // superseded and rejected items
	gaps       []string
}

// chosen is a selected item as it will be printed.
type chosen struct {
	item      item.Item
	candidate *candidate
}

// Mask returns an item as it may be printed: without secrets.
type Mask func(item.Item) item.Item

// Select ranks the pool for the request and fills the budget. Gaps of the pool
// follow those of the selection, by bytes and each once, so that the order of the
// stream decides nothing. An item of another project refuses the request with
// context_isolation_violation.
func Select(pool item.Pool, request Request, mask Mask) (*Selection, error) {
	if err := pool.Isolated(request.Project); err != nil {
		return nil, err
	}
	s := &Selection{request: request, query: rank.NewQuery(request.Task)}
	if s.request.Budget == 0 {
		s.request.Budget = request.Role.Budget
	}
	kinds := request.Kinds
	if len(kinds) == 0 {
		kinds = request.Role.Kinds
	}
	s.gather(pool.Items, kinds)
	s.order()
	s.fill(mask)
	s.gaps = append(s.gaps, streamGaps(pool.Gaps)...)
	return s, nil
}

// inert items exist to be decided on, not to be acted on.
func inert(it *item.Item) bool {
	switch it.Kind {
	case item.KindState:
		return it.Status != item.StatusCurrent
	case item.KindSkill:
		return it.Status == item.StatusProposed
	}
	return false
}

// gather sorts the live items into eligible ones and others.
func (s *Selection) gather(items []item.Item, kinds []item.Kind) {
	open := openContradictions(items, s.request.Contradictions)
	candidates := make([]candidate, 0, len(items)) // one piece of memory for all
	for i := range items {
		it := &items[i]
		if !it.Live() {
			s.superseded++
			continue
		}
		c := candidate{item: it, contradiction: open[it.ID], shared: it.Project == item.SharedProject, kindOrder: slices.Index(kinds, it.Kind)}
		if c.kindOrder < 0 {
			c.kindOrder = len(kinds)
		}
		c.outcome = s.filter(&c, len(kinds))
		switch c.outcome {
		case OtherCategory, OtherRun:
		default:
			s.considered++
		}
		candidates = append(candidates, c)
	}
	for i := range candidates {
		if c := &candidates[i]; c.outcome == "" {
			s.eligible = append(s.eligible, c)
		} else {
			s.others = append(s.others, c)
		}
	}
	s.score()
}

// filter returns why an item is not eligible, or "" when it is.
func (s *Selection) filter(c *candidate, kinds int) Outcome {
	it := c.item
	if it.JournalCategory != "" && !slices.Contains(s.request.Role.Categories, it.JournalCategory) {
		return OtherCategory
	}
	if s.request.RunID != "" && it.RunID != "" && it.RunID != s.request.RunID ||
		s.request.StageID != "" && it.StageID != "" && it.StageID != s.request.StageID {
		return OtherRun
	}
	switch {
	case c.contradiction:
		return ""
	case c.kindOrder == kinds:
		return OtherKind
	case inert(it):
		return Inert
	}
	return ""
}

// parallelFrom is the number of items from which a second core pays for its start.
const parallelFrom = 2_000

// score counts the task's words in every eligible item and scores them. Without a
// task all scores are zero.
func (s *Selection) score() {
	if len(s.query.Terms()) > 0 {
		tallies := make([]rank.Tally, len(s.eligible))
		spread(len(tallies), func(from, to int) {
			for i := from; i < to; i++ {
				it := s.eligible[i].item
				tallies[i] = s.query.Tally(it.Summary, it.StateKey)
			}
		})
		s.collection = s.query.Collect(tallies)
		for i, c := range s.eligible {
			c.tally, c.score = tallies[i], s.collection.Score(tallies[i])
		}
	}
	spread(len(s.eligible), func(from, to int) {
		for _, c := range s.eligible[from:to] {
			c.newest, _ = c.item.Time()
		}
	})
}

// spread calls work on consecutive parts of [0, n), on all cores where n is large.
func spread(n int, work func(from, to int)) {
	workers := runtime.GOMAXPROCS(0)
	if n < parallelFrom || workers < 2 {
		work(0, n)
		return
	}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() { work(n*w/workers, n*(w+1)/workers) })
	}
	wg.Wait()
}

// order sorts the eligible items by the nine keys and gives them their places.
func (s *Selection) order() {
	slices.SortFunc(s.eligible, compare)
	for i, c := range s.eligible {
		c.place = i + 1
	}
	slices.SortFunc(s.others, func(a, b *candidate) int { return strings.Compare(a.item.ID, b.item.ID) })
}

func compare(a, b *candidate) int {
	switch {
	case a.contradiction != b.contradiction:
		return first(a.contradiction)
	case a.shared != b.shared:
		return first(!a.shared)
	case a.score > 0 != (b.score > 0):
		return first(a.score > 0)
	case a.kindOrder != b.kindOrder:
		return cmp.Compare(a.kindOrder, b.kindOrder)
	case a.score != b.score:
		return cmp.Compare(b.score, a.score)
	case a.item.Confidence != b.item.Confidence:
		return cmp.Compare(b.item.Confidence.Rank(), a.item.Confidence.Rank())
	case a.item.Authority != b.item.Authority:
		return cmp.Compare(b.item.Authority.Rank(), a.item.Authority.Rank())
	}
	if c := b.newest.Compare(a.newest); c != 0 {
		return c
	}
	return strings.Compare(a.item.ID, b.item.ID)
}

// first says which of two comes first: the one for which the key holds.
func first(a bool) int {
	if a {
		return -1
	}
	return 1
}

// fill takes items first-fit: what does not fit is skipped, and smaller ones go on
// filling. An item is measured as it will be printed: masking may lengthen it.
func (s *Selection) fill(mask Mask) {
	budget := s.request.Budget
	// A fraction of a token is no token; but what a decimal fraction such as 0.7 loses
	// as a binary one must not cost one either.
	share := int(math.Floor(float64(budget)*s.request.Share + 1e-6))
	contradictions, overShare, limited := 0, 0, false
	for _, c := range s.eligible {
		if len(s.chosen) == MaxItems {
			c.outcome, limited = DeferredLimit, true
			continue
		}
		c.outcome = DeferredBudget
		size := c.item.Size()
		if item.Tokens(s.size+size) > budget {
			continue
		}
		if c.contradiction && item.Tokens(contradictions+size) > share {
			overShare++
			continue
		}
		printed := mask(*c.item)
		masked := printed.Size()
		if item.Tokens(s.size+masked) > budget {
			continue
		}
		if c.contradiction {
			if item.Tokens(contradictions+masked) > share {
				overShare++
				continue
			}
			contradictions += masked
		}
		c.outcome = Selected
		s.size += masked
		s.chosen = append(s.chosen, chosen{printed, c})
	}
	s.fillGaps(overShare, limited)
}

func (s *Selection) fillGaps(overShare int, limited bool) {
	if limited {
		s.gaps = append(s.gaps, "context item limit reached; refine the task or kinds")
	}
	deferred := len(s.eligible) - len(s.chosen) - overShare
	switch {
	case deferred > 0 && len(s.chosen) == 0:
		s.gaps = append(s.gaps, fmt.Sprintf("budget of %d tokens cannot fit any selected context", s.request.Budget))
	case deferred > 0:
		s.gaps = append(s.gaps, fmt.Sprintf("budget of %d tokens reached; %d candidates deferred", s.request.Budget, deferred))
	}
	if overShare > 0 {
		s.gaps = append(s.gaps, fmt.Sprintf("%d contradictions deferred", overShare))
	}
	if len(s.eligible)+len(s.others) == 0 {
		s.gaps = append(s.gaps, gapNoRecords)
	}
}

// gapNoRecords says that the pool holds no live item.
const gapNoRecords = "no context records exist for this project yet"

// streamGaps returns the texts of gap records by bytes, each once.
func streamGaps(gaps []item.Gap) []string {
	texts := make([]string, 0, len(gaps))
	for _, g := range gaps {
		texts = append(texts, g.Gap)
	}
	slices.Sort(texts)
	return slices.Compact(texts)
}
