package steel

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"
	"unicode/utf8"

	"kxm/lib/fault"
)

// nameLimit is how much of a name or value is printed, in code points. What was cut
// ends with an ellipsis.
const nameLimit = 200

const noLimit = -1

// hiddenText stands in place of a password-like value in a name, as in the answers of
// get.
const hiddenText = "[hidden]"

// PrintedName returns an accessible name, or any text of a page, as a snapshot prints
// it: on one line, white space folded, control and format characters masked, at most
// 200 code points.
func PrintedName(name string) string { return fault.Printable(fold(name, nameLimit)) }

// fold puts one space in place of each run of white space, line separators of every
// kind among them, and none at the ends. With a limit it cuts.
func fold(text string, limit int) string {
	if (limit < 0 || len(text) <= limit) && isFolded(text) {
		return text
	}
	var out []byte
	count, last := 0, 0 // code points; where the last one begins
	space := false
	for _, r := range text {
		if unicode.IsSpace(r) {
			space = count > 0
			continue
		}
		if limit >= 0 && count+1 > limit || limit >= 0 && space && count+2 > limit {
			if count == limit {
				out = out[:last]
			}
			return strings.TrimSuffix(string(out), " ") + "…"
		}
		if space {
			out = append(out, ' ')
			count++
			space = false
		}
		last = len(out)
		out = utf8.AppendRune(out, r)
		count++
	}
	return string(out)
}

// isFolded reports whether a text is visible ASCII with single spaces in between, as
// most are.
func isFolded(text string) bool {
	before := byte(' ')
	for i := range len(text) {
		c := text[i]
		if c < ' ' || c > '~' || c == ' ' && before == ' ' {
			return false
		}
		before = c
	}
	return text == "" || before != ' '
}

// appendValue appends a value as it stands between brackets.
func appendValue(dst []byte, value string) []byte {
	for i := range len(value) {
		if c := value[i]; c == ']' || c == ',' || c == '\\' {
			dst = append(dst, '\\')
		}
		dst = append(dst, value[i])
	}
	return dst
}

// Boundary wraps a text between two lines that hold the first 16 hexadecimal digits of
// its SHA-256, which what is in the text cannot foresee. A text that does not end with
// a line break gets one, and the digest is of what then stands between the lines.
func Boundary(text string) string {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	sum := sha256.Sum256([]byte(text))
	mark := "--- page " + hex.EncodeToString(sum[:8]) + " ---\n"
	return mark + text + mark
}
