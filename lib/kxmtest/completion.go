package kxmtest

import (
	"context"
	"embed"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

//go:embed shells
var shells embed.FS

// Need returns the path of a program. Where it is not installed the test is skipped,
// or fails if KXM_TEST_ALL is set, as scripts/test sets it: a test that cannot run
// must not look like one that passed.
func Need(t testing.TB, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	switch {
	case err == nil:
	case os.Getenv("KXM_TEST_ALL") != "":
		t.Fatalf("%s is not installed", program)
	default:
		t.Skipf("%s is not installed", program)
	}
	return path
}

// Completions asks a shell (bash, zsh or fish) what it offers for the last word of each
// line, and returns that sorted. The shell runs in dir, sources the file setup first,
// and zsh also looks for completions in the folder functions, if one is given.
func Completions(t *testing.T, shell, dir, setup, functions string, lines [][]string) [][]string {
	t.Helper()
	path := Need(t, shell)
	driver := filepath.Join(t.TempDir(), "complete."+shell)
	text, err := shells.ReadFile("shells/complete." + shell)
	if err == nil {
		err = os.WriteFile(driver, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	args := map[string][]string{"bash": {"--norc"}, "zsh": {"-f"}, "fish": {"--no-config"}}[shell]
	ctx, stop := context.WithTimeout(context.Background(), 3*time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, path, append(args, driver, setup, functions)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "LC_ALL=C.UTF-8", "TERM=dumb")
	var in, errs strings.Builder
	for _, line := range lines {
		in.WriteString(shellLine(shell, line))
	}
	cmd.Stdin, cmd.Stderr = strings.NewReader(in.String()), &errs
	out, err := cmd.Output()
	if err != nil || errs.Len() > 0 {
		t.Fatalf("%s: %v\n%s", shell, err, &errs)
	}
	answers := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(answers) != len(lines) {
		t.Fatalf("%s answered %d lines of %d", shell, len(answers), len(lines))
	}
	all := make([][]string, len(lines))
	for i, answer := range answers {
		all[i] = strings.FieldsFunc(answer, func(r rune) bool { return r == '\x1f' })
		for j, offer := range all[i] { // what a shell shows of folders and spaces differs
			all[i][j] = strings.TrimSuffix(strings.ReplaceAll(offer, `\ `, " "), "/")
		}
		slices.Sort(all[i])
	}
	return all
}

// shellLine writes a line as the shell's driver reads it: bash is given the words as it
// makes them, the others what was typed.
func shellLine(shell string, line []string) string {
	if shell == "bash" {
		return strings.Join(line, "\x1f") + "\x1f\n"
	}
	return strings.Join(line, " ") + "\n"
}
