package text

import (
	"errors"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"kxm/lib/descriptor"
	"kxm/lib/fault"
)

func builtins(t *testing.T) *descriptor.Set {
	t.Helper()
	set, err := descriptor.NewSet()
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// tools are all that the built-in descriptors declare.
func tools() []string {
	var all []string
	for _, d := range descriptor.Builtin() {
		for _, c := range d.Contributions {
			if c.Kind == "tool" {
				all = append(all, c.Name)
			}
		}
	}
	return all
}

func TestGroupsAreThoseOfTheDescriptors(t *testing.T) {
	var want, got []string
	for _, g := range builtins(t).Groups() {
		want = append(want, g.ID)
	}
	for _, g := range Groups() {
		got = append(got, g.ID)
		if g.Title == "" || len(g.Paragraphs) == 0 {
			t.Errorf("%s says nothing", g.ID)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("texts of %v, descriptors of %v", got, want)
	}
	if len(Approval()) != 1 || len(Approval()[0].Needs) != 0 {
		t.Errorf("the opening is %+v", Approval())
	}
}

// INV-PLG-5: every embedded text has an owner.
func TestEveryTextHasAnOwner(t *testing.T) {
	set := builtins(t)
	for _, f := range All() {
		section := map[string]string{"identity": "harness-identity"}[f.ID]
		if section == "" {
			section = f.ID
		}
		_, owned := set.SectionOwner(section)
		if f.ID == "ask-user" { // a tool's description, in no section
			_, owned = set.ToolOwner("ask_user")
		}
		if !owned {
			t.Errorf("nobody owns %s", f.ID)
		}
	}
	for _, g := range Groups() {
		if _, ok := set.GroupOwner(g.ID); !ok {
			t.Errorf("nobody owns the group %s", g.ID)
		}
	}
	if _, ok := set.SectionOwner("tools"); !ok {
		t.Error("nobody owns the opening of the tools section")
	}
}

var spans = regexp.MustCompile("`([^`]+)`")

// A prompt names no tool that the run does not have: a paragraph needs each tool that
// it names.
func TestAParagraphNeedsTheToolsThatItNames(t *testing.T) {
	known := tools()
	for _, g := range append(Groups(), Group{ID: "approval", Paragraphs: Approval()}) {
		for _, p := range g.Paragraphs {
			for _, m := range spans.FindAllStringSubmatch(p.Body, -1) {
				if slices.Contains(known, m[1]) && !slices.Contains(p.Needs, m[1]) {
					t.Errorf("%s names %s without needing it: %s", g.ID, m[1], p.Body)
				}
			}
			for _, need := range p.Needs {
				if !slices.Contains(known, need) || !strings.Contains(p.Body, "`"+need+"`") {
					t.Errorf("%s needs %s, which is no tool or is not named", g.ID, need)
				}
			}
		}
	}
}

// said returns what the groups say to a run with some tools, those of the groups that
// have none of ours included.
func said(set *descriptor.Set, has []string, values map[string]string) string {
	var b strings.Builder
	write := func(ps []Paragraph) {
		for _, p := range ps {
			if !slices.ContainsFunc(p.Needs, func(n string) bool { return !slices.Contains(has, n) }) {
				b.WriteString(p.Fill(values) + "\n\n")
			}
		}
	}
	write(Approval())
	for _, g := range Groups() {
		b.WriteString("### " + g.Title + "\n\n")
		for _, tool := range has {
			if group, _ := set.GroupOf(tool); group == g.ID {
				b.WriteString("`" + tool + "`, ")
			}
		}
		b.WriteString("\n\n")
		write(g.Paragraphs)
	}
	return b.String()
}

// INV-PRM-5, as far as the texts go: every pair of tools, and 1,000 random sets.
func TestNoToolIsNamedThatARunDoesNotHave(t *testing.T) {
	set, known := builtins(t), tools()
	check := func(has []string) {
		text := said(set, has, longest)
		for _, m := range spans.FindAllStringSubmatch(text, -1) {
			if slices.Contains(known, m[1]) && !slices.Contains(has, m[1]) {
				t.Fatalf("a run with %v is told of %s", has, m[1])
			}
		}
	}
	for i := range known {
		for j := range known[:i] {
			check([]string{known[i], known[j]})
		}
	}
	r := rand.New(rand.NewPCG(5, 6))
	for range 1_000 {
		var has []string
		for _, tool := range known {
			if r.IntN(2) == 0 {
				has = append(has, tool)
			}
		}
		check(has)
	}
}

func TestAllGroupsTogetherFitTheToolsSection(t *testing.T) {
	text := said(builtins(t), tools(), longest)
	if n := utf8.RuneCountInString(text); n > 8_000 {
		t.Errorf("our groups have %d characters", n)
	} else {
		t.Logf("our groups have %d characters with the longest data root", n)
	}
}

// INV-PRM-9: with reading alone nothing is said about writing, and the data root is
// named where it is known.
func TestFilesSayNothingAboutWritingToAReader(t *testing.T) {
	set := builtins(t)
	reader := said(set, []string{"read"}, map[string]string{"dataRoot": "/data"})
	writing := regexp.MustCompile(`writ|worktree|outside it|pinned`)
	if m := writing.FindString(strings.ReplaceAll(reader, "`read`", "")); m != "" {
		t.Errorf("a reader is told %q: %s", m, reader)
	}
	if !strings.Contains(reader, "/data") || strings.Contains(said(set, []string{"read"}, nil), "data root") {
		t.Errorf("the data root: %s", reader)
	}
	for _, tool := range []string{"write", "edit"} {
		if alone := said(set, []string{tool}, nil); !strings.Contains(alone, "pinned project or worktree") || !strings.Contains(alone, "pauses") {
			t.Errorf("%s alone is told %s", tool, alone)
		}
	}
}

// INV-PRM-11: the handoff is named exactly with its tool, and without its limits.
func TestTheHandoffParagraphNamesNoLimit(t *testing.T) {
	found := 0
	for _, g := range Groups() {
		for _, p := range g.Paragraphs {
			if !strings.Contains(p.Body, "records a handoff") {
				continue
			}
			found++
			if g.ID != "progress" || !slices.Equal(p.Needs, []string{"checkpoint_write"}) || strings.ContainsFunc(p.Body, unicode.IsDigit) {
				t.Errorf("%s: %+v", g.ID, p)
			}
		}
	}
	if found != 1 {
		t.Errorf("the handoff is named %d times", found)
	}
}

func TestParseGroup(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     []Paragraph
	}{
		{"nothing", "", nil},
		{"blank", " \n\n\t\n", nil},
		{"one", "One.", []Paragraph{{Body: "One."}}},
		{"lines stay together", "One\n  two.\n\n\n\nThree.\n", []Paragraph{{Body: "One\n  two."}, {Body: "Three."}}},
		{"needs", "<!-- needs: a -->\nOne.\n\nTwo.", []Paragraph{{Needs: []string{"a"}, Body: "One."}, {Body: "Two."}}},
		{"needs of several", "<!--needs:a,b  c ,\td-->\nOne.", []Paragraph{{Needs: []string{"a", "b", "c", "d"}, Body: "One."}}},
		{"a blank line behind it", "<!-- needs: a -->\n\nOne.", []Paragraph{{Needs: []string{"a"}, Body: "One."}}},
		{"begins a paragraph", "One.\n<!-- needs: a -->\nTwo.", []Paragraph{{Body: "One."}, {Needs: []string{"a"}, Body: "Two."}}},
		{"crlf", "<!-- needs: a -->\r\nOne.\r\n\r\nTwo.\r\n", []Paragraph{{Needs: []string{"a"}, Body: "One."}, {Body: "Two."}}},
		{"other comments are text", "<!-- a note -->\nOne. <!-- needs: x -->", []Paragraph{{Body: "<!-- a note -->\nOne. <!-- needs: x -->"}}},
		{"a fence", "One:\n```go\na\n\n<!-- needs: x -->\n``\n~~~\n```\n\nTwo.", []Paragraph{{Body: "One:\n```go\na\n\n<!-- needs: x -->\n``\n~~~\n```"}, {Body: "Two."}}},
		{"a longer fence", "````\n```\n\n`````  \nOne.\n\nTwo.", []Paragraph{{Body: "````\n```\n\n`````  \nOne."}, {Body: "Two."}}},
		{"tildes", "   ~~~ x\n\n   ~~~\n\nTwo.", []Paragraph{{Body: "   ~~~ x\n\n   ~~~"}, {Body: "Two."}}},
		{"an indented mark is none", "    ```\n\nTwo.", []Paragraph{{Body: "    ```"}, {Body: "Two."}}},
		{"an open fence", "~~~\n\nTwo.", []Paragraph{{Body: "~~~\n\nTwo."}}},
		{"no fence", "``\n\nTwo.", []Paragraph{{Body: "``"}, {Body: "Two."}}},
	} {
		g, err := ParseGroup("own", "Own", c.in)
		if err != nil || g.ID != "own" || g.Title != "Own" || !slices.EqualFunc(g.Paragraphs, c.want, equal) {
			t.Errorf("%s: %+v, %v", c.name, g, err)
		}
	}
	for _, c := range []struct {
		in   string
		line int
	}{
		{"One.\n\n<!-- needs: -->\nTwo.", 3},
		{"<!-- needs: , -->\nTwo.", 1},
		{"<!-- needs: a\nTwo.", 1},
		{"<!-- needs: a --> Two.", 1},
		{"<!-- needs: a* -->\nTwo.", 1},
		{"<!-- needs: `a` -->\nTwo.", 1},
		{"<!-- needs: a -->\n<!-- needs: b -->\nTwo.", 2},
		{"One.\n\n<!-- needs: a -->\n", 4},
	} {
		_, err := ParseGroup("own", "Own", c.in)
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != fault.PluginDescriptorInvalid || f.Field != "text" || f.Line != c.line {
			t.Errorf("%q: %v, want line %d", c.in, err, c.line)
		}
	}
}

func equal(a, b Paragraph) bool { return slices.Equal(a.Needs, b.Needs) && a.Body == b.Body }

func TestAnApplicationsTextHasNoPlaceholders(t *testing.T) {
	g, err := ParseGroup("own", "Own", "Keep {{dataRoot}}.")
	if err != nil || g.Paragraphs[0].Fill(nil) != "Keep {{dataRoot}}." {
		t.Errorf("%+v, %v", g, err)
	}
}

func FuzzParseGroup(f *testing.F) {
	for _, g := range Groups() {
		f.Add(grouped(g))
	}
	f.Add("````\n```\n\n<!-- needs: x -->\n````\n\n<!-- needs: a,b -->\n\nOne.")
	f.Add("<!-- needs: a -->")
	f.Add("~~~\r\n\r\n ```\x00\xff")
	f.Fuzz(func(t *testing.T, markdown string) {
		g, err := ParseGroup("own", "Own", markdown)
		if err != nil {
			if !fault.Is(err, fault.PluginDescriptorInvalid) {
				t.Fatalf("%q: %v", markdown, err)
			}
			return
		}
		for _, p := range g.Paragraphs {
			if strings.TrimSpace(p.Body) == "" && !strings.ContainsAny(p.Body, "`~") || p.Needs != nil && len(p.Needs) == 0 {
				t.Fatalf("%q: %+v", markdown, p)
			}
		}
		back, err := ParseGroup("own", "Own", grouped(g))
		if err != nil || !slices.EqualFunc(back.Paragraphs, g.Paragraphs, equal) {
			t.Fatalf("%q: %+v came back as %+v, %v", markdown, g, back, err)
		}
	})
}

// BenchmarkTexts is what the first text of a run costs.
func BenchmarkTexts(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		for _, f := range fixed {
			document(f.id + ".md")
		}
		for _, id := range groupIDs {
			embedded(id)
		}
	}
}
