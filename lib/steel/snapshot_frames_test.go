package steel

import (
	"errors"
	"strings"
	"testing"
)

func TestFrames(t *testing.T) {
	button := func(name string) node { return node{role: "button", name: name} }
	holder := func(id int64, name string) node { return node{role: "Iframe", name: name, id: id} }
	in := page(t, button("a"), holder(1, "Named"), button("b"), holder(2, ""), holder(3, ""), node{role: "Iframe", id: 4, ignored: true}, holder(9, "nobody's"))
	in.Frames[0].URL = "https://shop.example/cart?token=x"
	add := func(id, parent, url string, owner int64, kids ...node) {
		f := Frame{ID: id, LoaderID: "L" + id, URL: url, Parent: parent, Owner: owner}
		if kids != nil {
			f.Tree = tree(t, kids...)
		}
		in.Frames = append(in.Frames, f)
	}
	add("A", "T", "https://shop.example/pay?token=secret#x", 1, button("c"), holder(1, ""))
	add("B", "T", "https://ads.example/x y?q", 2)
	add("C", "T", "about:srcdoc", 3, button("d"))
	add("D", "T", "https://shop.example/hidden", 4, button("hidden"))
	add("E", "T", "https://shop.example/late", 0, button("late"))
	add("F", "A", "https://user:pw@other.example", 1, button("deep"))
	add("G", "lost", "data:text/html,secret", 5, button("lost"))
	add("H", "H", "https://shop.example/self", 1, button("self"))
	add("I", "T", "https://shop.example/absent", 77, button("absent"))
	add("A", "T", "https://shop.example/twice", 3, button("twice"))
	s := wantText(t, in, `
		e1 button a
		frame /pay Named
		 e2 button c
		 frame https://other.example Title
		  e3 button deep
		e4 button b
		frame https://ads.example (no answer)
		frame about:srcdoc Title
		 e5 button d
		iframe nobody's
		frame /late Title
		 e6 button late
		frame data: Title
		 e7 button lost
		`)
	if s.URL != "https://shop.example/cart?token=[redacted]" || s.Title != "Title" {
		t.Errorf("%q, %q", s.URL, s.Title)
	}
	in.Interactive = true
	s, refs := build(t, in)
	if strings.Contains(s.Text, "nobody") || !strings.Contains(s.Text, "frame https://ads.example (no answer)\n") || refs.Refs["e3"].FrameID != "F" || refs.Refs["e3"].LoaderID != "LF" || refs.Refs["e3"].TargetID != "T" {
		t.Errorf("%s%+v", s.Text, refs)
	}
	in.Frames[6].TargetID = "F"
	if _, refs = build(t, in); refs.Refs["e3"].TargetID != "F" {
		t.Errorf("%+v", refs.Refs["e3"])
	}
	in.Within = &NodeKey{"A", 1}
	in.Interactive = false
	wantText(t, in, "frame https://other.example Title\n e1 button deep\n")
}

func TestFrameLocations(t *testing.T) {
	for _, c := range [][3]string{
		{"https://a.example/x/y?q#f", "https://a.example/", "/x/y"}, {"https://a.example", "https://A.example/z", "/"}, {"https://a.example?q", "https://a.example/z", "/"},
		{"http://a.example/x", "https://a.example/", "http://a.example"}, {"https://a.example:8443/x", "https://a.example/", "https://a.example:8443"},
		{"https://u:p@a.example/x", "https://v@a.example/", "/x"}, {"https://u:p@b.example/x", "https://a.example/", "https://b.example"},
		{"about:blank", "https://a.example", "about:blank"}, {"about:srcdoc#code=1", "", "about:srcdoc"}, {"data:text/html,secret", "", "data:"}, {"blob:https://a.example/1", "https://a.example", "blob:"},
		{"javascript:alert(1)", "", "javascript:"}, {"", "", ":"}, {"x y\nz", "", "x%20y%20z:"}, {"https://", "", "https:"}, {"https://a.example/x\u2028 y", "https://a.example", "/x%20y"},
		{"chrome-error://chromewebdata/", "https://a.example", "chrome-error:"}, {"https://a.example/\x1b[2J", "https://a.example", "/\ufffd[2J"},
	} {
		if got := frameLocation(c[0], c[1]); got != c[2] {
			t.Errorf("%q in %q is %q, want %q", c[0], c[1], got, c[2])
		}
	}
}

func TestNoAnswerFromTheMainFrame(t *testing.T) {
	wantText(t, &SnapshotInput{Frames: []Frame{{ID: "T", URL: "https://a.example/x"}}}, "frame https://a.example (no answer)\n")
	s, refs := build(t, &SnapshotInput{Tab: "t1", NextRef: 5})
	if s.Text != "" || s.Lines != 0 || s.NextRef != 5 || len(refs.Refs) != 0 {
		t.Errorf("%+v", s)
	}
	for _, in := range []*SnapshotInput{{Within: &NodeKey{"T", 1}}, {Within: &NodeKey{"T", 1}, Frames: []Frame{{ID: "T"}}}} {
		if _, _, err := BuildSnapshot(in); !errors.Is(err, ErrNotInTree) {
			t.Errorf("%v", err)
		}
	}
}
