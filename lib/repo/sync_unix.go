//go:build unix

package repo

import (
	"errors"
	"os"
	"syscall"
)

func rename(from, to string) error { return os.Rename(from, to) }

// syncFolder makes the names in a folder durable, where the file system can.
func syncFolder(name string, full bool) error {
	f, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil // gc removed it, so nothing in it was ours any more
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err := syncFile(f, full); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return err
	}
	return nil
}
