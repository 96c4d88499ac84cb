//go:build unix

package cli

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"
)

// started is a child that has said a word on standard error.
type started struct {
	*exec.Cmd
	errs *bufio.Reader
	out  *strings.Builder
}

func start(t *testing.T, cmd *exec.Cmd) started {
	t.Helper()
	// The tests themselves may run where a signal is ignored, such as under nohup. A
	// signal that is caught here has its usual effect in a program that is started.
	caught := make(chan os.Signal, 8)
	signal.Notify(caught, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(caught) })
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	s := started{cmd, bufio.NewReader(pipe), &strings.Builder{}}
	cmd.Stdout = s.out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	s.waitFor(t, "ready\n")
	return s
}

func (s started) waitFor(t *testing.T, word string) {
	t.Helper()
	if line, err := s.errs.ReadString('\n'); line != word {
		t.Fatalf("the child says %q, want %q (%v)", line, word, err)
	}
}

func (s started) send(t *testing.T, sig syscall.Signal) {
	t.Helper()
	if err := s.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
}

// end waits for the child's death, which must come soon.
func (s started) end(t *testing.T) (status syscall.WaitStatus, stderr string) {
	t.Helper()
	timer := time.AfterFunc(20*time.Second, func() { s.Process.Kill() })
	defer timer.Stop()
	rest, err := io.ReadAll(s.errs)
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Wait() // a death by signal is an error
	return s.ProcessState.Sys().(syscall.WaitStatus), string(rest)
}

func TestInterruptedProgramsDieOfTheSignal(t *testing.T) {
	for _, job := range []string{"wait", "wait and clean", "wait and be done", "clean and wait"} {
		for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
			t.Run(job+", "+sig.String(), func(t *testing.T) {
				cmd := child(t, job, "do", "-o", "answer")
				s := start(t, cmd)
				s.send(t, sig)
				status, stderr := s.end(t)
				if !status.Signaled() || status.Signal() != sig {
					t.Errorf("wait status %#x, want death of %v", status, sig)
				}
				if stderr != "" || s.out.Len() != 0 {
					t.Errorf("it says %q and %q", stderr, s.out)
				}
				wantTree(t, cmd.Dir, nil) // it cleaned up, and left no half answer
			})
		}
	}
}

func TestSecondSignalDoesNotWaitForTheCleaning(t *testing.T) {
	s := start(t, child(t, "wait and hang", "do"))
	s.send(t, syscall.SIGTERM)
	s.waitFor(t, "cleaning\n")
	s.send(t, syscall.SIGINT)
	if status, _ := s.end(t); !status.Signaled() || status.Signal() != syscall.SIGINT {
		t.Errorf("wait status %#x, want death of the second signal", status)
	}
}

// nohup and scripts start programs that shall not notice some signals.
func TestIgnoredSignalsStayIgnored(t *testing.T) {
	for _, job := range []string{"wait", "wait and clean"} {
		for name, sig := range map[string]syscall.Signal{"HUP": syscall.SIGHUP, "INT": syscall.SIGINT} {
			t.Run(job+", "+name, func(t *testing.T) {
				s := start(t, below(child(t, job, "do"), `trap "" `+name+`; exec "$0" "$@"`))
				s.send(t, sig)
				s.send(t, sig)
				time.Sleep(50 * time.Millisecond) // what it must neither die nor clean up in
				if job == "wait and clean" {
					wantTree(t, s.Dir, map[string]string{"half-written": ""})
				}
				s.send(t, syscall.SIGTERM)
				if status, _ := s.end(t); !status.Signaled() || status.Signal() != syscall.SIGTERM {
					t.Errorf("wait status %#x, want death of the other signal", status)
				}
			})
		}
	}
}

// A shell loop ends when what it runs is interrupted.
func TestShellSeesTheSignal(t *testing.T) {
	cmd := below(child(t, "wait and clean", "do"), `"$0" "$@"; echo "status $?"`)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	s := start(t, cmd)
	if err := syscall.Kill(-s.Process.Pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if status, _ := s.end(t); !status.Signaled() || status.Signal() != syscall.SIGINT {
		t.Errorf("wait status %#x of the shell, stdout %q", status, s.out)
	}
}
