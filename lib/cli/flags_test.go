//go:build unix

package cli

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"kxm/lib/fault"
)

func TestUsageErrors(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string // of standard error
	}{
		{[]string{"--nme", "x"}, `tool: unknown flag --nme, did you mean "--name"? [usage]` + "\ntool: hint: tool --help\n"},
		{[]string{"list", "--nothing-like-it"}, "tool: unknown flag --nothing-like-it [usage]\ntool: hint: tool list --help\n"},
		{[]string{"skill"}, "tool: expected one of \"list\", \"create\" [usage]\ntool: hint: tool skill --help\n"},
		{[]string{"skill", "lst"}, "tool: unexpected argument lst, did you mean \"list\"? [usage]\ntool: hint: tool skill --help\n"},
		{[]string{"skill", "create", "--as", "me"}, "tool: expected \"<folder> ...\" [usage]\ntool: hint: tool skill create --help\n"},
		{[]string{"skill", "create", "f"}, "tool: missing flags: --as=NAME [usage]\ntool: hint: tool skill create --help\n"},
		{[]string{"list", "--format", "json"}, "tool: --format must be one of \"text\",\"github\" but got \"json\" [usage]\ntool: hint: tool list --help\n"},
		{[]string{"list", "-e", "lst"}, "tool: unexpected argument lst [usage]\ntool: hint: tool list --help\n"},
		{[]string{"a", "sklil"}, "tool: unexpected argument sklil, did you mean \"skill\"? [usage]\ntool: hint: tool --help\n"},
		{[]string{"a", "entirely-else"}, "tool: unexpected argument entirely-else [usage]\ntool: hint: tool --help\n"},
		{[]string{"a", "ghos"}, "tool: unexpected argument ghos, did you mean \"show\"? [usage]\ntool: hint: tool --help\n"}, // hidden verbs stay hidden
		{[]string{"--generate=tcsh"}, "tool: --generate must be one of man, bash, zsh, fish, json, not \"tcsh\" [usage]\n"},
		{[]string{"--chdir"}, "tool: --chdir: expected string value but got \"EOL\" (<EOL>) [usage]\ntool: hint: tool --help\n"},
		{[]string{"--name\x1b[1m=x"}, "tool: unknown flag --name\uFFFD[1m [usage]\ntool: hint: tool --help\n"},
		{[]string{"list", "AKIA" + "QYLPMN5HHHFPZAM2"}, "tool: unexpected argument [redacted:aws-access-token] [usage]\ntool: hint: tool list --help\n"},
	} {
		w := &world{}
		w.want(t, 2, w.run(t, c.args...), "", c.want)
		if status := w.run(t, append([]string{"--errors=json"}, c.args...)...); status != 2 || !strings.HasPrefix(w.Stderr.String(), `{"error":{"code":"usage","message":"`) {
			t.Errorf("%q: status %d, %q", c.args, status, &w.Stderr)
		}
	}
}

func TestFormOfErrors(t *testing.T) {
	const text, form = "tool: ", `{"error":`
	for _, c := range []struct {
		env, want string
		args      []string
	}{
		{"", text, []string{"list", "x"}},
		{"text", text, []string{"list", "x"}},
		{"json", form, []string{"list", "x"}},
		{"json", form, []string{"--no-such"}},
		{"json", text, []string{"--errors=text", "list", "x"}},
		{"json", text, []string{"list", "x", "--errors", "text"}},
		{"", form, []string{"list", "x", "--errors", "json"}},
		{"", form, []string{"--errors=json", "--no-such"}},
		{"", text, []string{"a", "--", "--errors=json", "x"}},
		{"", text, []string{"list", "x", "--errors"}},
		{"", text, []string{"--errors=yaml", "list"}},
		{"yaml", text, []string{"list"}}, // a wrong value in the environment is an error too
		{"yaml", text, []string{"--version"}},
	} {
		t.Setenv("KXM_ERRORS", c.env)
		w := &world{env: map[string]string{"KXM_ERRORS": c.env}}
		status := w.run(t, c.args...)
		if c.args[0] == "--version" { // it is printed before anything is checked
			w.want(t, 0, status, "tool "+Version+"\n", "")
		} else if status != 2 || !strings.HasPrefix(w.Stderr.String(), c.want) || w.Stdout.Len() > 0 {
			t.Errorf("%q and %q: status %d, %q", c.env, c.args, status, &w.Stderr)
		}
	}
	t.Setenv("KXM_ERRORS", "yaml")
	cmd := child(t, "answer", "do")
	if status, stdout, stderr := run(t, cmd); status.ExitStatus() != 2 || stdout != "" || !strings.Contains(stderr, `but got "yaml" [usage]`) {
		t.Errorf("status %d, %q, %q", status.ExitStatus(), stdout, stderr)
	}
}

