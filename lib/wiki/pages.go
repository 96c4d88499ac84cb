package wiki

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"kxm/lib/item"
)

// description is what a page is for. A page without claims is made only where always
// says so.
type description struct {
	name, title string
	holds       string // one sentence; a page never promises more than it holds
	always      bool
	body        func(*builder)
}

// described are the pages but the index, in its order.
var described = []description{
	{pageArchitecture, "Architecture", "Reviewed knowledge that belongs to no other page.", false, (*builder).list},
	{pageDecisions, "Decisions", "What was decided: authored facts of that kind, and reviewed decisions of the journal.", false, (*builder).list},
	{pageIncidents, "Incidents", "What happened: reviewed episodes, errors and lessons of the journal.", false, (*builder).list},
	{pagePatterns, "Patterns", "How work is done here: conventions, learnings and promoted skills.", false, (*builder).list},
	{pageState, "State", "Every state key with its current value, and the values before it, newest first.", true, (*builder).states},
	{pageContradictions, "Contradictions", "Every open contradiction with all its sides. Compiling resolves none of them.", true, (*builder).sides},
	{pageHistory, "History", "Claims that no longer hold, with what replaced them. Values of state are in [State](state.md).", false, (*builder).list},
	{pageProposals, "Proposals (not reviewed)", "Proposed, and not reviewed: nothing here was accepted.", false, (*builder).list},
	{pageJournal, "Journal (not reviewed)", "Entries of the journal and evidence, not reviewed: nothing here was accepted.", false, (*builder).list},
}

// lineSize is about what a claim's line takes besides its summary.
const lineSize = 200

// page builds one page; nil if there is nothing to put on it.
func (c *compiler) page(d description) *builder {
	if len(c.onPage[d.name]) == 0 && !d.always {
		return nil
	}
	b := &builder{c: c, page: d.name}
	size := 1 << 10
	for _, i := range c.onPage[d.name] {
		size += len(c.items[i].Summary) + lineSize
	}
	b.out, b.claims = make([]byte, 0, size), make([]builtClaim, 0, len(c.onPage[d.name]))
	b.plain("# " + d.title + "\n\n" + d.holds + "\n")
	d.body(b)
	b.plain("\n[Index](" + pageIndex + ")\n\n")
	return b
}

// list writes the page's claims by id.
func (b *builder) list() {
	b.plain("\n")
	for _, i := range b.c.onPage[b.page] {
		b.claim(i, "")
	}
}

const (
	emptyState          = "No key has a value."
	emptyContradictions = "None is open."
)

// stateKey is a key with its values.
type stateKey struct {
	name           string
	current, ended []int // items; ended ones newest first
}

// keys returns every key that has or had a value, by name.
func (c *compiler) keys() []stateKey {
	type name struct{ key, project string }
	of := map[name]int{}
	var names []name
	var keys []stateKey
	for _, i := range c.onPage[pageState] {
		it := &c.items[i]
		at, known := of[name{it.StateKey, it.Project}]
		if !known {
			at = len(keys)
			of[name{it.StateKey, it.Project}] = at
			names = append(names, name{it.StateKey, it.Project})
			keys = append(keys, stateKey{name: it.StateKey})
		}
		if it.Status == item.StatusSuperseded {
			keys[at].ended = append(keys[at].ended, i)
		} else {
			keys[at].current = append(keys[at].current, i)
		}
	}
	slices.SortFunc(names, func(a, b name) int {
		return cmp.Or(strings.Compare(a.key, b.key), strings.Compare(a.project, b.project))
	})
	sorted := make([]stateKey, 0, len(keys))
	for _, n := range names {
		k := keys[of[n]]
		slices.SortFunc(k.ended, c.newestFirst)
		sorted = append(sorted, k)
	}
	return sorted
}

// The labels of a key's values. Lint reads them back.
const (
	labelCurrent    = "Current"
	labelSuperseded = "Superseded"
)

// states writes every key with its values.
func (b *builder) states() {
	keys := b.c.keys()
	if len(keys) == 0 {
		b.plain("\n" + emptyState + "\n")
	}
	for _, k := range keys {
		b.heading("", k.name, "")
		if len(k.current) == 0 {
			b.plain("- No current value.\n")
		}
		for _, i := range k.current {
			b.claim(i, labelCurrent)
		}
		if len(k.current) > 1 {
			b.plain("- These values [contradict](" + pageContradictions + ") one another.\n")
		}
		for _, i := range k.ended {
			b.claim(i, labelSuperseded)
		}
	}
}

