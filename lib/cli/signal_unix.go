//go:build unix

package cli

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// dieIfInterrupted re-raises the signal that a command cleaned up after, so that
// a shell sees what ended the program and ends its loop too.
func dieIfInterrupted() {
	sig, ok := interrupted.Load().(syscall.Signal)
	if !ok {
		return
	}
	signal.Reset(sig)
	_ = syscall.Kill(os.Getpid(), sig)
	// The signal ends the process, unless its parent had it blocked.
	time.Sleep(time.Second)
	os.Exit(128 + int(sig))
}
