package memory

import (
	"bytes"
	"strings"
	"testing"

	"kxm/lib/kxmtest"
)

func TestMarkerCases(t *testing.T) {
	kxmtest.Cases(t, "markers", func(t *testing.T, line int, c struct {
		Text string
		Want *string
	}) {
		want := ""
		if c.Want != nil {
			want = *c.Want
		}
		for name, text := range map[string]string{
			"as is": c.Text, "with CRLF": strings.ReplaceAll(c.Text, "\n", "\r\n"),
			"behind a byte-order mark": "\ufeff" + c.Text, "without a final newline": strings.TrimSuffix(c.Text, "\n"),
		} {
			if got := MarkerProblem([]byte(text)); got != want {
				t.Errorf("line %d, %s: %q, want %q", line, name, got, want)
			}
		}
	})
}

// TestFences holds which lines are fenced code: an "x" is one that is not, an "o"
// one that is, and every line is tried with a marker in it.
func TestFences(t *testing.T) {
	for name, text := range map[string]string{
		"backticks":                       "x a\no ```\no b\no ```\nx c",
		"tildes":                          "o ~~~\no b\no ~~~\nx c",
		"an info string":                  "o ```go title=x\no b\no ```\nx c",
		"other character inside":          "o ~~~\no ```\no b\no ~~~\nx c",
		"longer fence":                    "o ````\no ```\no b\no ````\nx c",
		"closing fence may be longer":     "o ```\no b\no `````\nx c",
		"closing fence has no info":       "o ```\no ```go\no b\no ```\nx c",
		"closing fence may end in spaces": "o ```\no b\no ``` \t\nx c",
		"two backticks are none":          "x ``\nx b\nx ``",
		"backtick in the info string":     "x ``` a`b\nx c",
		"backtick in a tilde's info":      "o ~~~ a`b\no c",
		"unclosed":                        "x a\no ```\no b\no c",
		"three spaces":                    "o    ```\no b\no   ```\nx c",
		"four spaces are indented code":   "x     ```\nx b",
		"closing fence by four":           "o ```\no     ```\no b\no ```\nx c",
		"tab is four columns":             "x \t```\nx b",
		"in a list item":                  "x - a\nx \no   ```\no   b\no   ```\nx   c",
		"behind a bullet":                 "o - ```\no   b\no   ```\nx c",
		"behind a number":                 "o 10. ```\no     b\no     ```\nx c",
		"behind a bullet and a number":    "o - 1. ```\no      b\no      ```\nx c",
		"indented by the list item":       "x 1. a\nx \no     ```\no    b\no     ```\nx c",
		"the list item ends it":           "o - ```\no   b\nx c\nx d",
		"a blank line does not":           "o - ```\no \no   b\no   ```\nx c",
		"in a quote":                      "o > ```\no > b\no > ```\nx c",
		"the quote ends it":               "o > ```\no > b\nx c",
		"quote in a list":                 "o - > ```\no   > b\no   > ```\nx c",
		"a thematic break is no list":     "x - - -\nx     ```\nx b",
		"stars as a break":                "x * * *\no ```\no b\no ```\nx c",
		"no list without a space":         "x -```\nx b",
		"in a comment":                    "x <!--\nx ```\nx -->\nx b",
		"comment on one line":             "x <!-- a -->\no ```\no b\no ```\nx c",
		"comment in a list item":          "x - <!--\nx   ```\nx b\no ```\no c",
	} {
		t.Run(name, func(t *testing.T) {
			lines := strings.Split(text, "\n")
			var s scanner
			for i, line := range lines {
				want := line[0] == 'o'
				line = strings.TrimPrefix(line[1:], " ")
				lines[i] = line
				if got := s.code([]byte(line)); got != want {
					t.Errorf("line %d %q: in code %t, want %t", i+1, line, got, want)
				}
			}
		})
	}
}

// TestMarkersInFencesDoNotCount holds that documentation of the markers is no
// block, and that a block beside it is found.
func TestMarkersInFencesDoNotCount(t *testing.T) {
	example := "# Doc\n\n```markdown\n" + StartMarker + "\nexample\n" + EndMarker + "\n```\n"
	if _, _, ok := FindBlock([]byte(example)); ok || MarkerProblem([]byte(example)) != "" {
		t.Error("the example counts")
	}
	text := example + "\n" + Block(nil) + "\n~~~\n" + EndMarker + "\n"
	start, end, ok := FindBlock([]byte(text))
	if !ok || text[start:end] != Block(nil) {
		t.Errorf("got %q, %t", text[start:end], ok)
	}
}

func TestMarkersWithinALine(t *testing.T) {
	text := []byte("a " + StartMarker + "x" + EndMarker + " b")
	if start, end, ok := FindBlock(text); !ok || start != 2 || end != len(text)-2 {
		t.Errorf("block at %d to %d, %t", start, end, ok)
	}
	if got := MarkerProblem([]byte(StartMarker + StartMarker + EndMarker)); !strings.Contains(got, "has 2 ") || !strings.Contains(got, "and 1 ") {
		t.Errorf("got %q", got)
	}
}

func TestImports(t *testing.T) {
	for text, want := range map[string]bool{
		"@AGENTS.md\n":                   true,
		"# Claude\n\n  @AGENTS.md  \n":   true,
		"@./AGENTS.md\r\nmore\r\n":       true,
		"\ufeff@AGENTS.md":               true,
		"See @AGENTS.md for more.\n":     false,
		"@AGENTS.md and more\n":          false,
		"`@AGENTS.md`\n":                 false,
		"```\n@AGENTS.md\n```\n":         false,
		"@docs/AGENTS.md\n":              false,
		"@AGENTS.md.bak\n":               false,
		"@CLAUDE.md\n":                   false,
		"@CLAUDE.md\n\n@AGENTS.md":       true,
		"<!--\n@AGENTS.md\n-->\n@a.md\n": true, // readers differ about comments; a block more would be the worse mistake
	} {
		if got := Imports([]byte(text), "AGENTS.md"); got != want {
			t.Errorf("%q: %t, want %t", text, got, want)
		}
	}
}

func FuzzMarkers(f *testing.F) {
	f.Add([]byte("a\n" + Block(nil) + "\nb\n"))
	f.Add([]byte("- ```\n  " + StartMarker + "\n  ```\n> ~~~\n" + EndMarker))
	f.Add([]byte("1. \t```\n<!--\n" + StartMarker + "\r\n-->\r\n"))
	f.Add([]byte("\ufeff@AGENTS.md"))
	f.Fuzz(func(t *testing.T, text []byte) {
		m := scanMarkers(text)
		for _, at := range m.starts {
			if !bytes.HasPrefix(text[at:], startMarker) {
				t.Fatalf("no start marker at %d", at)
			}
		}
		for _, at := range m.ends {
			if !bytes.HasPrefix(text[at:], endMarker) {
				t.Fatalf("no end marker at %d", at)
			}
		}
		if m.problem() != "" || m.openFence && len(m.starts) == 0 {
			return
		}
		checkBlockLaws(t, text, []Fact{{ID: "a", Scope: "project", Kind: "k", Summary: string(text)}})
	})
}
