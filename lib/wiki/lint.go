package wiki

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"kxm/lib/fault"
	"kxm/lib/item"
)

// LintInput is what pages are held against.
type LintInput struct {
	Pages   map[string][]byte // the Markdown files of the folder, by name
	Folder  string            // theirs, from the top of the repository
	Items   []item.Item       // of the whole pool, ended ones too
	Project string
	// NoState says that no state and no journal could be read at all, so that their
	// records are out of sight rather than gone.
	NoState bool
	// Exists reports whether there is a file or folder, named from the top of the
	// repository. It is asked about links out of the folder; nil finds all of them.
	Exists func(name string) bool
}

// Lint returns what is wrong with pages, by path, line and rule. Pages that are not
// ours are held to their links alone. The items are taken over, as by [Compile], and
// may be those that it has compiled.
func Lint(in LintInput) []Finding {
	l := &linter{LintInput: in, items: map[string]*item.Item{}, open: map[string]bool{}, documents: map[string]*document{}}
	l.know()
	names := slices.Sorted(maps.Keys(in.Pages))
	parallel(len(names), func(i int) *document { return readDocument(names[i], in.Pages[names[i]]) },
		func(_ int, d *document) { l.documents[d.name] = d })
	for _, name := range names {
		d := l.documents[name]
		l.ownership(d)
		l.links(d)
		if d.owner == NotOurs {
			continue
		}
		for i := range d.claims {
			l.claim(d, &d.claims[i])
		}
	}
	l.orphans()
	l.unshown()
	slices.SortFunc(l.findings, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), strings.Compare(a.Rule, b.Rule), strings.Compare(a.Message, b.Message))
	})
	return l.findings
}

type linter struct {
	LintInput
	shown          []string              // the id of each item, as pages show it
	items          map[string]*item.Item // by id, as pages show it
	open           map[string]bool       // ids of the sides of open contradictions
	contradictions []item.Contradiction
	documents      map[string]*document
	findings       []Finding
}

// know looks at the pool.
func (l *linter) know() {
	sortByID(l.Items)
	ids := make([]string, len(l.Items))
	for i := range l.Items {
		ids[i] = l.Items[i].ID
	}
	l.contradictions = item.Contradictions(l.Items)
	maskItems(l.Items)
	l.shown = anchors(ids, l.Items)
	for i, id := range l.shown {
		l.items[id] = &l.Items[i]
	}
	for _, c := range l.contradictions {
		for _, side := range c.Sides {
			l.open[l.Items[side].ID] = true
		}
	}
}

// find adds a finding. The severity is the rule's unless another is given.
func (l *linter) find(rule, name string, line int, severity Severity, message string) {
	r := ruleOf(rule)
	l.findings = append(l.findings, Finding{Rule: rule, Severity: cmp.Or(severity, r.Severity), Path: path.Join(l.Folder, name), Line: max(line, 1), Message: masked(message), Fix: r.Fix})
}

func (l *linter) ownership(d *document) {
	switch {
	case d.owner == Edited:
		l.find(RuleHandEdited, d.name, 1, "", "the page differs from the digest in its mark")
	case d.owner == NotOurs && slices.Contains(PageNames(), d.name):
		l.find(RuleHandEdited, d.name, 1, "", "the file stands at a generated page's path and has no mark")
	}
}

// links looks where each relative link leads.
func (l *linter) links(d *document) {
	for _, link := range d.links {
		local, name, anchor := splitTarget(link.target)
		if !local {
			continue
		}
		quoted := fault.Quote(link.target)
		file := path.Join(l.Folder, name)
		if strings.HasPrefix(name, "/") { // forges read it from the top of the repository
			file = strings.TrimPrefix(path.Clean(name), "/")
		}
		to := d
		if name != "" {
			to = nil
			if path.Dir(file) == path.Clean(l.Folder) {
				to = l.documents[path.Base(file)]
			}
		}
		switch {
		case to != nil:
			if _, ok := to.anchors[anchor]; anchor != "" && !ok {
				l.find(RuleBrokenLink, d.name, link.line, "", "the link "+quoted+" leads to an anchor that is not there")
			}
		case strings.HasPrefix(file, "../") || file == "..":
			l.find(RuleBrokenLink, d.name, link.line, "", "the link "+quoted+" leads out of the repository")
		case l.Exists != nil && !l.Exists(file):
			l.find(RuleBrokenLink, d.name, link.line, "", "the link "+quoted+" leads nowhere")
		}
	}
}

