package item

import "strings"

// Live reports whether the item still counts: it is neither superseded nor rejected.
func (it *Item) Live() bool { return it.Status != StatusSuperseded && it.Status != StatusRejected }

// Contradiction is an open one: items of which not all can be true, and nobody has
// decided which.
type Contradiction struct {
	// Project, Key and Status say of which state the sides are the values (current) or
	// the proposals (proposed). They are empty for an entry of the journal.
	Project, Key string
	Status       Status

	Sides []int // indexes of the items; of a journal contradiction its entry alone
}

// contradictionCategory is the journal category of an entry that says two things
// cannot both be true; an entry of a resolving category that cites it closes it.
const contradictionCategory = "contradiction"

var resolving = [...]string{"decision", "lesson"}

// journalPrefix stands before a journal entry's id where it is an item's.
const journalPrefix = "journal_"

// Contradictions returns the open contradictions among the live items: the states of a
// key of one project that has more than one value of one status, and journal
// contradictions that no live decision or lesson cites as its evidence. Those of states
// come first, then the journal's; each in the order in which the items make them
// known, so that sorted items give a sorted answer.
func Contradictions(items []Item) []Contradiction {
	type side struct {
		project, key string
		status       Status
	}
	const single = -1 // in place of a contradiction, one less for each item
	known := map[side]int{}
	var states, entries []Contradiction
	cited := map[string]bool{}
	for i := range items {
		it := &items[i]
		if !it.Live() {
			continue
		}
		if it.Kind == KindState {
			at := side{it.Project, it.StateKey, it.Status}
			switch n, ok := known[at]; {
			case !ok:
				known[at] = single - i
			case n <= single:
				known[at] = len(states)
				states = append(states, Contradiction{at.project, at.key, at.status, []int{single - n, i}})
			default:
				states[n].Sides = append(states[n].Sides, i)
			}
		}
		switch it.JournalCategory {
		case contradictionCategory:
			entries = append(entries, Contradiction{Sides: []int{i}})
		case resolving[0], resolving[1]:
			for _, ref := range it.EvidenceRefs {
				// People cite the entry as the journal names it, or as the item that it became.
				cited[strings.TrimPrefix(ref, journalPrefix)] = true
			}
		}
	}
	for _, c := range entries {
		if !cited[strings.TrimPrefix(items[c.Sides[0]].ID, journalPrefix)] {
			states = append(states, c)
		}
	}
	return states
}
