// Package frontmatter owns the front matter of Markdown files: it reads the YAML
// between two "---" lines or the TOML between two "+++" lines into one tree whose
// nodes know their place in the file, and edits one key of it without touching
// any other byte.
//
// Start with [Parse]; [Set] edits. The package knows no key by name, does not
// render Markdown and touches no file: the meaning of a memory file or of a
// SKILL.md is that of the package that reads it.
//
// What is read is narrower than YAML on purpose, because these files are
// reviewed by people: the root is a mapping; anchors, aliases, merge keys and
// explicit tags are refused; so are duplicate keys, a second document, and
// characters that do not show. Plain scalars follow the core schema of YAML 1.2,
// so yes, no, on and off are text.
package frontmatter

import (
	"bytes"
	"errors"
	"unicode/utf8"

	"kxm/lib/fault"
)

const (
	// MaxSize is the most bytes that front matter may hold between its fences. A
	// memory file has a few hundred; at the bound the worst text costs about a tenth
	// of a second.
	MaxSize = 64 << 10

	// MaxDepth is how deep mappings and sequences may nest, the root being 1.
	MaxDepth = 32
)

// ErrMissing is in the chain of the error that Parse returns for data that has no
// front matter at all: no opening fence on the first line, or no closing one.
var ErrMissing = errors.New("no front matter")

// Kind is the shape of a node.
type Kind uint8

// The shapes of a node.
const (
	Scalar Kind = iota
	Mapping
	Sequence
)

// Format is the language between the fences.
type Format uint8

// The languages of front matter and their fences.
const (
	YAML Format = iota // ---
	TOML               // +++
)

// fence returns the line that opens and closes front matter of the format.
func (f Format) fence() string {
	if f == TOML {
		return "+++"
	}
	return "---"
}

// Tags of nodes, as YAML abbreviates them. TOML values carry the same ones;
// its dates and times are all TagTimestamp.
const (
	TagString    = "!!str"
	TagInt       = "!!int"
	TagFloat     = "!!float"
	TagBool      = "!!bool"
	TagNull      = "!!null"
	TagTimestamp = "!!timestamp"
	TagMapping   = "!!map"
	TagSequence  = "!!seq"
)

// Node is one value. A scalar holds its decoded text in Value, whatever its tag:
// a date or a number stays the text that stood in the file. A mapping holds its
// keys, all scalars and without duplicates, in Keys and their values at the same
// index in Values; a sequence holds its elements in Values.
//
// Line and Column say where the node starts in the file: both from 1, columns in
// code points. For an array inside a TOML array it is the place of the outer one.
type Node struct {
	Kind   Kind
	Tag    string
	Value  string
	Keys   []*Node
	Values []*Node
	Line   int
	Column int
}

// Get returns the value of a key of a mapping; false when the key is absent or n
// is no mapping. Keys are compared as text, so 1 and "1" are the same key.
func (n *Node) Get(key string) (*Node, bool) {
	for i, k := range n.Keys {
		if k.Value == key {
			return n.Values[i], true
		}
	}
	return nil, false
}

// Text returns the value of a scalar that is text; false for every other node,
// numbers, dates and booleans among them.
func (n *Node) Text() (string, bool) {
	if n.Kind != Scalar || n.Tag != TagString {
		return "", false
	}
	return n.Value, true
}

// Strings returns the elements of a sequence whose elements are all text; false
// for every other node. The list is never nil when ok.
func (n *Node) Strings() (list []string, ok bool) {
	if n.Kind != Sequence {
		return nil, false
	}
	list = make([]string, 0, len(n.Values))
	for _, v := range n.Values {
		s, ok := v.Text()
		if !ok {
			return nil, false
		}
		list = append(list, s)
	}
	return list, true
}

// Document is a parsed file. Root is always a mapping (an empty one when nothing
// stands between the fences); Body is everything after the closing fence's line,
// as it is, and BodyLine the line on which it starts.
type Document struct {
	Format   Format
	Root     *Node
	Body     string
	BodyLine int
}

// Parse reads the front matter at the start of data. Errors are
// fault.InvalidFrontMatter with source, line and, where it is known, column; when
// there is no front matter at all, [ErrMissing] is in their chain.
//
// A fence is exactly three hyphens (or plus signs) on a line of its own, the
// first of them on the first line: no space before or after, no byte-order mark.
// Lines end with LF or CRLF. The whole file must be UTF-8; characters that do not
// show (controls, line separators, a byte-order mark) are refused in the front
// matter only.
func Parse(source string, data []byte) (*Document, error) {
	p, err := split(data)
	if err != nil {
		return nil, err.At(source, 1, 0)
	}
	doc := &Document{Format: p.format, Body: string(p.body()), BodyLine: p.bodyLine}
	if err := p.checkText(); err != nil {
		return nil, err.At(source, 1, 0)
	}
	if p.format == TOML {
		doc.Root, err = parseTOML(p.text())
	} else {
		doc.Root, err = parseYAML(p.text())
	}
	if err != nil {
		return nil, err.At(source, 1, 0)
	}
	return doc, nil
}

