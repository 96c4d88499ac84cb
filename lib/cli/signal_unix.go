//go:build unix

package cli

import (
	"os"
	"os/signal"
	"syscall"
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
	select {} // the signal ends the process
}
