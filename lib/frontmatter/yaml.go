package frontmatter

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"kxm/lib/fault"
)

// parseYAML reads the text of a parts into a tree.
func parseYAML(text []byte) (*Node, *fault.Error) {
	if root, ok := parsePlain(text); ok {
		return root, nil
	}
	return parseWithLibrary(text)
}

// parseWithLibrary is parseYAML for any text.
func parseWithLibrary(text []byte) (*Node, *fault.Error) {
	root, err := decodeYAML(text)
	if err != nil {
		return nil, err
	}
	if root == nil {
		return &Node{Kind: Mapping, Tag: TagMapping, Line: 1 + bytes.Count(text, []byte{'\n'}), Column: 1}, nil
	}
	c := newConverter(text, root)
	return c.node(root, 1)
}

// decodeYAML runs the library and returns the root mapping, or nil when the text
// holds nothing but blank lines and comments.
func decodeYAML(text []byte) (root *yaml.Node, err *fault.Error) {
	if err := oneDocument(text); err != nil {
		return nil, err
	}
	doc, cause := unmarshal(text)
	if cause != nil {
		return nil, yamlError(text, cause)
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	root = doc.Content[0]
	if root.Kind == yaml.ScalarNode && root.Value == "" && root.Style == 0 && root.Anchor == "" {
		return nil, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, fault.New(fault.InvalidFrontMatter, "front matter is not a mapping of keys to values").
			At("", root.Line, root.Column)
	}
	return root, nil
}

// unmarshal is yaml.Unmarshal into a node. The library reports what it finds
// wrong by panicking and recovers only its own kind of panic; the input comes
// from outside, so one of another kind is an error too.
func unmarshal(text []byte) (doc yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("yaml: %v", r)
		}
	}()
	err = yaml.Unmarshal(text, &doc)
	return doc, err
}

// oneDocument refuses the markers that start or end a document inside the front
// matter: the library would silently read no further. A marker in the first
// column is one even inside a scalar, so lines are enough.
func oneDocument(text []byte) *fault.Error {
	for i := bytes.IndexByte(text, '\n'); i >= 0 && i+1 < len(text); {
		line := text[i+1:]
		if len(line) >= 3 && (string(line[:3]) == "---" || string(line[:3]) == "...") &&
			(len(line) == 3 || line[3] == ' ' || line[3] == '\t' || line[3] == '\n' || line[3] == '\r') {
			err := fault.New(fault.InvalidFrontMatter, "front matter holds the document marker %s", line[:3])
			if line[0] == '-' {
				err = err.WithHint("a fence is exactly ---, with nothing after it on its line")
			}
			return placed(text, i+1, err)
		}
		n := bytes.IndexByte(line, '\n')
		if n < 0 {
			break
		}
		i += 1 + n
	}
	return nil
}

// converter turns the library's nodes into ours, with one allocation for all
// nodes and one for all lists.
type converter struct {
	text  []byte
	nodes []Node
	lists []*Node
	lines []int // offsets of the lines, only when the text holds a '!'
}

func newConverter(text []byte, root *yaml.Node) *converter {
	n := count(root)
	c := &converter{text: text, nodes: make([]Node, n), lists: make([]*Node, n)}
	if bytes.IndexByte(text, '!') >= 0 {
		c.lines = lineOffsets(text)
	}
	return c
}

func count(n *yaml.Node) int {
	total := 1
	for _, child := range n.Content {
		total += count(child)
	}
	return total
}

// list takes a list of n nodes, nil for none.
func (c *converter) list(n int) []*Node {
	if n == 0 {
		return nil
	}
	l := c.lists[:n:n]
	c.lists = c.lists[n:]
	return l
}

