package packet

import "strings"

// fenceMarks are the characters that fences are made of.
const fenceMarks = "`~"

// block makes a text of several lines fit to stand between two sections: nothing in it
// is a heading of the document, and nothing stays open behind it. Code stays as it is
// between fences that begin where a line begins and that end.
func block(s string) string {
	all := strings.Split(lines(s), "\n")
	behind := closingBehind(all)
	for i := 0; i < len(all); i++ {
		mark, n := opens(all[i])
		if n == 0 || behind[i][mark] < n {
			all[i] = escapeLine(all[i])
			continue
		}
		for i++; closes(all[i], mark) < n; {
			i++
		}
	}
	return strings.Join(all, "\n")
}

// opens returns which mark opens a fence with the line's first character, and how often
// it stands there; 0 is no fence. An indented fence may belong to a list, and end with
// it.
func opens(line string) (mark, n int) {
	for mark := range len(fenceMarks) {
		n := len(line) - len(strings.TrimLeft(line, fenceMarks[mark:mark+1]))
		if n >= 3 && (fenceMarks[mark] != '`' || !strings.Contains(line[n:], "`")) {
			return mark, n
		}
	}
	return 0, 0
}

// closes returns how long a fence of the mark the line ends at most; 0 is none.
func closes(line string, mark int) int {
	fence := strings.TrimLeft(line, " ")
	if len(line)-len(fence) > 3 {
		return 0
	}
	rest := strings.TrimLeft(fence, fenceMarks[mark:mark+1])
	if strings.Trim(rest, " \t") != "" {
		return 0
	}
	return len(fence) - len(rest)
}

// closingBehind returns for each line and mark the longest fence that a line behind it
// ends, so that no fence is looked for an end of in vain.
func closingBehind(all []string) [][len(fenceMarks)]int {
	longest := make([][len(fenceMarks)]int, len(all))
	for i := len(all) - 2; i >= 0; i-- {
		for mark := range len(fenceMarks) {
			longest[i][mark] = max(longest[i+1][mark], closes(all[i+1], mark))
		}
	}
	return longest
}

// escapeLine escapes what opens a heading, a fence or HTML at the start of a line, and
// what makes a heading of the line above.
func escapeLine(line string) string {
	text := strings.TrimLeft(line, " \t")
	indent := line[:len(line)-len(text)]
	bare := strings.TrimRight(text, " \t")
	switch {
	case text == "":
	case strings.HasPrefix(text, "```"):
		n := backticks(text)
		return indent + strings.Repeat("\\`", n) + text[n:]
	case text[0] == '#', strings.HasPrefix(text, "~~~"), htmlStart(text), strings.Trim(bare, "=") == "", strings.Trim(bare, "-") == "":
		return indent + `\` + text
	}
	return line
}

// htmlStart reports whether a text begins as HTML does.
func htmlStart(text string) bool {
	if len(text) < 2 || text[0] != '<' {
		return false
	}
	c := text[1]
	return c == '!' || c == '?' || c == '/' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
