package process

import (
	"errors"
	"os/exec"

	"golang.org/x/sys/unix"
)

// awaitLeader waits for the leader's end without reaping it: as long as it is a zombie,
// no other group can get the number of its group.
func awaitLeader(cmd *exec.Cmd) {
	for {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