// claim holds one claim of a page of ours against its record.
func (l *linter) claim(d *document, c *shownClaim) {
	if local, name, _ := splitTarget(c.target); !c.home && (!local || name != "" && l.documents[path.Clean(name)] == nil) {
		return // a link to somewhere else, which shows no record
	}
	it, known := l.items[c.id]
	if !known {
		severity := Severity("")
		if l.NoState && ofState(c.id) {
			severity = SeverityWarning
		}
		l.find(RuleBrokenRef, d.name, c.line, severity, "the pool holds no record "+fault.Quote(c.id))
		return
	}
	if it.Project != l.Project && it.Project != item.SharedProject {
		l.find(RuleForeignProject, d.name, c.line, "", "the record "+fault.Quote(c.id)+" belongs to project "+fault.Quote(it.Project))
		return
	}
	if l.stale(d, c, it) {
		l.find(RuleStaleStateLink, d.name, c.line, "", "the value "+fault.Quote(c.id)+" of "+fault.Quote(it.StateKey)+" is "+string(it.Status)+" and shown as if it held")
		return
	}
	shown := d.name == pageProposals || d.name == pageJournal || d.name == pageContradictions && l.open[it.ID]
	if c.home && !reviewed(it) && !shown {
		l.find(RuleUnreviewedClaim, d.name, c.line, "", "nobody reviewed the record "+fault.Quote(c.id))
	}
}

// stale reports whether a claim presents a value that was superseded as one that holds:
// labelled as current, as a side of an open contradiction, or at home on a page of
// what is known.
func (l *linter) stale(d *document, c *shownClaim, it *item.Item) bool {
	if it.Kind != item.KindState || it.Status != item.StatusSuperseded {
		return false
	}
	switch d.name {
	case pageState:
		return c.label != labelSuperseded
	case pageHistory:
		return false
	case pageContradictions:
		return c.home || !l.cited(d, c)
	}
	return c.home
}

// cited reports whether a claim on the page of contradictions stands there because an
// entry of the journal cites it.
func (l *linter) cited(d *document, c *shownClaim) bool {
	for i := range d.claims {
		if first := &d.claims[i]; first.section == c.section {
			entry, known := l.items[first.id]
			return known && entry.JournalCategory != "" && first != c
		}
	}
	return false
}

// orphans finds pages of ours that no entry of the index leads to.
func (l *linter) orphans() {
	reached := map[string]bool{pageIndex: true}
	if index := l.documents[pageIndex]; index != nil {
		for _, link := range index.links {
			if local, name, _ := splitTarget(link.target); local {
				reached[path.Clean(name)] = true
			}
		}
	}
	for name, d := range l.documents {
		if d.owner != NotOurs && !reached[name] {
			l.find(RuleOrphanPage, name, 1, "", "no entry of "+pageIndex+" leads to the page")
		}
	}
}

// unshown finds open contradictions of the pool that the page of contradictions does not
// show with all their sides in one section.
func (l *linter) unshown() {
	if len(l.documents) == 0 {
		return // no wiki at all
	}
	sections := map[int]map[string]bool{}
	if d := l.documents[pageContradictions]; d != nil {
		for _, c := range d.claims {
			if sections[c.section] == nil {
				sections[c.section] = map[string]bool{}
			}
			sections[c.section][c.id] = true
		}
	}
	in := map[string][]int{} // sections, by id
	for section, ids := range sections {
		for id := range ids {
			in[id] = append(in[id], section)
		}
	}
	for _, c := range l.contradictions {
		ids := make([]string, len(c.Sides))
		for i, side := range c.Sides {
			ids[i] = l.shown[side]
		}
		if !slices.ContainsFunc(in[ids[0]], func(section int) bool {
			return !slices.ContainsFunc(ids, func(id string) bool { return !sections[section][id] })
		}) {
			of := "the journal's " + fault.Quote(ids[0])
			if c.Status != "" {
				of = count(len(ids), string(c.Status)+" value") + " of " + fault.Quote(c.Key)
			}
			l.find(RuleUnresolvedContradiction, pageContradictions, 1, "", "the page does not show an open contradiction: "+of)
		}
	}
}
