package prompt

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Normalise brings text into the form that everything below works on: line ends are
// LF, the white space at the end is dropped, control characters other than tab and
// newline are shown as \u00XX, and bytes that are not UTF-8 as U+FFFD. Nothing else
// changes.
func Normalise(text string) string {
	text = strings.TrimRightFunc(text, unicode.IsSpace)
	at := firstControl(text)
	if at < 0 {
		return text
	}
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	b.Grow(len(text) + 16)
	for at >= 0 {
		b.WriteString(text[:at])
		r, size := utf8.DecodeRuneInString(text[at:])
		switch {
		case r == '\r':
			b.WriteByte('\n')
			if strings.HasPrefix(text[at:], "\r\n") {
				size = 2
			}
		case r == utf8.RuneError:
			b.WriteRune(utf8.RuneError)
		default:
			b.WriteString(`\u00`)
			b.WriteByte(hex[r>>4])
			b.WriteByte(hex[r&15])
		}
		text = text[at+size:]
		at = firstControl(text)
	}
	b.WriteString(text)
	return b.String()
}

// firstControl returns the place of the first character that Normalise replaces, or
// -1.
func firstControl(text string) int {
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case ' ' <= c && c < 0x7F || c == '\n' || c == '\t':
		case c < utf8.RuneSelf:
			return i
		default:
			r, size := utf8.DecodeRuneInString(text[i:])
			if r < 0xA0 || r == utf8.RuneError && size == 1 { // C1, or no UTF-8
				return i
			}
			i += size - 1
		}
	}
	return -1
}

// Line is Normalise for what stands in one line: a title, a source, a name, the
// value of a placeholder. Line breaks and tabs become spaces.
func Line(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch r {
		case '\n', '\t', '\u2028', '\u2029':
			return ' '
		}
		return r
	}, Normalise(text)))
}

// length counts code points.
func length(text string) int { return utf8.RuneCountInString(text) }
