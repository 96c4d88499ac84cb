// Package steeltest owns a Steel server for tests, with every odd behaviour of the
// open-source one and knobs for what can go wrong; Chromium behind it; a web site; and
// somebody to sit in front of it.
//
// Start with [New]. The server listens on this computer alone, has no browser before
// [Server.StartBrowser], and keeps every request for the test to look at. [NewSite] is
// the web site and a [Person] who uses it. Nothing of it is linked into a binary.
package steeltest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"
)

// Session is a session as the server keeps it.
type Session struct {
	ID        string
	Status    string
	CreatedAt time.Time
	Timeout   int64 // as it was asked for; the open-source server drops it
}

// Server is the fake. Its address is URL.
type Server struct {
	URL string

	record
	http *httptest.Server
	now  func() time.Time
	log  ring

	mu       sync.Mutex
	knobs    map[string]string
	sessions []*Session // newest first; the first may be live
	changing string     // the call that is changing the server
	complain []string   // what a client did that would end a real server
	ids      int
	browser  *browser // nil: the server has none
	frames   []Frame
	opened   int    // how many sockets were
	open     int    // how many are
	kept     []byte // what the cloud's last answer points to
	done     chan struct{}
	sockets  sync.WaitGroup
}

// New starts a server with the clock. Close ends it.
func New(now func() time.Time) *Server {
	s := &Server{now: now, knobs: map[string]string{}, done: make(chan struct{})}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	s.URL = s.http.URL
	return s
}

// Close ends the server and whatever hangs in it.
func (s *Server) Close() {
	s.mu.Lock()
	close(s.done)
	s.mu.Unlock()
	if b := s.behind(); b != nil {
		b.close()
	}
	s.sockets.Wait() // they ended with the browser
	s.http.CloseClientConnections()
	s.http.Close()
}

// Set turns a knob; "" turns it off:
//
//	key          the key that every request must have
//	mode         "cloud": many sessions, pages of two, timeouts honoured, 404 for unknown ids
//	status       answer this status to everything
//	body         with status: the body (default: JSON with a message)
//	answer       "html", "broken", "nolist", "large", "hang", "drop" or "redirect" for everything
//	to           with answer=redirect: where it leads (default: elsewhere.example.com, with the key)
//	cdp          where a socket must have the key: "header" or "query"; else either will do
//	host         "forwarded": a proxy in front of Chromium leaves the Host as it is
//	browser      "none": sockets are dropped, and what dies is not replaced
//	frame-delay  how long each message of a socket is on its way
//	drop-after   drop a socket at the message that follows so many of its client's
//	refuses      a method of the protocol that the browser does not have
//	create       "lost": done, and no answer; "never": no answer and not done; "fails": 500
//	             and a ghost; "other": another id; "hang": no answer until the end
//	release      "fails": 500, and it is over; "stuck": 500, and it is not; "hang"
//	load         a message with which scrape, screenshot and pdf fail
//	load-limit   how long they wait for a page (30s)
//	delay        how long a create takes
//	delay-list, delay-release, delay-scrape  how long the list takes, a release, and scrape, screenshot or pdf
//	recording    at each turn, so many recording events go into the log (1000 fill it)
//	skew         what is added to the clock
//	list-fails   the list answers 500 from the next create on
//
// Without a knob, a release with a browser hangs while any of its tabs does not answer.
func (s *Server) Set(knob, value string) {
	if knob == "recording" {
		s.log.record(atoi(value), s.time())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.knobs[knob] = value
}

func (s *Server) knob(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.knobs[name]
}

// time is the server's clock.
func (s *Server) time() time.Time {
	skew, _ := time.ParseDuration(s.knob("skew"))
	return s.now().Add(skew)
}

// Foreign starts a session as another client of the server would, and returns its id.
func (s *Server) Foreign() string {
	at := s.time()
	s.mu.Lock()
	defer s.mu.Unlock()
	id := s.newID()
	s.begin(&Session{ID: id, Status: "live", CreatedAt: at})
	return id
}

// Live returns the ids of the sessions that are live.
func (s *Server) Live() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []string
	for _, v := range s.sessions {
		if v.Status == "live" {
			ids = append(ids, v.ID)
		}
	}
	return ids
}

