package steel

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestWhatIsKept(t *testing.T) {
	text := func(s string) node { return node{role: "StaticText", name: s} }
	focusable := map[string]any{"focusable": true}
	for _, c := range []struct {
		what  string
		nodes []node
		want  string
	}{
		{"wrappers", []node{{role: "generic", kids: []node{{role: "none", kids: []node{text("a")}}, {role: "paragraph"}, text(" \n ")}}}, "text a\n"},
		{"ignored nodes", []node{{role: "button", name: "x", ignored: true, kids: []node{text("inside")}}}, "text inside\n"},
		{"laid-out lines and breaks", []node{{role: "InlineTextBox", name: "a"}, {role: "LineBreak", name: "\n"}, {role: "ListMarker", name: "1."}}, ""},
		{"a text that repeats", []node{{role: "button", name: "Pay  now", kids: []node{text("Pay now")}}}, "e1 button Pay now\n"},
		{"texts that a name is made of", []node{{role: "link", name: "Pay now", kids: []node{text("Pay "), {role: "code", kids: []node{text("now")}}}}}, "e1 link Pay now\n"},
		{"a text that only looks like a part", []node{{role: "region", name: "Pay now", kids: []node{text("now")}}}, "region Pay now\n text now\n"},
		{"what a wide name cuts", []node{{role: "heading", name: strings.Repeat("x", 300), kids: []node{text(strings.Repeat("x", 300))}}}, "heading " + strings.Repeat("x", 199) + "…\n"},
		{"another text than the name", []node{{role: "button", name: "Close", kids: []node{text("x")}}}, "e1 button Close\n text x\n"},
		{"a paragraph of one", []node{{role: "paragraph", kids: []node{{role: "link", name: "a"}}}}, "e1 link a\n"},
		{"a paragraph of two", []node{{role: "paragraph", kids: []node{text("a"), text("b")}}}, "paragraph\n text a\n text b\n"},
		{"items in items", []node{{role: "listitem", kids: []node{{role: "paragraph", kids: []node{text("a")}}}}}, "text a\n"},
		{"an item with a reference", []node{{role: "listitem", props: focusable, kids: []node{{role: "link", name: "a"}}}}, "e1 listitem\n e2 link a\n"},
		{"an item with a name", []node{{role: "listitem", name: "x", kids: []node{{role: "link", name: "a"}}}}, "listitem x\n e1 link a\n"},
		{"an empty cell", []node{{role: "row", kids: []node{{role: "cell"}}}}, "row\n cell\n"},
		{"a cell of a link", []node{{role: "cell", name: "a", kids: []node{{role: "link", name: "a", kids: []node{text("a")}}}}}, "e1 link a\n"},
		{"a cell of texts", []node{{role: "cell", name: "a b", kids: []node{text("a"), text("b")}}}, "cell a b\n"},
		{"a cell of more", []node{{role: "cell", name: "a b c", kids: []node{text("a"), {role: "link", name: "b c"}}}}, "cell\n text a\n e1 link b c\n"},
		{"a cell with a name of its own", []node{{role: "cell", name: "z", kids: []node{text("a"), {role: "link", name: "b"}}}}, "cell z\n text a\n e1 link b\n"},
		{"a nameless cell in a cell", []node{{role: "cell", name: "a b", kids: []node{{role: "row", kids: []node{{role: "gridcell", kids: []node{text("a")}}, text("b")}}}}}, "row\n text a\n text b\n"},
		{"a selected cell", []node{{role: "gridcell", name: "a", props: map[string]any{"selected": true}, kids: []node{{role: "link", name: "a"}}}}, "gridcell[selected] a\n e1 link a\n"},
		{"what can be focused", []node{{role: "generic", props: focusable, kids: []node{text("a")}}, {role: "MenuListPopup", props: focusable}, {role: "generic", props: focusable, id: -1}}, "e1 generic\n text a\n"},
		{"roles with references", []node{{role: "menuitemradio", name: "a"}, {role: "treeitem", name: "b"}, {role: "menuitem"}, {role: "menu"}}, "e1 menuitemradio a\ne2 treeitem b\ne3 menuitem\nmenu\n"},
		{"roles that are none", []node{{role: "e5 button"}, {role: "[x]"}, {role: "123"}, {role: "Weird_Role"}, {role: "", kids: []node{text("a")}}}, "ebutton\nx\nunknown\nweirdrole\ntext a\n"},
		{"ornaments", []node{{role: "StaticText", name: "• ", id: -1}, {role: "StaticText", name: "\uf0c9", id: -1}, {role: "StaticText", name: "1. ", id: -1}, text("•")}, "text 1.\ntext •\n"},
		{"levels", []node{{role: "heading", name: "a", props: map[string]any{"level": 3}}, {role: "heading", props: map[string]any{"level": 1000}}, {role: "heading", props: map[string]any{"level": -1}}, {role: "listitem", props: map[string]any{"level": 2}}}, "heading[3] a\nheading[99]\nheading\nlistitem\n"},
		{"parts of a date", []node{{role: "Date", name: "d", value: "2026-01-02", props: focusable, kids: []node{{role: "spinbutton", name: "Month"}}}}, "e1 date[=2026-01-02] d\n"},
		{"the text of a field", []node{{role: "textbox", name: "n", value: "a\nb", props: map[string]any{"editable": "plaintext"}, kids: []node{text("other")}}}, "e1 textbox[=a b] n\n"},
		{"the text of an editor", []node{{role: "textbox", value: "a b", props: map[string]any{"editable": "richtext"}, kids: []node{{role: "paragraph", kids: []node{text("b")}}, text("c")}}}, "e1 textbox[=a b]\n text c\n"},
		{"numbers", []node{{role: "slider", value: 0.4000000059604645}, {role: "slider", value: 123456789}, {role: "slider", value: 5, props: map[string]any{"valuetext": "five"}}, {role: "slider", value: 1e300}, {role: "slider", value: []any{1}}}, "e1 slider[=0.4]\ne2 slider[=123456789]\ne3 slider[=five]\ne4 slider[=1" + strings.Repeat("0", 198) + "…]\ne5 slider\n"},
		{"lists of options", []node{
			{role: "combobox", name: "a", props: map[string]any{"expanded": false}, kids: []node{{role: "MenuListPopup", kids: []node{{role: "option", name: "o"}}}}},
			{role: "combobox", name: "b", props: map[string]any{"expanded": false}}, {role: "combobox", name: "c", props: map[string]any{"expanded": true}, kids: []node{{role: "MenuListPopup"}}}},
			"e1 combobox a\n e2 option o\ne3 combobox[collapsed] b\ne4 combobox[expanded] c\n"},
		{"attributes", []node{{role: "checkbox", name: "a", value: `],\`, props: map[string]any{"checked": "true", "expanded": true, "disabled": true, "focused": true, "invalid": "spelling", "readonly": true, "required": true, "selected": true}},
			{role: "checkbox", props: map[string]any{"checked": "mixed"}}, {role: "button", props: map[string]any{"pressed": "true"}}, {role: "checkbox", props: map[string]any{"checked": "false", "invalid": "false", "disabled": false}}},
			`e1 checkbox[checked,expanded,disabled,focused,invalid,readonly,required,selected,=\]\,\\] a` + "\ne2 checkbox[mixed]\ne3 button[checked]\ne4 checkbox\n"},
	} {
		t.Run(strings.ReplaceAll(c.what, " ", "_"), func(t *testing.T) { wantText(t, page(t, c.nodes...), c.want) })
	}
}

// TestMalformedTrees prints what can be read of answers that no browser gives.
func TestMalformedTrees(t *testing.T) {
	element := func(id, name, kids, more string) string {
		return fmt.Sprintf(`{"nodeId":%q,"role":{"value":"code"},"name":{"value":%q},"childIds":[%s]%s}`, id, name, kids, more)
	}
	root := func(kids string) string { return element("r", "", kids, "") }
	for _, c := range []struct {
		what  string
		nodes []string
		want  string
	}{
		{"no node", nil, ""},
		{"the root in itself", []string{root(`"r","a"`), element("a", "A", "", "")}, "code A\n"},
		{"a loop", []string{root(`"a"`), element("a", "A", `"b"`, ""), element("b", "B", `"a","r","b"`, "")}, "code A\n code B\n"},
		{"children that are not there", []string{root(`"x","a","y",5,null`), element("a", "A", "", "")}, "code A\n"},
		{"a child of two", []string{root(`"a","b"`), element("a", "A", `"c"`, ""), element("b", "B", `"c"`, ""), element("c", "C", "", "")}, "code A\n code C\ncode B\n"},
		{"one id for two", []string{root(`"a"`), element("a", "A", "", ""), element("a", "B", "", "")}, "code A\n"},
		{"what nothing leads to", []string{root(`"a"`), element("a", "A", "", ""), element("b", "B", "", "")}, "code A\n"},
		{"nodes that are none", []string{root(`"a"`), "1", "null", "[]", `"a"`, element("a", "A", "", "")}, "code A\n"},
		{"fields of other types", []string{root(`"a","b"`), element("a", "A", "", `,"properties":7,"backendDOMNodeId":"x","ignored":1,"value":[]`),
			`{"nodeId":"b","role":{"value":"code"},"name":"B","childIds":7,"properties":[1,{"name":1},{"name":"checked"},{"name":"level","value":{"value":{}}},{"name":"labelledby","value":{"relatedNodes":5}}]}`}, "code A\ncode\n"},
		{"half a character", []string{root(`"a"`), `{"nodeId":"a","role":{"value":"code"},"name":{"value":"x\ud800y"}}`}, "code x\ufffdy\n"},
		{"nothing but an id", []string{root(`"a"`), `{"nodeId":"a"}`}, ""},
	} {
		t.Run(strings.ReplaceAll(c.what, " ", "_"), func(t *testing.T) {
			tr := &Tree{}
			if err := json.Unmarshal([]byte(`{"nodes":[`+strings.Join(c.nodes, ",")+`]}`), tr); err != nil {
				t.Fatal(err)
			}
			wantText(t, &SnapshotInput{Frames: []Frame{{ID: "T", LoaderID: "L", Tree: tr}}}, c.want)
		})
	}
}

func TestLabels(t *testing.T) {
	text := func(s string) node { return node{role: "StaticText", name: s} }
	label := func(id int64, kids ...node) node { return node{role: "LabelText", id: id, kids: kids} }
	in := page(t, label(1, text("Name "), text("*")), node{role: "textbox", name: "Name *", id: 2}, label(3, text("Orphan")), label(4, text("Other")), node{role: "textbox", name: "Mine", id: 5})
	tr := in.Frames[0].Tree
	tr.labels = []labelled{{1, tr.find(2)}, {4, tr.find(5)}}
	wantText(t, in, "e1 textbox Name *\ntext Orphan\ntext Other\ne2 textbox Mine\n")
}
