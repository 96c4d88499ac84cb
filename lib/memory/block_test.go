package memory

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"kxm/lib/item"
	"kxm/lib/kxmtest"
)

var twoFacts = []Fact{
	{ID: "deploy", Scope: "operator", Kind: "policy", Summary: "Deploy on weekdays", Authority: "instruction", Confidence: "verified"},
	{ID: "test-runner", Scope: "project", Kind: "convention", Summary: "Run the suite\nwith npm test", Authority: "evidence", Confidence: "probable"},
}

func TestBlockExactly(t *testing.T) {
	want := "<!-- kxm:memory:start -->\n## Project memory (read-only projection)\n\n" +
		"- **[operator]** [policy] Deploy on weekdays (`deploy`)\n" +
		"- **[project]** [convention] Run the suite with npm test (`test-runner`)\n" +
		"<!-- kxm:memory:end -->"
	if got := Block(twoFacts); got != want {
		t.Errorf("got\n%s", got)
	}
	want = "<!-- kxm:memory:start -->\n## Project memory (read-only projection)\n\n*No active project memory.*\n<!-- kxm:memory:end -->"
	if got := Block(nil); got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestBriefExactly(t *testing.T) {
	for _, c := range []struct {
		facts []Fact
		want  string
	}{
		{nil, "No active project memory facts.\n"},
		{twoFacts[:1], "Project memory (1 active fact):\n\n• [operator] [policy] Deploy on weekdays (deploy)\n"},
		{twoFacts, "Project memory (2 active facts):\n\n• [operator] [policy] Deploy on weekdays (deploy)\n• [project] [convention] Run the suite with npm test (test-runner)\n"},
	} {
		if got := NewBrief(c.facts, 0, kxmtest.Now()).Text(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	raw, err := NewBrief(twoFacts[1:], 0, kxmtest.Now()).MarshalJSON()
	want := `{"schema":"kxm.memory-brief.v1","generatedAt":"2026-09-01T12:00:00Z","count":1,"facts":[{"id":"test-runner","scope":"project","kind":"convention",` +
		`"summary":"Run the suite\nwith npm test","authority":"evidence","confidence":"probable"}]}`
	if err != nil || string(raw) != want {
		t.Errorf("got %s, %v", raw, err)
	}
	if raw, err := NewBrief(twoFacts, 0, kxmtest.Now()).MarshalJSON(); err != nil || !json.Valid(raw) {
		t.Errorf("got %s, %v", raw, err)
	}
	if raw, _ := NewBrief(nil, 0, kxmtest.Now()).MarshalJSON(); !strings.HasSuffix(string(raw), `"count":0,"facts":[]}`) || !json.Valid(raw) {
		t.Errorf("got %s", raw)
	}
}

// TestBriefBudget holds that a budget bounds the tokens, takes the strongest facts
// first, skips what does not fit, and says how many it left out.
func TestBriefBudget(t *testing.T) {
	facts := []Fact{
		{ID: "a", Scope: "project", Kind: "k", Summary: strings.Repeat("weak ", 10), Authority: "evidence", Confidence: "verified"},
		{ID: "b", Scope: "project", Kind: "k", Summary: strings.Repeat("long ", 100), Authority: "instruction", Confidence: "verified"},
		{ID: "c", Scope: "project", Kind: "k", Summary: "strong", Authority: "instruction", Confidence: "probable"},
	}
	for budget := 1; budget < 200; budget++ {
		b := NewBrief(facts, budget, kxmtest.Now())
		size := 0
		for i := range b.Facts {
			size += utf8.RuneCountInString(briefLine(&b.Facts[i])) + 1
		}
		if item.Tokens(size) > budget {
			t.Fatalf("budget %d: %d tokens", budget, item.Tokens(size))
		}
		if len(b.Facts)+b.Omitted != 3 {
			t.Fatalf("budget %d: %d facts, %d left out", budget, len(b.Facts), b.Omitted)
		}
	}
	b := NewBrief(facts, 10, kxmtest.Now())
	if len(b.Facts) != 1 || b.Facts[0].ID != "c" || !strings.HasSuffix(b.Text(), "(2 more left out by the budget)\n") {
		t.Errorf("got %+v", b)
	}
	if raw, err := b.MarshalJSON(); err != nil || !strings.Contains(string(raw), `"count":1,"omitted":2,"facts":[{"id":"c",`) || !json.Valid(raw) {
		t.Errorf("got %s, %v", raw, err)
	}
	if b := NewBrief(facts, 30, kxmtest.Now()); len(b.Facts) != 2 || b.Facts[0].ID != "a" {
		t.Errorf("got %+v", b)
	}
}

func TestFlatten(t *testing.T) {
	for in, want := range map[string]string{
		"plain — ünïcode 👩‍👩‍👧":         "plain — ünïcode 👩‍👩‍👧",
		"a\nb\r\nc\rd\u2028e\u0085f\vg": "a b c d e f g",
		"a\tb":                          "a b",
		StartMarker:                     "<!- - kxm:memory:start -->",
		"x" + EndMarker + "y":           "x<!- - kxm:memory:end -->y",
		"<<!--!-- x":                    "<<!- -!-- x",
		"<!-\n-":                        "<!- -",
		"esc\x1b[31m\x00":               "esc\ufffd[31m\ufffd",
		"bidi \u202e":                   "bidi \ufffd",
	} {
		if got := flatten(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// randomText returns a text made of what could confuse a block.
func randomText(r *rand.Rand) string {
	parts := []string{"a", " ", "\n", "\r\n", "\n\n", "```", "~~~", "- ", "> ", "1. ", "    ", "\t", "<!--", "-->", StartMarker, EndMarker,
		"@AGENTS.md", "# h", "é", "\ufeff", "\x00", "\xff", blockHeading, "\r", "- **[project]** [k] s (`id`)"}
	var b strings.Builder
	for range r.IntN(12) {
		b.WriteString(parts[r.IntN(len(parts))])
	}
	return b.String()
}

// checkBlockLaws holds for a file whose markers are sound: what stands outside the
// block stays byte for byte, the block holds each fact on a line of its own, and
// doing it again changes nothing, whatever the fact says.
func checkBlockLaws(t *testing.T, text []byte, facts []Fact) {
	t.Helper()
	m := scanMarkers(text)
	after := withBlock(text, &m, Block(facts))
	n := scanMarkers(after)
	start, end, ok := n.block()
	if s, _, had := m.block(); !ok && had && len(bytes.TrimSpace(text[bytes.LastIndexByte(text[:s], '\n')+1:s])) > 0 {
		return // what stands before the marker on its line may open a fence without what stood behind it: such a file is refused
	}
	if !ok {
		t.Fatalf("%q\ngives\n%q\nwhich has no sound block %s", text, after, n.problem())
	}
	if s, e, had := m.block(); had {
		if !bytes.Equal(after[:start], text[:s]) || !bytes.Equal(after[end:], text[e:]) {
			t.Fatalf("%q\ngives\n%q", text, after)
		}
	} else {
		if !bytes.HasPrefix(after, text) || len(bytes.Trim(after[len(text):start], "\r\n")) > 0 || len(bytes.Trim(after[end:], "\r\n")) > 0 {
			t.Fatalf("%q\ngives\n%q", text, after)
		}
		final := func(b []byte) bool { return bytes.HasSuffix(b, []byte("\n")) }
		if len(bytes.TrimPrefix(text, byteOrder)) > 0 && final(text) != final(after) {
			t.Fatalf("the final line break of %q is not kept in %q", text, after)
		}
	}
	var ids []string
	blockIDs(after[start:end], func(id string, line []byte, _ int) { ids = append(ids, id) })
	if len(ids) != len(facts) {
		t.Fatalf("the block of %q holds %d facts of %d", after, len(ids), len(facts))
	}
	eol := []byte(lineBreakOf(text))
	if got := bytes.Count(after[start:end], eol); got != strings.Count(Block(facts), "\n") {
		t.Fatalf("the block of %q has %d line breaks %q", after, got, eol)
	}
	if again := withBlock(after, &n, Block(facts)); !bytes.Equal(again, after) {
		t.Fatalf("%q\ngives, done again,\n%q", after, again)
	}
}

func TestBlockChangesNothingElse(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	checked := 0
	for range 60_000 {
		text := []byte(randomText(r))
		if r.IntN(2) == 0 {
			text = []byte(randomText(r) + Block(twoFacts[:1]) + randomText(r))
		}
		m := scanMarkers(text)
		if m.problem() != "" || m.openFence && len(m.starts) == 0 {
			continue
		}
		checked++
		checkBlockLaws(t, text, []Fact{
			{ID: "a-1", Scope: "project", Kind: randomText(r), Summary: randomText(r)},
			{ID: "b", Scope: "operator", Kind: "k", Summary: randomText(r) + "`)"},
		})
	}
	if checked < 20_000 {
		t.Errorf("only %d texts were fit to hold a block", checked)
	}
}

// TestAppendKeepsTheFilesForm holds the forms that a file may have around an
// appended block.
func TestAppendKeepsTheFilesForm(t *testing.T) {
	block := Block(nil)
	crlf := strings.ReplaceAll(block, "\n", "\r\n")
	for text, want := range map[string]string{
		"":                block + "\n",
		"\ufeff":          "\ufeff" + block + "\n",
		"a\n":             "a\n\n" + block + "\n",
		"a":               "a\n\n" + block,
		"a\n\n":           "a\n\n" + block + "\n",
		"a\n \t\n":        "a\n \t\n" + block + "\n",
		"a\r\n":           "a\r\n\r\n" + crlf + "\r\n",
		"a\r\nb":          "a\r\nb\r\n\r\n" + crlf,
		"\ufeffa\r\n\r\n": "\ufeffa\r\n\r\n" + crlf + "\r\n",
		"a\nb\r\n":        "a\nb\r\n\n" + block + "\n",
	} {
		m := scanMarkers([]byte(text))
		if got := string(withBlock([]byte(text), &m, block)); got != want {
			t.Errorf("%q gives %q, want %q", text, got, want)
		}
	}
}
