// Package text owns the text that the product says to a model: the fixed texts of a
// prompt and the paragraphs about tools, as embedded Markdown.
//
// Start with [Fixed] for one text, [Groups] for what is said about tools and
// [ParseGroup] for an application's. Nothing is parsed before it is asked for. The
// package decides neither which text a prompt holds nor in which order; that is
// lib/prompt's.
package text

// Text is one fixed text.
type Text struct {
	ID     string // the name of its file
	Title  string
	Body   string // Markdown without a final newline, with its placeholders
	Digest string // "sha256:" and the hex digest of Body
	Budget int    // the most code points of the filled body
}

// Fixed returns a fixed text by its id.
func Fixed(id string) (Text, bool) { return Text{}, false }

// All returns the fixed texts in the order in which a prompt's page lists them.
func All() []Text { return nil }

// Fill returns the body with its placeholders replaced. A line that holds a
// placeholder without a value is left out.
func (t Text) Fill(values map[string]string) string { return t.Body }

// Group is what a prompt says about a group of tools.
type Group struct {
	ID         string
	Title      string
	Paragraphs []Paragraph
}

// Paragraph is a part of a group's text, or of the opening.
type Paragraph struct {
	Needs []string // tools that must all be there; none: it stands whenever its group does
	Body  string
}

// Fill returns the body with its placeholders replaced, as [Text.Fill] does; it is
// empty when nothing is left.
func (p Paragraph) Fill(values map[string]string) string { return p.Body }

// ParseGroup reads the text of a group.
func ParseGroup(id, title, markdown string) (Group, error) {
	return Group{ID: id, Title: title}, nil
}

// Groups returns the embedded groups in the order of a prompt.
func Groups() []Group { return nil }

// Approval returns the paragraphs that open the tools section.
func Approval() []Paragraph { return nil }
