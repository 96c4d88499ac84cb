package frontmatter

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kxm/lib/fault"
	"kxm/lib/kxmtest"
)

// show renders a tree on one line: mappings in braces, lists in brackets, every
// scalar with its tag unless it is text.
func show(n *Node) string {
	switch n.Kind {
	case Mapping:
		var parts []string
		for i, k := range n.Keys {
			parts = append(parts, show(k)+": "+show(n.Values[i]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case Sequence:
		var parts []string
		for _, v := range n.Values {
			parts = append(parts, show(v))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	if n.Tag == TagString {
		return fmt.Sprintf("%q", n.Value)
	}
	return strings.TrimPrefix(n.Tag, "!!") + "(" + n.Value + ")"
}

func TestParseReadsWhatStandsInMemoryFiles(t *testing.T) {
	type file struct {
		Name, File, Text string
		Want             map[string]any
		WantErrorLike    string
	}
	// These cases break rules of memory files, not of front matter.
	schemaOnly := "memory record "
	kxmtest.Cases(t, "memory-files", func(t *testing.T, line int, c file) {
		doc, err := Parse(c.File, []byte(c.Text))
		switch {
		case c.WantErrorLike == "" || strings.HasPrefix(c.WantErrorLike, schemaOnly):
			if err != nil {
				t.Errorf("%d %s: %v", line, c.Name, err)
				return
			}
		case err == nil:
			t.Errorf("%d %s: no error, want one like %q", line, c.Name, c.WantErrorLike)
			return
		default:
			if want := strings.Contains(c.WantErrorLike, "enclosed in"); errors.Is(err, ErrMissing) != want {
				t.Errorf("%d %s: ErrMissing in %v is %t", line, c.Name, err, !want)
			}
			return
		}
		for key, want := range c.Want {
			if key == "body" {
				if got := strings.TrimSpace(doc.Body); got != want {
					t.Errorf("%d %s: body %q, want %q", line, c.Name, got, want)
				}
				continue
			}
			n, ok := doc.Root.Get(key)
			if !ok {
				t.Errorf("%d %s: no key %q", line, c.Name, key)
				continue
			}
			sameAsJSON(t, fmt.Sprintf("%d %s %s", line, c.Name, key), n, want)
		}
	})
}

// sameAsJSON compares a node with a decoded JSON value; dates are text there.
func sameAsJSON(t *testing.T, at string, n *Node, want any) {
	t.Helper()
	switch want := want.(type) {
	case string:
		if n.Kind != Scalar || n.Value != want || n.Tag != TagString && n.Tag != TagTimestamp {
			t.Errorf("%s: %s, want %q", at, show(n), want)
		}
	case []any:
		if n.Kind != Sequence || len(n.Values) != len(want) {
			t.Errorf("%s: %s, want %v", at, show(n), want)
			return
		}
		for i := range want {
			sameAsJSON(t, at, n.Values[i], want[i])
		}
	case map[string]any:
		if n.Kind != Mapping || len(n.Keys) != len(want) {
			t.Errorf("%s: %s, want %v", at, show(n), want)
			return
		}
		for key, v := range want {
			child, ok := n.Get(key)
			if !ok {
				t.Errorf("%s: no key %q", at, key)
				return
			}
			sameAsJSON(t, at+"."+key, child, v)
		}
	default:
		t.Fatalf("%s: a %T in the cases", at, want)
	}
}

func TestParseDecidesByTheCoreSchema(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"yes", `"yes"`}, {"No", `"No"`}, {"on", `"on"`}, {"OFF", `"OFF"`}, {"y", `"y"`}, {"<<", `"<<"`}, {"=", `"="`},
		{"true", "bool(true)"}, {"False", "bool(False)"}, {"tRUE", `"tRUE"`},
		{"", "null()"}, {"~", "null(~)"}, {"Null", "null(Null)"}, {"nULL", `"nULL"`},
		{"123", "int(123)"}, {"-1", "int(-1)"}, {"+0", "int(+0)"}, {"0o17", "int(0o17)"}, {"0xfF", "int(0xfF)"}, {"08", "int(08)"},
		{"1_000", `"1_000"`}, {"0b11", `"0b11"`}, {"0o8", `"0o8"`}, {"-0x1", `"-0x1"`}, {"0x", `"0x"`}, {"12:30", `"12:30"`}, {"-", "error"},
		{"99999999999999999999999", "int(99999999999999999999999)"},
		{"1.5", "float(1.5)"}, {"1.", "float(1.)"}, {".5", "float(.5)"}, {"1e3", "float(1e3)"}, {"-1.5E-3", "float(-1.5E-3)"},
		{".", `"."`}, {"+.", `"+."`}, {"1e", `"1e"`}, {"1e+", `"1e+"`}, {"1.2.3", `"1.2.3"`}, {".inf", "float(.inf)"}, {"-.INF", "float(-.INF)"},
		{".nan", "float(.nan)"}, {"-.nan", `"-.nan"`}, {"+", `"+"`},
		{"2026-09-01", "timestamp(2026-09-01)"}, {"2026-9-1", "timestamp(2026-9-1)"}, {"2026-09-01T00:00:00Z", "timestamp(2026-09-01T00:00:00Z)"},
		{"2026-13-01", `"2026-13-01"`}, {"2026-09-01 10:00:00", "timestamp(2026-09-01 10:00:00)"}, {"2026-09", `"2026-09"`},
		{`"123"`, `"123"`}, {`'true'`, `"true"`}, {`""`, `""`}, {`"2026-09-01"`, `"2026-09-01"`}, {"|-\n  123", `"123"`}, {">-\n  a\n  b", `"a b"`},
		{"a\n  b", `"a b"`}, {"a # b", `"a"`}, {"a#b", `"a#b"`}, {"a:b", `"a:b"`},
		{"[a, 1, [b], {c: }]", `["a", int(1), ["b"], {"c": null()}]`}, {"\n- a\n- b: c\n  d: e\n", `["a", {"b": "c", "d": "e"}]`},
		{"{}", "{}"}, {"[]", "[]"}, {`{"a":1}`, `{"a": int(1)}`},
	} {
		doc, err := Parse("f.md", []byte("---\nk: "+c.in+"\n---\n"))
		if err != nil {
			if c.want != "error" {
				t.Errorf("%q: %v", c.in, err)
			}
			continue
		}
		n, _ := doc.Root.Get("k")
		if got := show(n); got != c.want {
			t.Errorf("%q: %s, want %s", c.in, got, c.want)
		}
	}
}

func TestParseNamesThePlaceInTheFile(t *testing.T) {
	for _, c := range []struct {
		name, in     string
		line, column int
		message      string
	}{
		{"unclosed quote", "---\na: b\nc: \"open\nd: e\n---\n", 3, 4, "unexpected end of stream"},
		{"unclosed quote on the first line", "---\nc: 'open\nd: e\n---\n", 2, 4, "unexpected end of stream"},
		{"colon in a value", "---\na: b\ns: Retry: flaky\n---\n", 3, 4, "mapping values are not allowed"},
		{"colon in a nested value", "---\nm:\n  é: Retry: flaky\n---\n", 3, 6, "mapping values are not allowed"},
		{"indented key", "---\na: b\n c: d\n---\n", 3, 5, "mapping values are not allowed"},
		{"key among list items", "---\nm:\n  - x\n  y: 2\nz: 3\n---\n", 4, 0, "expected '-' indicator"},
		{"item among keys", "---\n\na: b\n- c\nd: e\n---\n", 4, 0, "did not find expected key"},
		{"item among nested keys", "---\nn: 1\nm:\n  a: b\n  - c\nd: e\n---\n", 5, 0, "did not find expected key"},
		{"text behind a quote", "---\na: b\nb: 'x' y\nc: d\n---\n", 3, 0, "did not find expected key"},
		{"dedented literal", "---\na: |\n  x\n y\nz: 1\n---\n", 4, 0, "did not find expected key"},
		{"unclosed list", "---\na: b\nl: [a, b\nz: 3\n---\n", 3, 4, "',' or ']'"},
		{"unclosed map on the first line", "---\nl: {a: b\nz: 3\n---\n", 2, 4, "',' or '}'"},
		{"closing bracket", "---\nx:\n  a: ]\n---\n", 3, 0, "node content"},
		{"no colon", "---\na: b\nfoo\nbar: x\n---\n", 3, 0, "expected ':'"},
		{"bad escape", "---\na: b\nb: \"\\q\"\n---\n", 3, 0, "unknown escape"},
		{"symbol", "---\na: @b\n---\n", 2, 4, "cannot start any token"},
		{"glob", "---\na: *.go\n---\n", 2, 4, "alphabetic or numeric"},
		{"tab indents a key", "---\nm:\n\ta: b\n---\n", 3, 1, "tab"},
		{"tab after spaces", "---\nm:\n  \ta: b\n---\n", 3, 3, "tab"},
		{"tab indents a second line", "---\na: b\n\tc: d\n---\n", 3, 1, "tab"},
		{"directive", "---\n%YAML 1.1\na: b\n---\n", 3, 4, ""},
		{"alias", "---\na: b\nc: *x\n---\n", 3, 4, `alias "*x"`},
		{"alias of an anchor", "---\na: &x b\nc: *x\n---\n", 2, 4, `anchor "&x"`},
		{"alias as a key", "---\na: &x b\n*x : c\n---\n", 2, 4, `anchor "&x"`},
		{"merge key", "---\na: 1\nb: {<<: {a: b}}\n---\n", 3, 5, `merge key "<<"`},
		{"custom tag", "---\na: !foo 1\n---\n", 2, 4, "explicit tag"},
		{"core tag", "---\na: !!str 1\n---\n", 2, 4, "explicit tag"},
		{"bare tag", "---\né: ! 1\n---\n", 2, 4, "explicit tag"},
		{"tag on a key", "---\n!a b: 1\n---\n", 2, 1, "explicit tag"},
		{"tag on the root", "---\n!a\nb: 1\n---\n", 2, 1, "explicit tag"},
		{"unknown tag handle", "---\na: b\nb: !x!y 1\n---\n", 3, 0, "undefined tag handle"},
		{"second document", "---\na: 1\n--- \nb: 2\n---\n", 3, 1, "document marker ---"},
		{"end of document", "---\na: 1\n...\n---\n", 3, 1, "document marker ..."},
		{"list", "---\n\n- a\n---\n", 3, 1, "not a mapping"},
		{"text", "---\nfoo\n---\n", 2, 1, "not a mapping"},
		{"null", "---\n~\n---\n", 2, 1, "not a mapping"},
		{"quoted nothing", "---\n''\n---\n", 2, 1, "not a mapping"},
		{"list as a key", "---\na: 1\n? [b]\n: c\n---\n", 3, 3, "no scalar"},
		{"duplicate key", "---\r\na: 1\r\nb: 2\r\na: 3\r\n---\r\n", 4, 1, `duplicate key "a", first on line 2`},
		{"duplicate after decoding", "---\na: 1\n\"\\x61\": 2\n---\n", 3, 1, `duplicate key "a"`},
		{"duplicate of another tag", "---\n1: a\n'1': b\n---\n", 3, 1, `duplicate key "1"`},
		{"nested duplicate", "---\nm:\n  - x: 1\n    x: 2\n---\n", 4, 5, `duplicate key "x"`},
		{"flow duplicate", "---\nm: {x: 1, x: 2}\n---\n", 2, 11, `duplicate key "x"`},
		{"not UTF-8", "---\na: b\nc: é\xff\n---\n", 3, 5, "not UTF-8"},
		{"body not UTF-8", "---\na: b\n---\nx\n\xc3(", 5, 1, "not UTF-8"},
		{"escape character", "---\na: \x1b[31m\n---\n", 2, 4, "U+001B"},
		{"delete", "---\na: é\x7f\n---\n", 2, 5, "U+007F"},
		{"next line", "---\na: x\u0085y\n---\n", 2, 5, "U+0085"},
		{"line separator", "---\na: x\u2028y\n---\n", 2, 5, "U+2028"},
		{"byte-order mark inside", "---\na: b\n\ufeffc: d\n---\n", 3, 1, "U+FEFF"},
		{"noncharacter", "---\na: \uffff\n---\n", 2, 4, "U+FFFF"},
		{"lone carriage return", "---\na: b\rc: d\n---\n", 2, 5, "U+000D"},
		{"toml duplicate", "+++\na = 1\na = 2\n+++\n", 3, 1, "already defined"},
		{"toml no value", "+++\na = 1\nb =\n+++\n", 3, 4, "start of value"},
		{"toml table twice", "+++\n[a]\nb = 1\n[a]\n+++\n", 4, 2, "already exists"},
		{"toml impossible date", "+++\n\"é\" = 2026-13-40\n+++\n", 2, 12, "date"},
		{"toml control", "+++\na = \"\x00\"\n+++\n", 2, 6, "U+0000"},
	} {
		_, err := Parse("f.md", []byte(c.in))
		var e *fault.Error
		if !errors.As(err, &e) {
			t.Errorf("%s: error %v", c.name, err)
			continue
		}
		if e.Code != fault.InvalidFrontMatter || e.Source != "f.md" || e.Line != c.line || e.Column != c.column ||
			!strings.Contains(e.Message, c.message) || errors.Is(err, ErrMissing) {
			t.Errorf("%s: %v (hint %q), want %d:%d and %q", c.name, e, e.Hint, c.line, c.column, c.message)
		}
	}
}

func TestParseTakesOnlyExactFences(t *testing.T) {
	for in, hint := range map[string]string{
		"":                       "first line",
		"# hello\n":              "first line",
		"\n---\na: b\n---\n":     "first line",
		" ---\na: b\n---\n":      "first line",
		"--- \na: b\n---\n":      "first line",
		"----\na: b\n----\n":     "first line",
		"---\ra: b\n---\n":       "first line",
		"\ufeff---\na: b\n---\n": "byte-order mark",
		"---":                    "no closing",
		"---\n":                  "no closing",
		"---\na: b\n":            "no closing",
		"---\na: b\n----\n":      "no closing",
		"---\na: b\n ---\n":      "no closing",
		"---\na: b\n+++\n":       "no closing",
		"+++\na = 1\n---\n":      "no closing",
	} {
		_, err := Parse("f.md", []byte(in))
		var e *fault.Error
		if !errors.As(err, &e) || !errors.Is(err, ErrMissing) || e.Line != 1 || !strings.Contains(e.Hint, hint) {
			t.Errorf("%q: %v, hint %q wanted", in, err, hint)
		}
	}
	for in, want := range map[string]struct {
		body string
		line int
	}{
		"---\n---":                         {"", 2},
		"---\n---\n":                       {"", 3},
		"---\r\na: b\r\n---\r\n\r\nx\r\n":  {"\r\nx\r\n", 4},
		"---\na: b\n---\n---\nx: y\n---\n": {"---\nx: y\n---\n", 4},
		"+++\na = 1\n+++\n# \x0c body":     {"# \x0c body", 4},
		"---\n# only a comment\n---\nb":    {"b", 4},
	} {
		doc, err := Parse("f.md", []byte(in))
		if err != nil || doc.Body != want.body || doc.BodyLine != want.line || doc.Root.Kind != Mapping {
			t.Errorf("%q: %+v, %v", in, doc, err)
		}
	}
}

func TestParsePlacesNodes(t *testing.T) {
	doc, err := Parse("f.md", []byte("---\n# c\né: ü\nm:\n  - {a: b}\nn:\n---\n"))
	if err != nil {
		t.Fatal(err)
	}
	m, _ := doc.Root.Get("m")
	b, _ := m.Values[0].Get("a")
	for _, c := range []struct {
		n            *Node
		line, column int
	}{
		{doc.Root, 3, 1}, {doc.Root.Keys[0], 3, 1}, {doc.Root.Values[0], 3, 4}, {m, 5, 3}, {m.Values[0], 5, 5}, {b, 5, 9}, {doc.Root.Values[2], 6, 3},
	} {
		if c.n.Line != c.line || c.n.Column != c.column {
			t.Errorf("%s is at %d:%d, want %d:%d", show(c.n), c.n.Line, c.n.Column, c.line, c.column)
		}
	}

	doc, err = Parse("f.md", []byte("+++\nt = \"ü\"\nl = [1, \"é\", [2]]\nd.\"e\" = {f = 2026-09-01}\n[[x.y]]\nz = true\n[[x.y]]\nz = 1.5\n+++\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := show(doc.Root), `{"t": "ü", "l": [int(1), "é", [int(2)]], "d": {"e": {"f": timestamp(2026-09-01)}}, "x": {"y": [{"z": bool(true)}, {"z": float(1.5)}]}}`; got != want || doc.Format != TOML {
		t.Errorf("%s, want %s", got, want)
	}
	l, _ := doc.Root.Get("l")
	x, _ := doc.Root.Get("x")
	y, _ := x.Get("y")
	z, _ := y.Values[1].Get("z")
	for _, c := range []struct {
		n            *Node
		line, column int
	}{
		{doc.Root.Keys[0], 2, 1}, {doc.Root.Values[0], 2, 5}, {l, 3, 5}, {l.Values[1], 3, 9}, {l.Values[2], 3, 5}, {l.Values[2].Values[0], 3, 15}, {z, 8, 5},
	} {
		if c.n.Line != c.line || c.n.Column != c.column {
			t.Errorf("%s is at %d:%d, want %d:%d", show(c.n), c.n.Line, c.n.Column, c.line, c.column)
		}
	}
}

func TestParseBoundsSizeAndDepth(t *testing.T) {
	fits := "---\na: \"" + strings.Repeat("x", MaxSize-7) + "\"\n---\n"
	if _, err := Parse("", []byte(fits)); err != nil {
		t.Errorf("%d bytes: %v", MaxSize, err)
	}
	if _, err := Parse("", []byte(strings.Replace(fits, "x", "xx", 1))); !fault.Is(err, fault.InvalidFrontMatter) {
		t.Errorf("%d bytes: %v", MaxSize+1, err)
	}
	for _, form := range []struct{ before, open, close, after string }{
		{"---\na: ", "[", "]", "\n---\n"},
		{"---\na: ", "{b: ", "}", "\n---\n"},
		{"+++\na = ", "[", "]", "\n+++\n"},
		{"+++\na = ", "{b = ", "}", "\n+++\n"},
	} {
		for _, c := range []struct {
			depth int // of the nesting below the root
			ok    bool
		}{{MaxDepth - 1, true}, {MaxDepth, false}, {5000, false}} {
			inner := ""
			if strings.HasSuffix(form.open, " ") {
				inner = "1"
			}
			in := form.before + strings.Repeat(form.open, c.depth) + inner + strings.Repeat(form.close, c.depth) + form.after
			if _, err := Parse("", []byte(in)); (err == nil) != c.ok {
				t.Errorf("%s nested %d: %v", form.open, c.depth, err)
			}
		}
	}
	for below, ok := range map[int]bool{MaxDepth - 1: true, MaxDepth: false} {
		keys := strings.Repeat("a.", below-1)
		for _, in := range []string{
			"[" + keys + "a]\nb = 1", "[" + keys[2:] + "a]\nb = []", keys + "a.b = 1", "[a]\n" + keys + "b = 1",
			"[[" + keys[2:] + "a]]\nb = 1", "[[a]]\n[a." + keys[4:] + "b]\nc = 1",
		} {
			if _, err := Parse("", []byte("+++\n"+in+"\n+++\n")); (err == nil) != ok {
				t.Errorf("%d levels below the root in %s: %v", below, in, err)
			}
		}
	}
}

// A hostile file at the size limit must not cost seconds, whatever is wrong with
// it. The bound is loose, since tests share the machine; what costs more grows with
// the square of the size.
func TestParseOfHostileTextEnds(t *testing.T) {
	fill := func(s string) string { return strings.Repeat(s, (MaxSize-64)/len(s)) }
	for _, in := range []string{
		fill("a:\n"), fill("- a\n"), fill("[") + "\n", fill("{a: "), fill("? "), fill("- "), fill("#\n"), fill("\n"), fill("&a "), fill("!a "),
		fill("a: |\n"), fill("a: #\n"), fill("- #\n"), fill("[#\n"), fill("a: b #\n"),
		"a: b\n" + fill("#\n") + "- c\n", "a:\n" + fill(" - b\n") + " c: d\n", fill("a: [b,\n"), "a: \"" + fill("\\\n"), "a: |\n" + fill(" x\n") + "b: [",
	} {
		start := time.Now()
		_, _ = Parse("", []byte("---\n"+in+"\n---\n"))
		_, _ = Parse("", []byte("+++\n"+in+"\n+++\n"))
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%.20q…: %v", in, took)
		}
	}
	var many strings.Builder
	for i := 0; many.Len() < MaxSize-64; i++ {
		fmt.Fprintf(&many, "k%d: v\n", i)
	}
	if _, err := Parse("", []byte("---\n"+many.String()+"---\n")); err != nil {
		t.Error(err)
	}
	if _, err := Parse("", []byte("---\n"+many.String()+"k0: v\n---\n")); !fault.Is(err, fault.InvalidFrontMatter) {
		t.Errorf("duplicate among many: %v", err)
	}
}

func TestTextAndStringsLookAtTheTag(t *testing.T) {
	doc, err := Parse("", []byte("---\na: 1\nb: x\nc: [x, y]\nd: [x, 1]\ne: []\nf: {g: h}\n---\n"))
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"a": "false []false", "b": "true []false", "c": "false [x y]true", "d": "false []false", "e": "false []true", "f": "false []false"} {
		n, _ := doc.Root.Get(key)
		_, text := n.Text()
		list, ok := n.Strings()
		if got := fmt.Sprintf("%t %v%t", text, list, ok); got != want {
			t.Errorf("%s: %s, want %s", key, got, want)
		}
		if ok && list == nil {
			t.Errorf("%s: a nil list", key)
		}
	}
	if _, ok := doc.Root.Get("z"); ok {
		t.Error("an absent key was found")
	}
}

// Real files that people write: every SKILL.md and memory file in testdata.
func TestParseReadsFilesOfOtherTools(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.md")
	if err != nil || len(paths) < 3 {
		t.Fatalf("%v, %v", paths, err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := Parse(path, data)
		if err != nil {
			t.Error(err)
			continue
		}
		if _, ok := doc.Root.Get("title"); !ok {
			if _, ok := doc.Root.Get("name"); !ok {
				t.Errorf("%s: neither title nor name in %s", path, show(doc.Root))
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range seeds() {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, err := Parse("f.md", data)
		if err != nil {
			var e *fault.Error
			if !errors.As(err, &e) || e.Code != fault.InvalidFrontMatter || e.Line < 1 || e.Line > 1+strings.Count(string(data), "\n") {
				t.Fatalf("%q: %v", data, err)
			}
			return
		}
		if !strings.HasSuffix(string(data), doc.Body) {
			t.Fatalf("%q: the body %q is not its end", data, doc.Body)
		}
		if want := 1 + strings.Count(string(data[:len(data)-len(doc.Body)]), "\n"); doc.BodyLine != want {
			t.Fatalf("%q: body line %d, want %d", data, doc.BodyLine, want)
		}
		checkTree(t, data, doc.Root, doc.BodyLine, 1)
	})
}

// checkTree checks what a caller may rely on.
func checkTree(t *testing.T, data []byte, n *Node, lastLine, depth int) {
	if depth > MaxDepth+1 || n.Line < 2 || n.Line > lastLine || n.Column < 1 {
		t.Fatalf("%q: node %s at %d:%d in depth %d", data, show(n), n.Line, n.Column, depth)
	}
	switch n.Kind {
	case Scalar:
		if n.Keys != nil || n.Values != nil || strings.ContainsAny(n.Tag, " ") || n.Tag == TagMapping || n.Tag == TagSequence {
			t.Fatalf("%q: scalar %+v", data, n)
		}
	case Mapping:
		seen := map[string]bool{}
		for _, k := range n.Keys {
			if k.Kind != Scalar || seen[k.Value] {
				t.Fatalf("%q: key %s", data, show(k))
			}
			seen[k.Value] = true
		}
		if len(n.Keys) != len(n.Values) || n.Tag != TagMapping {
			t.Fatalf("%q: mapping %+v", data, n)
		}
	case Sequence:
		if n.Keys != nil || n.Tag != TagSequence {
			t.Fatalf("%q: sequence %+v", data, n)
		}
	}
	for _, v := range n.Values {
		checkTree(t, data, v, lastLine, depth+1)
	}
}
