package packet

import (
	"maps"
	"slices"
	"testing"

	"kxm/lib/item"
)

func state(id, project, key string, status item.Status) item.Item {
	return item.Item{ID: id, Kind: item.KindState, Project: project, StateKey: key, Status: status}
}

func entry(id, category string, refs ...string) item.Item {
	return item.Item{ID: id, Kind: item.KindEpisode, Project: "demo", JournalCategory: category, EvidenceRefs: refs}
}

func with(it item.Item, status item.Status) item.Item {
	it.Status = status
	return it
}

func TestOpenContradictions(t *testing.T) {
	const current, proposed, superseded, rejected = item.StatusCurrent, item.StatusProposed, item.StatusSuperseded, item.StatusRejected
	clash := entry("journal_7", "contradiction")
	for _, c := range []struct {
		name  string
		items []item.Item
		asked []string
		want  []string
	}{
		{"nothing", nil, nil, nil},
		{"one current value", []item.Item{state("a", "demo", "k", current)}, nil, nil},
		{"two current values", []item.Item{state("a", "demo", "k", current), state("b", "demo", "k", current)}, nil, []string{"a", "b"}},
		{"three current values", []item.Item{state("a", "demo", "k", current), state("b", "demo", "k", current), state("c", "demo", "k", current)}, nil, []string{"a", "b", "c"}},
		{"two proposals, and the value they would replace", []item.Item{state("a", "demo", "k", proposed), state("b", "demo", "k", proposed), state("c", "demo", "k", current)}, nil, []string{"a", "b"}},
		{"a proposal to replace a value", []item.Item{state("a", "demo", "k", proposed), state("b", "demo", "k", current)}, nil, nil},
		{"a superseded value", []item.Item{state("a", "demo", "k", superseded), state("b", "demo", "k", current)}, nil, nil},
		{"two superseded values and two rejected proposals", []item.Item{
			state("a", "demo", "k", superseded), state("b", "demo", "k", superseded), state("c", "demo", "k", rejected), state("d", "demo", "k", rejected),
		}, nil, nil},
		{"other keys", []item.Item{state("a", "demo", "k", current), state("b", "demo", "l", current)}, nil, nil},
		{"a shared default and the project's value", []item.Item{state("a", "demo", "k", current), state("b", item.SharedProject, "k", current)}, nil, nil},
		{"two shared defaults", []item.Item{state("a", item.SharedProject, "k", current), state("b", item.SharedProject, "k", current)}, nil, []string{"a", "b"}},
		{"a key on what is no state", []item.Item{state("a", "demo", "k", current), {ID: "b", Kind: item.KindKnowledge, Project: "demo", StateKey: "k", Status: current}}, nil, nil},

		{"an entry that nobody cites", []item.Item{clash}, nil, []string{"journal_7"}},
		{"cited by a decision as the item", []item.Item{clash, entry("d", "decision", "pr:1", "journal_7")}, nil, nil},
		{"cited by a decision as the entry", []item.Item{clash, entry("d", "decision", "7")}, nil, nil},
		{"cited by a lesson", []item.Item{entry("d", "lesson", "7"), clash}, nil, nil},
		{"cited by an item's id where the entry has none of the prefix", []item.Item{entry("x", "contradiction"), entry("d", "decision", "journal_x")}, nil, nil},
		{"cited by an observation", []item.Item{clash, entry("d", "observation", "7")}, nil, []string{"journal_7"}},
		{"cited by another contradiction", []item.Item{clash, entry("journal_8", "contradiction", "7")}, nil, []string{"journal_7", "journal_8"}},
		{"cited by what is no journal entry", []item.Item{clash, entry("d", "", "7")}, nil, []string{"journal_7"}},
		{"cited by a rejected decision", []item.Item{clash, with(entry("d", "decision", "7"), rejected)}, nil, []string{"journal_7"}},
		{"cited by a superseded lesson", []item.Item{clash, with(entry("d", "lesson", "journal_7"), superseded)}, nil, []string{"journal_7"}},
		{"cited with more around it", []item.Item{clash, entry("d", "decision", "journal:7", "77", "journal_journal_7")}, nil, []string{"journal_7"}},
		{"a rejected entry", []item.Item{with(clash, rejected)}, nil, nil},
		{"one of two cited", []item.Item{clash, entry("journal_8", "contradiction"), entry("d", "decision", "8")}, nil, []string{"journal_7"}},

		{"asked for", []item.Item{state("a", "demo", "k", current)}, []string{"a", "absent"}, []string{"a", "absent"}},
		{"asked for, although decided", []item.Item{clash, entry("d", "decision", "7")}, []string{"journal_7"}, []string{"journal_7"}},
	} {
		for range 2 {
			got := slices.Sorted(maps.Keys(openContradictions(c.items, c.asked)))
			if !slices.Equal(got, c.want) {
				t.Errorf("%s: %v, want %v", c.name, got, c.want)
			}
			slices.Reverse(c.items)
		}
	}
}

// A contradiction is shown whatever the kinds, but not against the role's categories or
// the run; one that was rejected never.
func TestContradictionsAreEligibleWhateverTheKinds(t *testing.T) {
	base := item.Item{Authority: item.AuthorityEvidence, Confidence: item.ConfidenceVerified, Summary: "x", Provenance: item.Provenance{SourceType: item.OriginPeer}}
	fill := func(it item.Item) item.Item {
		it.Authority, it.Confidence, it.Summary, it.Provenance = base.Authority, base.Confidence, base.Summary, base.Provenance
		return it
	}
	run := fill(state("run", "demo", "r", item.StatusCurrent))
	run.RunID = "other"
	pool := item.Pool{Items: []item.Item{
		fill(state("p1", "demo", "k", item.StatusProposed)), fill(state("p2", "demo", "k", item.StatusProposed)),
		fill(state("p3", "demo", "l", item.StatusProposed)),
		fill(entry("journal_1", "contradiction")), run,
		fill(with(state("gone", "demo", "m", ""), item.StatusRejected)),
	}}
	r := Request{Project: "demo", Role: FindRole(Roles(nil), "verifier"), Kinds: []item.Kind{item.KindEvidence}, RunID: "this", Share: 1, Contradictions: []string{"run", "gone", "absent"}}
	p, a := build(t, pool, r, same, nil)
	if got := ids(p.Contradictions); !slices.Equal(got, []string{"p1", "p2", "journal_1"}) && !slices.Equal(got, []string{"journal_1", "p1", "p2"}) {
		t.Errorf("contradictions %v", got)
	}
	outcomes := map[string]Outcome{}
	for _, c := range a.Candidates {
		outcomes[c.ID] = c.Outcome
	}
	if want := map[string]Outcome{"p1": Selected, "p2": Selected, "journal_1": Selected, "p3": OtherKind, "run": OtherRun}; !maps.Equal(outcomes, want) {
		t.Errorf("outcomes %v, want %v", outcomes, want)
	}
	r.Role = FindRole(Roles(nil), "implementer") // it reads no contradictions of the journal
	if p, _ := build(t, pool, r, same, nil); !slices.Equal(ids(p.Contradictions), []string{"p1", "p2"}) {
		t.Errorf("contradictions %v", ids(p.Contradictions))
	}
}
