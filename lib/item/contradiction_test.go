package item_test

import (
	"slices"
	"testing"

	"kxm/lib/item"
)

func TestContradictions(t *testing.T) {
	state := func(id, project, key string, status item.Status) item.Item {
		return item.Item{ID: id, Kind: item.KindState, Project: project, StateKey: key, Status: status}
	}
	entry := func(id, category string, status item.Status, refs ...string) item.Item {
		return item.Item{ID: "journal_" + id, Kind: item.KindEvidence, Project: "p", JournalCategory: category, Status: status, EvidenceRefs: refs}
	}
	items := []item.Item{
		state("a", "p", "k", item.StatusCurrent),
		entry("open", "contradiction", ""),
		state("b", "p", "k", item.StatusProposed),
		state("c", "p", "k", item.StatusProposed),
		state("d", "q", "k", item.StatusCurrent), // another project's
		state("e", "p", "k", item.StatusSuperseded),
		state("f", "p", "k", item.StatusProposed),
		state("g", "p", "k2", item.StatusRejected),
		state("h", "p", "k2", item.StatusRejected),
		state("i", "p", "k3", item.StatusCurrent),
		state("j", "p", "k3", item.StatusCurrent),
		entry("cited", "contradiction", ""),
		entry("citedbare", "contradiction", ""),
		entry("rejected", "contradiction", item.StatusRejected),
		entry("x", "decision", "", "journal_cited", "other"),
		entry("y", "lesson", item.StatusCurrent, "citedbare"),
		entry("z", "lesson", item.StatusRejected, "open"),
		entry("o", "observation", "", "open"),
	}
	got := item.Contradictions(items)
	want := []item.Contradiction{
		{Project: "p", Key: "k", Status: item.StatusProposed, Sides: []int{2, 3, 6}},
		{Project: "p", Key: "k3", Status: item.StatusCurrent, Sides: []int{9, 10}},
		{Sides: []int{1}},
	}
	if !slices.EqualFunc(got, want, func(a, b item.Contradiction) bool {
		return a.Project == b.Project && a.Key == b.Key && a.Status == b.Status && slices.Equal(a.Sides, b.Sides)
	}) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := item.Contradictions(nil); len(got) != 0 {
		t.Errorf("of nothing: %+v", got)
	}
}

func TestThePoolOfOneProject(t *testing.T) {
	of := func(projects ...string) *item.Pool {
		p := &item.Pool{}
		for _, name := range projects {
			p.Items = append(p.Items, item.Item{ID: "x", Project: name})
		}
		return p
	}
	for _, c := range []struct {
		pool           *item.Pool
		only           string
		several, alien bool
	}{
		{of(), "", false, false},
		{of("_shared"), "", false, false},
		{of("_shared", "p", "p"), "p", false, false},
		{of("q", "_shared"), "q", false, true},
		{of("p", "q"), "", true, true},
	} {
		only, err := c.pool.OnlyProject()
		if only != c.only || (err != nil) != c.several {
			t.Errorf("%+v: %q, %v", c.pool, only, err)
		}
		if err := c.pool.Isolated("p"); (err != nil) != c.alien {
			t.Errorf("%+v: %v", c.pool, err)
		}
	}
}
