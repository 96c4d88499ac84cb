//go:build unix

package repo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"kxm/lib/fault"
	"kxm/lib/kxmtest"
)

func TestGitReportsWhatItSaid(t *testing.T) {
	r := open(t, kxmtest.NewRepo(t, map[string]string{"a": "a\n"}), "")
	_, err := r.Git(t.Context(), nil, "show", "nothing\x1b]31m")
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != fault.GitFailed || !strings.HasPrefix(f.Message, "git show failed: ambiguous argument") || strings.Contains(f.Message, "\x1b") {
		t.Errorf("%v", err)
	}
	if code, ok := GitExitCode(err); !ok || code != 128 {
		t.Errorf("exit status %d, %v", code, ok)
	}
	if out, err := r.Git(t.Context(), strings.NewReader("a\n"), "hash-object", "--stdin"); err != nil || string(out) != string(r.HashBlob([]byte("a\n")))+"\n" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestGitIsMissing(t *testing.T) {
	dir := kxmtest.NewRepo(t, map[string]string{"a": "a\n"})
	r := open(t, dir, "")
	t.Setenv("PATH", t.TempDir())
	if _, err := r.Dirty(t.Context(), "a"); !fault.Is(err, fault.GitUnavailable) {
		t.Errorf("%v", err)
	}
	if _, err := GitVersion(t.Context()); !fault.Is(err, fault.GitUnavailable) {
		t.Errorf("%v", err)
	}
	// What needs no program works without one.
	if _, ok, err := r.Head(t.Context()); !ok || err != nil {
		t.Errorf("HEAD: %v, %v", ok, err)
	}
	if _, err := Open(t.Context(), Options{Dir: dir, Getenv: closed(t), Backend: "native"}); !fault.Is(err, fault.GitUnavailable) {
		t.Errorf("native: %v", err)
	}
}

// fakeGit puts a script called git in front of the PATH.
func fakeGit(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

func TestGitIsTooOld(t *testing.T) {
	dir := kxmtest.NewRepo(t, map[string]string{"a": "a\n"})
	r := open(t, dir, "")
	fakeGit(t, `for a; do case $a in version) echo "git version 2.30.9"; exit 0;; esac; done; echo "error: unknown option" >&2; exit 129`)
	for name, err := range map[string]error{
		"a command that fails": func() error { _, err := r.Git(t.Context(), nil, "rev-parse", "--new"); return err }(),
		"the native backend":   func() error { _, err := Open(t.Context(), Options{Dir: dir, Backend: "native"}); return err }(),
	} {
		if !fault.Is(err, fault.GitUnavailable) || !strings.Contains(err.Error(), "2.30.9 is too old") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDeadlineEndsTheProcessGroup runs a git that starts a program of its own and
// hangs: both must be gone, and soon.
func TestDeadlineEndsTheProcessGroup(t *testing.T) {
	r := open(t, kxmtest.NewRepo(t, map[string]string{"a": "a\n"}), "")
	self := must(os.Executable())(t)
	note := filepath.Join(t.TempDir(), "pid")
	fakeGit(t, fmt.Sprintf("trap '' TERM\nKXM_REPO_HELPER=child KXM_REPO_PID='%s' '%s'\nsleep 60\n", note, self))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for {
			if _, err := os.Stat(note); err == nil {
				time.Sleep(50 * time.Millisecond)
				cancel()
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	start := time.Now()
	_, err := r.Dirty(ctx, "a")
	if !fault.Is(err, fault.GitUnavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if d := time.Since(start); d > 20*time.Second {
		t.Errorf("it took %v", d)
	}
	pid, err := strconv.Atoi(string(must(os.ReadFile(note))(t)))
	if err != nil {
		t.Fatal(err)
	}
	for range 500 {
		if err := syscall.Kill(pid, 0); errors.Is(err, syscall.ESRCH) || zombie(pid) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("process %d, which git had started, is still there", pid)
}

// zombie reports whether a process has ended and waits for a parent to notice.
func zombie(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(data), ") Z ")
}

func TestDeadlineOfABatch(t *testing.T) {
	dir := kxmtest.NewRepo(t, map[string]string{"a": "a\n"})
	id := OID(kxmtest.Git(t, dir, "rev-parse", "HEAD:a"))
	r := open(t, dir, "native")
	if _, err := r.Blob(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	// A stopped program does not answer.
	if err := syscall.Kill(r.native.batch.cmd.Process.Pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := r.Blob(ctx, id); !fault.Is(err, fault.GitUnavailable) || !strings.Contains(err.Error(), "in time") {
		t.Errorf("%v", err)
	}
	if data, err := r.Blob(t.Context(), id); err != nil || string(data) != "a\n" {
		t.Errorf("after that: %q, %v", data, err)
	}
	// One that was killed from outside is an error once, then replaced.
	if err := r.native.batch.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Blob(t.Context(), id); !fault.Is(err, fault.GitFailed) {
		t.Errorf("%v", err)
	}
	if data, err := r.Blob(t.Context(), id); err != nil || string(data) != "a\n" {
		t.Errorf("after that: %q, %v", data, err)
	}
}

func TestVersions(t *testing.T) {
	for version, want := range map[string]bool{
		"2.31.0": true, "2.31": true, "2.30.9": false, "2.39.5": true, "3.0.0": true, "2.45.GIT": true, "1.99": false, "": false, "x": false, "2.31.rc1": true, "2.39.5 (Apple Git-154)": true,
	} {
		if got := atLeast(version, oldest); got != want {
			t.Errorf("%q: %v", version, got)
		}
	}
}
