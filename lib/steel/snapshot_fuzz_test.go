package steel

import (
	"encoding/json"
	"strings"
	"testing"
)

// FuzzSnapshot prints whatever the browser answers, twice over, as two frames.
func FuzzSnapshot(f *testing.F) {
	f.Add(answer(node{role: "button", name: "a\u2028e5 button", id: 3, kids: []node{{role: "StaticText", name: "]"}}}), uint16(0), "")
	f.Add(answer(node{role: "Iframe", id: 1, name: "x"}, node{role: "textbox", value: `],\`, id: 7, props: map[string]any{"editable": "plaintext", "focused": true}}), uint16(1), "x")
	f.Add(answer(node{role: "row", name: "a b", kids: []node{{role: "cell", name: "a", kids: []node{{role: "link", name: "a"}}}, {role: "cell", name: "b"}}}), uint16(40), "a")
	f.Add([]byte(`{"nodes":[{"nodeId":"1","childIds":["1","2","2"]},{"nodeId":"2","childIds":["1"],"role":{"value":"heading"},"properties":[{"name":"level","value":{"value":1e9}},{"name":"labelledby","value":{"relatedNodes":[{"backendDOMNodeId":7}]}}]}]}`), uint16(9), "")
	f.Fuzz(func(t *testing.T, data []byte, options uint16, find string) {
		tr := &Tree{}
		if err := json.Unmarshal(data, tr); err != nil {
			_ = tr.UnmarshalJSON(data) // nor may it panic on what was not validated
			return
		}
		checkSnapshot(t, tr, options, find)
	})
}

// FuzzSnapshotShapes reads each byte as a node: its role, and how many levels above the
// one before it stands.
func FuzzSnapshotShapes(f *testing.F) {
	f.Add([]byte("a button, a link and a table"), uint16(0), "")
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 64, 65, 66, 140, 200, 255}, uint16(81), "a")
	f.Fuzz(func(t *testing.T, data []byte, options uint16, find string) {
		const secret = "S3CR3T"
		roles := []string{"StaticText", "button", "cell", "row", "paragraph", "generic", "LabelText", "textbox", "heading", "listitem", "Iframe", "MenuListPopup", "code", "gridcell", "combobox", "Date"}
		names := []string{"", "a", "a b", "a\nb ", "e5 button", "]", "•"}
		tr := &Tree{nodes: []treeNode{{role: roleRoot, kind: transparent}}}
		kids := [][]int32{nil}
		path := []int32{0}
		hidden := []bool{false}
		for i, c := range data[:min(len(data), 300)] {
			path = path[:max(1, len(path)-int(c>>5&3))]
			parent := path[len(path)-1]
			n := treeNode{role: roles[c&15], kind: roleKinds()[roles[c&15]], name: names[i%len(names)], backend: int64(i % 50), flags: axFlags(int(c) * i)}
			below := hidden[parent] || n.role == "textbox" && n.backend == 7
			if below {
				n.name, n.value = secret, secret
				if n.backend == 7 {
					n.name, n.flags = "a", n.flags&^axIgnored
				}
			}
			index := int32(len(tr.nodes))
			kids[parent] = append(kids[parent], index)
			tr.nodes, kids, hidden, path = append(tr.nodes, n), append(kids, nil), append(hidden, below), append(path, index)
		}
		for i := range tr.nodes {
			tr.nodes[i].from = int32(len(tr.kids))
			tr.kids = append(tr.kids, kids[i]...)
			tr.nodes[i].to = int32(len(tr.kids))
		}
		if s := checkSnapshot(t, tr, options, find); s != nil && strings.Contains(s.Text, secret) && !strings.Contains(find, secret) {
			t.Errorf("%s", s.Text)
		}
	})
}

// checkSnapshot prints a tree, as two frames, and checks what is always true. It
// returns nil if there is nothing to print.
func checkSnapshot(t *testing.T, tr *Tree, options uint16, find string) *Snapshot {
	t.Helper()
	password := map[int64]bool{7: true}
	input := func() *SnapshotInput {
		in := &SnapshotInput{
			Tab: "t1", TargetID: "T", NextRef: 1, Find: find, Interactive: options&1 != 0, Depth: int(options >> 1 & 3), MaxBytes: int(options >> 3 & 127),
			Frames: []Frame{{ID: "T", LoaderID: "L", URL: find, Tree: tr, Password: password}, {ID: "U", LoaderID: "L", Parent: "T", Owner: 1, URL: find, Tree: tr, Password: password}},
		}
		if options>>10&1 != 0 {
			in.Within = &NodeKey{"T", 1}
		}
		return in
	}
	s, refs, err := BuildSnapshot(input())
	if err != nil {
		return nil
	}
	lines := parseSnapshot(t, s.Text)
	if again, _, _ := BuildSnapshot(input()); *again != *s {
		t.Errorf("%+v, then %+v", s, again)
	}
	file, err := refs.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ParseReferences(file); err != nil {
		t.Errorf("%s: %v", file, err)
	}
	for _, l := range lines {
		if ref := refs.Refs[l.reference]; l.reference != "" && ref.Role != l.role {
			t.Errorf("%+v for %+v", ref, l)
		}
	}
	// What is known keeps its number.
	in := input()
	in.Known, in.NextRef = refs, s.NextRef
	if again, _, _ := BuildSnapshot(in); again.Text != s.Text || again.NextRef != s.NextRef {
		t.Errorf("%q, then %q", s.Text, again.Text)
	}
	return s
}
