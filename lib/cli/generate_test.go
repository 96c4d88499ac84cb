//go:build unix

package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kxm/lib/kxmtest"
)

// generated returns what --generate prints for the test's grammar, and the name of a
// file that holds it.
func generated(t *testing.T, form string) (text, path string) {
	t.Helper()
	w := &world{}
	w.want(t, 0, w.run(t, "--generate", form), w.Stdout.String(), "")
	text = w.Stdout.String()
	if w.run(t, "list", "--generate="+form); w.Stdout.String() != text {
		t.Errorf("behind a verb, --generate=%s differs", form)
	}
	path = filepath.Join(t.TempDir(), "tool."+form)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return text, path
}

// allFlags are what a user of the test's grammar may write.
var allFlags = []string{"help", "chdir", "output", "errors", "quiet", "verbose", "version", "generate", "format", "input", "tag", "name", "exit", "kinds", "status", "as"}

var allVerbs = []string{"show", "list", "skill", "create", "do"}

func TestEveryFormNamesEveryVerbAndFlag(t *testing.T) {
	flag := map[string]string{"man": `\-\-%`, "bash": "--%", "zsh": "--%", "fish": "-l % ", "json": `"name":"%"`}
	for form := range generators {
		text, _ := generated(t, form)
		for _, f := range allFlags {
			if !strings.Contains(text, strings.ReplaceAll(flag[form], "%", f)) {
				t.Errorf("%s: no flag %s", form, f)
			}
		}
		for _, v := range allVerbs {
			if !strings.Contains(text, v) {
				t.Errorf("%s: no verb %s", form, v)
			}
		}
		for _, hidden := range []string{"ghost", "Never shown", "unseen", "Accepted and without effect"} {
			if strings.Contains(text, hidden) {
				t.Errorf("%s: %q is hidden", form, hidden)
			}
		}
		if !strings.HasSuffix(text, "\n") || strings.HasSuffix(text, "\n\n") {
			t.Errorf("%s does not end with one line end", form)
		}
	}
}

// completions are what every shell offers for the last word of a line.
var completions = []struct {
	line []string
	want []string
}{
	{[]string{"tool", "li"}, []string{"list"}},
	{[]string{"tool", "s"}, []string{"show", "skill"}},
	{[]string{"tool", "-v", "do"}, []string{"do"}},
	{[]string{"tool", "skill", "c"}, []string{"create"}},
	{[]string{"tool", "skill", ""}, []string{"create", "list"}},
	{[]string{"tool", "--form"}, []string{"--format"}},
	{[]string{"tool", "list", "--ex"}, []string{"--exit"}},
	{[]string{"tool", "list", "--qui"}, []string{"--quiet"}},
	{[]string{"tool", "list", "--na"}, nil}, // a flag of another verb
	{[]string{"tool", "skill", "list", "--f"}, nil},
	{[]string{"tool", "skill", "list", "--s"}, []string{"--status"}},
	{[]string{"tool", "skill", "create", "--a"}, []string{"--as"}},
	{[]string{"tool", "--format", ""}, []string{"json", "markdown"}},
	{[]string{"tool", "show", "--format", "m"}, []string{"markdown"}},
	{[]string{"tool", "list", "--format", ""}, []string{"github", "text"}}, // not show's
	{[]string{"tool", "skill", "list", "--status", ""}, []string{"promoted", "rejected"}},
	{[]string{"tool", "--generate", ""}, []string{"bash", "fish", "json", "man", "zsh"}},
	{[]string{"tool", "list", "--errors", "j"}, []string{"json"}},
	{[]string{"tool", "--input", "no"}, []string{"notes.md"}},
	{[]string{"tool", "-i", "two"}, []string{"two words.txt"}},
	{[]string{"tool", "-C", "nest"}, []string{"nested"}},
	{[]string{"tool", "-C", "no"}, nil}, // no folder
	{[]string{"tool", "--name", "no"}, nil},
	{[]string{"tool", "list", "--kinds", ""}, []string{"episode", "skill", "state"}},
	{[]string{"tool", "list", "--kinds", "state,e"}, []string{"state,episode"}},
	{[]string{"tool", "skill", "list", "h"}, []string{"high"}},
	{[]string{"tool", "skill", "list", "high", "no"}, []string{"notes.md"}},
	{[]string{"tool", "skill", "list", "--status", "promoted", "high", "two words.txt", "no"}, []string{"notes.md"}},
	{[]string{"tool", "skill", "create", "nest"}, []string{"nested"}},
	{[]string{"tool", "skill", "create", "no"}, nil},
}

