package steeltest

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"

	"kxm/lib/cdp"
)

// frameCap is how large a frame may be, in bytes, to be looked into: a larger one is
// some answer.
const frameCap = 64 << 10

// Frame is a message that passed a socket.
type Frame struct {
	Socket    int    // which one: the first that a client opened is 1
	ToBrowser bool   // a client sent it
	ID        int64  // of a call, or of the call that it answers; 0 is an event
	Method    string // of a call or an event
	Session   string // of the protocol; "" is the browser's own
	Bytes     int
	Params    json.RawMessage // of a call of at most 64 KiB
}

// Frames returns what passed the sockets so far, in the order in which it did.
func (s *Server) Frames() []Frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.frames)
}

// Calls returns how often clients called a method. What the server itself asks the
// browser passes no socket.
func (s *Server) Calls(method string) int {
	n := 0
	for _, f := range s.Frames() {
		if f.ToBrowser && f.Method == method {
			n++
		}
	}
	return n
}

// Sockets returns how many sockets clients opened.
func (s *Server) Sockets() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opened
}

// Open returns how many sockets that clients opened are still open.
func (s *Server) Open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open
}

// hostMessage is what Chromium says to a name that it does not know.
const hostMessage = "Host header is specified and is not an IP address or localhost."

func isSocket(r *http.Request) bool { return r.Header.Get("Upgrade") != "" }

// enter counts a socket in; none comes in once the server is at its end.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.done:
		return false
	default:
		s.sockets.Add(1)
		return true
	}
}

// socket forwards a socket to the browser, whichever path it has. A server without one
// pretends to have one, unless its knob says that it has none: then the socket is
// dropped without an answer.
func (s *Server) socket(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		panic(http.ErrAbortHandler)
	}
	defer s.sockets.Done()
	if s.knob("host") == "forwarded" {
		http.Error(w, hostMessage, http.StatusInternalServerError)
		return
	}
	if s.knob("mode") == "cloud" && !s.cloudSocket(w, r) {
		return
	}
	if s.behind() == nil && s.knob("browser") == "" {
		s.pretend(w, r)
		return
	}
	running := s.chromium()
	if running == nil {
		panic(http.ErrAbortHandler)
	}
	ctx, cancel := context.WithTimeout(r.Context(), startLimit)
	defer cancel()
	up, err := cdp.DialSocket(ctx, cdp.Options{URL: running.Address, Client: direct})
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer up.Drop()
	n := s.counted() // before the client knows that it has one
	defer s.uncount()
	down, err := cdp.Accept(w, r)
	if err != nil {
		return
	}
	defer down.Drop()
	s.forward(n, down, up)
}

// counted counts a socket that opens, and returns its number.
func (s *Server) counted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened++
	s.open++
	return s.opened
}

// uncount counts a socket that has ended.
func (s *Server) uncount() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
}

// cloudSocket refuses a socket of the cloud that is not at the root, for a session that
// is live.
func (s *Server) cloudSocket(w http.ResponseWriter, r *http.Request) bool {
	live := r.URL.Path == "/" && slices.Contains(s.Live(), r.URL.Query().Get("sessionId"))
	if !live {
		reply(w, 404, map[string]any{"message": "session not found"})
	}
	return live
}

// forward passes messages both ways until one side ends. Both are dropped then, so that
// a client sees the browser's end as one without a farewell (1006).
func (s *Server) forward(n int, client, browser *cdp.Socket) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	end := func() { client.Drop(); browser.Drop(); cancel() }
	var lanes sync.WaitGroup
	lanes.Go(func() { defer end(); s.carry(ctx, n, client, browser, true) })
	lanes.Go(func() { defer end(); s.carry(ctx, n, browser, client, false) })
	lanes.Wait()
}

// late is a message that may have to wait.
type late struct {
	message []byte
	ready   <-chan time.Time // nil: it need not wait
}

// carry passes messages one way. The knob "frame-delay" makes the way longer and not
// narrower: several messages are on it at a time. The knob "drop-after" ends it, and
// "refuses" names a method that the browser does not have.
func (s *Server) carry(ctx context.Context, n int, from, to *cdp.Socket, toBrowser bool) {
	queue := make(chan late, 64)
	go func() {
		defer close(queue)
		for passed := 0; ; passed++ {
			message, err := from.Read(ctx)
			if err != nil {
				return
			}
			l := late{message: message}
			if d, _ := time.ParseDuration(s.knob("frame-delay")); d > 0 {
				l.ready = time.After(d)
			}
			if toBrowser {
				if f := s.noteFrame(n, true, message); f.Method != "" && f.Method == s.knob("refuses") {
					if from.Write(ctx, unknown(f)) != nil {
						return
					}
					continue
				}
				if last := s.knob("drop-after"); last != "" && passed >= atoi(last) {
					return
				}
			}
			select {
			case queue <- l:
			case <-ctx.Done():
				return
			}
		}
	}()
	for l := range queue {
		if l.ready != nil {
			<-l.ready
		}
		if !toBrowser {
			s.noteFrame(n, false, l.message)
		}
		if to.Write(ctx, l.message) != nil {
			return
		}
	}
}

// noteFrame keeps a frame: one of a client as it comes in, one of the browser as it
// goes out, so that their order is the client's.
func (s *Server) noteFrame(n int, toBrowser bool, message []byte) Frame {
	f := Frame{Socket: n, ToBrowser: toBrowser, Bytes: len(message)}
	var head struct {
		ID        int64           `json:"id"`
		Method    string          `json:"method"`
		SessionID string          `json:"sessionId"`
		Params    json.RawMessage `json:"params"`
	}
	if len(message) <= frameCap && json.Unmarshal(message, &head) == nil {
		f.ID, f.Method, f.Session = head.ID, head.Method, head.SessionID
		if toBrowser {
			f.Params = head.Params
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frames = append(s.frames, f)
	return f
}

// unknown is what Chromium answers to a method that it does not have.
func unknown(f Frame) []byte {
	answer, err := json.Marshal(map[string]any{"id": f.ID, "sessionId": f.Session, "error": map[string]any{"code": -32601, "message": "'" + f.Method + "' wasn't found"}})
	if err != nil {
		panic(err) // it is made of texts and numbers
	}
	return answer
}
