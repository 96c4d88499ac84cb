//go:build unix

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestStatusOfAnotherProgram(t *testing.T) {
	w := &world{}
	for _, status := range []int{0, 1, 6, 126, 143, 255} {
		w.job = func(*Session) error { return &Outcome{Status: status} }
		w.want(t, status, w.run(t, "do"), "", "")
		w.job = func(s *Session) error { s.Print("answer\n"); return fmt.Errorf("around: %w", &Outcome{Status: status}) }
		w.want(t, status, w.run(t, "--errors", "json", "do"), "answer\n", "")
	}
	file := filepath.Join(t.TempDir(), "answer")
	w.job = func(s *Session) error { s.Print("answer\n"); return &Outcome{Status: 7} }
	w.want(t, 7, w.run(t, "do", "-o", file), "", "")
	if text, err := os.ReadFile(file); err != nil || string(text) != "answer\n" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestSignalOfAnotherProgram(t *testing.T) {
	status, stdout, stderr := run(t, child(t, "another was interrupted", "do"))
	if !status.Signaled() || status.Signal() != syscall.SIGINT || stdout+stderr != "" {
		t.Errorf("wait status %#x, %q, %q", status, stdout, stderr)
	}
}

func TestHelpSaysWhoseStatusItIs(t *testing.T) {
	const line = "Any other exit status is that of what the test says.\n"
	w := &world{}
	for args, want := range map[string]bool{"do --help": true, "list --help": false, "--help": false, "--generate man": true} {
		if w.run(t, strings.Fields(args)...); strings.Contains(w.Stdout.String(), line) != want {
			t.Errorf("%s: want %v in %s", args, want, &w.Stdout)
		}
	}
}
