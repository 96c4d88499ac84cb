package steeltest

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// ask sends a request and returns status and body.
func ask(t *testing.T, method, url, body string) (int, string) {
	t.Helper()
	var in io.Reader
	if body != "" {
		in = strings.NewReader(body)
	}
	request, err := http.NewRequestWithContext(t.Context(), method, url, in)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, ""
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(raw)
}

type listed struct {
	Sessions []struct {
		ID, Status string
		Timeout    int64
	}
}

func list(t *testing.T, s *Server) listed {
	t.Helper()
	_, body := ask(t, "GET", s.URL+"/v1/sessions", "")
	var l listed
	if err := json.Unmarshal([]byte(body), &l); err != nil {
		t.Fatal(err)
	}
	return l
}

// The facts about the open-source server that the client has to survive.
func TestOddBehaviours(t *testing.T) {
	s := New(time.Now)
	defer s.Close()
	sessions := s.URL + "/v1/sessions"

	first, second := list(t, s), list(t, s)
	if len(first.Sessions) != 1 || first.Sessions[0].Status != "idle" || first.Sessions[0].ID == second.Sessions[0].ID {
		t.Errorf("the placeholder is %+v, then %+v", first, second)
	}
	if status, body := ask(t, "POST", sessions, ""); status != 400 || !strings.Contains(body, "FST_ERR_VALIDATION") {
		t.Errorf("no body: %d %s", status, body)
	}
	if status, _ := ask(t, "POST", sessions, "{"); status != 500 {
		t.Errorf("broken JSON: %d", status)
	}
	for _, id := range []string{"one", "two"} {
		if status, body := ask(t, "POST", sessions, `{"sessionId":"`+id+`","timeout":1000}`); status != 200 || !strings.Contains(body, `"id":"`+id+`"`) || !strings.Contains(body, `"timeout":0`) {
			t.Errorf("create %s: %d %s", id, status, body)
		}
	}
	if l := list(t, s); l.Sessions[0].ID != "two" || l.Sessions[0].Status != "live" || l.Sessions[1].ID != "one" || l.Sessions[1].Status != "released" {
		t.Errorf("a second create does not replace the first: %+v", l)
	}
	if status, body := ask(t, "GET", sessions+"/invented", ""); status != 200 || !strings.Contains(body, `"status":"released"`) || !strings.Contains(body, `"duration":0`) {
		t.Errorf("an unknown id: %d %s", status, body)
	}
	if status, _ := ask(t, "POST", sessions+"/invented/release", "{}"); status != 200 || len(s.Live()) != 0 {
		t.Errorf("a release with another id: %d, live %v", status, s.Live())
	}
	if status, _ := ask(t, "POST", sessions+"/invented/release", "{}"); status != 200 {
		t.Errorf("a release on an idle server: %d", status)
	}
	if status, _ := ask(t, "GET", s.URL+"/v1/health", ""); status != 200 {
		t.Errorf("health without a browser: %d", status)
	}
	if len(s.Complaints()) != 0 {
		t.Errorf("calls one after the other overlap: %v", s.Complaints())
	}
}

func TestOverlappingCallsAreNoticed(t *testing.T) {
	s := New(time.Now)
	defer s.Close()
	s.Set("delay", "300ms")
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() { ask(t, "POST", s.URL+"/v1/sessions", `{}`) })
	}
	both.Wait()
	if len(s.Complaints()) != 1 {
		t.Errorf("complaints are %v", s.Complaints())
	}
}

func TestCloud(t *testing.T) {
	s := New(time.Now)
	defer s.Close()
	s.Set("mode", "cloud")
	for _, id := range []string{"a", "b", "c"} {
		if _, body := ask(t, "POST", s.URL+"/v1/sessions", `{"sessionId":"`+id+`","timeout":1000}`); !strings.Contains(body, `"timeout":1000`) {
			t.Errorf("%s: %s", id, body)
		}
	}
	if status, _ := ask(t, "GET", s.URL+"/v1/sessions/invented", ""); status != 404 {
		t.Errorf("an unknown id: %d", status)
	}
	if l := list(t, s); len(l.Sessions) != 2 || len(s.Live()) != 3 {
		t.Errorf("a page is %+v of %v", l, s.Live())
	}
	ask(t, "POST", s.URL+"/v1/sessions/b/release", "{}")
	if live := strings.Join(s.Live(), " "); live != "c a" {
		t.Errorf("live are %s", live)
	}
}
