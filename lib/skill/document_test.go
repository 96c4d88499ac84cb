package skill

import (
	"errors"
	"strings"
	"testing"

	"kxm/lib/fault"
)

func TestParseDocumentKeepsTheAgentSkillsRules(t *testing.T) {
	longest := strings.Repeat("é", maxDescription)
	for _, c := range []struct {
		name, in string
		want     Document
	}{
		{"plain", "---\nname: pdf\ndescription: Read PDFs\n---\nbody", Document{"pdf", "Read PDFs"}},
		{"folded", "---\ndescription: >\n  Read\n  PDFs\nname: 'a-1-b'\nallowed-tools: Bash(git:*)\nmetadata: {version: 1.0}\n---\n", Document{"a-1-b", "Read PDFs"}},
		{"crlf", "---\r\nname: a\r\ndescription: b\r\n---\r\n", Document{"a", "b"}},
		{"longest", "---\nname: " + strings.Repeat("a", 64) + "\ndescription: " + longest + "\n---", Document{strings.Repeat("a", 64), longest}},
		{"quoted digits", "---\nname: \"123\"\ndescription: \"true\"\n---\n", Document{"123", "true"}},
	} {
		got, err := ParseDocument("SKILL.md", []byte(c.in))
		if err != nil || got != c.want {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
	}
	for _, c := range []struct {
		name, in     string
		code         fault.Code
		field        string
		line, column int
	}{
		{"empty", "", fault.InvalidSkillFrontmatter, "", 1, 0},
		{"no front matter", "# PDF\n", fault.InvalidSkillFrontmatter, "", 1, 0},
		{"broken", "---\nname: pdf\nname: pdf\n---\n", fault.InvalidSkillFrontmatter, "", 3, 1},
		{"toml", "+++\nname = 'pdf'\ndescription = 'x'\n+++\n", fault.InvalidSkillFrontmatter, "", 1, 1},
		{"no name", "---\ndescription: x\n---\n", fault.InvalidSkillFrontmatter, "name", 2, 1},
		{"no description", "---\nname: pdf\n---\n", fault.InvalidSkillFrontmatter, "description", 2, 1},
		{"empty name", "---\nname:\ndescription: x\n---\n", fault.InvalidSkillFrontmatter, "name", 2, 6},
		{"blank description", "---\nname: pdf\ndescription: '  '\n---\n", fault.InvalidSkillFrontmatter, "description", 3, 14},
		{"number", "---\nname: 123\ndescription: x\n---\n", fault.InvalidSkillFrontmatter, "name", 2, 7},
		{"list", "---\nname: [pdf]\ndescription: x\n---\n", fault.InvalidSkillFrontmatter, "name", 2, 7},
		{"long description", "---\nname: pdf\ndescription: " + longest + "é\n---\n", fault.InvalidSkillFrontmatter, "description", 3, 14},
		{"upper case", "---\nname: PDF\ndescription: x\n---\n", fault.InvalidSkillName, "name", 2, 7},
		{"space", "---\nname: p df\ndescription: x\n---\n", fault.InvalidSkillName, "name", 2, 7},
		{"underscore", "---\nname: p_df\ndescription: x\n---\n", fault.InvalidSkillName, "name", 2, 7},
		{"two hyphens", "---\nname: p--df\ndescription: x\n---\n", fault.InvalidSkillName, "name", 2, 7},
		{"hyphen first", "---\nname: '-pdf'\ndescription: x\n---\n", fault.InvalidSkillName, "name", 2, 7},
		{"hyphen last", "---\nname: pdf-\ndescription: x\n---\n", fault.InvalidSkillName, "name", 2, 7},
		{"accent", "---\nname: café\ndescription: x\n---\n", fault.InvalidSkillName, "name", 2, 7},
		{"path", "---\nname: ../x\ndescription: x\n---\n", fault.InvalidSkillName, "name", 2, 7},
		{"65 characters", "---\nname: " + strings.Repeat("a", 65) + "\ndescription: x\n---\n", fault.InvalidSkillName, "name", 2, 7},
	} {
		_, err := ParseDocument("SKILL.md", []byte(c.in))
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != c.code || f.Field != c.field || f.Source != "SKILL.md" || f.Line != c.line || f.Column != c.column {
			t.Errorf("%s: %v, want %s of %q at %d:%d", c.name, err, c.code, c.field, c.line, c.column)
		}
	}
}

func TestIDsAreMadeOfNameAndDigest(t *testing.T) {
	digest := "kxt1:" + strings.Repeat("0123456789abcdef", 4)
	for name, want := range map[string]string{
		"pdf":                            "pdf.0123456789ab",
		strings.Repeat("a", 64):          strings.Repeat("a", 40) + ".0123456789ab",
		strings.Repeat("a", 39) + "-bcd": strings.Repeat("a", 39) + ".0123456789ab",
	} {
		if got := newID(name, digest); got != want || !validID(got) {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func FuzzParseDocument(f *testing.F) {
	for _, s := range []string{document, "---\nname: a\n---\n", "---\nname: |\n  a\ndescription: \"\\u0041\"\n---\n", "+++\n+++\n", ""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, err := ParseDocument("SKILL.md", data)
		if err != nil {
			if code := fault.CodeOf(err); code != fault.InvalidSkillFrontmatter && code != fault.InvalidSkillName {
				t.Fatalf("%q: %v", data, err)
			}
			return
		}
		id := newID(doc.Name, "kxt1:"+strings.Repeat("0", 64))
		if !validName(doc.Name) || doc.Description == "" || !validID(id) || strings.ContainsAny(id, "/\\") {
			t.Fatalf("%q: %+v, id %s", data, doc, id)
		}
	})
}
