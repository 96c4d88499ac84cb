package wiki

import (
	"bytes"
	"fmt"
	"html"
	"slices"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"kxm/lib/item"
)

// readers are the dialects under which a text must mean itself.
var readers = map[string]goldmark.Markdown{
	"commonmark": goldmark.New(),
	"forge":      goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithParserOptions(parser.WithAutoHeadingID())),
	"all": goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote, extension.DefinitionList, extension.CJK),
		goldmark.WithParserOptions(parser.WithAttribute())),
}

// hostile are texts that try to be more than text.
var hostile = []string{
	"| a | b |\n| - | - |", "# heading", "heading #", "heading \\#", "## a {#id .class}", "===", "---", "***", "- item", "+ item", "* item", "1. item", "12) item",
	"> quote", "```\nfence\n```", "~~~", "`code`", "``", "    indented", "\tindented",
	"<b>bold</b>", "<script>alert(1)</script>", "<!-- comment -->", "<!-- kxm:wiki sha256:0 -->", "-->", "</a>", "<img src=x onerror=alert(1)>", "<http://a.b>",
	"[link](javascript:alert(1))", "![picture](x)", "[ref]", "[ref]: http://a.b", "[^1]", "[^1]: note", "- [ ] task", "[x] done", "[[wiki]]",
	"http://a.b/c", "https://a.b", "ftp://a.b", "HTTP://A.B", "www.a.b", "WWW.a.b", "(www.a.b)", "a@b.c", "mailto:a@b.c", "foo+bar@a-b.c", "a@b", "a@b_c.d", "skill:x@kxt1:0f", "a@b@c.d", "javascript:alert(1)", "xhttps://a.b",
	"*em*", "**strong**", "_em_", "__strong__", "snake_case_name", "a_b", "_a", "a_", "a__b", "~~struck~~", "~sub~", "$x$", "$$x$$", "a\\b", "a\\", "\\*", "\\\\",
	"&amp;", "&lt;b&gt;", "&#60;b&#62;", "&#x3C;", "&copy", "&notanentity;", "R&D", "a & b",
	"line\nbreak", "line  \nbreak", "line\\\nbreak", "line\r\nbreak", "a\u2028b", "a\u2029b", "a\u0085b", "a\vb", "a\x00b", "a\u00a0b", "  padded  ",
	"\u202Eright to left", "a\u2066b\u2069", "\u200Fmark", "zero\u200Bwidth", "join\u200Der", "\uFEFFbom", "tag\U000E0041", "soft\u00ADhyphen",
	": definition", ":+1:", "@user", "#12", "fixes #12", "{{ template }}", "{% liquid %}", "{#id}", "!important", "!", "\"quoted\"", "'", "...", "--", "%", "^", "=", "+", "-", "#", ">", "1.", "1", "a.",
	"GH-12", "日本語_の_文", "**太字**です", "é_è_à", "x\u0301_y",
	strings.Repeat("[", 200), strings.Repeat("*", 200), strings.Repeat("`", 200), strings.Repeat("<a ", 100), strings.Repeat("&", 100),
}

// shape describes a node and those below it, apart from their texts and from comments
// that show nothing.
func shape(n ast.Node, source []byte) string {
	var below []string
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch t, ok := c.(*ast.Text); {
		case ok && (t.SoftLineBreak() || t.HardLineBreak()):
			below = append(below, "break")
		case isNothing(c, source):
		case c.Kind() != ast.KindText && c.Kind() != ast.KindString:
			below = append(below, shape(c, source))
		}
	}
	return n.Kind().String() + "(" + strings.Join(below, " ") + ")"
}

func isNothing(n ast.Node, source []byte) bool {
	raw, ok := n.(*ast.RawHTML)
	return ok && string(raw.Segments.Value(source)) == nothing
}

// rendered returns what a browser shows: the text of the rendered HTML.
func rendered(t testing.TB, md goldmark.Markdown, source []byte) string {
	t.Helper()
	var out bytes.Buffer
	if err := md.Convert(source, &out); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	rest := out.String()
	for {
		before, after, ok := strings.Cut(rest, "<")
		b.WriteString(html.UnescapeString(before))
		if !ok {
			break
		}
		_, rest, _ = strings.Cut(after, ">")
	}
	return b.String()
}

