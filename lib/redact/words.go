package redact

import "strings"

// wordSet finds which of many words occur in a text, in one pass and without
// regard to ASCII case. It looks at each three bytes in turn: a bit says whether a
// word begins like them, and only then are words compared. Building it costs a few
// microseconds, which an automaton over the same words does not.
type wordSet struct {
	begins [1 << 15 / 64]uint64
	heads  [1 << 10]uint16 // chains of entries, by the hash of three bytes; 0 ends one
	links  []wordLink
	words  []string
}

type wordLink struct {
	key        uint16
	word, next uint16
}

// code is the part of a byte that a key holds; letters that differ in case alone
// are equal in it, and so are some other bytes.
func code(c byte) uint16 { return uint16(c & 0x1f) }

func bucket(key uint16) uint16 { return (key ^ key>>5) & (1<<10 - 1) }

// newWordSet returns a set of lower-case words of at least two bytes.
func newWordSet(words []string) *wordSet {
	w := &wordSet{words: words, links: make([]wordLink, 1, len(words)+64)}
	for i, word := range words {
		key := code(word[0])<<10 | code(word[1])<<5
		if len(word) > 2 {
			w.add(key|code(word[2]), i)
			continue
		}
		for third := range uint16(1 << 5) {
			w.add(key|third, i)
		}
	}
	return w
}

func (w *wordSet) add(key uint16, word int) {
	w.begins[key/64] |= 1 << (key % 64)
	head := &w.heads[bucket(key)]
	w.links = append(w.links, wordLink{key, uint16(word), *head})
	*head = uint16(len(w.links) - 1)
}

// each calls found with the index of each word, once for each place where it
// stands in the text, until found returns false.
func (w *wordSet) each(text string, found func(word int) bool) {
	text = foldLetters(text)
	if len(text) < 2 {
		return
	}
	key := code(text[0])<<5 | code(text[1])
	for i := 2; i <= len(text); i++ {
		key = key << 5 & (1<<15 - 1)
		if i < len(text) { // a word of two bytes may end the text
			key |= code(text[i])
		}
		if w.begins[key/64]&(1<<(key%64)) == 0 {
			continue
		}
		for l := w.heads[bucket(key)]; l != 0; l = w.links[l].next {
			if link := &w.links[l]; link.key == key && hasPrefixFold(text[i-2:], w.words[link.word]) && !found(int(link.word)) {
				return
			}
		}
	}
}

// in reports whether a word of the set stands in the text.
func (w *wordSet) in(text string) bool {
	any := false
	w.each(text, func(int) bool { any = true; return false })
	return any
}

// hasPrefixFold reports whether s begins with the lower-case word.
func hasPrefixFold(s, word string) bool {
	if len(s) < len(word) {
		return false
	}
	for i := range len(word) {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != word[i] {
			return false
		}
	}
	return true
}

// foldLetters returns the text in lower case if it holds one of the two letters
// outside ASCII whose lower case is in it (the Kelvin sign, the dotted capital I):
// gitleaks sees keywords in what they spell. Other text is returned as it is.
func foldLetters(text string) string {
	if strings.Contains(text, "\u212A") || strings.Contains(text, "\u0130") {
		return strings.ToLower(text)
	}
	return text
}
