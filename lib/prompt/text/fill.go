package text

import (
	"slices"
	"strings"
)

// placeholders are what texts of ours may leave open: the product's and the model's
// name, the working folder, the project's name and the product's data folder. In a
// body they stand in double braces.
var placeholders = []string{"product", "model", "cwd", "project", "dataRoot"}

// fill replaces the placeholders of a body in one pass, so that a value which looks
// like a placeholder stays as it is. Lines without a value are left out, and with the
// last line of a paragraph the blank line before it.
func fill(body string, values map[string]string) string {
	if !strings.Contains(body, "{{") {
		return body
	}
	var kept []string
	for line := range strings.SplitSeq(body, "\n") {
		filled, ok := fillLine(line, values)
		if !ok || filled == "" && (len(kept) == 0 || kept[len(kept)-1] == "") {
			continue
		}
		kept = append(kept, filled)
	}
	return strings.TrimRight(strings.Join(kept, "\n"), "\n")
}

// fillLine replaces the placeholders of a line; false if one has no value.
func fillLine(line string, values map[string]string) (filled string, ok bool) {
	var b strings.Builder
	for {
		before, rest, open := strings.Cut(line, "{{")
		name, after, closed := strings.Cut(rest, "}}")
		if !open || !closed {
			b.WriteString(line)
			return b.String(), true
		}
		if !slices.Contains(placeholders, name) {
			b.WriteString(before + "{{")
			line = rest
			continue
		}
		if values[name] == "" {
			return "", false
		}
		b.WriteString(before + values[name])
		line = after
	}
}
