//go:build unix

package kxmtest

import (
	"syscall"
	"testing"
)

// Fifo makes a named pipe.
func Fifo(t testing.TB, path string) {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
}
