package text

import (
	"slices"
	"strings"
	"sync"

	"kxm/lib/capability"
	"kxm/lib/fault"
)

// Group is what a prompt says about a group of tools.
type Group struct {
	ID         string
	Title      string
	Paragraphs []Paragraph
}

// Paragraph is a part of a group's text, or of what opens the tools section.
type Paragraph struct {
	Needs []string // tools that must all be there; none: it stands whenever its group does
	Body  string   // Markdown without a final newline

	ours bool // it may hold placeholders
}

// Fill returns the body with its placeholders replaced, as [Text.Fill] does; it is
// empty if no line is left. The text of an application has no placeholders and is
// returned as it is.
func (p Paragraph) Fill(values map[string]string) string {
	if !p.ours {
		return p.Body
	}
	return fill(p.Body, values)
}

// groupIDs name the embedded groups, in the order of a prompt.
var groupIDs = []string{"files", "shell", "web", "browser", "annotations", "connections", "session", "progress", "goals", "subagents", "plugins"}

var groups = sync.OnceValue(func() []Group {
	all := make([]Group, len(groupIDs))
	for i, id := range groupIDs {
		all[i] = embedded(id)
	}
	return all
})

var approval = sync.OnceValue(func() []Paragraph { return embedded("approval").Paragraphs })

// Groups returns the embedded groups in the order of a prompt. What they point to is
// shared and must not be changed.
func Groups() []Group { return slices.Clone(groups()) }

// Approval returns the paragraphs that open the tools section, whatever its groups.
func Approval() []Paragraph { return slices.Clone(approval()) }

// embedded parses one of our own groups.
func embedded(id string) Group {
	title, body := document("tools/" + id + ".md")
	g, err := ParseGroup(id, title, body)
	if err != nil {
		panic(err) // the bytes are ours, and tested
	}
	for i := range g.Paragraphs {
		g.Paragraphs[i].ours = true
	}
	return g
}

// ParseGroup reads the text of a group. Paragraphs are what blank lines part, those
// inside a code fence left aside. A line "<!-- needs: todo_write, read -->" begins a
// paragraph that stands only with all of these tools; commas and spaces separate
// them. Other comments are text, and every line ends with LF alone. The error is a *fault.Error of
// fault.PluginDescriptorInvalid with the field "text" and the line.
func ParseGroup(id, title, markdown string) (Group, error) {
	p := groupParser{group: Group{ID: id, Title: title}}
	for line := range strings.SplitSeq(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(markdown), "\n") {
		p.line++
		if err := p.read(line); err != nil {
			return Group{}, err
		}
	}
	p.end()
	if p.needs != nil {
		return Group{}, p.invalid("ends with a comment that belongs to no paragraph")
	}
	return p.group, nil
}

type groupParser struct {
	group Group
	line  int
	needs []string // of the paragraph that is to come
	lines []string // of the paragraph so far
	fence string   // the marks that opened the fence that is open
}

func (p *groupParser) read(line string) error {
	switch {
	case p.fence != "":
		if closesFence(line, p.fence) {
			p.fence = ""
		}
	case strings.TrimSpace(line) == "":
		p.end()
		return nil
	case isNeeds(line):
		p.end()
		if p.needs != nil {
			return p.invalid("holds a comment that belongs to no paragraph")
		}
		return p.readNeeds(line)
	default:
		p.fence = opensFence(line)
	}
	p.lines = append(p.lines, line)
	return nil
}

// end ends the paragraph, if one has begun.
func (p *groupParser) end() {
	if len(p.lines) == 0 {
		return
	}
	p.group.Paragraphs = append(p.group.Paragraphs, Paragraph{Needs: p.needs, Body: strings.Join(p.lines, "\n")})
	p.needs, p.lines = nil, nil
}

// isNeeds reports whether a line is a comment that says what a paragraph needs.
func isNeeds(line string) bool {
	comment, ok := strings.CutPrefix(strings.TrimSpace(line), "<!--")
	return ok && strings.HasPrefix(strings.TrimSpace(comment), "needs:")
}

func (p *groupParser) readNeeds(line string) error {
	_, list, _ := strings.Cut(line, "needs:")
	list, closed := strings.CutSuffix(strings.TrimSpace(list), "-->")
	if !closed {
		return p.invalid("holds a comment that does not end on its line")
	}
	for _, tool := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' }) {
		if !capability.ValidTool(tool) {
			return p.invalid("needs " + fault.Quote(tool) + ", which is no name of a tool")
		}
		p.needs = append(p.needs, tool)
	}
	if p.needs == nil {
		return p.invalid("holds a comment that names no tool")
	}
	return nil
}

func (p *groupParser) invalid(what string) error {
	e := fault.New(fault.PluginDescriptorInvalid, "the text of the tool group %s %s", fault.Quote(p.group.ID), what).On("text")
	e.Line = p.line
	return e
}

// opensFence returns the marks of the code fence that a line opens: at most three
// spaces, then three or more backticks or tildes. It returns "" for any other line.
func opensFence(line string) string {
	rest, ok := unindented(line)
	for _, mark := range []string{"`", "~"} {
		if marks := rest[:len(rest)-len(strings.TrimLeft(rest, mark))]; ok && len(marks) >= 3 {
			return marks
		}
	}
	return ""
}

// closesFence reports whether a line ends the fence that open began: the same marks,
// as many or more, and nothing else.
func closesFence(line, open string) bool {
	rest, ok := unindented(strings.TrimRight(line, " \t"))
	return ok && strings.HasPrefix(rest, open) && strings.Trim(rest, open[:1]) == ""
}

// unindented returns a line without the spaces it begins with; false if they are more
// than the marks of a fence may have before them.
func unindented(line string) (rest string, ok bool) {
	rest = strings.TrimLeft(line, " ")
	return rest, len(line)-len(rest) <= 3
}
