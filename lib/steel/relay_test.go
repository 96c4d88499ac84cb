package steel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"kxm/lib/cdp"
)

// plantedKey is in every address of the browser, and may be in nothing that a client
// gets.
const plantedKey = "planted+key/0123"

// fakeBrowser answers calls, counts its connections, and remembers what it heard.
type fakeBrowser struct {
	url   string
	ended chan struct{} // closed when the test has ended

	mu    sync.Mutex
	heard []string
	open  int // connections
	total int
}

// startBrowser starts a browser that echoes each call's params as its result.
func startBrowser(t *testing.T) *fakeBrowser {
	t.Helper()
	b := &fakeBrowser{ended: make(chan struct{})}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		s, err := cdp.Accept(w, q)
		if err != nil {
			return
		}
		b.count(1)
		defer b.count(-1)
		defer s.Drop()
		b.serve(s)
	}))
	t.Cleanup(func() {
		close(b.ended)
		server.CloseClientConnections()
		server.Close()
	})
	b.url = "ws" + strings.TrimPrefix(server.URL, "http") + "/v1/devtools?apiKey=" + plantedKey
	return b
}

func (b *fakeBrowser) count(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open += n
	b.total += max(n, 0)
}

func (b *fakeBrowser) state() (heard string, open, total int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Join(b.heard, "\n"), b.open, b.total
}