// onlyBash are lines as bash cuts them, and what the other shells offer otherwise.
var onlyBash = []struct {
	line []string
	want []string
}{
	// The value of a flag is no verb, whatever it is called.
	{[]string{"tool", "-C", "list", "sk"}, []string{"skill"}},
	{[]string{"tool", "--output", "list", "--na"}, []string{"--name"}},
	{[]string{"tool", "list", "-o", "skill", "--ex"}, []string{"--exit"}},
	// bash makes words of their own of "=".
	{[]string{"tool", "--format", "=", "ma"}, []string{"markdown"}},
	{[]string{"tool", "--format", "="}, []string{"json", "markdown"}},
	{[]string{"tool", "list", "--format", "=", "g"}, []string{"github"}},
	{[]string{"tool", "-C", "x", "--output", "=", "list", "--na"}, []string{"--name"}},
	{[]string{"tool", "--input", "=", "no"}, []string{"notes.md"}},
	{[]string{"tool", "skill", "list", "--status", "=", "promoted", ""}, []string{"high", "low"}},
	// Names are never patterns.
	{[]string{"tool", "-i", "[a"}, []string{"[a]*"}},
	{[]string{"tool", "skill", "list", "high", "[a"}, []string{"[a]*"}},
	// Flags are offered before they are begun where nothing else is meant.
	{[]string{"tool", "skill", "list", ""}, []string{"high", "low"}},
	{[]string{"tool", "do", ""}, []string{"--chdir", "--errors", "--generate", "--help", "--output", "--quiet", "--verbose", "--version", "-C", "-h", "-o", "-q", "-v"}},
}

func completionFolder(t *testing.T) string {
	t.Helper()
	return folder(t, map[string]string{"notes.md": "", "two words.txt": "", "nested/x": "", "[a]*": "", "ab": ""})
}

func TestShellsComplete(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		t.Run(shell, func(t *testing.T) {
			cases := completions
			if shell == "bash" {
				cases = slices.Concat(cases, onlyBash)
			}
			var lines [][]string
			for _, c := range cases {
				lines = append(lines, c.line)
			}
			_, script := generated(t, shell)
			for i, got := range kxmtest.Completions(t, shell, completionFolder(t), script, "", lines) {
				c := cases[i]
				if last := c.line[len(c.line)-1]; shell != "bash" {
					got = slices.DeleteFunc(got, func(w string) bool {
						// fish also offers what holds the letters elsewhere, and both what is not
						// begun; zsh the word of a list alone.
						return !strings.HasPrefix(w, last) && !strings.Contains(last, ",")
					})
				}
				want := slices.Clone(c.want)
				if shell == "zsh" {
					for i, w := range want {
						want[i] = w[strings.LastIndex(w, ",")+1:]
					}
				}
				if !slices.Equal(got, want) {
					t.Errorf("%q: %q, want %q", c.line, got, want)
				}
			}
		})
	}
}

// TestBashCompletesAsTyped types into bash's line editor.
func TestBashCompletesAsTyped(t *testing.T) {
	_, script := generated(t, "bash")
	cmd := exec.Command(kxmtest.Need(t, "bash"), "--norc", "--noprofile", "-i")
	cmd.Dir = completionFolder(t)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "HISTFILE=", "TERM=dumb", "INPUTRC=/dev/null", "PS1=")
	cmd.Stdin = strings.NewReader("tool() { printf '<%s>' \"$@\"; echo; }; source " + script + "\n" +
		"tool sk\tcr\t--a\t me ne\t\n" +
		"tool --form\tma\t-i tw\t\n" +
		"tool list --format=gi\t\n")
	out, err := cmd.Output()
	if want := "<skill><create><--as><me><nested/>\n<--format><markdown><-i><two words.txt>\n<list><--format=github>\n"; err != nil || string(out) != want {
		t.Errorf("%v: %q, want %q", err, out, want)
	}
}

func TestFishLines(t *testing.T) {
	text, _ := generated(t, "fish")
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "complete -c tool ") && !strings.HasPrefix(line, "#") || strings.Count(line, "'")%2 != 0 && !strings.Contains(line, `\'`) {
			t.Errorf("line %q", line)
		}
	}
}

func TestZshCallsWhatIsThere(t *testing.T) {
	text, _ := generated(t, "zsh")
	if !strings.HasPrefix(text, "#compdef tool\n") {
		t.Errorf("%.40q", text)
	}
	// Every function that is called is there, once.
	calls := regexp.MustCompile(`\) (_tool\w+) ;;`).FindAllStringSubmatch(text, -1)
	if len(calls) != 6 {
		t.Errorf("%d calls: %q", len(calls), calls)
	}
	for _, c := range calls {
		if strings.Count(text, "\n"+c[1]+"() {\n") != 1 {
			t.Errorf("%s is not there once", c[1])
		}
	}
}