// complainOf notes what must not happen.
func (s *Server) complainOf(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.complain = append(s.complain, what)
}

// Complaints returns what clients did that can end a real server, and what the server
// itself could not do.
func (s *Server) Complaints() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.complain)
}

// newID returns a UUID; the caller holds the lock.
func (s *Server) newID() string {
	s.ids++
	h := fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, "session ", s.ids)))
	return h[:8] + "-" + h[8:12] + "-4" + h[13:16] + "-8" + h[17:20] + "-" + h[20:32]
}

// begin makes a session the current one: a second create silently replaces the first.
// The caller holds the lock.
func (s *Server) begin(v *Session) {
	if s.knobs["mode"] != "cloud" && len(s.sessions) > 0 {
		s.sessions[0].Status = "released"
	}
	s.sessions = slices.Insert(s.sessions, 0, v)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body := []byte(readBody(r))
	s.note(r, string(body))
	w.Header().Set("Date", s.time().UTC().Format(http.TimeFormat))
	if s.refused(w, r) {
		return
	}
	path := strings.TrimPrefix(r.URL.Path, "/prefix")
	if isSocket(r) {
		if path == castPath {
			s.cast(w, r)
		} else {
			s.socket(w, r)
		}
		return
	}
	id, release := strings.CutSuffix(strings.TrimPrefix(path, "/v1/sessions/"), "/release")
	switch {
	case path == "/v1/sessions" && r.Method == "GET":
		s.list(w, r)
	case path == "/v1/sessions" && r.Method == "POST":
		s.exclusively("create", func() { s.create(w, r, body) })
	case path == viewerPath:
		s.viewer(w)
	case path == inspectorPath:
		s.inspector(w, r)
	case strings.HasPrefix(path, "/v1/sessions/") && r.Method == "GET":
		s.show(w, id)
	case strings.HasPrefix(path, "/v1/sessions/") && release && r.Method == "POST":
		s.exclusively("release", func() { s.release(w, r, id) })
	case path == "/v1/health":
		reply(w, 200, map[string]any{"status": "ok"}) // also without a browser
	case slices.Contains(oneShots, path) && r.Method == "POST":
		s.oneShot(w, r, path, body)
	case path == "/v1/logs/query" && s.knob("mode") != "cloud":
		s.logs(w, r)
	case path == "/result":
		s.result(w)
	case path == "/ui":
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<title>Steel</title>")
	default:
		reply(w, 404, map[string]any{"message": "Route " + r.Method + ":" + r.URL.Path + " not found"})
	}
}

// exclusively notes calls that overlap, which can end a real server.
func (s *Server) exclusively(what string, do func()) {
	s.mu.Lock()
	if s.changing != "" {
		s.complain = append(s.complain, what+" during "+s.changing)
	}
	s.changing = what
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.changing = ""
		s.mu.Unlock()
	}()
	do()
}

func (s *Server) create(w http.ResponseWriter, r *http.Request, body []byte) {
	var ask struct {
		SessionID string `json:"sessionId"`
		Timeout   int64  `json:"timeout"`
		config
	}
	if len(body) == 0 {
		reply(w, 400, map[string]any{"code": "FST_ERR_VALIDATION", "message": "body must be object"})
		return
	}
	if err := json.Unmarshal(body, &ask); err != nil {
		reply(w, 500, map[string]any{"success": false, "message": "Unexpected token in JSON"})
		return
	}
	s.delay("delay")
	knob, at := s.knob("create"), s.time()
	switch knob {
	case "never":
		panic(http.ErrAbortHandler)
	case "hang":
		s.hang(r)
	}
	s.settle(ask.config, knob)
	s.mu.Lock()
	v := &Session{ID: or(ask.SessionID, s.newID()), Status: "live", CreatedAt: at, Timeout: ask.Timeout}
	if knob == "fails" || knob == "other" {
		v.ID = s.newID()
	}
	s.begin(v)
	s.mu.Unlock()
	if s.knob("list-fails") != "" {
		s.Set("status", "500")
	}
	switch knob {
	case "lost":
		panic(http.ErrAbortHandler)
	case "fails": // with a ghost: live, and nobody's
		reply(w, 500, map[string]any{"success": false, "message": "Failed to launch the browser"})
		return
	}
	reply(w, 200, s.view(v))
}

