package memory

import (
	"bytes"
	"fmt"
)

// The two lines that hold the block in an instruction file.
const (
	StartMarker = "<!-- kxm:memory:start -->"
	EndMarker   = "<!-- kxm:memory:end -->"
)

var (
	startMarker = []byte(StartMarker)
	endMarker   = []byte(EndMarker)
	byteOrder   = []byte("\ufeff")
)

// markers is where an instruction file's markers stand, outside fenced code.
type markers struct {
	starts, ends []int // byte offsets of the first byte of each marker
	openFence    bool  // the file ends inside fenced code
	imports      []int // byte offsets of lines that are an import, "@path"
}

// scanMarkers finds the markers of a text. A marker is its exact text anywhere
// in a line that is no part of fenced code.
func scanMarkers(text []byte) markers {
	var m markers
	var s scanner
	for start := 0; start < len(text); {
		end, next := lineEnd(text, start)
		line := text[start:end]
		if start == 0 {
			line = bytes.TrimPrefix(line, byteOrder)
		}
		if !s.code(line) {
			at := end - len(line)
			m.starts = appendIndexes(m.starts, line, startMarker, at)
			m.ends = appendIndexes(m.ends, line, endMarker, at)
			if t := bytes.TrimSpace(line); len(t) > 1 && t[0] == '@' && !bytes.ContainsAny(t, " \t") {
				m.imports = append(m.imports, at+bytes.IndexByte(line, '@'))
			}
		}
		start = next
	}
	m.openFence = s.fence.char != 0
	return m
}

func appendIndexes(to []int, line, marker []byte, at int) []int {
	for {
		i := bytes.Index(line, marker)
		if i < 0 {
			return to
		}
		to = append(to, at+i)
		line, at = line[i+len(marker):], at+i+len(marker)
	}
}

// lineEnd returns where the line that begins at start ends, without its line
// break, and where the next one begins.
func lineEnd(text []byte, start int) (end, next int) {
	i := bytes.IndexByte(text[start:], '\n')
	if i < 0 {
		return len(text), len(text)
	}
	end = start + i
	if end > start && text[end-1] == '\r' {
		end--
	}
	return end, start + i + 1
}

// problem says what is wrong with the markers, or "".
func (m *markers) problem() string {
	starts, ends := len(m.starts), len(m.ends)
	switch {
	case starts == 0 && ends == 0:
		return ""
	case ends == 0:
		return "has " + StartMarker + " with no " + EndMarker
	case starts == 0:
		return "has " + EndMarker + " with no " + StartMarker
	case starts > 1 || ends > 1:
		return fmt.Sprintf("has %d %s and %d %s markers, not one block", starts, StartMarker, ends, EndMarker)
	case m.ends[0] < m.starts[0]:
		return "has " + EndMarker + " before " + StartMarker
	}
	return ""
}

// block returns the byte range of the block, from the first byte of the start
// marker to behind the end marker; ok is false where the text has no sound block.
func (m *markers) block() (start, end int, ok bool) {
	if len(m.starts) != 1 || m.problem() != "" {
		return 0, 0, false
	}
	return m.starts[0], m.ends[0] + len(endMarker), true
}

// MarkerProblem says what is wrong with the block markers of an instruction
// file, as the end of a sentence that begins with its name, or "" if it holds one
// block or none.
func MarkerProblem(text []byte) string {
	m := scanMarkers(text)
	return m.problem()
}

// FindBlock returns the byte range of the memory block, markers included; ok is
// false where there is none or its markers are malformed.
func FindBlock(text []byte) (start, end int, ok bool) {
	m := scanMarkers(text)
	return m.block()
}

// Imports reports whether the instruction file imports the file named, as in
// "@AGENTS.md" (or "@./AGENTS.md") on a line of its own outside fenced code.
func Imports(text []byte, name string) bool { return importOffset(text, name) >= 0 }

func importOffset(text []byte, name string) int {
	m := scanMarkers(text)
	for _, at := range m.imports {
		end, _ := lineEnd(text, at)
		target := bytes.TrimRight(text[at+1:end], " \t")
		if string(bytes.TrimPrefix(target, []byte("./"))) == name {
			return at
		}
	}
	return -1
}

// scanner tells the lines of fenced code from the others, as CommonMark does:
// a fence is at least three backticks or tildes, indented by at most three
// columns, closed by one of the same character that is at least as long, and
// otherwise runs to the end of its container. List items and block quotes are
// followed, since a fence behind "- " or "> " would else be missed and its closing
// line taken for an opening one. Comments over several lines hold no fences.
//
// Not followed: lazy continuation lines, which end a list item here, and HTML
// blocks other than comments.
type scanner struct {
	containers []container
	fence      struct {
		char   byte // 0: not inside fenced code
		length int
		depth  int // the containers it stands in
	}
	comment int // depth + 1 of the comment that the line is in; 0: none
}

