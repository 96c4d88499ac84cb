package prompt

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
)

// frames.md holds the words around what a request brings: paragraphs, each behind a
// comment with its name. They stand in dynamic sections, so that a change of them
// costs no cached prefix.
//
//go:embed frames.md
var framesMarkdown string

var frames = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	for _, block := range strings.Split(framesMarkdown, "<!-- ")[1:] {
		name, body, _ := strings.Cut(block, " -->\n")
		all[name] = strings.TrimRight(body, "\n")
	}
	return all
})

// frame returns a paragraph by its name, with its one placeholder, if it has any,
// replaced.
func frame(name string, value ...string) string {
	body, ok := frames()[name]
	if !ok {
		panic("prompt: no frame " + name) // a defect; a test asks for each
	}
	for _, v := range value {
		before, rest, _ := strings.Cut(body, "{{")
		_, after, _ := strings.Cut(rest, "}}")
		body = before + v + after
	}
	return body
}

func counted(name string, n int) string { return frame(name, strconv.Itoa(n)) }
