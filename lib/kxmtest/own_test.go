package kxmtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// ownRepository copies what the project knows of itself, and what its records cite,
// into a repository with one commit, since the sources may come without theirs.
func ownRepository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	root := filepath.Join("..", "..")
	for _, name := range []string{".kxm", "AGENTS.md", "README.md", "ARCHITECTURE.md", "lib", "scripts"} {
		from := filepath.Join(root, name)
		info, err := os.Stat(from)
		switch {
		case err != nil:
			t.Fatal(err)
		case info.IsDir():
			err = os.CopyFS(filepath.Join(dir, name), os.DirFS(from))
		default:
			var data []byte
			if data, err = os.ReadFile(from); err == nil {
				err = os.WriteFile(filepath.Join(dir, name), data, 0o644)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	Git(t, dir, "init", "-q", "-b", "main")
	Git(t, dir, "add", "-A")
	Git(t, dir, "commit", "-q", "-m", "project")
	return dir
}

// inShell runs lines as a step of the workflow does, and returns what they print.
func inShell(t *testing.T, dir string, env []string, lines string) (out string, err error) {
	t.Helper()
	cmd := exec.Command("bash", "-e", "-o", "pipefail", "-c", lines)
	cmd.Dir, cmd.Env = dir, append(onPath(t, t.TempDir()), env...)
	text, err := cmd.CombinedOutput()
	return string(text), err
}

// steps returns the commands of each step of the workflow, by its name.
func steps(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", ".github", "workflows", "knowledge.yml"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	name, block := "", false
	for line := range strings.Lines(string(data)) {
		text := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(text, "- name: "):
			name, block = strings.TrimPrefix(text, "- name: "), false
		case strings.HasPrefix(text, "- uses:"):
			name, block = "", false
		case text == "run: |":
			block = true
		case strings.HasPrefix(text, "run: "):
			all[name] = strings.TrimPrefix(text, "run: ")
		case block && strings.HasPrefix(line, "          "):
			all[name] += text + "\n"
		case block && text != "":
			block = false
		}
	}
	return all
}

// TestTheProjectKnowsItself: its own records, instruction file and wiki pass the steps
// of its own workflow, and a change of a record alone does not.
func TestTheProjectKnowsItself(t *testing.T) {
	dir := ownRepository(t)
	hub := filepath.Join(t.TempDir(), "hub.git")
	Git(t, dir, "clone", "-q", "--bare", dir, hub)
	Git(t, dir, "remote", "add", "origin", hub)
	Git(t, dir, "fetch", "-q", "origin")
	summary := filepath.Join(t.TempDir(), "summary.md")
	env := []string{"GITHUB_STEP_SUMMARY=" + summary, "BASE=" + Git(t, dir, "rev-parse", "HEAD")}
	commands := steps(t)
	run := func(step string, want bool) string {
		t.Helper()
		lines, ok := commands[step]
		if !ok {
			t.Fatalf("the workflow has no step %q, but %v", step, commands)
		}
		out, err := inShell(t, dir, env, lines)
		if (err == nil) != want {
			t.Errorf("%s: %v\n%s", step, err, out)
		}
		return out
	}
	checks := []string{"Check the records", "Check the block in instruction files", "Check the wiki", "Report findings to code scanning"}
	run("Fetch the state, and trust what is on the default branch", true)
	for _, step := range checks {
		run(step, true)
	}

	// A fact changes, and nothing else does.
	fact := filepath.Join(dir, ".kxm", "memory", "commits-say-why.md")
	data, err := os.ReadFile(fact)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(fact, []byte(strings.Replace(string(data), "A commit holds one idea", "A commit holds one thought", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	Git(t, dir, "commit", "-q", "-a", "-m", "change a fact")
	run("Check the records", false)
	run("Check the block in instruction files", false)
	if out := run("Check the wiki", false); !strings.Contains(out, "one thought") {
		t.Errorf("the difference is not shown:\n%s", out)
	}
	run("Say what the project learned", true)
	if text, err := os.ReadFile(summary); err != nil || !strings.Contains(string(text), "thought") {
		t.Errorf("the summary says %q, %v", text, err)
	}

	// Its author writes both anew.
	if out, err := inShell(t, dir, nil, "kxm-memory sync >/dev/null && kxm-wiki compile --repo --out . >/dev/null && git commit -qam again"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, step := range checks {
		run(step, true)
	}
}
