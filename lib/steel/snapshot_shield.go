package steel

import (
	"cmp"
	"slices"
	"strings"
)

// A password-like field shows no value, and neither does what the browser made from
// it: the texts below the field, and the names and values that it computes from what
// they hold, such as a cell's from the field in it.

// manySecrets is from how many values on the names around the fields are left out as a
// whole, so that a page of nothing but such fields takes no longer than others.
const manySecrets = 64

// bullets are what browsers show in place of characters that are not to be seen.
const bullets = "•◦■●"

// shield knows the password-like fields of a frame. A nil one knows none.
type shield struct {
	fields  []bool // by node
	below   []bool // of a field
	near    []bool // a field itself or above one
	secrets []string
}

// newShield returns nil if the frame has no password-like field.
func newShield(t *Tree, password map[int64]bool) *shield {
	var fields []int32
	for i := range t.nodes {
		if n := &t.nodes[i]; n.isField() && (password[n.backend] || isMasked(n.value) || t.showsBullets(int32(i))) {
			fields = append(fields, int32(i))
		}
	}
	if fields == nil {
		return nil
	}
	size := len(t.nodes)
	s := &shield{fields: make([]bool, size), below: make([]bool, size), near: make([]bool, size)}
	parents := t.parents()
	found := map[string]bool{}
	for _, f := range fields {
		s.fields[f] = true
		for node := f; node >= 0 && !s.near[node]; node = parents[node] {
			s.near[node] = true
		}
		s.add(found, t.nodes[f].value)
		s.hideBelow(t, f, found)
	}
	// The longest first: a short one may be a part of it.
	slices.SortFunc(s.secrets, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	return s
}

func (s *shield) add(found map[string]bool, value string) {
	value = fold(value, noLimit)
	if value != "" && !found[value] && len(s.secrets) <= manySecrets {
		found[value] = true
		s.secrets = append(s.secrets, value)
	}
}

// hideBelow marks what is below a field; what its texts say is a secret.
func (s *shield) hideBelow(t *Tree, node int32, found map[string]bool) {
	stack := slices.Clone(t.children(node))
	for len(stack) > 0 {
		node = stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if s.below[node] {
			continue
		}
		s.below[node] = true
		if n := &t.nodes[node]; n.role == roleText {
			s.add(found, n.name)
		}
		stack = append(stack, t.children(node)...)
	}
}

// isField, isBelow and isNear tell of a node.
func (s *shield) isField(node int32) bool { return s != nil && s.fields[node] }
func (s *shield) isBelow(node int32) bool { return s != nil && s.below[node] }
func (s *shield) isNear(node int32) bool  { return s != nil && s.near[node] }

// mayTell reports whether the node's name may be made from what is in a field: it is
// around one, or was named by nodes that may be anywhere.
func (s *shield) mayTell(node int32, n *treeNode) bool {
	return s != nil && (s.near[node] && !n.is(namedByAuthor) || n.has(axLabelled))
}

// mask returns a text as it is printed, without the values of the fields.
func (s *shield) mask(text string) string {
	if len(s.secrets) > manySecrets && text != "" {
		return hiddenText
	}
	text = fold(text, noLimit)
	for _, secret := range s.secrets {
		text = strings.ReplaceAll(text, secret, hiddenText)
	}
	if text != "" && strings.Trim(strings.ReplaceAll(text, hiddenText, ""), " ") == "" {
		return hiddenText
	}
	return PrintedName(text)
}

// isField reports whether what is in the node is a value.
func (n *treeNode) isField() bool { return n.is(field) || n.value != "" || n.has(axEditable) }

// isMasked reports whether a text is nothing but bullets.
func isMasked(text string) bool { return text != "" && strings.Trim(text, bullets) == "" }

// showsBullets reports whether a page shows a field's value as bullets, which a style
// can do to a field of any type: its value is then told although nobody can see it.
// The browser wraps a field's text in a node or two.
func (t *Tree) showsBullets(node int32) bool {
	if !t.nodes[node].has(axEditable) {
		return false
	}
	for range 4 {
		kids := t.children(node)
		if len(kids) == 0 {
			return false
		}
		if node = kids[0]; t.nodes[node].role == roleText {
			return isMasked(t.nodes[node].name)
		}
	}
	return false
}

// parents returns each node's parent, -1 for those that have none.
func (t *Tree) parents() []int32 {
	parents := make([]int32, len(t.nodes))
	for i := range parents {
		parents[i] = -1
	}
	for i := range t.nodes {
		for _, kid := range t.children(int32(i)) {
			if parents[kid] < 0 && kid != int32(i) {
				parents[kid] = int32(i)
			}
		}
	}
	return parents
}
