package steeltest

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"kxm/lib/cdp"
)

// A release goes on when the tab that does not answer has been closed, also if who asked
// for it has given up.
func TestReleaseHangsOverAStuckTab(t *testing.T) {
	t.Parallel()
	s, site := newBrowser(t), newSite(t)
	for _, c := range []struct{ path, script string }{{"/dialogs", `setTimeout(() => alert("late"))`}, {"/endless", "setTimeout(spin)"}} {
		create(t, s, `{"sessionId":"a"}`)
		v := open(t, s)
		v.visit(site.URL + c.path)
		v.conn.Close() // nobody is there who could answer a dialog
		must(t, s.Person(t.Context(), c.path, c.script))
		must(t, s.AwaitStuck(t.Context(), c.path))
		ctx, cancel := context.WithTimeout(t.Context(), 2*pingTime)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, "POST", s.URL+"/v1/sessions/a/release", strings.NewReader("{}"))
		must(t, err)
		if _, err := http.DefaultClient.Do(request); !errors.Is(err, context.DeadlineExceeded) || len(s.Live()) != 1 {
			t.Errorf("%s: %v, live are %v", c.path, err, s.Live())
		}
		must(t, s.ClosePage(t.Context(), c.path))
		for s.changes() {
			time.Sleep(pollTime)
		}
		if live := s.Live(); len(live) > 0 {
			t.Errorf("%s: live are %v after the release", c.path, live)
		}
	}
}

// changes reports whether a call is changing the server.
func (s *Server) changes() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changing != ""
}

func TestDelays(t *testing.T) {
	t.Parallel()
	s := New(time.Now)
	for _, c := range []struct{ knob, method, path string }{
		{"delay", "POST", "/v1/sessions"}, {"delay-list", "GET", "/v1/sessions"}, {"delay-release", "POST", "/v1/sessions/a/release"},
		{"delay-scrape", "POST", "/v1/scrape"}, {"delay-scrape", "POST", "/v1/screenshot"}, {"delay-scrape", "POST", "/v1/pdf"},
	} {
		s.Set(c.knob, "200ms")
		start := time.Now()
		if status, _ := ask(t, c.method, s.URL+c.path, "{}"); status != 200 {
			t.Errorf("%s: %d", c.path, status)
		}
		if took := time.Since(start); took < 200*time.Millisecond {
			t.Errorf("%s %s took %v", c.method, c.path, took)
		}
		s.Set(c.knob, "")
	}
	s.Set("delay-list", "1h") // which the end of the server ends
	var waiting sync.WaitGroup
	waiting.Go(func() { ask(t, "GET", s.URL+"/v1/sessions", "") })
	for s.Count("GET", "/v1/sessions") < 2 {
		time.Sleep(time.Millisecond)
	}
	s.Close()
	waiting.Wait()
}

func TestASocketThatIsDropped(t *testing.T) {
	t.Parallel()
	s := newBrowser(t)
	s.Set("drop-after", "4")
	v := open(t, s) // three calls
	v.eval("document.title = 'four'")
	err := v.conn.Call(t.Context(), v.session, "Runtime.evaluate", map[string]any{"expression": "document.title = 'five'"}, nil)
	if !errors.Is(err, cdp.ErrLost) {
		t.Errorf("the fifth call: %v", err)
	}
	if n := s.Calls("Runtime.evaluate"); n != 2 {
		t.Errorf("%d calls were sent", n)
	}
	s.Set("drop-after", "")
	if got := open(t, s).eval("document.title"); got != "four" {
		t.Errorf("the page's title is %s", got)
	}
}
