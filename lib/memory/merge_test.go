package memory

import (
	"errors"
	"strings"
	"testing"

	"kxm/lib/kxmtest"
	"kxm/lib/repo"
)

func projected(ids ...string) string {
	var facts []Fact
	for _, id := range ids {
		name, text, ok := strings.Cut(id, "=")
		if !ok {
			text = "fact " + name
		}
		facts = append(facts, Fact{ID: name, Scope: "project", Kind: "k", Summary: text})
	}
	return Block(facts)
}

// TestMergeInstructions holds that blocks merge fact by fact and the rest as
// Git merges it.
func TestMergeInstructions(t *testing.T) {
	r := openRepo(t, kxmtest.NewRepo(t, nil))
	merge := func(base, ours, theirs []byte) ([]byte, bool, error) {
		return r.MergeFile(t.Context(), base, ours, theirs, repo.MergeLabels{Ours: "ours", Base: "base", Theirs: "theirs"})
	}
	file := func(top, block, end string) string {
		return "# " + top + "\n\nintro\n\n" + block + "\n\nmore\n\n" + end + "\n"
	}
	for _, c := range []struct {
		name, base, ours, theirs, want string
		conflict                       bool
	}{
		{"both add a fact", file("T", projected("m"), "e"), file("T", projected("a", "m"), "e"), file("T", projected("m", "z"), "e"), file("T", projected("a", "m", "z"), "e"), false},
		{"both add the same place", file("T", projected("m"), "e"), file("T", projected("m", "n1"), "e"), file("T", projected("m", "n2"), "e"), file("T", projected("m", "n1", "n2"), "e"), false},
		{"one removes, one adds", file("T", projected("m", "n"), "e"), file("T", projected("m"), "e"), file("T", projected("m", "n", "o"), "e"), file("T", projected("m", "o"), "e"), false},
		{"the last is removed", file("T", projected("m"), "e"), file("T", projected(), "e"), file("T", projected("m"), "e"), file("T", projected(), "e"), false},
		{"theirs changes a fact", file("T", projected("m=old"), "e"), file("T", projected("m=old", "n"), "e"), file("T", projected("m=new"), "e"), file("T", projected("m=new", "n"), "e"), false},
		{"both change a fact", file("T", projected("m=old"), "e"), file("T", projected("m=ours"), "e"), file("T", projected("m=theirs"), "e"), file("T", projected("m=ours"), "e"), false},
		{"ours removes what theirs changes", file("T", projected("m=old"), "e"), file("T", projected(), "e"), file("T", projected("m=theirs"), "e"), file("T", projected("m=theirs"), "e"), false},
		{"ours changes what theirs removes", file("T", projected("m=old"), "e"), file("T", projected("m=ours"), "e"), file("T", projected(), "e"), file("T", projected("m=ours"), "e"), false},
		{"text around merges", file("T", projected("m"), "e"), file("Ours", projected("a", "m"), "e"), file("T", projected("m"), "their end"), file("Ours", projected("a", "m"), "their end"), false},
		{"text around conflicts", file("T", projected("m"), "e"), file("Ours", projected("a", "m"), "e"), file("Theirs", projected("m", "z"), "e"),
			"<<<<<<< ours\n# Ours\n=======\n# Theirs\n>>>>>>> theirs\n\nintro\n\n" + projected("a", "m", "z") + "\n\nmore\n\ne\n", true},
		{"ours has no block", "a\n", "a\nb\n", "a\n\n" + projected("m") + "\n", "", true}, // both add behind the same line
		{"only theirs adds one", "a\n", "a\n", "a\n\n" + projected("m") + "\n", "a\n\n" + projected("m") + "\n", false},
		{"both add one", "a\n", "a\n\n" + projected("m") + "\n", "a\n\n" + projected("n") + "\n", "a\n\n" + projected("m", "n") + "\n", false},
		{"both add one, apart", "a\n\nb\n\nc\n\nd\n", "a\n" + projected("m") + "\n\nb\n\nc\n\nd\n", "a\n\nb\n\nc\n\nd\n" + projected("n") + "\n",
			"a\n" + projected("m", "n") + "\n\nb\n\nc\n\nd\n", false},
		{"theirs removes the block", file("T", projected("m"), "e"), file("T", projected("a", "m"), "e"), "# T\n\nintro\n\nmore\n\ne\n", "# T\n\nintro\n\nmore\n\ne\n", false},
		{"malformed", StartMarker + "\n", StartMarker + "\nours\n", StartMarker + "\n", StartMarker + "\nours\n", false},
		{"the block's text in a fence stays", file("T", projected("m"), "```\n"+projected("x")+"\n```"), file("T", projected("a", "m"), "```\n"+projected("x")+"\n```"), file("T", projected("m"), "```\n"+projected("x")+"\n```"),
			file("T", projected("a", "m"), "```\n"+projected("x")+"\n```"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			for form, convert := range map[string]func(string) string{
				"LF": func(s string) string { return s }, "CRLF": func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
			} {
				got, conflict, err := MergeInstructions([]byte(convert(c.base)), []byte(convert(c.ours)), []byte(convert(c.theirs)), merge)
				if err != nil || conflict != c.conflict {
					t.Fatalf("%s: conflict %t, %v\n%s", form, conflict, err, got)
				}
				if strings.Count(string(got), "<!-- kxm:memory:") != strings.Count(string(got), StartMarker)+strings.Count(string(got), EndMarker) {
					t.Errorf("%s: a stand-in is left:\n%s", form, got)
				}
				if c.want != "" && string(got) != convert(c.want) && !(form == "CRLF" && conflict) {
					t.Errorf("%s: got\n%s\nwant\n%s", form, got, convert(c.want))
				}
			}
		})
	}
	failed := errors.New("no git")
	if _, _, err := MergeInstructions(nil, nil, nil, func(_, _, _ []byte) ([]byte, bool, error) { return nil, false, failed }); !errors.Is(err, failed) {
		t.Errorf("got %v", err)
	}
}
