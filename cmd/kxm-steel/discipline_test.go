//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"kxm/lib/steel"
	"kxm/lib/steel/steeltest"
)

// forbidden are the methods that are never sent: they reach into other tabs, or end what
// is not ours alone.
var forbidden = []string{"Target.setAutoAttach", "Target.setDiscoverTargets", "Browser.close", "Browser.crash"}

// A verb about a page opens one socket and asks the server at most once beside it, sends
// nothing that is forbidden, attaches to no tab but its own, and leaves nothing behind:
// nothing that runs, nothing that is open, and no key.
func TestDisciplineOfEveryVerb(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.server.Set("key", rightKey)
	w.server.Set("cdp", "header")
	const mark = "KXM_TEST_MARK=discipline"
	w.client = w.client.with(mark).with(keyCommand(t, rightKey))
	w.every(t, func(t *testing.T, e *example) {
		if e.from == "" { // a tab that is not the session's
			if err := w.server.OpenPage(t.Context(), w.site.URL+"/about?foreign"); err != nil {
				t.Fatal(err)
			}
			if e.to != none { // a release closes it
				defer func() {
					if err := w.server.ClosePage(t.Context(), "?foreign"); err != nil {
						t.Error(err)
					}
				}()
			}
		}
		tab := w.current(t)
		if e.from == "" && tab == "" {
			t.Fatal("the record has no current tab")
		}
		seen := w.look()
		got := w.call(t, e, "-v")
		if got.status != 0 {
			t.Fatalf("%+v", got)
		}
		w.left(e)
		w.wantNoSecret(t, got, rightKey)
		now := w.look()
		if !e.changes {
			w.wantCalls(t, e, seen, now)
		}
		for _, f := range now.frames[len(seen.frames):] {
			ours := f.ToBrowser && !(e.verb == "exec" && f.Socket > seen.sockets+1)
			if ours && slices.Contains(forbidden, f.Method) {
				t.Errorf("it sends %s", f.Method)
			}
			var to struct {
				ID string `json:"targetId"`
			}
			_ = json.Unmarshal(f.Params, &to) // those without have none
			if ours && f.Method == "Target.attachToTarget" && to.ID != tab && !e.reaches && !e.changes {
				t.Errorf("it attaches to %s, and its tab is %s", to.ID, tab)
			}
		}
		w.wantNothingLeft(t, mark)
	})
	w.wantNoSecretSent(t, rightKey)
	w.wantChildren(t)
}

// traffic is what the server has seen.
type traffic struct {
	sockets, calls int
	frames         []steeltest.Frame
}

func (w *world) look() traffic {
	return traffic{w.server.Sockets(), w.restCalls(), w.server.Frames()}
}

// restCalls counts requests that are no sockets.
func (w *world) restCalls() int {
	n := 0
	for _, r := range w.server.Requests() {
		if r.Header.Get("Upgrade") == "" {
			n++
		}
	}
	return n
}

func (w *world) wantCalls(t *testing.T, e *example, seen, now traffic) {
	t.Helper()
	sockets, rest := max(0, e.sockets), max(1, e.rest)
	if e.sockets == 0 {
		sockets = 1
	}
	if got := now.sockets - seen.sockets; got != sockets {
		t.Errorf("it opens %d sockets, want %d", got, sockets)
	}
	if got := now.calls - seen.calls; got > rest {
		t.Errorf("it asks the server %d times, want at most %d", got, rest)
	}
}

// current returns the target of the session's current tab, or "".
func (w *world) current(t *testing.T) string {
	t.Helper()
	for _, r := range w.records(t) {
		for _, tab := range r.Tabs {
			if r.Phase == steel.Open && tab.Tab == r.Tab {
				return tab.TargetID
			}
		}
	}
	return ""
}

// wantNothingLeft wants no socket to be open and no process to run that was started with
// a variable.
func (w *world) wantNothingLeft(t *testing.T, variable string) {
	t.Helper()
	start := time.Now()
	for {
		left := started(variable)
		if open := w.server.Open(); open > 0 {
			left = append(left, fmt.Sprintf("%d sockets", open))
		}
		if len(left) == 0 {
			return
		}
		if time.Since(start) > 10*time.Second {
			t.Fatalf("left are %q", left)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// started are the processes that have a variable in their environment.
func started(variable string) []string {
	var all []string
	files, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is good
	for _, name := range files {
		if environ, err := os.ReadFile(name); err == nil && strings.Contains("\x00"+string(environ), "\x00"+variable+"\x00") {
			all = append(all, name)
		}
	}
	return all
}

// Calls that do not depend on one another are sent without waiting.
func TestWaitsForTheBrowser(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, c := range []struct {
		line string
		page string
		most int
	}{
		{"get url", "/buttons", 4},
		{"get text css=h1", "/buttons", 4},
		{"eval document.title", "/buttons", 4},
		{"click text=Plain", "/buttons", 8},
		{"fill label=Plain text", "/fields", 8},
		{"fill label=Model text", "/fields", 8},
	} {
		w.bring(t, &example{page: c.page})
		w.server.Set("frame-delay", "50ms") // each way, so that what is sent at once is told from what waits
		seen := w.look()
		if e := w.run(t, strings.Fields(c.line)...); e.status != 0 {
			t.Errorf("%s: %+v", c.line, e)
		}
		w.server.Set("frame-delay", "")
		if got := waits(w.server.Frames()[len(seen.frames):]); got > c.most || got < 2 {
			t.Errorf("%s waits %d times, want at most %d", c.line, got, c.most)
		} else {
			t.Logf("%s waits %d times", c.line, got)
		}
	}
	w.end(t)
}

// waits counts how often a client had nothing to do but to wait for an answer: each time
// that it called after it was answered, and once at the end.
func waits(frames []steeltest.Frame) int {
	n, answered := 1, false
	for _, f := range frames {
		switch {
		case f.ToBrowser && answered:
			n, answered = n+1, false
		case !f.ToBrowser && f.ID > 0:
			answered = true
		}
	}
	return n
}
