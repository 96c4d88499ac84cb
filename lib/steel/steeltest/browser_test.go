package steeltest

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kxm/lib/cdp"
)

// newBrowser starts a server with a Chromium.
func newBrowser(t *testing.T) *Server {
	t.Helper()
	s := New(time.Now)
	t.Cleanup(func() {
		if c := s.Complaints(); len(c) > 0 {
			t.Errorf("complaints are %v", c)
		}
		s.Close()
	})
	if err := s.StartBrowser(t.Context(), ChromiumOf(os.Getenv)); err != nil {
		t.Fatal(err)
	}
	return s
}

// must goes on if nothing failed.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// tab is a tab that a test drives.
type tab struct {
	t       *testing.T
	conn    *cdp.Conn
	target  string
	session string
}

func dial(t *testing.T, s *Server, path string) (*cdp.Conn, error) {
	t.Helper()
	c, err := cdp.Dial(t.Context(), cdp.Options{URL: "ws" + strings.TrimPrefix(s.URL, "http") + path})
	if err == nil {
		t.Cleanup(c.Close)
	}
	return c, err
}

// open opens a socket and attaches to the first page.
func open(t *testing.T, s *Server) *tab {
	t.Helper()
	c, err := dial(t, s, "/v1/devtools?sessionId=any")
	if err != nil {
		t.Fatal(err)
	}
	v := &tab{t: t, conn: c}
	var targets struct {
		Infos []Page `json:"targetInfos"`
	}
	v.call("Target.getTargets", nil, &targets)
	for _, p := range targets.Infos {
		if p.Type == "page" {
			v.target = p.ID
		}
	}
	var attached struct{ SessionID string }
	v.call("Target.attachToTarget", map[string]any{"targetId": v.target, "flatten": true}, &attached)
	v.session = attached.SessionID
	v.call("Page.enable", nil, nil)
	return v
}

func (v *tab) call(method string, params, result any) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.t.Context(), time.Minute)
	defer cancel()
	if err := v.conn.Call(ctx, v.session, method, params, result); err != nil {
		v.t.Fatalf("%s: %v", method, err)
	}
}

// visit loads a page.
func (v *tab) visit(address string) {
	v.t.Helper()
	loaded := make(chan struct{}, 1)
	defer v.conn.On(v.session, "Page.loadEventFired", func(json.RawMessage) {
		select {
		case loaded <- struct{}{}:
		default:
		}
	})()
	var answer struct{ ErrorText string }
	v.call("Page.navigate", map[string]any{"url": address}, &answer)
	if answer.ErrorText != "" {
		v.t.Fatalf("%s: %s", address, answer.ErrorText)
	}
	select {
	case <-loaded:
	case <-time.After(time.Minute):
		v.t.Fatalf("%s does not load", address)
	}
}

// eval returns a string, or what JSON makes of anything else.
func (v *tab) eval(expression string) string {
	v.t.Helper()
	var answer struct {
		Result           struct{ Value any }
		ExceptionDetails json.RawMessage
	}
	v.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true, "userGesture": true}, &answer)
	if answer.ExceptionDetails != nil {
		v.t.Fatalf("%s: %s", expression, answer.ExceptionDetails)
	}
	if text, ok := answer.Result.Value.(string); ok {
		return text
	}
	raw, err := json.Marshal(answer.Result.Value)
	if err != nil {
		v.t.Fatal(err)
	}
	return string(raw)
}

// until waits for an expression to be true. A page that is being left has no answer.
func (v *tab) until(expression string) {
	v.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		var answer struct{ Result struct{ Value any } }
		err := v.conn.Call(v.t.Context(), v.session, "Runtime.evaluate", map[string]any{"expression": expression}, &answer)
		if answer.Result.Value == true {
			return
		}
		if errors.Is(err, cdp.ErrLost) || time.Now().After(end) {
			v.t.Fatalf("%s does not come true (%v)", expression, err)
		}
	}
}

// signIn goes through the form of a site.
func (v *tab) signIn(site *Site) {
	v.t.Helper()
	v.visit(site.URL)
	v.eval(`email.value = "` + Email + `"; password.value = "` + Password + `"; document.querySelector("form button").click()`)
	v.until(`document.title == "Home" && document.readyState == "complete"`)
}

// processes returns how many processes have a text in their command line.
func processes(t *testing.T, text string) (n int) {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(names) == 0 {
		t.Fatalf("no list of processes: %v", err)
	}
	for _, name := range names {
		raw, _ := os.ReadFile(name) // it may have ended
		if strings.Contains(string(raw), text) {
			n++
		}
	}
	return n
}

// gone waits until nothing is left of a Chromium: what was killed needs a moment.
func gone(t *testing.T, home string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); processes(t, home) > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d processes are left", processes(t, home))
		}
	}
}

func create(t *testing.T, s *Server, body string) {
	t.Helper()
	if status, text := ask(t, "POST", s.URL+"/v1/sessions", body); status != 200 {
		t.Fatalf("create: %d %s", status, text)
	}
}

