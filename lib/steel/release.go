package steel

import (
	"context"
	"time"

	"kxm/lib/fault"
)

// Released is the answer to a release.
type Released struct {
	Schema   string   `json:"schema"`
	ID       string   `json:"id"`
	Released bool     `json:"released"`
	Wiped    bool     `json:"wiped"`
	Reason   string   `json:"reason,omitempty"` // why nothing was released
	Warnings []string `json:"warnings"`
}

func notReleased(r *Record, reason string) *Released {
	return &Released{Schema: releaseSchema, ID: r.ID, Reason: reason, Warnings: []string{}}
}

const releaseSchema = "kxm.steel-release.v1"

// Wiping says whether a release removes what the session leaves in the browser.
type Wiping int

// Wipings.
const (
	WipeByMode Wiping = iota // on the open-source server, which keeps its profile
	Wipe
	NoWipe
)

func (w Wiping) of(m Mode) bool { return w == Wipe || w == WipeByMode && m == Self }

// Release ends a session. One that has ended already is no error. An answer beside a
// SteelWipeIncomplete tells of a session that has ended and left something behind.
func (s *Service) Release(ctx context.Context, r *Record, w Wiping) (answer *Released, err error) {
	if r.Phase == Closed {
		return notReleased(r, "already released"), nil
	}
	err = s.locked(ctx, func() error {
		answer, err = s.releaseLocked(ctx, r, "session release", w)
		return err
	})
	return answer, err
}

// PlanRelease returns the calls that Release would make.
func (s *Service) PlanRelease(r *Record) []Call {
	if r.Phase == Closed {
		return nil
	}
	return []Call{
		s.call("GET", sessionsPath, nil), s.call("POST", sessionsPath+"/"+r.ID+"/release", struct{}{}), s.call("GET", sessionsPath, nil),
	}
}

// releaseLocked takes the session's lock and reads the record again, since it may have
// changed before the endpoint's lock was ours.
func (s *Service) releaseLocked(ctx context.Context, r *Record, verb string, w Wiping) (*Released, error) {
	l, err := s.Store.lockSession(ctx, r.ID, sessionWait)
	if err != nil {
		return nil, err
	}
	defer l.Release()
	now, err := s.Store.Read(r.ID)
	switch {
	case err != nil:
		return nil, err
	case now == nil || now.Phase == Closed:
		return notReleased(r, "already released"), nil
	}
	return s.releaseHeld(ctx, now, verb, w)
}

// releaseHeld releases under both locks. The server ends whatever session is current,
// whichever id it is told: nothing is sent unless the list has just shown that it is
// ours.
func (s *Service) releaseHeld(ctx context.Context, r *Record, verb string, w Wiping) (*Released, error) {
	if r.Human() {
		return nil, takeoverInvalid(r, verb)
	}
	return s.releaseWhoever(ctx, r, verb, agent, w)
}

// releaseWhoever is releaseHeld whoever controls the session.
func (s *Service) releaseWhoever(ctx context.Context, r *Record, verb, by string, w Wiping) (*Released, error) {
	list, err := s.List(ctx)
	if err != nil {
		return nil, err
	}
	if !list.IsLive(r.ID) {
		r.close(verb, by, "gone", s.now())
		return notReleased(r, "gone"), s.Store.Write(r)
	}
	late, cancel := lingering(ctx)
	defer cancel()
	var unwiped error
	if w.of(r.Mode) {
		unwiped = s.wipeSession(late, r)
	}
	r.Phase = Releasing
	if err := s.Store.Write(r); err != nil {
		return nil, err
	}
	if err := s.releaseOnServer(late, r.ID); err != nil {
		return nil, err
	}
	if unwiped != nil && r.Mode == Self {
		unwiped = s.wipeIdle(late, r) // the browser was started anew, with the same profile
	}
	r.close(verb, by, "", s.now())
	answer := &Released{Schema: releaseSchema, ID: r.ID, Released: true, Wiped: w.of(r.Mode) && unwiped == nil, Warnings: []string{}}
	if !answer.Wiped && r.Mode == Self {
		answer.Warnings = append(answer.Warnings, keptProfile)
	}
	if err := s.Store.Write(r); err != nil {
		return answer, err
	}
	if unwiped != nil {
		return answer, fault.New(fault.SteelWipeIncomplete, "the session %s was released, but what it left in the browser was not all removed: %s", fault.Quote(r.ID), fault.Detail(unwiped)).
			WithHint("the next session start wipes again")
	}
	return answer, nil
}

// wipeIdle wipes the browser after a release, while nothing is live in it. The socket
// leads to whatever is current, so that it is looked just before.
func (s *Service) wipeIdle(ctx context.Context, r *Record) error {
	list, err := s.List(ctx)
	if err != nil {
		return err
	}
	if len(list.Live()) > 0 {
		return fault.New(fault.SteelWipeIncomplete, "another session began")
	}
	if err := s.awaitBrowser(ctx, r.ID); err != nil {
		return err
	}
	return s.wipeSession(ctx, r)
}

