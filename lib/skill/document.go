package skill

import (
	"errors"
	"strings"
	"unicode/utf8"

	"kxm/lib/fault"
	"kxm/lib/frontmatter"
)

// Limits of the Agent Skills rules, in code points.
const (
	maxName        = 64
	maxDescription = 1024
)

// Document is what a SKILL.md says of itself. Other keys of its front matter and
// its body are kept as bytes and not looked at.
type Document struct {
	Name        string // 1 to 64 of a-z, 0-9 and single hyphens between them
	Description string // 1 to 1,024 code points, trimmed
}

// ParseDocument reads a SKILL.md. Front matter that is missing, broken, not YAML,
// or without a name and a description is fault.InvalidSkillFrontmatter; a name
// that breaks the rules is fault.InvalidSkillName. Both carry source and line.
func ParseDocument(source string, data []byte) (Document, error) {
	parsed, err := frontmatter.Parse(source, data)
	if err != nil {
		var f *fault.Error
		if !errors.As(err, &f) {
			return Document{}, err
		}
		invalid := *f
		invalid.Code = fault.InvalidSkillFrontmatter
		return Document{}, &invalid
	}
	if parsed.Format != frontmatter.YAML {
		return Document{}, fault.New(fault.InvalidSkillFrontmatter, "the front matter of a skill is YAML between '---' lines").At(source, 1, 1)
	}
	var doc Document
	name, err := requiredText(source, parsed.Root, "name")
	if err != nil {
		return Document{}, err
	}
	if doc.Name = name.Value; !validName(doc.Name) {
		return Document{}, fault.New(fault.InvalidSkillName, "the skill name %s breaks the Agent Skills rules", quoted(doc.Name)).
			WithHint("1 to %d lower-case letters and digits, with single hyphens between them", maxName).
			On("name").At(source, name.Line, name.Column)
	}
	description, err := requiredText(source, parsed.Root, "description")
	if err != nil {
		return Document{}, err
	}
	doc.Description = strings.TrimSpace(description.Value)
	if n := utf8.RuneCountInString(doc.Description); n > maxDescription {
		return Document{}, fault.New(fault.InvalidSkillFrontmatter, "the description has %d characters, more than %d", n, maxDescription).
			On("description").At(source, description.Line, description.Column)
	}
	return doc, nil
}

// requiredText returns the node of a key that must hold text other than white
// space.
func requiredText(source string, root *frontmatter.Node, key string) (*frontmatter.Node, error) {
	n, ok := root.Get(key)
	if !ok {
		return nil, fault.New(fault.InvalidSkillFrontmatter, "the front matter has no %s", key).On(key).At(source, root.Line, root.Column)
	}
	text, ok := n.Text()
	switch {
	case !ok && n.Kind == frontmatter.Scalar && n.Tag != frontmatter.TagNull:
		return nil, fault.New(fault.InvalidSkillFrontmatter, "the %s is not text", key).WithHint("put it in double quotes").
			On(key).At(source, n.Line, n.Column)
	case strings.TrimSpace(text) == "":
		return nil, fault.New(fault.InvalidSkillFrontmatter, "the %s is empty or not text", key).On(key).At(source, n.Line, n.Column)
	}
	return n, nil
}

// validName reports whether s keeps the Agent Skills rules for names.
func validName(s string) bool {
	if s == "" || len(s) > maxName || s[0] == '-' || s[len(s)-1] == '-' || strings.Contains(s, "--") {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-') })
}
