package wiki

import (
	"maps"
	"slices"
	"strings"

	"kxm/lib/item"
)

// compiler holds a pool on its way to pages: its items by id, masked, each with the
// page that is its home. It takes the items over, since a copy of a large pool would
// double the memory.
type compiler struct {
	Options
	project        string // masked
	items          []item.Item
	ids            []string // of each item, unmasked; never written
	homes          []string // page of each item; "" for none
	anchors        []string // of each item
	contradictions []item.Contradiction
	byID           map[string]int
	replacedBy     map[string][]int // by id, the items that supersede it
	onPage         map[string][]int // items by home
	unreviewed     int
	rejected       int
}

func newCompiler(items []item.Item, o Options) *compiler {
	c := &compiler{Options: o, items: items, project: masked(o.Project), byID: make(map[string]int, len(items)),
		replacedBy: map[string][]int{}, onPage: map[string][]int{}}
	sortByID(items)
	for i := range items {
		it := &items[i]
		c.byID[it.ID] = i
		c.ids = append(c.ids, it.ID)
		for _, id := range it.Supersedes {
			c.replacedBy[id] = append(c.replacedBy[id], i)
		}
	}
	c.contradictions = item.Contradictions(items)
	maskItems(items)
	c.anchors = anchors(c.ids, items)
	c.settle()
	return c
}

func sortByID(items []item.Item) {
	slices.SortStableFunc(items, func(a, b item.Item) int { return strings.Compare(a.ID, b.ID) })
}

// anchors returns the id of each masked item as pages show it: without a secret, and
// still its own. ids are those before.
func anchors(ids []string, clean []item.Item) []string {
	names := make([]string, len(ids))
	var hidden []int
	for i, id := range ids {
		if names[i] = clean[i].ID; names[i] != id {
			hidden = append(hidden, i)
		}
	}
	if len(hidden) == 0 {
		return ids
	}
	taken := map[string]bool{}
	for i, id := range ids {
		if names[i] == id {
			taken[id] = true
		}
	}
	for _, i := range hidden {
		for taken[names[i]] {
			names[i] += "+"
		}
		taken[names[i]] = true
	}
	return names
}

// defaultSections are the pages of the kinds of memory that have one by themselves.
var defaultSections = map[string]string{"decision": pageDecisions, "convention": pagePatterns, "learning": pagePatterns}

// settle finds every item's home.
func (c *compiler) settle() {
	sections := maps.Clone(defaultSections)
	for kind, section := range c.Sections {
		sections[kind] = section + ".md"
	}
	// The sides of an open contradiction are shown even where nobody reviewed them, and
	// a contradiction that the journal names is at home among those that are open.
	open := map[int]bool{}
	for _, contradiction := range c.contradictions {
		for _, side := range contradiction.Sides {
			open[side] = true
		}
	}
	c.homes = make([]string, len(c.items))
	for i := range c.items {
		it := &c.items[i]
		if it.Status == item.StatusRejected {
			c.rejected++
			continue
		}
		page := home(it, sections)
		if open[i] && page == pageArchitecture {
			page = pageContradictions
		}
		if page == pageProposals && !c.Proposals || page == pageJournal && !c.Journal {
			if page = ""; open[i] {
				page = pageContradictions
			} else {
				c.unreviewed++
			}
		}
		if c.homes[i] = page; page != "" {
			c.onPage[page] = append(c.onPage[page], i)
		}
	}
}

// home returns the page that an item belongs to. Only what was reviewed has a place
// outside the pages of proposals and of the journal.
func home(it *item.Item, sections map[string]string) string {
	switch {
	case it.Kind == item.KindState && it.Status != item.StatusProposed:
		return pageState
	case it.Status == item.StatusSuperseded:
		return pageHistory
	case fromJournal(it):
		switch {
		case it.Status != item.StatusCurrent:
			return pageJournal
		case it.JournalCategory == "decision":
			return pageDecisions
		case it.JournalCategory == "error" || it.JournalCategory == "lesson" || it.Kind == item.KindEpisode:
			return pageIncidents
		}
		return pageArchitecture
	case it.Status == item.StatusProposed:
		return pageProposals
	case it.Kind == item.KindSkill:
		return pagePatterns
	}
	if page, ok := sections[it.MemoryKind]; ok {
		return page
	}
	return pageArchitecture
}

// fromJournal reports whether an item is a record that counts as reviewed only once it
// is current: an entry, an episode, or evidence, which no authored fact is.
func fromJournal(it *item.Item) bool {
	return it.JournalCategory != "" || it.Kind == item.KindEpisode || it.Kind == item.KindEvidence
}

// reviewed reports whether an item may stand outside the pages that are headed as not
// reviewed.
func reviewed(it *item.Item) bool {
	page := home(it, nil)
	return it.Status != item.StatusRejected && page != pageProposals && page != pageJournal
}
