package kxmtest

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// grammar is what --generate=json prints, as far as the tests ask for it.
type grammar struct {
	Name     string `json:"name"`
	Commands []struct {
		Command   string  `json:"command"`
		Flags     []value `json:"flags"`
		Arguments []value `json:"arguments"`
	} `json:"commands"`
}

// value is a flag's or an argument's. A flag without Value is a switch.
type value struct {
	Name    string   `json:"name"`
	Short   string   `json:"short"`
	Value   string   `json:"value"`
	Choices []string `json:"choices"`
	List    bool     `json:"list"`
	Path    string   `json:"path"`
	Repeat  bool     `json:"repeat"`
	Help    string   `json:"help"`
}

// programs are the folders of cmd/.
func programs(t *testing.T) []string {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join("..", "..", "cmd", "*", "main.go"))
	if err != nil || len(dirs) == 0 {
		t.Fatal("no program found", err)
	}
	for i, dir := range dirs {
		dirs[i] = filepath.Base(filepath.Dir(dir))
	}
	return dirs
}

func grammarOf(t *testing.T, prefix, program string) grammar {
	t.Helper()
	out, err := exec.Command(filepath.Join(prefix, "bin", program), "--generate=json").Output()
	if err != nil {
		t.Fatal(program, err)
	}
	var g grammar
	if err := json.Unmarshal(out, &g); err != nil {
		t.Fatal(program, err)
	}
	if g.Name != program || len(g.Commands) < 2 {
		t.Fatalf("%s: the grammar is %s", program, out)
	}
	return g
}

// completed is a line and what must be offered for its last word.
type completed struct {
	line     []string
	want     []string
	argument bool // it is no flag, verb or flag's value
}

// place is the folder that completions of files look into.
var place = map[string]string{"zz-file.md": "", "zz-folder/x": ""}

// offers follow from a grammar: each verb, each flag, each value of each flag and
// argument. The words are typed far enough that only what is meant can fit.
func offers(g grammar) []completed {
	var all []completed
	add := func(want []string, line ...string) {
		slices.Sort(want)
		all = append(all, completed{append([]string{g.Name}, line...), want, false})
	}
	values := func(v value, line ...string) {
		switch {
		case v.Path == "file":
			add([]string{"zz-file.md", "zz-folder"}, append(line, "zz")...)
		case v.Path == "folder":
			add([]string{"zz-folder"}, append(line, "zz")...)
		case len(v.Choices) > 0:
			add(slices.Clone(v.Choices), append(line, "")...)
		default:
			add(nil, append(line, "zz")...) // a name, which is no file's
		}
	}
	below := map[string][]string{} // the words behind a verb's words
	for _, c := range g.Commands {
		words := strings.Fields(c.Command)
		for i := range words {
			group := strings.Join(words[:i], " ")
			if !slices.Contains(below[group], words[i]) {
				below[group] = append(below[group], words[i])
			}
		}
	}
	for _, group := range slices.Sorted(maps.Keys(below)) {
		add(below[group], append(strings.Fields(group), "")...)
	}
	for _, c := range g.Commands {
		words := strings.Fields(c.Command)
		line := func(more ...string) []string { return slices.Concat(words, more) }
		if c.Command == "" {
			continue // its flags are those of every verb and of the default one
		}
		var flags []string
		for _, f := range c.Flags {
			flags = append(flags, "--"+f.Name)
			if f.Value == "" {
				continue
			}
			values(f, line("--"+f.Name)...)
			if f.Short != "" {
				values(f, line("-"+f.Short)...)
			}
		}
		add(flags, line("--")...)
		given, flagsEnd := []string{}, len(all)
		for _, a := range c.Arguments {
			values(a, line(given...)...)
			given = append(given, "given")
		}
		if n := len(c.Arguments); n == 0 || !c.Arguments[n-1].Repeat {
			add(nil, line(append(given, "zz")...)...) // one too many
		}
		for i := flagsEnd; i < len(all); i++ {
			all[i].argument = true
		}
	}
	return all
}