func TestDefaultCommandAndFlags(t *testing.T) {
	w := &world{}
	for answer, lines := range map[string][][]string{
		`{"name":"","text":"some"}`: {{"some"}, {"show", "some"}, {"--json", "some"}, {"some", "--tag", "a,b", "-i", "f"}, {"--", "some"}},
		`{"name":"x","text":""}`:    {{"--name", "x"}, {"--name=x"}, {"show", "--name", "x"}},
		`{"name":"","text":"-x"}`:   {{"--", "-x"}},
		`listed`:                    {{"list"}, {"list", "-e"}, {"ghost"}, {"-v", "list", "--format=github"}},
		`skills`:                    {{"skill", "list"}, {"skill", "list", "--status", "promoted"}},
	} {
		for _, args := range lines {
			w.want(t, 0, w.run(t, args...), answer+"\n", "")
		}
	}
	t.Setenv("CLI_TEST_NAME", "from the environment")
	w.want(t, 0, w.run(t), `{"name":"from the environment","text":""}`+"\n", "")
	w.want(t, 0, w.run(t, "--name", "flag"), `{"name":"flag","text":""}`+"\n", "")
}

func TestVersionAndHelp(t *testing.T) {
	w := &world{}
	for _, args := range [][]string{{"--version"}, {"list", "--version"}, {"--version", "skill"}} {
		w.want(t, 0, w.run(t, args...), "tool "+Version+"\n", "")
	}
	for _, c := range []struct {
		args  []string
		holds []string
		lacks []string
	}{
		{[]string{"--help"}, []string{"Usage: tool", "Show things, for tests.", "A second paragraph.", "skill list", "(the default command)", "\n  no_match     [1] ", "\n  invalid_json [4] ", "\n  usage        [2] "}, []string{"Never shown", "--json", "ghost"}},
		{[]string{"list", "--help"}, []string{"Usage: tool list", "--format=FORM", "  no_match  [1] ", "  io_failed [3] "}, []string{"invalid_json"}},
		{[]string{"skill", "--help"}, []string{"skill create", "usage"}, []string{"no_match"}},
		{[]string{"show", "-h"}, []string{"--tag=TAG", "($CLI_TEST_NAME)", "invalid_json"}, []string{"Never shown", "no_match"}},
	} {
		status := w.run(t, c.args...)
		if status != 0 || w.Stderr.Len() > 0 {
			t.Errorf("%q: status %d, %q", c.args, status, &w.Stderr)
		}
		for _, text := range c.holds {
			if !strings.Contains(w.Stdout.String(), text) {
				t.Errorf("%q: no %q in\n%s", c.args, text, &w.Stdout)
			}
		}
		for _, text := range c.lacks {
			if strings.Contains(w.Stdout.String(), text) {
				t.Errorf("%q: %q in\n%s", c.args, text, &w.Stdout)
			}
		}
	}
}

func TestHelpNamesEveryCodeOnce(t *testing.T) {
	parser, err := newParser(program(newGrammar()), &Session{})
	if err != nil {
		t.Fatal(err)
	}
	codes := codesOf(parser.Model.Node)
	want := []fault.Code{fault.InvalidJSON, fault.IOFailed, fault.NoMatch, fault.Usage}
	if len(codes) != len(want) {
		t.Fatalf("%v, want %v", codes, want)
	}
	for i := range want {
		if codes[i] != want[i] {
			t.Errorf("%v, want %v", codes, want)
		}
	}
}

func TestClock(t *testing.T) {
	const stopped = 1788264000
	at := func(epoch string) time.Time {
		return clock(func(name string) string {
			if name != "SOURCE_DATE_EPOCH" {
				t.Errorf("the clock reads %s", name)
			}
			return epoch
		})()
	}
	if got := at(strconv.Itoa(stopped)); !got.Equal(time.Unix(stopped, 0)) || got.Location() != time.UTC {
		t.Errorf("%v", got)
	}
	if got := at("0"); !got.Equal(time.Unix(0, 0)) {
		t.Errorf("%v", got)
	}
	for _, epoch := range []string{"", "-1", "yesterday", "1.5", " 1", "99999999999999999999"} {
		before := time.Now()
		if got := at(epoch); got.Before(before) || got.Sub(before) > time.Minute || got.Location() != time.UTC {
			t.Errorf("%q: %v", epoch, got)
		}
	}
	cmd := child(t, "time", "do")
	cmd.Env = append(cmd.Env, "SOURCE_DATE_EPOCH=1788264000", "TZ=Asia/Tokyo")
	if _, stdout, stderr := run(t, cmd); stdout != "2026-09-01T12:00:00Z\n" {
		t.Errorf("%q, %q", stdout, stderr)
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"recall", "recall", 0}, {"recal", "recall", 1}, {"rcall", "recall", 1}, {"racall", "recall", 1}, {"kitten", "sitting", 3}, {"ab", "ba", 2}} {
		if got, back := distance(c.a, c.b), distance(c.b, c.a); got != c.want || back != c.want {
			t.Errorf("%q and %q: %d and %d, want %d", c.a, c.b, got, back, c.want)
		}
	}
}
