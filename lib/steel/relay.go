package steel

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"kxm/lib/cdp"
	"kxm/lib/fault"
)

// Limits of a relay.
const (
	maxClients    = 64               // at once; each has a connection to the browser
	headerTime    = 10 * time.Second // until a request is complete
	maxHeader     = 16 << 10         // bytes of a request
	discoveryTime = 10 * time.Second // for what the browser is asked about itself
	// lastWords is how long Close lets clients that have ended finish what they had
	// begun: a program often sends a call and ends at once.
	lastWords = time.Second
)

// RelayOptions say what is relayed.
type RelayOptions struct {
	// Dial opens a connection to the browser: one for each client, and one for each
	// question about the browser. It is called by one goroutine at a time, and has a time
	// limit of its own.
	Dial func(context.Context) (*cdp.Socket, error)
	// Log is told, from any goroutine, why a client got no connection. Nil tells nobody.
	Log func(error)
}

// Relay lets programs on this computer use a browser without the key: it serves on a
// port of the loopback device, below a path that cannot be guessed, and relays each
// WebSocket there to a connection of its own to the browser.
//
// The path is what keeps others out. Beside it, requests that a web page makes are
// refused: those with an Origin other than the relay's own, and those for a host that is
// not this computer (a name that somebody makes lead here). Whoever does not know the path
// learns nothing, not even that this is a relay.
//
// Messages are relayed as they are, each up to cdp.MaxMessage bytes, with one exception:
// a call of Browser.close is answered as the browser would answer it, and then the client
// is gone and the browser is not. The session that it belongs to ends by other means.
type Relay struct {
	options  RelayOptions
	secret   string
	listener net.Listener
	address  string // host and port
	server   *http.Server
	served   chan struct{} // closed when the listener's goroutine has ended

	ctx     context.Context // of all connections
	cancel  context.CancelFunc
	clients chan struct{} // holds one for each client
	dialing chan struct{} // holds one while Dial runs
	conns   sync.WaitGroup
}

// StartRelay starts a relay. The error is that of opening a port.
func StartRelay(o RelayOptions) (*Relay, error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fault.Wrap(err, fault.IOFailed, "cannot open a port for the relay")
	}
	r := &Relay{
		options:  o,
		secret:   rand.Text(), // of at least 128 bits
		listener: listener,
		address:  listener.Addr().String(),
		served:   make(chan struct{}),
		clients:  make(chan struct{}, maxClients),
		dialing:  make(chan struct{}, 1),
	}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.server = &http.Server{
		Handler:           http.HandlerFunc(r.answer),
		ReadHeaderTimeout: headerTime,
		MaxHeaderBytes:    maxHeader,
		ConnState:         r.count,
	}
	r.server.SetKeepAlivesEnabled(false) // so that each connection ends with what it is for
	go func() {
		defer close(r.served)
		_ = r.server.Serve(listener) // it ends when Close closes the listener
	}()
	return r, nil
}

// SocketURL is the address of the relayed WebSocket. Like that of Chromium itself it ends
// in /devtools/browser/ and a name: some clients take no other.
func (r *Relay) SocketURL() string { return "ws://" + r.address + socketPath + r.secret }

// HTTPURL is the address below which /json/version is answered, for clients that find the
// WebSocket that way.
func (r *Relay) HTTPURL() string { return "http://" + r.address + "/" + r.secret }

// Close ends the relay. Clients that have ended on their own are served to their end, for
// a second at most; then all connections are dropped. No goroutine is left.
func (r *Relay) Close() {
	_ = r.listener.Close() // the second time it is closed already
	<-r.served
	timer := time.AfterFunc(lastWords, r.drop)
	r.conns.Wait()
	timer.Stop()
	r.drop()
}

// drop ends all connections, whatever they are at.
func (r *Relay) drop() {
	r.cancel()
	_ = r.server.Close() // an error of closing a connection helps nobody
}

// count counts the connections. One that became a WebSocket is counted until its goroutine
// says so.
func (r *Relay) count(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		r.conns.Add(1)
	case http.StateClosed:
		r.conns.Done()
	}
}

const socketPath = "/devtools/browser/"

// answer serves one request.
func (r *Relay) answer(w http.ResponseWriter, q *http.Request) {
	rest, ok := r.below(q.URL.Path)
	if !ok || !isLoopback(hostname(q.Host)) {
		http.NotFound(w, q)
		return
	}
	if origin := q.Header.Get("Origin"); origin != "" && origin != "http://"+q.Host {
		http.Error(w, "web pages have no access", http.StatusForbidden)
		return
	}
	switch {
	case strings.EqualFold(q.Header.Get("Upgrade"), "websocket"):
		r.connect(w, q)
	case q.Method != http.MethodGet && q.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "only GET is answered", http.StatusMethodNotAllowed)
	default:
		r.discover(w, q, rest)
	}
}

// below returns what follows the path that cannot be guessed.
func (r *Relay) below(path string) (rest string, ok bool) {
	name, ok := strings.CutPrefix(path, socketPath)
	if !ok {
		name = strings.TrimPrefix(path, "/")
	}
	name, rest, _ = strings.Cut(name, "/")
	return strings.TrimSuffix(rest, "/"), subtle.ConstantTimeCompare([]byte(name), []byte(r.secret)) == 1
}

// hostname returns the host of a host and port.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return host
}

// unavailable says that there is no browser, and to the log why.
func (r *Relay) unavailable(w http.ResponseWriter, err error) {
	if r.options.Log != nil {
		r.options.Log(err)
	}
	http.Error(w, "the browser cannot be reached", http.StatusBadGateway)
}

// connect relays a client's WebSocket. The browser's is opened first, so that a client
// that got its own can use it.
func (r *Relay) connect(w http.ResponseWriter, q *http.Request) {
	select {
	case r.clients <- struct{}{}:
		defer func() { <-r.clients }()
	default:
		http.Error(w, "there are too many clients", http.StatusServiceUnavailable)
		return
	}
	browser, err := r.dial(q)
	if err != nil {
		r.unavailable(w, err)
		return
	}
	client, err := cdp.Accept(w, q)
	if err != nil {
		browser.Drop()
		return
	}
	defer r.conns.Done() // the server no longer counts it
	relayPair(r.ctx, client, browser)
}

// dial opens a connection to the browser, unless the client goes or the relay ends
// meanwhile.
func (r *Relay) dial(q *http.Request) (*cdp.Socket, error) {
	ctx, cancel := context.WithCancel(q.Context())
	defer cancel()
	defer context.AfterFunc(r.ctx, cancel)()
	select {
	case r.dialing <- struct{}{}:
		defer func() { <-r.dialing }()
		return r.options.Dial(ctx)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
