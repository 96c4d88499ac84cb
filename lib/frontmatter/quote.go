package frontmatter

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// QuoteScalar returns a YAML scalar, for the value of a block mapping, that reads
// back as the text s: plain where every YAML reader takes it for that text, the
// older ones to which yes is a boolean included, else in double quotes on one
// line. Invalid UTF-8 becomes U+FFFD.
func QuoteScalar(s string) string {
	if plainSafe(s) {
		return s
	}
	return doubleQuoted(s)
}

// quoteInList is QuoteScalar for an element of a flow sequence, where commas and
// brackets mean something.
func quoteInList(s string) string {
	if plainSafe(s) && !strings.ContainsAny(s, ",[]{}") {
		return s
	}
	return doubleQuoted(s)
}

// plainSafe reports whether s can stand in a block mapping without quotes. It may
// say no to what a reader would understand, never yes to what one would not.
func plainSafe(s string) bool {
	if s == "" || s[len(s)-1] == ' ' || s[len(s)-1] == ':' ||
		strings.Contains(s, ": ") || strings.Contains(s, " #") {
		return false
	}
	if strings.IndexByte(" -?:,[]{}#&*!|>'\"%@`=<~", s[0]) >= 0 || resolve(s) != TagString {
		return false
	}
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return false
	}
	if (isDigit(s[0]) || s[0] == '+' || s[0] == '.') && !strings.ContainsFunc(s, wordLetter) {
		return false // some older number, time or document marker
	}
	for _, r := range s {
		if escapeNeeded(r) || r == '\t' {
			return false
		}
	}
	return true
}

// wordLetter reports whether r is a letter that stands in no YAML number: not in
// hexadecimal digits, exponents, radix marks, inf and nan, or the T and Z of
// times.
func wordLetter(r rune) bool {
	return (r|0x20 >= 'a' && r|0x20 <= 'z' && r < utf8.RuneSelf && !strings.ContainsRune("abcdefinotxz", r|0x20)) || r >= 0xa0
}

// escapeNeeded reports whether r cannot stand as it is, in any kind of scalar.
func escapeNeeded(r rune) bool {
	return r < 0x20 && r != '\t' || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 ||
		r == 0xfeff || r == 0xfffe || r == 0xffff || r == utf8.RuneError
}

// doubleQuoted returns s in double quotes with escapes that YAML and TOML share.
func doubleQuoted(s string) string {
	var b strings.Builder
	b.Grow(len(s) + 2)
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case escapeNeeded(r):
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
