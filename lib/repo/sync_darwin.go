package repo

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncFile flushes a file. On Apple's systems a full flush empties the cache of the
// device, which is slow; a barrier only keeps the order, and that is what objects
// need before the ref that names them is flushed in full.
func syncFile(f *os.File, full bool) error {
	if !full {
		if _, err := unix.FcntlInt(f.Fd(), unix.F_BARRIERFSYNC, 0); err == nil {
			return nil
		}
	}
	return f.Sync()
}
