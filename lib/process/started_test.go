//go:build unix

package process

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// mustStart starts a command that has to start.
func mustStart(t *testing.T, c Command) *Process {
	t.Helper()
	p, err := Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.End() })
	return p
}

// within waits until something is so.
func within(t *testing.T, limit time.Duration, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", limit, what)
		}
	}
}

// output is a file for a command to write to, and what stands in it.
func output(t *testing.T) (*os.File, func() string) {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f, func() string {
		data, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
}

func TestStartedCommandEndsByItself(t *testing.T) {
	p := mustStart(t, job("status"))
	results := make([]*Result, 8)
	var waiting sync.WaitGroup
	for i := range results {
		waiting.Go(func() { results[i] = p.Wait() })
	}
	waiting.Wait()
	for _, r := range results {
		if r != results[0] || r.Ending != Exited || r.Status != 7 || string(r.Stderr.Bytes) != "no\n" {
			t.Errorf("%+v", r)
		}
	}
	select {
	case <-p.Done():
	default:
		t.Error("it is not done")
	}
	if r := p.End(); r != results[0] {
		t.Errorf("ended once more: %+v", r)
	}
}

func TestStartedCommandIsEnded(t *testing.T) {
	out, said := output(t)
	c := job("polite")
	c.StdoutFile = out
	p := mustStart(t, c)
	within(t, 20*time.Second, "it is ready", func() bool { return said() == "ready\n" })
	select {
	case <-p.Done():
		t.Fatal("it is done")
	default:
	}
	if r := p.End(); r.Ending != Cancelled || r.Status != 3 || said() != "ready\nbye\n" {
		t.Errorf("%+v, %q", r, said())
	}
}

func TestClocksRunThoughNobodyWaits(t *testing.T) {
	c := job("hang")
	c.Hard = 300 * time.Millisecond
	p := mustStart(t, c)
	within(t, 20*time.Second, "it has ended", func() bool {
		select {
		case <-p.Done():
			return true
		default:
			return false
		}
	})
	if r := p.Wait(); r.Ending != HardLimit || r.Signal != syscall.SIGTERM {
		t.Errorf("%+v", r)
	}
}

func TestStreamsOfTheCaller(t *testing.T) {
	in := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(in, []byte("from a file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	stdin, err := os.Open(in)
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, said := output(t)
	c := job("echo")
	c.StdinFile, c.StdoutFile, c.Stdin = stdin, stdout, []byte("not this")
	r := mustRun(t, t.Context(), c, time.Minute)
	if r.Status != 0 || len(r.Stdout.Bytes) != 0 || said() != "from a file\n" {
		t.Errorf("%+v, %q", r, said())
	}
	if _, err := stdout.WriteString("still open"); err != nil {
		t.Error(err)
	}
	stderr, said := output(t)
	c = job("status")
	c.StderrFile = stderr
	if r := mustRun(t, t.Context(), c, time.Minute); r.Status != 7 || len(r.Stderr.Bytes) != 0 || said() != "no\n" {
		t.Errorf("%+v, %q", r, said())
	}
}

func TestExitStatusIsTheShells(t *testing.T) {
	for name, want := range map[string]int{"echo": 0, "status": 7, "signal": 128 + 9} {
		if r := mustRun(t, t.Context(), job(name), time.Minute); r.ExitStatus() != want {
			t.Errorf("%s: %d, want %d", name, r.ExitStatus(), want)
		}
	}
}

// The leader dies at once of TERM; what it ran has its grace all the same, and no more
// than that.
func TestTheGraceIsTheGroups(t *testing.T) {
	t.Parallel()
	out, said := output(t)
	c := job("couple")
	c.Env = append(c.Env, "KXM_PROCESS_CHILD=slow")
	c.StdoutFile, c.StderrFile = out, out // no pipe, for whose end would be waited
	p := mustStart(t, c)
	within(t, 20*time.Second, "both are ready", func() bool { return strings.Contains(said(), "ready") })
	start := time.Now()
	if r := p.End(); r.Signal != syscall.SIGTERM || !strings.HasSuffix(said(), "cleaned up\n") || time.Since(start) > DefaultGrace-time.Second {
		t.Errorf("%+v after %v, %q", r, time.Since(start), said())
	}

	out, said = output(t)
	c = job("couple")
	c.Env = append(c.Env, "KXM_PROCESS_CHILD=deaf")
	c.StdoutFile, c.StderrFile, c.Grace = out, out, 500*time.Millisecond
	p = mustStart(t, c)
	within(t, 20*time.Second, "both are ready", func() bool { return strings.Contains(said(), "ready") })
	p.End()
	pid := numberOf(t, said())
	within(t, 5*time.Second, "the deaf one is dead", func() bool { return !lives(pid) })
}

// numberOf finds the number of the child that a job started.
func numberOf(t *testing.T, said string) int {
	t.Helper()
	for line := range strings.Lines(said) {
		var pid int
		if n, _ := fmt.Sscanf(line, "child %d", &pid); n == 1 {
			return pid
		}
	}
	t.Fatalf("no number in %q", said)
	return 0
}

// alone starts the attached job away from any terminal.
func alone(t *testing.T, env ...string) (*exec.Cmd, func() string) {
	t.Helper()
	return aloneAs(t, exec.Command(os.Args[0]), env...)
}

func aloneAs(t *testing.T, cmd *exec.Cmd, env ...string) (*exec.Cmd, func() string) {
	t.Helper()
	out, said := output(t)
	cmd.Env = append(job("attached").Env, env...)
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, said
}

// attachedJob is a program whose work another one does.
func attachedJob() {
	c := job(os.Getenv("KXM_PROCESS_INNER"))
	c.Env = append(c.Env, "KXM_PROCESS_CHILD=deaf")
	c.Attached, c.Grace = true, 500*time.Millisecond
	c.StdinFile, c.StdoutFile, c.StderrFile = os.Stdin, os.Stdout, os.Stderr
	if d, err := time.ParseDuration(os.Getenv("KXM_PROCESS_HARD")); err == nil {
		c.Hard = d
	}
	p, err := Start(c)
	if err != nil {
		fmt.Println(err)
		os.Exit(99)
	}
	r := p.Wait()
	fmt.Printf("attached: %s, received %v\n", r.Ending, r.Received)
	os.Exit(r.ExitStatus())
}

// counterJob counts the signals that come until a while after the first.
func counterJob() {
	c := make(chan os.Signal, 100)
	for _, sig := range passed {
		if !signal.Ignored(sig) {
			signal.Notify(c, sig)
		}
	}
	fmt.Println("ready")
	first := <-c
	time.Sleep(500 * time.Millisecond)
	fmt.Printf("%v, and %d more\n", first, len(c))
	os.Exit(6)
}

// Without a terminal the group is the command's own, and each signal is passed on to
// it.
func TestAttachedWithoutATerminal(t *testing.T) {
	for _, sig := range passed {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			cmd, said := alone(t, "KXM_PROCESS_INNER=counter")
			within(t, 20*time.Second, "it is ready", func() bool { return said() == "ready\n" })
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			want := fmt.Sprintf("ready\n%v, and 0 more\nattached: exited, received %v\n", sig, sig)
			if cmd.ProcessState.ExitCode() != 6 || said() != want {
				t.Errorf("status %d, %q, want %q", cmd.ProcessState.ExitCode(), said(), want)
			}
		})
	}
}

func TestAttachedCommandThatDiesOfASignal(t *testing.T) {
	t.Parallel()
	cmd, said := alone(t, "KXM_PROCESS_INNER=couple")
	within(t, 20*time.Second, "both are ready", func() bool { return strings.Contains(said(), "ready") })
	pid := numberOf(t, said())
	_ = cmd.Process.Signal(syscall.SIGHUP)
	_ = cmd.Wait()
	if cmd.ProcessState.ExitCode() != 128+1 || !strings.HasSuffix(said(), "attached: signaled, received hangup\n") {
		t.Errorf("status %d, %q", cmd.ProcessState.ExitCode(), said())
	}
	within(t, 5*time.Second, "what it left behind is dead", func() bool { return !lives(pid) })
}

func TestAttachedCommandWithALimit(t *testing.T) {
	t.Parallel()
	cmd, said := alone(t, "KXM_PROCESS_INNER=hang", "KXM_PROCESS_HARD=300ms")
	_ = cmd.Wait()
	if cmd.ProcessState.ExitCode() != 128+15 || !strings.HasSuffix(said(), "attached: timeout, received <nil>\n") {
		t.Errorf("status %d, %q", cmd.ProcessState.ExitCode(), said())
	}
}

// After nohup a hangup reaches neither.
func TestIgnoredSignalsStayIgnored(t *testing.T) {
	t.Parallel()
	cmd, said := aloneAs(t, exec.Command("sh", "-c", `trap "" HUP; exec "$0"`, os.Args[0]), "KXM_PROCESS_INNER=counter")
	within(t, 20*time.Second, "it is ready", func() bool { return said() == "ready\n" })
	_ = cmd.Process.Signal(syscall.SIGHUP)
	time.Sleep(100 * time.Millisecond)
	_ = cmd.Process.Signal(syscall.SIGTERM)
	_ = cmd.Wait()
	want := "ready\nterminated, and 0 more\nattached: exited, received terminated\n"
	if cmd.ProcessState.ExitCode() != 6 || said() != want {
		t.Errorf("status %d, %q, want %q", cmd.ProcessState.ExitCode(), said(), want)
	}
}

func TestParentsChildren(t *testing.T) {
	all := []kin{{pid: 1}, {pid: 5, parent: 1, born: 50}, {pid: 6, parent: 5, born: 60}, {pid: 7, parent: 6, born: 70}, {pid: 8, parent: 1, born: 80}}
	if got := descendants(all, 5); len(got) != 2 || got[0].pid != 6 || got[1].pid != 7 {
		t.Errorf("%v", got)
	}
	if got := living(all, []kin{{pid: 6, born: 60}, {pid: 7, born: 1}, {pid: 9}}); len(got) != 1 || got[0].pid != 6 {
		t.Errorf("%v", got)
	}
}

// What is captured and what is given go side by side.
func TestOneStreamIsGivenAndOneKept(t *testing.T) {
	out, said := output(t)
	c := job("flood")
	c.StdoutFile = out
	if r := mustRun(t, t.Context(), c, time.Minute); len(r.Stdout.Bytes) != 0 || !bytes.Equal(r.Stderr.Bytes, bytes.Repeat([]byte("x"), 256)) || len(said()) != 256<<16 {
		t.Errorf("%d, %d and %d bytes", len(r.Stdout.Bytes), len(r.Stderr.Bytes), len(said()))
	}
}
