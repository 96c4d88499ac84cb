//go:build unix

package process

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// passed are the signals that an attached command gets in place of this process: those
// that ask a program to end.
var passed = []os.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP}

// members are the processes that end with a command: those of its group, or its
// descendants where it shares the group of this process.
type members struct {
	cmd    *exec.Cmd
	shared bool
	termed []kin // who got TERM; of a shared group only
}

// lead makes the command the head of a process group, unless it is attached and there is
// a terminal.
func (m *members) lead(cmd *exec.Cmd, attached bool) {
	m.cmd = cmd
	if _, ok := foreground(); attached && ok {
		m.shared = true
		return
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// foreground returns the group that the controlling terminal listens to, if there is
// such a terminal.
func foreground() (group int, ok bool) {
	// Of a line without a carrier, opening could otherwise wait for one.
	fd, err := unix.Open("/dev/tty", unix.O_RDONLY|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, false
	}
	defer unix.Close(fd)
	group, err = unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	return group, err == nil
}

// pass gives the command a signal that came to this process, unless the terminal has.
func (m *members) pass(sig os.Signal) {
	if !m.shared {
		m.group(sig.(syscall.Signal))
		return
	}
	if sig == syscall.SIGINT || sig == syscall.SIGQUIT {
		ours, err := unix.Getpgid(0)
		if group, ok := foreground(); ok && err == nil && group == ours {
			return
		}
	}
	_ = m.cmd.Process.Signal(sig) // an error means that it has ended
}

// group sends a signal to the command's own group. An error means that it is empty.
func (m *members) group(sig syscall.Signal) { _ = syscall.Kill(-m.cmd.Process.Pid, sig) }

func (m *members) term() {
	if !m.shared {
		m.group(syscall.SIGTERM)
		return
	}
	m.termed = descendants(processes(), m.cmd.Process.Pid)
	_ = m.cmd.Process.Signal(syscall.SIGTERM)
	for _, k := range m.termed {
		_ = syscall.Kill(k.pid, syscall.SIGTERM)
	}
}

// kill ends whoever is left. Who of a shared group has lost its parent meanwhile is
// known from term.
func (m *members) kill() {
	if !m.shared {
		m.group(syscall.SIGKILL)
		return
	}
	all := processes()
	doomed := append(descendants(all, m.cmd.Process.Pid), living(all, m.termed)...)
	_ = m.cmd.Process.Kill()
	for _, k := range doomed {
		_ = syscall.Kill(k.pid, syscall.SIGKILL)
	}
}

// left reports whether anybody but the leader is left of those that term reached.
func (m *members) left() bool {
	if m.shared {
		return len(living(processes(), m.termed)) > 0
	}
	leader := m.cmd.Process.Pid
	if syscall.Kill(-leader, 0) != nil {
		return false
	}
	all := processes()
	for _, k := range all {
		if k.group == leader && k.pid != leader {
			return true
		}
	}
	return all == nil // it cannot be told here whether it is the leader alone
}

// finish ends what the leader leaves behind.
func (m *members) finish() {
	if !m.shared || len(m.termed) > 0 {
		m.kill()
	}
}

// verdict returns the exit status, or -1 and the signal.
func verdict(state *os.ProcessState) (int, os.Signal) {
	if w, ok := state.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return -1, w.Signal()
	}
	return state.ExitCode(), nil
}
