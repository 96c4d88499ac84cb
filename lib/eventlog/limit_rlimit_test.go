//go:build linux || darwin

package eventlog

import (
	"os"
	"os/signal"
	"strconv"
	"syscall"
)

// limitFileSize gives the process the limit of KXM_LOG_LIMIT bytes for every file,
// beyond which writing fails as it does on a full disk.
func limitFileSize() bool {
	limit, err := strconv.ParseUint(os.Getenv("KXM_LOG_LIMIT"), 10, 64)
	if err != nil {
		return true
	}
	signal.Ignore(syscall.SIGXFSZ)
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit}) == nil
}
