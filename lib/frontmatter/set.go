package frontmatter

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2/unstable"
	"go.yaml.in/yaml/v3"

	"kxm/lib/fault"
)

// Value is what [Set] writes: a text or a list of texts.
type Value struct {
	text  string
	items []string
	list  bool
}

// Text is a value that is one text.
func Text(s string) Value { return Value{text: s} }

// List is a value that is a list of texts, written on one line.
func List(items ...string) Value { return Value{items: items, list: true} }

// is reports whether a node holds the value already.
func (v Value) is(n *Node) bool {
	if v.list {
		items, ok := n.Strings()
		return ok && slices.Equal(items, v.items)
	}
	s, ok := n.Text()
	return ok && s == v.text
}

func (v Value) valid() bool {
	return utf8.ValidString(v.text) && !slices.ContainsFunc(v.items, func(s string) bool { return !utf8.ValidString(s) })
}

// render writes the value on one line.
func (v Value) render(f Format) string {
	text, item := QuoteScalar, quoteInList
	if f == TOML {
		text, item = doubleQuoted, doubleQuoted
	}
	if !v.list {
		return text(v.text)
	}
	quoted := make([]string, len(v.items))
	for i, s := range v.items {
		quoted[i] = item(s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// Set returns data with one top-level key of its front matter set, and every byte
// kept that is not the old value's: order, comments, quotes, indentation and line
// endings stay. A comment behind a value that ends on the line stays; a value
// over several lines is replaced as a whole. A key that is absent is added as the
// last one, before the closing fence (in TOML before the first table). A value
// that is there already changes nothing, so setting twice is setting once.
//
// The result is parsed again before it is returned: the key holds the value and
// every other key what it held. Where that cannot be done in place (a root in
// braces, an explicit "? key", a TOML key that is a table), Set refuses with
// fault.InvalidFrontMatter. data itself is never changed.
func Set(data []byte, key string, value Value) ([]byte, error) {
	if !value.valid() || !utf8.ValidString(key) {
		return nil, fault.New(fault.InvalidFrontMatter, "cannot set %s: the text is not UTF-8", fault.Quote(key))
	}
	before, err := Parse("", data)
	if err != nil {
		return nil, err
	}
	if n, ok := before.Root.Get(key); ok && value.is(n) {
		return data, nil
	}
	p, refusal := split(data)
	if refusal != nil {
		return nil, refusal
	}
	locate := locateYAML
	if p.format == TOML {
		locate = locateTOML
	}
	e, ok := locate(p, key, value)
	if ok {
		out := slices.Concat(data[:e.start], []byte(e.text), data[e.end:])
		if after, err := Parse("", out); err == nil && onlyChanged(before, after, key, value) {
			return out, nil
		}
	}
	return nil, fault.New(fault.InvalidFrontMatter, "cannot set %s in place", fault.Quote(key)).
		WithHint("write the key as %q on a line of its own", key+": value")
}

// edit replaces the bytes from start to end of a file.
type edit struct {
	start, end int
	text       string
}

// onlyChanged reports whether after is before with key set to value.
func onlyChanged(before, after *Document, key string, value Value) bool {
	if n, ok := after.Root.Get(key); !ok || !value.is(n) || before.Body != after.Body {
		return false
	}
	i := 0
	for j, k := range after.Root.Keys {
		if i < len(before.Root.Keys) && before.Root.Keys[i].Value == k.Value {
			if k.Value != key && !equal(before.Root.Values[i], after.Root.Values[j]) {
				return false
			}
			i++
		} else if k.Value != key {
			return false
		}
	}
	return i == len(before.Root.Keys)
}

// equal compares two nodes without their places.
func equal(a, b *Node) bool {
	same := func(x, y []*Node) bool { return slices.EqualFunc(x, y, equal) }
	return a.Kind == b.Kind && a.Tag == b.Tag && a.Value == b.Value && same(a.Keys, b.Keys) && same(a.Values, b.Values)
}

// locateYAML finds the edit in YAML.
func locateYAML(p *parts, key string, value Value) (edit, bool) {
	text := p.text()
	root, err := decodeYAML(text)
	if err != nil || root != nil && root.Style&yaml.FlowStyle != 0 {
		return edit{}, false
	}
	rendered := value.render(YAML)
	s := yamlSource{text: text, lines: lineOffsets(text)}
	if root == nil {
		return edit{p.closing, p.closing, QuoteScalar(key) + ": " + rendered + p.newline()}, true
	}
	for i := 0; i < len(root.Content); i += 2 {
		k, v := root.Content[i], root.Content[i+1]
		if k.Value != key {
			continue
		}
		limit := len(text)
		if i+2 < len(root.Content) {
			limit = s.lines[root.Content[i+2].Line-1]
		}
		colon, ok := s.colon(k)
		if !ok {
			return edit{}, false
		}
		start, end := s.offset(v), s.end(v, limit, root.Column-1)
		if start == end || v.Line != k.Line {
			start, rendered = colon+1, " "+rendered
		}
		return edit{fenceSize + start, fenceSize + max(start, end), rendered}, true
	}
	indent := strings.Repeat(" ", root.Column-1)
	return edit{p.closing, p.closing, indent + QuoteScalar(key) + ": " + rendered + p.newline()}, true
}

// locateTOML finds the edit in TOML.
func locateTOML(p *parts, key string, value Value) (edit, bool) {
	text := p.text()
	rendered := value.render(TOML)
	name := key
	if name == "" || strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_')
	}) {
		name = doubleQuoted(name)
	}
	add := name + " = " + rendered + p.newline()

	var parser unstable.Parser
	parser.Reset(text)
	last := 0 // end of the last top-level pair
	for parser.NextExpression() {
		e := parser.Expression()
		if e.Kind != unstable.KeyValue {
			// A table starts: what comes later is not at the top level.
			at := len(p.newline())
			if last > 0 {
				at = last + strings.IndexByte(string(text[last:]), '\n') + 1
			}
			return edit{fenceSize + at, fenceSize + at, add}, true
		}
		end := int(e.Raw.Offset + e.Raw.Length)
		it := e.Key()
		it.Next()
		if k := it.Node(); it.IsLast() && string(k.Data) == key {
			return edit{fenceSize + tomlValueStart(text, k), fenceSize + end, rendered}, true
		}
		last = end
	}
	return edit{p.closing, p.closing, add}, true
}
