package prompt

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestFitCheckValues(t *testing.T) {
	for _, c := range []struct {
		name, text, source string
		budget             int
		length, cut        int
	}{
		{"paragraphs", strings.TrimSuffix(strings.Repeat("alpha beta gamma delta\n\n", 20), "\n\n"), "", 200, 181, 336},
		{"words", strings.TrimSuffix(strings.Repeat("word ", 100), " "), "docs/a.md", 200, 196, 365},
		{"fence", "```go\n" + strings.Repeat("line\n", 100) + "```\n\nend", "", 200, 198, 359},
	} {
		got, cut := Fit(c.text, c.budget, c.source)
		if length(got) != c.length || cut != c.cut {
			t.Errorf("%s: %d characters and %d cut, want %d and %d: %q", c.name, length(got), cut, c.length, c.cut, got)
		}
		checkFit(t, c.text, c.budget, c.source)
	}
}

func TestFitCutsWhereItMay(t *testing.T) {
	note := func(k, n string) string { return "\n\n[cut: " + k + " of " + n + " characters left out]" }
	long := strings.Repeat("x", 300)
	for _, c := range []struct {
		name, text string
		budget     int
		want       string
	}{
		{"it fits", "short", 5, "short"},
		{"at a blank line", strings.Repeat("a", 40) + "\n\n" + strings.Repeat("b", 58), 80, strings.Repeat("a", 40) + note("60", "100")},
		{"a blank line may hold spaces", strings.Repeat("a", 40) + "\n \t\n" + strings.Repeat("b", 56), 80, strings.Repeat("a", 40) + note("60", "100")},
		{"not at a blank line that keeps less than half", "a\n\n" + strings.Repeat("b ", 48) + "b", 80, "a\n\n" + strings.TrimSuffix(strings.Repeat("b ", 19), " ") + note("60", "100")},
		{"at a line end", strings.Repeat("a", 30) + "\n" + strings.Repeat("b", 69), 80, strings.Repeat("a", 30) + note("70", "100")},
		{"at room", long, 80, strings.Repeat("x", 41) + note("259", "300")},
		{"no room for the note", long, 36, ""},
		{"room for the note alone", long, 37, "[cut: 300 of 300 characters left out]"},
		{"blank lines inside a fence do not count", "~~~\n" + strings.Repeat("a", 25) + "\n\n" + strings.Repeat("b\n", 33) + "~~~\n" + strings.Repeat("c", 15), 80,
			"~~~\n" + strings.Repeat("a", 25) + "\n\nb\nb\nb\n~~~" + note("80", "116")},
		{"marks stay with their letter", strings.Repeat("e\u0301", 150), 80, strings.Repeat("e\u0301", 20) + note("260", "300")},
		{"marks alone", strings.Repeat("\u0301", 30_000), 200, "[cut: 30000 of 30000 characters left out]"},
	} {
		if got, _ := Fit(c.text, c.budget, ""); got != c.want {
			t.Errorf("%s:\n%q, want\n%q", c.name, got, c.want)
		}
		checkFit(t, c.text, c.budget, "")
	}
}

// TestFitAllowsForTheFenceItLandsIn has a cut that, moved back for a long fence,
// lands in another one.
func TestFitAllowsForTheFenceItLandsIn(t *testing.T) {
	text := strings.Repeat("a", 20) + "\n``````````\n" + strings.Repeat("b\n", 10) + "``````````\n\n```\n" + strings.Repeat("c\n", 100) + "```"
	for budget := 30; budget < length(text)+2; budget++ {
		checkFit(t, text, budget, "")
	}
}

func TestFences(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "",
		"```":                           "```",
		"```go\nx":                      "```",
		"   ````\nx":                    "````",
		"    ```\nx":                    "",
		"``\nx":                         "",
		"~~~ a ~~~ b":                   "~~~",
		"```a```":                       "",
		"```\nx\n```":                   "",
		"````\nx\n```":                  "````",
		"```\nx\n`````":                 "",
		"```\nx\n``` y":                 "```",
		"```\nx\n```  ":                 "",
		"```\n~~~\n```":                 "",
		"~~~\n```\n~~~":                 "",
		"```\nx\n    ```":               "```",
		"```\na\n```\n\n~~~~go\nb\n~~~": "~~~~",
	} {
		if got := openFence(text); got.line() != want {
			t.Errorf("%q leaves %q open, want %q", text, got.line(), want)
		}
		if got := openFence(closeFence(text)); got.open() {
			t.Errorf("%q is left open", closeFence(text))
		}
	}
}

