package redact

import (
	"iter"
	"strings"
)

// The kinds of a run of token characters.
const (
	runAssigned = 1 << iota // behind an assignment, or holding one
	runMixed                // holding something else than letters, '_', '.' and '-'
	runKinds
)

// kind returns what a run that can hold the rule's secret is at least.
func (r *rule) kind() (kind int) {
	if r.form == formAssigned {
		kind |= runAssigned
	}
	if r.mixed {
		kind |= runMixed
	}
	return kind
}

// runs holds the length in bytes of the longest run of token characters of a text
// for each combination of kinds that a run has at least.
type runs [runKinds]int

// runsOf measures the text.
func runsOf(text string) (longest runs) {
	for s, kind := range tokenRuns(text) {
		for k := range longest {
			if k&kind == k {
				longest[k] = max(longest[k], s.end-s.start)
			}
		}
	}
	return longest
}

// hold reports whether the text can match the rule at all. It decides for nearly
// all prose, so that a word like "token" costs no regular expression there.
func (l *runs) hold(r *rule) bool { return l[r.kind()] >= r.run }

// What is looked at beside a run that can hold a secret, in bytes: in front of a
// token the character that a border asks about, and behind any run less than the
// shortest run of a rule, which the generator checks.
const (
	border = 8
	tail   = 8
)

// windows yields the parts of the text in which the rule can match, so that a long
// text costs no more than the candidates in it. In front of a value stands as much
// as the rule can match there, in which \w may be a letter of up to three bytes. A match neither crosses the start of
// a window, since it would hold a run that widens the window, nor ends at its end
// where the text goes on, since a run ends before the tail and none fits into it.
func (d *detector) windows(text string, r *rule) iter.Seq[span] {
	return func(yield func(span) bool) {
		if d.unfiltered || r.form == formAny {
			yield(span{0, len(text)})
			return
		}
		before := border
		if r.form == formAssigned {
			if before = r.lead; strings.Contains(text, "ſ") || strings.Contains(text, "\u212A") {
				before *= len("\u212A")
			}
		}
		var w span
		need := r.kind()
		for s, kind := range tokenRuns(text) {
			if s.end-s.start < r.run || kind&need != need {
				continue
			}
			next := span{max(0, s.start-before), min(len(text), s.end+tail)}
			if w.end > next.start {
				w.end = next.end
				continue
			}
			if w.end > 0 && !yield(w) {
				return
			}
			w = next
		}
		if w.end > 0 {
			yield(w)
		}
	}
}

// tokenRuns yields the runs of token characters of the text with their kinds.
func tokenRuns(text string) iter.Seq2[span, int] {
	return func(yield func(span, int) bool) {
		for i := 0; i < len(text); i++ {
			if tokenKind(text[i]) == 0 {
				continue
			}
			start, seen := i, tokenByte(0)
			for ; i < len(text); i++ {
				k := tokenKind(text[i])
				if k == 0 {
					break
				}
				seen |= k
			}
			kind := 0
			if seen&tokenMixed != 0 {
				kind |= runMixed
			}
			if seen&tokenEqual != 0 || assignedAt(text, start) {
				kind |= runAssigned
			}
			if !yield(span{start, i}, kind) {
				return
			}
		}
	}
}

// assignedAt reports whether what stands before i is an assignment: one of gitleaks'
// operators and then at most spaces and quotes. It allows more of these than a
// rule does.
func assignedAt(text string, i int) bool {
	for i--; i >= 0; i-- {
		switch text[i] {
		case '`', '\'', '"', ' ', '\t', '\n', '\r', '\f':
		case '=', '>', '|', ':', ',':
			return true
		default:
			return false
		}
	}
	return false
}

// tokenByte says what a byte is in a run; 0 ends the run.
type tokenByte uint8

const (
	tokenPlain tokenByte = 1 << iota
	tokenMixed
	tokenEqual
)

// tokenKind classifies a byte. The bytes outside ASCII are those of the two letters
// that \w includes when case is folded, 'ſ' and the Kelvin sign.
func tokenKind(c byte) tokenByte {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '_', c == '.', c == '-':
		return tokenPlain
	case '0' <= c && c <= '9', c == '/', c == '+', c == 0xC5, c == 0xBF, c == 0xE2, c == 0x84, c == 0xAA:
		return tokenMixed
	case c == '=':
		return tokenMixed | tokenEqual
	}
	return 0
}
