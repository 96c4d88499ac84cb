package descriptor_test

import (
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"strings"
	"testing"

	"kxm/lib/descriptor"
	"kxm/lib/fault"
)

// published is the example of the format's page, under an application's id.
const published = `{"schema":"kxm.plugin-descriptor.v1","id":"application:todo","title":"Todo list","description":"Shows progress on a request","required":false,"default":"on","contributions":[{"kind":"tool","name":"todo_add","group":"progress"}],"toolGroups":[{"id":"lists","title":"Lists","text":"One list."}],"sections":["addon-lists"],"surfaces":{"preferred":"host","terminal":"fallback","note":"The host draws the list; a terminal prints it."}}`

func TestParse(t *testing.T) {
	for name, c := range map[string]struct {
		raw  string
		want descriptor.Descriptor
	}{
		"all": {published, descriptor.Descriptor{
			ID: "application:todo", Title: "Todo list", Description: "Shows progress on a request", Default: true,
			Contributions: []descriptor.Contribution{{Kind: "tool", Name: "todo_add", Group: "progress"}},
			ToolGroups:    []descriptor.ToolGroup{{ID: "lists", Title: "Lists", Text: "One list."}},
			Sections:      []string{"addon-lists"},
			Surfaces:      &descriptor.Surfaces{Preferred: "host", Terminal: "fallback", Note: "The host draws the list; a terminal prints it."},
		}},
		"least": {`{"schema":"kxm.plugin-descriptor.v1","id":"application:a","title":"A"}`,
			descriptor.Descriptor{ID: "application:a", Title: "A", Default: true}},
		"null is absent, unknown keys are ignored": {`{"schema":"kxm.plugin-descriptor.v1","id":"application:a","title":"A","description":null,"required":null,"default":null,"contributions":null,"toolGroups":null,"sections":null,"surfaces":null,"category":"world","x":{"y":[]}}`,
			descriptor.Descriptor{ID: "application:a", Title: "A", Default: true}},
		"off":      {`{"schema":"kxm.plugin-descriptor.v1","id":"application:a","title":"A","default":"off"}`, descriptor.Descriptor{ID: "application:a", Title: "A"}},
		"required": {`{"schema":"kxm.plugin-descriptor.v1","id":"application:a","title":"A","required":true}`, descriptor.Descriptor{ID: "application:a", Title: "A", Required: true, Default: true}},
		"a connection's tools ask unless told": {`{"schema":"kxm.plugin-descriptor.v1","id":"application:a","title":"A","contributions":[{"kind":"connection","name":"mail","tools":[{"name":"send"},{"name":"list","ask":false},{"name":"move","ask":true}]}]}`,
			descriptor.Descriptor{ID: "application:a", Title: "A", Default: true, Contributions: []descriptor.Contribution{{Kind: "connection", Name: "mail",
				Tools: []descriptor.ConnectionTool{{Name: "send", Ask: true}, {Name: "list"}, {Name: "move", Ask: true}}}}}},
		"an embedded group": {`{"schema":"kxm.plugin-descriptor.v1","id":"builtin:todo","title":"T","toolGroups":[{"id":"progress"}]}`,
			descriptor.Descriptor{ID: "builtin:todo", Title: "T", Default: true, ToolGroups: []descriptor.ToolGroup{{ID: "progress"}}}},
	} {
		got, problems, err := descriptor.Parse([]byte(c.raw))
		if err != nil || len(problems) != 0 || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, %v, %v", name, got, problems, err)
		}
	}
}

func TestEveryKindOfContributionParses(t *testing.T) {
	for _, kind := range descriptor.Kinds() {
		d, _, err := descriptor.Parse(with(t, "contributions", `[{"kind":"`+kind+`","name":"a b"}]`))
		if kind == "tool" {
			if !fault.Is(err, fault.PluginDescriptorInvalid) {
				t.Errorf("a tool with a space: %v", err)
			}
		} else if err != nil || d.Contributions[0].Kind != kind {
			t.Errorf("%s: %+v, %v", kind, d, err)
		}
	}
	if len(descriptor.Kinds()) != 8 {
		t.Errorf("%d kinds", len(descriptor.Kinds()))
	}
}

// with is a small descriptor with one field, dotted if it is the surfaces', set to a
// JSON value.
func with(t *testing.T, field, value string) []byte {
	t.Helper()
	d := map[string]json.RawMessage{
		"schema": json.RawMessage(`"kxm.plugin-descriptor.v1"`), "id": json.RawMessage(`"application:a"`), "title": json.RawMessage(`"A"`),
	}
	if key, inside := strings.CutPrefix(field, "surfaces."); inside {
		s := map[string]json.RawMessage{"preferred": json.RawMessage(`"host"`), "terminal": json.RawMessage(`"fallback"`), "note": json.RawMessage(`"n"`)}
		s[key] = json.RawMessage(value)
		field, value = "surfaces", string(must(json.Marshal(s)))
	}
	d[field] = json.RawMessage(value)
	return must(json.Marshal(d))
}

