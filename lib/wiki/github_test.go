package wiki

import (
	"bytes"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"kxm/lib/kxmtest"
)

// github returns the structure that GitHub's own parser finds in a text, without its
// texts, targets and the comments that show nothing.
func github(t *testing.T, program, source string) string {
	t.Helper()
	args := []string{"--unsafe", "-t", "xml"}
	for _, extension := range []string{"table", "strikethrough", "autolink", "tasklist", "footnotes"} {
		args = append(args, "-e", extension)
	}
	cmd := exec.Command(program, args...)
	cmd.Stdin = strings.NewReader(source)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &errs)
	}
	return strings.Join(strings.Fields(githubTexts.ReplaceAllString(string(out), "")), " ")
}

var githubTexts = regexp.MustCompile(`(?s)<text[^>]*/>|<text[^>]*>.*?</text>|<html_inline[^>]*>&lt;!-- --&gt;</html_inline>|(destination|title)="[^"]*"`)

// TestTextsMeanThemselvesOnGitHub compares with the parser that most readers of the
// pages will have.
func TestTextsMeanThemselvesOnGitHub(t *testing.T) {
	program := kxmtest.Need(t, "cmark-gfm") // GitHub's parser
	for _, frame := range [][2]string{{"", ""}, {"## ", ": 2 values"}, {"- **Current:** ", " — end\n- next"}, {`- <a id="x"></a>`, " (policy) — [i](#x)"}} {
		want := github(t, program, frame[0]+"plain"+frame[1])
		for _, s := range hostile {
			if oneLine(s) == "" {
				continue
			}
			source := frame[0] + string(appendText(nil, s)) + frame[1]
			if got := github(t, program, source); got != want {
				t.Errorf("%q: %s, want %s\n%s", s, got, want, source)
			}
		}
	}
}
