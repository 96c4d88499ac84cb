package steel

import "strings"

// reduce decides, from the last line to the first, which lines say nothing that the
// lines above or below them do not say.
func (w *walker) reduce() {
	for i := len(w.lines) - 1; i >= 0; i-- {
		l := &w.lines[i]
		if l.parent >= 0 {
			above := &w.lines[l.parent]
			above.end = max(above.end, l.end)
		}
		if l.kind != elementLine {
			w.keep(l.parent, int32(i))
			continue
		}
		n := w.node(l)
		if n.is(holder) && l.name != "" {
			w.reduceHolder(int32(i), l)
		}
		switch {
		case l.kept == 0 && l.isBare() && (l.emptied || n.role == roleParagraph):
			l.dropped = true
			w.emptyAbove(l)
		case l.kept == 1 && n.is(replaceable) && !l.reference && !l.hasAttributes() && (l.name == "" || w.isSaidBelow(int32(i))):
			l.dropped = true
			w.keep(l.parent, l.only)
		default:
			w.keep(l.parent, int32(i))
		}
	}
}

// node is the node of an element or text.
func (w *walker) node(l *line) *treeNode { return &w.frames[l.frame].Tree.nodes[l.node] }

func (l *line) hasAttributes() bool { return l.value != "" || l.password || l.attrs != 0 }

// isBare reports whether nothing but its role would stand in an element's line.
func (l *line) isBare() bool {
	return l.name == "" && !l.reference && !l.hasAttributes()
}

// keep counts a line below another one.
func (w *walker) keep(parent, child int32) {
	if parent < 0 {
		return
	}
	above, l := &w.lines[parent], &w.lines[child]
	above.kept++
	above.only = child
	if l.kind == textLine && l.repeats {
		above.texts++
	}
}

// emptyAbove tells the line above that something was left out of it.
func (w *walker) emptyAbove(l *line) {
	if l.emptied && l.parent >= 0 {
		w.lines[l.parent].emptied = true
	}
}

// reduceHolder prints either the name of a cell or row, or what it was put together
// from.
func (w *walker) reduceHolder(i int32, l *line) {
	switch {
	case l.kept == 0:
	case l.kept == l.texts:
		for j := i + 1; j < l.end; j++ {
			w.lines[j].dropped = true
		}
		l.kept = 0
	case l.kept > 1 && w.isSaidBelow(i):
		l.name = ""
	}
}

// manyParts bounds how many lines are looked at for the parts of one name.
const manyParts = 64

// isSaidBelow reports whether a line's name is the names or values of the lines below
// it, one after another.
func (w *walker) isSaidBelow(i int32) bool {
	l := &w.lines[i]
	rest := strings.ReplaceAll(l.name, " ", "")
	for j, parts := i+1, 0; j < l.end && rest != ""; parts++ {
		part := &w.lines[j]
		switch {
		case parts == manyParts || part.kind == frameLine:
			return false
		case part.dropped:
			j++
			continue
		}
		said := part.name
		after, ok := strings.CutPrefix(rest, strings.ReplaceAll(said, " ", ""))
		if part.value != "" && (said == "" || !ok) {
			said = part.value
			after, ok = strings.CutPrefix(rest, strings.ReplaceAll(said, " ", ""))
		}
		switch {
		case said == "":
			j++
		case !ok:
			return false
		default:
			rest, j = after, part.end
		}
	}
	return rest == ""
}
