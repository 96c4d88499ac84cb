package memory

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// MergeFunc merges three versions of a file by lines, as `git merge-file` does.
// The result of a conflict holds conflict markers.
type MergeFunc func(base, ours, theirs []byte) (merged []byte, conflict bool, err error)

// MergeInstructions merges three versions of an instruction file: the text outside
// the memory blocks with merge, the blocks fact by fact, so that branches which
// each add a fact never conflict in the projection. conflict is that of the text
// outside.
//
// The block is made from the three blocks and not from memory files, because Git
// runs merge drivers before it has merged those: the worktree then holds our
// facts alone. A fact that both sides changed is taken from ours; the memory files
// conflict then, and the sync after them sets it right.
//
// Where one side has no block the text decides: a block that one side added or
// removed is added or removed. A file with malformed markers is merged as plain
// text.
func MergeInstructions(base, ours, theirs []byte, merge MergeFunc) (merged []byte, conflict bool, err error) {
	sides := [3][]byte{base, ours, theirs}
	var lines [3]map[string]string
	// A line that stands for the block: the digest of the texts is in none of them.
	sum := sha256.New()
	for _, side := range sides {
		sum.Write(side)
	}
	standIn := "<!-- kxm:memory:" + hex.EncodeToString(sum.Sum(nil)) + " -->"
	for i, side := range sides {
		m := scanMarkers(side)
		if m.problem() != "" {
			return merge(base, ours, theirs)
		}
		start, end, ok := m.block()
		if !ok {
			continue
		}
		lines[i] = map[string]string{}
		blockIDs(side[start:end], func(id string, line []byte, _ int) { lines[i][id] = string(line) })
		sides[i] = slices.Concat(side[:start], []byte(standIn), side[end:])
	}
	merged, conflict, err = merge(sides[0], sides[1], sides[2])
	if err != nil {
		return nil, false, err
	}
	block := blockOfLines(mergeLines(lines[0], lines[1], lines[2]))
	if eol := lineBreakOf(merged); eol != "\n" {
		block = strings.ReplaceAll(block, "\n", eol)
	}
	before, after, ok := bytes.Cut(merged, []byte(standIn))
	if !ok {
		return merged, conflict, nil
	}
	if conflict {
		after = bytes.ReplaceAll(after, []byte(standIn), []byte(block)) // each side of a conflict shows its block
	} else {
		after = withoutLines(after, []byte(standIn)) // both sides added one, in different places
	}
	return slices.Concat(before, []byte(block), after), conflict, nil
}

// mergeLines merges the fact lines of three blocks by id and returns them by id.
func mergeLines(base, ours, theirs map[string]string) []string {
	type fact struct{ id, line string }
	var facts []fact
	keep := func(id string) {
		b, o, t := base[id], ours[id], theirs[id]
		line := o
		if o == b || o == "" && t != b { // theirs changed it: a change outlives a removal
			line = t
		}
		if line != "" {
			facts = append(facts, fact{id, line})
		}
	}
	for id := range ours {
		keep(id)
	}
	for id := range theirs {
		if _, both := ours[id]; !both {
			keep(id)
		}
	}
	slices.SortFunc(facts, func(a, b fact) int { return cmp.Compare(a.id, b.id) })
	out := make([]string, len(facts))
	for i, f := range facts {
		out[i] = f.line
	}
	return out
}

// blockOfLines returns the block that holds fact lines as they are.
func blockOfLines(lines []string) string {
	if len(lines) == 0 {
		return Block(nil)
	}
	return StartMarker + "\n" + blockHeading + "\n\n" + strings.Join(lines, "\n") + "\n" + EndMarker
}

// withoutLines returns text without the lines that hold mark.
func withoutLines(text, mark []byte) []byte {
	for {
		i := bytes.Index(text, mark)
		if i < 0 {
			return text
		}
		start := bytes.LastIndexByte(text[:i], '\n') + 1
		_, next := lineEnd(text, i)
		text = slices.Concat(text[:start], text[next:])
	}
}
