package prompt

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxNoteSource is how much of a source the note of a cut repeats.
const maxNoteSource = 120

// Fit returns the text within so many code points, and how many of its own were left
// out. A text that is too long ends at a paragraph where possible, outside of a
// fence or with it closed, and then says in a note what is missing and, if a source
// is given, where the whole is. A budget that has no room even for the note gives an
// empty text. The text is one that [Normalise] made.
func Fit(text string, budget int, source string) (fitted string, cut int) {
	if len(text) <= budget { // no text has more code points than bytes
		return text, 0
	}
	n := length(text)
	if n <= budget {
		return text, 0
	}
	whole := cutNote(n, n, source)
	room := budget - length(whole) - len("\n\n")
	kept, closing := cutAt(text, room)
	if kept == "" {
		if length(whole) > budget {
			return "", n
		}
		return whole, n
	}
	cut = n - length(kept)
	return kept + closing + "\n\n" + cutNote(cut, n, source), cut
}

func cutNote(cut, n int, source string) string {
	if source == "" {
		return fmt.Sprintf("[cut: %d of %d characters left out]", cut, n)
	}
	return fmt.Sprintf("[cut: %d of %d characters left out; whole text: %s]", cut, n, first(source, maxNoteSource))
}

// cutAt returns the beginning of the text that fits into room together with the
// line, if any, that closes the fence it leaves open. Each turn allows for a longer
// fence than the one before, so this ends.
func cutAt(text string, room int) (kept, closing string) {
	for allowed := 0; ; {
		kept = cutOnce(text, room-allowed)
		open := openFence(kept)
		if kept == "" || !open.open() {
			return kept, ""
		}
		if need := open.size + len("\n"); need > allowed {
			allowed = need
			continue
		}
		return kept, "\n" + open.line()
	}
}

// cutOnce cuts at the last blank line within room that is outside of a fence, if
// that keeps at least half of room; else at the last line end that does; else at the
// last space that does; else at room, before the character that a combining mark
// there belongs to. White space at the end is dropped.
func cutOnce(text string, room int) string {
	if room <= 0 {
		return ""
	}
	most := text[:prefixLen(text, room)]
	enough := func(at int) (string, bool) {
		if at < 0 {
			return "", false
		}
		kept := strings.TrimRightFunc(text[:at], unicode.IsSpace)
		return kept, 2*length(kept) >= room
	}
	if kept, ok := enough(lastBlankLine(text, len(most))); ok {
		return kept
	}
	lineEnd := strings.LastIndexByte(most, '\n')
	if strings.HasPrefix(text[len(most):], "\n") {
		lineEnd = len(most)
	}
	if kept, ok := enough(lineEnd); ok {
		return kept
	}
	space := strings.LastIndexAny(most, " \t")
	if next := text[len(most):]; next != "" && (next[0] == ' ' || next[0] == '\t') {
		space = len(most)
	}
	if kept, ok := enough(space); ok {
		return kept
	}
	return strings.TrimRightFunc(text[:beforeMark(text, len(most))], unicode.IsSpace)
}

// beforeMark moves a place back that stands before a combining mark, to before the
// character that the mark belongs to.
func beforeMark(text string, at int) int {
	for at > 0 {
		if r, _ := utf8.DecodeRuneInString(text[at:]); !unicode.Is(unicode.M, r) {
			break
		}
		_, size := utf8.DecodeLastRuneInString(text[:at])
		at -= size
	}
	return at
}

// lastBlankLine returns the end of the last line at or before most that a blank line
// outside of any fence follows, or -1.
func lastBlankLine(text string, most int) int {
	last := -1
	var f fences
	for start := 0; start <= most+1; {
		size := strings.IndexByte(text[start:], '\n')
		if size < 0 {
			break
		}
		line := text[start : start+size]
		if start > 0 && !f.current.open() && strings.TrimSpace(line) == "" {
			last = start - 1
		}
		f.next(line)
		start += size + 1
	}
	return last
}

// prefixLen returns the bytes of the first n code points, or of the whole text.
func prefixLen(text string, n int) int {
	for i := range text {
		if n == 0 {
			return i
		}
		n--
	}
	return len(text)
}

// first returns the first n code points of a text.
func first(text string, n int) string { return text[:prefixLen(text, n)] }

// Clip returns a single field within so many code points: cut at a space, unless
// that would cost more than half of it, and ending in an ellipsis when something was
// left out.
func Clip(text string, n int) string {
	if len(text) <= n || length(text) <= n {
		return text
	}
	if n <= 0 {
		return ""
	}
	const ellipsis = "…"
	room := n - length(ellipsis)
	at := prefixLen(text, room)
	if strings.IndexByte(" \t\n", text[at]) < 0 {
		if space := strings.LastIndexAny(text[:at], " \t\n"); space >= 0 && 2*length(text[:space]) >= room {
			at = space
		}
	}
	return strings.TrimRightFunc(text[:beforeMark(text, at)], unicode.IsSpace) + ellipsis
}
