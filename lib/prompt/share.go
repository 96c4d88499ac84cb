package prompt

import (
	"slices"
	"strings"
)

const (
	blank = "\n\n"
	// leastShare is the least that a text of several is worth showing.
	leastShare = 400
	leastFence = 3
	dataInfo   = "data" // the info string of a fence around what is material, no instruction
)

// shares divides room among texts of these lengths: one that needs less than an
// equal share takes what it needs, and the rest share what is left.
func shares(lengths []int, room int) []int {
	byLength := make([]int, len(lengths))
	for i := range byLength {
		byLength[i] = i
	}
	slices.SortStableFunc(byLength, func(a, b int) int { return lengths[a] - lengths[b] })
	given := make([]int, len(lengths))
	for at, i := range byLength {
		given[i] = min(lengths[i], max(0, room/(len(lengths)-at)))
		room -= given[i]
	}
	return given
}

// piece is one of several texts that share a budget.
type piece struct {
	head   string // what stands before the text, "" for nothing
	text   string
	source string // for the note of a cut
	data   bool   // in a fence, as material
	name   string // the line that stands for a text without room
}

// overhead is what a piece takes besides its text: its head, the blank lines around it
// and its fence, of the usual size.
func (p *piece) overhead() int {
	n := len(blank)
	if p.head != "" {
		n += length(p.head) + len(blank)
	}
	if p.data {
		n += len("```"+dataInfo+"\n") + len("\n```")
	}
	return n
}

// block fits the piece into so many code points, of which the blank line behind it is
// two.
func (p *piece) block(budget int) (block string, cut int) {
	room := budget - len(blank)
	if p.head != "" {
		block = p.head + blank
		room -= length(block)
	}
	var body string
	if p.data {
		body, cut = fenced(p.text, room, p.source)
	} else {
		body, cut = closed(p.text, room, p.source)
	}
	return block + body, cut
}

// fenced returns the text, fitted, in a fence of backticks longer than any inside.
// All of it stays within the budget, if that has room for an empty fence. Each turn
// allows for a somewhat longer fence than the one before: the text that is left has
// shorter runs too, and one that is all backticks must not be squeezed out by them.
func fenced(text string, budget int, source string) (block string, cut int) {
	for size := leastFence; ; size += size/4 + 1 {
		fitted, cut := Fit(text, budget-2*size-len(dataInfo)-len("\n\n"), source)
		if need := max(longestRun(fitted)+1, leastFence); need <= size {
			line := strings.Repeat("`", need)
			return line + dataInfo + "\n" + fitted + "\n" + line, cut
		}
	}
}

// closed returns the text, fitted, with the fence closed that it leaves open: what
// stands behind it in its section must not be swallowed.
func closed(text string, budget int, source string) (block string, cut int) {
	fitted, cut := Fit(text, budget, source)
	open := openFence(fitted)
	if !open.open() { // of a text that is cut, never
		return fitted, cut
	}
	if need := len("\n") + open.size; length(text)+need > budget {
		return Fit(text, budget-need, source)
	}
	return closeFence(text), 0
}

// share joins pieces to one text within the budget. Texts share it as shares says.
// When a share would be under leastShare, the last pieces are named only, and those
// for which even that has no room are counted. What a section says behind the pieces
// (named, before the names; more, with their number) are names of frames.
func share(pieces []piece, budget int, named, more string) (body string, cut int) {
	if len(pieces) == 0 {
		return "", 0
	}
	whole := wholePieces(pieces, budget, length(frame(named))+len(blank))
	tail := ""
	if whole < len(pieces) {
		room := budget
		for i := range pieces[:whole] {
			room -= pieces[i].overhead() + min(pieces[i].need(), leastShare)
		}
		tail = names(pieces[whole:], room, named, more)
		for i := range pieces[whole:] {
			cut += length(pieces[whole+i].text)
		}
	}
	body, left := material(pieces[:whole], budget-length(tail))
	if tail != "" {
		body += blank + tail
	}
	return body, cut + left
}

// material joins pieces that must all be there; their texts share the budget.
func material(pieces []piece, budget int) (body string, cut int) {
	lengths := make([]int, len(pieces))
	room := budget
	for i := range pieces {
		lengths[i] = pieces[i].need()
		room -= pieces[i].overhead()
	}
	blocks := make([]string, len(pieces))
	for i, given := range shares(lengths, room) {
		var left int
		blocks[i], left = pieces[i].block(given + pieces[i].overhead())
		cut += left
	}
	return strings.Join(blocks, blank), cut
}

// need is what the text takes when nothing is cut: besides its length, a longer fence
// than the usual one, or the line that closes its own.
func (p *piece) need() int {
	n := length(p.text)
	if p.data {
		return n + 2*max(0, longestRun(p.text)+1-leastFence)
	}
	if open := openFence(p.text); open.open() {
		n += open.size + len("\n")
	}
	return n
}

// wholePieces returns how many of the first pieces have a share of at least
// leastShare, or all that they need, beside the names of the others; at least one.
func wholePieces(pieces []piece, budget, intro int) int {
	need := intro
	for i := range pieces {
		need += len("\n") + length(pieces[i].name)
	}
	best := 1
	for i := range pieces {
		p := &pieces[i]
		need += p.overhead() + min(p.need(), leastShare) - len("\n") - length(p.name)
		if i == len(pieces)-1 {
			need -= intro // nothing is left to be named
		}
		if need <= budget {
			best = i + 1
		}
	}
	return best
}

// names lists pieces by their names within so many code points, and counts those that
// have no room.
func names(pieces []piece, room int, named, more string) string {
	last := func(n int) string { return counted(more, n) }
	lines := []string{}
	used := length(frame(named)) + len(blank)
	all := used
	for i := range pieces {
		all += length(pieces[i].name) + len("\n")
	}
	reserve := 0
	if all-len("\n") > room {
		reserve = length(last(len(pieces))) + len(blank)
	}
	for i := range pieces {
		used += length(pieces[i].name) + len("\n")
		if used-len("\n")+reserve > room {
			break
		}
		lines = append(lines, pieces[i].name)
	}
	var blocks []string
	if len(lines) > 0 {
		blocks = append(blocks, frame(named), strings.Join(lines, "\n"))
	}
	if rest := len(pieces) - len(lines); rest > 0 {
		blocks = append(blocks, last(rest))
	}
	return strings.Join(blocks, blank)
}
