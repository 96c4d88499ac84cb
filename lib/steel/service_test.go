package steel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"kxm/lib/fault"
	"kxm/lib/steel/steeltest"
)

// noon is the clock of the tests.
func noon() time.Time { return time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC) }

// limits are short, since some servers here never answer.
var limits = Limits{Read: 2 * time.Second, Create: time.Second, Release: time.Second, OneShot: time.Second}

// newService returns a service with a server and a state folder of its own.
func newService(t *testing.T, env ...string) (*Service, *steeltest.Server) {
	t.Helper()
	server := steeltest.New(noon)
	t.Cleanup(func() {
		if c := server.Complaints(); len(c) > 0 {
			t.Errorf("calls overlapped: %v", c)
		}
		server.Close()
	})
	return serviceFor(t, append([]string{"STEEL_API_URL=" + server.URL, "KXM_STEEL_STATE=" + filepath.Join(t.TempDir(), "state")}, env...)...), server
}

func serviceFor(t *testing.T, env ...string) *Service {
	t.Helper()
	set, err := load(t, "", env...)
	if err != nil {
		t.Fatal(err)
	}
	e := NewEndpoint(set, NewClient(), os.Environ(), &Secrets{})
	e.Limits = limits
	store, err := OpenStore(set, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	n := 0
	return &Service{Endpoint: e, Store: store, Now: noon, LockWait: 50 * time.Millisecond, Hurry: true, NewID: func() string {
		n++
		return fmt.Sprintf("6f0c8b9e-0000-4000-8000-%012d", n)
	}}
}

// mustStart starts a session and returns its record.
func mustStart(t *testing.T, s *Service) *Record {
	t.Helper()
	started, err := s.Start(t.Context(), &StartOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Store.Read(started.ID)
	if err != nil || r == nil || r.Phase != Open {
		t.Fatalf("%+v, %v", r, err)
	}
	return r
}

// wantPhase reads a record and compares its phase.
func wantPhase(t *testing.T, s *Service, id string, want Phase) {
	t.Helper()
	if r, err := s.Store.Read(id); err != nil || r == nil || r.Phase != want {
		t.Errorf("the record is %+v (%v), want phase %s", r, err, want)
	}
}

func TestACreateThatHangsLeavesARecord(t *testing.T) {
	t.Parallel()
	s, server := newService(t)
	server.Set("create", "hang")
	_, err := s.Start(t.Context(), &StartOptions{})
	if !fault.Is(err, fault.SteelCreateFailed) || !strings.Contains(err.Error(), "no answer within 1s") {
		t.Errorf("%v", err)
	}
	wantPhase(t, s, "6f0c8b9e-0000-4000-8000-000000000001", Creating)
	if server.Count("POST", "/v1/sessions") != 1 {
		t.Error("the create was repeated")
	}
}

// The server cannot be asked what became of the create.
func TestACreateWhoseFateIsUnknownLeavesARecord(t *testing.T) {
	t.Parallel()
	s, server := newService(t)
	server.Set("create", "lost")
	server.Set("list-fails", "yes")
	if _, err := s.Start(t.Context(), &StartOptions{}); !fault.Is(err, fault.SteelCreateFailed) {
		t.Errorf("%v", err)
	}
	id := "6f0c8b9e-0000-4000-8000-000000000001"
	wantPhase(t, s, id, Creating)
	server.Set("status", "")
	server.Set("list-fails", "")
	w, err := s.Sweep(t.Context(), SweepOptions{Release: true})
	if err != nil || len(w.Orphans) != 1 || w.Orphans[0].Kind != KindUnfinished || !w.Orphans[0].Released || len(server.Live()) != 0 {
		t.Errorf("%+v, %v; live %v", w, err, server.Live())
	}
	wantPhase(t, s, id, Closed)
}

func TestACreateThatIsRefusedClosesItsRecord(t *testing.T) {
	t.Parallel()
	s, _ := newService(t)
	r := s.record(s.NewID(), "", time.Minute)
	s.begin(r, "session start")
	for _, cause := range []error{
		fault.New(fault.SteelUnauthorized, "x"), fault.New(fault.SteelRateLimited, "x"), fault.New(fault.SteelRedirected, "x"),
		&fault.Error{Code: fault.SteelUnreachable, Err: syscall.ECONNREFUSED},
	} {
		if _, err := s.lostCreate(t.Context(), r, cause); !errors.Is(err, cause) {
			t.Errorf("%v becomes %v", cause, err)
		}
		wantPhase(t, s, r.ID, Closed)
	}
}

// An interruption waits for the create's answer, and then releases what it made.
func TestAnInterruptedStartLeavesNoSession(t *testing.T) {
	t.Parallel()
	for _, create := range []string{"", "lost"} {
		s, server := newService(t)
		server.Set("delay", "400ms")
		server.Set("create", create)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			defer cancel()
			for server.Count("POST", "/v1/sessions") == 0 && t.Context().Err() == nil {
				time.Sleep(5 * time.Millisecond)
			}
		}()
		if _, err := s.Start(ctx, &StartOptions{}); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		if live := server.Live(); len(live) != 0 || server.Count("POST", "/v1/sessions") != 2 {
			t.Errorf("live are %v after %d calls", live, server.Count("POST", "/v1/sessions"))
		}
		wantPhase(t, s, "6f0c8b9e-0000-4000-8000-000000000001", Closed)
	}
}

// An interruption before the create sends none, also where nothing was asked before.
func TestAnInterruptionBeforeTheCreateSendsNone(t *testing.T) {
	t.Parallel()
	for _, env := range [][]string{nil, {"KXM_STEEL_MODE=cloud", "KXM_STEEL_CDP_BASE=ws://127.0.0.1:1", "STEEL_API_KEY=a-key-of-mine"}} {
		s, server := newService(t, env...)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Start(ctx, &StartOptions{}); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		if rs, err := s.Store.Records(); err != nil || len(rs.All) != 0 || server.Count("POST", "/") != 0 {
			t.Errorf("%+v, %v, %d calls", rs, err, server.Count("POST", "/"))
		}
	}
}

func TestAReleaseThatHangsKeepsTheRecord(t *testing.T) {
	t.Parallel()
	s, server := newService(t)
	r := mustStart(t, s)
	server.Set("release", "hang")
	if _, err := s.Release(t.Context(), r, WipeByMode); !fault.Is(err, fault.SteelReleaseFailed) {
		t.Errorf("%v", err)
	}
	wantPhase(t, s, r.ID, Releasing)
	server.Set("release", "")
	if done, err := s.Release(t.Context(), r, WipeByMode); err != nil || !done.Released {
		t.Errorf("%+v, %v", done, err)
	}
	wantPhase(t, s, r.ID, Closed)
}

func TestLocksThatAreHeld(t *testing.T) {
	t.Parallel()
	s, server := newService(t)
	r := mustStart(t, s)
	before := len(server.Requests())
	held, err := s.Store.lockEndpoint(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Start(t.Context(), &StartOptions{}); !fault.Is(err, fault.SteelEndpointBusy) {
		t.Errorf("start: %v", err)
	}
	if _, err := s.Release(t.Context(), r, WipeByMode); !fault.Is(err, fault.SteelEndpointBusy) {
		t.Errorf("release: %v", err)
	}
	if _, err := s.Sweep(t.Context(), SweepOptions{Release: true}); !fault.Is(err, fault.SteelEndpointBusy) {
		t.Errorf("sweep: %v", err)
	}
	if _, err := s.Scrape(t.Context(), &ScrapeOptions{URL: "about:blank", Format: "markdown"}); !fault.Is(err, fault.SteelEndpointBusy) {
		t.Errorf("scrape: %v", err)
	}
	if len(server.Requests()) != before {
		t.Error("the server was asked without the lock")
	}
	if err := held.Release(); err != nil {
		t.Fatal(err)
	}

	// A session that a program uses is no orphan, however old.
	held, err = s.Store.lockSession(t.Context(), r.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Release()
	s.Now = func() time.Time { return noon().Add(time.Hour) }
	if w, err := s.Sweep(t.Context(), SweepOptions{Release: true}); err != nil || len(w.Orphans) != 0 {
		t.Errorf("%+v, %v", w, err)
	}
}

func TestWaitingForTheServer(t *testing.T) {
	t.Parallel()
	s, server := newService(t)
	r := mustStart(t, s)
	other := *s
	other.NewID = func() string { return "6f0c8b9e-0000-4000-8000-00000000ffff" }
	var done sync.WaitGroup
	done.Go(func() {
		time.Sleep(300 * time.Millisecond)
		if _, err := s.Release(context.WithoutCancel(t.Context()), r, WipeByMode); err != nil {
			t.Errorf("the lock is held while waiting: %v", err)
		}
	})
	started, err := other.Start(t.Context(), &StartOptions{Wait: 20 * time.Second})
	done.Wait()
	if err != nil || len(server.Live()) != 1 || server.Live()[0] != started.ID {
		t.Errorf("%+v, %v; live %v", started, err, server.Live())
	}
}

// A release looks at the list under the lock: a record that was read before another
// program released its session ends nothing.
func TestAReleaseReadsItsRecordAgain(t *testing.T) {
	t.Parallel()
	s, server := newService(t)
	old := mustStart(t, s)
	fresh, _ := s.Store.Read(old.ID)
	if _, err := s.Release(t.Context(), fresh, WipeByMode); err != nil {
		t.Fatal(err)
	}
	foreign := server.Foreign()
	done, err := s.Release(t.Context(), old, WipeByMode)
	if err != nil || done.Released || len(server.Live()) != 1 || server.Live()[0] != foreign {
		t.Errorf("%+v, %v; live %v", done, err, server.Live())
	}
}

func TestUnreachableServers(t *testing.T) {
	t.Parallel()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	trusted := httptest.NewUnstartedServer(http.NotFoundHandler())
	trusted.Config.ErrorLog = log.New(io.Discard, "", 0)
	trusted.StartTLS()
	defer trusted.Close()
	for name, c := range map[string]struct{ url, want string }{
		"TLS to a plain server": {"https://" + strings.TrimPrefix(plain.URL, "http://"), "the TLS handshake failed"},
		"unknown authority":     {trusted.URL, "its TLS certificate is not trusted"},
		"refused":               {"http://127.0.0.1:1", "connection refused"},
	} {
		s := serviceFor(t, "STEEL_API_URL="+c.url, "KXM_STEEL_STATE="+filepath.Join(t.TempDir(), "state"), "STEEL_API_KEY=a-key-of-mine")
		_, err := s.List(t.Context())
		if !fault.Is(err, fault.SteelUnreachable) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "/v1") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestKeysGoOutInHeadersAlone(t *testing.T) {
	t.Parallel()
	const key = `k+/=%&"key-1234`
	s, server := newService(t, "STEEL_API_KEY="+key)
	server.Set("key", key)
	r := mustStart(t, s)
	if _, err := s.Release(t.Context(), r, WipeByMode); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Screenshot(t.Context(), "about:blank", false, false); err != nil {
		t.Fatal(err)
	}
	for _, q := range server.Requests() {
		if q.Header.Get("x-steel-api-key") != key || q.Header.Get("steel-api-key") != key {
			t.Errorf("%s %s lacks the key", q.Method, q.Path)
		}
		var known Secrets
		known.Add(key)
		delete(q.Header, "X-Steel-Api-Key")
		delete(q.Header, "Steel-Api-Key")
		if text := fmt.Sprint(q); known.Mask(text) != text {
			t.Errorf("the key is elsewhere, too: %s", text)
		}
	}
}

func TestDoctorChangesNothing(t *testing.T) {
	t.Parallel()
	s, server := newService(t)
	mustStart(t, s)
	tree := func() string {
		var b strings.Builder
		err := filepath.WalkDir(s.Settings.StateDir, func(path string, d os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err == nil {
				fmt.Fprintln(&b, path, info.Size(), info.ModTime(), info.Mode())
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	before, posts := tree(), server.Count("POST", "/")
	s.Now = func() time.Time { return noon().Add(time.Hour) }
	s.Diagnose(t.Context(), nil)
	if _, err := s.Sweep(t.Context(), SweepOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Merge(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if after := tree(); after != before || server.Count("POST", "/") != posts {
		t.Errorf("the state was\n%sand is\n%s", before, after)
	}
}

func TestServerMessages(t *testing.T) {
	for body, want := range map[string]string{
		`{"message":"no"}`: "no", `{"error":"no"}`: "no", `{"message":{"a":1}}`: "", `{"statusCode":500,"error":"E","message":"m"}`: "m",
		"plain text\n": "plain text", "<html><TITLE lang=en>\n a  b </TITLE>": "a b", "<p>no title</p>": "", "": "", "\xff": "\uFFFD", "<title>open": "", "null": "",
	} {
		if got := ServerMessage([]byte(body)); got != want {
			t.Errorf("%q: %q, want %q", body, got, want)
		}
	}
	if got := clip(strings.Repeat("é", 301)); got != strings.Repeat("é", 300)+"…" {
		t.Errorf("%d bytes are quoted", len(got))
	}
}

func FuzzServerMessage(f *testing.F) {
	for _, s := range []string{`{"message":"no"}`, "<title>a</title>", "İ<title>x</title", "\xff\xfe"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) { clip(ServerMessage(body)) })
}

func FuzzListing(f *testing.F) {
	f.Add([]byte(`{"sessions":[{"id":"a","status":"live","createdAt":"2026-09-01T12:00:00Z","duration":1e300}],"nextCursor":"2"}`))
	f.Add([]byte(`{"sessions":[{}]}`))
	f.Add([]byte(`{"sessions":null}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, mode := range []Mode{Self, Cloud} {
			l := &Listing{mode: mode}
			if _, err := l.add(body); err != nil {
				if !fault.Is(err, fault.SteelBadResponse) {
					t.Errorf("%v", err)
				}
				continue
			}
			for _, v := range l.Live() {
				v.age(noon())
				if !l.IsLive(v.ID) {
					t.Errorf("%q is live and is not", v.ID)
				}
			}
		}
	})
}

func TestCursorsAndCuts(t *testing.T) {
	for html, want := range map[string]string{
		`a<div id="__cursor__" x></div>b<div id="__cursor__"></div>`: "ab", `<div id="__cursor__"`: `<div id="__cursor__"`, "": "",
	} {
		if got := withoutCursor(html); got != want {
			t.Errorf("%q: %q", html, got)
		}
	}
	for n, want := range map[int]string{0: "aé", -1: "aé", 1: "a", 2: "a", 3: "aé"} {
		if got, cut := cutText("aé", n); got != want || cut != (got != "aé") {
			t.Errorf("%d: %q, %v", n, got, cut)
		}
	}
	for link, want := range map[string]string{
		"https://api.steel.dev/x?a=1": "https://api.steel.dev/x?a=1&interactive=true&showControls=true",
		"http://api.steel.dev/x":      "", "https://steel.dev.example.com/x": "", "https://u@api.steel.dev/x": "", "": "", "%": "",
	} {
		if got := cloudViewer(link); got != want {
			t.Errorf("%q: %q, want %q", link, got, want)
		}
	}
}
