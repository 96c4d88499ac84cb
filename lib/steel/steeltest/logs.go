package steeltest

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ringSize is how many events the log keeps, as the real server's does in memory.
const ringSize = 1000

// event is an event of the log.
type event struct {
	kind string // its type
	at   time.Time
	page string // the tab's target; "" is none
	key  string // the member that holds the body
	body any
}

// timeForm is how the log writes times, in UTC: a thousandth of a second is its grain.
const timeForm = "2006-01-02T15:04:05.000Z"

func (e *event) view() map[string]any {
	v := map[string]any{"type": e.kind, "timestamp": e.at.UTC().Format(timeForm), e.key: e.body}
	if e.page != "" {
		v["pageId"], v["targetType"] = e.page, "page"
	}
	return v
}

// ring is the log: the last events of all sessions.
type ring struct {
	mu     sync.Mutex
	events []event // oldest first
}

func (r *ring) add(e event) {
	e.at = e.at.Truncate(time.Millisecond)
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.events) == ringSize {
		r.events = slices.Delete(r.events, 0, 1)
	}
	r.events = append(r.events, e)
}

// record adds what the recorder of sessions would, which takes others' room.
func (r *ring) record(n int, at time.Time) {
	for range min(n, ringSize) {
		r.add(event{kind: "Recording", at: at, key: "data", body: map[string]any{"events": []any{}}})
	}
}

// logQuery is what is asked of the log.
type logQuery struct {
	types         []string // nil is every one
	page          string   // "" is every one
	target        string   // a type of target; "" is every one
	from, to      time.Time
	limit, offset int
}

// parseLogQuery reads a query, or says what is wrong with it.
func parseLogQuery(q url.Values) (l logQuery, wrong string) {
	l = logQuery{page: q.Get("pageId"), target: q.Get("targetType"), limit: 100}
	if t := q.Get("eventTypes"); t != "" {
		l.types = strings.Split(t, ",")
	}
	for _, t := range []struct {
		name string
		to   *time.Time
	}{{"startTime", &l.from}, {"endTime", &l.to}} {
		v := q.Get(t.name)
		if v == "" {
			continue
		}
		at, err := time.Parse(time.RFC3339, v)
		if err != nil || !strings.HasSuffix(v, "Z") {
			return l, "querystring/" + t.name + ` must match format "date-time"`
		}
		*t.to = at
	}
	for _, n := range []struct {
		name        string
		to          *int
		least, most int
	}{{"limit", &l.limit, 1, 1000}, {"offset", &l.offset, 0, 1 << 31}} {
		v := q.Get(n.name)
		if v == "" {
			continue
		}
		at, err := strconv.Atoi(v)
		*n.to = at
		switch {
		case err != nil:
			return l, "querystring/" + n.name + " must be integer"
		case *n.to < n.least:
			return l, fmt.Sprintf("querystring/%s must be >= %d", n.name, n.least)
		case *n.to > n.most:
			return l, fmt.Sprintf("querystring/%s must be <= %d", n.name, n.most)
		}
	}
	return l, ""
}

func (q *logQuery) wants(e *event) bool {
	return (q.types == nil || slices.Contains(q.types, e.kind)) && (q.page == "" || e.page == q.page) &&
		(q.target == "" || e.page != "" && q.target == "page") &&
		!e.at.Before(q.from) && (q.to.IsZero() || !e.at.After(q.to))
}

// query returns the events that are wanted, of the newest millisecond first. Those of
// one millisecond are left in the order in which they came, as the real server does:
// whoever turns the answer around has them wrong.
func (r *ring) query(q *logQuery) []event {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []event
	for i := range r.events {
		if q.wants(&r.events[i]) {
			found = append(found, r.events[i])
		}
	}
	slices.SortStableFunc(found, func(a, b event) int { return b.at.Compare(a.at) })
	return found
}

// logs answers GET /v1/logs/query. The parameters are those of the real server (0.5.3):
// eventTypes (a list with commas), startTime and endTime (UTC, ending in Z), pageId,
// targetType, limit (1 to 1,000, else 100) and offset; others are 400. The answer is
//
//	{"events":[…],"total":N,"hasMore":B}
//
// where total counts all that were wanted. An event has type, timestamp, and, if it is a
// tab's, pageId and targetType "page"; and by its type
//
//	Console        "console":{"level":"log","text":"a 1","loc":"URL:LINE:COLUMN"}; the level is the protocol's, such as warning; loc is from 1
//	PageError      "error":{"message":"Error: boom\n    at …"}; each exception is there twice, the other one is {"message":"boom","stack":…}, or {} for a primitive
//	Request        "request":{"method":"GET","url":…,"resourceType":"Document"}; one for each redirect too
//	Response       "response":{"status":200,"url":…,"mimeType":"text/html"}; none for a redirect
//	RequestFailed  "error":{"message":"net::ERR_…","url":…}
//	Error          "error":{"message":"Page crashed!"}
//	Recording      "data":{…}, with no pageId
//
// Nothing but the address connects a request with its response. The real server keeps
// events of more types (Navigation, BrowserInteraction, CDPEvent, CDPCommand and others),
// which here would do nothing but take room, as Recording does.
func (s *Server) logs(w http.ResponseWriter, r *http.Request) {
	q, wrong := parseLogQuery(r.URL.Query())
	if wrong != "" {
		reply(w, 400, map[string]any{"statusCode": 400, "code": "FST_ERR_VALIDATION", "error": "Bad Request", "message": wrong})
		return
	}
	if b := s.behind(); b != nil {
		b.catchUp(r.Context())
	}
	found := s.log.query(&q)
	views := []map[string]any{}
	for _, e := range found[min(q.offset, len(found)):min(q.offset+q.limit, len(found))] {
		views = append(views, e.view())
	}
	reply(w, 200, map[string]any{"events": views, "total": len(found), "hasMore": q.offset+q.limit < len(found)})
}
