package wiki

import (
	"cmp"
	"path"
	"strings"

	"kxm/lib/item"
)

// builder writes one page.
type builder struct {
	c      *compiler
	page   string
	out    []byte
	claims []builtClaim
}

// builtClaim is a claim that has its home on the page: the bytes of its line.
type builtClaim struct {
	id         string
	start, end int
}

func (b *builder) text(s string)  { b.out = appendText(b.out, s) }
func (b *builder) plain(s string) { b.out = append(b.out, s...) } // text of this package

// heading writes a heading of a section behind an empty line: a text of a record
// between two of this package.
func (b *builder) heading(before, text, after string) {
	b.plain("\n## " + before)
	b.text(text)
	b.plain(after + "\n\n")
}

// claim writes an item as one line of a list: where it is at home with its anchor and
// a link to its record, elsewhere with a link to its home. The label, if any, is a
// text of this package.
func (b *builder) claim(i int, label string) {
	it := &b.c.items[i]
	start := len(b.out)
	b.plain("- ")
	if label != "" {
		b.plain("**" + label + ":** ")
	}
	here := b.c.homes[i] == b.page
	if here {
		b.out = appendAnchor(b.out, b.c.anchors[i])
	}
	b.text(it.Summary)
	if it.Authority == item.AuthorityPolicy || it.Authority == item.AuthorityInstruction {
		b.plain(" (" + string(it.Authority) + ")")
	}
	b.plain(" — ")
	if target := b.target(i); target != "" {
		b.out = appendLink(b.out, b.c.anchors[i], target)
	} else {
		b.text(b.c.anchors[i])
	}
	b.details(i)
	if here {
		b.claims = append(b.claims, builtClaim{b.c.anchors[i], start, len(b.out)})
	}
	b.plain("\n")
}

// target returns where the id of an item leads: at its home to its record, elsewhere to
// its home. An item without a home is known by its id alone.
func (b *builder) target(i int) string {
	home := b.c.homes[i]
	if home != b.page {
		return b.reference(i)
	}
	it := &b.c.items[i]
	if it.Kind == item.KindState || fromJournal(it) {
		return fragment(b.c.anchors[i])
	}
	if it.Provenance.Path == "" {
		return ""
	}
	return string(appendTarget(nil, relative(path.Join(b.c.Dir, Folder), it.Provenance.Path), true))
}

// reference returns the link to an item's home, or "" without one.
func (b *builder) reference(i int) string {
	home := b.c.homes[i]
	switch home {
	case "":
		return ""
	case b.page:
		home = ""
	}
	return home + fragment(b.c.anchors[i])
}

// relative returns the path of a file as it is seen from a folder; both are from the
// same top.
func relative(folder, file string) string {
	from := strings.Split(folder, "/")
	to := strings.Split(file, "/")
	same := 0
	for same < len(from) && same < len(to)-1 && from[same] == to[same] {
		same++
	}
	return strings.Repeat("../", len(from)-same) + strings.Join(to[same:], "/")
}

// details writes what stands behind an item's id.
func (b *builder) details(i int) {
	it := &b.c.items[i]
	p := &it.Provenance
	if it.Kind == item.KindState {
		b.promotion(it)
	}
	b.named("source", cmp.Or(p.SourceRef, string(p.SourceType)))
	b.references("derived from", p.DerivedFrom)
	b.references("evidence", it.EvidenceRefs)
	if b.page == pageHistory {
		b.replacements(i)
	}
	if it.Project == item.SharedProject {
		b.plain(" · for every project")
	}
}

// promotion writes since when a value holds and who made it one.
func (b *builder) promotion(it *item.Item) {
	p := &it.Provenance
	since := it.ValidFrom
	if since == "" {
		since = it.ObservedAt
	}
	proposed := it.Status == item.StatusProposed
	switch {
	case proposed:
		b.named("proposed", since)
	case it.ValidUntil != "":
		b.named("from", since)
		b.named("until", it.ValidUntil)
	default:
		b.named("since", since)
	}
	if !proposed {
		b.who("promoted by", p.Signer)
	}
	if p.SelfPromoted {
		b.plain(" (self-promoted)")
	}
	b.who("proposed by", p.Author)
}

// who writes a name behind its role.
func (b *builder) who(role, name string) {
	if name != "" {
		b.plain(" · " + role + " ")
		b.text(name)
	}
}

// named writes a text behind its name, unless it is empty.
func (b *builder) named(name, text string) {
	if text != "" {
		b.plain(" · " + name + ": ")
		b.text(text)
	}
}

// references writes a list of ids and other references; those of claims are links.
func (b *builder) references(name string, ids []string) {
	for n, id := range ids {
		if n == 0 {
			b.plain(" · " + name + ": ")
		} else {
			b.plain(", ")
		}
		i, known := b.c.byID[id]
		target := ""
		if known {
			target = b.reference(i)
		}
		if target == "" {
			b.text(id)
			continue
		}
		b.out = appendLink(b.out, b.c.anchors[i], target)
	}
}

// replacements writes which items say that they replace this one.
func (b *builder) replacements(i int) {
	var ids []string
	for _, by := range b.c.replacedBy[b.c.ids[i]] {
		ids = append(ids, b.c.ids[by])
	}
	b.references("replaced by", ids)
}
