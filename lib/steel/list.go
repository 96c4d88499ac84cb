package steel

import (
	"context"
	"time"

	"kxm/lib/fault"
)

// Listed is a session as the server and the records together know it.
type Listed struct {
	Schema       string     `json:"schema"`
	ID           string     `json:"id"`
	Name         string     `json:"name,omitempty"`
	ServerStatus string     `json:"serverStatus"` // "gone" if the server's list does not have it
	Current      bool       `json:"current"`
	Tracked      bool       `json:"tracked"`
	State        State      `json:"state,omitempty"`
	AgeMs        int64      `json:"ageMs"`
	IdleMs       *int64     `json:"idleMs,omitempty"`
	Expired      bool       `json:"expired"`
	DeadlineAt   *time.Time `json:"deadlineAt,omitempty"`
	ViewerURL    string     `json:"viewerUrl,omitempty"`
	History      []Step     `json:"history,omitempty"`
}

// goneStatus stands for a session that the server's list does not have.
const goneStatus = "gone"

// Merge lists what the server and the records know: the server's list first, in its
// order, then records that it does not have. Without all, placeholders and sessions
// that are over are left out.
func (s *Service) Merge(ctx context.Context, all bool) ([]Listed, map[string]error, error) {
	list, err := s.List(ctx)
	if err != nil {
		return nil, nil, err
	}
	rs, err := s.Store.Records()
	if err != nil {
		return nil, nil, err
	}
	var lines []Listed
	listed := map[string]bool{}
	for i := range list.Sessions {
		v := &list.Sessions[i]
		r := rs.ByID(v.ID)
		listed[v.ID] = true
		if all || list.IsLive(v.ID) || r != nil && r.Phase != Closed {
			lines = append(lines, s.line(v, r, rs.Tracks(v.ID), list))
		}
	}
	for _, r := range rs.All {
		if !listed[r.ID] && (all || r.Phase != Closed) {
			lines = append(lines, s.line(&ServerSession{ID: r.ID, Status: goneStatus}, r, r.Phase != Closed, list))
		}
	}
	return lines, rs.Broken, nil
}

// line merges one session.
func (s *Service) line(v *ServerSession, r *Record, tracked bool, list *Listing) Listed {
	l := Listed{
		Schema: SessionSchema, ID: v.ID, ServerStatus: v.Status, Current: list.IsLive(v.ID), Tracked: tracked,
		AgeMs: v.age(s.serverTime(list)).Milliseconds(),
	}
	if r == nil {
		return l
	}
	l.Name, l.State, l.ViewerURL, l.DeadlineAt = r.Name, r.State, r.ViewerURL, &r.DeadlineAt
	l.AgeMs = s.now().Sub(r.CreatedAt).Milliseconds()
	if r.Phase != Closed {
		idle := s.now().Sub(r.LastActiveAt).Milliseconds()
		l.IdleMs, l.Expired = &idle, r.Expired(s.now())
	}
	return l
}

// Show tells of one session. The server invents a record for every id, so that only
// its list is believed.
func (s *Service) Show(ctx context.Context, name string) (*Listed, error) {
	r, err := s.Find(name)
	if err != nil && name == "" {
		return nil, err
	}
	if r == nil && !isNotFound(err) {
		return nil, err
	}
	id := name
	if r != nil {
		id = r.ID
	}
	lines, _, lerr := s.Merge(ctx, true)
	if lerr != nil {
		return nil, lerr
	}
	for i := range lines {
		l := &lines[i]
		if l.ID != id || l.ServerStatus == statusIdle && !l.Tracked {
			continue
		}
		if r != nil {
			l.History = r.History
		}
		return l, nil
	}
	return nil, notFound(id)
}

func isNotFound(err error) bool { return fault.Is(err, fault.SteelSessionNotFound) }