// markup is what the frames of checkText have besides text.
var markup = strings.NewReplacer("## ", "", "- ", "", "**", "")

// checkText holds that a text means itself wherever pages put one.
func checkText(t testing.TB, s string) {
	t.Helper()
	want := oneLine(s)
	if want == "" {
		return
	}
	escaped := string(appendText(nil, s))
	for name, md := range readers {
		for _, c := range []struct{ before, after, shape string }{
			{"", "", "Document(Paragraph())"},
			{"before ", " after", "Document(Paragraph())"},
			{"## ", "", "Document(Heading())"},
			{"## ", ": 2 values", "Document(Heading())"},
			{"- **Current:** ", " — end", "Document(List(ListItem(TextBlock(Emphasis()))))"},
			{"- ", " — end\n- next", "Document(List(ListItem(TextBlock()) ListItem(TextBlock())))"},
		} {
			source := []byte(c.before + escaped + c.after)
			if got := shape(md.Parser().Parse(text.NewReader(source)), source); got != c.shape {
				t.Errorf("%s: %q in %q is %s, want %s\n%s", name, s, c.before, got, c.shape, source)
				continue
			}
			plain := rendered(t, md, source)
			full := markup.Replace(c.before) + want + markup.Replace(c.after)
			if !slices.Equal(strings.Fields(plain), strings.Fields(full)) {
				t.Errorf("%s: %q in %q shows %q, want %q\n%s", name, s, c.before, plain, full, source)
			}
		}
	}
}

func TestTextsMeanThemselves(t *testing.T) {
	for _, s := range hostile {
		checkText(t, s)
		for _, other := range []string{"*", "_", "www", "a", "1", "#", "`", "[", "http:", "&am", "\\"} {
			checkText(t, other+s)
			checkText(t, s+other)
		}
	}
}

func TestOrdinaryProseStaysReadable(t *testing.T) {
	for s, want := range map[string]string{
		"Run npm test before every commit, e.g. with -x (see docs/testing.md).": "Run npm test before every commit, e.g. with -x (see docs/testing.md).",
		"Releases are cut from the main branch: never from release/1.2 - ask.":  "Releases are cut from the main branch: never from release/1.2 - ask.",
		"a -> b, x > y, 50% & more; C++ and C#!":                                "a -> b, x > y, 50% & more; C++ and C#!",
		"snake_case and 3 = 2 + 1":                                              "snake_case and 3 = 2 + 1",
	} {
		if got := string(appendText(nil, s)); got != want {
			t.Errorf("%q became %q", s, got)
		}
	}
}

func TestHiddenCharactersAreShown(t *testing.T) {
	for s, want := range map[string]string{
		"a\u202Eb": "a\uFFFDb", "a\u2067b\u2069": "a\uFFFDb\uFFFD", "a\u200Bb": "a\uFFFDb", "a\U000E0061b": "a\uFFFDb", "a\x1b[31mb": "a\uFFFD[31mb",
		"a\xffb": "a\uFFFDb", "👩\u200D💻": "👩\u200D💻", "می\u200Cخواهم": "می\u200Cخواهم", " a \n\t b ": "a b",
	} {
		if got := oneLine(s); got != want {
			t.Errorf("%q became %q, want %q", s, got, want)
		}
	}
}

// short keeps a text within a record's limits.
func short(s string) string { return s[:min(len(s), 100)] }

func FuzzTextsMeanThemselves(f *testing.F) {
	for _, s := range hostile {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { checkText(t, short(s)) })
}

// record returns an item whose every text is hostile.
func record(s string) item.Item {
	word := oneLine(s)
	return item.Item{ID: "mem_" + word, Kind: item.KindKnowledge, Project: "demo", Summary: s,
		Provenance: item.Provenance{SourceType: item.OriginGit, SourceRef: s, DerivedFrom: []string{"x" + word, "fixed"}, Path: ".kxm/memory/" + strings.ReplaceAll(word, "/", "_") + ".md"},
		Authority:  item.AuthorityInstruction, Confidence: item.ConfidenceVerified, Status: item.StatusCurrent, EvidenceRefs: []string{"y" + word}}
}

