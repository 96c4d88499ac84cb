package steel

import (
	"context"
	"time"

	"kxm/lib/fault"
)

// SweepOptions say what counts as an orphan, and what is done about it.
type SweepOptions struct {
	OlderThan time.Duration // 0 is the age of the settings
	Release   bool
	Untracked bool // sessions without a record are released, too
	DryRun    bool // nothing is released or closed
}

// Kind says why a session is an orphan.
type Kind string

// Kinds of orphans.
const (
	KindUntracked  Kind = "untracked"  // live, no record, old
	KindIdle       Kind = "idle"       // nobody acted on it for long
	KindExpired    Kind = "expired"    // past its deadline
	KindUnfinished Kind = "unfinished" // a create or release that did not come to its end
	KindGone       Kind = "gone"       // an open record of a session that the server does not have
	KindHuman      Kind = "human"      // held by a person for longer than was said
)

// Orphan is a session that nobody looks after.
type Orphan struct {
	Schema   string `json:"schema"`
	ID       string `json:"id"`
	Name     string `json:"name,omitempty"`
	Kind     Kind   `json:"kind"`
	AgeMs    int64  `json:"ageMs"`
	IdleMs   *int64 `json:"idleMs,omitempty"` // of tracked ones
	Released bool   `json:"released"`         // or, for one that is gone, its record closed

	record *Record
}

// Sweep is what was found.
type Sweep struct {
	Orphans []Orphan
	Broken  map[string]error // records that cannot be read; their sessions are left alone
}

// Remaining counts the orphans that were not dealt with.
func (w *Sweep) Remaining() int {
	n := 0
	for i := range w.Orphans {
		if !w.Orphans[i].Released {
			n++
		}
	}
	return n
}

// Sweep looks for orphans and, if asked to, releases them. A server that cannot be
// asked is an error and never an empty list. If a release fails, what was found so far
// is returned beside the error.
func (s *Service) Sweep(ctx context.Context, o SweepOptions) (w *Sweep, err error) {
	if o.OlderThan == 0 {
		o.OlderThan = s.Settings.OrphanAge
	}
	look := func() error {
		list, err := s.List(ctx)
		if err == nil {
			w, err = s.findOrphans(ctx, list, o.OlderThan)
		}
		return err
	}
	if !o.Release || o.DryRun {
		err = look()
		return w, err
	}
	err = s.locked(ctx, func() error {
		if err := look(); err != nil {
			return err
		}
		for i := range w.Orphans {
			if err := s.end(ctx, &w.Orphans[i], o.Untracked); err != nil {
				return err
			}
		}
		rs, err := s.Store.Records()
		if err != nil {
			return err
		}
		return s.Store.forget(rs, s.now())
	})
	return w, err
}

func (s *Service) findOrphans(ctx context.Context, list *Listing, limit time.Duration) (*Sweep, error) {
	rs, err := s.Store.Records()
	if err != nil {
		return nil, err
	}
	w := &Sweep{Broken: rs.Broken}
	for _, r := range rs.Open() {
		kind := s.kind(r, list, limit)
		if kind == "" {
			continue
		}
		busy, err := s.Store.inUse(ctx, r.ID)
		if err != nil {
			return nil, err
		}
		if !busy {
			idle := s.now().Sub(r.LastActiveAt).Milliseconds()
			w.Orphans = append(w.Orphans, Orphan{
				Schema: orphanSchema, ID: r.ID, Name: r.Name, Kind: kind,
				AgeMs: s.now().Sub(r.CreatedAt).Milliseconds(), IdleMs: &idle, record: r,
			})
		}
	}
	for _, v := range list.Live() {
		if age := v.age(s.serverTime(list)); !rs.Tracks(v.ID) && age > limit {
			w.Orphans = append(w.Orphans, Orphan{Schema: orphanSchema, ID: v.ID, Kind: KindUntracked, AgeMs: age.Milliseconds()})
		}
	}
	return w, nil
}

const orphanSchema = "kxm.steel-orphan.v1"

// kind says why an open record's session is an orphan, or "" if it is none. What the
// server does not have is gone, whatever else is true of it.
func (s *Service) kind(r *Record, list *Listing, limit time.Duration) Kind {
	now := s.now()
	switch {
	case r.Unfinished():
		return KindUnfinished
	case !list.IsLive(r.ID):
		return KindGone
	case r.State == HumanControl && r.Takeover != nil && now.After(r.Takeover.HoldUntil):
		return KindHuman
	case r.Human():
		return ""
	case r.Expired(now):
		return KindExpired
	case now.Sub(r.LastActiveAt) > limit:
		return KindIdle
	}
	return ""
}

// end deals with one orphan. Each release looks at the list again just before.
func (s *Service) end(ctx context.Context, o *Orphan, untracked bool) error {
	switch {
	case o.Kind == KindHuman || o.Kind == KindUntracked && !untracked:
		return nil
	case o.Kind == KindUntracked:
		list, err := s.List(ctx)
		if err != nil {
			return err
		}
		if list.IsLive(o.ID) {
			if err := s.releaseUntracked(ctx, o.ID); err != nil {
				return err
			}
		}
		o.Released = true
		return nil
	case o.Kind == KindGone:
		return s.endGone(ctx, o)
	}
	ended, err := s.releaseLocked(ctx, o.record, "session sweep", WipeByMode)
	if fault.Is(err, fault.SteelSessionBusy) || fault.Is(err, fault.SteelTakeoverInvalid) {
		return nil // somebody has come to look after it
	}
	o.Released = ended != nil
	return err
}

// endGone closes the record of a session that is gone, whoever held it. The list is
// looked at again: a create that was slow may have come to its end.
func (s *Service) endGone(ctx context.Context, o *Orphan) error {
	list, err := s.List(ctx)
	if err != nil || list.IsLive(o.ID) {
		return err
	}
	err = s.closeGone(ctx, o.record, "session sweep")
	if fault.Is(err, fault.SteelSessionBusy) {
		return nil // somebody has come to look after it
	}
	o.Released = err == nil
	return err
}