// releaseOnServer sends the release and asks the list whether it is over: a release
// that is answered with 500, or not at all, may have done its work.
//
// A release hangs while a tab does not answer. Such tabs are closed, and if the session
// still lives it is asked for once more.
func (s *Service) releaseOnServer(ctx context.Context, id string) error {
	err := s.Endpoint.Release(ctx, id)
	switch fault.CodeOf(err) {
	case fault.SteelUnauthorized, fault.SteelRateLimited, fault.SteelRedirected:
		return err // it was not let in
	}
	list, lerr := s.List(ctx)
	if lerr == nil && list.IsLive(id) && fault.Is(err, fault.SteelUnreachable) {
		if closed, cerr := s.closeStuck(ctx, id); cerr == nil && closed {
			// The first call may go on now; a second one beside it can end the server.
			if list, lerr = s.listUntilOver(ctx, id); lerr == nil && list.IsLive(id) {
				err = s.Endpoint.Release(ctx, id)
				list, lerr = s.List(ctx)
			}
		}
	}
	if lerr == nil && !list.IsLive(id) {
		return nil
	}
	why := "the server still shows it as live"
	switch {
	case err != nil:
		why = fault.Detail(err)
	case lerr != nil:
		why = fault.Detail(lerr)
	}
	return fault.New(fault.SteelReleaseFailed, "the release of %s could not be confirmed: %s", fault.Quote(id), why).
		WithHint("the record was kept; try again")
}

// overTime is how long a release that has been freed of a stuck tab may still take: one
// takes up to 2.6 s.
const overTime = 4 * time.Second

// listUntilOver asks for the list until the session is over, for overTime.
func (s *Service) listUntilOver(ctx context.Context, id string) (*Listing, error) {
	for waited := time.Duration(0); ; waited += readyPause {
		list, err := s.List(ctx)
		if err != nil || !list.IsLive(id) || waited >= overTime {
			return list, err
		}
		if err := pause(ctx, readyPause); err != nil {
			return nil, err
		}
	}
}

// releaseUntracked ends a live session that no record names. The caller has just seen
// it in the list, under the endpoint's lock.
func (s *Service) releaseUntracked(ctx context.Context, id string) error {
	late, cancel := lingering(ctx)
	defer cancel()
	return s.releaseOnServer(late, id)
}

// closeGone closes the record of a session that the list does not show, unless a
// program is using it.
func (s *Service) closeGone(ctx context.Context, r *Record, verb string) error {
	l, err := s.Store.lockSession(ctx, r.ID, 0)
	if err != nil {
		return err
	}
	defer l.Release()
	now, err := s.Store.Read(r.ID)
	if err != nil || now == nil || now.Phase == Closed {
		return err
	}
	now.close(verb, agent, "gone", s.now())
	return s.Store.Write(now)
}

// Adopt records a live session that something else created. On the open-source server
// it must be the current one.
func (s *Service) Adopt(ctx context.Context, id, name string, timeout time.Duration) (answer *Started, err error) {
	if timeout == 0 {
		timeout = s.Settings.Timeout
	}
	if err := s.Settings.CheckTimeout(timeout); err != nil {
		return nil, err
	}
	if err := checkName(name); err != nil {
		return nil, err
	}
	err = s.locked(ctx, func() error {
		rs, err := s.Store.Records()
		if err != nil {
			return err
		}
		if err := rs.Broken[id]; err != nil {
			return err
		}
		if r := rs.ByID(id); r != nil && r.Phase != Closed {
			return fault.New(fault.SteelUsage, "the session %s is recorded already", fault.Quote(id))
		}
		if err := checkNameFree(rs, name); err != nil {
			return err
		}
		list, err := s.List(ctx)
		if err != nil {
			return err
		}
		if !validID(id) || !list.IsLive(id) {
			return fault.New(fault.SteelSessionNotFound, "the session %s is not live on the server", fault.Quote(id))
		}
		r := s.record(id, name, timeout)
		for _, v := range list.Live() {
			if v.ID == id && r.Mode == Cloud {
				r.ViewerURL = cloudViewer(v.DebugURL)
			}
		}
		if err := s.adoptTab(ctx, r); err != nil {
			return err
		}
		s.begin(r, "session adopt")
		answer = s.started(r)
		return s.Store.Write(r)
	})
	return answer, err
}

// adoptTab records the first tab of a session.
func (s *Service) adoptTab(ctx context.Context, r *Record) error {
	conn, err := s.reach(ctx, r.ID)
	if err != nil {
		return err
	}
	defer conn.Close()
	first, err := firstPage(ctx, conn)
	if err != nil {
		return s.transport(ctx, r, err)
	}
	r.take(first)
	return nil
}