func TestClip(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"short", 5, "short"},
		{"two words", 5, "two…"},
		{"two words", 4, "two…"},
		{"two words", 3, "tw…"},
		{"a verylongword", 8, "a veryl…"},
		{"abc", 1, "…"},
		{"abc", 0, ""},
		{"e\u0301e\u0301e\u0301", 4, "e\u0301…"},
	} {
		if got := Clip(c.text, c.n); got != c.want || length(got) > max(c.n, 0) {
			t.Errorf("Clip(%q, %d) is %q, want %q", c.text, c.n, got, c.want)
		}
	}
}

func TestNormalise(t *testing.T) {
	for text, want := range map[string]string{
		"a\r\nb\rc\nd\te": "a\nb\nc\nd\te",
		"a \n\t \r\n":     "a",
		"  a":             "  a",
		"\x00\x1b\x7f":    `\u0000\u001B\u007F`,
		"a\u0085b\u009f":  `a\u0085b\u009F`,
		"\u202e\u2066é𝄞":  "\u202e\u2066é𝄞",
		"a\xffb":          "a\ufffdb",
		"\ufffd":          "\ufffd",
		"\r\r\n\rx":       "\n\n\nx",
	} {
		got := Normalise(text)
		if got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
		if again := Normalise(got); again != got {
			t.Errorf("%q is not normal: %q", got, again)
		}
	}
	if got := Line(" a\r\nb\tc\u2028d\x1b  e \n"); got != `a b c d\u001B  e` {
		t.Errorf("the line is %q", got)
	}
}

// checkFit holds the laws of Fit on one input.
func checkFit(t *testing.T, text string, budget int, source string) {
	t.Helper()
	text = Normalise(text)
	got, cut := Fit(text, budget, source)
	if n := length(got); n > max(budget, 0) {
		t.Errorf("Fit(%q, %d) has %d characters", text, budget, n)
	}
	if !utf8.ValidString(got) {
		t.Errorf("Fit(%q, %d) is no UTF-8: %q", text, budget, got)
	}
	if cut == 0 {
		if got != text {
			t.Errorf("Fit(%q, %d) changed a text that it did not cut: %q", text, budget, got)
		}
		return
	}
	if openFence(got).open() {
		t.Errorf("Fit(%q, %d) leaves a fence open: %q", text, budget, got)
	}
	kept := got[:max(0, strings.LastIndex(got, "[cut: "))]
	kept = strings.TrimRightFunc(kept, unicode.IsSpace)
	if cut == length(text) {
		kept = ""
	}
	if want := length(text) - cut; length(kept) < want || !strings.HasPrefix(text, first(kept, want)) {
		t.Errorf("Fit(%q, %d) is no beginning of the text with %d cut: %q", text, budget, cut, got)
	}
}

func FuzzFit(f *testing.F) {
	f.Add("```go\nline\n```\n\nend", 60, "a.md")
	f.Add("~~~~~~\n```\n~~~\n", 45, "")
	f.Add(strings.Repeat("e\u0301 ", 90), 90, "é")
	f.Fuzz(func(t *testing.T, text string, budget int, source string) {
		checkFit(t, text, budget%10_000, Line(source))
		if got := Clip(Normalise(text), budget%500); length(got) > max(budget%500, 0) || !utf8.ValidString(got) {
			t.Errorf("Clip(%q, %d) is %q", text, budget%500, got)
		}
	})
}

// TestFitOnHostileTexts draws texts that are made of what matters to a cut.
func TestFitOnHostileTexts(t *testing.T) {
	pieces := []string{"`", "``", "```", "~~~", "`````", "\n", "\n\n", "   ", " ", "x", "word ", "é", "e\u0301", "\t", "# Context update\n", "## Withdrawn\n", "\u202e", "    ```\n", "\n```\n", "\n````\n"}
	r := rand.New(rand.NewPCG(1, 4))
	for range 20_000 {
		var b strings.Builder
		for range r.IntN(120) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		checkFit(t, b.String(), r.IntN(160), strings.Repeat("s", r.IntN(20)))
	}
}
