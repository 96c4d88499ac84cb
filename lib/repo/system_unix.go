//go:build unix

package repo

import (
	"os"
	"os/exec"
	"syscall"
	"time"
)

// ownedBy reports whether path itself (not what a link leads to) belongs to the
// user; for root also to the user whom sudo names.
func ownedBy(path string, sudo uint32, hasSudo bool) bool {
	var st syscall.Stat_t
	if err := syscall.Lstat(path, &st); err != nil {
		return false
	}
	me := uint32(os.Geteuid())
	return st.Uid == me || (me == 0 && hasSudo && st.Uid == sudo)
}

// deviceOf returns the file system that path lies on.
func deviceOf(path string) (uint64, bool) {
	var st syscall.Stat_t
	if err := syscall.Stat(path, &st); err != nil {
		return 0, false
	}
	return uint64(st.Dev), true
}

// killGrace is how long git has to remove its lock files before it is killed.
const killGrace = 500 * time.Millisecond

// ownGroup makes cmd the head of a process group that ends as a whole when its
// context does: git starts helpers (ssh, index-pack) that would outlive it.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = killGrace
}

// killGroup ends what is left of cmd's group.
func killGroup(cmd *exec.Cmd) {
	if cmd.Process != nil {
		// An error means that the group is empty.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
}
