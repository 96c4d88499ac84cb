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

// page builds one page; made is false if there is nothing to put on it.
func (c *compiler) page(d description) (b *builder, made bool) {
	if len(c.onPage[d.name]) == 0 && !d.always {
		return nil, false
	}
	b = &builder{c: c, page: d.name}
	b.plain("# " + d.title + "\n\n" + d.holds + "\n")
	d.body(b)
	b.plain("\n[Index](" + pageIndex + ")\n\n")
	return b, true
}

// list writes the page's claims by id.
func (b *builder) list() {
	b.plain("\n")
	for _, i := range b.c.onPage[b.page] {
		b.claim(i, "")
	}
}

// states writes every key that has or had a value.
func (b *builder) states() {
	on := slices.Clone(b.c.onPage[pageState])
	key := func(i int) (string, string) { return b.c.items[i].StateKey, b.c.items[i].Project }
	slices.SortStableFunc(on, func(i, j int) int {
		k, p := key(i)
		l, q := key(j)
		return cmp.Or(strings.Compare(k, l), strings.Compare(p, q))
	})
	if len(on) == 0 {
		b.plain("\nNo key has a value.\n")
	}
	for len(on) > 0 {
		k, p := key(on[0])
		n := 1
		for n < len(on) {
			if l, q := key(on[n]); l != k || q != p {
				break
			}
			n++
		}
		b.key(k, on[:n])
		on = on[n:]
	}
}

// The labels of a key's values. Lint reads them back.
const (
	labelCurrent    = "Current"
	labelSuperseded = "Superseded"
)

// key writes the values of one key.
func (b *builder) key(name string, values []int) {
	b.heading(2, "", name)
	var current, ended []int
	for _, i := range values {
		if b.c.items[i].Status == item.StatusSuperseded {
			ended = append(ended, i)
		} else {
			current = append(current, i)
		}
	}
	slices.SortStableFunc(ended, func(i, j int) int { return b.c.newestFirst(i, j) })
	if len(current) == 0 {
		b.plain("- No current value.\n")
	}
	for _, i := range current {
		b.claim(i, labelCurrent)
	}
	if len(current) > 1 {
		b.plain("- These values [contradict](" + pageContradictions + ") one another.\n")
	}
	for _, i := range ended {
		b.claim(i, labelSuperseded)
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

// sides writes the open contradictions: of states by key, then of the journal.
func (b *builder) sides() {
	all := slices.Clone(b.c.contradictions)
	slices.SortStableFunc(all, func(x, y item.Contradiction) int {
		if (x.Status == "") != (y.Status == "") {
			return strings.Compare(string(y.Status), string(x.Status))
		}
		return cmp.Or(strings.Compare(x.Key, y.Key), strings.Compare(x.Project, y.Project), strings.Compare(string(x.Status), string(y.Status)))
	})
	if len(all) == 0 {
		b.plain("\nNone is open.\n")
	}
	for _, contradiction := range all {
		b.contradiction(contradiction)
	}
}

func (b *builder) contradiction(of item.Contradiction) {
	switch of.Status {
	case item.StatusCurrent:
		b.heading(2, "", masked(of.Key), fmt.Sprintf(": %d current values", len(of.Sides)))
	case item.StatusProposed:
		b.heading(2, "", masked(of.Key), fmt.Sprintf(": %d proposals, not reviewed", len(of.Sides)))
	default:
		state := ", not reviewed"
		if reviewed(&b.c.items[of.Sides[0]]) {
			state = ""
		}
		b.heading(2, "Journal: ", b.c.anchors[of.Sides[0]], state)
	}
	for _, i := range of.Sides {
		b.claim(i, "")
	}
	if of.Status != "" {
		return
	}
	// What an entry says is in contradiction is its evidence.
	entry := of.Sides[0]
	for _, ref := range b.c.items[entry].EvidenceRefs {
		if i, known := b.c.byID[ref]; known && i != entry {
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
		what := count(p.Claims, "claim")
		if p.Name == pageContradictions {
			what = count(w.Audit.Contradictions, "open contradiction")
		}
		b.plain(fmt.Sprintf("- [%s](%s): %s\n", p.Title, p.Name, what))
	}
	b.plain(`
## How to read them

- A claim is one line: what is said; whether it is policy or an instruction, and else it is evidence; its id, which leads to its record; its source.
- A claim is at home on one page. Where another page mentions it, its id leads there.
- What nobody reviewed is on no page but those that say so, and on the page of contradictions, which hides no side.

`)
	return Page{Name: pageIndex, Title: "Knowledge", Content: seal(b.out)}
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
