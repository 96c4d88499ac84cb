package steel

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// TestNodesKeepTheirNumbers takes snapshots of a page that changes.
func TestNodesKeepTheirNumbers(t *testing.T) {
	names := func(kids ...int64) *SnapshotInput {
		var nodes []node
		for _, id := range kids {
			nodes = append(nodes, node{role: "button", name: fmt.Sprint("b", id), id: id})
		}
		return page(t, nodes...)
	}
	first, refs := build(t, names(1, 2, 3))
	before, _ := refs.Encode()
	in := names(3, 4, 1)
	in.Known, in.NextRef = refs, first.NextRef
	second, refs2 := build(t, in)
	if second.Text != "e3 button b3\ne4 button b4\ne1 button b1\n" || second.NextRef != 5 || len(refs2.Refs) != 4 || second.Refs != 3 {
		t.Errorf("%+v, %+v", second, refs2)
	}
	if after, _ := refs.Encode(); !bytes.Equal(before, after) {
		t.Error("the known references were changed")
	}
	// Another document has other nodes, though their ids are the same.
	in = names(1, 2)
	in.Frames[0].LoaderID, in.Known, in.NextRef = "L2", refs2, 2 // a number that is too low is not believed
	third, refs3 := build(t, in)
	if third.Text != "e5 button b1\ne6 button b2\n" || len(refs3.Refs) != 6 || refs3.Refs["e1"].LoaderID != "L" {
		t.Errorf("%+v, %+v", third, refs3)
	}
	// A node in two places of a malformed tree is one node.
	in = names(1, 1)
	if s, refs := build(t, in); s.Text != "e1 button b1\ne1 button b1\n" || s.Refs != 1 || len(refs.Refs) != 1 {
		t.Errorf("%+v", s)
	}
}

func TestManyReferences(t *testing.T) {
	var nodes []node
	for range maxReferences + 5 {
		nodes = append(nodes, node{role: "button"})
	}
	s, refs := build(t, page(t, nodes...))
	if s.Refs != maxReferences || len(refs.Refs) != maxReferences || !strings.HasSuffix(s.Text, "e10000 button\n"+strings.Repeat("button\n", 5)) {
		t.Errorf("%d, %d", s.Refs, len(refs.Refs))
	}
	in := page(t, node{role: "link", id: 5})
	in.Frames[0].LoaderID, in.Known, in.NextRef = "L2", refs, s.NextRef
	s, refs = build(t, in)
	if _, kept := refs.Refs["e10000"]; s.Text != "e10001 link\n" || len(refs.Refs) != keptReferences || !kept {
		t.Errorf("%d of %q", len(refs.Refs), s.Text)
	}
	in.Known, in.NextRef = nil, maxRefNumber
	in.Frames[0].Tree = tree(t, node{role: "link"}, node{role: "link"})
	wantText(t, in, "e999999999 link\nlink\n")
}

// TestNamesAreStoredWithoutSecrets gives a button a token as its name.
func TestNamesAreStoredWithoutSecrets(t *testing.T) {
	secret := "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
	name := "Copy " + secret
	s, refs := build(t, page(t, node{role: "button", name: name}))
	file, err := refs.Encode()
	if err != nil || bytes.Contains(file, []byte(secret)) || s.Text != "e1 button "+name+"\n" {
		t.Errorf("%s%s (%v)", s.Text, file, err)
	}
	if ref := refs.Refs["e1"]; !ref.Matches("button", name) || ref.Matches("button", "Copy") {
		t.Errorf("%+v", ref)
	}
}

// TestHiddenNamesMatchByRole: what the name of such a node was is not known any more.
func TestHiddenNamesMatchByRole(t *testing.T) {
	in := page(t, node{role: "button", name: "Send 4242", kids: []node{{role: "textbox", name: "Card", value: "4242", id: 9}}})
	in.Frames[0].Password = map[int64]bool{9: true}
	_, refs := build(t, in)
	ref := refs.Refs["e1"]
	if ref.Name != "Send [hidden]" || !ref.Matches("button", "Send 4243") || ref.Matches("link", "Send 4242") {
		t.Errorf("%+v", ref)
	}
}
