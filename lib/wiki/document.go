package wiki

import (
	"html"
	"net/url"
	"sort"
	"strconv"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// document is a page as a reader of Markdown sees it.
type document struct {
	name     string
	owner    Ownership
	anchors  map[string]int // where a link may lead, with its line; ids of headings too
	claims   []shownClaim
	links    []shownLink
	sections []string // the texts of its headings of the second level
}

// shownClaim is an item of a list that shows a record.
type shownClaim struct {
	id      string // of the anchor, else the one that its first link leads to
	home    bool   // it has an anchor
	label   string // the bold text before it, without its colon
	text    string // what is visible
	target  string // of the link on its id
	section int    // the index of its heading, -1 before the first
	line    int
}

// shownLink is a link or a picture.
type shownLink struct {
	target string
	line   int
}

// markdown reads pages as forges do. Headings get the ids that these give them.
var markdown = sync.OnceValue(func() goldmark.Markdown {
	return goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithParserOptions(parser.WithAutoHeadingID()))
})

// readDocument reads a page.
func readDocument(name string, data []byte) *document {
	data = withoutCR(data)
	d := &document{name: name, owner: Owner(data), anchors: map[string]int{}}
	r := &documentReader{document: d, source: data}
	for at, c := range data {
		if c == '\n' {
			r.ends = append(r.ends, at)
		}
	}
	root := markdown().Parser().Parse(text.NewReader(data))
	// The walker returns no error of its own.
	_ = ast.Walk(root, r.visit)
	return d
}

type documentReader struct {
	*document
	source []byte
	ends   []int // of the lines
	line   int   // of the last text that was met
}

func (r *documentReader) visit(n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	if n.Type() == ast.TypeBlock {
		if lines := n.Lines(); lines != nil && lines.Len() > 0 {
			r.line = r.lineOf(lines.At(0).Start)
		}
	}
	switch n := n.(type) {
	case *ast.Text:
		r.line = r.lineOf(n.Segment.Start)
	case *ast.Heading:
		if id, ok := n.AttributeString("id"); ok {
			if id, ok := id.([]byte); ok {
				r.anchor(string(id))
			}
		}
		if n.Level == 2 {
			r.sections = append(r.sections, r.visible(n))
		}
	case *ast.Link:
		r.links = append(r.links, shownLink{string(n.Destination), r.line})
	case *ast.Image:
		r.links = append(r.links, shownLink{string(n.Destination), r.line})
	case *ast.RawHTML:
		r.rawAnchors(string(n.Segments.Value(r.source)))
	case *ast.HTMLBlock:
		r.rawAnchors(string(n.Lines().Value(r.source)))
	case *ast.ListItem:
		r.claim(n)
	}
	return ast.WalkContinue, nil
}

func (r *documentReader) lineOf(offset int) int { return 1 + sort.SearchInts(r.ends, offset) }

func (r *documentReader) anchor(id string) {
	if _, ok := r.anchors[id]; !ok {
		r.anchors[id] = r.line
	}
}

// rawAnchors notes the anchors in raw HTML: elements a with the attribute id or name
// first, as people write them.
func (r *documentReader) rawAnchors(raw string) {
	for _, before := range []string{`<a id="`, `<a name="`} {
		for rest := raw; ; {
			_, after, ok := strings.Cut(rest, before)
			if !ok {
				break
			}
			id, end, closed := strings.Cut(after, `"`)
			if closed {
				r.anchor(html.UnescapeString(id))
			}
			rest = end
		}
	}
}

// claim notes a list's item that shows a record: with an anchor, or with a link that
// leads to one.
func (r *documentReader) claim(item *ast.ListItem) {
	block := item.FirstChild()
	if block == nil || block.Type() != ast.TypeBlock || block.Lines() == nil || block.Lines().Len() == 0 {
		return
	}
	c := shownClaim{section: len(r.sections) - 1, line: r.lineOf(block.Lines().At(0).Start), text: r.visible(block)}
	for n := block.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Emphasis:
			if n == block.FirstChild() && n.Level == 2 {
				c.label = strings.TrimSuffix(r.visible(n), ":")
			}
		case *ast.RawHTML:
			raw := string(n.Segments.Value(r.source))
			if rest, ok := strings.CutPrefix(raw, `<a id="`); ok && !c.home && c.target == "" {
				id, _, _ := strings.Cut(rest, `"`)
				c.id, c.home = html.UnescapeString(id), true
			}
		case *ast.Link:
			if c.target == "" && (!c.home || r.visible(n) == oneLine(c.id)) {
				c.target = string(n.Destination)
			}
		}
	}
	if !c.home {
		_, _, c.id = splitTarget(c.target)
	}
	if c.id != "" {
		r.claims = append(r.claims, c)
	}
}

// visible returns the text of a node, without its markup.
func (r *documentReader) visible(n ast.Node) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.Text:
			b.WriteString(literal(string(c.Value(r.source))))
			if c.SoftLineBreak() || c.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(c.Value)
		case *ast.CodeSpan:
			for t := c.FirstChild(); t != nil; t = t.NextSibling() {
				if t, ok := t.(*ast.Text); ok {
					b.Write(t.Value(r.source))
				}
			}
		default:
			b.WriteString(r.visible(c))
		}
	}
	return b.String()
}

// literal returns what a text means: without the backslashes of escapes and with its
// entities, which goldmark leaves to whoever renders them.
func literal(s string) string {
	if !strings.ContainsAny(s, "\\&") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && isPunctuation(s[i+1]) {
			i++
		} else if s[i] == '&' {
			if meaning, length := entity(s[i:]); length > 0 {
				b.WriteString(meaning)
				i += length - 1
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// entity returns what the entity at the start of s means and how long it is, or 0 where
// there is none.
func entity(s string) (meaning string, length int) {
	end := strings.IndexByte(s, ';')
	if end < 0 {
		return "", 0
	}
	name := s[1:end]
	if e, ok := util.LookUpHTML5EntityByName(name); ok {
		return string(e.Characters), end + 1
	}
	digits, base := strings.TrimPrefix(name, "#"), 10
	if hex := strings.TrimLeft(digits, "xX"); len(hex) == len(digits)-1 {
		digits, base = hex, 16
	}
	if n, err := strconv.ParseUint(digits, base, 24); name != "" && name[0] == '#' && err == nil {
		return html.UnescapeString("&#" + strconv.FormatUint(n, 10) + ";"), end + 1
	}
	return "", 0
}

func isPunctuation(c byte) bool {
	return c >= '!' && c <= '/' || c >= ':' && c <= '@' || c >= '[' && c <= '`' || c >= '{' && c <= '~'
}

// splitTarget splits a link's target. Local reports whether it leads to a file that is
// named from the page or to a place on it; path and anchor are decoded.
func splitTarget(target string) (local bool, path, anchor string) {
	u, err := url.Parse(target)
	if err != nil || u.Scheme != "" || u.Host != "" || u.Opaque != "" {
		return false, "", ""
	}
	return true, u.Path, u.Fragment
}