// release ends whatever is current, whichever id it is told, and starts another Chromium;
// in the cloud it ends that id.
func (s *Server) release(w http.ResponseWriter, r *http.Request, id string) {
	s.delay("delay-release")
	knob := s.knob("release")
	switch knob {
	case "hang":
		s.hang(r)
	case "stuck":
		reply(w, 500, map[string]any{"message": "the browser does not answer"})
		return
	}
	s.ping()
	s.mu.Lock()
	cloud := s.knobs["mode"] == "cloud"
	answer := &Session{ID: id, Status: "released", CreatedAt: s.now()}
	for i, v := range s.sessions {
		if v.Status == "live" && (!cloud && i == 0 || v.ID == id) {
			v.Status, answer = "released", v
		}
	}
	s.mu.Unlock()
	if !cloud || len(s.Live()) == 0 {
		s.settle(config{}, "release")
	}
	if knob == "fails" {
		reply(w, 500, map[string]any{"message": "the idle browser cannot start"})
		return
	}
	view := s.view(answer)
	view["success"] = true
	reply(w, 200, view)
}

func (s *Server) view(v *Session) map[string]any {
	at := s.time()
	s.mu.Lock()
	defer s.mu.Unlock()
	view := map[string]any{
		"id": v.ID, "status": v.Status, "createdAt": v.CreatedAt.UTC().Format(time.RFC3339Nano), "duration": at.Sub(v.CreatedAt).Milliseconds(),
		"timeout": 0, "websocketUrl": "ws://0.0.0.0:3000/", "debugUrl": "http://0.0.0.0:3000/v1/sessions/debug", "eventCount": 0,
	}
	if s.knobs["mode"] == "cloud" {
		view["timeout"], view["debugUrl"] = v.Timeout, "https://api.steel.dev/v1/sessions/"+v.ID+"/player"
	}
	return view
}

// list is [current or idle, past…]; in the cloud, pages of two.
func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	s.delay("delay-list")
	s.mu.Lock()
	all := slices.Clone(s.sessions)
	cloud := s.knobs["mode"] == "cloud"
	idle := !cloud && (len(all) == 0 || all[0].Status != "live")
	if idle {
		s.ids++ // the placeholder has another id each time
		all = slices.Insert(all, 0, &Session{ID: fmt.Sprintf("00000000-0000-4000-8000-%012d", s.ids), Status: "idle", CreatedAt: s.now().Add(-time.Hour)})
	}
	s.mu.Unlock()
	answer := map[string]any{}
	if cloud {
		const page = 2
		from := min(atoi(or(r.URL.Query().Get("cursor"), "0")), len(all))
		if from+page < len(all) {
			answer["nextCursor"] = fmt.Sprint(from + page)
		}
		all = all[from:min(from+page, len(all))]
	}
	views := []map[string]any{}
	for _, v := range all {
		views = append(views, s.view(v))
	}
	answer["sessions"] = views
	reply(w, 200, answer)
}

// show invents a released record for every id it does not know; the cloud does not.
func (s *Server) show(w http.ResponseWriter, id string) {
	s.mu.Lock()
	var found *Session
	for _, v := range s.sessions {
		if v.ID == id {
			found = v
		}
	}
	cloud := s.knobs["mode"] == "cloud"
	s.mu.Unlock()
	if found == nil {
		if cloud {
			reply(w, 404, map[string]any{"message": "session not found"})
			return
		}
		found = &Session{ID: id, Status: "released", CreatedAt: s.time()}
	}
	reply(w, 200, s.view(found))
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that has gone is no failure
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

func atoi(text string) (n int) {
	_, _ = fmt.Sscan(text, &n)
	return n
}
