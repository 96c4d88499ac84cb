package descriptor_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"kxm/lib/descriptor"
	"kxm/lib/fault"
	"kxm/lib/frontmatter"
)

// taxonomy is the ownership table of the documentation.
var taxonomy = []struct {
	area string
	ids  []string
}{
	{"foundation", []string{"session", "gate", "prompt", "files", "shell", "plugin-authoring"}},
	{"world", []string{"web", "browser", "annotations"}},
	{"memory", []string{"wiki", "history"}},
	{"automation", []string{"todo", "plan", "goals", "subagents", "ask-user", "side-questions", "lessons", "refinement"}},
	{"integrations", []string{"connections", "hub"}},
	{"operations", []string{"doctor", "worktrees", "usage", "output-trim", "budget-guard"}},
}

func TestBuiltinsAreTheOwnershipTable(t *testing.T) {
	var want []string
	for _, row := range taxonomy {
		for _, id := range row.ids {
			want = append(want, "builtin:"+id)
		}
	}
	var got []string
	for _, d := range descriptor.Builtin() {
		got = append(got, d.ID)
		if d.Description == "" || strings.HasSuffix(d.Description, ".") {
			t.Errorf("%s: description %q", d.ID, d.Description)
		}
		name := strings.TrimPrefix(d.ID, "builtin:")
		foundation := slices.Contains(taxonomy[0].ids, name) && name != "plugin-authoring"
		if d.Required != (foundation || name == "ask-user" || name == "side-questions") {
			t.Errorf("%s: required %t", d.ID, d.Required)
		}
		if d.Default != !slices.Contains([]string{"output-trim", "budget-guard", "lessons"}, name) {
			t.Errorf("%s: default %t", d.ID, d.Default)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// INV-PLG-11: the areas are a matter of documentation, where each built-in stands
// once.
func TestDocumentationNamesEveryBuiltinOnce(t *testing.T) {
	page, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(page), "\n## Built-in plugins\n")
	section, _, _ := strings.Cut(rest, "\n## ")
	if !ok {
		t.Fatal("the page has no table of built-in plugins")
	}
	for _, row := range taxonomy {
		line := "| " + row.area + " | `" + strings.Join(row.ids, "` `") + "` |"
		if !strings.Contains(section, "\n"+line+"\n") {
			t.Errorf("missing: %s", line)
		}
		for _, id := range row.ids {
			if n := strings.Count(section, "`"+id+"`"); n != 1 {
				t.Errorf("%s stands there %d times", id, n)
			}
		}
	}
}

func TestNoDescriptorHasACategory(t *testing.T) {
	raw, err := os.ReadFile("builtin.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(raw), "category") {
		t.Error("builtin.ndjson has a category")
	}
}

func TestToolsHaveOwnersAndGroups(t *testing.T) {
	set, err := descriptor.NewSet()
	if err != nil {
		t.Fatal(err)
	}
	for tool, want := range map[string][2]string{
		"session_name": {"session", "session"}, "checkpoint_write": {"session", "progress"},
		"read": {"files", "files"}, "write": {"files", "files"}, "edit": {"files", "files"}, "find": {"files", "files"}, "grep": {"files", "files"}, "ls": {"files", "files"},
		"bash": {"shell", "shell"}, "plugin_propose": {"plugin-authoring", "plugins"},
		"web_search": {"web", "web"}, "web_read": {"web", "web"},
		"todo_write": {"todo", "progress"}, "update_goal": {"goals", "goals"}, "ask_user": {"ask-user", ""},
	} {
		owner, ok := set.ToolOwner(tool)
		group, described := set.GroupOf(tool)
		if !ok || owner != "builtin:"+want[0] || group != want[1] || described != (want[1] != "") {
			t.Errorf("%s: owner %s, group %q", tool, owner, group)
		}
	}
	for group, want := range map[string]string{
		"files": "files", "shell": "shell", "web": "web", "browser": "browser", "annotations": "annotations", "connections": "connections",
		"session": "session", "progress": "todo", "goals": "goals", "subagents": "subagents", "plugins": "plugin-authoring",
	} {
		if owner, ok := set.GroupOwner(group); !ok || owner != "builtin:"+want {
			t.Errorf("group %s: owner %s", group, owner)
		}
	}
	for section, want := range map[string]string{
		"harness-identity": "prompt", "role": "prompt", "autonomy": "prompt", "personality": "prompt", "permission": "prompt", "steering": "prompt",
		"writing": "prompt", "workspace": "prompt", "references": "prompt", "required-skills": "prompt", "tools": "prompt", "reporting": "prompt",
		"side-question": "side-questions", "plan": "plan", "wiki": "wiki", "session-state": "session", "continuation": "session", "subagents": "subagents",
	} {
		if owner, ok := set.SectionOwner(section); !ok || owner != "builtin:"+want {
			t.Errorf("section %s: owner %s", section, owner)
		}
	}
	for _, missing := range []string{"", "kill", "guardrails"} {
		_, tool := set.ToolOwner(missing)
		_, grouped := set.GroupOf(missing)
		_, group := set.GroupOwner(missing)
		_, section := set.SectionOwner(missing)
		if tool || grouped || group || section || set.Declares(missing) {
			t.Errorf("%q has an owner", missing)
		}
	}
	if !set.Declares("builtin:prompt") || set.Declares("prompt") || set.Declares("application:a") {
		t.Error("Declares is wrong about builtin:prompt, prompt or application:a")
	}
}

// application is a descriptor as an application would bring it.
func application(t *testing.T, members string) descriptor.Descriptor {
	t.Helper()
	d, problems, err := descriptor.Parse([]byte(`{"schema":"kxm.plugin-descriptor.v1",` + members + `}`))
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	return d
}

func TestAnApplicationJoinsGroupsAndAddsItsOwn(t *testing.T) {
	one := application(t, `"id":"application:tabs","title":"Tabs","contributions":[{"kind":"tool","name":"open_tab","group":"browser"},{"kind":"tool","name":"deploy","group":"zeta"}],"toolGroups":[{"id":"zeta","title":"Z","text":"z"},{"id":"alpha","title":"A","text":"a"}],"sections":["tabs"]`)
	two := application(t, `"id":"application:more","title":"More","toolGroups":[{"id":"beta","title":"B","text":"b"}],"contributions":[{"kind":"tool","name":"silent"},{"kind":"connection","name":"mail","tools":[{"name":"read"}]}]`)
	set, err := descriptor.NewSet(one, two)
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, g := range set.Groups() {
		order = append(order, g.ID)
	}
	want := []string{"files", "shell", "web", "browser", "annotations", "connections", "session", "progress", "goals", "subagents", "plugins", "zeta", "alpha", "beta"}
	if !slices.Equal(order, want) {
		t.Errorf("groups %v", order)
	}
	if g, _ := set.GroupOf("open_tab"); g != "browser" {
		t.Errorf("open_tab is in %q", g)
	}
	if owner, _ := set.ToolOwner("open_tab"); owner != "application:tabs" {
		t.Errorf("open_tab is %s's", owner)
	}
	if owner, _ := set.ToolOwner("read"); owner != "builtin:files" {
		t.Errorf("a connection's tool took read: %s", owner)
	}
	if owner, _ := set.SectionOwner("tabs"); owner != "application:tabs" || !set.Declares("application:more") {
		t.Errorf("tabs is %s's", owner)
	}
	if _, ok := set.GroupOf("silent"); ok {
		t.Error("a tool without a group is described")
	}
	if n := len(set.Descriptors()); n != len(descriptor.Builtin())+2 {
		t.Errorf("%d descriptors", n)
	}
}

// INV-PLG-10.
func TestNothingHasTwoOwners(t *testing.T) {
	other := application(t, `"id":"application:b","title":"B","contributions":[{"kind":"tool","name":"b_tool"}],"toolGroups":[{"id":"b-group","title":"B","text":"b"}],"sections":["b-section"]`)
	for _, c := range []struct{ members, field string }{
		{`"id":"builtin:todo","title":"A"`, "id"},
		{`"id":"builtin:mine","title":"A"`, "id"},
		{`"id":"application:b","title":"A"`, "id"},
		{`"id":"application:a","title":"A","contributions":[{"kind":"skill","name":"bash"},{"kind":"tool","name":"bash"}]`, "contributions[1].name"},
		{`"id":"application:a","title":"A","contributions":[{"kind":"tool","name":"ask_user"}]`, "contributions[0].name"},
		{`"id":"application:a","title":"A","contributions":[{"kind":"tool","name":"b_tool"}]`, "contributions[0].name"},
		{`"id":"application:a","title":"A","contributions":[{"kind":"tool","name":"x","group":"nowhere"}]`, "contributions[0].group"},
		{`"id":"application:a","title":"A","toolGroups":[{"id":"files"}]`, "toolGroups[0].id"},
		{`"id":"application:a","title":"A","toolGroups":[{"id":"c","title":"C","text":"c"},{"id":"b-group","title":"C","text":"c"}]`, "toolGroups[1].id"},
		{`"id":"application:a","title":"A","sections":["reporting"]`, "sections[0]"},
		{`"id":"application:a","title":"A","sections":["mine","guardrails"]`, "sections[1]"},
		{`"id":"application:a","title":"A","sections":["b-section"]`, "sections[0]"},
		{`"id":"application:a","title":"A","sections":["mine","mine"]`, "sections[1]"},
	} {
		_, err := descriptor.NewSet(other, application(t, c.members))
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != fault.PluginDescriptorInvalid || f.Field != c.field {
			t.Errorf("%s: %v, want plugin_descriptor_invalid of %s", c.members, err, c.field)
		}
	}
	if _, err := descriptor.NewSet(other); err != nil {
		t.Error(err)
	}
}

func TestEmbeddedSkillsKeepTheAgentSkillsRules(t *testing.T) {
	skills := 0
	for _, d := range descriptor.Builtin() {
		for _, c := range d.Contributions {
			if c.Kind != "skill" {
				continue
			}
			skills++
			text, ok := descriptor.Skill(c.Name)
			if !ok {
				t.Errorf("%s brings the skill %s, which is not embedded", d.ID, c.Name)
				continue
			}
			doc, err := frontmatter.Parse("SKILL.md", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			name, _ := doc.Root.Get("name")
			description, _ := doc.Root.Get("description")
			if name == nil || description == nil || name.Value != c.Name || description.Value == "" || utf8.RuneCountInString(description.Value) > 1024 {
				t.Errorf("%s: name %v, description %v", c.Name, name, description)
			}
			if n := strings.Count(text, "\n"); n >= 200 || !strings.HasSuffix(text, "\n") {
				t.Errorf("%s has %d lines", c.Name, n)
			}
		}
	}
	if _, ok := descriptor.Skill("deploy"); ok || skills != 1 {
		t.Errorf("%d skills are embedded, and deploy: %t", skills, ok)
	}
}

// What stands in the skill is what the other pages say: the limits of a proposal, its
// places, and the four routes.
func TestTheAuthoringSkillNamesRoutesAndLimits(t *testing.T) {
	text, _ := descriptor.Skill("plugin-authoring")
	for _, part := range []string{
		"`.agents/skills/<name>/SKILL.md`", "`~/.agents/skills/<name>/SKILL.md`", "accounts/_shared/pi/skills/", "the variant's `skills/`",
		"`plugin_propose`", "1 to 100 of UTF-8 text, each at most 256 KiB, together at most 1 MiB", "1 to 1,024 characters", "proposal accept <id> --hash",
		"switched off and untrusted", "`package.json` is generated", "--rev", "--subdir",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("the skill does not say %q", part)
		}
	}
}

// BenchmarkFirstUse is what the first question about an owner costs a program.
func BenchmarkFirstUse(b *testing.B) {
	raw, err := os.ReadFile("builtin.ndjson")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		for line := range strings.Lines(string(raw)) {
			if _, _, err := descriptor.Parse([]byte(line)); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := descriptor.NewSet(); err != nil {
			b.Fatal(err)
		}
	}
}
