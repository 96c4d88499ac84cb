package textdiff

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Op says what became of a part of a text.
type Op string

// The operations.
const (
	Same   Op = "same"
	Delete Op = "delete"
	Insert Op = "insert"
)

// Part is a part of a text and what became of it.
type Part struct {
	Op   Op     `json:"op"`
	Text string `json:"text"`
}

// Words returns the difference between two texts by words: parts in order, of which no
// two neighbours have one operation and no text is empty, with a deletion before the
// insertion that takes its place. Those that are not inserted make the first text,
// those that are not deleted the second. A word is a run of letters, marks and digits,
// or a run of white space; any other character, and each letter of a script that puts
// no space between words, is one by itself.
func Words(from, to string) []Part {
	a, b := splitWords(from), splitWords(to)
	var parts []Part
	add := func(op Op, words []string) {
		if len(words) > 0 {
			parts = append(parts, Part{op, strings.Join(words, "")})
		}
	}
	at := 0
	for _, c := range compare(a, b) {
		add(Same, a[at:c.fromStart])
		add(Delete, a[c.fromStart:c.fromEnd])
		add(Insert, b[c.toStart:c.toEnd])
		at = c.fromEnd
	}
	add(Same, a[at:])
	return parts
}

// splitWords returns the words of a text, whose bytes they keep.
func splitWords(s string) []string {
	var words []string
	last := alone
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		class := classOf(r)
		n := len(words)
		if class == last && class != alone || n > 0 && class == mark {
			words[n-1] += s[:size]
		} else {
			words = append(words, s[:size])
			last = class
		}
		s = s[size:]
	}
	return words
}

type class int

const (
	alone class = iota // a character that is a word by itself
	word
	space
	mark // belongs to the character before it
)

func classOf(r rune) class {
	switch {
	case unicode.Is(unicode.M, r):
		return mark
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar):
		return alone
	case unicode.IsLetter(r) || unicode.IsDigit(r):
		return word
	case unicode.IsSpace(r):
		return space
	}
	return alone
}
