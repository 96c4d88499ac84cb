package steel

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"kxm/lib/cdp"
	"kxm/lib/fault"
	"kxm/lib/process"
)

// Times of an execution.
const (
	renewTime = time.Minute     // between notes that the session is in use
	endGrace  = 5 * time.Second // between TERM and KILL at the session's deadline
)

// Variables that tell a program of its session.
const (
	envSocket  = "KXM_STEEL_CDP_URL"
	envHTTP    = "KXM_STEEL_CDP_HTTP"
	envSession = "KXM_STEEL_SESSION"
	envTarget  = "KXM_STEEL_TARGET"
)

// keyVariables lead to the key.
var keyVariables = []string{"STEEL_API_KEY", "KXM_STEEL_KEY_COMMAND"}

// Execution says which program controls a session for as long as it runs.
type Execution struct {
	Access // Session and Tab; Timeout is that of the looks before and after
	Argv   []string
	Dir    string // "" is this process's own
	Direct bool   // give it the server's address, with the key, in place of the relay's

	// The program's own streams: nothing that passes there is read or masked here.
	Stdin, Stdout, Stderr *os.File

	// Begin is called last before the program starts. From then on signals that come to
	// this process are the program's. Its error is the end.
	Begin func() error
	// Warn is told, from any goroutine, what is no failure of the program.
	Warn func(format string, args ...any)
}

// Exec runs a program that controls a session, which nobody else can use meanwhile: the
// session's lock is held. The program needs no key: it is given the address of a relay,
// which ends with it. At the session's deadline it is ended, and the error is a
// SteelSessionExpired. An error otherwise means that it was not started.
func (s *Service) Exec(ctx context.Context, o *Execution) (*process.Result, error) {
	a := o.Access
	a.Verb = "exec"
	var result *process.Result
	expired := false
	err := s.during(ctx, &a, func(limited, _ context.Context, r *Record) error {
		target, err := s.answering(limited, r, &a)
		if err != nil {
			return err
		}
		x := &execution{Execution: o, service: s, record: r, target: target, ctx: context.WithoutCancel(ctx)}
		if result, err = x.run(); err != nil {
			return err
		}
		if expired = result.Ending == process.HardLimit || result.Ending == process.Cancelled; expired {
			return expiredUnder(r)
		}
		x.lookAfter(&a)
		return nil
	})
	if err != nil && result != nil && !expired { // the record could not be written
		o.Warn("%s", fault.Detail(err))
		err = nil
	}
	return result, err
}

func expiredUnder(r *Record) error {
	return fault.New(fault.SteelSessionExpired, "the deadline of the session %s has passed, and the command was ended", fault.Quote(r.ID)).
		WithHint("kxm-steel session release %s", r.ID)
}

// answering attaches to the tab once, and returns its target if it answers.
func (s *Service) answering(ctx context.Context, r *Record, a *Access) (target string, err error) {
	p, err := s.attach(ctx, r, a)
	if err != nil {
		return "", err
	}
	defer p.close()
	r.LastActiveAt = s.now()
	r.noteDialogs(p.Dialogs())
	return p.tab.TargetID, nil
}

// execution is a program that controls a session.
type execution struct {
	*Execution
	service *Service
	record  *Record
	target  string
	ctx     context.Context // not ended by a signal, which is the program's
}

// run runs the program with a way to the browser, which is closed when it has ended.
func (x *execution) run() (*process.Result, error) {
	told := []string{envSession + "=" + x.record.ID, envTarget + "=" + x.target}
	if x.Direct {
		address, err := x.service.directURL(x.ctx, x.record.ID)
		if err != nil {
			return nil, err
		}
		return x.supervise(append(told, envSocket+"="+address))
	}
	relay, err := StartRelay(RelayOptions{Dial: x.dial, Log: x.unreached()})
	if err != nil {
		return nil, err
	}
	defer relay.Close()
	return x.supervise(append(told, envSocket+"="+relay.SocketURL(), envHTTP+"="+relay.HTTPURL()))
}

// dial opens a connection for a client of the relay, to the session that it is about and
// to no other that may have taken its place.
func (x *execution) dial(ctx context.Context) (*cdp.Socket, error) {
	return x.service.socketOf(ctx, x.record)
}

