//go:build unix

package process

import (
	"os"
	"os/exec"
	"syscall"
)

// members are the processes that end with a command: those of its group.
type members struct{ cmd *exec.Cmd }

// lead makes the command the head of a process group.
func (m *members) lead(cmd *exec.Cmd) {
	m.cmd = cmd
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// group sends a signal to the command's own group. An error means that it is empty.
func (m *members) group(sig syscall.Signal) { _ = syscall.Kill(-m.cmd.Process.Pid, sig) }

func (m *members) term() { m.group(syscall.SIGTERM) }
func (m *members) kill() { m.group(syscall.SIGKILL) }

// left reports whether anybody but the leader is left.
func (m *members) left() bool {
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

// verdict returns the exit status, or -1 and the signal.
func verdict(state *os.ProcessState) (int, os.Signal) {
	if w, ok := state.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return -1, w.Signal()
	}
	return state.ExitCode(), nil
}
