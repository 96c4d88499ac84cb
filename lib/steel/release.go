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

func released(r *Record, done bool, reason string) *Released {
	a := &Released{Schema: "kxm.steel-release.v1", ID: r.ID, Released: done, Reason: reason, Warnings: []string{}}
	if done && r.Mode == Self {
		a.Warnings = append(a.Warnings, keptProfile)
	}
	return a
}

// Release ends a session. One that has ended already is no error.
func (s *Service) Release(ctx context.Context, r *Record) (answer *Released, err error) {
	if r.Phase == Closed {
		return released(r, false, "already released"), nil
	}
	err = s.locked(ctx, func() error {
		answer, err = s.releaseLocked(ctx, r, "session release")
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
func (s *Service) releaseLocked(ctx context.Context, r *Record, verb string) (*Released, error) {
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
		return released(r, false, "already released"), nil
	}
	return s.releaseHeld(ctx, now, verb)
}

// releaseHeld releases under both locks. The server ends whatever session is current,
// whichever id it is told: nothing is sent unless the list has just shown that it is
// ours.
func (s *Service) releaseHeld(ctx context.Context, r *Record, verb string) (*Released, error) {
	if r.Human() {
		return nil, fault.New(fault.SteelTakeoverInvalid, "the session %s is in state %s, which does not allow a release", fault.Quote(r.ID), r.State)
	}
	list, err := s.List(ctx)
	if err != nil {
		return nil, err
	}
	if !list.IsLive(r.ID) {
		r.close(verb, "gone", s.now())
		return released(r, false, "gone"), s.Store.Write(r)
	}
	r.Phase = Releasing
	if err := s.Store.Write(r); err != nil {
		return nil, err
	}
	late, cancel := lingering(ctx)
	defer cancel()
	if err := s.releaseOnServer(late, r.ID); err != nil {
		return nil, err
	}
	r.close(verb, "", s.now())
	return released(r, true, ""), s.Store.Write(r)
}

// releaseOnServer sends the release and asks the list whether it is over: a release
// that is answered with 500, or not at all, may have done its work.
func (s *Service) releaseOnServer(ctx context.Context, id string) error {
	err := s.Endpoint.Release(ctx, id)
	switch fault.CodeOf(err) {
	case fault.SteelUnauthorized, fault.SteelRateLimited, fault.SteelRedirected:
		return err // it was not let in
	}
	list, lerr := s.List(ctx)
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
	now.close(verb, "gone", s.now())
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
		s.begin(r, "session adopt")
		answer = s.started(r)
		return s.Store.Write(r)
	})
	return answer, err
}