// container is a block quote, or a list item with the columns its content is
// indented by.
type container struct {
	quote  bool
	indent int
}

// code reports whether the line, given without its line break, is part of fenced
// code; the fences themselves are.
func (s *scanner) code(line []byte) bool {
	c := cursor{rest: line}
	matched := 0
	for matched < len(s.containers) && c.enter(s.containers[matched]) {
		matched++
	}
	if s.fence.char != 0 {
		if matched >= s.fence.depth {
			if char, n := c.run(); char == s.fence.char && n >= s.fence.length && len(bytes.TrimSpace(c.rest[n:])) == 0 {
				s.fence.char = 0
			}
			return true
		}
		s.fence.char = 0 // its list item or quote has ended
	}
	s.containers = s.containers[:matched]
	if s.comment > 0 {
		if matched >= s.comment-1 {
			if bytes.Contains(line, []byte("-->")) {
				s.comment = 0
			}
			return false
		}
		s.comment = 0
	}
	for {
		inner, ok := c.open()
		if !ok {
			break
		}
		s.containers = append(s.containers, inner)
	}
	if char, n := c.run(); n >= 3 && (char == '~' || char == '`' && bytes.IndexByte(c.rest[n:], '`') < 0) {
		s.fence.char, s.fence.length, s.fence.depth = char, n, len(s.containers)
		return true
	}
	if text, ok := bytes.CutPrefix(c.rest, []byte("<!--")); ok && !bytes.Contains(text, []byte("-->")) {
		s.comment = len(s.containers) + 1
	}
	return false
}

// cursor walks over the indentation and the container marks of one line.
type cursor struct {
	rest    []byte
	column  int
	pending int // columns of a tab that were not consumed with it
}

// indent skips white space and returns its width in columns.
func (c *cursor) indent() int {
	n := c.pending
	c.pending = 0
	for len(c.rest) > 0 {
		switch c.rest[0] {
		case ' ':
			n++
			c.column++
		case '\t':
			w := 4 - c.column%4
			n += w
			c.column += w
		default:
			return n
		}
		c.rest = c.rest[1:]
	}
	return n
}

// enter steps into a container that an earlier line opened and reports whether
// this line continues it.
func (c *cursor) enter(in container) bool {
	before := *c
	n := c.indent()
	if in.quote {
		if n <= 3 && len(c.rest) > 0 && c.rest[0] == '>' {
			c.quote()
			return true
		}
		*c = before
		return false
	}
	if len(c.rest) == 0 {
		return true // a blank line ends no list item
	}
	if n < in.indent {
		*c = before
		return false
	}
	c.pending = n - in.indent
	return true
}

func (c *cursor) quote() {
	c.rest, c.column = c.rest[1:], c.column+1
	if n := c.indent(); n > 0 {
		c.pending = n - 1
	}
}

// open steps into a container that begins here.
func (c *cursor) open() (container, bool) {
	n := c.indent()
	if n > 3 || len(c.rest) == 0 {
		c.pending = n
		return container{}, false
	}
	if c.rest[0] == '>' {
		c.quote()
		return container{quote: true}, true
	}
	width := listMark(c.rest)
	if width == 0 {
		c.pending = n
		return container{}, false
	}
	c.rest, c.column = c.rest[width:], c.column+width
	space := c.indent()
	if space > 4 || len(c.rest) == 0 { // indented code, or nothing yet
		c.pending, space = max(space-1, 0), 1
	}
	return container{indent: n + width + space}, true
}

// run returns the fence character at the cursor and how often it repeats; n is 0
// where the line is indented too far or begins with something else.
func (c *cursor) run() (char byte, n int) {
	if c.indent() > 3 || len(c.rest) == 0 {
		return 0, 0
	}
	char = c.rest[0]
	if char != '`' && char != '~' {
		return 0, 0
	}
	for n < len(c.rest) && c.rest[n] == char {
		n++
	}
	return char, n
}

// listMark returns the width of the list mark that the text begins with, or 0.
// A thematic break such as "* * *" is none.
func listMark(text []byte) int {
	width := 0
	switch c := text[0]; {
	case c == '-' || c == '*' || c == '+':
		if bytes.Count(text, text[:1]) >= 3 && len(bytes.Trim(text, string(rune(c))+" \t")) == 0 {
			return 0
		}
		width = 1
	case c >= '0' && c <= '9':
		for width < len(text) && width < 9 && text[width] >= '0' && text[width] <= '9' {
			width++
		}
		if width == len(text) || text[width] != '.' && text[width] != ')' {
			return 0
		}
		width++
	default:
		return 0
	}
	if width < len(text) && text[width] != ' ' && text[width] != '\t' {
		return 0
	}
	return width
}
