//go:build unix

package skill

import (
	"errors"
	"os"
	"syscall"
	"time"

	"kxm/lib/fault"
)

// How long a call waits for another to finish writing, which takes milliseconds.
const (
	lockTries = 100
	lockPause = 50 * time.Millisecond
)

// lock takes the lock on a folder below root. The lock is the kernel's, on the
// folder itself: it leaves no file behind and ends with the process.
func lock(root *os.Root, name string) (unlock func(), err error) {
	dir, err := root.Open(name)
	if err != nil {
		return nil, fault.Wrap(err, fault.IOFailed, "cannot lock %s", fault.Quote(name))
	}
	for try := 0; ; try++ {
		err = syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { dir.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			dir.Close()
			return nil, fault.Wrap(err, fault.IOFailed, "cannot lock %s", fault.Quote(name))
		}
		if try == lockTries {
			dir.Close()
			return nil, fault.New(fault.SkillsBusy, "another program is changing %s", fault.Quote(name))
		}
		time.Sleep(lockPause)
	}
}
