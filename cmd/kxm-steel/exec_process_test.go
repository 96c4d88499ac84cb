//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// withSession starts a session of a client.
func withSession(t *testing.T, env ...string) *client {
	t.Helper()
	c := newClient(t, env...)
	if e := c.run(t, "session", "start"); e.status != 0 {
		t.Fatalf("%+v", e)
	}
	return c
}

// running starts a program away from any terminal, and returns when it has made a file.
func (c *client) running(t *testing.T, script string) (*exec.Cmd, func() ended, string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "runs")
	c.env = append(c.env, "RUNS="+file)
	cmd, wait := c.start(t, "exec", "--", "sh", "-c", script)
	awaitFile(t, file)
	return cmd, wait, file
}

func awaitFile(t *testing.T, file string) {
	t.Helper()
	for start := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		if text, err := os.ReadFile(file); err == nil && len(text) > 0 {
			return
		}
		if time.Since(start) > 30*time.Second {
			t.Fatalf("there is no %s", file)
		}
	}
}

// A signal is CMD's, and what CMD makes of it is the end.
func TestSignalsAreTheProgramsThatControlsTheSession(t *testing.T) {
	c := withSession(t)
	for _, s := range []struct {
		sig    syscall.Signal
		script string
		status int
		died   syscall.Signal
	}{
		{syscall.SIGTERM, `trap 'echo cleaned; exit 6' TERM; echo >"$RUNS"; while :; do sleep 0.05; done`, 6, 0},
		{syscall.SIGINT, `trap 'echo cleaned; exit 0' INT; echo >"$RUNS"; while :; do sleep 0.05; done`, 0, 0},
		{syscall.SIGTERM, `echo >"$RUNS"; exec sleep 60`, 128 + 15, 0},
		{syscall.SIGHUP, `echo >"$RUNS"; exec sleep 60`, 128 + 1, 0},
		{syscall.SIGINT, `echo >"$RUNS"; exec sleep 60`, -1, syscall.SIGINT},
	} {
		cmd, wait, _ := c.running(t, s.script)
		if err := cmd.Process.Signal(s.sig); err != nil {
			t.Fatal(err)
		}
		e := wait()
		if e.status != s.status || e.signal != s.died || strings.Contains(e.stderr, "kxm-steel") || strings.Contains(s.script, "cleaned") != (e.stdout == "cleaned\n") {
			t.Errorf("%v, %s: %+v", s.sig, s.script, e)
		}
		if e := c.run(t, "takeover", "status"); e.status != 0 {
			t.Errorf("%+v", e)
		}
	}
}

// Killed, the program leaves nothing that holds the session, and CMD no way to it.
func TestAKilledExecHoldsNothing(t *testing.T) {
	c := withSession(t)
	cmd, wait, file := c.running(t, `echo $$ >"$RUNS"; while ! test -e "$RUNS.end"; do sleep 0.05; done; driver close >"$RUNS.said" 2>&1; echo $? >>"$RUNS.said"`)
	if e := c.run(t, "goto", "about:blank"); e.status != 5 || !strings.Contains(e.stderr, "[steel_session_busy]") {
		t.Errorf("%+v", e)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = os.WriteFile(file+".end", nil, 0o600) // before the wait, which is for whoever holds the pipes
	if e := wait(); e.signal != syscall.SIGKILL {
		t.Errorf("%+v", e)
	}
	awaitFile(t, file+".said")
	if said, err := os.ReadFile(file + ".said"); err != nil || !strings.HasSuffix(string(said), "9\n") {
		t.Errorf("CMD reached the browser: %q, %v", said, err)
	}
	if e := c.run(t, "takeover", "begin", "--reason", "login"); e.status != 0 {
		t.Errorf("%+v", e)
	}
}

// What CMD leaves behind in its group ends with it, away from a terminal.
func TestWhatExecLeavesBehindEnds(t *testing.T) {
	c := withSession(t)
	_, wait, file := c.running(t, `sleep 60 >/dev/null 2>&1 & echo $! >"$RUNS"`)
	if e := wait(); e.status != 0 || e.stderr != "" {
		t.Errorf("%+v", e)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	for start := time.Now(); syscall.Kill(pid, 0) == nil; time.Sleep(5 * time.Millisecond) {
		if stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat"); err == nil && slices.Contains(strings.Fields(string(stat)), "Z") {
			return // nobody has taken note of its end
		}
		if time.Since(start) > 10*time.Second {
			t.Fatal("it goes on")
		}
	}
}

// Interrupted before CMD starts, the program dies of the signal and CMD never runs.
func TestAnInterruptedExecStartsNothing(t *testing.T) {
	c := withSession(t)
	c.server.Set("answer", "hang")
	asked := c.server.Count("GET", "/v1/sessions")
	mark := filepath.Join(t.TempDir(), "ran")
	cmd, wait := c.start(t, "exec", "--", "touch", mark)
	for c.server.Count("GET", "/v1/sessions") == asked {
		time.Sleep(5 * time.Millisecond)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if e := wait(); e.signal != syscall.SIGINT || e.stdout+e.stderr != "" {
		t.Errorf("%+v", e)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("CMD ran")
	}
	c.server.Set("answer", "")
}
