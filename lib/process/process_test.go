//go:build unix

package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// jobs are what the test binary does as a child.
var jobs = map[string]func(){
	"echo":   func() { _, _ = io.Copy(os.Stdout, os.Stdin) },
	"status": func() { fmt.Fprint(os.Stderr, "no\n"); os.Exit(7) },
	"signal": func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL); select {} },
	"hang":   func() { fmt.Println("ready"); time.Sleep(time.Hour) },
	"deaf": func() {
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("ready")
		time.Sleep(time.Hour)
	},
	"polite": func() {
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGTERM)
		fmt.Println("ready")
		<-c
		fmt.Println("bye")
		os.Exit(3)
	},
	"flood": func() {
		line := bytes.Repeat([]byte("x"), 1<<16)
		for range 256 {
			os.Stdout.Write(line)
			os.Stderr.Write(line[:1])
		}
	},
	"tick": func() {
		for range 8 {
			fmt.Println("tick")
			time.Sleep(400 * time.Millisecond)
		}
	},
	"dawdle": func() { time.Sleep(400 * time.Millisecond) },
	"environ": func() {
		dir, _ := os.Getwd()
		fmt.Println(strings.Join(os.Environ(), ","), dir)
	},
	"parent": func() { child("KXM_PROCESS_JOB=deaf") }, // which holds the pipes
	"emigrant": func() { // leaves a child of another group behind
		cmd := exec.Command(os.Args[0])
		cmd.Env = []string{"KXM_PROCESS_JOB=hang"}
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		fmt.Println("child", cmd.Process.Pid)
	},
	"attached": attachedJob,
	"counter":  counterJob,
	"couple": func() { // like a shell, which dies at once and leaves its program to its own devices
		child("KXM_PROCESS_JOB=" + os.Getenv("KXM_PROCESS_CHILD"))
		time.Sleep(time.Hour)
	},
	"slow": func() {
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGTERM)
		fmt.Println("ready")
		<-c
		time.Sleep(300 * time.Millisecond)
		fmt.Println("cleaned up")
	},
}

// child starts this binary with its own streams, and says which number it has.
func child(env ...string) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(env, "GORACE=atexit_sleep_ms=0"), coverage...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	fmt.Println("child", cmd.Process.Pid)
}

// TestMain lets the tests start this binary as another program.
func TestMain(m *testing.M) {
	if job, ok := jobs[os.Getenv("KXM_PROCESS_JOB")]; ok {
		job()
		os.Exit(0)
	}
	os.Exit(runAll(m))
}

// coverage is what a child is told of where its coverage goes: without a place it
// complains on standard error. It is empty unless coverage is measured.
var coverage []string

func runAll(m *testing.M) int {
	if testing.CoverMode() != "" {
		dir, err := os.MkdirTemp("", "kxm-process-")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		coverage = []string{"GOCOVERDIR=" + dir}
	}
	return m.Run()
}

func job(name string) Command {
	env := []string{"KXM_PROCESS_JOB=" + name, "GORACE=atexit_sleep_ms=0"}
	return Command{Argv: []string{os.Args[0]}, Env: append(env, coverage...), Hard: time.Minute}
}

