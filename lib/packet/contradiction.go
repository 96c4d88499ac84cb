package packet

import (
	"strings"

	"kxm/lib/item"
)

// contradictionCategory is the journal category of an entry that says two things
// cannot both be true; an entry of a resolving category that cites it closes it.
const contradictionCategory = "contradiction"

var resolving = []string{"decision", "lesson"}

// journalPrefix stands before a journal entry's id where it is an item's.
const journalPrefix = "journal_"

// openContradictions returns the ids of the live items that are in open
// contradiction: the states of a key of one project that has more than one current
// value (those values) or more than one proposal (those proposals), journal
// contradictions that no live decision or lesson cites, and the ids asked for.
func openContradictions(items []item.Item, extra []string) map[string]bool {
	type side struct {
		project, key string
		status       item.Status
	}
	first := map[side]string{} // the one id seen so far
	open := map[string]bool{}
	for _, id := range extra {
		open[id] = true
	}
	var entries []string
	cited := map[string]bool{}
	for i := range items {
		it := &items[i]
		if !live(it) {
			continue
		}
		if it.Kind == item.KindState {
			at := side{it.Project, it.StateKey, it.Status}
			if other, ok := first[at]; ok {
				open[other], open[it.ID] = true, true
			} else {
				first[at] = it.ID
			}
		}
		switch it.JournalCategory {
		case contradictionCategory:
			entries = append(entries, it.ID)
		case resolving[0], resolving[1]:
			for _, ref := range it.EvidenceRefs {
				// People cite the entry as the journal names it, or as the item that it became.
				cited[strings.TrimPrefix(ref, journalPrefix)] = true
			}
		}
	}
	for _, id := range entries {
		if !cited[strings.TrimPrefix(id, journalPrefix)] {
			open[id] = true
		}
	}
	return open
}