func (c *converter) node(y *yaml.Node, depth int) (*Node, *fault.Error) {
	refuse := func(format string, args ...any) (*Node, *fault.Error) {
		return nil, fault.New(fault.InvalidFrontMatter, format, args...).At("", y.Line, y.Column)
	}
	switch {
	case y.Kind == yaml.AliasNode:
		return refuse("front matter holds the alias %s", fault.Quote("*"+y.Value))
	case y.Anchor != "":
		return refuse("front matter holds the anchor %s", fault.Quote("&"+y.Anchor))
	case y.Style&yaml.TaggedStyle != 0 || c.lines != nil && c.byteAt(y) == '!':
		_, err := refuse("front matter holds an explicit tag")
		return nil, err.WithHint("put the value in double quotes to make it text")
	case depth > MaxDepth && y.Kind != yaml.ScalarNode:
		return refuse("front matter nests deeper than %d levels", MaxDepth)
	}

	n := &c.nodes[0]
	c.nodes = c.nodes[1:]
	n.Line, n.Column = y.Line, y.Column
	switch y.Kind {
	case yaml.MappingNode:
		n.Kind, n.Tag = Mapping, TagMapping
		pairs := len(y.Content) / 2
		n.Keys, n.Values = c.list(pairs), c.list(pairs)
		for i := range pairs {
			key := y.Content[2*i]
			if key.Kind == yaml.ScalarNode && key.Tag == "!!merge" {
				return nil, fault.New(fault.InvalidFrontMatter, "front matter holds the merge key %q", "<<").At("", key.Line, key.Column)
			}
			var err *fault.Error
			if n.Keys[i], err = c.node(key, depth+1); err != nil {
				return nil, err
			}
			if n.Keys[i].Kind != Scalar {
				return nil, fault.New(fault.InvalidFrontMatter, "a key of the front matter is no scalar").At("", key.Line, key.Column)
			}
			if n.Values[i], err = c.node(y.Content[2*i+1], depth+1); err != nil {
				return nil, err
			}
		}
		if err := uniqueKeys(n); err != nil {
			return nil, err
		}
	case yaml.SequenceNode:
		n.Kind, n.Tag = Sequence, TagSequence
		n.Values = c.list(len(y.Content))
		for i, child := range y.Content {
			var err *fault.Error
			if n.Values[i], err = c.node(child, depth+1); err != nil {
				return nil, err
			}
		}
	default:
		n.Tag, n.Value = TagString, y.Value
		if y.Style == 0 {
			n.Tag = resolve(y.Value)
		}
	}
	return n, nil
}

// byteAt returns the byte at which a node starts. Only this shows the tag "!",
// which the library drops.
func (c *converter) byteAt(y *yaml.Node) byte {
	if at := offsetOf(c.text, c.lines, y.Line, y.Column); at < len(c.text) {
		return c.text[at]
	}
	return 0
}

// uniqueKeys refuses a mapping with two equal keys. The library's nodes let them
// pass.
func uniqueKeys(n *Node) *fault.Error {
	const few = 16 // up to here comparing all pairs is cheaper than a map
	var seen map[string]*Node
	if len(n.Keys) > few {
		seen = make(map[string]*Node, len(n.Keys))
	}
	for i, k := range n.Keys {
		var first *Node
		if seen != nil {
			first = seen[k.Value]
			seen[k.Value] = k
		} else if j := slices.IndexFunc(n.Keys[:i], func(o *Node) bool { return o.Value == k.Value }); j >= 0 {
			first = n.Keys[j]
		}
		if first != nil {
			return fault.New(fault.InvalidFrontMatter, "duplicate key %s, first on line %d", fault.Quote(k.Value), first.Line).
				At("", k.Line, k.Column)
		}
	}
	return nil
}

// lineOffsets returns where each line of text starts.
func lineOffsets(text []byte) []int {
	lines := make([]int, 1, 32)
	for i, c := range text {
		if c == '\n' {
			lines = append(lines, i+1)
		}
	}
	return lines
}

// offsetOf turns a line and a column in code points into an offset.
func offsetOf(text []byte, lines []int, line, column int) int {
	if line > len(lines) {
		return len(text)
	}
	at := lines[line-1]
	for column--; column > 0 && at < len(text); column-- {
		at++
		for at < len(text) && text[at]&0xc0 == 0x80 {
			at++
		}
	}
	return at
}

