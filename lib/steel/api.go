package steel

import (
	"context"
	"encoding/json"
	"net/url"
	"time"

	"kxm/lib/fault"
	"kxm/lib/ndjson"
)

const sessionsPath = "/v1/sessions"

// ServerSession is what the server says of a session.
type ServerSession struct {
	ID        string  `json:"id"`
	Status    string  `json:"status"` // idle, live, released or failed
	CreatedAt string  `json:"createdAt"`
	Duration  float64 `json:"duration"` // milliseconds
	Timeout   float64 `json:"timeout"`  // milliseconds; 0 is none, never over
	DebugURL  string  `json:"debugUrl"` // believed in the cloud alone
}

// Statuses of a session on the server.
const (
	statusIdle = "idle"
	statusLive = "live"
)

// age is how old the session is: by its time of creation on the server's clock, or by
// its duration, whichever is more.
func (v *ServerSession) age(now time.Time) time.Duration {
	age := time.Duration(min(max(v.Duration, 0), 1e15)) * time.Millisecond
	if at, err := time.Parse(time.RFC3339, v.CreatedAt); err == nil {
		age = max(age, now.Sub(at))
	}
	return age
}

// left is how long the server lets the session live on, if it says so.
func (v *ServerSession) left(now time.Time) (time.Duration, bool) {
	at, err := time.Parse(time.RFC3339, v.CreatedAt)
	if err != nil || v.Timeout <= 0 {
		return 0, false
	}
	return at.Add(time.Duration(min(v.Timeout, 1e12)) * time.Millisecond).Sub(now), true
}

// Listing is the server's list of sessions. On the open-source server the first is the
// current one, or a placeholder while nothing is live.
type Listing struct {
	Sessions []ServerSession
	Date     time.Time // the server's clock; zero if it said none
	mode     Mode
}

// Live returns the sessions that are live.
func (l *Listing) Live() []ServerSession {
	var live []ServerSession
	for i, v := range l.Sessions {
		if v.Status == statusLive && (i == 0 || l.mode == Cloud) {
			live = append(live, v)
		}
	}
	return live
}

// IsLive reports whether a session is live.
func (l *Listing) IsLive(id string) bool {
	for _, v := range l.Live() {
		if v.ID == id {
			return true
		}
	}
	return false
}

// maxPages bounds a list in the cloud.
const maxPages = 1000

// List asks for the sessions.
func (e *Endpoint) List(ctx context.Context) (*Listing, error) {
	list := &Listing{mode: e.Settings.Mode}
	path := sessionsPath
	for range maxPages {
		r, err := e.send(ctx, call{method: "GET", path: path, shown: sessionsPath, limit: e.Limits.Read, most: maxJSON})
		if err != nil {
			return nil, err
		}
		if list.Date.IsZero() {
			list.Date = r.date
		}
		next, err := list.add(r.body)
		if err != nil {
			return nil, err
		}
		if e.Settings.Mode == Self || next == "" {
			return list, nil
		}
		path = sessionsPath + "?cursor=" + url.QueryEscape(next)
	}
	return nil, badResponse("GET "+sessionsPath, "nextCursor", "never ends")
}

// add reads one page of the list.
func (l *Listing) add(body []byte) (next string, err error) {
	const call = "GET " + sessionsPath
	var page struct {
		Sessions   *[]json.RawMessage `json:"sessions"`
		NextCursor *string            `json:"nextCursor"`
	}
	if err := decode(call, body, &page); err != nil {
		return "", err
	}
	if page.Sessions == nil {
		return "", badResponse(call, "sessions", "is missing")
	}
	for _, raw := range *page.Sessions {
		v, err := decodeSession(call, raw)
		if err != nil {
			return "", err
		}
		l.Sessions = append(l.Sessions, *v)
	}
	if page.NextCursor != nil {
		next = *page.NextCursor
	}
	return next, nil
}

func decode(call string, body []byte, into any) error {
	if err := ndjson.Validate(body); err != nil {
		return badResponse(call, "", "is not JSON")
	}
	if err := json.Unmarshal(body, into); err != nil {
		field := ""
		if t, ok := err.(*json.UnmarshalTypeError); ok {
			field = t.Field
		}
		return badResponse(call, field, "has the wrong type")
	}
	return nil
}

func decodeSession(call string, body []byte) (*ServerSession, error) {
	v := &ServerSession{}
	if err := decode(call, body, v); err != nil {
		return nil, err
	}
	if v.ID == "" {
		return nil, badResponse(call, "id", "is missing")
	}
	if v.Status == "" {
		return nil, badResponse(call, "status", "is missing")
	}
	return v, nil
}

func badResponse(call, field, what string) *fault.Error {
	e := fault.New(fault.SteelBadResponse, "the answer to %s %s", call, what)
	if field != "" {
		e = fault.New(fault.SteelBadResponse, "in the answer to %s, %s %s", call, fault.Quote(field), what).On(field)
	}
	return e.WithHint("is STEEL_API_URL the base address of a Steel server?")
}

// Creation is the body of a create. The id is always our own, so that a lost answer
// can be told from somebody else's session.
type Creation struct {
	SessionID  string      `json:"sessionId"`
	Timeout    int64       `json:"timeout"` // milliseconds
	Dimensions *Dimensions `json:"dimensions,omitempty"`
	UserAgent  string      `json:"userAgent,omitempty"`
	Timezone   string      `json:"timezone,omitempty"`
	BlockAds   bool        `json:"blockAds,omitempty"`
	ProxyURL   string      `json:"proxyUrl,omitempty"` // a secret
}

// Dimensions are those of the window, in pixels.
type Dimensions struct {
	Width  int `json:"width"`
	Height int `json:"height"`
}

// Create asks for a session. It is never repeated.
func (e *Endpoint) Create(ctx context.Context, body *Creation) (*ServerSession, error) {
	r, err := e.send(ctx, call{method: "POST", path: sessionsPath, body: body, limit: e.Limits.Create, most: maxJSON, changes: true})
	if err != nil {
		return nil, err
	}
	return decodeSession("POST "+sessionsPath, r.body)
}

// Release ends a session. The open-source server ends whatever is current, so the
// caller has looked just before.
func (e *Endpoint) Release(ctx context.Context, id string) error {
	_, err := e.send(ctx, call{
		method: "POST", path: sessionsPath + "/" + url.PathEscape(id) + "/release", shown: sessionsPath + "/ID/release",
		body: struct{}{}, limit: e.Limits.Release, most: maxJSON, changes: true,
	})
	return err
}
