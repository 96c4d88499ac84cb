package prompt

import "strings"

// fence is what opens a block of code: so many backticks or tildes. The zero value
// is none.
type fence struct {
	char byte
	size int
}

func (f fence) open() bool { return f.size > 0 }

// line is the line that closes the fence.
func (f fence) line() string { return strings.Repeat(string(rune(f.char)), f.size) }

// fences follows the blocks of code of a text, line by line.
type fences struct{ current fence }

// next reads one line, without its end. A fence is three or more backticks or tildes
// behind at most three spaces; it ends with as many of the same or more, alone on
// their line. As in CommonMark, backticks do not open one when another stands behind
// them in their line: that is a span of code, and a line that "closed" it would open
// a block.
func (f *fences) next(line string) {
	indent := 0
	for indent < len(line) && line[indent] == ' ' {
		indent++
	}
	if indent > 3 || indent == len(line) || line[indent] != '`' && line[indent] != '~' {
		return
	}
	char := line[indent]
	end := indent
	for end < len(line) && line[end] == char {
		end++
	}
	size, rest := end-indent, line[end:]
	switch {
	case size < 3:
	case !f.current.open():
		if char != '`' || strings.IndexByte(rest, '`') < 0 {
			f.current = fence{char, size}
		}
	case char == f.current.char && size >= f.current.size && strings.Trim(rest, " \t") == "":
		f.current = fence{}
	}
}

// openFence returns the fence that a text leaves open.
func openFence(text string) fence {
	if !strings.Contains(text, "```") && !strings.Contains(text, "~~~") {
		return fence{}
	}
	var f fences
	for text != "" {
		line, rest, _ := strings.Cut(text, "\n")
		f.next(line)
		text = rest
	}
	return f.current
}

// closeFence returns the text with the line that closes what it leaves open.
func closeFence(text string) string {
	if f := openFence(text); f.open() {
		return text + "\n" + f.line()
	}
	return text
}

// longestRun returns the most backticks in a row.
func longestRun(text string) int {
	longest := 0
	for {
		i := strings.IndexByte(text, '`')
		if i < 0 {
			return longest
		}
		text = text[i:]
		n := len(text) - len(strings.TrimLeft(text, "`"))
		longest = max(longest, n)
		text = text[n:]
	}
}
