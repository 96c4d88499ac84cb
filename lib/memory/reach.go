package memory

import (
	"bytes"
	"io/fs"
	"path"
	"slices"
	"strings"

	"kxm/lib/fault"
)

// What the readers of instruction files take: Codex the first bytes of all the
// AGENTS.md files from the top of the repository down to its working directory,
// Claude Code the first lines of CLAUDE.md with its imports.
const (
	CodexBytes  = 32768
	ClaudeLines = 200
)

// reach finds instruction files that are longer than their readers take, and the
// first fact that such a reader does not see.
func (c *checker) reach(files []instructions) {
	for i := range files {
		f := &files[i]
		if f.Path == "" {
			continue
		}
		named := path.Join(c.Dir, f.Name)
		switch f.Name {
		case "AGENTS.md":
			limit := CodexBytes - c.aboveBytes()
			if len(f.Before) > limit {
				fact, line := behind(f.Before, max(limit, 0))
				c.add(RuleInstructionsLong, named, line, nil, "AGENTS.md has %d bytes, of which Codex reads %d%s",
					len(f.Before), max(limit, 0), fact)
			}
		case "CLAUDE.md":
			text := expanded(files, i)
			if lines := countLines(text); lines > ClaudeLines {
				fact, line := behind(text, lineOffset(text, ClaudeLines))
				if len(text) != len(f.Before) { // the line is one of the imported file
					line = 1
				}
				c.add(RuleInstructionsLong, named, line, nil, "CLAUDE.md has %d lines with its imports, of which Claude Code takes in %d%s",
					lines, ClaudeLines, fact)
			}
		}
	}
}

// aboveBytes returns the size of the AGENTS.md files in the folders above Dir,
// which count against Codex's limit first. One that cannot be read counts nothing.
func (c *checker) aboveBytes() int {
	total := 0
	if c.Dir == "." {
		return 0
	}
	for dir := path.Dir(c.Dir); ; dir = path.Dir(dir) {
		if target, err := resolve(c.Root, path.Join(dir, "AGENTS.md")); err == nil {
			if info, err := fs.Stat(c.Root, target); err == nil && info.Mode().IsRegular() {
				total += int(info.Size())
			}
		}
		if dir == "." {
			return total
		}
	}
}

// expanded returns the text of files[i] with each import of another of the files
// replaced by its text, one level deep.
func expanded(files []instructions, i int) []byte {
	text := files[i].Before
	for j := range files {
		if files[j].Path == files[i].Path || files[j].Path == "" {
			continue
		}
		if at := importOffset(text, files[j].Name); at >= 0 {
			end, _ := lineEnd(text, at)
			text = slices.Concat(text[:at], bytes.TrimRight(files[j].Before, "\r\n"), text[end:])
		}
	}
	return text
}

// behind returns the end of a message that names the first fact of a text's block
// that ends behind the cut, a byte offset, and the line of the fact or of the cut.
func behind(text []byte, cut int) (message string, line int) {
	at := cut
	if start, end, ok := FindBlock(text); ok {
		blockIDs(text[start:end], func(id string, l []byte, to int) {
			if message == "" && start+to > cut {
				message = "; the first fact behind the cut is " + fault.Quote(id)
				at = start + to
			}
		})
	}
	return message, 1 + strings.Count(string(text[:min(at, len(text))]), "\n")
}

func countLines(text []byte) int {
	n := bytes.Count(text, []byte("\n"))
	if len(text) > 0 && text[len(text)-1] != '\n' {
		n++
	}
	return n
}

// lineOffset returns the offset behind the first n lines.
func lineOffset(text []byte, n int) int {
	at := 0
	for range n {
		_, at = lineEnd(text, at)
	}
	return at
}
