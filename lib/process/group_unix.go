//go:build unix

package process

import (
	"os"
	"os/exec"
	"syscall"
)

// lead makes the command the head of a process group.
func lead(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// An error of these means that the group is empty.

func termGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// verdict returns the exit status, or -1 and the signal.
func verdict(state *os.ProcessState) (int, os.Signal) {
	if w, ok := state.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return -1, w.Signal()
	}
	return state.ExitCode(), nil
}