// yamlError places an error of the library. The library says "line N" for the
// place where it began to read the construct that failed; its parser counts lines
// from zero and its scanner from one, and a place on its first line is lost. That
// line is the opening fence's here, so nothing is lost.
func yamlError(text []byte, cause error) *fault.Error {
	line, message := libraryPlace(cause)
	err := fault.New(fault.InvalidFrontMatter, "front matter is not YAML: %s", fault.Printable(message))
	if name, ok := strings.CutPrefix(message, "unknown anchor '"); ok {
		name, _, _ = strings.Cut(name, "'")
		if at := bytes.Index(text, []byte("*"+name)); at >= 0 {
			return placed(text, at, fault.New(fault.InvalidFrontMatter, "front matter holds the alias %s", fault.Quote("*"+name)))
		}
	}
	switch message {
	case "did not find expected key", "did not find expected '-' indicator":
		// The place is the start of the whole block. A block that is cut at the
		// end of a line is still a block, so the first line at which this error
		// appears is the faulty one, and from there on it stays.
		lines := append(lineOffsets(text), len(text))
		line = sort.Search(len(lines)-1, func(i int) bool {
			_, cause := unmarshal(text[:lines[i+1]])
			if cause == nil {
				return false
			}
			_, m := libraryPlace(cause)
			return m == message
		}) + 1
	case "did not find expected <document start>", "did not find expected node content",
		"did not find expected ',' or ']'", "did not find expected ',' or '}'", "found undefined tag handle":
		line++
	}
	if line < 1 {
		return err.At("", 1, 0)
	}

	content := lineOf(text, line)
	tab := tabIndent(content)
	if message == "found a tab character that violates indentation" {
		// The place is the start of the scalar that the tab's line goes on with.
		for last := 1 + bytes.Count(text, []byte{'\n'}); tab < 0 && line < last; tab = tabIndent(lineOf(text, line)) {
			line++
		}
	}
	if tab >= 0 {
		return fault.New(fault.InvalidFrontMatter, "front matter is not YAML: a tab may not indent a line").
			WithHint("indent with spaces").At("", line, tab+1)
	}
	column := 0
	switch message {
	case "mapping values are not allowed in this context":
		err = err.WithHint(`put a value that holds ": " in double quotes`)
		column = valueColumn(content)
	case "found unexpected end of stream":
		err = err.WithHint("close the quotation mark")
		column = valueColumn(content)
	case "could not find expected ':'":
		err = err.WithHint("each line is a key, a colon, a blank and a value; indent a line that goes on with the one before")
	case "did not find expected ',' or ']'", "did not find expected ',' or '}'":
		err = err.WithHint("close the bracket")
		column = valueColumn(content)
	case "found character that cannot start any token", "did not find expected alphabetic or numeric character":
		err = err.WithHint("put a value that starts with a symbol in double quotes")
		column = valueColumn(content)
	}
	return err.At("", line, column)
}

// libraryPlace takes "yaml: line N: message" apart; N is 0 when it is missing.
func libraryPlace(cause error) (line int, message string) {
	var types *yaml.TypeError
	if errors.As(cause, &types) && len(types.Errors) > 0 {
		message = types.Errors[0]
	} else {
		message = strings.TrimPrefix(cause.Error(), "yaml: ")
	}
	if rest, ok := strings.CutPrefix(message, "line "); ok {
		if n, after, ok := strings.Cut(rest, ": "); ok {
			if line, err := strconv.Atoi(n); err == nil {
				return line, after
			}
		}
	}
	return 0, message
}

// lineOf returns a line of text without its line ending; the last line for one
// that is past the end.
func lineOf(text []byte, line int) []byte {
	for ; line > 1; line-- {
		i := bytes.IndexByte(text, '\n')
		if i < 0 {
			break
		}
		text = text[i+1:]
	}
	line1, _, _ := bytes.Cut(text, []byte{'\n'})
	return bytes.TrimSuffix(line1, []byte{'\r'})
}

// tabIndent returns the offset of the first tab in a line's indentation, or -1.
func tabIndent(line []byte) int {
	return bytes.IndexByte(line[:len(line)-len(bytes.TrimLeft(line, " \t"))], '\t')
}

// valueColumn returns the column, in code points, of the value in a line
// "key: value", or 0 when the line has no such form.
func valueColumn(line []byte) int {
	i := bytes.Index(line, []byte(": "))
	if i < 0 {
		return 0
	}
	start := len(line) - len(bytes.TrimLeft(line[i+1:], " "))
	if start == len(line) {
		return 0
	}
	return 1 + len([]rune(string(line[:start])))
}
