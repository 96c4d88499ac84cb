package wiki

import (
	"bytes"
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"kxm/lib/fault"
	"kxm/lib/textdiff"
)

// Plan says what brings a folder up to date.
type Plan struct {
	Write     []Page   // new or changed
	Remove    []string // names of pages of ours that are no longer made
	Unchanged []string
}

// NewPlan compares pages with the files of their folder, by name. A file at a page's
// path that is not ours refuses all with wiki_page_not_ours, and a page of ours that a
// hand changed, made or not, with wiki_page_edited; force overrules both for the pages
// that are made, and removes the others that were edited. Files that are not ours and
// at no page's path are left alone.
func NewPlan(pages []Page, folder map[string][]byte, force bool) (*Plan, error) {
	p := &Plan{}
	made := map[string]bool{}
	for _, page := range pages {
		made[page.Name] = true
		there, exists := folder[page.Name]
		if exists && bytes.Equal(withoutCR(there), page.Content) {
			p.Unchanged = append(p.Unchanged, page.Name)
			continue
		}
		if err := mayReplace(page.Name, there, exists, force); err != nil {
			return nil, err
		}
		p.Write = append(p.Write, page)
	}
	for name, there := range folder {
		if made[name] || Owner(there) == NotOurs {
			continue
		}
		p.Remove = append(p.Remove, name)
	}
	slices.Sort(p.Remove)
	for _, name := range p.Remove {
		if err := mayReplace(name, folder[name], true, force); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func mayReplace(name string, there []byte, exists, force bool) error {
	if !exists || force {
		return nil
	}
	switch Owner(there) {
	case NotOurs:
		return fault.New(fault.WikiPageNotOurs, "%s exists and was not generated", fault.Quote(name)).
			WithHint("move it away, or write over it with --force")
	case Edited:
		return fault.New(fault.WikiPageEdited, "%s was changed by hand", fault.Quote(name)).
			WithHint("move the change into a record, then compile with --force")
	}
	return nil
}

// Difference is what a check found.
type Difference struct {
	Names  []string // of the pages that are not as they would be compiled
	Diff   []byte   // unified
	Behind bool     // only the state and the journal, which move without the branch, are newer
}

// context is how many lines the differences show around a change.
const context = 3

// Check compares pages with the files of their folder and changes nothing. dir is what
// stands before the names in the difference. Files that are not ours count only at a
// page's path.
func Check(pages []Page, folder map[string][]byte, dir string) Difference {
	var d Difference
	made := map[string][]byte{}
	for _, page := range pages {
		made[page.Name] = page.Content
	}
	names := map[string]bool{}
	for name, there := range folder {
		if _, ok := made[name]; ok || Owner(there) != NotOurs {
			names[name] = true
		}
	}
	for name := range made {
		names[name] = true
	}
	for name := range names {
		there, exists := folder[name]
		want, wanted := made[name]
		if exists != wanted || !bytes.Equal(withoutCR(there), want) {
			d.Names = append(d.Names, name)
		}
	}
	slices.Sort(d.Names)
	for _, name := range d.Names {
		from, to := "/dev/null", "/dev/null"
		if _, ok := folder[name]; ok {
			from = path.Join("a", dir, name)
		}
		if _, ok := made[name]; ok {
			to = path.Join("b", dir, name)
		}
		d.Diff = append(d.Diff, textdiff.Unified(from, to, withoutCR(folder[name]), made[name], context)...)
	}
	d.Behind = len(d.Names) > 0 && behind(made, folder, names)
	return d
}

// behind reports whether no hand touched the pages and they agree in every claim of the
// branch with those that would be made.
func behind(made, folder map[string][]byte, names map[string]bool) bool {
	if _, ok := folder[pageIndex]; !ok {
		return false // nothing was ever compiled
	}
	ours := map[string][]byte{}
	for name, data := range folder {
		if !names[name] {
			continue
		}
		if Owner(data) != Ours {
			return false
		}
		ours[name] = data
	}
	return slices.Equal(branchClaims(made), branchClaims(ours))
}

// branchClaim is a claim of a record that is in the branch.
type branchClaim struct{ id, page, text, target string }

// branchClaims returns the claims of authored facts and skills that are at home on
// pages, by id. What they look like counts, not their source: whether a reference to
// an entry of the journal is a link depends on the journal.
func branchClaims(pages map[string][]byte) []branchClaim {
	var all []branchClaim
	names := slices.Sorted(maps.Keys(pages))
	parallel(len(names), func(i int) *document { return readDocument(names[i], pages[names[i]]) }, func(_ int, d *document) {
		for _, c := range d.claims {
			if c.home && !ofState(c.id) {
				all = append(all, branchClaim{c.id, d.name, c.text, c.target})
			}
		}
	})
	slices.SortFunc(all, func(a, b branchClaim) int {
		return cmp.Or(strings.Compare(a.id, b.id), strings.Compare(a.page, b.page), strings.Compare(a.text, b.text))
	})
	return all
}

// ofState reports whether an id is of a record that the state ref holds.
func ofState(id string) bool {
	for _, prefix := range []string{"ctx_", "journal_", "episode_"} {
		if strings.HasPrefix(id, prefix) {
			return true
		}
	}
	return false
}
