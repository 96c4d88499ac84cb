// Package text owns the text that the product says to a model: the fixed texts of a
// prompt and the paragraphs about tools, as embedded Markdown.
//
// Start with [Fixed] for one text, [Groups] for what is said about tools and
// [ParseGroup] for an application's. Nothing is parsed before it is asked for. The
// package decides neither which text a prompt holds nor in which order; that is
// lib/prompt's.
//
// A file is a title line ("# Carrying work through"), a blank line and the body. What
// a text must convey is a list of requirements; behind the sentence that meets one
// stands a comment with its id, "<!-- autonomy.4 -->", which is no part of the body.
// The file DIGESTS names the digest of each text: a change of one changes a prefix
// that providers cache, so it has to show in review.
package text

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"slices"
	"strings"
	"sync"
)

// Text is one fixed text.
type Text struct {
	ID     string // the name of its file
	Title  string
	Body   string // Markdown without a final newline, with its placeholders
	Digest string // "sha256:" and the hex digest of Body
	Budget int    // the most code points of the filled body
}

// fixed lists the texts in the order of the page that says what they must convey.
// Budgets are those of the sections that they become; a text that becomes none has
// one that leaves room for what stands around it.
var fixed = []struct {
	id     string
	budget int
}{
	{"identity", 400},
	{"role", 1_400},
	{"autonomy", 2_600},
	{"personality", 1_200},
	{"permission", 1_800},
	{"steering", 2_000},
	{"writing", 1_900},
	{"workspace", 1_500},
	{"reporting", 12_000},
	{"context-updates", 1_200},
	{"side-question", 1_500},
	{"ask-user", 600},
	{"checkpoint", 600}, // of a message of 12,000, of which 11,000 are what it frames
}

//go:embed *.md tools/*.md
var files embed.FS

// texts parses all texts at once: together they are smaller than one packet.
var texts = sync.OnceValue(func() []Text {
	all := make([]Text, len(fixed))
	for i, f := range fixed {
		title, body := document(f.id + ".md")
		sum := sha256.Sum256([]byte(body))
		all[i] = Text{ID: f.id, Title: title, Body: body, Digest: "sha256:" + hex.EncodeToString(sum[:]), Budget: f.budget}
	}
	return all
})

// Fixed returns a fixed text by its id.
func Fixed(id string) (Text, bool) {
	i := slices.IndexFunc(texts(), func(t Text) bool { return t.ID == id })
	if i < 0 {
		return Text{}, false
	}
	return texts()[i], true
}

// All returns the fixed texts in the order of their page.
func All() []Text { return slices.Clone(texts()) }

// Fill returns the body with its placeholders replaced by values, which are taken as
// they are. A line that holds a placeholder without a value, or with an empty one, is
// left out: "Your model is {{model}}." of a model that is not known.
func (t Text) Fill(values map[string]string) string { return fill(t.Body, values) }

// document returns title and body of an embedded file, without the comments that name
// requirements.
func document(name string) (title, body string) {
	raw, err := files.ReadFile(name)
	if err != nil {
		panic(err) // the file is embedded
	}
	head, body, parted := strings.Cut(string(raw), "\n\n")
	title, titled := strings.CutPrefix(head, "# ")
	if !parted || !titled {
		panic(name + " does not begin with a title and a blank line") // the bytes are ours, and tested
	}
	return title, strings.TrimRight(withoutRequirements(body, nil), "\n")
}

// withoutRequirements returns markdown without the comments that name requirements
// and the spaces before each, and calls found with the ids, in order.
func withoutRequirements(markdown string, found func(id string)) string {
	const open, end = "<!-- ", " -->"
	var b strings.Builder
	b.Grow(len(markdown))
	for {
		before, rest, ok := strings.Cut(markdown, open)
		id, after, closed := strings.Cut(rest, end)
		if !ok || !closed {
			b.WriteString(markdown)
			return b.String()
		}
		if isRequirement(id) {
			b.WriteString(strings.TrimRight(before, " "))
			if found != nil {
				found(id)
			}
		} else {
			b.WriteString(before + open + id + end)
		}
		markdown = after
	}
}

// isRequirement reports whether a comment is the id of a requirement: the id of a
// text, a point and a number.
func isRequirement(comment string) bool {
	name, number, ok := strings.Cut(comment, ".")
	return ok && name != "" && number != "" &&
		!strings.ContainsFunc(name, func(r rune) bool { return (r < 'a' || r > 'z') && r != '-' }) &&
		!strings.ContainsFunc(number, func(r rune) bool { return r < '0' || r > '9' })
}
