package steel

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// number is that of a tab's name, by which tabs are ordered.
func number(tab string) int {
	n, _ := strconv.Atoi(strings.TrimPrefix(tab, "t"))
	return n
}

// named returns the tabs of pages, in the order of their numbers. Those without a name
// get one.
func (r *Record) named(pages []target) []Tab {
	var all []Tab
	for _, t := range pages {
		all = append(all, r.tabOf(t.ID))
	}
	slices.SortFunc(all, func(a, b Tab) int { return cmp.Compare(number(a.Tab), number(b.Tab)) })
	return all
}

// mostListed is how many tabs a message names.
const mostListed = 10

// listed names pages in a message, as what there is.
func (r *Record) listed(pages []target) string {
	if len(pages) == 0 {
		return "is none"
	}
	at := map[string]string{}
	for _, t := range pages {
		at[t.ID] = clean(PrintedURL(t.URL), maxMessage)
	}
	var all []string
	for _, t := range r.named(pages) {
		if len(all) == mostListed {
			all = append(all, count(len(pages)-mostListed, "other"))
			break
		}
		all = append(all, t.Tab+" at "+at[t.TargetID])
	}
	if len(pages) == 1 {
		return "is " + all[0]
	}
	return "are " + strings.Join(all, ", ")
}
