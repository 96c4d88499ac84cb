package process

import (
	"os/exec"
	"sync"
	"time"
)

// Process is a command that was started. Its methods may be called from several
// goroutines.
type Process struct {
	command Command
	cmd     *exec.Cmd
	streams *streams
	members members

	ended  chan struct{} // closed when the leader has ended
	stop   chan struct{} // closed when somebody wants the end
	cancel func()        // closes stop
	done   chan struct{} // closed when result is there
	result *Result
}

// Start starts the command and returns while it runs; it fails as [Run] does. The clocks
// run whether or not anybody waits. A process that was started has to be waited for, or
// ended.
func Start(c Command) (*Process, error) {
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return nil, errEmpty
	}
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...)
	cmd.Dir, cmd.Env = c.Dir, c.Env
	if cmd.Env == nil {
		cmd.Env = []string{}
	}
	p := &Process{command: c, cmd: cmd, ended: make(chan struct{}), stop: make(chan struct{}), done: make(chan struct{})}
	p.cancel = sync.OnceFunc(func() { close(p.stop) })
	p.members.lead(cmd)
	var err error
	if p.streams, err = connect(cmd, &c); err != nil {
		return nil, err
	}
	err = cmd.Start()
	p.streams.closeTheirs()
	if err != nil {
		p.streams.closeOurs()
		return nil, err
	}
	p.streams.begin(c.Stdin)
	go func() {
		defer close(p.ended)
		awaitLeader(cmd)
	}()
	go p.attend()
	return p, nil
}

// Wait waits for the end and returns what came of the command. What it returns is the
// same each time.
func (p *Process) Wait() *Result {
	<-p.done
	return p.result
}

// Done returns a channel that is closed when Wait no longer waits.
func (p *Process) Done() <-chan struct{} { return p.done }

// End ends the command and its group, with TERM, the grace and KILL, and returns what
// came of it. A command that has ended already is none the worse for it.
func (p *Process) End() *Result {
	p.cancel()
	return p.Wait()
}

// attend sees the command to its end.
func (p *Process) attend() {
	defer close(p.done)
	r := &Result{}
	r.Ending = p.watch()
	p.streams.drain()
	p.members.kill() // the leader is not reaped yet, so that the group's number is still its own
	_ = p.cmd.Wait() // its verdict is read below
	r.Status, r.Signal = verdict(p.cmd.ProcessState)
	if r.Ending == Exited && r.Signal != nil {
		r.Ending = Signaled
	}
	r.Stdout, r.Stderr = p.streams.stdout.output(), p.streams.stderr.output()
	p.result = r
}

// watch waits for the leader's end and ends it itself when a clock or a caller says so.
func (p *Process) watch() Ending {
	hard, stopHard := clock(p.command.Hard)
	defer stopHard()
	for {
		idle, stopIdle := clock(p.command.Idle)
		ending := Exited
		select {
		case <-p.ended:
		case <-p.streams.heard:
			stopIdle()
			continue
		case <-idle:
			if p.command.Working != nil && p.command.Working() {
				continue
			}
			ending = IdleLimit
		case <-hard:
			ending = HardLimit
		case <-p.stop:
			ending = Cancelled
		}
		stopIdle()
		if ending != Exited {
			p.terminate()
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

// lookAgain is how often it is looked whether a group is empty.
const lookAgain = 50 * time.Millisecond

// terminate ends the group: TERM, the grace, KILL. The grace is for all of it: a shell
// dies at once and leaves the program that it ran to its cleaning up.
func (p *Process) terminate() {
	p.members.term()
	grace := p.command.Grace
	if grace == 0 {
		grace = DefaultGrace
	}
	t := time.NewTimer(grace)
	defer t.Stop()
	ended, look := p.ended, (<-chan time.Time)(nil)
	for {
		select {
		case <-ended:
			ended, look = nil, time.After(0)
		case <-look:
			if !p.members.left() {
				return
			}
			look = time.After(lookAgain)
		case <-t.C:
			p.members.kill()
			<-p.ended
			return
		}
	}
}