// unreached returns what warns of clients that got no connection, once for each reason
// in a row: clients try again and again.
func (x *execution) unreached() func(error) {
	var mu sync.Mutex
	last := ""
	return func(err error) {
		if errors.Is(err, context.Canceled) {
			return // it was the client who went away
		}
		mu.Lock()
		defer mu.Unlock()
		if text := fault.Detail(err); text != last {
			last = text
			x.Warn("a client of the relay got no connection: %s", text)
		}
	}
}

// supervise runs the program to its end, or to the session's.
func (x *execution) supervise(told []string) (*process.Result, error) {
	s, r := x.service, x.record
	if err := s.usable(r); err != nil { // the looks took their time
		return nil, err
	}
	if err := x.Begin(); err != nil {
		return nil, err
	}
	p, err := process.Start(process.Command{
		Argv: x.Argv, Env: x.environ(told), Dir: x.Dir, Attached: true,
		StdinFile: x.Stdin, StdoutFile: x.Stdout, StderrFile: x.Stderr,
		Hard: max(r.DeadlineAt.Sub(s.now()), time.Millisecond), Grace: endGrace,
	})
	if err != nil {
		return nil, notStarted(x.Argv[0], err)
	}
	renew := time.NewTicker(s.pauses(renewTime))
	defer renew.Stop()
	for {
		select {
		case <-p.Done():
			r.LastActiveAt = s.now()
			return p.Wait(), nil
		case <-renew.C:
			x.renew()
			if r.Expired(s.now()) { // timers stand still while a computer sleeps
				p.End()
			}
		}
	}
}

// renew notes that the session is in use.
func (x *execution) renew() {
	x.record.LastActiveAt = x.service.now()
	if err := x.service.Store.Write(x.record); err != nil {
		x.Warn("%s", fault.Detail(err))
	}
}

// notStarted is the error of a program that could not be started: the caller's, who
// named it, unless the system refused one more process.
func notStarted(name string, err error) error {
	code := fault.Usage
	var errno syscall.Errno
	if errors.As(err, &errno) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
		code = fault.IOFailed
	}
	if cause := errors.Unwrap(err); cause != nil {
		err = cause // without the name, which stands in front
	}
	return fault.Wrap(err, code, "cannot start %s", fault.Quote(name))
}

// environ is the program's environment: ours with what it is told, and without the key
// and what leads to it. A relay's user is also spared the key under any other name.
func (x *execution) environ(told []string) []string {
	dropped := append([]string{envSocket, envHTTP, envSession, envTarget}, keyVariables...)
	if x.Dir != "" {
		told = append(told, "PWD="+x.Dir)
		dropped = append(dropped, "PWD")
	}
	var env []string
	for _, kv := range x.service.Environ {
		name, value, _ := strings.Cut(kv, "=")
		if slices.Contains(dropped, name) || !x.Direct && x.service.Secrets.Mask(value) != value {
			continue
		}
		env = append(env, kv)
	}
	return append(env, told...)
}

// lookAfter looks what the program has left: if the current tab is gone, another one
// becomes current. Nothing that is found changes how the program ended.
func (x *execution) lookAfter(a *Access) {
	ctx, cancel := context.WithTimeout(x.ctx, a.Timeout)
	defer cancel()
	s, r := x.service, x.record
	err := func() error {
		conn, err := s.connect(ctx, r)
		if err != nil {
			return err
		}
		defer conn.Close()
		pages, err := listPages(ctx, conn)
		if err != nil {
			return s.transport(ctx, r, err)
		}
		if restarted(r, pages) {
			return browserRestarted(r)
		}
		x.missTab(pages)
		return nil
	}()
	if err != nil {
		x.Warn("cannot see what became of the tabs: %s", fault.Detail(s.timedOut(ctx, a, err)))
	}
}

// missTab replaces the current tab if it is not among the pages. Pages of contexts that
// the program made for itself are no tabs: they go with its connection.
func (x *execution) missTab(pages []target) {
	r := x.record
	pages = slices.DeleteFunc(pages, func(t target) bool { return r.BrowserContextID != "" && t.ContextID != r.BrowserContextID })
	r.forgetTabs(pages)
	gone := fault.Quote(r.Tab)
	if t := r.tab(r.Tab); t != nil && slices.ContainsFunc(pages, func(p target) bool { return p.ID == t.TargetID }) {
		return
	}
	if len(pages) == 0 {
		x.Warn("the tab %s is gone and no other is left: kxm-steel recover opens one", gone)
		return
	}
	r.dropTab(r.Tab)
	r.Tab = r.named(pages)[0].Tab
	x.Warn("the tab %s is gone: the current one is %s now", gone, fault.Quote(r.Tab))
}
