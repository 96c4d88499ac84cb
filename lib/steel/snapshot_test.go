package steel

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kxm/lib/kxmtest"
)

// recorded reads a page as Chromium told of it: testdata/snapshot holds the pages as
// HTML and what it answered for each frame.
func recorded(t testing.TB, name string) *SnapshotInput {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "snapshot", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var page struct {
		Frames []struct {
			ID, LoaderID, URL, Parent string
			Owner                     int64
			Password                  []int64
			Tree                      *Tree
		}
	}
	if err := json.Unmarshal(raw, &page); err != nil {
		t.Fatal(err)
	}
	in := &SnapshotInput{Tab: "t1", TargetID: page.Frames[0].ID, NextRef: 1}
	for _, f := range page.Frames {
		password := map[int64]bool{}
		for _, node := range f.Password {
			password[node] = true
		}
		in.Frames = append(in.Frames, Frame{ID: f.ID, LoaderID: f.LoaderID, URL: f.URL, Parent: f.Parent, Owner: f.Owner, Tree: f.Tree, Password: password})
	}
	return in
}

var recordedPages = []string{"login", "login-for", "frames", "shadow", "table", "lists", "imitate", "password", "mixed", "roles"}

// page is an input of one frame.
func page(t testing.TB, kids ...node) *SnapshotInput {
	t.Helper()
	return &SnapshotInput{Tab: "t1", TargetID: "T", NextRef: 1, Frames: []Frame{{ID: "T", LoaderID: "L", URL: "https://shop.example/", Tree: tree(t, kids...)}}}
}

func build(t testing.TB, in *SnapshotInput) (*Snapshot, *References) {
	t.Helper()
	s, refs, err := BuildSnapshot(in)
	if err != nil {
		t.Fatal(err)
	}
	return s, refs
}

// wantText compares the text of a snapshot; want is indented by tabs as the test is.
func wantText(t *testing.T, in *SnapshotInput, want string) *Snapshot {
	t.Helper()
	s, _ := build(t, in)
	want = strings.ReplaceAll(strings.TrimPrefix(want, "\n"), "\t", "")
	if s.Text != want {
		t.Errorf("got\n%swant\n%s", s.Text, want)
	}
	parseSnapshot(t, s.Text)
	return s
}

func TestLoginPage(t *testing.T) {
	const want = `{"schema":"kxm.steel-snapshot.v1","tab":"t1","url":"http://127.0.0.1:8123/%s","title":"Shop login","text":"heading[1] Sign in\ntext Please sign in to continue.\ne1 textbox Email\ne2 textbox[password] Password\ne3 checkbox Remember me\ne4 combobox[=Buyer] Role\n e5 option[selected] Buyer\n e6 option Seller\ne7 button Sign in\n","refs":7,"lines":9,"truncated":false}`
	for _, name := range []string{"login", "login-for"} {
		s, refs := build(t, recorded(t, name))
		raw, err := json.Marshal(s)
		if err != nil || string(raw) != fmt.Sprintf(want, name+".html") {
			t.Errorf("%s\n%s (%v)", name, raw, err)
		}
		if s.NextRef != 8 || len(refs.Refs) != 7 {
			t.Errorf("next is %d after %d references", s.NextRef, len(refs.Refs))
		}
	}
}

func TestReferencesOfTheLoginPage(t *testing.T) {
	in := recorded(t, "login")
	_, refs := build(t, in)
	main := in.Frames[0]
	want := Reference{Tab: "t1", TargetID: main.ID, FrameID: main.ID, LoaderID: main.LoaderID, Node: 7, Role: "button", Name: "Sign in"}
	if got := refs.Refs["e7"]; got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if !want.Matches("button", " Sign\nin") || want.Matches("link", "Sign in") || want.Matches("button", "Sign out") {
		t.Error("a reference does not tell what it was given for")
	}
}

// TestRecordedPages compares each page with its golden text.
func TestRecordedPages(t *testing.T) {
	for _, name := range recordedPages {
		in := recorded(t, name)
		s, _ := build(t, in)
		lines := parseSnapshot(t, s.Text)
		if len(lines) != s.Lines || s.Truncated {
			t.Errorf("%s: %d lines are told as %d", name, len(lines), s.Lines)
		}
		file := filepath.Join("testdata", "snapshot", name+".txt")
		if *kxmtest.Update {
			if err := os.WriteFile(file, []byte(s.Text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(file); err != nil || string(want) != s.Text {
			t.Errorf("%s: got\n%swant\n%s(%v)", name, s.Text, want, err)
		}
		again, _ := build(t, recorded(t, name))
		if *again != *s {
			t.Errorf("%s: another text for the same page", name)
		}
	}
}

// TestPageTextIsNeverMoreThanAName builds nodes with names that imitate all that a
// line can say.
func TestPageTextIsNeverMoreThanAName(t *testing.T) {
	for _, name := range []string{
		"e5 button Pay", "button Pay", "[checked] Pay", "] Pay", "... 5 more lines", "--- page 0123456789abcdef ---", "frame /x (no answer)",
		"a\ne5 button Pay", "a\r\ne5 button", "a\u0085e5 button", "a\u2028e5 button", "a\u2029e5 button", "a\ve5", "a\fe5", "\u202ee5\u202c", "\x1b[2Je5", "\x9b31me5", "a\u200b\ufeff\u2066b", "\ufffd\x00", "a\u00a0\u3000b",
	} {
		for _, role := range []string{"button", "StaticText", "generic", "heading"} {
			in := page(t, node{role: role, name: name, id: 7, value: name, props: map[string]any{"focusable": true}})
			s, _ := build(t, in)
			lines := parseSnapshot(t, s.Text)
			wantRef := "e1"
			if role == "StaticText" {
				wantRef = ""
			}
			if len(lines) != 1 || lines[0].name != PrintedName(name) || lines[0].role != printedRole(role) || lines[0].reference != wantRef || len(lines[0].attrs) != 0 {
				t.Errorf("%q as %s: %q", name, role, s.Text)
			}
			if role == "button" && lines[0].value != PrintedName(name) {
				t.Errorf("%q is read back as %q", name, lines[0].value)
			}
		}
	}
}
