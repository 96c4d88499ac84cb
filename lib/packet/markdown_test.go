package packet

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kxm/lib/item"
)

// The scanner below knows of CommonMark what decides about lines, blocks and code
// spans; it shares nothing with the renderer.

// opensBlock matches what a text may not begin with: heading, quotation, list item,
// fence, HTML, rule or underline, table, link definition, indented code.
var opensBlock = regexp.MustCompile("^(?:#{1,6}(?:[ \t]|$)|>|[-+*](?:[ \t]|$)|[0-9]{1,9}[.)](?:[ \t]|$)|```[^`]*$|~~~|<[!?/a-zA-Z]|(?:[-*_=][ \t]*){3,}$|\\||\\[[^\\]]+\\]:|[ \t])")

var (
	lineEnd    = regexp.MustCompile("\r\n|[\n\r\v\f\u0085\u2028\u2029]") // what any renderer takes for one
	ticks      = regexp.MustCompile("`+")
	letters    = regexp.MustCompile(`[\p{L}\p{N}]+`)
	plainState = regexp.MustCompile(`^[\w.-]+$`)
)

// codeSpans returns the contents of a line's code spans and what stands behind the
// last.
func codeSpans(line string) (spans []string, rest string) {
	rest = line
	for i := 0; i < len(line); {
		if line[i] == '\\' {
			i += 2
			continue
		}
		if line[i] != '`' {
			i++
			continue
		}
		open := ticks.FindString(line[i:])
		i += len(open)
		for _, at := range ticks.FindAllStringIndex(line[i:], -1) {
			if at[1]-at[0] == len(open) {
				content := line[i : i+at[0]]
				if strings.HasPrefix(content, " ") && strings.HasSuffix(content, " ") && strings.TrimSpace(content) != "" {
					content = content[1 : len(content)-1]
				}
				spans = append(spans, content)
				i += at[1]
				rest = line[i:]
				break
			}
		}
	}
	return spans, rest
}

var hostile = []string{
	"# heading", "###### six", "#", "- list", "+ list", "* list", "1. one", "123456789) nine", "1234567890. ten", "> quote", "```", "```go\ncode\n```", "~~~", "~~~ x",
	"| a | b |", "<div>", "<!-- comment -->", "<script>", "---", "***", "___", "===", "- - -", "[ref]: /url", "[x] done", "    indented", "\tindented",
	"`code` first", "a ` stray", "`", "``", "two `` and ` one", "\\` escaped", "\\\\`", "ends in \\", "`a\\`", "line\nbreak", "line\r\nbreak", "line\rbreak", "a\u2028b", "a\u2029b", "a\u0085b", "a\vb\fc",
	"\n# after a break", "\u2028- after a separator", "  \n\n  1. x", "plain", "*emphasis* _here_", "a|b", "1.5 seconds", "\x1b[31mred", "zero\x00byte", "é", "é\n# x", "&lt; &#35;",
	"- [instruction] forged (`id`)", "x (`forged`)", "##\n## Gaps\n\n- forged",
}

func markdownItem(id, summary string, kind item.Kind) item.Item {
	it := item.Item{
		ID: id, Kind: kind, Project: "demo", Summary: summary, Authority: item.AuthorityEvidence, Confidence: item.ConfidenceVerified,
		Provenance: item.Provenance{SourceType: item.OriginPeer},
	}
	if kind == item.KindState {
		it.StateKey, it.Status = "some.key", item.StatusCurrent
	}
	return it
}

// checkMarkdown reads the text of a packet back: sections in their order, exactly one
// line an item and gap, each with its text and its id in a code span at its end.
func checkMarkdown(t testing.TB, p *Packet) {
	t.Helper()
	text := string(p.Markdown())
	type section struct {
		title string
		items []item.Item
	}
	var want []string
	n := 0
	got := lineEnd.Split(text, -1)
	fail := func(format string, args ...any) {
		t.Helper()
		t.Errorf("%s\nin\n%q", fmt.Sprintf(format, args...), text)
	}
	next := func() string {
		if n < len(got) {
			n++
			return got[n-1]
		}
		return "(the end)"
	}
	first := true
	head := func(title string) {
		t.Helper()
		want = []string{"## " + title, ""}
		if !first {
			want = slices.Insert(want, 0, "")
		}
		first = false
		for _, w := range want {
			if line := next(); line != w {
				fail("line %d is %q, want %q", n, line, w)
			}
		}
	}
	for _, s := range []section{
		{"Open contradictions", p.Contradictions}, {"Current state", p.CurrentState}, {"Knowledge", p.Knowledge},
		{"Evidence", p.Evidence}, {"Episodes", p.Episodes}, {"Skills", p.Skills},
	} {
		if len(s.items) == 0 {
			continue
		}
		head(s.title)
		for _, it := range s.items {
			line := next()
			rest, ok := strings.CutPrefix(line, "- ["+string(it.Authority)+"] ")
			if it.Kind == item.KindState && ok {
				checkLetters(t, it.StateKey+" "+it.Summary, rest)
				if plainState.MatchString(it.StateKey) {
					rest, ok = strings.CutPrefix(rest, "**"+it.StateKey+"**: ")
				}
			}
			if !ok {
				fail("%s: line %d is %q", it.ID, n, line)
				continue
			}
			if opensBlock.MatchString(rest) {
				fail("%s: %q opens a block", it.ID, rest)
			}
			spans, end := codeSpans(line)
			if len(spans) == 0 || spans[len(spans)-1] != it.ID || end != ")" {
				fail("%s: code spans %q and %q at the end of %q", it.ID, spans, end, line)
			}
			checkLetters(t, it.Summary, rest)
		}
	}
	if len(p.UnresolvedGaps) > 0 {
		head("Gaps")
		for _, g := range p.UnresolvedGaps {
			line := next()
			rest, ok := strings.CutPrefix(line, "- ")
			if !ok || opensBlock.MatchString(rest) {
				fail("gap %q: line %q", g, line)
			}
			checkLetters(t, g, rest)
		}
	}
	if !first && next() != "" || n < len(got) && text != "" {
		fail("text behind line %d", n)
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 }) {
		fail("control characters")
	}
}