func (b *fakeBrowser) serve(s *cdp.Socket) {
	for {
		message, err := s.Read(context.Background())
		if err != nil {
			return
		}
		var call struct {
			ID     int64           `json:"id"`
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		_ = json.Unmarshal(message, &call) // a test sends what it likes
		b.mu.Lock()
		b.heard = append(b.heard, string(message[:min(len(message), 200)]))
		b.mu.Unlock()
		result := string(call.Params)
		switch call.Method {
		case "end":
			return
		case "large":
			result = `"` + strings.Repeat("x", len(call.Params)<<20) + `"`
		case "half":
			if w, err := s.Writer(context.Background()); err == nil {
				_, _ = io.WriteString(w, strings.Repeat("x", 3<<20))
			}
			return
		case "stall":
			if w, err := s.Writer(context.Background()); err == nil {
				_, _ = io.WriteString(w, strings.Repeat("x", 20<<20))
			}
			<-b.ended
			return
		case "Browser.getVersion":
			result = `{"protocolVersion":"1.3","product":"Chrome/156.0.1.2","revision":"@abc","userAgent":"Mozilla/5.0 <x>","jsVersion":"15.6"}`
		case "Target.getTargets":
			result = `{"targetInfos":[{"targetId":"T1","type":"page","title":"A \"title\"","url":"http://127.0.0.1/","attached":false}]}`
		}
		if err := s.Write(context.Background(), fmt.Appendf(nil, `{"id":%d,"result":%s}`, call.ID, result)); err != nil {
			return
		}
	}
}

// dial is how a relay gets to the browser.
func (b *fakeBrowser) dial(ctx context.Context) (*cdp.Socket, error) {
	return cdp.DialSocket(ctx, cdp.Options{URL: b.url})
}

func startRelay(t *testing.T, o RelayOptions) *Relay {
	t.Helper()
	r, err := StartRelay(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// client connects to a relay.
func client(t *testing.T, r *Relay) *cdp.Socket {
	t.Helper()
	s, err := cdp.DialSocket(t.Context(), cdp.Options{URL: r.SocketURL()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Drop)
	return s
}

// exchange sends a message and returns the next one.
func exchange(t *testing.T, s *cdp.Socket, message string) string {
	t.Helper()
	if err := s.Write(t.Context(), []byte(message)); err != nil {
		t.Fatal(err)
	}
	answer, err := s.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return string(answer)
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for range 2000 {
		if holds() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("it never happens: %s", what)
}

func TestRelayServesManyClients(t *testing.T) {
	b := startBrowser(t)
	r := startRelay(t, RelayOptions{Dial: b.dial})
	var clients sync.WaitGroup
	for i := range 20 {
		c := client(t, r)
		clients.Go(func() {
			defer c.Drop()
			for j := range 20 {
				call := fmt.Sprintf(`{"id":%d,"method":"say","params":[%d, "\u00e9"]}`, j, i)
				if got, want := exchange(t, c, call), fmt.Sprintf(`{"id":%d,"result":[%d, "\u00e9"]}`, j, i); got != want {
					t.Errorf("client %d got %s, want %s", i, got, want)
				}
			}
		})
	}
	clients.Wait()
	if _, _, total := b.state(); total != 20 {
		t.Errorf("20 clients have %d connections", total)
	}
	eventually(t, "the browser's connections end with their clients", func() bool {
		_, open, _ := b.state()
		return open == 0
	})
}

func TestRelayedMessagesKeepTheirBytes(t *testing.T) {
	b := startBrowser(t)
	c := client(t, startRelay(t, RelayOptions{Dial: b.dial}))
	for _, size := range []int{0, 1, wholeMessage - 50, wholeMessage, wholeMessage + 1, 3*wholeMessage + 7} {
		text := strings.Repeat("é\n", size/2)
		params, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		got := exchange(t, c, `{"id":5,"method":"say","params":`+string(params)+`}`)
		if got != `{"id":5,"result":`+string(params)+`}` {
			t.Errorf("%d bytes came back as %d", len(params), len(got))
		}
	}
	// The size of the answer is what fills one piece, and two, to the byte.
	for _, n := range []int{1, 2} {
		prefix := len(`{"id":5,"result":""}`)
		text := strings.Repeat("x", n*wholeMessage-prefix)
		if got := exchange(t, c, `{"id":5,"method":"say","params":"`+text+`"}`); got != `{"id":5,"result":"`+text+`"}` {
			t.Errorf("%d bytes came back", len(got))
		}
	}
}

func TestBrowserCloseEndsTheClientAlone(t *testing.T) {
	b := startBrowser(t)
	r := startRelay(t, RelayOptions{Dial: b.dial})
	other := client(t, r)
	for message, want := range map[string]string{
		`{"id":7,"method":"Browser.close"}`:                            `{"id":7,"result":{}}`,
		`{ "sessionId":"S", "method":"Browser\u002eclose" , "id": 8 }`: `{"id":8,"result":{},"sessionId":"S"}`,
	} {
		c := client(t, r)
		if got := exchange(t, c, message); got != want {
			t.Errorf("%s is answered with %s", message, got)
		}
		if _, err := c.Read(t.Context()); !errors.Is(err, cdp.ErrLost) {
			t.Errorf("the client lives on: %v", err)
		}
	}
	eventually(t, "one connection is left", func() bool {
		_, open, _ := b.state()
		return open == 1
	})
	if got := exchange(t, other, `{"id":1,"method":"say","params":2}`); got != `{"id":1,"result":2}` {
		t.Errorf("another client got %s", got)
	}
	if heard, _, _ := b.state(); strings.Contains(heard, "close") {
		t.Errorf("the browser heard %s", heard)
	}
}

func TestRelayEndsAClientWhoseBrowserIsGone(t *testing.T) {
	b := startBrowser(t)
	r := startRelay(t, RelayOptions{Dial: b.dial})
	for _, method := range []string{"end", "half"} {
		c := client(t, r)
		if err := c.Write(t.Context(), []byte(`{"id":1,"method":"`+method+`"}`)); err != nil {
			t.Fatal(err)
		}
		if message, err := c.Read(t.Context()); !errors.Is(err, cdp.ErrLost) {
			t.Errorf("%s: %d bytes, %v", method, len(message), err)
		}
	}
}

// get asks a relay over HTTP.
func get(t *testing.T, method, url string, header http.Header) (status int, body string) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range header {
		q.Header[name] = values
	}
	if host := header.Get("Host"); host != "" {
		q.Host = host
	}
	response, err := http.DefaultTransport.RoundTrip(q)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusSwitchingProtocols {
		return response.StatusCode, "" // there is no end of it
	}
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(raw)
}

func TestRelayRefuses(t *testing.T) {
	b := startBrowser(t)
	r := startRelay(t, RelayOptions{Dial: b.dial})
	root := "http://" + r.address
	secret := strings.TrimPrefix(r.HTTPURL(), root+"/")
	upgrade := http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {"MDEyMzQ1Njc4OWFiY2RlZg=="}}
	with := func(name, value string) http.Header {
		h := upgrade.Clone()
		h.Set(name, value)
		return h
	}
	for _, c := range []struct {
		name, method, url string
		header            http.Header
		status            int
	}{
		{"no path", "GET", root, nil, 404},
		{"discovery at the root", "GET", root + "/json/version", nil, 404},
		{"a socket at the root", "GET", root + "/", upgrade, 404},
		{"no name", "GET", root + socketPath, upgrade, 404},
		{"another name", "GET", root + socketPath + strings.Repeat("A", len(secret)), upgrade, 404},
		{"half the name", "GET", root + socketPath + secret[:len(secret)/2], upgrade, 404},
		{"the name and more", "GET", r.HTTPURL() + "x/json/version", nil, 404},
		{"the name in lower case", "GET", root + "/" + strings.ToLower(secret) + "/json/version", nil, 404},
		{"the name elsewhere", "GET", root + "/x/" + secret, upgrade, 404},
		{"another name and a page", "GET", root + "/x", with("Origin", "https://example.com"), 404},
		{"nothing that is served", "GET", r.HTTPURL() + "/json/protocol", nil, 404},
		{"the path alone", "GET", r.HTTPURL(), nil, 404},
		{"a page", "GET", root + socketPath + secret, with("Origin", "https://example.com"), 403},
		{"a page without an origin of its own", "GET", root + socketPath + secret, with("Origin", "null"), 403},
		{"a page of another port", "GET", r.HTTPURL() + "/json/version", http.Header{"Origin": {"http://127.0.0.1:1"}}, 403},
		{"a name that leads here", "GET", root + socketPath + secret, with("Host", "rebound.example.com"), 404},
		{"such a name as its own origin", "GET", r.HTTPURL() + "/json/version", http.Header{"Host": {"rebound.example.com"}, "Origin": {"http://rebound.example.com"}}, 404},
		{"a POST", "POST", r.HTTPURL() + "/json/version", nil, 405},
		{"no key of the handshake", "GET", root + socketPath + secret, http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"}}, 400},
		{"a header without an end", "GET", r.HTTPURL(), http.Header{"X": {strings.Repeat("x", 2*maxHeader)}}, 431},
	} {
		status, body := get(t, c.method, c.url, c.header)
		if status != c.status || strings.Contains(body, "relay") || strings.Contains(body, secret) || strings.Contains(body, "planted") {
			t.Errorf("%s: %d %q, want %d", c.name, status, body, c.status)
		}
	}
	eventually(t, "nothing is left open", func() bool { _, open, _ := b.state(); return open == 0 })
	if heard, _, _ := b.state(); heard != "" {
		t.Errorf("the browser heard %s", heard)
	}
	for name, header := range map[string]http.Header{"none": nil, "its own": {"Origin": {"http://" + r.address}}} {
		s, err := cdp.DialSocket(t.Context(), cdp.Options{URL: r.SocketURL(), Header: header})
		if err != nil {
			t.Errorf("with the origin %s: %v", name, err)
			continue
		}
		s.Drop()
	}
	s, err := cdp.DialSocket(t.Context(), cdp.Options{URL: strings.Replace(r.SocketURL(), "127.0.0.1", "localhost", 1)})
	if err != nil {
		t.Fatalf("by the name localhost: %v", err)
	}
	s.Drop()
}

func TestRelayPathsDiffer(t *testing.T) {
	b := startBrowser(t)
	one, two := startRelay(t, RelayOptions{Dial: b.dial}), startRelay(t, RelayOptions{Dial: b.dial})
	if one.secret == two.secret || len(one.secret) < 26 { // of 32 characters each: 130 bits
		t.Errorf("%q and %q", one.secret, two.secret)
	}
}

func TestRelayDiscovery(t *testing.T) {
	b := startBrowser(t)
	r := startRelay(t, RelayOptions{Dial: b.dial})
	version := `{"Browser":"Chrome/156.0.1.2","Protocol-Version":"1.3","User-Agent":"Mozilla/5.0 <x>","V8-Version":"15.6","WebKit-Version":"537.36 (@abc)","webSocketDebuggerUrl":"` + r.SocketURL() + `"}`
	list := `[{"id":"T1","title":"A \"title\"","type":"page","url":"http://127.0.0.1/"}]`
	for path, want := range map[string]string{"/json/version": version, "/json/version/": version, "/json": list, "/json/": list, "/json/list": list} {
		if status, body := get(t, "GET", r.HTTPURL()+path, nil); status != 200 || body != want {
			t.Errorf("%s: %d %s, want %s", path, status, body, want)
		}
	}
	if status, body := get(t, "HEAD", r.HTTPURL()+"/json/version", nil); status != 200 || body != "" {
		t.Errorf("HEAD: %d %q", status, body)
	}
	s, err := cdp.DialSocket(t.Context(), cdp.Options{URL: r.SocketURL()})
	if err != nil {
		t.Fatal(err)
	}
	s.Drop()
	eventually(t, "nothing is left open", func() bool { _, open, _ := b.state(); return open == 0 })
}

func TestRelayWithoutABrowser(t *testing.T) {
	failure := errors.New("the browser's address is wss://x?apiKey=" + plantedKey)
	var mu sync.Mutex
	var logged []error
	r := startRelay(t, RelayOptions{
		Dial: func(context.Context) (*cdp.Socket, error) { return nil, failure },
		Log:  func(err error) { mu.Lock(); logged = append(logged, err); mu.Unlock() },
	})
	_, err := cdp.DialSocket(t.Context(), cdp.Options{URL: r.SocketURL()})
	var refused *cdp.DialError
	if !errors.As(err, &refused) || refused.Status != http.StatusBadGateway || strings.Contains(string(refused.Body), "planted") {
		t.Errorf("a socket: %v", err)
	}
	if status, body := get(t, "GET", r.HTTPURL()+"/json/version", nil); status != http.StatusBadGateway || body != "the browser cannot be reached\n" {
		t.Errorf("discovery: %d %q", status, body)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(logged) != 2 || logged[0] != failure || logged[1] != failure {
		t.Errorf("logged: %v", logged)
	}
	r = startRelay(t, RelayOptions{Dial: func(context.Context) (*cdp.Socket, error) { return nil, failure }})
	if status, _ := get(t, "GET", r.HTTPURL()+"/json/version", nil); status != http.StatusBadGateway {
		t.Errorf("without a log: %d", status)
	}
}

func TestRelayTakesSoManyClients(t *testing.T) {
	b := startBrowser(t)
	r := startRelay(t, RelayOptions{Dial: b.dial})
	first := client(t, r)
	for range maxClients - 1 {
		client(t, r)
	}
	_, err := cdp.DialSocket(t.Context(), cdp.Options{URL: r.SocketURL()})
	var refused *cdp.DialError
	if !errors.As(err, &refused) || refused.Status != http.StatusServiceUnavailable {
		t.Fatalf("one more: %v", err)
	}
	first.Drop()
	eventually(t, "there is room again", func() bool {
		s, err := cdp.DialSocket(t.Context(), cdp.Options{URL: r.SocketURL()})
		if err == nil {
			s.Drop()
		}
		return err == nil
	})
}

func TestClosedRelayLeavesNothing(t *testing.T) {
	b := startBrowser(t)
	dialing := make(chan struct{}, 1)
	hang := func(ctx context.Context) (*cdp.Socket, error) {
		dialing <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}
	for _, dial := range []func(context.Context) (*cdp.Socket, error){b.dial, hang} {
		r, err := StartRelay(RelayOptions{Dial: dial})
		if err != nil {
			t.Fatal(err)
		}
		idle, err := net.Dial("tcp", r.address) // which never asks
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			s, err := cdp.DialSocket(shortly(t), cdp.Options{URL: r.SocketURL()})
			if err != nil {
				<-dialing // given up by the client
				continue
			}
			if got := exchange(t, s, `{"id":1,"method":"large","params":123}`); len(got) < 3<<20 {
				t.Errorf("%d bytes", len(got))
			}
			// Of this answer nothing is read, so that the relay waits in the middle of it, and
			// the browser does not say goodbye.
			if err := s.Write(t.Context(), []byte(`{"id":1,"method":"stall"}`)); err != nil {
				t.Error(err)
			}
			defer s.Drop()
		}
		start := time.Now()
		r.Close()
		r.Close() // twice is once
		if took := time.Since(start); took > 4*time.Second {
			t.Errorf("closing took %v", took)
		}
		idle.Close()
		if _, err := net.Dial("tcp", r.address); err == nil {
			t.Error("the port is open")
		}
	}
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for _, ours := range []string{"steel.(*Relay)", "steel.relayPair", "steel.toBrowser", "steel.toClient", "http.(*Server).Serve("} {
		if n := strings.Count(string(stacks), ours); n > 0 && ours[0] == 's' || n > 1 { // the browser is a server too
			t.Errorf("%s runs %d times:\n%s", ours, n, stacks)
		}
	}
}

func shortly(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

// Whoever dials need not be made for several goroutines.
func TestRelayDialsOneByOne(t *testing.T) {
	b := startBrowser(t)
	var running atomic.Int32
	r := startRelay(t, RelayOptions{Dial: func(ctx context.Context) (*cdp.Socket, error) {
		if running.Add(1) > 1 {
			t.Error("two at a time")
		}
		defer running.Add(-1)
		time.Sleep(5 * time.Millisecond)
		return b.dial(ctx)
	}})
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			if s, err := cdp.DialSocket(t.Context(), cdp.Options{URL: r.SocketURL()}); err != nil {
				t.Error(err)
			} else {
				s.Drop()
			}
		})
	}
	clients.Wait()
}

// A program sends a call and ends; the relay is closed at once. The call arrives.
func TestLastWordsArrive(t *testing.T) {
	b := startBrowser(t)
	for i := range 20 {
		r := startRelay(t, RelayOptions{Dial: b.dial})
		s := client(t, r)
		last := fmt.Sprintf(`{"id":%d,"method":"Target.closeTarget"}`, i)
		if err := s.Write(t.Context(), []byte(last)); err != nil {
			t.Fatal(err)
		}
		s.Drop()
		start := time.Now()
		r.Close()
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("closing took %v", took)
		}
		if heard, _, _ := b.state(); !strings.Contains(heard, last) {
			t.Fatalf("the browser heard %s", heard)
		}
	}
}
