package packet

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"kxm/lib/item"
)

func derived(id string, from ...string) item.Item {
	it := markdownItem(id, "x", item.KindKnowledge)
	it.Provenance.SourceType, it.Provenance.SourceRef, it.Provenance.DerivedFrom = item.OriginDerived, "ref:"+id, from
	return it
}

func explain(t *testing.T, id string, items ...item.Item) Explanation {
	t.Helper()
	e, err := Explain(item.Pool{Items: items}, "demo", id, plain)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestExplainFollowsTheDerivation(t *testing.T) {
	source := func(ids ...string) []Source {
		all := []Source{}
		for _, id := range ids {
			all = append(all, Source{id, item.OriginDerived, "ref:" + id})
		}
		return all
	}
	for _, c := range []struct {
		name    string
		items   []item.Item
		lineage []string
		sources []Source
	}{
		{"no ancestor", []item.Item{derived("a")}, []string{}, source("a")},
		{"a diamond", []item.Item{derived("a", "c", "b"), derived("b", "d"), derived("c", "d"), derived("d")}, []string{"b", "c", "d"}, source("a", "b", "c", "d")},
		{"a circle", []item.Item{derived("a", "b"), derived("b", "c"), derived("c", "a", "b")}, []string{"b", "c"}, source("a", "b", "c")},
		{"an ancestor that is its own", []item.Item{derived("a", "b"), derived("b", "b")}, []string{"b"}, source("a", "b")},
		{"missing ancestors", []item.Item{derived("a", "z", "b"), derived("b", "y")}, []string{"b", "y", "z"}, source("a", "b")},
		{"bytes, not letters", []item.Item{derived("a", "é", "b", "B", "z")}, []string{"B", "b", "z", "é"}, source("a")},
		{"ancestors that are no longer live", []item.Item{derived("a", "b"), with(derived("b", "c"), item.StatusSuperseded), derived("c")}, []string{"b", "c"}, source("a", "b", "c")},
		{"nothing of the others", []item.Item{derived("a"), derived("b", "a"), derived("c", "a")}, []string{}, source("a")},
	} {
		want := Explanation{Found: true, Lineage: c.lineage, EvidenceRefs: []string{}, Sources: c.sources}
		for range 2 {
			if got := explain(t, "a", c.items...); !reflect.DeepEqual(got, want) {
				t.Errorf("%s:\n got %+v\nwant %+v", c.name, got, want)
			}
			slices.Reverse(c.items)
		}
	}
}

func TestExplainOfWhatIsNotThereIsEmpty(t *testing.T) {
	want := Explanation{Lineage: []string{}, EvidenceRefs: []string{}, Sources: []Source{}}
	// "b" is named, but not in the pool.
	for _, id := range []string{"b", "A", ""} {
		if got := explain(t, id, derived("a", "b")); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v", id, got)
		}
	}
}

func TestExplainGivesTheEvidenceOfTheItemItself(t *testing.T) {
	a, b := derived("a", "b"), derived("b")
	a.EvidenceRefs, b.EvidenceRefs = []string{"pr:2", "pr:1"}, []string{"pr:3"}
	if got := explain(t, "a", a, b).EvidenceRefs; !slices.Equal(got, []string{"pr:2", "pr:1"}) {
		t.Errorf("%v", got)
	}
}

// Neither depth nor breadth has a limit of its own: an item names 64 ancestors at most,
// and each of them as many again.
func TestExplainOfADeepAndABroadLineage(t *testing.T) {
	const depth = 20_000
	var chain []item.Item
	for i := range depth {
		chain = append(chain, derived(fmt.Sprintf("%05d", i), fmt.Sprintf("%05d", i+1)))
	}
	if got := explain(t, "00000", chain...); len(got.Lineage) != depth || len(got.Sources) != depth || !slices.IsSorted(got.Lineage) {
		t.Errorf("%d ancestors and %d sources of a chain of %d", len(got.Lineage), len(got.Sources), depth)
	}
	var broad []item.Item
	names := func(parent int) (ids []string) {
		for i := range item.MaxList {
			ids = append(ids, fmt.Sprintf("%02d.%02d", parent, i))
		}
		return ids
	}
	var first []string
	for i := range item.MaxList {
		id := fmt.Sprintf("%02d", i)
		first = append(first, id)
		broad = append(broad, derived(id, names(i)...))
	}
	broad = append(broad, derived("root", first...))
	if got := explain(t, "root", broad...); len(got.Lineage) != 64+64*64 || len(got.Sources) != 65 {
		t.Errorf("%d ancestors and %d sources", len(got.Lineage), len(got.Sources))
	}
}

// The same over random graphs, against the transitive closure.
func TestExplainIsTheTransitiveClosure(t *testing.T) {
	for seed := range uint64(300) {
		g := newGenerator(seed)
		n := 1 + g.IntN(12)
		name := func(i int) string { return fmt.Sprintf("n%02d", i) }
		all := n + 3 // three that the pool does not hold
		reach := make([][]bool, all)
		for i := range reach {
			reach[i] = make([]bool, all)
		}
		var items []item.Item
		for i := range n {
			var from []string
			for j := range all {
				if reach[i][j] = j != i && g.chance(15); reach[i][j] {
					from = append(from, name(j))
				}
			}
			g.Shuffle(len(from), func(i, j int) { from[i], from[j] = from[j], from[i] })
			items = append(items, derived(name(i), from...))
		}
		for k := range all {
			for i := range all {
				for j := range all {
					reach[i][j] = reach[i][j] || reach[i][k] && reach[k][j]
				}
			}
		}
		want := []string{}
		for j := 1; j < all; j++ {
			if reach[0][j] {
				want = append(want, name(j))
			}
		}
		if got := explain(t, name(0), items...); !slices.Equal(got.Lineage, want) {
			t.Fatalf("seed %d: %v, want %v", seed, got.Lineage, want)
		}
	}
}

func TestExplainMasksAllThatItPrints(t *testing.T) {
	a := derived("a", "b")
	a.EvidenceRefs = []string{"pr:1"}
	got, err := Explain(item.Pool{Items: []item.Item{a}}, "demo", "a", func(string) string { return "masked" })
	if err != nil {
		t.Fatal(err)
	}
	want := Explanation{Found: true, Lineage: []string{"masked"}, EvidenceRefs: []string{"masked"}, Sources: []Source{{"masked", item.OriginDerived, "masked"}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}