func must(raw []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return raw
}

func TestParseRefuses(t *testing.T) {
	long := func(n int) string { return `"` + strings.Repeat("é", n) + `"` }
	for _, c := range []struct{ field, value, at string }{
		{"schema", `null`, "schema"},
		{"schema", `"kxm.plugin-descriptor.v2"`, "schema"},
		{"schema", `1`, "schema"},
		{"id", `null`, "id"},
		{"id", `"todo"`, "id"},
		{"id", `"package:todo"`, "id"},
		{"id", `"application:"`, "id"},
		{"id", `"application:Todo"`, "id"},
		{"id", `"application:1a"`, "id"},
		{"id", `"application:a/b"`, "id"},
		{"id", `"application:` + strings.Repeat("a", descriptor.MaxID+1) + `"`, "id"},
		{"title", `null`, "title"},
		{"title", `""`, "title"},
		{"title", `" "`, "title"},
		{"title", `5`, "title"},
		{"title", `"a\nb"`, "title"},
		{"title", `"a\u202eb"`, "title"},
		{"title", long(descriptor.MaxTitle + 1), "title"},
		{"description", long(descriptor.MaxDescription + 1), "description"},
		{"description", `"a\u001bb"`, "description"},
		{"description", `[]`, "description"},
		{"required", `"yes"`, "required"},
		{"default", `true`, "default"},
		{"default", `"maybe"`, "default"},
		{"contributions", `{}`, "contributions"},
		{"contributions", `["tool"]`, "contributions[0]"},
		{"contributions", `[{"name":"a"}]`, "contributions[0].kind"},
		{"contributions", `[{"kind":"hook","name":"a"}]`, "contributions[0].kind"},
		{"contributions", `[{"kind":"tool"}]`, "contributions[0].name"},
		{"contributions", `[{"kind":"tool","name":"*"}]`, "contributions[0].name"},
		{"contributions", "[{\"kind\":\"tool\",\"name\":\"a`b\"}]", "contributions[0].name"},
		{"contributions", `[{"kind":"skill","name":"a/b"}]`, "contributions[0].name"},
		{"contributions", `[{"kind":"tool","name":"a"},{"kind":"skill","name":"a"},{"kind":"tool","name":"a"}]`, "contributions[2].name"},
		{"contributions", `[{"kind":"skill","name":"a","group":"files"}]`, "contributions[0].group"},
		{"contributions", `[{"kind":"tool","name":"a","group":""}]`, "contributions[0].group"},
		{"contributions", `[{"kind":"tool","name":"a","tools":[]}]`, "contributions[0].tools"},
		{"contributions", `[{"kind":"connection","name":"a","tools":"b"}]`, "contributions[0].tools"},
		{"contributions", `[{"kind":"connection","name":"a","tools":["b"]}]`, "contributions[0].tools[0]"},
		{"contributions", `[{"kind":"connection","name":"a","tools":[{"ask":true}]}]`, "contributions[0].tools[0].name"},
		{"contributions", `[{"kind":"connection","name":"a","tools":[{"name":"b c"}]}]`, "contributions[0].tools[0].name"},
		{"contributions", `[{"kind":"connection","name":"a","tools":[{"name":"b"},{"name":"b"}]}]`, "contributions[0].tools[1].name"},
		{"contributions", `[{"kind":"connection","name":"a","tools":[{"name":"b","ask":"no"}]}]`, "contributions[0].tools[0].ask"},
		{"toolGroups", `"files"`, "toolGroups"},
		{"toolGroups", `["files"]`, "toolGroups[0]"},
		{"toolGroups", `[{}]`, "toolGroups[0].id"},
		{"toolGroups", `[{"id":"A"}]`, "toolGroups[0].id"},
		{"toolGroups", `[{"id":"own"}]`, "toolGroups[0].title"},
		{"toolGroups", `[{"id":"own","title":"Own"}]`, "toolGroups[0].text"},
		{"toolGroups", `[{"id":"own","title":"Own","text":" "}]`, "toolGroups[0].text"},
		{"toolGroups", `[{"id":"own","title":"Own","text":` + long(descriptor.MaxGroupText+1) + `}]`, "toolGroups[0].text"},
		{"toolGroups", `[{"id":"own","title":"a\nb","text":"x"}]`, "toolGroups[0].title"},
		{"toolGroups", `[{"id":"files","title":"Files","text":"x"}]`, "toolGroups[0].id"},
		{"sections", `"a"`, "sections"},
		{"sections", `[1]`, "sections[0]"},
		{"sections", `["a","B"]`, "sections[1]"},
	} {
		_, _, err := descriptor.Parse(with(t, c.field, c.value))
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != fault.PluginDescriptorInvalid || f.Field != c.at || f.Code.Exit() != fault.ExitBadInput {
			t.Errorf("%s %s: %v, want plugin_descriptor_invalid of %q", c.field, c.value, err, c.at)
		}
	}
	both := `{"schema":"kxm.plugin-descriptor.v1","id":"application:a","title":"A","required":true,"default":"off"}`
	if _, _, err := descriptor.Parse([]byte(both)); !fault.Is(err, fault.PluginDescriptorInvalid) {
		t.Errorf("required and off: %v", err)
	}
	for _, raw := range []string{`[]`, `null`, `"x"`} {
		if _, _, err := descriptor.Parse([]byte(raw)); !fault.Is(err, fault.PluginDescriptorInvalid) {
			t.Errorf("%s: %v", raw, err)
		}
	}
	for _, raw := range []string{``, `{`, published + published, `{"id":"a","id":"b"}`} {
		if _, _, err := descriptor.Parse([]byte(raw)); !fault.Is(err, fault.InvalidJSON) {
			t.Errorf("%q: %v", raw, err)
		}
	}
}