func TestManPage(t *testing.T) {
	text, page := generated(t, "man")
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if strings.HasPrefix(line, "'") || strings.HasPrefix(line, ".") && !regexp.MustCompile(`^\.(TH|SH|SS|TP|PP|B|I|br|ad)( |$)`).MatchString(line) || line == "" {
			t.Errorf("line %d: %q", i+1, line)
		}
		if strings.ContainsFunc(line, func(r rune) bool { return r > '~' || r < ' ' }) {
			t.Errorf("line %d is not ASCII: %q", i+1, line)
		}
	}
	for _, want := range []string{
		".TH TOOL 1 ", ".SH NAME\ntool \\- Show things, for tests\n", ".SH SYNOPSIS\n.B tool show\n[options] [TEXT]\n.br\n.B tool list\n[options]\n.br\n",
		".B tool skill create\n[options] FOLDER...\n", ".SH DESCRIPTION\nShow things, for tests.\n.PP\nA second paragraph.\n", ".SS skill create\nCreate a skill",
		".B \\-i, \\-\\-input=FILE\n", `It's for "tests" only: a\-b \e 'c'.`, ".SH ERROR CODES\n", ".B no_match\n(1) ", ".SH EXIT STATUS\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if got := roff("'quoted\n.dotted\n\\ é–"); got != "\\&'quoted\n\\&.dotted\n\\e \\[u00E9]\\[u2013]" {
		t.Errorf("%q", got)
	}
	// groff warns of what it does not understand, and must not.
	cmd := exec.Command(kxmtest.Need(t, "groff"), "-man", "-Tascii", "-P-cbou", "-ww", page)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil || errs.Len() > 0 {
		t.Errorf("%v\n%s", err, &errs)
	}
	for _, want := range []string{"tool skill create [options] FOLDER...", "--input=FILE", "only: a-b \\ 'c'"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

func TestGrammarJSON(t *testing.T) {
	text, _ := generated(t, "json")
	var doc struct {
		Schema, Name, Version, Help string
		Commands                    []grammarCommand
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Schema != "kxm.grammar.v1" || doc.Name != "tool" || doc.Version != Version || !strings.HasPrefix(doc.Help, "Show things") || strings.Count(text, "\n") != 1 {
		t.Errorf("%s", text)
	}
	general := []string{"help", "chdir", "output", "errors", "quiet", "verbose", "version", "generate"}
	type row struct {
		flags, args, codes []string
		isDefault          bool
	}
	want := map[string]row{
		"":             {flags: general},
		"show":         {append(slices.Clone(general), "format", "input", "tag", "name"), []string{"text"}, []string{"invalid_json", "io_failed", "usage"}, true},
		"list":         {flags: append(slices.Clone(general), "format", "exit", "kinds"), codes: []string{"io_failed", "no_match", "usage"}},
		"skill list":   {append(slices.Clone(general), "status"), []string{"level", "files"}, []string{"io_failed", "usage"}, false},
		"skill create": {append(slices.Clone(general), "as"), []string{"folder"}, []string{"io_failed", "usage"}, false},
		"do":           {flags: general, codes: []string{"io_failed", "usage"}},
	}
	got := map[string]row{}
	flags := map[string]grammarFlag{}
	args := map[string]grammarArg{}
	for _, c := range doc.Commands {
		r := row{isDefault: c.Default}
		for _, f := range c.Flags {
			r.flags = append(r.flags, f.Name)
			flags[strings.TrimSpace(c.Command+" "+f.Name)] = f
		}
		for _, a := range c.Args {
			r.args = append(r.args, a.Name)
			args[c.Command+" "+a.Name] = a
		}
		for _, e := range c.Codes {
			r.codes = append(r.codes, string(e.Code))
			if e.Exit != e.Code.Exit() || e.Help != e.Code.Meaning() {
				t.Errorf("%+v", e)
			}
		}
		got[c.Command] = r
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
	for name, want := range map[string]grammarFlag{
		"show format":     {Name: "format", Value: "FORM", Choices: []string{"json", "markdown"}, Default: "json", Help: "json or markdown."},
		"show tag":        {Name: "tag", Value: "TAG", Repeat: true, Help: "May be repeated [really]: yes."},
		"show name":       {Name: "name", Value: "NAME", Env: []string{"CLI_TEST_NAME"}, Help: "Whose."},
		"show input":      {Name: "input", Short: "i", Value: "FILE", Path: "file", Help: "Read FILE."},
		"list chdir":      {Name: "chdir", Short: "C", Value: "DIR", Path: "folder", Help: "Run as if started in DIR, and ignore Git's environment variables."},
		"list kinds":      {Name: "kinds", Value: "K,K", Choices: []string{"state", "skill", "episode"}, List: true, Help: "Only these: state, skill, episode."},
		"list exit":       {Name: "exit", Short: "e", Help: "Exit 1 when empty."},
		"list errors":     {Name: "errors", Value: "FORM", Choices: []string{"text", "json"}, Default: "text", Env: []string{"KXM_ERRORS"}, Help: "Form of the error on standard error: text or json."},
		"skill create as": {Name: "as", Value: "NAME", Require: true, Help: "Who."},
	} {
		if !reflect.DeepEqual(flags[name], want) {
			t.Errorf("%s: %+v, want %+v", name, flags[name], want)
		}
	}
	for name, want := range map[string]grammarArg{
		"skill list level":    {Name: "level", Choices: []string{"high", "low"}, Help: "high or low."},
		"skill create folder": {Name: "folder", Path: "folder", Repeat: true, Require: true, Help: "The folders."},
	} {
		if !reflect.DeepEqual(args[name], want) {
			t.Errorf("%s: %+v, want %+v", name, args[name], want)
		}
	}
}

func TestGeneratedTextIsTheSameEachTime(t *testing.T) {
	for form := range generators {
		first, _ := generated(t, form)
		for range 5 {
			if again, _ := generated(t, form); again != first {
				t.Fatalf("%s differs", form)
			}
		}
	}
}
