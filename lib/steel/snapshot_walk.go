package steel

import (
	"slices"
	"strings"
	"unicode"
)

type lineKind uint8

const (
	elementLine lineKind = iota
	textLine
	frameLine
)

// line is what may become a line of the snapshot. Lines stand in document order, each
// before those below it.
type line struct {
	kind        lineKind
	frame, node int32
	parent      int32 // the line above, -1 if there is none
	named       int32 // the nearest of the line itself and those above it that has a name or a value, or -1
	end         int32 // behind the last line below
	name, value string

	reference bool
	password  bool
	attrs     axFlags // that are printed
	repeats   bool    // a text that the name above it holds
	emptied   bool    // a text in it was left out, because it repeats
	noAnswer  bool
	dropped   bool // not printed; what is below takes its place

	kept  int32 // lines directly below that are printed
	only  int32 // the one of these, or the first one
	texts int32 // of these, texts that repeat
}

// step is a node that is still to be walked, or a frame if node is negative.
type step struct {
	frame, node, parent int32
	label               int64  // the LabelText around it
	title               string // of a frame
}

// walker turns trees into lines, without recursion: pages nest as deep as they like.
type walker struct {
	frames []framed
	lines  []line
	stack  []step
}

// walk collects the lines of the page, or of what is below the given node.
func (w *walker) walk(within *NodeKey) error {
	if within == nil {
		w.stack = append(w.stack, step{frame: 0, node: -1, parent: -1})
	} else if err := w.enterAt(*within); err != nil {
		return err
	}
	for len(w.stack) > 0 {
		s := w.stack[len(w.stack)-1]
		w.stack = w.stack[:len(w.stack)-1]
		if s.node < 0 {
			w.enter(s)
		} else {
			w.visit(s)
		}
	}
	return nil
}

// enterAt begins at a node.
func (w *walker) enterAt(at NodeKey) error {
	for i := range w.frames {
		f := &w.frames[i]
		if f.ID != at.Frame || f.inside || f.Tree == nil {
			continue
		}
		if node := f.Tree.find(at.Node); node >= 0 {
			f.inside = true
			w.stack = append(w.stack, step{frame: int32(i), node: node, parent: -1})
			return nil
		}
	}
	return ErrNotInTree
}

// name and value return what is printed of a node.
func (f *framed) name(node int32) string {
	n := &f.Tree.nodes[node]
	if f.shield.mayTell(node, n) {
		return f.shield.mask(n.name)
	}
	return PrintedName(n.name)
}

func (f *framed) value(node int32) string {
	value := f.Tree.nodes[node].value
	switch {
	case !f.shield.isNear(node):
		return PrintedName(value)
	case f.shield.isField(node):
		return ""
	}
	if value = f.shield.mask(value); value == hiddenText {
		return ""
	}
	return value
}

func (w *walker) add(l line) int32 {
	i := int32(len(w.lines))
	if l.named < 0 && (l.name != "" || l.value != "") && l.kind == elementLine {
		l.named = i
	} else if l.named < 0 && l.parent >= 0 && l.kind != frameLine {
		l.named = w.lines[l.parent].named
	}
	l.end = i + 1
	w.lines = append(w.lines, l)
	return i
}

// push puts a node's children on the stack, below the line of the step.
func (w *walker) push(s step, node int32) {
	kids := w.frames[s.frame].Tree.children(node)
	for i := len(kids) - 1; i >= 0; i-- {
		w.stack = append(w.stack, step{frame: s.frame, node: kids[i], parent: s.parent, label: s.label})
	}
}

// visit makes the line of a node, if it has one, and goes on with its children.
func (w *walker) visit(s step) {
	f := &w.frames[s.frame]
	if f.seen[s.node] || f.shield.isBelow(s.node) {
		return
	}
	f.seen[s.node] = true
	n := &f.Tree.nodes[s.node]
	if n.has(axIgnored) {
		w.push(s, s.node)
		return
	}
	if inner, ok := f.owned[n.backend]; ok && n.backend > 0 {
		w.enter(step{frame: inner, node: -1, parent: s.parent, title: f.name(s.node)})
		return
	}
	if n.role == roleText {
		w.text(s, f, n)
		return
	}
	hasReference := f.hasReference(n)
	if n.is(transparent) && !hasReference {
		if n.role == roleLabel {
			s.label = n.backend
		}
		w.push(s, s.node)
		return
	}
	s.parent = w.element(s, f, n, hasReference)
	if !n.has(axPlainText) && !n.is(composed) {
		w.push(s, s.node)
	}
}

// hasReference reports whether an action may be asked for on the node. The root is
// focusable in each frame, and a list of options is a part of its field.
func (f *framed) hasReference(n *treeNode) bool {
	return n.backend > 0 && f.ID != "" && f.LoaderID != "" && n.role != roleRoot && n.role != roleMenuPopup &&
		(n.is(referenced) || n.has(axFocusable))
}

// printedFlags are the flags that have an attribute.
const printedFlags = axChecked | axMixed | axExpanded | axCollapsed | axDisabled | axFocused | axInvalid | axReadonly | axRequired | axSelected

func (w *walker) element(s step, f *framed, n *treeNode, hasReference bool) int32 {
	l := line{
		kind: elementLine, frame: s.frame, node: s.node, parent: s.parent, named: -1, only: -1,
		name: f.name(s.node), value: f.value(s.node), reference: hasReference,
		attrs: n.flags & printedFlags, password: f.shield.isField(s.node),
	}
	if l.name == hiddenText && !hasReference {
		l.name = "" // a reference is known by its name
	}
	if l.attrs&axCollapsed != 0 && f.Tree.isSelect(s.node) {
		l.attrs &^= axCollapsed // its options are listed all the same
	}
	return w.add(l)
}

// isSelect reports whether a node is a list of options that the browser opens.
func (t *Tree) isSelect(node int32) bool {
	kids := t.children(node)
	return len(kids) > 0 && t.nodes[kids[0]].role == roleMenuPopup
}

// text makes the line of a static text, unless it is said elsewhere.
func (w *walker) text(s step, f *framed, n *treeNode) {
	name := f.name(s.node)
	if name == "" || n.backend == 0 && isOrnament(name) || f.isLabel(s.label, name) {
		return
	}
	l := line{kind: textLine, frame: s.frame, node: s.node, parent: s.parent, named: -1, only: -1, name: name}
	if s.parent >= 0 && w.lines[s.parent].named >= 0 {
		above := &w.lines[w.lines[s.parent].named]
		holds := w.node(above)
		inName := strings.Contains(above.name, name)
		if name == above.name || inName && holds.is(namedByContent) || strings.Contains(above.value, name) {
			w.lines[s.parent].emptied = true
			return
		}
		l.repeats = inName && holds.is(holder)
	}
	w.add(l)
}

// isLabel reports whether a text in a label is the name of a field, or a part of it.
// The label of a field that is not shown is the only thing to see of it.
func (f *framed) isLabel(label int64, text string) bool {
	return slices.ContainsFunc(f.labels[label], func(name string) bool { return strings.Contains(name, text) })
}

// isOrnament reports whether a text has neither letter nor digit: bullets and pictures
// that a style puts before a text.
func isOrnament(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) < 0
}
