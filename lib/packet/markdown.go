package packet

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"kxm/lib/item"
)

// Markdown renders the packet for people and prompts. It holds no id of the packet
// and no time, so that equal packets give equal text.
func (p *Packet) Markdown() []byte {
	var b strings.Builder
	for _, s := range []struct {
		title string
		items []item.Item
	}{
		{"Open contradictions", p.Contradictions},
		{"Current state", p.CurrentState},
		{"Knowledge", p.Knowledge},
		{"Evidence", p.Evidence},
		{"Episodes", p.Episodes},
		{"Skills", p.Skills},
	} {
		if len(s.items) == 0 {
			continue
		}
		heading(&b, s.title)
		for i := range s.items {
			it := &s.items[i]
			text := escapeStart(oneLine(it.Summary))
			if it.Kind == item.KindState {
				text = "**" + oneLine(it.StateKey) + "**: " + text
			}
			fmt.Fprintf(&b, "- [%s] %s (%s)\n", it.Authority, escapeStray(text), codeSpan(it.ID))
		}
	}
	if len(p.UnresolvedGaps) > 0 {
		heading(&b, "Gaps")
		for _, g := range p.UnresolvedGaps {
			fmt.Fprintf(&b, "- %s\n", escapeStray(escapeStart(oneLine(g))))
		}
	}
	return []byte(b.String())
}

func heading(b *strings.Builder, title string) {
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	fmt.Fprintf(b, "## %s\n\n", title)
}

// oneLine turns every line break into a space, so that an item stays one line, and
// other control characters into U+FFFD, so that a terminal obeys no item.
func oneLine(s string) string { return strings.ReplaceAll(lines(s), "\n", " ") }

// lines turns every line break into a newline, and other control characters into
// U+FFFD.
func lines(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\r', r == '\v', r == '\f', r == '\u0085', r == '\u2028', r == '\u2029':
			return '\n'
		case r != '\t' && unicode.IsControl(r):
			return utf8.RuneError
		}
		return r
	}, strings.ReplaceAll(s, "\r\n", "\n"))
}

// escapeStart escapes what would open a heading, list, quotation, table, HTML block,
// rule, link definition or fence of tildes at the start of a list item's text. (What
// backticks a fence may begin with are stray ones.)
func escapeStart(s string) string {
	s = strings.TrimLeft(s, " \t")
	switch {
	case s == "":
		return s
	case strings.ContainsRune("#-+*>|<=_", rune(s[0])), strings.HasPrefix(s, "~~~"), s[0] == '[' && strings.Contains(s, "]:"):
		return `\` + s
	}
	marker := strings.TrimLeft(s, "0123456789")
	if n := len(s) - len(marker); n > 0 && n < 10 && marker != "" && (marker[0] == '.' || marker[0] == ')') &&
		(len(marker) == 1 || marker[1] == ' ' || marker[1] == '\t') {
		return s[:n] + `\` + marker // an ordered list
	}
	return s
}

// escapeStray escapes the backticks that neither begin nor end a code span of the
// text, so that none can pair with one behind it. A span ends at the first run of
// backticks that is as long as the one that began it.
func escapeStray(s string) string {
	if !strings.Contains(s, "`") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		n := backticks(s[i:])
		switch {
		case n > 0:
			if end := spanEnd(s[i+n:], n); end >= 0 {
				n += end
				b.WriteString(s[i : i+n])
			} else {
				b.WriteString(strings.Repeat("\\`", n))
			}
		case s[i] == '\\' && i+1 < len(s):
			n = 2 // with what it escapes
			b.WriteString(s[i : i+n])
		default:
			n = 1
			b.WriteByte(s[i])
		}
		i += n
	}
	return b.String()
}

// codeSpan writes text as a code span that its own backticks cannot end.
func codeSpan(s string) string {
	s = oneLine(s)
	taken := map[int]bool{0: true} // lengths that the fence must not have
	for i := 0; i < len(s); i++ {
		n := backticks(s[i:])
		taken[n] = true
		i += n
	}
	length := 1
	for taken[length] {
		length++
	}
	fence := strings.Repeat("`", length)
	if len(taken) > 1 {
		s = " " + s + " "
	}
	return fence + s + fence
}

// backticks returns the length of the run of backticks that a text begins with.
func backticks(s string) int { return len(s) - len(strings.TrimLeft(s, "`")) }

// spanEnd returns the end of a code span that n backticks began, or -1.
func spanEnd(s string, n int) int {
	for i := 0; i < len(s); i++ {
		m := backticks(s[i:])
		if m == n {
			return i + n
		}
		i += m
	}
	return -1
}
