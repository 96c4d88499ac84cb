package steeltest

import (
	"embed"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"
)

// What opens the site.
const (
	Email    = "ada@example.com"
	Password = "s3cr+t" // six characters, one of which has another spelling in an address
	Code     = "246810" // the one-time code
)

//go:embed site/*.html
var pages embed.FS

// Site is a web site for tests, which keeps every request for the test to look at. It
// is one server with two names, so that pages of URL and of Other are of two sites.
//
// A page is named by its path; what its parameters say stands in brackets.
//
//	/                   the login form (mfa=1: the site asks for a code as well); Email and Password open it
//	/login, /code       where the forms are sent: 303 to /code or /home, else 401 with the form
//	/home               "Welcome Ada" for whoever is signed in, else 303 to /
//	/logout             ends the visit
//	/shadow             open and closed shadow roots, one within the other
//	/frames             a frame of the same site, one of the other (cross=PATH), one inline
//	/inner              what they show
//	/dialogs            buttons for an alert, confirm, prompt, an alert ms=N later, alerts without end
//	/late-alert         an alert ms=N after loading
//	/greeting           asks something while it loads
//	/before-unload      asks before it is left, once the draft was touched
//	/endless            an endless script at the press of a button, or ms=N after loading
//	/popup, /about      windows opened by script and by link; what they show, with who opened it
//	/downloads          links to the files below
//	/report.csv         8 bytes, for whoever is signed in (open=1: for everybody), else 403
//	/endless.bin        a file without end
//	/upload             shows name, size and SHA-256 of chosen files, and of those it is sent
//	/slow               answers after ms=N (5000)
//	/slow-body          answers half at once and the rest after ms=N (5000)
//	/slow-picture       is ready at once and loaded after ms=N (5000)
//	/status/N           a page with status N
//	/redirect           leads to itself n=N (1) times, then to to=PATH (/about)
//	/loop               leads to itself for ever
//	/drop, /api/drop    no answer at all
//	/buttons            plain, twin, disabled, hidden, far and covered buttons
//	/list               a list of four that shows other things in the same elements: "Buy 3" becomes "Buy 7"
//	/push, /push/N      history.pushState and a fragment
//	/imitation          names that imitate references, attributes and lines
//	/fields             text fields of each kind: masked, password-like, read-only, contenteditable
//	/choices            select, checkbox, radio and switch of each kind
//	/pointer            a menu that shows below the pointer, things to scroll, which button was pressed
//	/clobbered          forms whose names hide what the document and they themselves have
//	/waits              things come and go ms=N (500) after loading
//	/table              a table of rows=N (500) with a link and a button in each row
//	/nodes              n=N (100000) elements
//	/text               bytes=N (1000000) of text
//	/escape             title, names, alert and console with escape codes (in a title Chromium leaves those above 127 alone)
//	/restless           goes elsewhere at every click
//	/store, /stored     leaves something in each store of the browser; shows what is left
//	/console            calls, exceptions, a rejection and a failed load
//	/fetch              asks the three below and shows how it went
//	/api/ping, /api/fail, /api/drop  200, 500 and no answer; /api/cached may be kept for a day
//
// Everything else is a page with status 404.
type Site struct {
	URL   string // http://127.0.0.1:PORT
	Other string // http://localhost:PORT

	record
	http *httptest.Server
	done chan struct{}

	mu     sync.Mutex
	visits map[string]string // value of the cookie → role
	count  int
}

// NewSite starts the site. Close ends it.
func NewSite() *Site {
	s := &Site{done: make(chan struct{}), visits: map[string]string{}}
	mux := http.NewServeMux()
	s.routes(mux)
	s.http = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.note(r, readBody(r))
		mux.ServeHTTP(w, r)
	}))
	// A browser may ask a port that was another site's: its names come before it answers.
	s.URL = "http://" + s.http.Listener.Addr().String()
	s.Other = strings.Replace(s.URL, "127.0.0.1", "localhost", 1)
	s.http.Start()
	return s
}