// structure compiles a pool of three items, one of them hostile in all its texts, and
// returns the shapes of the pages that the hostile one is on.
func structure(t testing.TB, s string) (shapes []string, w *Wiki) {
	t.Helper()
	state := record(s)
	state.ID, state.Kind, state.StateKey = "ctx_"+oneLine(s), item.KindState, "k"+s
	state.Provenance.Author, state.Provenance.Signer = s, s
	other := state
	other.ID = "ctx_other " + oneLine(s)
	plain := record("plain")
	plain.ID = "fixed" // which no hostile record has
	w, err := Compile(item.Pool{Items: []item.Item{record(s), plain, state, other}}, Options{Project: "demo"})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range w.Pages {
		if p.Name != pageIndex {
			shapes = append(shapes, p.Name+" "+shape(readers["all"].Parser().Parse(text.NewReader(p.Content)), p.Content))
		}
	}
	return shapes, w
}

// checkPages holds that hostile texts change neither the structure of a page nor where
// its links lead.
func checkPages(t testing.TB, s string) {
	t.Helper()
	if oneLine(s) == "" || masked(s) != s {
		return
	}
	want, _ := structure(t, "plain")
	got, w := structure(t, s)
	if !slices.Equal(got, want) {
		t.Errorf("%q changes the pages:\n%s\nwant\n%s", s, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, p := range w.Pages {
		d := readDocument(p.Name, p.Content)
		if d.owner != Ours {
			t.Errorf("%q: %s is not ours", s, p.Name)
		}
		for _, l := range d.links {
			if local, _, _ := splitTarget(l.target); !local {
				t.Errorf("%q: %s links to %q", s, p.Name, l.target)
			}
		}
		for _, c := range d.claims {
			if p.Name != pageState || !c.home {
				continue
			}
			if i, ok := w.compiler.byID[c.id]; !ok || c.label != labelCurrent {
				t.Errorf("%q: the claim %q (%s) is none", s, c.id, c.label)
			} else if prefix := labelCurrent + ": " + oneLine(w.compiler.items[i].Summary) + " (instruction) — "; !strings.HasPrefix(c.text, prefix) {
				t.Errorf("%q: the claim says %q, want %q", s, c.text, prefix)
			}
		}
	}
}

func TestHostileRecordsChangeNoPage(t *testing.T) {
	for _, s := range hostile {
		checkPages(t, s)
	}
}

func FuzzHostileRecordsChangeNoPage(f *testing.F) {
	for _, s := range hostile {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { checkPages(t, short(s)) })
}

func TestAnchorsAndTargetsKeepIDs(t *testing.T) {
	for _, s := range append(slices.Clone(hostile), "a b", `a"b`, "a'b", "a&quot;b", "ü", "100%", "a#b", "a?b", "../../x", "\u202Ex") {
		id := strings.Map(func(r rune) rune {
			if r < ' ' || r == 0x7f || r == 0x85 {
				return -1 // no item's id holds one
			}
			return r
		}, s)
		if id = strings.TrimSpace(strings.ToValidUTF8(id, "")); id == "" {
			continue
		}
		source := "- " + string(appendAnchor(nil, id)) + "text — " + string(appendLink(nil, id, fragment(id)))
		d := readDocument("x.md", []byte(source))
		if len(d.claims) != 1 || d.claims[0].id != id || len(d.links) != 1 {
			t.Errorf("%q: %+v\n%s", id, d, source)
			continue
		}
		if _, path, anchor := splitTarget(d.links[0].target); anchor != id || path != "" {
			t.Errorf("%q: the link leads to %q", id, anchor)
		}
	}
}

func ExampleOwner() {
	page := seal([]byte("# Page\n\n"))
	fmt.Println(Owner(page), Owner(append([]byte("x"), page...)), Owner([]byte("# Page\n")))
	// Output: 2 1 0
}
