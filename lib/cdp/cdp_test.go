package cdp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// browser serves a socket with a function, and returns its address.
func browser(t *testing.T, serve func(*Socket)) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s, err := Accept(w, r)
		if err != nil {
			return
		}
		defer s.Drop()
		serve(s)
	}))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return "ws" + strings.TrimPrefix(server.URL, "http")
}

func dial(t *testing.T, address string) *Conn {
	t.Helper()
	c, err := Dial(t.Context(), Options{URL: address})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// echo answers each call with its own parameters, an Error for "refuse", an event before the
// answer for "event", nothing for "never", and ends for "end".
func echo(s *Socket) {
	for {
		message, err := s.Read(context.Background())
		if err != nil {
			return
		}
		var call struct {
			ID        int64           `json:"id"`
			SessionID string          `json:"sessionId"`
			Method    string          `json:"method"`
			Params    json.RawMessage `json:"params"`
		}
		if err := json.Unmarshal(message, &call); err != nil {
			return
		}
		id := strconv.FormatInt(call.ID, 10)
		write := func(text string) { _ = s.Write(context.Background(), []byte(text)) }
		switch call.Method {
		case "end":
			return
		case "never":
		case "refuse":
			write(`{"id":` + id + `,"error":{"code":-32000,"message":"No dialog is showing"}}`)
		case "event":
			for i := range 3 {
				write(`{"method":"Page.seen","sessionId":"` + call.SessionID + `","params":{"n":` + strconv.Itoa(i) + `}}`)
			}
			write(`{"id":` + id + `}`)
		case "noise":
			for _, text := range []string{"", "{", "[]", "7", `{"id":-1}`, `{"id":"x"}`, `{}`, `{"id":999999,"result":{}}`, `{"method":"Un.known"}`} {
				write(text)
			}
			write(`{"id":` + id + `,"result":{}}`)
		default:
			write(`{"id":` + id + `,"result":` + string(call.Params) + `}`)
		}
	}
}

func TestCall(t *testing.T) {
	c := dial(t, browser(t, echo))
	var got struct{ A int }
	if err := c.Call(t.Context(), "", "say", map[string]int{"A": 7}, &got); err != nil || got.A != 7 {
		t.Errorf("got %+v, %v", got, err)
	}
	var raw json.RawMessage
	if err := c.Call(t.Context(), "S", "say", []int{1}, &raw); err != nil || string(raw) != "[1]" {
		t.Errorf("got %s, %v", raw, err)
	}
	err := c.Call(t.Context(), "", "refuse", nil, nil)
	if err == nil || err.Error() != "refuse: No dialog is showing" || !Says(err, "No dialog") || Says(err, "Yes") {
		t.Errorf("got %v", err)
	}
	if err := c.Call(t.Context(), "", "say", "text", &got); err == nil || !strings.Contains(err.Error(), "another form") {
		t.Errorf("a result of another form gave %v", err)
	}
	if err := c.Call(t.Context(), "", "noise", nil, nil); err != nil {
		t.Errorf("after noise: %v", err)
	}
	if err := c.Call(t.Context(), "", "say", func() {}, nil); err == nil || len(c.pending) != 0 {
		t.Errorf("what cannot be encoded gave %v, %d pending", err, len(c.pending))
	}
}

func TestConcurrentCalls(t *testing.T) {
	c := dial(t, browser(t, echo))
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			var got int
			if err := c.Call(t.Context(), "", "say", i, &got); err != nil || got != i {
				t.Errorf("call %d got %d, %v", i, got, err)
			}
		})
	}
	wg.Wait()
}

func TestEventsComeBeforeTheAnswer(t *testing.T) {
	c := dial(t, browser(t, echo))
	var seen []string // no lock: the answer comes after
	off := c.On("S", "Page.seen", func(p json.RawMessage) { seen = append(seen, string(p)) })
	c.On("other", "Page.seen", func(json.RawMessage) { t.Error("another session's event") })
	if err := c.Call(t.Context(), "S", "event", nil, nil); err != nil {
		t.Fatal(err)
	}
	if strings.Join(seen, "") != `{"n":0}{"n":1}{"n":2}` {
		t.Errorf("saw %v", seen)
	}
	off()
	if err := c.Call(t.Context(), "S", "event", nil, nil); err != nil || len(seen) != 3 {
		t.Errorf("saw %v, %v", seen, err)
	}
}

