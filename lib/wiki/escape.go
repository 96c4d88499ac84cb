package wiki

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// What records say is hostile: a summary may hold a table bar, a fence, raw HTML or a
// mark that turns the direction of writing. A text stands on one line (see oneLine),
// with every character escaped that Markdown could take for its own (see
// appendText), and an id in an attribute or a link is encoded (see appendAnchor and
// appendTarget). The same pages must hold under CommonMark and what forges add to it: tables,
// strikethrough, autolinks, footnotes, formulas, definition lists, attributes.

// oneLine returns the text on one line: a run of white space, line breaks included, is
// one space, and none stands at the ends. Control and format characters, which hide
// or reorder what stands beside them, become U+FFFD; the two joiners stay, since
// scripts and emoji need them.
func oneLine(s string) string {
	if isPlain(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	space := false
	for _, r := range s {
		if unicode.IsSpace(r) {
			space = b.Len() > 0
			continue
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		if hidden(r) {
			r = utf8.RuneError
		}
		b.WriteRune(r)
	}
	return b.String()
}

// isPlain reports whether a text is ASCII and one line as it is.
func isPlain(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c < ' ' || c > '~' || c == ' ' && (i == 0 || i == len(s)-1 || s[i-1] == ' ') {
			return false
		}
	}
	return true
}

const (
	nonJoiner = '\u200C'
	joiner    = '\u200D'
)

func hidden(r rune) bool {
	return r == utf8.RuneError || r != nonJoiner && r != joiner && unicode.In(r, unicode.Cc, unicode.Cf)
}

// always are the characters that are escaped wherever they stand.
const always = "\\`*[]<|~${"

// atStart are those that could begin a block: a heading, a quotation, a list, the line
// below a heading, a definition.
const atStart = "#>+-=:"

// nothing is a comment that shows nothing and parts what stands on its sides.
const nothing = "<!-- -->"

// appendText appends a text on one line so that a reader of Markdown sees just its
// characters, at the start of a line, in a paragraph and in a heading. What needs no
// escape gets none: the source is what people review.
func appendText(dst []byte, s string) []byte {
	s = oneLine(s)
	for i := range len(s) {
		switch {
		case s[i] == '@' && isAddress(s, i):
			// GitHub looks for addresses of mail in what is left once escapes are gone.
			dst = append(dst, '@')
			dst = append(dst, nothing...)
			continue
		case special(s, i):
			dst = append(dst, '\\')
		}
		dst = append(dst, s[i])
	}
	return dst
}

// special reports whether the byte at i must be escaped.
func special(s string, i int) bool {
	c := s[i]
	if c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c == ' ' || c >= utf8.RuneSelf {
		return false
	}
	if strings.IndexByte(always, c) >= 0 || i == 0 && strings.IndexByte(atStart, c) >= 0 {
		return true
	}
	switch c {
	case '_': // inside a word it is one
		return !wordBefore(s[:i]) || !wordAfter(s[i+1:])
	case '&': // an entity
		return i+1 < len(s) && (s[i+1] == '#' || isLetter(s[i+1]))
	case '#': // the end of a heading
		return s[i-1] == ' ' || s[i-1] == '#'
	case '.': // a numbered item; the host of an address
		return digitsOnly(s[:i]) || i >= 3 && strings.EqualFold(s[i-3:i], "www")
	case ')':
		return digitsOnly(s[:i])
	case '@': // an address of mail, to those that take one without a dot
		return i > 0 && s[i-1] != ' '
	case ':': // an address
		return strings.HasPrefix(s[i+1:], "//")
	}
	return false
}

// isAddress reports whether an address of mail may stand around the at sign at i: its
// host has a dot.
func isAddress(s string, i int) bool {
	if i == 0 || s[i-1] == ' ' {
		return false
	}
	for _, c := range []byte(s[i+1:]) {
		switch {
		case c == '.':
			return true
		case !isLetter(c) && (c < '0' || c > '9') && c != '-' && c != '_':
			return false
		}
	}
	return false
}

func isLetter(c byte) bool { return c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' }

func wordBefore(s string) bool {
	r, _ := utf8.DecodeLastRuneInString(s)
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

func wordAfter(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

// digitsOnly reports whether s is the number of a list's item, which has at most nine
// digits.
func digitsOnly(s string) bool {
	if s == "" || len(s) > 9 {
		return false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// appendAnchor appends an element that a link can lead to and that shows nothing.
func appendAnchor(dst []byte, id string) []byte {
	dst = append(dst, `<a id="`...)
	for _, r := range id {
		switch {
		case strings.ContainsRune("&<>\"'`|\\", r), unicode.IsSpace(r) && r != ' ', !unicode.IsGraphic(r), r == utf8.RuneError:
			dst = append(dst, "&#x"...)
			dst = appendHex(dst, uint32(r))
			dst = append(dst, ';')
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, `"></a>`...)
}

const hexDigits = "0123456789ABCDEF"

// appendHex appends a number without leading zeros.
func appendHex(dst []byte, n uint32) []byte {
	if n >= 16 {
		dst = appendHex(dst, n/16)
	}
	return append(dst, hexDigits[n%16])
}

// appendLink appends a link. The target is a relative path, a fragment or both,
// already encoded.
func appendLink(dst []byte, text, target string) []byte {
	dst = appendText(append(dst, '['), text)
	dst = append(append(dst, "]("...), target...)
	return append(dst, ')')
}

// appendTarget appends a part of a link's target in percent encoding: all but letters,
// digits and "-._~", and the slashes of a path. A colon is encoded too, so that no path
// can name a scheme.
func appendTarget(dst []byte, s string, path bool) []byte {
	for i := range len(s) {
		c := s[i]
		if isLetter(c) || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0 || path && c == '/' {
			dst = append(dst, c)
		} else {
			dst = append(dst, '%', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return dst
}

// fragment returns the target of a link to an anchor.
func fragment(id string) string { return string(appendTarget([]byte{'#'}, id, false)) }
