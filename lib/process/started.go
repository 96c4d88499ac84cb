package process

import (
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"time"
)

// Process is a command that was started. Its methods may be called from several
// goroutines.
type Process struct {
	command  Command
	cmd      *exec.Cmd
	streams  *streams
	members  members
	incoming chan os.Signal // what comes to this process; nil unless attached

	ended  chan struct{} // closed when the leader has ended
	stop   chan struct{} // closed when somebody wants the end
	cancel func()        // closes stop
	done   chan struct{} // closed when result is there
	result *Result
}

// Start starts the command and returns while it runs; it fails as [Run] does. The clocks
// run whether or not anybody waits. A process that was started has to be waited for, or
// ended.
//
// A command usually leads a process group of its own, which can be ended as a whole and
// gets no signal from a terminal. Command.Attached is for one that a person or a script
// addresses through this process, as through env or sudo: signals that would end this
// process (INT, QUIT, TERM, HUP) are passed on to it and do nothing else, until it has
// ended.
//
// A terminal does its work by groups: it lets one of them read, stops the others, and
// sends that one what is typed as Ctrl-C, Ctrl-\ and Ctrl-Z. The group is not the
// command's alone to have: the shell waits for all of it, a pager at the other end of a
// pipeline reads the terminal too, and a script's loop ends because Ctrl-C reaches the
// script as well. So an attached command stays in the group of this process if there is a
// controlling terminal. It can then read, is stopped and continued together with this
// process, and gets from the terminal itself what is typed; what came that way is not
// sent to it again, since many programs take a second Ctrl-C for impatience. INT and QUIT
// that another process sent to this one alone cannot be told from those while the group
// is in the foreground, and are not passed on then; TERM and HUP always are. What ends
// the command ends its descendants, in place of the group; none of them is ended only
// because it outlives the command.
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
	p.members.lead(cmd, c.Attached)
	var err error
	if p.streams, err = connect(cmd, &c); err != nil {
		return nil, err
	}
	if c.Attached {
		p.incoming = catch()
	}
	err = cmd.Start()
	p.streams.closeTheirs()
	if err != nil {
		p.streams.closeOurs()
		signal.Stop(p.incoming)
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

// catch takes the signals that an attached command gets in place of this process. One
// that this process was started to ignore (nohup, a script's background job) stays
// ignored, in the command too.
func catch() chan os.Signal {
	c := make(chan os.Signal, 8) // more than a person sends before one is passed on
	for _, sig := range passed {
		if !signal.Ignored(sig) {
			signal.Notify(c, sig)
		}
	}
	return c
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
	r.Ending = p.watch(&r.Received)
	p.streams.drain()
	p.members.finish() // the leader is not reaped yet, so that the group's number is still its own
	_ = p.cmd.Wait()   // its verdict is read below
	if p.incoming != nil {
		signal.Stop(p.incoming)
		for len(p.incoming) > 0 { // it came too late for the command, but it came
			r.Received = <-p.incoming
		}
	}
	r.Status, r.Signal = verdict(p.cmd.ProcessState)
	if r.Ending == Exited && r.Signal != nil {
		r.Ending = Signaled
	}
	r.Stdout, r.Stderr = p.streams.stdout.output(), p.streams.stderr.output()
	p.result = r
}

// watch waits for the leader's end and ends it itself when a clock or a caller says so.
// Meanwhile it passes on the signals that come.
func (p *Process) watch(received *os.Signal) Ending {
	hard, stopHard := clock(p.command.Hard)
	defer stopHard()
	for {
		idle, stopIdle := clock(p.command.Idle)
		ending, over := p.next(hard, idle, received)
		stopIdle()
		if !over {
			continue
		}
		if ending != Exited {
			p.terminate(received)
		}
		return ending
	}
}

// next waits for one thing to happen, and tells whether that ends the command.
func (p *Process) next(hard, idle <-chan time.Time, received *os.Signal) (ending Ending, over bool) {
	for {
		select {
		case <-p.ended:
			return Exited, true
		case <-p.streams.heard:
			return "", false
		case sig := <-p.incoming: // no sign of life: the idle clock runs on
			*received = sig
			p.members.pass(sig)
		case <-idle:
			if p.command.Working != nil && p.command.Working() {
				return "", false
			}
			return IdleLimit, true
		case <-hard:
			return HardLimit, true
		case <-p.stop:
			return Cancelled, true
		}
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
func (p *Process) terminate(received *os.Signal) {
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
		case sig := <-p.incoming:
			*received = sig
			p.members.pass(sig)
		case <-t.C:
			p.members.kill()
			<-p.ended
			return
		}
	}
}
