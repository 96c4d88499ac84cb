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
var allFlags = []string{"help", "chdir", "output", "errors", "quiet", "verbose", "version", "generate", "format", "input", "tag", "name", "exit", "status", "as"}

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

// shell runs a shell that must be there for what it is asked, or says that it is not.
func shell(t *testing.T, dir, name string, args ...string) (stdout string, ok bool) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		return "", false
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "LC_ALL=C", "TERM=dumb")
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil || errs.Len() > 0 {
		t.Errorf("%s %q: %v\n%s", name, args, err, &errs)
	}
	return string(out), true
}

// completions are what a shell offers for the last word of a line.
var completions = []struct {
	line []string
	want []string
}{
	{[]string{"tool", "li"}, []string{"list"}},
	{[]string{"tool", "s"}, []string{"show", "skill"}},
	{[]string{"tool", "-v", "do"}, []string{"do"}},
	{[]string{"tool", "skill", "c"}, []string{"create"}},
	{[]string{"tool", "--form"}, []string{"--format"}},
	{[]string{"tool", "list", "--ex"}, []string{"--exit"}},
	{[]string{"tool", "list", "--qui"}, []string{"--quiet"}},
	{[]string{"tool", "list", "--na"}, nil}, // a flag of another verb
	{[]string{"tool", "skill", "list", "--f"}, nil},
	{[]string{"tool", "skill", "list", "--s"}, []string{"--status"}},
	{[]string{"tool", "skill", "create", "--a"}, []string{"--as"}},
	{[]string{"tool", "--format", ""}, []string{"json", "markdown"}},
	{[]string{"tool", "show", "--format", "m"}, []string{"markdown"}},
	{[]string{"tool", "list", "--format", ""}, []string{"text", "github"}}, // not show's
	{[]string{"tool", "skill", "list", "--status", ""}, []string{"promoted", "rejected"}},
	{[]string{"tool", "--generate", ""}, []string{"man", "bash", "zsh", "fish", "json"}},
	{[]string{"tool", "list", "--errors", "j"}, []string{"json"}},
	{[]string{"tool", "--input", "no"}, []string{"notes.md"}},
	{[]string{"tool", "-i", "two"}, []string{"two words.txt"}},
	{[]string{"tool", "-C", "nest"}, []string{"nested"}},
}

func completionFolder(t *testing.T) string {
	t.Helper()
	return folder(t, map[string]string{"notes.md": "", "two words.txt": "", "nested/x": "", "[a]*": "", "ab": ""})
}