// parts is a file cut at its fences.
type parts struct {
	data      []byte
	format    Format
	closing   int // offset of the closing fence
	bodyStart int
	bodyLine  int
}

// fenceSize is the length of a fence without its line ending.
const fenceSize = 3

// text returns what stands between the fences, with the line ending of the
// opening fence before it: its first line is then the file's first line, so that
// the positions that a parser reports for it are positions in the file.
func (p *parts) text() []byte { return p.data[fenceSize:p.closing:p.closing] }

func (p *parts) body() []byte { return p.data[p.bodyStart:] }

// newline returns the line ending of the opening fence.
func (p *parts) newline() string {
	if p.data[fenceSize] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// split finds the fences.
func split(data []byte) (*parts, *fault.Error) {
	p := &parts{data: data}
	if bytes.HasPrefix(data, []byte("+++")) {
		p.format = TOML
	}
	fence := p.format.fence()
	missing := fault.New(fault.InvalidFrontMatter, "no front matter enclosed in '%s'", fence)
	missing.Err = ErrMissing
	switch rest, _ := bytes.CutPrefix(data, []byte("\ufeff")); {
	case len(rest) != len(data) && isFence(rest, fence):
		return nil, missing.WithHint("remove the byte-order mark before the first fence")
	case !isFence(data, fence):
		return nil, missing.WithHint("the first line must be exactly %s", fence)
	}

	at := fenceSize
	line := 1
	for {
		n := bytes.IndexByte(data[at:], '\n')
		if n < 0 {
			return nil, missing.WithHint("the front matter that opens on line 1 has no closing %s", fence)
		}
		at += n + 1
		line++
		if isFence(data[at:], fence) {
			break
		}
	}
	p.closing = at
	if p.closing-fenceSize > MaxSize {
		return nil, fault.New(fault.InvalidFrontMatter, "front matter is larger than %d bytes", MaxSize)
	}
	if n := bytes.IndexByte(data[at:], '\n'); n < 0 {
		p.bodyStart, p.bodyLine = len(data), line
	} else {
		p.bodyStart, p.bodyLine = at+n+1, line+1
	}
	return p, nil
}

// isFence reports whether data starts with a line that is exactly the fence.
func isFence(data []byte, fence string) bool {
	if len(data) < fenceSize || string(data[:fenceSize]) != fence {
		return false
	}
	rest := data[fenceSize:]
	return len(rest) == 0 || rest[0] == '\n' || (rest[0] == '\r' && len(rest) > 1 && rest[1] == '\n')
}

// checkText refuses what is not UTF-8 anywhere, and in the front matter the
// characters that do not show: controls (a tab, LF and CRLF apart), the Unicode
// line separators, which the YAML library takes for line breaks though YAML 1.2
// does not, byte-order marks and noncharacters.
func (p *parts) checkText() *fault.Error {
	if !utf8.Valid(p.data) {
		at := 0
		for at < len(p.data) {
			r, n := utf8.DecodeRune(p.data[at:])
			if r == utf8.RuneError && n == 1 {
				break
			}
			at += n
		}
		return placed(p.data, at, fault.New(fault.InvalidFrontMatter, "text is not UTF-8"))
	}
	at := hidden(p.text())
	if at < 0 {
		return nil
	}
	at += fenceSize
	r, _ := utf8.DecodeRune(p.data[at:])
	err := fault.New(fault.InvalidFrontMatter, "front matter holds the character U+%04X, which does not show", r)
	if r == '\r' {
		err = err.WithHint("a carriage return may only stand before a line feed")
	} else if p.format == YAML {
		err = err.WithHint("remove it, or write it as an escape in double quotes")
	}
	return placed(p.data, at, err)
}

// hidden returns the offset of the first character that front matter may not
// hold, or -1.
func hidden(text []byte) int {
	for i, c := range text {
		switch {
		case c >= 0x20 && c < 0x7f || c == '\n' || c == '\t':
		case c == '\r' && i+1 < len(text) && text[i+1] == '\n':
		case c < 0x80:
			return i
		case c == 0xc2 && text[i+1] < 0xa0, // U+0080 to U+009F
			c == 0xe2 && text[i+1] == 0x80 && (text[i+2] == 0xa8 || text[i+2] == 0xa9), // U+2028, U+2029
			c == 0xef && text[i+1] == 0xbb && text[i+2] == 0xbf,                        // U+FEFF
			c == 0xef && text[i+1] == 0xbf && text[i+2] >= 0xbe:                        // U+FFFE, U+FFFF
			return i
		}
	}
	return -1
}

// placed puts err at an offset of data.
func placed(data []byte, offset int, err *fault.Error) *fault.Error {
	before := data[:offset]
	line := 1 + bytes.Count(before, []byte{'\n'})
	start := bytes.LastIndexByte(before, '\n') + 1
	return err.At("", line, 1+utf8.RuneCount(before[start:]))
}
