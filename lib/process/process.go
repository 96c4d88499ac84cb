// Package process owns running an outside command: its process group, the clocks that
// end it, its pipes, and what came of it.
//
// Start with [Run]. A clock kills, it never only stops waiting: TERM to the whole
// group, then KILL to whoever is left. The package decides nothing about what a
// command's output or exit status mean, reads no environment and masks nothing.
package process

import (
	"context"
	"errors"
	"os"
	"os/exec"
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
	Cancelled Ending = "cancelled" // the context ended
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
}

// errEmpty refuses a command without a program.
var errEmpty = errors.New("no program is named")

// Run runs the command and returns once it has ended, however that came about. The
// error is not nil only if the command could not be started or its pipes could not be
// made; it wraps exec.ErrNotFound when the program is not on the PATH of this process.
// Whatever is left of the command's process group when its leader has ended is killed.
func Run(ctx context.Context, c Command) (*Result, error) {
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return nil, errEmpty
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...)
	cmd.Dir, cmd.Env = c.Dir, c.Env
	if cmd.Env == nil {
		cmd.Env = []string{}
	}
	lead(cmd)
	s, err := connect(cmd, &c)
	if err != nil {
		return nil, err
	}
	err = cmd.Start()
	s.closeTheirs()
	if err != nil {
		s.closeOurs()
		return nil, err
	}
	s.begin(c.Stdin)
	r := &run{command: &c, cmd: cmd, streams: s, ended: make(chan struct{})}
	go func() {
		defer close(r.ended)
		awaitLeader(cmd)
	}()
	ending := r.watch(ctx)
	s.drain()
	killGroup(cmd) // the leader is not reaped yet, so that the group's number is still its own
	_ = cmd.Wait() // its verdict is read below
	return r.result(ending), nil
}

// run is one command that was started.
type run struct {
	command *Command
	cmd     *exec.Cmd
	streams *streams
	ended   chan struct{} // closed when the leader has ended
}

// watch waits for the leader's end and ends it itself when a clock or the context says
// so.
func (r *run) watch(ctx context.Context) Ending {
	hard, stopHard := clock(r.command.Hard)
	defer stopHard()
	for {
		idle, stopIdle := clock(r.command.Idle)
		ending := Exited
		select {
		case <-r.ended:
		case <-r.streams.heard:
			stopIdle()
			continue
		case <-idle:
			if r.command.Working != nil && r.command.Working() {
				continue
			}
			ending = IdleLimit
		case <-hard:
			ending = HardLimit
		case <-ctx.Done():
			ending = Cancelled
		}
		stopIdle()
		if ending != Exited {
			r.terminate()
		}
		return ending
	}
}

// clock returns a channel that fires after d, or never if d is 0.
func clock(d time.Duration) (<-chan time.Time, func()) {
	if d <= 0 {
		return nil, func() {}
	}
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}

// terminate ends the group: TERM, the grace, KILL.
func (r *run) terminate() {
	termGroup(r.cmd)
	grace := r.command.Grace
	if grace == 0 {
		grace = DefaultGrace
	}
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-r.ended:
		return
	case <-t.C:
	}
	killGroup(r.cmd)
	<-r.ended
}

func (r *run) result(ending Ending) *Result {
	status, sig := verdict(r.cmd.ProcessState)
	if ending == Exited && sig != nil {
		ending = Signaled
	}
	return &Result{Ending: ending, Status: status, Signal: sig, Stdout: r.streams.stdout.output(), Stderr: r.streams.stderr.output()}
}
