package steel

import (
	"context"
	"time"

	"kxm/lib/fault"
)

// Service is the verbs about sessions of one server.
type Service struct {
	*Endpoint
	Store    *Store
	Now      func() time.Time
	NewID    func() string // a UUID nobody else has
	LockWait time.Duration
	Hurry    bool // a test's: what is waited for a browser that is being launched is hardly waited for
}

// pauses is how long is waited where a browser needs time.
func (s *Service) pauses(d time.Duration) time.Duration {
	if s.Hurry {
		return d / 50
	}
	return d
}

// cleanTime is how long a call that changes the server may go on after an interruption:
// ending it half way would leave a session that nobody knows, and a second call beside
// it can end the server.
const cleanTime = 10 * time.Second

// lingering returns a context that ends cleanTime after ctx does.
func lingering(ctx context.Context) (context.Context, context.CancelFunc) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if pause(late, cleanTime) == nil {
			cancel()
		}
	})
	return late, func() { stop(); cancel() }
}

// now is the time as it is written down: in milliseconds.
func (s *Service) now() time.Time { return s.Now().UTC().Truncate(time.Millisecond) }

// Find returns the open session that is meant: by id or name, or if neither is given
// the only open one. A closed one is found by its id.
func (s *Service) Find(name string) (*Record, error) {
	rs, err := s.Store.Records()
	if err != nil {
		return nil, err
	}
	if err := rs.Broken[name]; err != nil {
		return nil, err
	}
	open := rs.Open()
	if name != "" {
		if r := rs.ByID(name); r != nil {
			return r, nil
		}
		for _, r := range open {
			if r.Name == name {
				return r, nil
			}
		}
		return nil, notFound(name)
	}
	switch len(open) {
	case 0:
		return nil, fault.New(fault.SteelSessionNotFound, "no session is open").WithHint("kxm-steel session start")
	case 1:
		return open[0], nil
	}
	return nil, fault.New(fault.SteelSessionAmbiguous, "%d sessions are open and none is named", len(open)).
		WithHint("name one, or export KXM_STEEL_SESSION; kxm-steel session list shows them")
}

func notFound(name string) *fault.Error {
	return fault.New(fault.SteelSessionNotFound, "no session %s is recorded", fault.Quote(name)).
		WithHint("kxm-steel session list shows what there is; kxm-steel session adopt records one that something else created")
}

// locked runs change under the endpoint's lock.
func (s *Service) locked(ctx context.Context, change func() error) error {
	l, err := s.Store.lockEndpoint(ctx, s.LockWait)
	if err != nil {
		return err
	}
	if err = s.Store.describe(s.Settings); err == nil {
		err = change()
	}
	if rerr := l.Release(); err == nil {
		err = rerr
	}
	return err
}

// Call is a request that would be made, for a dry run.
type Call struct {
	Schema string `json:"schema"`
	Method string `json:"method"`
	URL    string `json:"url"`
	Body   any    `json:"body,omitempty"`
}

func (s *Service) call(method, path string, body any) Call {
	return Call{"kxm.steel-call.v1", method, s.Settings.API.String() + path, body}
}
