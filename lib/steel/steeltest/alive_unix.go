//go:build unix

package steeltest

import (
	"os"
	"syscall"
)

// openAlive makes a named pipe and holds it open: its readers see an end when this
// process ends, however it ends.
func openAlive(path string) (*os.File, error) {
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		return nil, &os.PathError{Op: "mkfifo", Path: path, Err: err}
	}
	return os.OpenFile(path, os.O_RDWR, 0)
}
