package redact

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"
)

// hit is one match of a rule: the secret in it is what gitleaks reports, the mask
// what has to go.
type hit struct {
	rule                int
	match, secret, mask span
}

// span is a range of bytes in a text.
type span struct{ start, end int }

func (s span) in(text string) string { return text[s.start:s.end] }

// match appends the secrets that a rule's expressions find: the wide one first,
// and where that matches, the rule's own.
func (d *detector) match(hits []hit, i int, text, path string) []hit {
	r, c := ruleAt(i), &d.rules[i]
	own := func() string { return r.regex }
	if d.verbatim {
		hits, _ = d.matchAll(hits, c.own.get(r.id, own), i, text, path)
		return hits
	}
	var matched bool
	if r.form == formAssigned {
		hits, matched = d.matchValues(hits, i, text, path)
	} else {
		hits, matched = d.matchAll(hits, c.wideOf(r), i, text, path)
	}
	if matched && c.wideOf(r).String() != r.regex {
		hits, _ = d.matchAll(hits, c.own.get(r.id, own), i, text, path)
	}
	return hits
}

// matchAll appends the secrets that one expression finds, and reports whether it
// matched at all.
func (d *detector) matchAll(hits []hit, re *regexp.Regexp, i int, text, path string) (_ []hit, matched bool) {
	for w := range d.windows(text, ruleAt(i)) {
		for _, m := range re.FindAllStringIndex(w.in(text), -1) {
			matched = true
			if h, ok := d.check(re, i, text, path, span{w.start + m[0], w.start + m[1]}); ok {
				hits = append(hits, h)
			}
		}
	}
	return hits, matched
}

// matchValues is matchAll for the wide expression of a rule of formAssigned, which
// does not ask what stands before a match. Where a match turns out to be no secret
// it goes on at the start of the value, which may be the name of the next one
// ("auth: access-token: <value>").
func (d *detector) matchValues(hits []hit, i int, text, path string) (_ []hit, matched bool) {
	r := ruleAt(i)
	quick := d.rules[i].quick.get(r.id, func() string { return r.quick })
	for w := range d.windows(text, r) {
		for d.unfiltered || quick.MatchString(w.in(text)) {
			wide := d.rules[i].wideOf(r)
			m := wide.FindStringIndex(w.in(text))
			if m == nil {
				break
			}
			matched = true
			h, ok := d.check(wide, i, text, path, span{w.start + m[0], w.start + m[1]})
			if w.start += m[1]; ok {
				hits = append(hits, h)
			} else {
				w.start = max(h.secret.start, w.start-m[1]+m[0]+1)
			}
		}
	}
	return hits, matched
}

// check takes a match to its secret as gitleaks does: without line feeds at its
// ends, the captures sought in the match alone, then entropy and allowlists.
func (d *detector) check(re *regexp.Regexp, i int, text, path string, match span) (hit, bool) {
	r := ruleAt(i)
	for match.start < match.end && text[match.start] == '\n' {
		match.start++
	}
	for match.start < match.end && text[match.end-1] == '\n' {
		match.end--
	}
	secret := match
	if g := capture(re, r.group, match.in(text)); g.start < g.end {
		secret = span{match.start + g.start, match.start + g.end}
	}
	h := hit{i, match, secret, secret}
	if r.whole {
		h.mask = match
	}
	switch {
	case r.entropy != 0 && entropy(secret.in(text)) <= r.entropy,
		d.allowed(gitleaksAllow[:], d.global[:], text, path, match, secret),
		d.allowed(r.allow, d.allow(i), text, path, match, secret),
		!d.verbatim && public(text, secret.start, secret.end):
		return h, false
	}
	return h, true
}

// capture returns the place of a group in the text; with group 0, of the first that
// is not empty. An empty span says that there is none.
func capture(re *regexp.Regexp, group int, text string) span {
	if re.NumSubexp() == 0 {
		return span{}
	}
	groups := re.FindStringSubmatchIndex(text)
	first, last := 1, len(groups)/2-1
	if group != 0 {
		first, last = group, min(group, last)
	}
	for g := first; g <= last; g++ {
		if groups[2*g] < groups[2*g+1] {
			return span{groups[2*g], groups[2*g+1]}
		}
	}
	return span{}
}

// allow returns what is compiled of a rule's allowlists.
func (d *detector) allow(i int) []compiledAllow {
	c := &d.rules[i]
	c.allowOnce.Do(func() { c.allow = make([]compiledAllow, len(ruleAt(i).allow)) })
	return c.allow
}