// newestFirst compares two items by the time since which they hold, then by id.
func (c *compiler) newestFirst(i, j int) int {
	since := func(it *item.Item) int64 {
		for _, text := range []string{it.ValidFrom, it.ObservedAt} {
			if t, err := item.ParseTime(text); text != "" && err == nil {
				return t.UnixNano()
			}
		}
		return 0
	}
	return cmp.Or(cmp.Compare(since(&c.items[j]), since(&c.items[i])), strings.Compare(c.ids[j], c.ids[i]))
}

// sortedContradictions returns the open contradictions: of states by key, then of the
// journal.
func (c *compiler) sortedContradictions() []item.Contradiction {
	all := slices.Clone(c.contradictions)
	slices.SortStableFunc(all, func(x, y item.Contradiction) int {
		if (x.Status == "") != (y.Status == "") {
			return strings.Compare(string(y.Status), string(x.Status))
		}
		return cmp.Or(strings.Compare(x.Key, y.Key), strings.Compare(x.Project, y.Project), strings.Compare(string(x.Status), string(y.Status)))
	})
	return all
}

// contradictionTitle names a contradiction: a text of a record between two of ours.
func (c *compiler) contradictionTitle(of item.Contradiction) (before, text, after string) {
	switch of.Status {
	case item.StatusCurrent:
		return "", masked(of.Key), fmt.Sprintf(": %d current values", len(of.Sides))
	case item.StatusProposed:
		return "", masked(of.Key), fmt.Sprintf(": %d proposals, not reviewed", len(of.Sides))
	}
	if !reviewed(&c.items[of.Sides[0]]) {
		after = ", not reviewed"
	}
	return "Journal: ", c.anchors[of.Sides[0]], after
}

// sidesOf returns the items on all sides of a contradiction. What an entry of the
// journal says is in contradiction is its evidence.
func (c *compiler) sidesOf(of item.Contradiction) []int {
	sides := slices.Clone(of.Sides)
	if of.Status == "" {
		for _, ref := range c.items[sides[0]].EvidenceRefs {
			if i, known := c.byID[ref]; known {
				sides = append(sides, i)
			}
		}
	}
	return sides
}

// sides writes the open contradictions.
func (b *builder) sides() {
	all := b.c.sortedContradictions()
	if len(all) == 0 {
		b.plain("\n" + emptyContradictions + "\n")
	}
	for _, c := range all {
		b.heading(b.c.contradictionTitle(c))
		for _, i := range b.c.sidesOf(c) {
			b.claim(i, "")
		}
	}
}

// index makes the page that leads to all others.
func (w *Wiki) index() Page {
	b := &builder{c: w.compiler, page: pageIndex}
	b.plain("# Knowledge\n\n")
	if w.Audit.Project != "" {
		b.plain("Project: ")
		b.text(w.Audit.Project)
		b.plain("\n\n")
	}
	b.plain("Compiled from: `" + w.Audit.CompiledFrom + "`\n\n")
	b.plain("These pages are generated from the project's records, for people to read and review. They are no store: " +
		"nothing reads them back, and `kxm-wiki compile` writes them anew. Change a record, never a page.\n\n## Pages\n\n")
	for _, p := range w.Pages {
		b.plain(fmt.Sprintf("- [%s](%s): %s\n", p.Title, p.Name, w.countOf(&p)))
	}
	b.plain(`
## How to read them

- A claim is one line: what is said; whether it is policy or an instruction, and else it is evidence; its id, which leads to its record; its source.
- A claim is at home on one page. Where another page mentions it, its id leads there.
- What nobody reviewed is on no page but those that say so, and on the page of contradictions, which hides no side.

`)
	return Page{Name: pageIndex, Title: "Knowledge", Content: seal(b.out)}
}

// countOf says how much is on a page; the index holds no claim.
func (w *Wiki) countOf(p *Page) string {
	switch p.Name {
	case pageIndex:
		return ""
	case pageContradictions:
		return count(w.Audit.Contradictions, "open contradiction")
	}
	return count(p.Claims, "claim")
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
