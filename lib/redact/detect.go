package redact

import (
	"math/bits"
	"sync"
)

const ruleCount = len(gitleaksRules) + len(ownRules)

// ruleAt returns a rule by its number: gitleaks' first, in their order.
func ruleAt(i int) *rule {
	if i < len(gitleaksRules) {
		return &gitleaksRules[i]
	}
	return &ownRules[i-len(gitleaksRules)]
}

// detector runs the rules. Its zero value is ready; everything in it is built when
// it is first needed, and it may be used by many goroutines at once. Tests set its
// fields to compare with gitleaks and with the rules run without their prefilter.
type detector struct {
	verbatim   bool // gitleaks' rules alone, as they are: no wide borders, none of ours, digests are secrets
	unfiltered bool // try every rule whose keyword occurs

	rules  [ruleCount]compiled
	global [len(gitleaksAllow)]compiledAllow

	keywordsOnce sync.Once
	keywords     *wordSet
	ruleOf       []uint8 // by keyword
	always       []uint8 // rules without a keyword
}

// product is the detector behind the package's functions.
var product detector

// ruleSet is a set of rule numbers.
type ruleSet [(ruleCount + 63) / 64]uint64

func (s *ruleSet) add(i uint8) { s[i/64] |= 1 << (i % 64) }

// detect returns what the rules find in the text. The path may be empty: rules
// that are bound to one look at a file alone.
func (d *detector) detect(text, path string) []hit {
	if path != "" && d.pathAllowed(path, gitleaksAllow[:], d.global[:]) {
		return nil
	}
	var hits []hit
	var longest runs
	measured := d.unfiltered
	seen := d.keywordRules(text, path)
	for w, word := range seen {
		for ; word != 0; word &= word - 1 {
			i := w*64 + bits.TrailingZeros64(word)
			r := ruleAt(i)
			if !d.pathFits(i, path) {
				continue
			}
			if r.regex == "" { // the path alone decides
				hits = append(hits, hit{rule: i, mask: span{0, len(text)}})
				continue
			}
			if !measured {
				longest, measured = runsOf(text), true
			}
			if d.unfiltered || longest.hold(r) {
				hits = d.match(hits, i, text, path)
			}
		}
	}
	return hits
}

// keywordRules returns the rules to try on a text: those that have a keyword in it,
// and those without any.
func (d *detector) keywordRules(text, path string) (seen ruleSet) {
	d.keywordsOnce.Do(d.loadKeywords)
	for _, i := range d.always {
		if path != "" || ruleAt(int(i)).path == "" {
			seen.add(i)
		}
	}
	d.keywords.each(text, func(word int) bool {
		seen.add(d.ruleOf[word])
		return true
	})
	return seen
}

func (d *detector) loadKeywords() {
	words := make([]string, 0, 2*ruleCount)
	for i := range ruleCount {
		if d.verbatim && i >= len(gitleaksRules) {
			break
		}
		r := ruleAt(i)
		if len(r.keywords) == 0 {
			d.always = append(d.always, uint8(i))
		}
		for _, k := range r.keywords {
			words = append(words, k)
			d.ruleOf = append(d.ruleOf, uint8(i))
		}
	}
	d.keywords = newWordSet(words)
}

// pathFits reports whether the rule applies to a file of that path, or to a text
// without one.
func (d *detector) pathFits(i int, path string) bool {
	r := ruleAt(i)
	if path == "" {
		return r.path == ""
	}
	if r.path != "" && !d.rules[i].path.get(r.id, func() string { return r.path }).MatchString(path) {
		return false
	}
	return !d.pathAllowed(path, r.allow, d.allow(i))
}
