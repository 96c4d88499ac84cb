package frontmatter

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"kxm/lib/kxmtest"
)

// same compares two nodes with their places, and empty lists with empty lists.
func same(a, b *Node) bool {
	return a.Kind == b.Kind && a.Tag == b.Tag && a.Value == b.Value && a.Line == b.Line && a.Column == b.Column &&
		slices.EqualFunc(a.Keys, b.Keys, same) && slices.EqualFunc(a.Values, b.Values, same)
}

// checkPlain compares parsePlain with the library where it reads the text, and
// reports whether it does.
func checkPlain(t *testing.T, data []byte) bool {
	t.Helper()
	p, err := split(data)
	if err != nil || p.format != YAML || p.checkText() != nil {
		return false
	}
	fast, ok := parsePlain(p.text())
	if !ok {
		return false
	}
	slow, err := parseWithLibrary(p.text())
	if err != nil {
		t.Fatalf("%q: read as %s, and the library says %v", data, show(fast), err)
	}
	if !same(fast, slow) {
		t.Fatalf("%q:\n read as %s\nlibrary: %s", data, show(fast), show(slow))
	}
	return true
}

func TestPlainEqualsLibrary(t *testing.T) {
	read := 0
	kxmtest.Cases(t, "memory-files", func(t *testing.T, _ int, c struct{ Text string }) {
		if checkPlain(t, []byte(c.Text)) {
			read++
		}
	})
	if read < 18 { // the others hold what only the library reads, or are broken
		t.Errorf("only %d of the memory files are read without the library", read)
	}

	keys := []string{"a", "b", "c-1", "true", "null", "yes", "K_2", "x"}
	values := []string{"", "plain words", "it's", "12", "1.5", "true", "~", "2026-09-01", "a#b", "a #b", "# c", "'single'", `"double" # c`, `"é" `, "'it''s'", `"\n"`,
		"http://x/y", "pr:12", "a: b", "a:", "[]", "[ ]", "[a, b]", "[a,b]", "[pr:12, 'x, y']", "[a, ]", "[é, b] # c", "[[a]]", "[a: b]", "[a #b]", "[http://x]", "[a:]", "[a?b]",
		"{}", "{ }", "{a: b}", "{a: b, c: 'd'}", "{a: 1, a: 2}", "{a:b}", "{a: b,c: d}", "{é: b}", "{a: }", "{a: b}x", "{a: b}#x", "'a'#x", "'a' x", "&a b", "*a", "!a b", "|", ">", "- a", "-1", "+1",
		"@a", "...", ".5", "/x", "(a)", "é", "a, b]", "a ? b", "?", "a\u00a0#b", "\"a", "'a", "a - b", "x  # y # z", "0x1F", "0o7", "1e3", "<<", "=", "%a", "a}", "`a`"}
	r := rand.New(rand.NewPCG(5, 6))
	pick := func(list []string) string { return list[r.IntN(len(list))] }
	read = 0
	for range 20000 {
		var b strings.Builder
		b.WriteString("---\n")
		for range 1 + r.IntN(4) {
			b.WriteString(pick([]string{"", "", "", "", "  ", "    ", "# c\n", "\n", "  # c\n"}))
			if r.IntN(12) == 0 {
				b.WriteString("- ")
			}
			if r.IntN(20) > 0 {
				b.WriteString(pick(keys) + pick([]string{": ", ": ", ":  ", ":", " : "}))
			}
			b.WriteString(pick(values) + pick([]string{"", "", " ", " # why"}) + pick([]string{"\n", "\n", "\r\n", "\n\n"}))
		}
		b.WriteString("---\n")
		if checkPlain(t, []byte(b.String())) {
			read++
		}
	}
	if read < 1000 {
		t.Errorf("only %d documents were read without the library", read)
	}
	for _, key := range keys {
		for _, value := range values {
			checkPlain(t, []byte("---\n"+key+": "+value+"\n---\n"))
			checkPlain(t, []byte("---\n"+key+":\n  k: "+value+"\n  l: m\nz: 1\n---\n"))
			checkPlain(t, []byte("---\n"+key+": ["+value+", x]\n---\n"))
			checkPlain(t, []byte("---\n"+key+": {k: "+value+", l: x}\n---\n"))
		}
	}
}

func FuzzPlain(f *testing.F) {
	for _, s := range append(seeds(), memoryFile) {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) { checkPlain(t, data) })
}
