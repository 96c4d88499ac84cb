package steel

import (
	"context"
	"errors"
	"time"

	"kxm/lib/cdp"
	"kxm/lib/fault"
)

// probeTime is how long a tab may take to evaluate a constant.
const probeTime = 2 * time.Second

// lateTime is how long a command whose time is up may still tell of what it found.
const lateTime = time.Second

// Access says what a command wants of a tab.
type Access struct {
	Session string // its id or name; "" is the only open one
	Tab     string // "" is the current one
	Verb    string // as it is called in messages
	Reads   bool   // it looks and changes nothing
	Timeout time.Duration
	Dialog  DialogAnswer
	Aim     Aim // the element that it is about, if it is about one

	Verifying bool // it is allowed also while it is checked what a person did

	operator bool // it is the operator's own, while a person holds the session
	turns    bool // it is a verb of a person's turn, whose own table says when it is legal
	standsIn bool // where the current tab is gone and one is left, that becomes the current one
}

// OnPage attaches to a session's tab, lets act do its work, and ends the connection. Who
// acts settles, or reports, which does so too.
// Nothing is sent while a person holds the session or after its deadline. The session
// is held from other commands meanwhile.
func (s *Service) OnPage(ctx context.Context, a *Access, act func(context.Context, *Page) error) error {
	return s.during(ctx, a, func(ctx, late context.Context, r *Record) error {
		p, err := s.attach(ctx, r, a)
		if err != nil {
			return err
		}
		p.late = late
		err = act(ctx, p)
		err = s.transport(late, r, err)
		p.close()
		r.LastActiveAt = s.now()
		r.noteDialogs(p.Dialogs())
		return err
	})
}

// during runs a command on a session that allows it, and writes the record down. ctx
// ends with the command's time, and late lateTime after it.
func (s *Service) during(ctx context.Context, a *Access, run func(ctx, late context.Context, r *Record) error) error {
	r, err := s.Find(a.Session)
	if err != nil {
		return err
	}
	return s.holding(ctx, r.ID, func(r *Record) error {
		if err := s.allowed(r, a); err != nil {
			return err
		}
		late, cancel := context.WithTimeout(ctx, a.Timeout+lateTime)
		defer cancel()
		ctx, cancel := context.WithTimeout(late, a.Timeout)
		defer cancel()
		err := run(ctx, late, r)
		return firstError(s.timedOut(ctx, a, err), s.Store.Write(r))
	})
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// timedOut turns the end of a command's time into our error. A context that was ended
// by a signal stays what it is.
func (s *Service) timedOut(ctx context.Context, a *Access, err error) error {
	if errors.Is(err, context.DeadlineExceeded) && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fault.New(fault.SteelTimeout, "%s did not come to its end within %s", a.Verb, short(a.Timeout)).WithHint("give it longer with --timeout")
	}
	return err
}

// holding runs use with the record of a session under the session's lock.
func (s *Service) holding(ctx context.Context, id string, use func(*Record) error) error {
	if s.Store.root == nil {
		return notFound(id)
	}
	l, err := s.Store.lockSession(ctx, id, sessionWait)
	if err != nil {
		return err
	}
	defer l.Release()
	r, err := s.Store.Read(id)
	if err != nil {
		return err
	}
	if r == nil {
		return notFound(id)
	}
	return use(r)
}

// allowed refuses a command by state and deadline, before any traffic.
func (s *Service) allowed(r *Record, a *Access) error {
	id := fault.Quote(r.ID)
	switch {
	case a.turns:
		_, err := s.mayTurn(r, a.Verb)
		return err
	case r.Phase == Closed:
		return over(r)
	case r.State == HumanControl && !a.operator:
		return fault.New(fault.SteelHumanInControl, "a person holds the session %s", id).
			WithHint("kxm-steel takeover status --wait 10m, then kxm-steel takeover verify")
	case r.State == VerifyAuthentication && !a.Reads && !a.Verifying:
		return takeoverInvalid(r, a.Verb)
	}
	return s.usable(r)
}

func over(r *Record) error {
	return fault.New(fault.SteelSessionGone, "the session %s is over", fault.Quote(r.ID)).WithHint("kxm-steel session start")
}

