package steel

import (
	"errors"
	"strings"
	"testing"
)

// shop is a page with headings, and texts among what can be used.
func shop(t testing.TB) *SnapshotInput {
	heading := func(level int, name string) node {
		return node{role: "heading", name: name, props: map[string]any{"level": level}}
	}
	text := func(s string) node { return node{role: "StaticText", name: s} }
	button := func(name string) node { return node{role: "button", name: name, kids: []node{{role: "image"}}} }
	return page(t, heading(1, "Shop"), heading(2, "News"), text("nothing, new"), heading(2, "Cart"),
		node{role: "region", name: "Items", id: 50, kids: []node{text("one"), text("two"), button("Pay"), text("three"), text("four"), button("Drop")}},
		heading(3, "More"), text("five"), heading(2, "About"), text("six"))
}

func TestInteractive(t *testing.T) {
	in := shop(t)
	in.Interactive = true
	wantText(t, in, "heading[1] Shop\nheading[2] Cart\ne1 button Pay\ne2 button Drop\n")
	// A heading that can be focused is no line of the section before it.
	in = page(t, node{role: "heading", name: "a", props: map[string]any{"level": 2}}, node{role: "heading", name: "b", props: map[string]any{"level": 2, "focusable": true}})
	in.Interactive = true
	wantText(t, in, "e1 heading[2] b\n")
}

func TestFind(t *testing.T) {
	for find, want := range map[string]string{
		"Pay":         "region Items\n text one\n text two\n e1 button Pay\n  image\n text three\n",
		"News":        "heading[1] Shop\nheading[2] News\ntext nothing, new\nheading[2] Cart\n",
		" text \n si": "text five\nheading[2] About\ntext six\n",
		"pay":         "",
		"[3] More":    " e1 button Drop\n  image\nheading[3] More\ntext five\nheading[2] About\n",
	} {
		in := shop(t)
		in.Find = find
		wantText(t, in, want)
	}
	in := page(t, node{role: "textbox", value: "a], b"}, node{role: "code", name: "x"})
	in.Find = "a], b"
	wantText(t, in, "e1 textbox[=a\\]\\, b]\ncode x\n")
	in = shop(t)
	in.Find, in.Interactive = "Drop", true
	wantText(t, in, "heading[2] Cart\ne1 button Pay\ne2 button Drop\n")
}

func TestDepthAndWithin(t *testing.T) {
	in := shop(t)
	in.Depth = 1
	s := wantText(t, in, "heading[1] Shop\nheading[2] News\ntext nothing, new\nheading[2] Cart\nregion Items\nheading[3] More\ntext five\nheading[2] About\ntext six\n")
	if s.Truncated || s.NextRef != 1 {
		t.Errorf("%+v", s)
	}
	in.Depth, in.Within = 2, &NodeKey{"T", 50}
	wantText(t, in, "region Items\n text one\n text two\n e1 button Pay\n text three\n text four\n e2 button Drop\n")
	in.Within.Node = 51
	if _, _, err := BuildSnapshot(in); !errors.Is(err, ErrNotInTree) {
		t.Errorf("%v", err)
	}
}

func TestMaxBytes(t *testing.T) {
	whole, _ := build(t, shop(t))
	for limit := 1; limit <= len(whole.Text)+1; limit++ {
		in := shop(t)
		in.MaxBytes = limit
		s, refs := build(t, in)
		lines := parseSnapshot(t, s.Text)
		text, more := s.Text, 0
		if s.Truncated {
			more = lines[len(lines)-1].more
			text = text[:strings.LastIndex(text, "... ")]
		}
		if len(text) > limit || !strings.HasPrefix(whole.Text, text) || s.Lines+more != whole.Lines || s.Truncated != (limit < len(whole.Text)) || strings.Count(text, "\n") != s.Lines {
			t.Fatalf("at %d bytes: %+v", limit, s)
		}
		if next := whole.Text[len(text):]; s.Truncated && len(text)+strings.Index(next, "\n")+1 <= limit {
			t.Fatalf("at %d bytes the next line had room: %q", limit, s.Text)
		}
		if s.Refs != len(refs.Refs) || s.NextRef != s.Refs+1 || s.Refs != strings.Count(text, "button") {
			t.Fatalf("at %d bytes: %d references for %q", limit, s.Refs, text)
		}
	}
}
