//go:build unix

package eventlog

import (
	"os"
	"syscall"
)

// mapped returns a file's bytes, to be read only. They are the kernel's copy, and stay for
// as long as the process does. Whoever replaces the file does not touch them; whoever
// shortened it in place, which nothing here does, would end the process.
func mapped(file *os.File, size int) ([]byte, error) {
	return syscall.Mmap(int(file.Fd()), 0, size, syscall.PROT_READ, syscall.MAP_PRIVATE)
}
