package memory

import (
	"bytes"
	"strings"
	"unicode"

	"kxm/lib/item"
)

// Fact is what agents are told of one record: it is active, within its origin's
// ceiling, and its texts are redacted.
type Fact struct {
	ID         string
	Scope      item.Scope
	Kind       string
	Summary    string
	Authority  item.Authority
	Confidence item.Confidence
}

// blockHeading is the first line of a block after its start marker.
const blockHeading = "## Project memory (read-only projection)"

// Block returns the memory block that holds the facts in the order given, with
// its markers, lines ended by "\n" and none after the last.
func Block(facts []Fact) string {
	var b strings.Builder
	b.WriteString(StartMarker + "\n" + blockHeading + "\n\n")
	if len(facts) == 0 {
		b.WriteString("*No active project memory.*\n")
	}
	for _, f := range facts {
		b.WriteString("- **[" + string(f.Scope) + "]** [" + flatten(f.Kind) + "] " + flatten(f.Summary) + " (`" + f.ID + "`)\n")
	}
	b.WriteString(EndMarker)
	return b.String()
}

// flatten makes a text safe on a line of an instruction file: each line break
// becomes a space, other control characters and bidirectional overrides become
// U+FFFD, and "<!--" becomes "<!- -". That breaks up both markers and keeps a fact
// from opening a comment that would hide the facts below it. No escaping is needed
// against fences or headings, since a fact never stands at the start of a line.
func flatten(text string) string {
	if !strings.ContainsFunc(text, unsafeInLine) && !strings.Contains(text, "<!--") {
		return text
	}
	text = strings.ReplaceAll(text, "\r\n", " ")
	text = strings.Map(func(r rune) rune {
		switch {
		case lineBreak(r) || r == '\t':
			return ' '
		case unsafeInLine(r):
			return unicode.ReplacementChar
		}
		return r
	}, text)
	return strings.ReplaceAll(text, "<!--", "<!- -")
}

func lineBreak(r rune) bool {
	switch r {
	case '\n', '\v', '\f', '\r', '\u0085', '\u2028', '\u2029':
		return true
	}
	return false
}

// unsafeInLine reports whether the character breaks a line, is a control
// character, or reorders text on a screen. Joiners, which emoji and several scripts
// need, are safe.
func unsafeInLine(r rune) bool {
	return r < ' ' || r >= 0x7f && r <= 0x9f || lineBreak(r) || r == unicode.ReplacementChar ||
		r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}

// blockIDs calls fn with the id of each fact line of a block and the offset
// behind that line. It reads what stands in a file, so any line of the form that
// Block writes counts.
func blockIDs(block []byte, fn func(id string, line []byte, end int)) {
	for start := 0; start < len(block); {
		end, next := lineEnd(block, start)
		line := block[start:end]
		if id, ok := factID(line); ok {
			fn(id, line, end)
		}
		start = next
	}
}

// factID returns the id of a fact line.
func factID(line []byte) (string, bool) {
	body, ok := bytes.CutSuffix(line, []byte("`)"))
	if !ok || !bytes.HasPrefix(line, []byte("- **[")) {
		return "", false
	}
	i := bytes.LastIndex(body, []byte(" (`"))
	if i < 0 || !validID(string(body[i+3:])) {
		return "", false
	}
	return string(body[i+3:]), true
}

// withBlock returns the instruction file with its block replaced by block, or
// with block appended where it has none, and changes no other byte. A file that
// has markers must have passed problem.
//
// Line breaks of the block are those of the file's first line. A file without a
// final line break gets none behind an appended block either.
func withBlock(text []byte, m *markers, block string) []byte {
	eol := lineBreakOf(text)
	if eol != "\n" {
		block = strings.ReplaceAll(block, "\n", eol)
	}
	if start, end, ok := m.block(); ok {
		return bytes.Join([][]byte{text[:start], []byte(block), text[end:]}, nil)
	}
	if len(bytes.TrimPrefix(text, byteOrder)) == 0 {
		return append(bytes.Clone(text), block+eol...)
	}
	out := bytes.NewBuffer(make([]byte, 0, len(text)+len(block)+6))
	out.Write(text)
	if !bytes.HasSuffix(text, []byte("\n")) {
		out.WriteString(eol + eol + block)
		return out.Bytes()
	}
	if !endsBlank(text) {
		out.WriteString(eol)
	}
	out.WriteString(block + eol)
	return out.Bytes()
}

// endsBlank reports whether the last line of a text, which ends with a line
// break, is blank.
func endsBlank(text []byte) bool {
	text = text[:len(text)-1]
	return len(bytes.TrimSpace(text[bytes.LastIndexByte(text, '\n')+1:])) == 0
}

// lineBreakOf returns the line break that ends the text's first line, "\n" where
// it has none. A last line that ends in a lone carriage return counts as one that
// lacks its line feed, since the next line feed makes it one.
func lineBreakOf(text []byte) string {
	i := bytes.IndexByte(text, '\n')
	if i < 0 {
		i = len(text)
	}
	if i > 0 && text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}
