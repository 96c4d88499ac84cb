package frontmatter

import (
	"strings"
	"unicode/utf8"
)

// parsePlain reads the YAML that nearly all front matter is made of, without the
// library, which takes ten times as long and a hundred allocations more: lines
// "key: value", one level of lines indented below a key, flow mappings and
// sequences of scalars on one line, comments. Values are plain, or quoted without
// an escape, and end on their line.
//
// It never refuses: at anything else ok is false and the library decides. What it
// accepts is exactly what the library gives, places included; FuzzPlain and
// TestPlainEqualsLibrary hold it to that.
func parsePlain(text []byte) (root *Node, ok bool) {
	p := plainParser{text: string(text)}
	if strings.IndexByte(p.text, '\t') >= 0 {
		return nil, false
	}
	const some = 12 // keys of a memory file
	lists := make([]*Node, 2*some)
	root = &Node{Kind: Mapping, Tag: TagMapping, Keys: lists[:0:some], Values: lists[some:some]}
	for p.next() {
		if p.content == "" {
			continue
		}
		if !p.pair(root) {
			return nil, false
		}
	}
	if len(root.Keys) == 0 || uniqueKeys(root) != nil {
		return nil, false
	}
	root.Line, root.Column = root.Keys[0].Line, root.Keys[0].Column
	return root, true
}

// plainParser goes over the lines of a text.
type plainParser struct {
	text    string
	at      int // start of the next line
	number  int // of the line, from 1
	line    string
	indent  int
	content string // the line behind its indentation, "" when blank or a comment

	open   *Node // the null that "key:" has as its value until an indented line follows
	inside *Node // the mapping that indented lines belong to, and their indentation
	depth  int

	slab []Node
}

// next takes a line.
func (p *plainParser) next() bool {
	if p.at >= len(p.text) {
		return false
	}
	line, _, _ := strings.Cut(p.text[p.at:], "\n")
	p.at += len(line) + 1
	p.number++
	p.line = strings.TrimRight(line, " \r")
	p.indent = 0
	for p.indent < len(p.line) && p.line[p.indent] == ' ' {
		p.indent++
	}
	p.content = p.line[p.indent:]
	if p.content != "" && p.content[0] == '#' {
		p.content = ""
	}
	return true
}

// pair adds the line "key: value" to root, or to the mapping below its last key.
func (p *plainParser) pair(root *Node) bool {
	m := root
	switch {
	case p.indent == 0:
		p.inside = nil
	case p.inside != nil && p.indent == p.depth:
		m = p.inside
	case p.open != nil:
		// The first line below a key without a value.
		*p.open = Node{Kind: Mapping, Tag: TagMapping, Line: p.number, Column: p.indent + 1}
		m, p.inside, p.depth = p.open, p.open, p.indent
	default:
		return false
	}
	p.open = nil

	end := plainKey(p.content)
	if end == 0 {
		return false
	}
	key := p.scalar(p.content[:end], p.indent)
	rest := p.indent + end + 1 // behind the colon
	value, after := p.value(rest)
	if value == nil || !p.nothingAfter(after) {
		return false
	}
	if m == root && value.Tag == TagNull && value.Value == "" {
		p.open = value
	}
	m.Keys, m.Values = append(m.Keys, key), append(m.Values, value)
	return m == root || uniqueKeys(m) == nil
}

// plainKey returns the length of the key that s starts with, 0 for none: ASCII
// letters, digits, hyphens and underscores behind a letter, and then a colon that
// ends it.
func plainKey(s string) int {
	const longest = 128 // a key may have 1,024 characters; nothing near it is read here
	for i := 0; i < len(s) && i <= longest; i++ {
		switch c := s[i]; {
		case c|0x20 >= 'a' && c|0x20 <= 'z':
		case i > 0 && (isDigit(c) || c == '-' || c == '_'):
		case i > 0 && c == ':' && (i+1 == len(s) || s[i+1] == ' '):
			return i
		default:
			return 0
		}
	}
	return 0
}

// value reads the value that starts at or behind an offset of the line, which is
// behind a colon. It returns nil when it cannot, else also where the value ends.
func (p *plainParser) value(at int) (n *Node, after int) {
	start := p.skipSpaces(at)
	if start == len(p.line) || p.line[start] == '#' {
		n = p.node(at)
		n.Tag = TagNull
		return n, start
	}
	switch p.line[start] {
	case '[':
		return p.sequence(start)
	case '{':
		return p.flowMapping(start)
	}
	return p.scalarAt(start, false)
}