// allowed reports whether one of the lists lets a secret through.
func (d *detector) allowed(lists []allowlist, states []compiledAllow, text, path string, match, secret span) bool {
	for i := range lists {
		a, c := &lists[i], &states[i]
		regex := func() bool {
			target := secret
			switch a.target {
			case targetMatch:
				target = match
			case targetLine:
				target = lines(text, match)
			}
			return c.regexIn(a, target.in(text))
		}
		stop := func() bool { return c.stopwordIn(a, secret.in(text)) }
		if a.and {
			// A list of paths alone was asked about before the text was read.
			if (len(a.regexes) > 0 || len(a.stopwords) > 0) &&
				(len(a.paths) == 0 || c.pathIn(a, path)) &&
				(len(a.regexes) == 0 || regex()) &&
				(len(a.stopwords) == 0 || stop()) {
				return true
			}
			continue
		}
		if stop() || regex() {
			return true
		}
	}
	return false
}

// pathAllowed reports whether one of the lists lets the whole file through.
func (d *detector) pathAllowed(path string, lists []allowlist, states []compiledAllow) bool {
	for i := range lists {
		a := &lists[i]
		if a.and && (len(a.regexes) > 0 || len(a.stopwords) > 0) {
			continue // the text decides as well
		}
		if states[i].pathIn(a, path) {
			return true
		}
	}
	return false
}

func (c *compiledAllow) regexIn(a *allowlist, text string) bool {
	return len(a.regexes) > 0 && text != "" && c.regexes.get("allowlist", func() string { return join(a.regexes) }).MatchString(text)
}

func (c *compiledAllow) pathIn(a *allowlist, path string) bool {
	return len(a.paths) > 0 && path != "" && c.paths.get("allowlist", func() string { return join(a.paths) }).MatchString(path)
}

func (c *compiledAllow) stopwordIn(a *allowlist, secret string) bool {
	if len(a.stopwords) == 0 {
		return false
	}
	c.stopOnce.Do(func() { c.stopwords = newWordSet(a.stopwords) })
	return c.stopwords.in(secret)
}

// lines widens a span to whole lines. (gitleaks takes the whole text up to there
// for the line of a match in a last line without a line feed, and a word at its
// start then lets everything through; that is not followed.)
func lines(text string, s span) span {
	s.start = strings.LastIndexByte(text[:s.start], '\n') + 1
	if end := strings.IndexByte(text[s.end:], '\n'); end >= 0 {
		s.end += end
	} else {
		s.end = len(text)
	}
	return s
}

// entropy returns the Shannon entropy of the characters of s in bits, with the
// length in bytes as gitleaks has it. The sum has a fixed order and no fused
// multiply-add, so that a bound is kept alike on every processor.
func entropy(s string) (sum float64) {
	counts := make(map[rune]int, 64)
	var order []rune
	for _, r := range s {
		if counts[r]++; counts[r] == 1 {
			order = append(order, r)
		}
	}
	inverse := 1 / float64(len(s))
	for _, r := range order {
		p := float64(float64(counts[r]) * inverse)
		sum -= float64(p * math.Log2(p))
	}
	return sum
}

// unite returns the hits as findings in the order of the text. Hits that overlap
// become one, under the rule that says most: not a generic one, then the longer
// mask, then gitleaks' order.
func unite(hits []hit) []Finding {
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(a.mask.start, b.mask.start) })
	var found []Finding
	var best hit
	for _, h := range hits {
		last := len(found) - 1
		if last < 0 || h.mask.start >= found[last].End {
			best = h
			found = append(found, Finding{ruleAt(h.rule).id, h.mask.start, h.mask.end})
			continue
		}
		found[last].End = max(found[last].End, h.mask.end)
		if says(h, best) {
			best = h
			found[last].Rule = ruleAt(h.rule).id
		}
	}
	return found
}

// says reports whether a says more than b.
func says(a, b hit) bool {
	if ga, gb := generic(a.rule), generic(b.rule); ga != gb {
		return gb
	}
	if la, lb := a.mask.end-a.mask.start, b.mask.end-b.mask.start; la != lb {
		return la > lb
	}
	return a.rule < b.rule
}

func generic(rule int) bool { return strings.Contains(ruleAt(rule).id, "generic") }
