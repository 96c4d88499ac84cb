package rank

import (
	"encoding/binary"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A token is 2 to 64 characters (code points) long before its plural is folded.
const (
	minToken = 2
	maxToken = 64
)

// Tokenize returns the tokens of a text in their order, repeats kept.
//
// The text is put into NFKC and lower case and split at everything that is
// neither a letter, a number, nor a combining mark after one. Tokens under 2 or
// over 64 characters are dropped, then stopwords, and what is left has its plural
// folded (see fold; a folded word may spell a stopword, "ands" gives "and").
//
// Two kinds of words yield more. What they add follows the whole token at once,
// in the order of the text, and never repeats the whole token:
//
//   - A camelCase identifier, a word with an upper-case letter after a lower-case
//     one (digits may stand between), yields its parts ("releaseBranch":
//     releasebranch, release, branch), each treated as a token. A part starts at
//     such a letter, and at one after an upper-case letter or a digit if a
//     lower-case letter follows ("getHTTPBody": gethttpbody, get, http, body),
//     unless that letter is only the plural of an abbreviation ("listURLs"). A word
//     that is capitalised oddly ("FIle", "HTTPServer") is no such identifier. One
//     that is itself dropped yields no parts: a base64 blob is not a list of words.
//   - A run of letters of a script that is written without spaces, or whose words
//     are often searched by their beginning (Han, Hiragana, Katakana, Hangul, Thai,
//     Lao, Khmer, Myanmar), yields its overlapping pairs, and a run of one letter
//     yields that letter. A letter keeps its combining marks. The run yields its
//     pairs even if the whole token is dropped, because a sentence is one token
//     there. Other letters beside such a run ("v2の", "Docker部署") are found by the
//     whole token alone.
//
// Lower case is Unicode's own, whatever the language; a capital sigma that ends a
// token becomes a final sigma.
func Tokenize(text string) []string {
	tokens := []string{}
	s := scanner{emit: func(term []byte) { tokens = append(tokens, string(term)) }}
	s.scan(text)
	return tokens
}

// scanner finds tokens. A term given to emit is valid only during the call.
type scanner struct {
	emit  func(term []byte)
	ascii [maxToken]byte
	buf   []byte
}

func (s *scanner) scan(text string) {
	if isASCII(text) {
		s.scanASCII(text)
	} else {
		s.scanUnicode(text)
	}
}

func isASCII(text string) bool {
	for ; len(text) >= 8; text = text[8:] {
		if binary.LittleEndian.Uint64([]byte(text[:8]))&0x8080808080808080 != 0 {
			return false
		}
	}
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// lowered maps the letters and digits of ASCII to lower case and all else to 0.
var lowered = [256]byte{
	'0': '0', '1': '1', '2': '2', '3': '3', '4': '4', '5': '5', '6': '6', '7': '7', '8': '8', '9': '9',
	'A': 'a', 'B': 'b', 'C': 'c', 'D': 'd', 'E': 'e', 'F': 'f', 'G': 'g', 'H': 'h', 'I': 'i', 'J': 'j', 'K': 'k', 'L': 'l', 'M': 'm',
	'N': 'n', 'O': 'o', 'P': 'p', 'Q': 'q', 'R': 'r', 'S': 's', 'T': 't', 'U': 'u', 'V': 'v', 'W': 'w', 'X': 'x', 'Y': 'y', 'Z': 'z',
	'a': 'a', 'b': 'b', 'c': 'c', 'd': 'd', 'e': 'e', 'f': 'f', 'g': 'g', 'h': 'h', 'i': 'i', 'j': 'j', 'k': 'k', 'l': 'l', 'm': 'm',
	'n': 'n', 'o': 'o', 'p': 'p', 'q': 'q', 'r': 'r', 's': 's', 't': 't', 'u': 'u', 'v': 'v', 'w': 'w', 'x': 'x', 'y': 'y', 'z': 'z',
}

// scanASCII does what scanUnicode does, for text that is ASCII, which nearly all
// text is: there is nothing to normalise, and a byte is a character.
func (s *scanner) scanASCII(text string) {
	for i := 0; i < len(text); i++ {
		if lowered[text[i]] == 0 {
			continue
		}
		start, innerUpper := i, byte(0)
		s.ascii[0] = lowered[text[i]]
		for i++; i < len(text); i++ {
			c := text[i]
			l := lowered[c]
			if l == 0 {
				break
			}
			innerUpper |= c ^ l
			if n := i - start; n < maxToken {
				s.ascii[n] = l
			}
		}
		n := i - start
		if n < minToken || n > maxToken || isStopword(s.ascii[:n]) {
			continue
		}
		s.emit(fold(s.ascii[:n], n))
		if innerUpper != 0 {
			s.camelParts(text[start:i])
		}
	}
}

func (s *scanner) scanUnicode(text string) {
	// Invalid UTF-8 survives normalisation and decodes to U+FFFD, a separator.
	text = norm.NFKC.String(text)
	start := -1
	for i, r := range text {
		switch {
		case unicode.IsLetter(r) || unicode.IsNumber(r):
			if start < 0 {
				start = i
			}
		case start >= 0 && !unicode.IsMark(r):
			s.run(text[start:i])
			start = -1
		}
	}
	if start >= 0 {
		s.run(text[start:])
	}
}

// run emits what one run of letters, numbers and marks yields.
func (s *scanner) run(run string) {
	if isASCII(run) {
		s.scanASCII(run)
		return
	}
	kept := s.word(run)
	if kept {
		s.camelParts(run)
	}
	s.pairs(run, kept)
}

// word emits a word's token and reports whether there was one.
func (s *scanner) word(word string) bool {
	lower, n := appendLower(s.buf[:0], word)
	s.buf = lower
	if n < minToken || n > maxToken || isStopword(lower) {
		return false
	}
	s.emit(fold(lower, n))
	return true
}

// appendLower appends a word in lower case and returns its length in characters.
// Unicode's full mapping differs from unicode.ToLower in the two cases below.
func appendLower(dst []byte, word string) ([]byte, int) {
	const (
		dotAbove       = '\u0307'
		capitalIDotted = '\u0130'
		capitalSigma   = '\u03A3'
		finalSigma     = '\u03C2'
	)
	n := 0
	letterBefore := false
	for i, r := range word {
		switch {
		case r == capitalIDotted:
			dst = append(dst, 'i')
			n++
			r = dotAbove
		case r == capitalSigma && letterBefore && onlyMarks(word[i+utf8.RuneLen(r):]):
			r = finalSigma
		default:
			r = unicode.ToLower(r)
		}
		letterBefore = letterBefore || unicode.IsLetter(r)
		dst = utf8.AppendRune(dst, r)
		n++
	}
	return dst, n
}

func onlyMarks(s string) bool {
	for _, r := range s {
		if !unicode.IsMark(r) {
			return false
		}
	}
	return true
}

// camelParts emits the parts of a camelCase identifier of at most maxToken
// characters, and nothing for any other word.
func (s *scanner) camelParts(word string) {
	var letters [maxToken]rune // marks left out: they belong to the letter before them
	var at [maxToken]int       // where each starts in word
	n := 0
	for i, r := range word {
		if !unicode.IsMark(r) {
			letters[n], at[n] = r, i
			n++
		}
	}
	if !isCamelCase(letters[:n]) {
		return
	}
	start := 0
	for i := 1; i < n; i++ {
		if startsPart(letters[:n], i) {
			s.word(word[start:at[i]])
			start = at[i]
		}
	}
	if start > 0 {
		s.word(word[start:])
	}
}

func isCamelCase(letters []rune) bool {
	lower := false // the last letter was a lower-case one
	for _, r := range letters {
		switch {
		case unicode.IsUpper(r):
			if lower {
				return true
			}
		case unicode.IsLetter(r):
			lower = unicode.IsLower(r)
		}
	}
	return false
}

func startsPart(letters []rune, i int) bool {
	if !unicode.IsUpper(letters[i]) {
		return false
	}
	before := letters[i-1]
	if unicode.IsLower(before) {
		return true
	}
	if !unicode.IsUpper(before) && !unicode.IsDigit(before) {
		return false
	}
	lower := 0
	for _, r := range letters[i+1:] {
		if !unicode.IsLower(r) {
			break
		}
		lower++
	}
	return lower > 1 || lower == 1 && letters[i+1] != 's'
}

// pairs emits the overlapping pairs of letters, or the only letter, of each run of
// letters of the scripts that have them. A letter takes its marks with it. kept
// says that the whole word was emitted.
func (s *scanner) pairs(word string, kept bool) {
	letters, previous, current := 0, 0, 0 // in this run: how many, where the last two start
	for i, r := range word {
		switch {
		case unicode.IsMark(r):
		case isPaired(r):
			if letters > 1 {
				s.piece(word, word[previous:i], kept)
			}
			letters, previous, current = letters+1, current, i
		default:
			s.lastPair(word, i, letters, previous, current, kept)
			letters = 0
		}
	}
	s.lastPair(word, len(word), letters, previous, current, kept)
}

func (s *scanner) lastPair(word string, end, letters, previous, current int, kept bool) {
	switch letters {
	case 0:
	case 1:
		s.piece(word, word[current:end], kept)
	default:
		s.piece(word, word[previous:end], kept)
	}
}

// piece emits a piece of a word, unless it is the whole word, emitted already.
func (s *scanner) piece(word, piece string, kept bool) {
	if kept && len(piece) == len(word) || utf8.RuneCountInString(piece) > maxToken {
		return
	}
	s.buf = append(s.buf[:0], piece...)
	s.emit(s.buf)
}

// isPaired reports whether r is a letter of a script whose runs yield pairs. The
// prolonged sound mark is of no script of its own and stands inside Katakana words.
func isPaired(r rune) bool {
	const firstPaired = '\u0E00' // where the Thai block starts; the others follow it
	const prolongedSound = '\u30FC'
	return r >= firstPaired && unicode.IsLetter(r) && (r == prolongedSound ||
		unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
			unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar))
}