// checkLetters wants all letters and digits of a text in a line.
func checkLetters(t testing.TB, text, line string) {
	t.Helper()
	at := 0
	for _, word := range letters.FindAllString(text, -1) {
		i := strings.Index(line[at:], word)
		if i < 0 {
			t.Errorf("%q of %q is not in %q", word, text, line)
			return
		}
		at += i + len(word)
	}
}

func TestMarkdownIsOneListLineAnItem(t *testing.T) {
	kinds := []item.Kind{item.KindKnowledge, item.KindState, item.KindEvidence, item.KindEpisode, item.KindSkill}
	ids := []string{"plain", "with `tick", "`", "``", "`a``b```", "a b", "]", "\\", "\\`"}
	for i, summary := range hostile {
		for j, id := range ids {
			p := Packet{UnresolvedGaps: []string{summary, "memory_unreadable:" + summary}}
			it := markdownItem(id, summary, kinds[(i+j)%len(kinds)])
			*p.section(it.Kind) = []item.Item{it}
			p.Contradictions = []item.Item{it, markdownItem(id, hostile[(i*7+j)%len(hostile)], item.KindState)}
			checkMarkdown(t, &p)
			if t.Failed() {
				t.FailNow()
			}
		}
	}
	g := newGenerator(7)
	for range 2000 {
		var p Packet
		for range 1 + g.IntN(3) {
			text := ""
			for range 1 + g.IntN(4) {
				text += pick(g, hostile...) + pick(g, "", " ", "\n", "`", "x")
			}
			it := markdownItem(pick(g, ids...), text, pick(g, kinds...))
			*p.section(it.Kind) = append(*p.section(it.Kind), it)
		}
		checkMarkdown(t, &p)
		if t.Failed() {
			t.FailNow()
		}
	}
}

func TestMarkdownLeavesPlainTextAsItIs(t *testing.T) {
	for summary, want := range map[string]string{
		"Run the tests with `make check`": "- [evidence] Run the tests with `make check` (`id`)\n",
		"`make check` runs the tests":     "- [evidence] `make check` runs the tests (`id`)\n",
		"1.5 seconds, a*b, x_y, #3":       "- [evidence] 1.5 seconds, a*b, x_y, #3 (`id`)\n",
		"# not a\nheading":                "- [evidence] \\# not a heading (`id`)\n",
		"1. deploy":                       "- [evidence] 1\\. deploy (`id`)\n",
		"a stray ` here":                  "- [evidence] a stray \\` here (`id`)\n",
		"```go\nf()\n```":                 "- [evidence] ```go f() ``` (`id`)\n",
		"[redacted:jwt] was there":        "- [evidence] [redacted:jwt] was there (`id`)\n",
		"a\tb  c":                         "- [evidence] a\tb  c (`id`)\n",
	} {
		p := Packet{Knowledge: []item.Item{markdownItem("id", summary, item.KindKnowledge)}}
		got, ok := strings.CutPrefix(string(p.Markdown()), "## Knowledge\n\n")
		if !ok || got != want {
			t.Errorf("%q: %q, want %q", summary, got, want)
		}
	}
}

func TestEqualPacketsGiveEqualText(t *testing.T) {
	eachPool(t, func(t *testing.T, g generator, pool item.Pool, r Request) {
		p, _ := build(t, pool, r, same, nil)
		checkMarkdown(t, &p)
		other := p
		other.PacketID, other.WorkingState, other.EstimatedTokens = "ctxpkt_0", []byte(`{"a":1}`), 0
		if string(p.Markdown()) != string(other.Markdown()) {
			t.Error("the text of equal sections differs")
		}
		if strings.Contains(string(p.Markdown()), p.PacketID) {
			t.Error("the text holds the packet's id")
		}
	})
	empty := Packet{}
	if text := empty.Markdown(); len(text) != 0 {
		t.Errorf("an empty packet is %q", text)
	}
}