// mustRun runs a command that has to start and to end within limit.
func mustRun(t *testing.T, ctx context.Context, c Command, limit time.Duration) *Result {
	t.Helper()
	start := time.Now()
	r, err := Run(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took > limit {
		t.Errorf("it took %v, want at most %v", took, limit)
	}
	return r
}

func TestStreamsEnvironmentAndFolder(t *testing.T) {
	c := job("echo")
	c.Stdin = bytes.Repeat([]byte("in\n"), 100_000) // more than a pipe holds
	if r := mustRun(t, t.Context(), c, time.Minute); r.Ending != Exited || r.Status != 0 || !bytes.Equal(r.Stdout.Bytes, c.Stdin) || r.Stdout.Cut {
		t.Errorf("%s, status %d, %d bytes", r.Ending, r.Status, len(r.Stdout.Bytes))
	}
	c = job("echo") // the null device
	if r := mustRun(t, t.Context(), c, time.Minute); r.Status != 0 || len(r.Stdout.Bytes) != 0 {
		t.Errorf("%+v", r)
	}
	c = job("environ")
	c.Dir, _ = filepath.EvalSymlinks(t.TempDir())
	r := mustRun(t, t.Context(), c, time.Minute)
	want := "KXM_PROCESS_JOB=environ,GORACE=atexit_sleep_ms=0"
	if got := string(r.Stdout.Bytes); !strings.HasPrefix(got, want) || !strings.HasSuffix(got, " "+c.Dir+"\n") || strings.Contains(got, "PATH=") {
		t.Errorf("it sees %q, want %s and %s", got, want, c.Dir)
	}
}

func TestEnvironmentIsEmptyUnlessGiven(t *testing.T) {
	env, err := exec.LookPath("env")
	if err != nil {
		t.Fatal(err)
	}
	if r := mustRun(t, t.Context(), Command{Argv: []string{env}}, time.Minute); len(r.Stdout.Bytes) != 0 {
		t.Errorf("it sees %q", r.Stdout.Bytes)
	}
}

func TestAProgramThatDoesNotReadItsInput(t *testing.T) {
	c := job("status")
	c.Stdin = bytes.Repeat([]byte("x"), 1<<20)
	if r := mustRun(t, t.Context(), c, time.Minute); r.Status != 7 || r.Ending != Exited {
		t.Errorf("%+v", r)
	}
}

func TestStatusAndSignalAreToldApart(t *testing.T) {
	r := mustRun(t, t.Context(), job("status"), time.Minute)
	if r.Ending != Exited || r.Status != 7 || r.Signal != nil || string(r.Stderr.Bytes) != "no\n" {
		t.Errorf("%+v", r)
	}
	r = mustRun(t, t.Context(), job("signal"), time.Minute)
	if r.Ending != Signaled || r.Status != -1 || r.Signal != syscall.SIGKILL {
		t.Errorf("%+v", r)
	}
}

func TestClocksEndAHangingCommand(t *testing.T) {
	for _, c := range []struct {
		job        string
		hard, idle time.Duration
		ending     Ending
		signal     os.Signal
		status     int
	}{
		{"hang", 300 * time.Millisecond, 0, HardLimit, syscall.SIGTERM, -1},
		{"hang", time.Minute, 300 * time.Millisecond, IdleLimit, syscall.SIGTERM, -1},
		// These need time to say what they do with a signal.
		{"deaf", 3 * time.Second, 0, HardLimit, syscall.SIGKILL, -1},
		{"polite", 3 * time.Second, 0, HardLimit, nil, 3},
	} {
		t.Run(c.job+", "+string(c.ending), func(t *testing.T) {
			t.Parallel()
			command := job(c.job)
			command.Hard, command.Idle, command.Grace = c.hard, c.idle, time.Second
			r := mustRun(t, t.Context(), command, 20*time.Second)
			if r.Ending != c.ending || r.Signal != c.signal || r.Status != c.status {
				t.Errorf("%s, signal %v, status %d", r.Ending, r.Signal, r.Status)
			}
			if c.job == "polite" && string(r.Stdout.Bytes) != "ready\nbye\n" {
				t.Errorf("its last words are %q", r.Stdout.Bytes)
			}
		})
	}
}

func TestContextEndsTheCommand(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if r := mustRun(t, ctx, job("hang"), 20*time.Second); r.Ending != Cancelled {
		t.Errorf("%+v", r)
	}
	if _, err := Run(ctx, job("hang")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a context that is over starts a program: %v", err)
	}
}

func TestOutputRestartsTheIdleClock(t *testing.T) {
	c := job("tick") // 3.2 s in all
	c.Idle = 2 * time.Second
	if r := mustRun(t, t.Context(), c, time.Minute); r.Ending != Exited || strings.Count(string(r.Stdout.Bytes), "tick") != 8 {
		t.Errorf("%+v", r)
	}
}

func TestWorkElsewhereRestartsTheIdleClock(t *testing.T) {
	c := job("dawdle") // says nothing for 400 ms
	asked := 0
	c.Idle, c.Working = 100*time.Millisecond, func() bool { asked++; return true }
	if r := mustRun(t, t.Context(), c, time.Minute); r.Ending != Exited || asked == 0 {
		t.Errorf("%+v, asked %d times", r, asked)
	}
	c = job("hang")
	c.Idle, c.Working = 100*time.Millisecond, func() bool { return false }
	if r := mustRun(t, t.Context(), c, time.Minute); r.Ending != IdleLimit {
		t.Errorf("%+v", r)
	}
}

func TestFloodIsDrainedAndCounted(t *testing.T) {
	c := job("flood")
	c.StdoutCap, c.StderrCap = 1000, 1<<20
	r := mustRun(t, t.Context(), c, time.Minute)
	if r.Ending != Exited || len(r.Stdout.Bytes) != 1000 || r.Stdout.Dropped != 256<<16-1000 || len(r.Stderr.Bytes) != 256 || r.Stderr.Dropped != 0 {
		t.Errorf("%s, kept %d and %d bytes, dropped %d and %d", r.Ending, len(r.Stdout.Bytes), len(r.Stderr.Bytes), r.Stdout.Dropped, r.Stderr.Dropped)
	}
}

// lives reports whether a process is there and no zombie.
func lives(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(stat), ") ")
	return err != nil || !strings.HasPrefix(rest, "Z")
}

