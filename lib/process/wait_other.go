//go:build !linux

package process

import "os/exec"

// awaitLeader waits for the leader's end. Here that also reaps it, so that a signal to
// its group could in theory reach one that got the number in the same moment.
func awaitLeader(cmd *exec.Cmd) {
	_ = cmd.Wait() // its verdict is in cmd.ProcessState
}
