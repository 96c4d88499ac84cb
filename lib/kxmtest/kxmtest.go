// Package kxmtest owns what the tests of several packages share: the cases with
// their right answers, Git fixtures in a closed environment, a fixed clock, and
// the harness for script tests.
//
// Start with [Cases] for data, [Git] for a repository and [RunScripts] for the
// behaviour of a binary. Nothing here is linked into a binary.
package kxmtest

import (
	"bytes"
	"embed"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

//go:embed testdata/cases
var cases embed.FS

// Now is the fixed clock of the tests.
func Now() time.Time { return time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC) }

// Cases decodes each line of testdata/cases/<name>.ndjson into a T and calls
// check with it and its line number from 1. A file without a line fails the test,
// so that a case file that moved cannot pass.
func Cases[T any](t *testing.T, name string, check func(t *testing.T, line int, c T)) {
	t.Helper()
	data, err := cases.ReadFile("testdata/cases/" + name + ".ndjson")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for raw := range bytes.Lines(data) {
		n++
		var c T
		if err := json.Unmarshal(raw, &c); err != nil {
			t.Fatalf("%s:%d: %v", name, n, err)
		}
		check(t, n, c)
	}
	if n == 0 {
		t.Fatalf("%s holds no case", name)
	}
}

// GitEnv is the environment in which tests run Git: no configuration of the
// machine or the user, a fixed identity and date, no prompt, English messages.
func GitEnv(home string) []string {
	env := []string{}
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "GIT_") && !strings.HasPrefix(kv, "KXM_") && !strings.HasPrefix(kv, "XDG_") {
			env = append(env, kv)
		}
	}
	return append(env,
		"HOME="+home, "XDG_CONFIG_HOME="+filepath.Join(home, ".config"),
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+filepath.Join(home, ".gitconfig"),
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_AUTHOR_DATE=2026-09-01T12:00:00Z",
		"GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com", "GIT_COMMITTER_DATE=2026-09-01T12:00:00Z",
		"GIT_TERMINAL_PROMPT=0", "LC_ALL=C", "TZ=UTC",
	)
}

// Git runs git in dir in the closed environment and returns its standard output
// without the final newline; a failure ends the test.
func Git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	return GitInput(t, dir, nil, args...)
}

// GitInput is Git with a standard input.
func GitInput(t testing.TB, dir string, stdin []byte, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir = dir
	cmd.Env = GitEnv(t.TempDir())
	cmd.Stdin = bytes.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("git %s in %s: %v\n%s", strings.Join(args, " "), dir, err, errs.String())
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// WriteFiles writes files below dir, making folders as needed; keys are slash
// paths.
func WriteFiles(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// NewRepo makes a repository with the files in one commit and returns its folder.
func NewRepo(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	Git(t, dir, "init", "-q")
	WriteFiles(t, dir, files)
	Git(t, dir, "add", "-A")
	Git(t, dir, "commit", "-q", "--allow-empty", "-m", "start")
	return dir
}
