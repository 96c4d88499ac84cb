//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package lock

import (
	"errors"
	"os"
	"syscall"
)

// tryLock uses flock(2), not fcntl(2): an fcntl lock belongs to the process, so that
// two parts of one program would not exclude each other, and closing any other
// descriptor of the file would give it up.
func tryLock(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			return errHeld
		case !errors.Is(err, syscall.EINTR):
			return err
		}
	}
}

// unlock gives the lock up before the file is closed: a child that was started
// meanwhile may hold a copy of the descriptor for a moment.
func unlock(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) } // closing does the same