// usable refuses a session whose deadline has passed, and one that is half over.
func (s *Service) usable(r *Record) error {
	id := fault.Quote(r.ID)
	switch {
	case r.Expired(s.now()):
		return fault.New(fault.SteelSessionExpired, "the deadline of the session %s has passed", id).WithHint("kxm-steel session release %s", r.ID)
	case r.Unfinished():
		return fault.New(fault.SteelSessionGone, "the %s of the session %s did not come to its end", map[Phase]string{Creating: "start", Releasing: "release"}[r.Phase], id).
			WithHint("kxm-steel session sweep --release")
	}
	return nil
}

// attach opens the one connection of a command and looks whether the tab answers.
func (s *Service) attach(ctx context.Context, r *Record, a *Access) (*Page, error) {
	if err := s.nameTabs(r, a.Tab); err != nil {
		return nil, err
	}
	p := s.page(r, a)
	if a.Aim.IsReference() {
		var err error
		if p.aimed, err = p.reference(a.Aim.wanted); err != nil {
			return nil, err
		}
	}
	var err error
	if p.conn, err = s.connect(ctx, r); err != nil {
		return nil, err
	}
	if err := p.open(ctx); err != nil {
		err = s.transport(ctx, r, err)
		p.close()
		return nil, err
	}
	return p, nil
}

// page is a tab without a connection yet.
func (s *Service) page(r *Record, a *Access) *Page {
	return &Page{service: s, record: r, access: a, views: map[string]*view{}, owners: map[string]*owner{}}
}

// nameTabs refuses a tab that has no name here.
func (s *Service) nameTabs(r *Record, name string) error {
	if name != "" && r.tab(name) == nil {
		return noTab(name)
	}
	return nil
}

// connect opens the socket of a record's session.
func (s *Service) connect(ctx context.Context, r *Record) (*cdp.Conn, error) {
	socket, err := s.socketOf(ctx, r)
	if err != nil {
		return nil, err
	}
	return cdp.NewConn(socket), nil
}

// socketOf opens the socket and, on the open-source server, asks at the same time
// whether the current session is the record's: the socket would lead to whichever it
// is.
func (s *Service) socketOf(ctx context.Context, r *Record) (*cdp.Socket, error) {
	if _, err := s.Key(ctx); err != nil { // its command runs once, and not in two goroutines
		return nil, err
	}
	if r.Mode == Cloud {
		socket, err := s.DialSocket(ctx, r.ID)
		return socket, s.cloudGone(ctx, r, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type dialled struct {
		socket *cdp.Socket
		err    error
	}
	dialling := make(chan dialled, 1)
	go func() {
		socket, err := s.DialSocket(ctx, r.ID)
		dialling <- dialled{socket, err}
	}()
	list, err := s.List(ctx)
	if err == nil {
		err = s.isCurrent(r, list)
	}
	if err != nil {
		cancel()
		if d := <-dialling; d.socket != nil {
			d.socket.Drop()
		}
		return nil, err
	}
	d := <-dialling
	return d.socket, d.err
}

// isCurrent refuses a session that the server does not show as the current one. Its
// record stays as it is: what closes it looks under the endpoint's lock.
func (s *Service) isCurrent(r *Record, list *Listing) error {
	if list.IsLive(r.ID) {
		return nil
	}
	what := "nothing is live in its place"
	if live := list.Live(); len(live) > 0 {
		what = "the session " + fault.Quote(live[0].ID) + " has taken its place"
	}
	return fault.New(fault.SteelSessionGone, "the session %s is not on the server any more: %s", fault.Quote(r.ID), what).
		WithHint("kxm-steel session start, and repeat a person's login if there was one")
}

// cloudGone looks up a session whose socket was refused.
func (s *Service) cloudGone(ctx context.Context, r *Record, err error) error {
	if code := fault.CodeOf(err); code != fault.SteelServerError && code != fault.SteelNotSteel && code != fault.SteelNoBrowser {
		return err
	}
	if list, lerr := s.List(ctx); lerr == nil && !list.IsLive(r.ID) {
		return s.isCurrent(r, list)
	}
	return err
}
