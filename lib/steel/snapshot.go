package steel

import (
	"errors"
	"strconv"

	"kxm/lib/fault"
)

// SnapshotSchema names the form of a snapshot.
const SnapshotSchema = "kxm.steel-snapshot.v1"

// ErrNotInTree says that the browser's accessibility tree does not have the node that
// a snapshot was to be of: it is not rendered, or a mere wrapper.
var ErrNotInTree = errors.New("the node is not in the accessibility tree")

// Frame is one frame of a tab.
type Frame struct {
	ID       string
	LoaderID string // of its document
	TargetID string // the target that it is driven through; "" is the tab's
	URL      string
	Parent   string // id of the frame around it; "" for the main frame
	Owner    int64  // backend id of the element that holds it, in Parent; 0 if it is not known
	Tree     *Tree  // nil if the frame did not answer
	// Password are the backend ids of the password-like fields: those of type password,
	// and with an autocomplete of current-password, new-password, one-time-code,
	// cc-number or cc-csc. Ids of other frames do no harm, so that the frames of one
	// target may share a map.
	Password map[int64]bool
}

// NodeKey names a node of a tab.
type NodeKey struct {
	Frame string
	Node  int64 // backend id
}

// SnapshotInput is a page as the browser tells of it, and what is wanted of it.
type SnapshotInput struct {
	Tab, TargetID string
	Frames        []Frame     // the main frame first; siblings in any fixed order
	Known         *References // of before; nil is none. They are not changed
	NextRef       int         // the next free number, from 1

	Interactive bool     // only lines with references, and what they stand under
	Find        string   // only lines that hold this text, and what is around them; case counts
	Depth       int      // how many levels are printed; 0 is all
	MaxBytes    int      // of the text, without the line that says how much was cut; 0 is no limit
	Within      *NodeKey // only what is in this node, itself included
}

// Snapshot is a page as lines of text.
type Snapshot struct {
	Schema    string `json:"schema"`
	Tab       string `json:"tab"`
	URL       string `json:"url"`
	Title     string `json:"title"`
	Text      string `json:"text"`
	Refs      int    `json:"refs"`      // references in the text
	Lines     int    `json:"lines"`     // in the text, without the one that says how much was cut
	Truncated bool   `json:"truncated"` // MaxBytes cut the text
	NextRef   int    `json:"-"`         // the next free number
}

// BuildSnapshot prints a page, and returns what the references in it stand for, along
// with as many of the known ones as are kept. A node that is known has its number
// again; a number is given to one node only. What is not printed gets none.
//
// The same input gives the same text. Each line is
//
//	indent [ref " "] role ["[" attr *("," attr) "]"] [" " name]
//	indent "frame " path-or-origin [" " title] [" (no answer)"]
//	"... " n " more lines"
//
// so that whatever a page says stands behind a role, and in one line. The time it
// takes and the memory are linear in the number of nodes, however they are nested, and
// a tree that is none, with loops or nodes that are missing, is printed as far as it
// goes.
//
// The error is ErrNotInTree, if Within names no node of the page.
func BuildSnapshot(in *SnapshotInput) (*Snapshot, *References, error) {
	s := &Snapshot{Schema: SnapshotSchema, Tab: in.Tab, NextRef: max(in.NextRef, 1)}
	numbers := newNumbering(in.Known, s.NextRef)
	if len(in.Frames) == 0 {
		if in.Within != nil {
			return nil, nil, ErrNotInTree
		}
		return s, numbers.references(), nil
	}
	w := newWalker(in.Frames)
	s.URL = fault.Printable(PrintedURL(in.Frames[0].URL))
	s.Title = w.frames[0].title()
	if err := w.walk(in.Within); err != nil {
		return nil, nil, err
	}
	w.reduce()
	w.print(s, in, w.choose(in), numbers)
	s.NextRef = numbers.next
	return s, numbers.references(), nil
}

// print writes the lines until the text is full.
func (w *walker) print(s *Snapshot, in *SnapshotInput, lines []shown, numbers *numbering) {
	var text, one []byte
	for i, at := range lines {
		l := &w.lines[at.line]
		name, fresh := "", false
		if l.reference {
			name, fresh = numbers.name(w.nodeAt(l))
		}
		one = one[:0]
		for range min(at.level, maxIndent) {
			one = append(one, ' ')
		}
		one = append(w.appendLine(one, at.line, name), '\n')
		if in.MaxBytes > 0 && len(text)+len(one) > in.MaxBytes {
			text = append(text, "... "...)
			text = strconv.AppendInt(text, int64(len(lines)-i), 10)
			text = append(text, " more lines\n"...)
			s.Truncated = true
			break
		}
		text = append(text, one...)
		s.Lines++
		if name != "" {
			numbers.give(name, fresh, w.reference(in, l))
		}
	}
	s.Text, s.Refs = string(text), len(numbers.given)
}

func (w *walker) nodeAt(l *line) nodeAt {
	f := &w.frames[l.frame]
	return nodeAt{f.ID, f.LoaderID, w.node(l).backend}
}

func (w *walker) reference(in *SnapshotInput, l *line) Reference {
	f := &w.frames[l.frame]
	target := f.TargetID
	if target == "" {
		target = in.TargetID
	}
	return Reference{
		Tab: in.Tab, TargetID: target, FrameID: f.ID, LoaderID: f.LoaderID,
		Node: w.node(l).backend, Role: printedRole(w.node(l).role), Name: l.name,
	}
}

// attributes are the words for flags in the order of the grammar; the one without a
// flag is known otherwise.
var attributes = []struct {
	flag axFlags
	word string
}{
	{axChecked, "checked"}, {axMixed, "mixed"}, {axExpanded, "expanded"}, {axCollapsed, "collapsed"}, {axDisabled, "disabled"},
	{axFocused, "focused"}, {axInvalid, "invalid"}, {0, "password"}, {axReadonly, "readonly"}, {axRequired, "required"}, {axSelected, "selected"},
}

// appendLine appends a line without its indent and line break.
func (w *walker) appendLine(b []byte, i int32, reference string) []byte {
	l := &w.lines[i]
	switch l.kind {
	case frameLine:
		b = append(append(b, "frame "...), l.value...)
	case textLine:
		b = append(b, "text"...)
	default:
		if reference != "" {
			b = append(append(b, reference...), ' ')
		}
		b = append(b, printedRole(w.node(l).role)...)
		b = w.appendAttributes(b, l)
	}
	if l.name != "" {
		b = append(append(b, ' '), l.name...)
	}
	if l.noAnswer {
		b = append(b, " (no answer)"...)
	}
	return b
}

func (w *walker) appendAttributes(b []byte, l *line) []byte {
	separator := byte('[')
	next := func() {
		b = append(b, separator)
		separator = ','
	}
	if n := w.node(l); n.role == roleHeading && n.level > 0 {
		next()
		b = strconv.AppendInt(b, int64(n.level), 10)
	}
	for _, a := range attributes {
		if l.attrs&a.flag != 0 || a.flag == 0 && l.password {
			next()
			b = append(b, a.word...)
		}
	}
	if l.value != "" {
		next()
		b = appendValue(append(b, '='), l.value)
	}
	if separator == ',' {
		b = append(b, ']')
	}
	return b
}
