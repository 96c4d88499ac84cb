package frontmatter

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"kxm/lib/fault"
)

func TestSetKeepsEveryOtherByte(t *testing.T) {
	for _, c := range []struct {
		name, in, key string
		value         Value
		want          string
	}{
		{"plain", "---\na: b\nk: old\nz: 1\n---\nbody\n", "k", Text("new"), "---\na: b\nk: new\nz: 1\n---\nbody\n"},
		{"comment", "---\nk:   old   # why\n---\n", "k", Text("new"), "---\nk:   new   # why\n---\n"},
		{"hash inside", "---\nk: a#b # why\n---\n", "k", Text("new"), "---\nk: new # why\n---\n"},
		{"needs quotes", "---\nk: old # why\n---\n", "k", Text("a: b"), "---\nk: \"a: b\" # why\n---\n"},
		{"double quotes", "---\nk: \"a # \\\" b\" # why\n---\n", "k", Text("new"), "---\nk: new # why\n---\n"},
		{"single quotes", "---\nk: 'it''s # b' # why\n---\n", "k", Text("new"), "---\nk: new # why\n---\n"},
		{"crlf", "---\r\nk: old # why\r\nz: 1\r\n---\r\nbody\r\n", "k", Text("new"), "---\r\nk: new # why\r\nz: 1\r\n---\r\nbody\r\n"},
		{"folded", "---\nk: >-\n  one\n  # two\n\n  three\n# about z\nz: 1\n---\n", "k", Text("new"), "---\nk: new\n# about z\nz: 1\n---\n"},
		{"literal kept", "---\r\nk: |+\r\n  one\r\n\r\nz: 1\r\n---\r\n", "k", Text("new"), "---\r\nk: new\r\n\r\nz: 1\r\n---\r\n"},
		{"literal at the end", "---\nk: |2\n   one\n  two\n---\nbody", "k", Text("new"), "---\nk: new\n---\nbody"},
		{"literal, comment less indented", "---\nk: |\n    one\n  # about z\nz: 1\n---\n", "k", Text("new"), "---\nk: new\n  # about z\nz: 1\n---\n"},
		{"literal without lines", "---\nk: |\nz: 1\n---\n", "k", Text("new"), "---\nk: new\nz: 1\n---\n"},
		{"plain over lines", "---\nk: one\n  two # why\n  # about z\nz: 1\n---\n", "k", Text("new"), "---\nk: new # why\n  # about z\nz: 1\n---\n"},
		{"plain on the next line", "---\nk:\n  one\nz: 1\n---\n", "k", Text("new"), "---\nk: new\nz: 1\n---\n"},
		{"quoted over lines", "---\nk: \"one\n#two\" # why\nz: 1\n---\n", "k", Text("new"), "---\nk: new # why\nz: 1\n---\n"},
		{"nothing", "---\nk:\nz: 1\n---\n", "k", Text("new"), "---\nk: new\nz: 1\n---\n"},
		{"nothing and a comment", "---\nk: # why\nz: 1\n---\n", "k", Text("new"), "---\nk: new # why\nz: 1\n---\n"},
		{"null", "---\nk: ~ # why\n---\n", "k", Text("new"), "---\nk: new # why\n---\n"},
		{"flow list", "---\nk: [a, 'b]', \"c]\", d'] # why\n---\n", "k", List("x", "y,z"), "---\nk: [x, \"y,z\"] # why\n---\n"},
		{"flow list over lines", "---\nk: [a, # ]\n  {b: c}\n]  # why\nz: 1\n---\n", "k", List(), "---\nk: []  # why\nz: 1\n---\n"},
		{"flow map", "---\nk: {a: \"}\", \"b\":\"}\", ? c, d: } # why\n---\n", "k", Text("new"), "---\nk: new # why\n---\n"},
		{"block list", "---\nk: # why\n  - a\n  - b # why b\n\n# about z\nz: 1\n---\n", "k", List("x"), "---\nk: [x] # why b\n\n# about z\nz: 1\n---\n"},
		{"block list at the margin", "---\nk:\n- a\n- |\n  # b\nz: 1\n---\n", "k", List("x"), "---\nk: [x]\nz: 1\n---\n"},
		{"block map", "---\nk:\n  a:\n    b: >\n      c\n      d\nz: 1\n---\n", "k", Text("new"), "---\nk: new\nz: 1\n---\n"},
		{"block map ending in nothing", "---\nk:\n  a: b\n  c: # why\nz: 1\n---\n", "k", Text("new"), "---\nk: new # why\nz: 1\n---\n"},
		{"quoted key", "---\n\"k\" : old\n---\n", "k", Text("new"), "---\n\"k\" : new\n---\n"},
		{"wide letters", "---\né: ü # ö\n---\n", "é", Text("ä"), "---\né: ä # ö\n---\n"},
		{"indented root", "---\n  a: b\n  k: old\n---\n", "k", Text("new"), "---\n  a: b\n  k: new\n---\n"},
		{"absent", "---\na: b\n# end\n---\nbody", "k", Text("new"), "---\na: b\n# end\nk: new\n---\nbody"},
		{"absent, crlf", "---\r\na: b\r\n---\r\n", "k", List("x"), "---\r\na: b\r\nk: [x]\r\n---\r\n"},
		{"absent, indented root", "---\n  a: b\n---\n", "k", Text("new"), "---\n  a: b\n  k: new\n---\n"},
		{"absent, after a literal", "---\na: |+\n  b\n\n---\n", "k", Text("new"), "---\na: |+\n  b\n\nk: new\n---\n"},
		{"absent, nothing there", "---\n---\nbody", "k", Text("new"), "---\nk: new\n---\nbody"},
		{"absent, only a comment", "---\n# c\n---\n", "k: ey", Text("new"), "---\n# c\n\"k: ey\": new\n---\n"},
		{"closing fence without a line ending", "---\na: b\n---", "k", Text("new"), "---\na: b\nk: new\n---"},
		{"same value in another form", "---\nk: >-\n  ne\n  w\n---\n", "k", Text("ne w"), "---\nk: >-\n  ne\n  w\n---\n"},
		{"same list in another form", "---\nk:\n- a\n---\n", "k", List("a"), "---\nk:\n- a\n---\n"},
		{"number becomes text", "---\nk: 1\n---\n", "k", Text("1"), "---\nk: \"1\"\n---\n"},
		{"fence in the value", "---\nk: 1\n---\n", "k", Text("\n---\n"), "---\nk: \"\\n---\\n\"\n---\n"},

		{"toml", "+++\nk = \"old\" # why\nz = 1\n+++\nbody", "k", Text("n\"ew"), "+++\nk = \"n\\\"ew\" # why\nz = 1\n+++\nbody"},
		{"toml list over lines", "+++\nk = [\n \"a\", # ]\n] # why\nz = 1\n+++\n", "k", List("x", "y"), "+++\nk = [\"x\", \"y\"] # why\nz = 1\n+++\n"},
		{"toml multi-line", "+++\r\n'k' = '''\r\na\r\nb''' # why\r\n+++\r\n", "k", Text("new"), "+++\r\n'k' = \"new\" # why\r\n+++\r\n"},
		{"toml absent", "+++\na = 1\n# end\n+++\n", "k", Text("new"), "+++\na = 1\n# end\nk = \"new\"\n+++\n"},
		{"toml absent before a table", "+++\na = 1\n\n# about t\n[t]\nk = 2\n+++\n", "k", Text("new"), "+++\na = 1\nk = \"new\"\n\n# about t\n[t]\nk = 2\n+++\n"},
		{"toml absent, only a table", "+++\r\n[t]\r\nk = 2\r\n+++\r\n", "k y", Text("new"), "+++\r\n\"k y\" = \"new\"\r\n[t]\r\nk = 2\r\n+++\r\n"},
	} {
		in := []byte(c.in)
		got, err := Set(in, c.key, c.value)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if string(got) != c.want {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
		if string(in) != c.in {
			t.Errorf("%s: the input changed to %q", c.name, in)
		}
		if again, err := Set(got, c.key, c.value); err != nil || !bytes.Equal(again, got) {
			t.Errorf("%s: set again: %q, %v", c.name, again, err)
		}
	}
}

func TestSetRefusesWhatItCannotEditInPlace(t *testing.T) {
	for name, c := range map[string]struct {
		in, key string
		value   Value
	}{
		"root in braces":     {"---\n{k: old}\n---\n", "k", Text("new")},
		"explicit key":       {"---\n? k\n: old\n---\n", "k", Text("new")},
		"toml table":         {"+++\n[k]\na = 1\n+++\n", "k", Text("new")},
		"toml dotted key":    {"+++\nk.a = 1\n+++\n", "k", Text("new")},
		"value not UTF-8":    {"---\nk: old\n---\n", "k", Text("\xff")},
		"list not UTF-8":     {"---\nk: old\n---\n", "k", List("a", "\xff")},
		"key not UTF-8":      {"---\nk: old\n---\n", "\xff", Text("a")},
		"no front matter":    {"k: old\n", "k", Text("new")},
		"broken":             {"---\nk: [\n---\n", "k", Text("new")},
		"grows past MaxSize": {"---\nk: old\n---\n", "k", Text(strings.Repeat("x", MaxSize))},
		"overlong key":       {"---\nk: old\n---\n", strings.Repeat("x", 2000), Text("new")},
	} {
		if out, err := Set([]byte(c.in), c.key, c.value); !fault.Is(err, fault.InvalidFrontMatter) || out != nil {
			t.Errorf("%s: %q, %v", name, out, err)
		}
	}
}

func TestQuoteScalarReadsBackAsTheText(t *testing.T) {
	plain := []string{"a", "Run npm test before every commit", "docs/testing.md", "pr:12", "it's", "3rd party", "a, b [c]", "v1.2.3", "é ü", "a#b", "x - y"}
	for _, s := range plain {
		if got := QuoteScalar(s); got != s {
			t.Errorf("%q is written %s", s, got)
		}
	}
	for _, s := range []string{"", " ", " a", "a ", "a: b", "a:", "a #b", "- a", "-", "?", "yes", "No", "ON", "y", "null", "~", "true", "1", "1.5", "0x1", "1_000",
		"12:30", "2026-09-01", "2026-09-01T00:00:00Z", ".inf", "...", "--- a", "#", "&a", "*a", "!a", "|", ">", "'", "\"", "%", "@", "`", "{a", "[a", "=", "<<",
		"a\nb", "a\tb", "a\x00", "a\x7f", "\u0085", "\u2028", "\ufeff", "\ufffd", "\\", "a\rb", "0b1", "+1", "1e3", "a,b", "a]", "😀", "Yes and no", "~/x"} {
		for _, form := range []string{"---\nk: " + QuoteScalar(s) + "\n---\n", "---\nk: [" + quoteInList(s) + ", x]\n---\n", "+++\nk = " + doubleQuoted(s) + "\n+++\n"} {
			doc, err := Parse("", []byte(form))
			if err != nil {
				t.Errorf("%q: %v", s, err)
				continue
			}
			n, _ := doc.Root.Get("k")
			if n.Kind == Sequence {
				n = n.Values[0]
			}
			if got, ok := n.Text(); !ok || got != s {
				t.Errorf("%q reads back as %s from %q", s, show(n), form)
			}
		}
	}
	if got := QuoteScalar("yes"); got != `"yes"` {
		t.Errorf("yes is written %s: readers of YAML 1.1 take it for a boolean", got)
	}
	if got := QuoteScalar("a\xffb"); !utf8.ValidString(got) {
		t.Errorf("%q is not UTF-8", got)
	}
}

// randomDocument makes YAML that people could have written.
func randomDocument(r *rand.Rand) (text string, keys []string) {
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	end := pick("\n", "\r\n")
	var b strings.Builder
	b.WriteString("---" + end)
	comment := func() string { return pick("", "", " # why", "   #x: y") }
	for i := range 1 + r.IntN(6) {
		for r.IntN(4) == 0 {
			b.WriteString(pick("", "# about", "  # indented: [") + end)
		}
		key := fmt.Sprintf("k%d", i)
		keys = append(keys, key)
		b.WriteString(pick(key, `"`+key+`"`, "'"+key+"'") + pick(":", " :", ":"))
		switch r.IntN(10) {
		case 0:
			b.WriteString(comment())
		case 1:
			b.WriteString(" " + pick("plain", "it's a", "12", "2026-09-01", "a#b", "http://x/y", "é ü") + comment())
		case 2:
			b.WriteString(" " + pick(`"a # \" b"`, `'it''s # x'`, `""`, `"\u00e9"`) + comment())
		case 3:
			b.WriteString(" one" + end + "  two" + end + end + "   three" + comment())
		case 4:
			b.WriteString(" " + pick("|", ">", "|-", ">+", "|2") + comment() + end + "  line" + end + pick("", end) + "  # text" + pick("", end))
		case 5:
			b.WriteString(" " + pick("[]", "{}", "[a, 'b]', \"]\"]", "{a: b, c: [d]}", "[a, # ]"+end+"  b]", "[it's, {x: \"}\"}]") + comment())
		case 6:
			b.WriteString(comment() + end + "- a" + comment() + end + "- b: c" + end + "  d: |" + end + "    # text")
		case 7:
			b.WriteString(comment() + end + "  a: b" + comment() + end + "  c:" + end + "    - d" + end + "    -" + comment())
		case 8:
			b.WriteString(end + "  " + pick("next", `"next"`, "[next]") + comment())
		case 9:
			b.WriteString(" \"over" + end + "  #lines\"" + comment())
		}
		b.WriteString(end)
	}
	b.WriteString("---" + end + pick("", "body"+end, "---"+end+"k0: not front matter"))
	return b.String(), keys
}

func randomValue(r *rand.Rand) Value {
	texts := []string{"new", "", "a: b", "x # y", "yes", "12", "it's", "a\nb", "é", "[x]", "- x", "\u2028", "a, b", "#", "  "}
	text := func() string { return texts[r.IntN(len(texts))] }
	if r.IntN(3) > 0 {
		return Text(text())
	}
	items := make([]string, r.IntN(4))
	for i := range items {
		items[i] = text()
	}
	return List(items...)
}

// checkSet checks the law of Set on one document: the key holds the value, every
// other key and the body what they held, all bytes before and after one span
// stay, and setting again changes nothing.
func checkSet(t *testing.T, in []byte, key string, value Value) {
	t.Helper()
	out, err := Set(in, key, value)
	if err != nil {
		return
	}
	before, err := Parse("", in)
	if err != nil {
		t.Fatalf("%q: %v", in, err)
	}
	after, err := Parse("", out)
	if err != nil {
		t.Fatalf("%q became %q: %v", in, out, err)
	}
	if n, ok := after.Root.Get(key); !ok || !value.is(n) {
		t.Fatalf("%q became %q, where %q is not %+v", in, out, key, value)
	}
	if before.Body != after.Body {
		t.Fatalf("%q became %q: another body", in, out)
	}
	rest := func(doc *Document) (list []string) {
		for i, k := range doc.Root.Keys {
			if k.Value != key {
				list = append(list, show(k)+show(doc.Root.Values[i]))
			}
		}
		return list
	}
	if !slices.Equal(rest(before), rest(after)) {
		t.Fatalf("%q became %q: other keys changed", in, out)
	}
	prefix := 0
	for prefix < min(len(in), len(out)) && in[prefix] == out[prefix] {
		prefix++
	}
	suffix := 0
	for suffix < min(len(in), len(out))-prefix && in[len(in)-1-suffix] == out[len(out)-1-suffix] {
		suffix++
	}
	if n, ok := before.Root.Get(key); ok && before.Format == YAML && !bytes.Equal(in, out) {
		// What was replaced lies between the key and the next key.
		lines := lineOffsets(in)
		limit := len(in)
		for _, k := range before.Root.Keys {
			if k.Line > n.Line {
				limit = lines[k.Line-1]
				break
			}
		}
		for i, k := range before.Root.Keys {
			if before.Root.Values[i] == n && (prefix < offsetOf(in, lines, k.Line, k.Column) || len(in)-suffix > limit) {
				t.Fatalf("%q became %q: bytes outside the value changed", in, out)
			}
		}
	}
	again, err := Set(out, key, value)
	if err != nil || !bytes.Equal(again, out) {
		t.Fatalf("%q became %q and, set again, %q (%v)", in, out, again, err)
	}
}

func TestSetLaw(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 4000 {
		text, keys := randomDocument(r)
		if _, err := Parse("", []byte(text)); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		key := append(keys, "absent")[r.IntN(len(keys)+1)]
		value := randomValue(r)
		if _, err := Set([]byte(text), key, value); err != nil {
			t.Fatalf("%q: setting %s to %+v: %v", text, key, value, err)
		}
		checkSet(t, []byte(text), key, value)
		if comments := strings.Count(text, "# about"); comments > 0 {
			out, _ := Set([]byte(text), key, value)
			if got := strings.Count(string(out), "# about"); got != comments {
				t.Fatalf("%q became %q: a comment of its own line is lost", text, out)
			}
		}
	}
}

// seeds are documents for the fuzz targets.
func seeds() []string {
	r := rand.New(rand.NewPCG(3, 4))
	list := []string{
		"---\na: b\n---\n", "+++\na = 1\n[t]\nb = [1, {c = 'd'}]\n+++\nbody", "---\n{a: b}\n---\n", "---\n? a\n: b\n---\n", "---\na: &x b\nc: *x\n---\n",
		"---\na: !t b\n---\n", "---\n- a\n---\n", "---\na: [b: c, \"d\":e]\n---\n", "---\r\na: \"\\u0041\"\r\n---\r\n", "---\n\ta: b\n---\n", "+++\na.b = \"\"\"x\ny\"\"\"\n+++\n",
	}
	for range 30 {
		text, _ := randomDocument(r)
		list = append(list, text)
	}
	return list
}

func FuzzSet(f *testing.F) {
	for _, s := range seeds() {
		f.Add([]byte(s), "k1", "a: b", false)
		f.Add([]byte(s), "a", "x", true)
	}
	f.Fuzz(func(t *testing.T, data []byte, key, text string, list bool) {
		value := Text(text)
		if list {
			value = List(text, "x")
		}
		checkSet(t, data, key, value)
	})
}