func TestMalformedSurfacesAreDropped(t *testing.T) {
	for _, c := range []struct{ field, value, at string }{
		{"surfaces", `"host"`, "surfaces"},
		{"surfaces", `{}`, "surfaces.preferred"},
		{"surfaces.preferred", `"terminal"`, "surfaces.preferred"},
		{"surfaces.terminal", `"host"`, "surfaces.terminal"},
		{"surfaces.terminal", `null`, "surfaces.terminal"},
		{"surfaces.note", `""`, "surfaces.note"},
		{"surfaces.note", `"a\nb"`, "surfaces.note"},
		{"surfaces.note", `"` + strings.Repeat("a", descriptor.MaxNote+1) + `"`, "surfaces.note"},
	} {
		d, problems, err := descriptor.Parse(with(t, c.field, c.value))
		if err != nil || d.ID != "application:a" || d.Surfaces != nil || len(problems) != 1 || problems[0].Field != c.at || problems[0].Message == "" {
			t.Errorf("%s %s: %+v, %v, %v", c.field, c.value, d, problems, err)
		}
	}
	d, problems, err := descriptor.Parse(with(t, "surfaces.terminal", `"unavailable"`))
	if err != nil || len(problems) != 0 || d.Surfaces.Terminal != "unavailable" {
		t.Errorf("%+v, %v, %v", d, problems, err)
	}
}

// The order of keys decides nothing, not even which of two errors is reported.
func TestTheOrderOfKeysMeansNothing(t *testing.T) {
	one := `{"schema":"kxm.plugin-descriptor.v1","id":"application:a","title":1,"sections":[1]}`
	two := `{"sections":[1],"title":1,"id":"application:a","schema":"kxm.plugin-descriptor.v1"}`
	_, _, a := descriptor.Parse([]byte(one))
	_, _, b := descriptor.Parse([]byte(two))
	if a == nil || b == nil || a.Error() != b.Error() {
		t.Errorf("%v and %v", a, b)
	}
}

func FuzzParse(f *testing.F) {
	for _, d := range descriptor.Builtin() {
		f.Add([]byte(`{"schema":"kxm.plugin-descriptor.v1","id":"` + d.ID + `","title":"` + d.Title + `"}`))
	}
	f.Add([]byte(published))
	f.Add([]byte(`{"schema":"kxm.plugin-descriptor.v1","id":"application:a","title":"A","contributions":[{"kind":"connection","name":"m","tools":[{"name":"x","ask":false}]}],"surfaces":1}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		d, _, err := descriptor.Parse(raw)
		if err != nil {
			if code := fault.CodeOf(err); code != fault.PluginDescriptorInvalid && code != fault.InvalidJSON {
				t.Fatalf("%q: %v", raw, err)
			}
			return
		}
		if d.Required && !d.Default || strings.ContainsAny(d.Title+d.Description, "\n\x1b") {
			t.Fatalf("%q: %+v", raw, d)
		}
		again, _, err := descriptor.Parse(raw)
		if err != nil || !reflect.DeepEqual(d, again) {
			t.Fatalf("%q: %+v, then %+v, %v", raw, d, again, err)
		}
		set, err := descriptor.NewSet(d)
		if err != nil {
			if !fault.Is(err, fault.PluginDescriptorInvalid) {
				t.Fatalf("%q: %v", raw, err)
			}
			return
		}
		owners := map[string]string{}
		for _, c := range d.Contributions {
			if c.Kind == "tool" {
				owners[c.Name] = d.ID
			}
		}
		for tool := range maps.Keys(owners) {
			if owner, ok := set.ToolOwner(tool); !ok || owner != d.ID {
				t.Fatalf("%q: %s is %s's", raw, tool, owner)
			}
		}
	})
}
