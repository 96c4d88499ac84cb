//go:build !unix

package repo

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

// rename waits for others to close the file that is replaced: Windows replaces no
// open file, and readers have one open for moments only.
func rename(from, to string) error {
	err := os.Rename(from, to)
	for try := 0; err != nil && try < 50 && !errors.Is(err, fs.ErrNotExist); try++ {
		time.Sleep(10 * time.Millisecond)
		err = os.Rename(from, to)
	}
	return err
}

// syncFolder does nothing: folders cannot be flushed, and NTFS keeps the order of
// changes to names in its journal.
func syncFolder(string, bool) error { return nil }
