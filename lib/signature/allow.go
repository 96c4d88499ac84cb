package signature

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"kxm/lib/fault"
)

// Lines returns the lines that grant something, in order. The caller may not change
// them.
func (s Signers) Lines() []Signer { return s.lines }

// Len returns how many lines grant something.
func (s Signers) Len() int { return len(s.lines) }

// Allows reports whether a line allows the key to sign in the namespace at a time,
// and the first principal of the first such line. If none does, why says what each
// line with that key lacks. The time counts in whole seconds, as OpenSSH's does.
func (s Signers) Allows(key Key, namespace string, at time.Time) (principal string, ok bool, why string) {
	for _, i := range s.byKey[key] {
		if s.lines[i].refuses(namespace, at) == "" {
			return s.lines[i].Principals[0], true, ""
		}
	}
	var reasons []string
	for _, i := range s.byKey[key] {
		reasons = append(reasons, fmt.Sprintf("line %d %s", s.lines[i].Line, s.lines[i].refuses(namespace, at)))
	}
	for _, p := range s.problems[key] {
		reasons = append(reasons, fmt.Sprintf("line %d grants nothing: %s", p.Line, p.Reason))
	}
	if reasons == nil {
		return "", false, "no line is for " + key.Fingerprint()
	}
	return "", false, strings.Join(reasons, "; ")
}

// refuses says why the line does not allow its key; "" if it does.
func (l *Signer) refuses(namespace string, at time.Time) string {
	const form = "2006-01-02T15:04:05Z"
	switch {
	case !matchList(l.Namespaces, namespace):
		return "does not allow the namespace " + fault.Quote(namespace)
	case !l.ValidAfter.IsZero() && at.Unix() < l.ValidAfter.Unix():
		return "is valid only after " + l.ValidAfter.Format(form)
	case !l.ValidBefore.IsZero() && at.Unix() > l.ValidBefore.Unix():
		return "was valid only before " + l.ValidBefore.Format(form)
	}
	return ""
}

// PersonOf returns who holds the key; 0 if no line that grants something has it.
func (s Signers) PersonOf(key Key) Person { return s.keys[key] }

// PersonNamed returns who bears the name, letter for letter; 0 if nobody does.
func (s Signers) PersonNamed(name string) Person { return s.names[name] }

// persons numbers the persons in the order of their first lines.
func persons(lines []Signer) (names map[string]Person, keys map[Key]Person) {
	// A union-find forest over the lines; each root is its person's first line.
	parent := make([]int, len(lines))
	find := func(i int) int {
		for parent[i] != i {
			parent[i] = parent[parent[i]]
			i = parent[i]
		}
		return i
	}
	firstNamed, firstKeyed := map[string]int{}, map[Key]int{}
	for i, l := range lines {
		parent[i] = i
		join := func(j int) {
			a, b := find(i), find(j)
			parent[max(a, b)] = min(a, b)
		}
		for _, name := range l.Principals {
			if j, ok := firstNamed[name]; ok {
				join(j)
			} else {
				firstNamed[name] = i
			}
		}
		if j, ok := firstKeyed[l.Key]; ok {
			join(j)
		} else {
			firstKeyed[l.Key] = i
		}
	}
	names, keys = map[string]Person{}, map[Key]Person{}
	for name, i := range firstNamed {
		names[name] = Person(find(i) + 1)
	}
	for key, i := range firstKeyed {
		keys[key] = Person(find(i) + 1)
	}
	return names, keys
}

// matchList is OpenSSH's match_pattern_list: some pattern matches and no excluding
// one does, in whatever order.
func matchList(patterns []string, s string) bool {
	excludes := func(p string) bool { return p != "" && p[0] == '!' && match(p[1:], s) }
	grants := func(p string) bool { return (p == "" || p[0] != '!') && match(p, s) }
	return slices.ContainsFunc(patterns, grants) && !slices.ContainsFunc(patterns, excludes)
}

// match is OpenSSH's match_pattern, by bytes: * is any run, ? any one. It goes back
// to the last * only, so that no pattern costs more than its length times s's.
func match(pattern, s string) bool {
	p, i := 0, 0
	star, from := -1, 0 // the last * and where its run ends
	for i < len(s) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from = p, i
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == s[i]):
			p++
			i++
		case star >= 0:
			from++
			p, i = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
