package prompt

import (
	"cmp"
	"slices"

	"kxm/lib/redact"
)

// cleaner removes secrets from what comes from outside, and counts them by section
// and rule.
type cleaner struct{ counts map[Redaction]int }

func newCleaner() *cleaner { return &cleaner{counts: map[Redaction]int{}} }

// clean returns a text of a section without secrets.
func (c *cleaner) clean(section, text string) string {
	clean, found := redact.Redact(text)
	for _, f := range found {
		c.counts[Redaction{Section: section, Rule: f.Rule}]++
	}
	return clean
}

// cleanName is clean for what has a limit that a mask could break: then the mask of
// one rule stands for all of it.
func (c *cleaner) cleanName(section, text string, most int) string {
	clean, found := redact.Redact(text)
	for _, f := range found {
		c.counts[Redaction{Section: section, Rule: f.Rule}]++
	}
	if len(found) > 0 && length(clean) > most {
		return first("[redacted:"+found[0].Rule+"]", most)
	}
	return clean
}

// redactions returns the counts, sorted.
func (c *cleaner) redactions() []Redaction {
	all := make([]Redaction, 0, len(c.counts))
	for r, n := range c.counts {
		r.Count = n
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b Redaction) int {
		return cmp.Or(cmp.Compare(a.Section, b.Section), cmp.Compare(a.Rule, b.Rule))
	})
	return all
}
