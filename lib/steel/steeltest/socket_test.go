package steeltest

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"kxm/lib/cdp"
)

// status is what a handshake is answered with: 101 if a socket is opened.
func status(t *testing.T, s *Server, path string, header ...string) (int, string) {
	t.Helper()
	h := http.Header{}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	c, err := cdp.Dial(t.Context(), cdp.Options{URL: "ws" + strings.TrimPrefix(s.URL, "http") + path, Header: h})
	if err == nil {
		c.Close()
		return 101, ""
	}
	var refused *cdp.DialError
	if !errors.As(err, &refused) {
		t.Fatal(err)
	}
	return refused.Status, string(refused.Body)
}

func TestSockets(t *testing.T) {
	t.Parallel()
	s := newBrowser(t)
	if got, _ := status(t, s, "/any/path?at=all"); got != 101 {
		t.Errorf("without a key: %d", got)
	}
	s.Set("key", "k+y")
	for _, c := range []struct {
		where, path string
		header      []string
		want        int
	}{
		{"", "/", nil, 401},
		{"", "/?apiKey=no", nil, 403},
		{"", "/?apiKey=k%2By", nil, 101},
		{"", "/", []string{"steel-api-key", "k+y"}, 101},
		{"header", "/?apiKey=k%2By", nil, 401},
		{"header", "/", []string{"x-steel-api-key", "k+y"}, 101},
		{"query", "/", []string{"steel-api-key", "k+y"}, 401},
		{"query", "/?apiKey=k%2By", nil, 101},
	} {
		s.Set("cdp", c.where)
		if got, _ := status(t, s, c.path, c.header...); got != c.want {
			t.Errorf("key in %q, %s %v: %d, want %d", c.where, c.path, c.header, got, c.want)
		}
	}
	s.Set("mode", "cloud")
	ask(t, "POST", s.URL+"/v1/sessions", `{}`) // no key
	for path, want := range map[string]int{"/": 401, "/?apiKey=k%2By&sessionId=other": 404, "/v1/devtools?apiKey=k%2By&sessionId=" + s.Foreign(): 404, "/?apiKey=k%2By&sessionId=" + s.Foreign(): 101} {
		if got, _ := status(t, s, path); got != want {
			t.Errorf("cloud, %s: %d, want %d", path, got, want)
		}
	}
	s.Set("mode", "")
	s.Set("key", "")
	s.Set("host", "forwarded")
	if got, body := status(t, s, "/"); got != 500 || strings.TrimSpace(body) != chromiumOnHost(t, s) {
		t.Errorf("with another host: %d %s", got, body)
	}
	if s.Sockets() != 6 {
		t.Errorf("%d sockets", s.Sockets())
	}
}

// chromiumOnHost is what Chromium says when it is addressed by a name.
func chromiumOnHost(t *testing.T, s *Server) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), "GET", "http"+strings.TrimPrefix(s.chromium().Address, "ws"), nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = "steel.example.com"
	r, err := direct.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != 500 {
		t.Errorf("%v, %d", err, r.StatusCode)
	}
	return strings.TrimSpace(string(body))
}

func TestFrames(t *testing.T) {
	t.Parallel()
	s := newBrowser(t)
	v := open(t, s)
	v.eval("1")
	var calls []string
	for _, f := range s.Frames() {
		if f.Socket != 1 || f.Bytes == 0 || f.ToBrowser && (f.ID == 0 || f.Method == "") {
			t.Errorf("%+v", f)
		}
		if f.ToBrowser {
			calls = append(calls, f.Method)
		}
	}
	if got := strings.Join(calls, " "); got != "Target.getTargets Target.attachToTarget Page.enable Runtime.evaluate" {
		t.Errorf("calls are %s", got)
	}
	last := s.Frames()[len(s.Frames())-1]
	if last.ToBrowser || last.ID != 4 || last.Session != v.session {
		t.Errorf("the last is %+v", last)
	}
	// A way that takes 300 ms there and back takes ten calls at once no longer than one.
	s.Set("frame-delay", "150ms")
	start := time.Now()
	var sent []*cdp.Pending
	for range 10 {
		sent = append(sent, v.conn.Send(v.session, "Runtime.evaluate", map[string]any{"expression": "1"}))
	}
	for _, p := range sent {
		if err := p.Wait(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(start); took < 300*time.Millisecond || took >= 3*time.Second {
		t.Errorf("ten calls at once took %v", took)
	}
}
