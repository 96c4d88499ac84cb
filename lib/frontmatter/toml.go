package frontmatter

import (
	"errors"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"kxm/lib/fault"
)

// parseTOML reads the text of a parts into a tree. The library decodes it twice:
// once into a map, which checks everything that TOML demands (duplicate keys,
// redefined tables, dates that exist), then expression by expression for the
// places, which only its parser knows.
func parseTOML(text []byte) (*Node, *fault.Error) {
	if err := checkTOML(text); err != nil {
		return nil, err
	}
	b := tomlBuilder{text: text, lines: lineOffsets(text)}
	root := &Node{Kind: Mapping, Tag: TagMapping, Line: 2, Column: 1}
	b.parser.Reset(text)
	table, depth := root, 1
	for b.parser.NextExpression() {
		e := b.parser.Expression()
		var err *fault.Error
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			table, depth, err = b.table(root, e)
		case unstable.KeyValue:
			err = b.keyValue(table, e, depth)
		}
		if err != nil {
			return nil, err
		}
	}
	return root, nil
}

// checkTOML decodes the whole text and places the library's error.
func checkTOML(text []byte) *fault.Error {
	var whole map[string]any
	err := toml.Unmarshal(text, &whole)
	if err == nil {
		return nil
	}
	refusal := fault.New(fault.InvalidFrontMatter, "front matter is not TOML: %s", fault.Printable(trimPrefix(err.Error(), "toml: ")))
	var decode *toml.DecodeError
	if !errors.As(err, &decode) {
		return refusal.At("", 1, 0)
	}
	line, column := decode.Position() // the column counts bytes
	content := lineOf(text, line)
	if column-1 <= len(content) && line > 1 {
		column = 1 + utf8.RuneCount(content[:max(column-1, 0)])
	}
	return refusal.At("", line, column)
}

func trimPrefix(s, prefix string) string {
	if len(s) >= len(prefix) && s[:len(prefix)] == prefix {
		return s[len(prefix):]
	}
	return s
}

// tomlBuilder builds the tree from a text that checkTOML accepted: a key that is
// there already is a table that may be extended.
type tomlBuilder struct {
	parser unstable.Parser
	text   []byte
	lines  []int
}

// at places a node at an offset.
func (b *tomlBuilder) at(n *Node, offset int) *Node {
	lo, hi := 0, len(b.lines)
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; b.lines[mid] <= offset {
			lo = mid
		} else {
			hi = mid
		}
	}
	n.Line, n.Column = lo+1, 1+utf8.RuneCount(b.text[b.lines[lo]:offset])
	return n
}

func (b *tomlBuilder) key(k *unstable.Node) *Node {
	return b.at(&Node{Kind: Scalar, Tag: TagString, Value: string(k.Data)}, int(k.Raw.Offset))
}

// descend returns the mapping under a key of m, which is in the given depth, and
// the depth of that mapping; it creates one that is not there. Where an array of
// tables stands it is the last element, one deeper.
func (b *tomlBuilder) descend(m *Node, k *unstable.Node, depth int) (*Node, int, *fault.Error) {
	v, ok := m.Get(string(k.Data))
	if !ok {
		v = b.at(&Node{Kind: Mapping, Tag: TagMapping}, int(k.Raw.Offset))
		m.Keys, m.Values = append(m.Keys, b.key(k)), append(m.Values, v)
	}
	depth++
	if v.Kind == Sequence {
		v = v.Values[len(v.Values)-1]
		depth++
	}
	return v, depth, b.deep(depth, int(k.Raw.Offset))
}

// deep refuses a collection past MaxDepth.
func (b *tomlBuilder) deep(depth, offset int) *fault.Error {
	if depth <= MaxDepth {
		return nil
	}
	return placed(b.text, offset, fault.New(fault.InvalidFrontMatter, "front matter nests deeper than %d levels", MaxDepth))
}

// table returns the mapping that a header [a.b] or [[a.b]] opens, and its depth.
func (b *tomlBuilder) table(root *Node, e *unstable.Node) (m *Node, depth int, err *fault.Error) {
	m, depth = root, 1
	for it := e.Key(); it.Next(); {
		k := it.Node()
		if e.Kind == unstable.Table || !it.IsLast() {
			if m, depth, err = b.descend(m, k, depth); err != nil {
				return nil, 0, err
			}
			continue
		}
		element := b.at(&Node{Kind: Mapping, Tag: TagMapping}, int(k.Raw.Offset))
		if v, ok := m.Get(string(k.Data)); ok {
			v.Values = append(v.Values, element)
		} else {
			list := b.at(&Node{Kind: Sequence, Tag: TagSequence, Values: []*Node{element}}, int(k.Raw.Offset))
			m.Keys, m.Values = append(m.Keys, b.key(k)), append(m.Values, list)
		}
		m, depth = element, depth+2
		if err := b.deep(depth, int(k.Raw.Offset)); err != nil {
			return nil, 0, err
		}
	}
	return m, depth, nil
}

// keyValue puts key = value into m, which is in the given depth.
func (b *tomlBuilder) keyValue(m *Node, e *unstable.Node, depth int) (err *fault.Error) {
	for it := e.Key(); it.Next(); {
		k := it.Node()
		if !it.IsLast() {
			if m, depth, err = b.descend(m, k, depth); err != nil {
				return err
			}
			continue
		}
		v, err := b.value(e.Value(), tomlValueStart(b.text, k), depth+1)
		if err != nil {
			return err
		}
		m.Keys, m.Values = append(m.Keys, b.key(k)), append(m.Values, v)
	}
	return nil
}

// tomlValueStart returns where the value after a key starts: behind the equals
// sign and the blanks around it.
func tomlValueStart(text []byte, k *unstable.Node) int {
	at := int(k.Raw.Offset + k.Raw.Length)
	for at < len(text) && (text[at] == ' ' || text[at] == '\t' || text[at] == '=') {
		at++
	}
	return at
}

// value builds a value; offset is its place for those whose place the library
// does not keep.
func (b *tomlBuilder) value(v *unstable.Node, offset, depth int) (*Node, *fault.Error) {
	switch v.Kind {
	case unstable.Array, unstable.InlineTable:
		if err := b.deep(depth, offset); err != nil {
			return nil, err
		}
		n := b.at(&Node{Kind: Sequence, Tag: TagSequence}, offset)
		if v.Kind == unstable.InlineTable {
			n.Kind, n.Tag = Mapping, TagMapping
		}
		for it := v.Children(); it.Next(); {
			child := it.Node()
			if v.Kind == unstable.InlineTable {
				if err := b.keyValue(n, child, depth); err != nil {
					return nil, err
				}
				continue
			}
			at := offset
			if child.Raw.Length > 0 {
				at = int(child.Raw.Offset)
			}
			element, err := b.value(child, at, depth+1)
			if err != nil {
				return nil, err
			}
			n.Values = append(n.Values, element)
		}
		return n, nil
	}
	tag := TagTimestamp
	switch v.Kind {
	case unstable.String:
		tag = TagString
	case unstable.Bool:
		tag = TagBool
	case unstable.Integer:
		tag = TagInt
	case unstable.Float:
		tag = TagFloat
	}
	return b.at(&Node{Kind: Scalar, Tag: tag, Value: string(v.Data)}, int(v.Raw.Offset)), nil
}