// Close ends the site and whatever hangs in it.
func (s *Site) Close() {
	close(s.done)
	s.http.CloseClientConnections()
	s.http.Close()
}

// routes are the pages: most of them are files, and the others stand here.
func (s *Site) routes(mux *http.ServeMux) {
	mux.HandleFunc("/{name}", s.file)
	mux.HandleFunc("/push/{n}", s.file)
	mux.HandleFunc("/{$}", s.front)
	mux.HandleFunc("POST /login", s.login)
	mux.HandleFunc("GET /code", s.askCode)
	mux.HandleFunc("POST /code", s.code)
	mux.HandleFunc("/home", s.home)
	mux.HandleFunc("POST /logout", s.logout)
	mux.HandleFunc("/report.csv", s.report)
	mux.HandleFunc("/endless.bin", s.endless)
	mux.HandleFunc("POST /upload", s.upload)
	mux.HandleFunc("/slow", s.slow)
	mux.HandleFunc("/slow-body", s.slowBody)
	mux.HandleFunc("/slow-picture", s.slowPicture)
	mux.HandleFunc("/status/{status}", s.status)
	mux.HandleFunc("/redirect", redirect)
	mux.HandleFunc("/loop", redirect)
	mux.HandleFunc("/drop", drop)
	mux.HandleFunc("/table", table)
	mux.HandleFunc("/nodes", nodes)
	mux.HandleFunc("/text", text)
	mux.HandleFunc("/stored", s.stored)
	mux.HandleFunc("/api/ping", func(w http.ResponseWriter, r *http.Request) { reply(w, 200, map[string]any{"pong": true}) })
	mux.HandleFunc("/api/fail", func(w http.ResponseWriter, r *http.Request) { reply(w, 500, map[string]any{"pong": false}) })
	mux.HandleFunc("/api/cached", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=86400")
		reply(w, 200, map[string]any{"cached": true})
	})
	mux.HandleFunc("/api/drop", drop)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { notice(w, 404, "Not found") })
}

// file shows a page of the folder site, in which $OTHER, $SAME, $CROSS and $ESCAPE are
// what they have to be for this request.
func (s *Site) file(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	if name == "" {
		name = "push"
	}
	if name == "login" || name == "home" { // only together with what they need
		name = ""
	}
	q := r.URL.Query()
	s.show(w, 200, name,
		"$OTHER", s.other(r), "$SAME", html.EscapeString(or(q.Get("same"), "/inner")), "$CROSS", html.EscapeString(or(q.Get("cross"), "/inner")),
		"$ESCAPE", "\x1b[31mred\x1b]0;owned\x07 \u009b2J \u202eback\u202c end")
}

// show writes a page, in which it replaces each first text by the one after it.
func (s *Site) show(w http.ResponseWriter, status int, name string, replace ...string) {
	page, err := pages.ReadFile("site/" + name + ".html")
	if err != nil {
		notice(w, 404, "Not found")
		return
	}
	head(w, status)
	_, _ = strings.NewReplacer(replace...).WriteString(w, string(page)) // a browser that has gone is no failure
}

// other is the origin of the other site, as seen from the request's.
func (s *Site) other(r *http.Request) string {
	if strings.HasPrefix(r.Host, "localhost") {
		return s.URL
	}
	return s.Other
}

// head begins a page.
func head(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n")
}

// notice is a page of a single heading.
func notice(w http.ResponseWriter, status int, title string) {
	head(w, status)
	title = html.EscapeString(title)
	_, _ = io.WriteString(w, "<title>"+title+"</title>\n<h1>"+title+"</h1>\n")
}

// pause waits for as many milliseconds as the parameter says; false: somebody gave up.
func (s *Site) pause(r *http.Request) bool {
	t := time.NewTimer(time.Duration(number(r, "ms", 5000)) * time.Millisecond)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-s.done:
	case <-r.Context().Done():
	}
	return false
}

// number is a parameter of an address.
func number(r *http.Request, name string, otherwise int) int {
	if v := r.URL.Query().Get(name); v != "" {
		return atoi(v)
	}
	return otherwise
}