func TestHandlerMaySend(t *testing.T) {
	c := dial(t, browser(t, echo))
	var sent *Pending
	off := c.On("", "Page.seen", func(json.RawMessage) { sent = c.Send("", "say", 1) })
	defer off()
	if err := c.Call(t.Context(), "", "event", nil, nil); err != nil {
		t.Fatal(err)
	}
	if err := sent.Wait(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

func TestGivenUp(t *testing.T) {
	c := dial(t, browser(t, echo))
	ctx, cancel := context.WithCancel(t.Context())
	p := c.Send("", "never", nil)
	cancel()
	if err := p.Wait(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if len(c.pending) != 0 {
		t.Errorf("%d calls are remembered", len(c.pending))
	}
	if err := c.Call(t.Context(), "", "say", 1, nil); err != nil {
		t.Errorf("the connection did not outlive a call: %v", err)
	}
}

func TestLost(t *testing.T) {
	c := dial(t, browser(t, echo))
	waiting := c.Send("", "never", nil)
	c.Send("", "end", nil)
	if err := waiting.Wait(t.Context(), nil); !errors.Is(err, ErrLost) {
		t.Errorf("got %v", err)
	}
	<-c.Done()
	if err := c.Call(t.Context(), "", "say", 1, nil); !errors.Is(err, ErrLost) || !errors.Is(c.Err(), ErrLost) {
		t.Errorf("later: %v, %v", err, c.Err())
	}
}

func TestCloseLeavesNothing(t *testing.T) {
	address := browser(t, echo)
	before := runtime.NumGoroutine()
	for range 20 {
		c, err := Dial(t.Context(), Options{URL: address})
		if err != nil {
			t.Fatal(err)
		}
		waiting := c.Send("", "never", nil)
		c.Close()
		if err := waiting.Wait(t.Context(), nil); !errors.Is(err, ErrClosed) {
			t.Errorf("got %v", err)
		}
		c.Close() // twice is once
	}
	for range 500 { // the server's side ends a moment later
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
}

func TestDialErrorsHideTheAddress(t *testing.T) {
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "Host header is specified and is not an IP address or localhost.", http.StatusInternalServerError)
	}))
	defer refusing.Close()
	dropping := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if nc, _, err := http.NewResponseController(w).Hijack(); err == nil {
			nc.Close()
		}
	}))
	defer dropping.Close()
	gone := httptest.NewServer(nil)
	gone.Close()
	for _, c := range []struct {
		url    string
		status int
		body   string
		is     error
	}{
		{refusing.URL, 500, "Host header is specified", nil},
		{dropping.URL, 0, "", io.EOF},
		{gone.URL, 0, "", syscall.ECONNREFUSED},
	} {
		_, err := Dial(t.Context(), Options{URL: c.url + "/?apiKey=planted-key"})
		var d *DialError
		if !errors.As(err, &d) || d.Status != c.status || !strings.HasPrefix(string(d.Body), c.body) || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: %v (%+v)", c.url, err, d)
		}
		if strings.Contains(err.Error(), "planted") || strings.Contains(err.Error(), "127.0.0.1") {
			t.Errorf("the message holds the address: %v", err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Dial(ctx, Options{URL: refusing.URL}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestStreamedMessage(t *testing.T) {
	large := strings.Repeat("x", 1<<20)
	address := browser(t, func(s *Socket) {
		r, err := s.Reader(context.Background())
		if err != nil {
			return
		}
		w, err := s.Writer(context.Background())
		if err != nil {
			return
		}
		_, _ = io.Copy(w, r)
		_ = w.Close()
		_ = s.Close()
	})
	s, err := DialSocket(t.Context(), Options{URL: address})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Drop()
	if err := s.Write(t.Context(), []byte(large)); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Read(t.Context()); err != nil || string(got) != large {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if _, err := s.Read(t.Context()); !errors.Is(err, ErrLost) {
		t.Errorf("after the end: %v", err)
	}
}

// FuzzFrame feeds the reader what a browser, or a thing in its place, may send.
func FuzzFrame(f *testing.F) {
	for _, seed := range []string{`{"id":1,"result":{}}`, `{"id":1,"error":{"code":1,"message":"m"}}`, `{"method":"A.b","params":{"x":[]},"sessionId":"S"}`, `{"id":0}`, `{"id":1e400}`, "\xff", `{"id":1,"error":null}`, `{"id":1,"result":null}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		got, ok := parseFrame(message)
		if !ok {
			return
		}
		if got.ID < 0 || got.ID == 0 && got.Method == "" {
			t.Errorf("a frame that is neither answer nor event: %+v", got)
		}
		if !json.Valid(got.Result) || !json.Valid(got.Params) {
			t.Errorf("half a value: %+v", got)
		}
	})
}

// A message that breaks off between two of its frames is no whole message.
func TestMessageThatBreaksOff(t *testing.T) {
	half := func(s *Socket) {
		w, err := s.Writer(context.Background())
		if err != nil {
			t.Error(err)
			return
		}
		if _, err := io.WriteString(w, strings.Repeat("x", 100_000)); err != nil {
			t.Error(err)
		}
		s.Drop()
	}
	s, err := DialSocket(t.Context(), Options{URL: browser(t, half)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Drop()
	if message, err := s.Read(t.Context()); !errors.Is(err, ErrLost) {
		t.Errorf("here: %d bytes, %v", len(message), err)
	}
	there := make(chan error, 1)
	s, err = DialSocket(t.Context(), Options{URL: browser(t, func(s *Socket) {
		_, err := s.Read(context.Background())
		there <- err
	})})
	if err != nil {
		t.Fatal(err)
	}
	half(s)
	if err := <-there; !errors.Is(err, ErrLost) {
		t.Errorf("there: %v", err)
	}
}
