package steel

import (
	"strings"

	"kxm/lib/fault"
)

// maxIndent is the deepest level that is told apart; what lies deeper is printed at
// this one, so that a page cannot make lines of nothing but spaces.
const maxIndent = 100

// nearby is how many lines before and behind a line that was found are shown.
const nearby = 2

// shown is a line that is printed, and how deep it stands.
type shown struct {
	line  int32
	level int32
}

// choose returns the lines to print, in order.
func (w *walker) choose(in *SnapshotInput) []shown {
	visible := make([]bool, len(w.lines))
	for i := range w.lines {
		visible[i] = !w.lines[i].dropped
	}
	if in.Interactive {
		w.onlyInteractive(visible)
	}
	lines := w.level(visible, in.Depth)
	if find := fault.Printable(fold(in.Find, noLimit)); find != "" {
		lines = w.onlyFound(lines, find)
	}
	return lines
}

// level returns the lines with their levels, as far as they are less than depth.
func (w *walker) level(visible []bool, depth int) []shown {
	below := make([]int32, len(w.lines)) // level of the lines below each
	var lines []shown
	for i := range w.lines {
		level := int32(0)
		if parent := w.lines[i].parent; parent >= 0 {
			level = below[parent]
		}
		below[i] = level
		if !visible[i] {
			continue
		}
		below[i]++
		if depth <= 0 || int(level) < depth {
			lines = append(lines, shown{int32(i), level})
		}
	}
	return lines
}

// onlyInteractive leaves the lines with references, the headings that they stand
// under, and the frames that they are in or that did not answer.
func (w *walker) onlyInteractive(visible []bool) {
	var headings []int32 // those that may still have a line under them, outermost first
	needed := make([]bool, len(w.lines))
	for i := range w.lines {
		l := &w.lines[i]
		if !visible[i] {
			continue
		}
		needed[i] = l.reference || l.noAnswer
		if l.kind == elementLine && w.node(l).role == roleHeading {
			headings = append(w.above(headings, w.node(l).level), int32(i))
		}
		if l.reference {
			for _, h := range headings {
				needed[h] = true
			}
			headings = headings[:0]
		}
	}
	holds := make([]bool, len(w.lines))
	for i := len(w.lines) - 1; i >= 0; i-- {
		l := &w.lines[i]
		visible[i] = visible[i] && (needed[i] || l.kind == frameLine && holds[i])
		if l.parent >= 0 && (visible[i] || holds[i]) {
			holds[l.parent] = true
		}
	}
}

// above returns those headings that a heading of the level stands under.
func (w *walker) above(headings []int32, level int32) []int32 {
	for len(headings) > 0 && w.node(&w.lines[headings[len(headings)-1]]).level >= level {
		headings = headings[:len(headings)-1]
	}
	return headings
}

// onlyFound leaves the lines whose role, attributes or name hold the text, those above
// them and some around them.
func (w *walker) onlyFound(lines []shown, text string) []shown {
	keep := make([]bool, len(lines))
	place := make([]int32, len(w.lines)) // of a line in lines, from 1
	for i, s := range lines {
		place[s.line] = int32(i) + 1
	}
	var b []byte
	marked := make([]bool, len(w.lines)) // the line, and those above it, are marked
	for i, s := range lines {
		b = w.appendLine(b[:0], s.line, "")
		if !strings.Contains(string(b), text) && !strings.Contains(w.lines[s.line].value, text) { // a value is escaped
			continue
		}
		for j := max(i-nearby, 0); j <= min(i+nearby, len(lines)-1); j++ {
			keep[j] = true
		}
		for above := s.line; above >= 0 && !marked[above]; above = w.lines[above].parent {
			marked[above] = true
			if place[above] > 0 {
				keep[place[above]-1] = true
			}
		}
	}
	var found []shown
	for i, s := range lines {
		if keep[i] {
			found = append(found, s)
		}
	}
	return found
}
