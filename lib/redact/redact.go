// Package redact owns the detection and masking of secrets in text, file names and
// files: the rules of gitleaks and the few formats that this toolchain knows
// besides.
//
// Start with [Redact], which masks, or [Find], which says where; [ScanFile] is for
// files that people review, and [FindPath] for names. A pass over the text finds
// the keywords of all rules; a rule is compiled, and tried, only where one of its
// keywords occurs and the text holds what its expression cannot do without.
//
// gitleaks' rules are data here (rules_gen.go, written by internal/gen from the
// module, which a test compares with it): linking its packages would double a
// program's start. Entropy bounds, secret groups and allowlists count as they do
// there. Three things differ. A secret is also found next to an underscore and
// before punctuation, as it stands in prose and identifiers. Ids and digests of
// this toolchain and of Git are not secrets. And a mask covers the whole token
// where gitleaks' capture is a part of it.
//
// It does not decode: a secret inside base64 or percent signs is found only where a
// rule knows that form. It does not find keys by guessing at random-looking text:
// without a known format, a name such as "token" must stand before the value.
package redact

import (
	"strings"
	"unicode/utf8"
)

// Finding is a secret in a text: the rule that found it and the bytes it takes.
type Finding struct {
	Rule       string
	Start, End int
}

// Find returns the secrets in the text: exactly what [Redact] masks, in order and
// without overlap. The result is nil when there is none.
func Find(text string) []Finding { return product.find(text) }

// Redact returns the text with each secret replaced by [redacted:<rule>], and what
// it replaced, in the places of the text given. A text without secrets is returned
// as it is. Redacting the result again changes nothing.
func Redact(text string) (string, []Finding) {
	found := product.find(text)
	return mask(text, found), found
}

// FindPath returns the secrets in a path or file name: those in its text, and the
// whole of it if it names a file that is a secret as such, a key store for example.
func FindPath(path string) []Finding {
	hits := product.scan(path, "")
	return unite(append(hits, product.scan(path, path)...))
}

// find returns the secrets of a text that belongs to no file. Masking a secret can
// bring another one to light, which overlapped it or was hidden by what stood next
// to it, so the masked text is searched again until it is clean. Each turn masks
// something more, so this ends; a third turn is rare.
func (d *detector) find(text string) []Finding {
	found := unite(d.scan(text, ""))
	if len(found) == 0 {
		return nil
	}
	for {
		hits := d.scan(mask(text, found), "")
		if len(hits) == 0 {
			return found
		}
		for i := range hits {
			m := &hits[i].mask
			*m = span{original(found, m.start), original(found, m.end)}
		}
		for _, f := range found {
			hits = append(hits, hit{rule: ruleNumber(f.Rule), mask: span{f.Start, f.End}})
		}
		found = unite(hits)
	}
}

// original takes a place in the masked text, which is not inside a placeholder, back
// to the text.
func original(found []Finding, at int) int {
	longer := 0 // by how much the text is longer than the masked one so far
	for _, f := range found {
		if at <= f.Start-longer {
			break
		}
		longer += f.End - f.Start - len(placeholder) - len(f.Rule) - len("]")
	}
	return at + longer
}

const placeholder = "[redacted:"

// mask replaces the findings by placeholders.
func mask(text string, found []Finding) string {
	if len(found) == 0 {
		return text
	}
	var b strings.Builder
	b.Grow(len(text) + 32*len(found))
	at := 0
	for _, f := range found {
		b.WriteString(text[at:f.Start])
		b.WriteString(placeholder)
		b.WriteString(f.Rule)
		b.WriteByte(']')
		at = f.End
	}
	b.WriteString(text[at:])
	return b.String()
}

// scan is detect without what is masked already: a hit that has no letter or digit
// outside placeholders is dropped, and one that cuts a placeholder is widened to
// cover it.
func (d *detector) scan(text, path string) []hit {
	hits := d.detect(text, path)
	if len(hits) == 0 || d.verbatim {
		return hits
	}
	holes := placeholders(text)
	if len(holes) == 0 {
		return hits
	}
	kept := hits[:0]
	for _, h := range hits {
		if h, ok := around(text, h, holes); ok {
			kept = append(kept, h)
		}
	}
	return kept
}

func around(text string, h hit, holes []span) (_ hit, ok bool) {
	at := h.mask.start
	for _, hole := range holes {
		if hole.end <= h.mask.start || h.mask.end <= hole.start {
			continue
		}
		ok = ok || at < hole.start && hasWord(text[at:hole.start])
		at = hole.end
		h.mask.start = min(h.mask.start, hole.start)
		h.mask.end = max(h.mask.end, hole.end)
	}
	return h, ok || at < h.mask.end && hasWord(text[at:h.mask.end])
}

// hasWord reports whether the text holds a letter or digit, or anything outside
// ASCII.
func hasWord(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool {
		return r >= utf8.RuneSelf || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
	})
}

// placeholders returns the places of the placeholders of known rules in the text.
func placeholders(text string) (holes []span) {
	for at := 0; ; {
		i := strings.Index(text[at:], placeholder)
		if i < 0 {
			return holes
		}
		start := at + i
		at = start + len(placeholder)
		if n := strings.IndexByte(text[at:], ']'); n >= 0 && ruleNumber(text[at:at+n]) >= 0 {
			at += n + 1
			holes = append(holes, span{start, at})
		}
	}
}

// ruleNumber returns the number of the rule with the id, or -1.
func ruleNumber(id string) int {
	for i := range ruleCount {
		if ruleAt(i).id == id {
			return i
		}
	}
	return -1
}
