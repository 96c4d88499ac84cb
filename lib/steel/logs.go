package steel

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"
)

// logsPath is where the open-source server tells what happened in its browser.
const logsPath = "/v1/logs/query"

// Limits of the server's log.
const (
	logRing  = 1000     // events that it keeps, of all sessions together
	maxLogs  = 64 << 20 // bytes of an answer: recordings of sessions are among the events
	logQuery = logsPath + "?limit=1000"
)

// logEvent is an event of the server's log, as far as it is read.
type logEvent struct {
	Type    string    `json:"type"`
	At      time.Time `json:"timestamp"`
	Page    string    `json:"pageId"`
	Console struct {
		Level string `json:"level"`
		Text  string `json:"text"`
		Where string `json:"loc"` // URL:LINE:COLUMN
	} `json:"console"`
	Error struct {
		Message string `json:"message"`
		URL     string `json:"url"`
		Stack   any    `json:"stack"`
	} `json:"error"`
	Request struct {
		Method string `json:"method"`
		URL    string `json:"url"`
		Type   string `json:"resourceType"`
	} `json:"request"`
	Response struct {
		URL    string `json:"url"`
		Status int    `json:"status"`
	} `json:"response"`
}

// serverLog is what the server remembers of a tab.
type serverLog struct {
	events  []logEvent // of the tab, oldest first
	whole   bool       // it reaches back to where it was asked from
	present bool       // the server keeps a log
}

// serverLog asks the server for what happened in the tab from a time on. The cloud keeps
// no log that can be asked, and neither do some servers.
func (p *Page) serverLog(ctx context.Context, from time.Time) (*serverLog, error) {
	s := p.service
	if s.Settings.Mode == Cloud {
		return &serverLog{}, nil
	}
	c := call{method: "GET", path: logQuery, shown: logsPath, limit: s.Limits.Read, most: maxLogs}
	r, err := s.roundTrip(ctx, c)
	if err != nil {
		return nil, err
	}
	if r.status == http.StatusNotFound {
		return &serverLog{}, nil
	}
	if err := s.refusal(&c, r); err != nil {
		return nil, err
	}
	var a struct {
		Events []json.RawMessage `json:"events"`
		Total  int               `json:"total"`
	}
	if err := decode(c.name(), r.body, &a); err != nil {
		return nil, err
	}
	log := &serverLog{present: true, whole: a.Total < logRing}
	for _, raw := range a.Events {
		var e logEvent
		if json.Unmarshal(raw, &e) != nil {
			continue // of a type that is not known here
		}
		if e.At.Before(from) {
			log.whole = true
			continue
		}
		if e.Page == p.tab.TargetID {
			log.events = append(log.events, e)
		}
	}
	// The newest come first, but those of one millisecond in their order.
	slices.SortStableFunc(log.events, func(a, b logEvent) int { return a.At.Compare(b.At) })
	return log, nil
}

// notWhole is said where the log no longer reaches back as far as it was asked for.
const notWhole = "the server's log keeps its last 1000 events and no longer reaches back so far: what is older is missing"

// since is from when on something is looked for: the session's begin, or so long ago.
func (p *Page) since(d time.Duration) time.Time {
	from := p.record.CreatedAt
	if d > 0 {
		if t := p.service.now().Add(-d); t.After(from) {
			from = t
		}
	}
	return from
}
