// Package process owns running an outside command: its process group, the clocks that
// end it, its pipes, and what came of it.
//
// Start with [Run], or with [Start] for a command that goes on meanwhile. A clock
// kills, it never only stops waiting: TERM to the whole group, then KILL to whoever is
// left. The package decides nothing about what a command's output or exit status mean,
// reads no environment and masks nothing.
package process

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// Defaults of a [Command].
const (
	// DefaultGrace is how long a group has between TERM and KILL.
	DefaultGrace = 10 * time.Second
	// DefaultCap is how many bytes of each stream are kept.
	DefaultCap = 256 << 20
)

// drainTime is how long output is still read after the leader's end: a grandchild in
// the background must not hold a run open.
const drainTime = 2 * time.Second

// Command says what to run and within what bounds.
type Command struct {
	Argv  []string // the program and its arguments; never passed through a shell
	Env   []string // the whole environment, as NAME=value; nil is an empty one
	Dir   string   // "" is the folder of this process
	Stdin []byte   // all of the standard input; nil is the null device

	// A file here is the command's stream itself, with nothing in between: what it reads
	// and writes does not pass through this process, which keeps none of it and does not
	// hear it, so that the idle clock runs on. Files stay the caller's to close.
	// StdinFile stands in place of Stdin.
	StdinFile, StdoutFile, StderrFile *os.File

	// Attached lets the command stand in for this process: see [Start].
	Attached bool

	Hard  time.Duration // wall time since the start; 0 is no limit
	Idle  time.Duration // time without a byte of output; 0 is no limit
	Grace time.Duration // between TERM and KILL; 0 is DefaultGrace

	// Working is asked each time before the idle clock fires; true restarts the clock.
	// It is for work that shows elsewhere than in the output, such as in files.
	Working func() bool

	StdoutCap, StderrCap int64 // bytes that are kept; 0 is DefaultCap
}

// Ending tells why a command ended.
type Ending string

// Endings.
const (
	Exited    Ending = "exited"    // by itself, with Result.Status
	Signaled  Ending = "signaled"  // by Result.Signal, which nobody here sent
	HardLimit Ending = "timeout"   // the hard clock fired
	IdleLimit Ending = "idle"      // the idle clock fired
	Cancelled Ending = "cancelled" // the context ended, or Process.End was called
)

// Output is what was kept of a stream.
type Output struct {
	Bytes   []byte
	Dropped int64 // bytes beyond the cap, which were read and thrown away
	Cut     bool  // somebody still held the pipe when reading stopped
}

// Result is what came of a command that could be started.
type Result struct {
	Ending Ending
	Status int       // the exit status; -1 for a death by signal
	Signal os.Signal // what it died of, or nil
	Stdout Output
	Stderr Output

	// Received is the last signal that came to this process while an attached command
	// ran, or nil.
	Received os.Signal
}

// ExitStatus is the result as a shell tells it: the exit status, or 128 and the number
// of the signal.
func (r *Result) ExitStatus() int {
	if n, ok := r.Signal.(syscall.Signal); ok {
		return 128 + int(n)
	}
	return r.Status
}

// errEmpty refuses a command without a program.
var errEmpty = errors.New("no program is named")

// Run runs the command and returns once it has ended, however that came about. The
// error is not nil only if the command could not be started or its pipes could not be
// made; it wraps exec.ErrNotFound when the program is not on the PATH of this process.
// Whatever is left of the command's process group when its leader has ended is killed.
func Run(ctx context.Context, c Command) (*Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p, err := Start(c)
	if err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, p.cancel)()
	return p.Wait(), nil
}