func TestAGrandchildHoldsNothingOpenAndIsKilled(t *testing.T) {
	t.Parallel()
	r := mustRun(t, t.Context(), job("parent"), drainTime+10*time.Second)
	if r.Ending != Exited || r.Status != 0 || !r.Stdout.Cut || !r.Stderr.Cut {
		t.Errorf("%+v", r)
	}
	pid := numberOf(t, string(r.Stdout.Bytes))
	within(t, 5*time.Second, "the grandchild is dead", func() bool { return !lives(pid) })
}

func TestAGrandchildOfAnotherGroupHoldsNothingOpen(t *testing.T) {
	t.Parallel()
	r := mustRun(t, t.Context(), job("emigrant"), drainTime+10*time.Second)
	pid := numberOf(t, string(r.Stdout.Bytes))
	defer syscall.Kill(pid, syscall.SIGKILL)
	if r.Ending != Exited || !r.Stdout.Cut {
		t.Errorf("%+v", r)
	}
	if !lives(pid) {
		t.Error("a process that left the group was killed")
	}
}

func TestWhatCannotBeStarted(t *testing.T) {
	if _, err := Run(t.Context(), Command{}); !errors.Is(err, errEmpty) {
		t.Errorf("no program: %v", err)
	}
	if _, err := Run(t.Context(), Command{Argv: []string{"kxm-there-is-no-such-program"}}); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("an unknown program: %v", err)
	}
	c := job("echo")
	c.Dir, c.Stdin = filepath.Join(t.TempDir(), "gone"), []byte("x")
	if _, err := Run(t.Context(), c); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
}

// No descriptor of a command is left open in this process.
func TestNoDescriptorIsLeft(t *testing.T) {
	count := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			entries, err = os.ReadDir("/dev/fd")
		}
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	c := job("echo")
	c.Stdin = []byte("x")
	mustRun(t, t.Context(), c, time.Minute)
	before := count()
	for range 10 {
		mustRun(t, t.Context(), c, time.Minute)
		_, _ = Run(t.Context(), Command{Argv: []string{"/kxm/no/such/program"}, Stdin: []byte("x")})
	}
	if after := count(); after > before+2 { // the runtime may open one of its own
		t.Errorf("%d descriptors became %d", before, after)
	}
}
