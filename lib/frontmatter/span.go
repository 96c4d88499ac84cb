package frontmatter

import (
	"bytes"

	"go.yaml.in/yaml/v3"
)

// yamlSource finds where the values of a block mapping end. The library's nodes
// say only where they start.
type yamlSource struct {
	text  []byte
	lines []int
}

func (s *yamlSource) offset(n *yaml.Node) int { return offsetOf(s.text, s.lines, n.Line, n.Column) }

// colon returns the offset of the colon behind a key, false when none follows on
// the key's line ("? key").
func (s *yamlSource) colon(key *yaml.Node) (int, bool) {
	at := s.offset(key)
	if key.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
		at = s.quotedEnd(at)
	} else {
		at += len(key.Value) // a plain key has no escapes and one line
	}
	for at < len(s.text) && (s.text[at] == ' ' || s.text[at] == '\t') {
		at++
	}
	return at, at < len(s.text) && s.text[at] == ':'
}

// end returns the offset behind the last byte of a value. limit is where the next
// key's line starts; indent is the column, from zero, of the collection that the
// value is in.
func (s *yamlSource) end(n *yaml.Node, limit, indent int) int {
	start := s.offset(n)
	switch {
	case n.Style&yaml.FlowStyle != 0:
		return s.flowEnd(start, limit)
	case len(n.Content) > 0:
		return s.end(n.Content[len(n.Content)-1], limit, n.Column-1)
	case n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0:
		return s.quotedEnd(start)
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return s.blockEnd(start, limit, indent)
	case n.Value == "":
		return start
	}
	return s.plainEnd(start, limit)
}

// quotedEnd returns the offset behind the closing quotation mark.
func (s *yamlSource) quotedEnd(at int) int {
	quote := s.text[at]
	for at++; at < len(s.text); at++ {
		switch {
		case s.text[at] == '\\' && quote == '"':
			at++
		case s.text[at] == quote && quote == '\'' && at+1 < len(s.text) && s.text[at+1] == quote:
			at++
		case s.text[at] == quote:
			return at + 1
		}
	}
	return len(s.text)
}

// plainEnd returns the offset behind a plain scalar, which goes on over lines
// until a comment or the limit.
func (s *yamlSource) plainEnd(at, limit int) int {
	end := at
	for at < limit {
		next := s.nextLine(at)
		line := s.text[at:min(next, limit)]
		cut := len(line)
		for i, c := range line {
			if c == '#' && at+i > 0 && isBlank(s.text[at+i-1]) {
				cut = i
				break
			}
		}
		if content := bytes.TrimRight(line[:cut], " \t\r\n"); len(bytes.TrimLeft(content, " \t")) > 0 {
			end = at + len(content)
		}
		if cut < len(line) {
			break
		}
		at = next
	}
	return end
}

// blockEnd returns the offset behind a literal or folded scalar: the lines after
// its header that are indented as far as its content. Blank lines behind the last
// of them are left out.
func (s *yamlSource) blockEnd(at, limit, indent int) int {
	next := s.nextLine(at)
	header := bytes.TrimRight(s.text[at:next], " \t\r\n")
	end := at + len(header)
	content := 0 // columns of indentation that make a line content; 0: not known yet
	for _, c := range header[1:min(3, len(header))] {
		if c >= '1' && c <= '9' {
			content = indent + int(c-'0')
		}
	}
	for at = next; at < limit; at = next {
		next = s.nextLine(at)
		line := s.text[at:next]
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		columns := len(line) - len(bytes.TrimLeft(line, " "))
		if content == 0 && columns > indent {
			content = columns
		}
		if content == 0 || columns < content {
			break
		}
		end = at + len(bytes.TrimRight(line, "\r\n"))
	}
	return end
}

// flowEnd returns the offset behind the bracket that closes a flow collection.
func (s *yamlSource) flowEnd(at, limit int) int {
	depth := 0
	fresh := true   // a quotation mark here opens a quoted scalar
	closed := false // a colon here ends a key even without a blank after it
	for at < limit {
		c := s.text[at]
		switch {
		case isBlank(c):
			at++
			continue
		case c == '#' && isBlank(s.text[at-1]):
			at = s.nextLine(at)
			continue
		case fresh && (c == '"' || c == '\''):
			at, fresh, closed = s.quotedEnd(at), false, true
			continue
		case c == '[' || c == '{':
			depth++
			fresh, closed = true, false
		case c == ']' || c == '}':
			if depth--; depth == 0 {
				return at + 1
			}
			fresh, closed = false, true
		case c == ',':
			fresh, closed = true, false
		case (c == ':' || c == '?' && fresh) && (closed || at+1 < limit && (isBlank(s.text[at+1]) || bytes.IndexByte([]byte(",[]{}"), s.text[at+1]) >= 0)):
			fresh, closed = true, false
		default:
			fresh, closed = false, false
		}
		at++
	}
	return limit
}

// nextLine returns the offset of the line after the one that at is on.
func (s *yamlSource) nextLine(at int) int {
	if n := bytes.IndexByte(s.text[at:], '\n'); n >= 0 {
		return at + n + 1
	}
	return len(s.text)
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