func TestBrowserSessions(t *testing.T) {
	t.Parallel()
	s, site := newBrowser(t), newSite(t)
	create(t, s, `{"sessionId":"a"}`)
	v := open(t, s)
	v.signIn(site)
	if got := v.eval(`document.querySelector("h1").textContent`); got != "Welcome Ada" {
		t.Errorf("the page says %q", got)
	}
	v.visit(site.URL + "/store")
	v.until(`out.textContent == "stored"`)

	create(t, s, `{"sessionId":"b"}`) // of a like configuration
	if got := v.eval("location.pathname"); got != "/store" {
		t.Errorf("the first session's socket shows %s", got)
	}
	create(t, s, `{"sessionId":"c","userAgent":"Steel Test","timezone":"Asia/Tokyo","dimensions":{"width":800,"height":600}}`)
	<-v.conn.Done()
	if !errors.Is(v.conn.Err(), cdp.ErrLost) {
		t.Errorf("the first session's socket: %v", v.conn.Err())
	}

	v = open(t, s)
	if got := v.eval("navigator.userAgent + outerWidth + Intl.DateTimeFormat().resolvedOptions().timeZone"); got != "Steel Test800Asia/Tokyo" {
		t.Errorf("the configuration is %s", got)
	}
	for _, after := range []string{"another configuration", "release"} {
		v.visit(site.URL + "/stored")
		v.until(`out.textContent != "busy"`)
		const want = "fleeting lasting sid cookie fleeting\ncookie lasting\nlocal local\nbase base\ncache cache"
		if got := v.eval(`sent.textContent + " " + out.textContent`); got != want {
			t.Errorf("after %s the profile has %q", after, got)
		}
		if after == "release" {
			break
		}
		if status, _ := ask(t, "POST", s.URL+"/v1/sessions/other/release", "{}"); status != 200 || len(s.Live()) != 0 {
			t.Errorf("release: %d, live %v", status, s.Live())
		}
		v = open(t, s)
		if got := v.eval("navigator.userAgent"); !strings.Contains(got, "Chrome/") {
			t.Errorf("the idle browser is %s", got)
		}
	}
	if s.Sockets() != 3 || s.Calls("Page.enable") != 3 || s.Calls("Browser.close") != 0 || s.Calls("Storage.getCookies") != 0 {
		t.Errorf("%d sockets, %d pages", s.Sockets(), s.Calls("Page.enable"))
	}
}

func TestBrowserThatDies(t *testing.T) {
	t.Parallel()
	s := newBrowser(t)
	home := s.browser.home
	create(t, s, `{"sessionId":"a"}`)
	first := open(t, s)
	if processes(t, home) == 0 {
		t.Fatal("no process of the browser is found")
	}
	s.KillBrowser()
	<-first.conn.Done()
	second := open(t, s)
	if live := s.Live(); len(live) != 1 || live[0] != "a" || second.target == first.target {
		t.Errorf("live are %v, the tab is %s, then %s", live, first.target, second.target)
	}
	running := s.chromium()
	_ = second.conn.Send("", "Browser.close", nil)
	<-second.conn.Done()
	for s.chromium() == running || s.chromium() == nil {
		time.Sleep(pollTime)
	}
	open(t, s)

	s.Set("browser", "none")
	if _, err := dial(t, s, "/"); !noAnswer(err) {
		t.Errorf("no browser: %v", err)
	}
	s.KillBrowser()
	s.Set("browser", "")
	if _, err := dial(t, s, "/"); !noAnswer(err) {
		t.Errorf("no browser: %v", err)
	}
	if status, _ := ask(t, "GET", s.URL+"/v1/health", ""); status != 200 {
		t.Errorf("health: %d", status)
	}
	create(t, s, `{"sessionId":"b"}`)
	open(t, s)
	s.Set("create", "fails")
	if status, _ := ask(t, "POST", s.URL+"/v1/sessions", "{}"); status != 500 || len(s.Live()) != 1 {
		t.Errorf("a launch that fails: %d, live %v", status, s.Live())
	}
	if _, err := dial(t, s, "/"); !noAnswer(err) {
		t.Errorf("after a launch that failed: %v", err)
	}
	gone(t, home)
}

// noAnswer tells that a handshake was dropped.
func noAnswer(err error) bool {
	var refused *cdp.DialError
	return errors.As(err, &refused) && refused.Status == 0
}

func TestNothingIsLeftOfABrowser(t *testing.T) {
	t.Parallel()
	s := New(time.Now)
	if err := s.StartBrowser(t.Context(), ChromiumOf(os.Getenv)); err != nil {
		t.Fatal(err)
	}
	open(t, s)
	home := s.browser.home
	s.Close()
	gone(t, home)
	if _, err := os.Stat(home); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the profile is left: %v", err)
	}
}

func TestAProgramThatIsNoChromium(t *testing.T) {
	t.Parallel()
	for _, program := range []Program{{"kxm-no-such-browser", os.Getenv("PATH")}, {"false", os.Getenv("PATH")}} {
		s := New(time.Now)
		s.Set("browser", "none") // rather than a pretended one
		if err := s.StartBrowser(t.Context(), program); err == nil || !strings.Contains(err.Error(), program.Name+" did not start: it ended") {
			t.Errorf("%s: %v", program.Name, err)
		}
		if _, err := dial(t, s, "/"); !noAnswer(err) {
			t.Errorf("%s: %v", program.Name, err)
		}
		s.Close()
	}
}