// TestInstalledCompletions asks the shells themselves about each verb and flag of each
// binary, with the files where scripts/build --prefix puts them.
func TestInstalledCompletions(t *testing.T) {
	prefix := installed(t)
	share := filepath.Join(prefix, "share")
	dir := t.TempDir()
	WriteFiles(t, dir, place)
	for _, shell := range []string{"bash", "zsh", "fish"} {
		for _, program := range programs(t) {
			t.Run(shell+"/"+program, func(t *testing.T) {
				t.Parallel()
				setup, functions := os.DevNull, ""
				switch shell {
				case "bash":
					setup = filepath.Join(share, "bash-completion", "completions", program)
				case "zsh":
					functions = filepath.Join(share, "zsh", "site-functions")
				case "fish":
					setup = filepath.Join(share, "fish", "vendor_completions.d", program+".fish")
				}
				wanted := offers(grammarOf(t, prefix, program))
				lines := make([][]string, len(wanted))
				for i, w := range wanted {
					lines[i] = w.line
				}
				for i, got := range Completions(t, shell, dir, setup, functions, lines) {
					got = comparable(shell, wanted[i].line, got)
					if shell == "fish" && wanted[i].argument {
						// It does not know which argument a word is, and offers those of all.
						got = slices.DeleteFunc(got, func(w string) bool { return !slices.Contains(wanted[i].want, w) })
					}
					if !slices.Equal(got, wanted[i].want) {
						t.Errorf("%q: %q, want %q", wanted[i].line, got, wanted[i].want)
					}
				}
			})
		}
	}
}

// comparable leaves out what a shell offers besides: short flags where long ones were
// begun, and in fish what is offered everywhere or does not begin with the word.
func comparable(shell string, line, got []string) []string {
	last := line[len(line)-1]
	return slices.DeleteFunc(got, func(w string) bool {
		return !strings.HasPrefix(w, last) || last == "" && strings.HasPrefix(w, "-") ||
			shell == "fish" && last == "" && place[w] == "" && strings.HasPrefix(w, "zz-")
	})
}

// TestBashFindsInstalledCompletions looks whether bash-completion loads a file by the
// name of the program.
func TestBashFindsInstalledCompletions(t *testing.T) {
	const loader = "/usr/share/bash-completion/bash_completion"
	if _, err := os.Stat(loader); err != nil {
		Need(t, "bash-completion") // it is no program, but its absence is told alike
	}
	t.Setenv("BASH_COMPLETION_USER_DIR", filepath.Join(installed(t), "share", "bash-completion"))
	for _, program := range programs(t) {
		got := Completions(t, "bash", t.TempDir(), loader, "", [][]string{{program, "--gen"}})
		if !slices.Equal(got[0], []string{"--generate"}) {
			t.Errorf("%s: %q", program, got)
		}
	}
}

// TestChoicesStandInTheHelp keeps the lists that completions offer and those that help
// texts name the same.
func TestChoicesStandInTheHelp(t *testing.T) {
	for _, program := range programs(t) {
		for _, c := range grammarOf(t, installed(t), program).Commands {
			for _, v := range slices.Concat(c.Flags, c.Arguments) {
				for _, choice := range v.Choices {
					if !strings.Contains(v.Help, choice) {
						t.Errorf("%s %s: the help of %s does not name %s: %s", program, c.Command, v.Name, choice, v.Help)
					}
				}
			}
		}
	}
}

// TestInstalledManualPages reads each page with both implementations of man(7), which
// must have nothing to say about it, and finds it as a person does.
func TestInstalledManualPages(t *testing.T) {
	prefix := installed(t)
	quiet := func(t *testing.T, program string, args ...string) string {
		t.Helper()
		cmd := exec.Command(Need(t, program), args...)
		cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "MANWIDTH=80", "MANPATH=", "PATH="+filepath.Join(prefix, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil || errs.Len() > 0 {
			t.Errorf("%s %q: %v\n%s%s", program, args, err, &errs, out)
		}
		return string(out)
	}
	for _, program := range programs(t) {
		page := filepath.Join(prefix, "share", "man", "man1", program+".1")
		g := grammarOf(t, prefix, program)
		t.Run(program+"/groff", func(t *testing.T) {
			text := quiet(t, "groff", "-man", "-Tutf8", "-P-cbou", "-ww", page)
			for _, c := range g.Commands {
				if c.Command != "" && !strings.Contains(text, program+" "+c.Command+" ") {
					t.Errorf("no synopsis of %s", c.Command)
				}
				for _, f := range c.Flags {
					if !strings.Contains(text, "--"+f.Name) {
						t.Errorf("no flag --%s", f.Name)
					}
				}
			}
		})
		t.Run(program+"/mandoc", func(t *testing.T) {
			quiet(t, "mandoc", "-T", "lint", "-W", "warning", page)
		})
		t.Run(program+"/man", func(t *testing.T) {
			if text := quiet(t, "man", "--warnings=all", "-l", page); !strings.Contains(text, "NAME\n       "+program+" - ") {
				t.Errorf("man shows %.300q", text)
			}
			if found := strings.TrimSpace(quiet(t, "man", "-w", program)); found != page {
				t.Errorf("man finds %q, want %q", found, page)
			}
		})
	}
}
