// Package wiki owns the knowledge wiki: Markdown pages, and a site of HTML, that show
// what a pool of context items says. Pages are a view for review and never a store:
// nothing here turns a page back into items.
//
// Start with [Compile], which makes the pages, and [Plan], which says what must be
// written to bring a folder up to date. [Lint] holds pages against a pool, [Compare]
// says what changed between two pools, and [Wiki.Site] makes the HTML.
//
// The package is pure: it opens no file, runs no program and has no clock. The same
// pool gives the same bytes, in whatever order its items come. It resolves no
// contradiction and grants nothing; whoever puts a pool together decides what is in it.
package wiki

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"kxm/lib/item"
)

// Folder is where the pages are, from the folder that holds .kxm.
const Folder = ".kxm/knowledge/wiki"

// The pages, in the order of the index.
const (
	pageIndex          = "index.md"
	pageArchitecture   = "architecture.md"
	pageDecisions      = "decisions.md"
	pageIncidents      = "incidents.md"
	pagePatterns       = "patterns.md"
	pageState          = "state.md"
	pageContradictions = "contradictions.md"
	pageHistory        = "history.md"
	pageProposals      = "proposals.md"
	pageJournal        = "journal.md"
)

// PageNames returns the names of all pages that Compile may make.
func PageNames() []string {
	names := []string{pageIndex}
	for _, d := range described {
		names = append(names, d.name)
	}
	return names
}

// Options say what is compiled.
type Options struct {
	Project   string // whose pool it is; "" while nothing names it
	Dir       string // the folder that the pages' .kxm is in, from the top of the repository; "" is the top
	Proposals bool   // a page of what waits for a promotion
	Journal   bool   // a page of what nobody reviewed
	// Sections maps kinds of memory to pages without ".md", besides the defaults.
	Sections map[string]string
}

// Page is one page.
type Page struct {
	Name    string // of the file, such as "state.md"
	Title   string
	Claims  int // what has its home on the page
	Content []byte
}

// SHA256 returns the digest of the page's bytes, in hex.
func (p *Page) SHA256() string {
	sum := sha256.Sum256(p.Content)
	return hex.EncodeToString(sum[:])
}

// Audit says what a compilation made of its pool.
type Audit struct {
	Project        string   `json:"project,omitempty"`
	CompiledFrom   string   `json:"compiledFrom"` // sha256: and the digest of the claims
	Items          int      `json:"items"`
	Claims         int      `json:"claims"`
	Unreviewed     int      `json:"unreviewed"` // items left out because nobody reviewed them
	Rejected       int      `json:"rejected"`   // items left out because they were rejected or withdrawn
	Contradictions int      `json:"contradictions"`
	Gaps           []string `json:"gaps"` // of the stream, by bytes, each once
}

// Wiki is a compiled pool.
type Wiki struct {
	Pages []Page // the index first
	Audit Audit

	compiler *compiler
}

// Compile makes the pages of a pool. An item of another project than o.Project and the
// shared one refuses all with context_isolation_violation. Every text is masked. The
// pool's items are taken over: they are sorted and masked in place.
func Compile(pool item.Pool, o Options) (*Wiki, error) {
	if err := pool.Isolated(o.Project); err != nil {
		return nil, err
	}
	c := newCompiler(pool.Items, o)
	w := &Wiki{compiler: c, Audit: Audit{
		Project: c.project, Items: len(pool.Items), Unreviewed: c.unreviewed, Rejected: c.rejected,
		Contradictions: len(c.contradictions), Gaps: gapTexts(pool.Gaps),
	}}
	digest := sha256.New()
	var key []byte
	built := make([]*builder, len(described))
	parallel(len(described), func(i int) *builder { return c.page(described[i]) }, func(i int, b *builder) { built[i] = b })
	for i, d := range described {
		b := built[i]
		if b == nil {
			continue
		}
		w.Pages = append(w.Pages, Page{Name: d.name, Title: d.title, Claims: len(b.claims), Content: seal(b.out)})
		w.Audit.Claims += len(b.claims)
		for _, claim := range b.claims {
			key = append(append(append(key[:0], d.name...), 0), claim.id...)
			key = append(key, 0)
			digest.Write(key)
			digest.Write(b.out[claim.start:claim.end])
			digest.Write([]byte{0})
		}
	}
	w.Audit.CompiledFrom = "sha256:" + hex.EncodeToString(digest.Sum(nil))
	w.Pages = slices.Insert(w.Pages, 0, w.index())
	return w, nil
}

// gapTexts returns the texts of gap records, masked, by bytes and each once.
func gapTexts(gaps []item.Gap) []string {
	texts := make([]string, 0, len(gaps))
	for _, g := range gaps {
		texts = append(texts, masked(g.Gap))
	}
	slices.Sort(texts)
	return slices.Compact(texts)
}

// Unavailable returns the gap, if there is one, that says that the pool itself is
// missing: compiling would then remove what is merely out of sight.
func Unavailable(gaps []item.Gap) (gap string, missing bool) {
	for _, g := range gaps {
		for _, prefix := range []string{"pool_unavailable", "dispatch_context_failed", "dispatch_context_withheld"} {
			if g.Gap == prefix || strings.HasPrefix(g.Gap, prefix+":") {
				return g.Gap, true
			}
		}
	}
	return "", false
}
