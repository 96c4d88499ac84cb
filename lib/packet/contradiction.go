package packet

import "kxm/lib/item"

// openContradictions returns the ids of the live items that are in open
// contradiction (see [item.Contradictions]), and the ids asked for.
func openContradictions(items []item.Item, extra []string) map[string]bool {
	open := map[string]bool{}
	for _, id := range extra {
		open[id] = true
	}
	for _, c := range item.Contradictions(items) {
		for _, side := range c.Sides {
			open[items[side].ID] = true
		}
	}
	return open
}
