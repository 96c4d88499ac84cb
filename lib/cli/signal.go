package cli

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

func pid() int { return os.Getpid() }

// interrupted holds the signal that ended a session's context, if any.
var interrupted atomic.Value

// Interrupted reports whether a signal has ended the session's context. It is certain
// once the signals have their usual effect again.
func (s *Session) Interrupted() bool { return interrupted.Load() != nil }

// Context returns a context that SIGINT, SIGTERM or SIGHUP cancels, and a function
// that gives the signals their usual effect back. Only commands that must clean up
// (files half written, a program they started) ask for it; the others die of the
// signal at once, which needs no code. A second signal does not wait for the
// cleaning up, and one that the process was started to ignore (nohup, a script's
// background job) stays ignored.
func (s *Session) Context() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(sig) {
			signal.Notify(signals, sig)
		}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case sig := <-signals:
			signal.Stop(signals)
			interrupted.Store(sig)
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel()
		<-ended
		select {
		case sig := <-signals: // it came too late for the goroutine, but it came
			interrupted.Store(sig)
		default:
		}
	}
}
