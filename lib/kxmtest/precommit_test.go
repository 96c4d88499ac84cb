package kxmtest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// hooked is a repository whose commits the program pre-commit checks with this
// project's hooks.
type hooked struct {
	dir string
	env []string
}

// newHooked makes the project's worktree a repository that pre-commit clones, and
// another one that uses its hooks.
func newHooked(t *testing.T) hooked {
	t.Helper()
	Need(t, "pre-commit")
	source, home := t.TempDir(), t.TempDir()
	copied(t, source)
	Git(t, source, "init", "-q")
	Git(t, source, "add", "-A")
	Git(t, source, "commit", "-q", "-m", "hooks")
	repo := NewRepo(t, map[string]string{
		".pre-commit-config.yaml": "repos:\n- repo: " + source + "\n  rev: " + Git(t, source, "rev-parse", "HEAD") + "\n  hooks:\n  - id: kxm-memory-check\n  - id: kxm-memory-sync\n  - id: kxm-wiki-check\n",
		".kxm/config.toml":        "project = \"demo\"\n",
		"AGENTS.md":               "# Agents\n",
	})
	// pre-commit builds with a GOPATH of its own. What the tests have fetched and built
	// serves it: no network is needed.
	goEnv := func(name string) string {
		out, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		return name + "=" + strings.TrimSpace(string(out))
	}
	h := hooked{repo, append(GitEnv(home), "PRE_COMMIT_HOME="+filepath.Join(home, "pre-commit"), "PRE_COMMIT_COLOR=never",
		goEnv("GOCACHE"), goEnv("GOMODCACHE"), "GOPROXY=off", "GOFLAGS=-trimpath -buildvcs=false -ldflags=-w", "CGO_ENABLED=0")}
	h.run(t, 0, "pre-commit", "install", "--install-hooks")
	return h
}

// run runs a program in the repository, wants that exit status and returns all output.
func (h hooked) run(t *testing.T, status int, program string, args ...string) string {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = h.dir, h.env
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || cmd.ProcessState.ExitCode() != status {
		t.Fatalf("%s %q: %v, want status %d\n%s", program, args, err, status, out)
	}
	return string(out)
}

// commit stages everything, commits it, and wants each of the texts in the output.
func (h hooked) commit(t *testing.T, status int, texts ...string) {
	t.Helper()
	h.run(t, 0, "git", "add", "-A")
	out := h.run(t, status, "git", "commit", "-m", "change")
	for _, text := range texts {
		if !strings.Contains(out, text) {
			t.Errorf("no %q in\n%s", text, out)
		}
	}
}

const hookedFact = `---
schema: kxm.memory.v1
id: runner
scope: SCOPE
kind: convention
summary: Run the tests before every commit
authority: instruction
confidence: verified
lifecycle: active
---
`

// TestPreCommitHooks commits in a repository that uses the hooks of
// .pre-commit-hooks.yaml, which the real program builds and runs.
func TestPreCommitHooks(t *testing.T) {
	t.Parallel()
	h := newHooked(t)
	program := func(name string, args ...string) { h.run(t, 0, filepath.Join(installed(t), "bin", name), args...) }
	sync := func() { program("kxm-memory", "sync") }
	compile := func() { program("kxm-wiki", "compile", "--worktree", "--out", ".") }
	fact := func(scope string) {
		WriteFiles(t, h.dir, map[string]string{".kxm/memory/runner.md": strings.ReplaceAll(hookedFact, "SCOPE", scope)})
	}
	fact("everyone")
	h.commit(t, 1, "kxm-memory check.", "Failed", "[memory-invalid]")
	fact("agent") // which no block shows
	sync()
	h.commit(t, 1, "kxm-wiki check.", "[wiki_stale]")
	compile()
	h.commit(t, 0, "kxm-memory check.", "kxm-memory sync.", "kxm-wiki check.", "Passed")

	fact("project")
	h.commit(t, 1, `"AGENTS.md" is out of date [memory_block_stale]`)
	sync()
	compile()
	h.commit(t, 0)
	if text := h.run(t, 0, "git", "show", "HEAD:AGENTS.md"); !strings.Contains(text, "Run the tests before every commit") {
		t.Errorf("committed:\n%s", text)
	}

	// A file beside them is checked by neither, and what is not staged blocks nothing.
	fact("everyone")
	WriteFiles(t, h.dir, map[string]string{"main.c": "int main(void) {}\n"})
	h.run(t, 0, "git", "add", "main.c")
	if out := h.run(t, 0, "git", "commit", "-m", "code"); !strings.Contains(out, "no files to check") {
		t.Errorf("the check ran:\n%s", out)
	}
	// Removing a fact makes the block stale.
	if err := os.Remove(filepath.Join(h.dir, ".kxm", "memory", "runner.md")); err != nil {
		t.Fatal(err)
	}
	h.commit(t, 1, `"AGENTS.md" is out of date [memory_block_stale]`)
}