// scalarAt reads a quoted or plain scalar.
func (p *plainParser) scalarAt(start int, flow bool) (n *Node, after int) {
	s := p.line[start:]
	if s == "" {
		return nil, 0
	}
	if quote := s[0]; quote == '"' || quote == '\'' {
		i := strings.IndexByte(s[1:], quote)
		if i < 0 || quote == '"' && strings.IndexByte(s[1:1+i], '\\') >= 0 {
			return nil, 0
		}
		if after = start + i + 2; after < len(p.line) && p.line[after] == quote {
			return nil, 0 // two single quotes are one
		}
		n = p.node(start)
		n.Tag, n.Value = TagString, s[1:1+i]
		return n, after
	}
	end := plainScalar(s, flow)
	if end == 0 {
		return nil, 0
	}
	return p.scalar(s[:end], start), start + end
}

// plainScalar returns the length of the plain scalar that s starts with, without
// the blanks behind it; 0 when there is none or it is not clear where it ends.
func plainScalar(s string, flow bool) int {
	if c := s[0]; !(c|0x20 >= 'a' && c|0x20 <= 'z' || isDigit(c) || c == '/' || c == '.' || c == '_' || c == '(' || c >= utf8.RuneSelf) {
		return 0
	}
	end := len(s)
scan:
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case ':':
			if i+1 == len(s) || s[i+1] == ' ' || flow && !(s[i+1]|0x20 >= 'a' && s[i+1]|0x20 <= 'z' || isDigit(s[i+1]) || s[i+1] == '/') {
				return 0
			}
		case '#':
			if s[i-1] == ' ' {
				end = i
				break scan
			}
		case ',', ']', '}':
			if flow {
				end = i
				break scan
			}
		case '[', '{', '?':
			if flow {
				return 0
			}
		}
	}
	return len(strings.TrimRight(s[:end], " "))
}

// sequence reads a flow sequence of scalars.
func (p *plainParser) sequence(start int) (n *Node, after int) {
	n = p.node(start)
	n.Kind, n.Tag = Sequence, TagSequence
	at := p.skipSpaces(start + 1)
	if at < len(p.line) && p.line[at] == ']' {
		return n, at + 1
	}
	for {
		element, end := p.scalarAt(at, true)
		if element == nil {
			return nil, 0
		}
		n.Values = append(n.Values, element)
		end = p.skipSpaces(end)
		if end == len(p.line) {
			return nil, 0
		}
		switch p.line[end] {
		case ']':
			return n, end + 1
		case ',':
			at = p.skipSpaces(end + 1)
		default:
			return nil, 0
		}
	}
}

// flowMapping reads a flow mapping of scalars.
func (p *plainParser) flowMapping(start int) (n *Node, after int) {
	n = p.node(start)
	n.Kind, n.Tag = Mapping, TagMapping
	at := p.skipSpaces(start + 1)
	if at < len(p.line) && p.line[at] == '}' {
		return n, at + 1
	}
	for {
		length := plainKey(p.line[at:])
		if length == 0 {
			return nil, 0
		}
		key := p.scalar(p.line[at:at+length], at)
		value, end := p.scalarAt(p.skipSpaces(at+length+1), true)
		if value == nil {
			return nil, 0
		}
		n.Keys, n.Values = append(n.Keys, key), append(n.Values, value)
		end = p.skipSpaces(end)
		if end == len(p.line) {
			return nil, 0
		}
		switch p.line[end] {
		case '}':
			if uniqueKeys(n) != nil {
				return nil, 0
			}
			return n, end + 1
		case ',':
			at = p.skipSpaces(end + 1)
		default:
			return nil, 0
		}
	}
}

func (p *plainParser) skipSpaces(at int) int {
	for at < len(p.line) && p.line[at] == ' ' {
		at++
	}
	return at
}

// nothingAfter reports whether only a comment follows on the line.
func (p *plainParser) nothingAfter(at int) bool {
	rest := p.skipSpaces(at)
	return rest == len(p.line) || p.line[rest] == '#' && (rest > at || p.line[rest-1] == ' ')
}

// node returns a new node at an offset of the line.
func (p *plainParser) node(offset int) *Node {
	const some = 24 // keys and values of a memory file
	if len(p.slab) == 0 {
		p.slab = make([]Node, some)
	}
	n := &p.slab[0]
	p.slab = p.slab[1:]
	n.Line, n.Column = p.number, 1+utf8.RuneCountInString(p.line[:offset])
	return n
}

// scalar returns a plain scalar.
func (p *plainParser) scalar(value string, offset int) *Node {
	n := p.node(offset)
	n.Tag, n.Value = resolve(value), value
	return n
}
