// Package textdiff owns the comparison of two texts by lines and the unified form
// in which `git apply` and patch read the difference.
//
// Start with [Unified]. The package reads no file, knows no modes and renames
// nothing: a caller that compares files names both sides and adds what Git wants
// beside the hunks. The same two texts always give the same bytes; no timer cuts a
// comparison short.
package textdiff

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/sergi/go-diff/diffmatchpatch"
)

// Unified returns the difference between two texts in the unified form, with so
// many lines of context, or nothing if they are equal. Hunks whose context would
// touch or overlap are one. Deletions come before insertions. Every byte of a line
// is kept, a carriage return too, whether it is UTF-8 or not; a last line without a
// line feed is followed by `\ No newline at end of file`.
//
// The names are those of the two header lines, as they stand there: with `a/` and
// `b/` before them for Git, or /dev/null. They are quoted where Git quotes them.
//
// The difference is as small as can be, except for large rewrites: what is left
// after the common lines at the start and end is written as one replacement if the
// product of its two line counts is over 25 million.
func Unified(fromName, toName string, from, to []byte, context int) []byte {
	if bytes.Equal(from, to) {
		return nil
	}
	context = max(context, 0)
	a, b := splitLines(from), splitLines(to)
	var out bytes.Buffer
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", headerName(fromName), headerName(toName))
	for changes := compare(a, b); len(changes) > 0; {
		n := 1 // how many changes the hunk joins
		for n < len(changes) && changes[n].fromStart-changes[n-1].fromEnd <= 2*context {
			n++
		}
		writeHunk(&out, a, b, changes[:n], context)
		changes = changes[n:]
	}
	return out.Bytes()
}

// splitLines returns the lines of a text with their line feeds.
func splitLines(text []byte) []string {
	lines := strings.SplitAfter(string(text), "\n")
	if last := len(lines) - 1; lines[last] == "" {
		lines = lines[:last]
	}
	return lines
}

// change says that lines [fromStart, fromEnd) become lines [toStart, toEnd).
// Between two changes lie equal lines.
type change struct {
	fromStart, fromEnd int
	toStart, toEnd     int
}

// The bounds of an exact comparison: its effort grows with the product of the line
// counts, and each line becomes a code point.
const (
	maxProduct = 25_000_000
	maxLines   = utf8.MaxRune + 1 - surrogates
	surrogates = 0xE000 - 0xD800
)

func compare(a, b []string) []change {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	endA, endB := len(a), len(b)
	for endA > head && endB > head && a[endA-1] == b[endB-1] {
		endA, endB = endA-1, endB-1
	}
	n, m := endA-head, endB-head
	if int64(n)*int64(m) > maxProduct || n+m > maxLines {
		return []change{{head, endA, head, endB}}
	}

	ids := map[string]rune{}
	runesA, runesB := intern(ids, a[head:endA]), intern(ids, b[head:endB])
	matcher := diffmatchpatch.New()
	matcher.DiffTimeout = 0 // its default lets the clock decide
	var changes []change
	i, j := head, head
	open := false // the last change may still grow
	for _, d := range matcher.DiffMainRunes(runesA, runesB, false) {
		lines := utf8.RuneCountInString(d.Text)
		if d.Type == diffmatchpatch.DiffEqual {
			i, j = i+lines, j+lines
			open = open && lines == 0
			continue
		}
		if !open {
			changes = append(changes, change{i, i, j, j})
			open = true
		}
		if d.Type == diffmatchpatch.DiffDelete {
			i += lines
		} else {
			j += lines
		}
		last := &changes[len(changes)-1]
		last.fromEnd, last.toEnd = i, j
	}
	return changes
}

// intern maps equal lines to equal code points. The library passes them through
// strings, where surrogates do not survive.
func intern(ids map[string]rune, lines []string) []rune {
	runes := make([]rune, len(lines))
	for i, line := range lines {
		r, ok := ids[line]
		if !ok {
			r = rune(len(ids))
			if r >= 0xD800 {
				r += surrogates
			}
			ids[line] = r
		}
		runes[i] = r
	}
	return runes
}

func writeHunk(out *bytes.Buffer, a, b []string, changes []change, context int) {
	first, last := changes[0], changes[len(changes)-1]
	before := min(context, first.fromStart)
	after := min(context, len(a)-last.fromEnd)
	fmt.Fprintf(out, "@@ -%s +%s @@\n",
		lineRange(first.fromStart-before, last.fromEnd+after),
		lineRange(first.toStart-before, last.toEnd+after))
	at := first.fromStart - before
	for _, c := range changes {
		writeLines(out, ' ', a[at:c.fromStart])
		writeLines(out, '-', a[c.fromStart:c.fromEnd])
		writeLines(out, '+', b[c.toStart:c.toEnd])
		at = c.fromEnd
	}
	writeLines(out, ' ', a[at:at+after])
}

// lineRange writes a range of lines counted from 1. An empty one names the line
// before it.
func lineRange(start, end int) string {
	switch end - start {
	case 0:
		return fmt.Sprintf("%d,0", start)
	case 1:
		return fmt.Sprint(start + 1)
	}
	return fmt.Sprintf("%d,%d", start+1, end-start)
}

func writeLines(out *bytes.Buffer, mark byte, lines []string) {
	for _, line := range lines {
		out.WriteByte(mark)
		out.WriteString(line)
		if !strings.HasSuffix(line, "\n") {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

// headerName writes a name as Git does: in C quotes if a byte needs it, else with a
// tab after a name with a space, so that patch finds its end.
func headerName(name string) string {
	const named = "\a\b\t\n\v\f\r\"\\"
	const letters = `abtnvfr"\`
	var quoted strings.Builder
	plain := true
	for i := range len(name) {
		c := name[i]
		if at := strings.IndexByte(named, c); at >= 0 {
			quoted.WriteByte('\\')
			quoted.WriteByte(letters[at])
			plain = false
		} else if c < ' ' || c >= 0x7F {
			fmt.Fprintf(&quoted, `\%03o`, c)
			plain = false
		} else {
			quoted.WriteByte(c)
		}
	}
	switch {
	case !plain:
		return `"` + quoted.String() + `"`
	case strings.Contains(name, " "):
		return name + "\t"
	}
	return name
}
