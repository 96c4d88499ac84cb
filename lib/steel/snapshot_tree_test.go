package steel

import (
	"encoding/json"
	"fmt"
	"testing"

	"kxm/lib/fault"
)

// node makes a node of a tree; kids are its children.
type node struct {
	role, name string
	value      any
	props      map[string]any
	ignored    bool
	id         int64 // backend id; 0 is one of its own, below 0 is none
	kids       []node
}

// tree makes the answer of a browser.
func tree(t testing.TB, kids ...node) *Tree {
	t.Helper()
	tr := &Tree{}
	if err := json.Unmarshal(answer(kids...), tr); err != nil {
		t.Fatal(err)
	}
	return tr
}

func answer(kids ...node) []byte {
	var nodes []map[string]any
	var add func(n node) string
	add = func(n node) string {
		id := fmt.Sprint(len(nodes) + 1)
		m := map[string]any{"nodeId": id, "ignored": n.ignored, "role": map[string]any{"type": "role", "value": n.role}, "name": map[string]any{"value": n.name}}
		nodes = append(nodes, m)
		switch {
		case n.id == 0:
			m["backendDOMNodeId"] = 1000 + len(nodes)
		case n.id > 0:
			m["backendDOMNodeId"] = n.id
		}
		if n.value != nil {
			m["value"] = map[string]any{"value": n.value}
		}
		var props []any
		for name, value := range n.props {
			props = append(props, map[string]any{"name": name, "value": map[string]any{"value": value}})
		}
		m["properties"] = props
		ids := []string{}
		for _, kid := range n.kids {
			ids = append(ids, add(kid))
		}
		m["childIds"] = ids
		return id
	}
	add(node{role: "RootWebArea", name: "Title", kids: kids})
	raw, err := json.Marshal(map[string]any{"nodes": nodes})
	if err != nil {
		panic(err)
	}
	return raw
}

func TestAnswersThatAreNoTree(t *testing.T) {
	for _, answer := range []string{`{}`, `[]`, `1`, `{"nodes":{}}`, `{"nodes":null}`, `{"node":[]}`} {
		if err := json.Unmarshal([]byte(answer), &Tree{}); !fault.Is(err, fault.SteelBadResponse) {
			t.Errorf("%s: %v", answer, err)
		}
	}
	for _, broken := range []string{``, `{"nodes":[`, `{"nodes":[{]}`, `{"nodes":["a`} {
		if err := new(Tree).UnmarshalJSON([]byte(broken)); !fault.Is(err, fault.SteelBadResponse) {
			t.Errorf("%s: %v", broken, err)
		}
	}
}

// rows is the answer for a table with a link and a button in each row.
func rows(n int) []byte {
	var all []node
	text := func(s string) node {
		return node{role: "StaticText", name: s, kids: []node{{role: "InlineTextBox", name: s}}}
	}
	for i := range n {
		item, price, buy := fmt.Sprint("Item ", i), fmt.Sprint(3*i, " EUR"), fmt.Sprint("Buy ", i)
		focusable := map[string]any{"focusable": true}
		all = append(all, node{role: "row", kids: []node{
			{role: "cell", name: item, kids: []node{{role: "link", name: item, props: focusable, kids: []node{text(item)}}}},
			{role: "cell", name: price, kids: []node{text(price)}},
			{role: "cell", name: buy, kids: []node{{role: "button", name: buy, props: focusable, kids: []node{text(buy)}}}},
		}})
	}
	return answer(node{role: "table", kids: all})
}

func BenchmarkTree(b *testing.B) {
	data := rows(500)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if err := json.Unmarshal(data, &Tree{}); err != nil {
			b.Fatal(err)
		}
	}
}
