// Package lock owns advisory locks on files: one process at a time holds a lock,
// and whoever wants it can wait for a limited time.
//
// Start with [Acquire]. The lock is the kernel's: it ends with the process that
// holds it, however that ends, and leaves nothing to clean up. The file itself
// stays, and its content belongs to the caller. The lock binds only programs that
// ask for it, and it says nothing between machines that share a network file
// system whose server does not pass locks on.
package lock

import (
	"context"
	"errors"
	"os"
	"time"

	"kxm/lib/fault"
)

// Pauses between two tries: short at first, since a lock is usually held for
// milliseconds, and longer for whoever waits among many.
const (
	shortestPause = time.Millisecond
	longestPause  = 10 * time.Millisecond
)

// errHeld is how a platform says that somebody else holds the lock.
var errHeld = errors.New("the lock is held")

// Lock is a held lock.
type Lock struct {
	file *os.File
}

// Acquire takes the lock on the file at path, which it makes if it is absent,
// waiting up to wait for whoever holds it. It fails with LockHeld when the time is
// over, with the context's error when that ends first, and with IOFailed when the
// file cannot be opened.
func Acquire(ctx context.Context, path string, wait time.Duration) (*Lock, error) {
	l, err := Try(path)
	if !fault.Is(err, fault.LockHeld) {
		return l, err
	}
	limit := time.NewTimer(wait)
	defer limit.Stop()
	for pause := shortestPause; ; pause = min(2*pause, longestPause) {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-limit.C:
			return nil, err
		case <-time.After(pause):
		}
		if l, err = Try(path); !fault.Is(err, fault.LockHeld) {
			return l, err
		}
	}
}

// Try is Acquire without waiting.
func Try(path string) (*Lock, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
		if err != nil {
			return nil, fault.Wrap(err, fault.IOFailed, "cannot open the lock")
		}
		if err := tryLock(f); err != nil {
			f.Close()
			if errors.Is(err, errHeld) {
				return nil, fault.New(fault.LockHeld, "another program holds the lock %s", fault.Quote(path))
			}
			return nil, fault.Wrap(err, fault.IOFailed, "cannot lock %s", fault.Quote(path))
		}
		same, err := stillAt(f, path)
		if same {
			return &Lock{f}, nil
		}
		// Somebody removed the file between opening and locking it, so that the next
		// program would lock another one.
		f.Close()
		if err != nil {
			return nil, fault.Wrap(err, fault.IOFailed, "cannot lock %s", fault.Quote(path))
		}
	}
}

// stillAt reports whether path names the open file.
func stillAt(f *os.File, path string) (bool, error) {
	mine, err := f.Stat()
	if err != nil {
		return false, err
	}
	now, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(mine, now), err
}

// File returns the open file, for reading and writing its content while the lock
// is held.
func (l *Lock) File() *os.File { return l.file }

// Release gives the lock back. A second call does nothing.
func (l *Lock) Release() error {
	if l.file == nil {
		return nil
	}
	f := l.file
	l.file = nil
	unlock(f)
	if err := f.Close(); err != nil {
		return fault.Wrap(err, fault.IOFailed, "cannot close the lock")
	}
	return nil
}
