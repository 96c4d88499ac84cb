package process

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func init() { jobs["shell"], jobs["reader"] = shellJob, readerJob }

// terminal is a pseudo terminal with a shell on it, which runs the attached job as its
// foreground job.
type terminal struct {
	t      *testing.T
	master *os.File
	shell  *exec.Cmd
	shown  strings.Builder
}

func onTerminal(t *testing.T, env ...string) *terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	raw, err := master.SyscallConn() // Fd would make it block, and no deadline would count
	if err != nil {
		t.Fatal(err)
	}
	var number int
	var failed error
	if err := raw.Control(func(fd uintptr) {
		if failed = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); failed == nil {
			number, failed = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		}
	}); err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer slave.Close()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(job("shell").Env, env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // the terminal hangs up, and so do all
	return &terminal{t: t, master: master, shell: cmd}
}

// await reads until a text is shown.
func (m *terminal) await(text string) {
	m.t.Helper()
	_ = m.master.SetReadDeadline(time.Now().Add(30 * time.Second))
	buf := make([]byte, 4096)
	for !strings.Contains(m.shown.String(), text) {
		n, err := m.master.Read(buf)
		m.shown.Write(buf[:n])
		if err != nil {
			m.t.Fatalf("%q is not shown, but %q: %v", text, m.shown.String(), err)
		}
	}
}

// enter types on the terminal.
func (m *terminal) enter(text string) {
	m.t.Helper()
	if _, err := m.master.WriteString(text); err != nil {
		m.t.Fatal(err)
	}
}

const (
	ctrlC         = "\x03"
	ctrlZ         = "\x1a"
	ctrlBackslash = "\x1c"
)

// shellJob is a shell with job control and one job.
func shellJob() {
	signal.Ignore(syscall.SIGTTOU) // it gives the terminal away and takes it back
	background := os.Getenv("KXM_PROCESS_BACKGROUND") != ""
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{"KXM_PROCESS_JOB=attached", "GORACE=atexit_sleep_ms=0"}
	for _, name := range []string{"KXM_PROCESS_INNER", "KXM_PROCESS_HARD", "GOCOVERDIR"} {
		if v := os.Getenv(name); v != "" {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Foreground: !background, Ctty: 0}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	if background { // a line says when to interrupt the program, and it alone
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		_ = syscall.Kill(cmd.Process.Pid, syscall.SIGINT)
	}
	for {
		var status syscall.WaitStatus
		if _, err := syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err == syscall.EINTR {
			continue
		} else if err != nil {
			panic(err)
		}
		_ = unix.IoctlSetPointerInt(0, unix.TIOCSPGRP, syscall.Getpgrp())
		if !status.Stopped() {
			fmt.Printf("shell: status %d\n", status.ExitStatus())
			return
		}
		fmt.Printf("shell: stopped by %v\n", status.StopSignal())
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n') // for "fg"
		_ = unix.IoctlSetPointerInt(0, unix.TIOCSPGRP, cmd.Process.Pid)
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGCONT)
	}
}

// readerJob reads from the terminal itself, as a program does that asks for a password.
func readerJob() {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		panic(err)
	}
	fmt.Println("ready")
	line, err := bufio.NewReader(tty).ReadString('\n')
	fmt.Printf("read %q, %v\n", line, err)
	os.Exit(4)
}

func TestAttachedReadsTheTerminal(t *testing.T) {
	t.Parallel()
	m := onTerminal(t, "KXM_PROCESS_INNER=reader")
	m.await("ready")
	m.enter("hello\n")
	m.await(`read "hello\n", <nil>`)
	m.await("attached: exited, received <nil>")
	m.await("shell: status 4")
}

// What is typed reaches the command once, and the program that it stands in for lives to
// tell its status.
func TestCtrlCReachesTheCommandOnce(t *testing.T) {
	for key, name := range map[string]string{ctrlC: "interrupt", ctrlBackslash: "quit"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := onTerminal(t, "KXM_PROCESS_INNER=counter")
			m.await("ready")
			m.enter(key)
			m.await(name + ", and 0 more")
			m.await("attached: exited, received " + name)
			m.await("shell: status 6")
		})
	}
	t.Run("a command that dies of it", func(t *testing.T) {
		t.Parallel()
		m := onTerminal(t, "KXM_PROCESS_INNER=hang")
		m.await("ready")
		m.enter(ctrlC)
		m.await("attached: signaled, received interrupt")
		m.await("shell: status 130")
	})
}

func TestCtrlZStopsAndContinuesBoth(t *testing.T) {
	t.Parallel()
	m := onTerminal(t, "KXM_PROCESS_INNER=reader")
	m.await("ready")
	m.enter(ctrlZ)
	m.await("shell: stopped by stopped")
	m.enter("fg\n")
	time.Sleep(200 * time.Millisecond) // the line above is the shell's
	m.enter("again\n")
	m.await(`read "again\n", <nil>`)
	m.await("shell: status 4")
}

// An interrupt of a job in the background is no key: somebody sent it.
func TestAnInterruptInTheBackgroundIsPassedOn(t *testing.T) {
	t.Parallel()
	m := onTerminal(t, "KXM_PROCESS_INNER=counter", "KXM_PROCESS_BACKGROUND=1")
	m.await("ready")
	m.enter("interrupt\n")
	m.await("interrupt, and 0 more")
	m.await("attached: exited, received interrupt")
}

// The limit of a command that shares the group ends it and what it started, and neither
// the group nor the program that it stands in for.
func TestLimitOnATerminalEndsTheDescendants(t *testing.T) {
	t.Parallel()
	m := onTerminal(t, "KXM_PROCESS_INNER=couple", "KXM_PROCESS_HARD=3s")
	m.await("ready")
	pid := numberOf(t, m.shown.String())
	if !lives(pid) {
		t.Fatal("the child is dead already")
	}
	m.await("attached: timeout, received <nil>")
	m.await("shell: status 143")
	within(t, 5*time.Second, "the deaf child is dead", func() bool { return !lives(pid) })
}

func TestProcessesAreFound(t *testing.T) {
	me := os.Getpid()
	all := processes()
	for _, k := range all {
		if k.pid == me {
			if k.parent != os.Getppid() || k.group != syscall.Getpgrp() || k.born == 0 {
				t.Errorf("%+v", k)
			}
			return
		}
	}
	t.Errorf("%d is not among %d processes", me, len(all))
}

func FuzzParseStat(f *testing.F) {
	f.Add("7 (a) b) S 1 6 5 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 12345 0")
	f.Add("7 (a) Z 1 6 5 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 12345 0")
	f.Add("7 (a")
	f.Add("")
	f.Fuzz(func(t *testing.T, line string) {
		k, ok := parseStat(line)
		if !ok && k.born != 0 {
			t.Errorf("%q: %+v", line, k)
		}
	})
}

func TestParseStat(t *testing.T) {
	tail := " 1 6 5 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 12345 0\n"
	if k, ok := parseStat("7 (a) b) S" + tail); !ok || k != (kin{7, 1, 6, 12345}) {
		t.Errorf("%+v, %v", k, ok)
	}
	for _, line := range []string{"7 (a) Z" + tail, "x (a) S" + tail, "7 (a) S 1 6 5\n", "7 a S" + tail, "7 (a) S 1 x" + tail, ""} {
		if k, ok := parseStat(line); ok {
			t.Errorf("%q: %+v", line, k)
		}
	}
}