func TestBashCompletes(t *testing.T) {
	_, script := generated(t, "bash")
	dir := completionFolder(t)
	complete := func(words ...string) []string {
		t.Helper()
		out, ok := shell(t, dir, "bash", append([]string{"--norc", "-c", `
set -u
source "$0" || exit
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_tool
[[ ${#COMPREPLY[@]} -eq 0 ]] || printf '%s\n' "${COMPREPLY[@]}"`, script}, words...)...)
		if !ok {
			t.Fatal("bash is missing; completion cannot be tested without it")
		}
		return strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	}
	want := func(line, want []string) {
		t.Helper()
		got := complete(line...)
		if len(want) == 0 {
			want = []string{""}
		}
		slices.Sort(got)
		if want = slices.Sorted(slices.Values(want)); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
	for _, c := range completions {
		want(c.line, c.want)
	}
	// The value of a flag is no verb, whatever it is called.
	want([]string{"tool", "-C", "list", "sk"}, []string{"skill"})
	want([]string{"tool", "--output", "list", "--na"}, []string{"--name"})
	want([]string{"tool", "list", "-o", "skill", "--ex"}, []string{"--exit"})
	// bash makes words of their own of "=".
	want([]string{"tool", "--format", "=", "ma"}, []string{"markdown"})
	want([]string{"tool", "--format", "="}, []string{"json", "markdown"})
	want([]string{"tool", "list", "--format", "=", "g"}, []string{"github"})
	want([]string{"tool", "-C", "x", "--output", "=", "list", "--na"}, []string{"--name"})
	want([]string{"tool", "--input", "=", "no"}, []string{"notes.md"})
	// Nothing is known about a name, also not that it is a file.
	want([]string{"tool", "--name", "no"}, nil)
	// An argument is a file when it is no verb; names are never patterns.
	want([]string{"tool", "skill", "create", "no"}, []string{"notes.md"})
	want([]string{"tool", "-i", "[a"}, []string{"[a]*"})
	if got := complete("tool", "skill", ""); !slices.Contains(got, "list") || !slices.Contains(got, "create") || slices.Contains(got, "skill") {
		t.Errorf("%q", got)
	}
	if got := complete("tool", ""); !slices.Contains(got, "show") || !slices.Contains(got, "--name") || slices.Contains(got, "notes.md") {
		t.Errorf("%q", got)
	}
	if out, _ := shell(t, dir, "bash", "--norc", "-c", `source "$0"; complete -p tool`, script); out != "complete -o filenames -F _tool tool\n" {
		t.Errorf("%q", out)
	}
}

func TestFishCompletes(t *testing.T) {
	text, script := generated(t, "fish")
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "complete -c tool ") && !strings.HasPrefix(line, "#") || strings.Count(line, "'")%2 != 0 && !strings.Contains(line, `\'`) {
			t.Errorf("line %q", line)
		}
	}
	dir := completionFolder(t)
	if _, ok := shell(t, dir, "fish", "--no-execute", script); !ok {
		return // its form is checked above
	}
	for _, c := range completions {
		line := strings.Join(c.line, " ")
		out, _ := shell(t, dir, "fish", "--no-config", "--command", "source "+shellQuote(script)+"; complete -C "+shellQuote(line))
		var got []string
		for l := range strings.Lines(out) {
			word, _, _ := strings.Cut(strings.TrimSuffix(l, "\n"), "\t")
			got = append(got, strings.TrimSuffix(strings.ReplaceAll(word, `\ `, " "), "/"))
		}
		want := slices.Clone(c.want)
		if last := c.line[len(c.line)-1]; strings.HasPrefix(last, "--") && len(want) == 0 {
			// fish then also offers what holds the letters elsewhere.
			got = slices.DeleteFunc(got, func(w string) bool { return !strings.HasPrefix(w, last) })
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

func TestZshScriptParsesAndRegisters(t *testing.T) {
	text, script := generated(t, "zsh")
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
	if strings.Count(text, "{\n") != strings.Count(text, "\n}\n") {
		t.Error("braces do not match")
	}
	dir := t.TempDir()
	if _, ok := shell(t, dir, "zsh", "-f", "-n", script); !ok {
		return // its form is checked above
	}
	out, _ := shell(t, dir, "zsh", "-f", "-c", `autoload -Uz compinit && compinit -D -u && source "$0" && print -r -- $_comps[tool] $+functions[_tool__skill__create]`, script)
	if out != "_tool 1\n" {
		t.Errorf("%q", out)
	}
}

func TestManPage(t *testing.T) {
	text, page := generated(t, "man")
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if strings.HasPrefix(line, "'") || strings.HasPrefix(line, ".") && !regexp.MustCompile(`^\.(TH|SH|SS|TP|PP|B|I|br)( |$)`).MatchString(line) || line == "" {
			t.Errorf("line %d: %q", i+1, line)
		}
		if strings.ContainsFunc(line, func(r rune) bool { return r > '~' || r < ' ' }) {
			t.Errorf("line %d is not ASCII: %q", i+1, line)
		}
	}
	for _, want := range []string{
		".TH TOOL 1 ", ".SH NAME\ntool \\- Show things, for tests\n", ".SH SYNOPSIS\n.B tool show\n[options] [TEXT]\n.br\n.B tool list\n[options]\n",
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
	// groff warns of what it does not understand; shell wants that it says nothing.
	if out, ok := shell(t, "", "groff", "-man", "-Tascii", "-P-cbou", "-ww", page); ok {
		for _, want := range []string{"tool skill create [options] FOLDER...", "--input=FILE", "only: a-b \\ 'c'"} {
			if !strings.Contains(out, want) {
				t.Errorf("no %q in\n%s", want, out)
			}
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
		"list":         {flags: append(slices.Clone(general), "format", "exit"), codes: []string{"io_failed", "no_match", "usage"}},
		"skill list":   {flags: append(slices.Clone(general), "status"), codes: []string{"io_failed", "usage"}},
		"skill create": {append(slices.Clone(general), "as"), []string{"folder"}, []string{"io_failed", "usage"}, false},
		"do":           {flags: general, codes: []string{"io_failed", "usage"}},
	}
	got := map[string]row{}
	flags := map[string]grammarFlag{}
	for _, c := range doc.Commands {
		r := row{isDefault: c.Default}
		for _, f := range c.Flags {
			r.flags = append(r.flags, f.Name)
			flags[strings.TrimSpace(c.Command+" "+f.Name)] = f
		}
		for _, a := range c.Args {
			r.args = append(r.args, a.Name)
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
		"list exit":       {Name: "exit", Short: "e", Help: "Exit 1 when empty."},
		"list errors":     {Name: "errors", Value: "FORM", Choices: []string{"text", "json"}, Default: "text", Env: []string{"KXM_ERRORS"}, Help: "Form of the error on standard error: text or json."},
		"skill create as": {Name: "as", Value: "NAME", Require: true, Help: "Who."},
	} {
		if !reflect.DeepEqual(flags[name], want) {
			t.Errorf("%s: %+v, want %+v", name, flags[name], want)
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
