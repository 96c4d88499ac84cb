package cdp

import (
	"context"
	"encoding/json"
	"sync"

	"kxm/lib/ndjson"
)

// Conn is a connection to a browser. Its methods may be called by any goroutine.
type Conn struct {
	socket *Socket
	cancel context.CancelFunc // ends the reader
	done   chan struct{}      // closed when the reader has ended

	mu       sync.Mutex
	last     int64
	pending  map[int64]*Pending
	handlers map[eventKey][]*handler
	err      error // why there are no more answers
}

// Dial opens a connection. The context bounds the handshake alone; Close ends the
// connection. An error is a *DialError or the context's.
func Dial(ctx context.Context, o Options) (*Conn, error) {
	socket, err := DialSocket(ctx, o)
	if err != nil {
		return nil, err
	}
	return NewConn(socket), nil
}

// NewConn makes a connection of a socket, which is the connection's from then on.
func NewConn(socket *Socket) *Conn {
	ctx, cancel := context.WithCancel(context.Background())
	c := &Conn{socket: socket, cancel: cancel, done: make(chan struct{}), pending: map[int64]*Pending{}, handlers: map[eventKey][]*handler{}}
	go c.read(ctx)
	return c
}

// Close ends the connection and whatever waits for it. No goroutine is left.
func (c *Conn) Close() {
	c.fail(ErrClosed)
	c.cancel()
	c.socket.Drop()
	<-c.done
}

// Done is closed when the connection has ended.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err returns why the connection has ended, or nil.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// fail ends everything that waits; the first reason stays.
func (c *Conn) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = err
	for id, p := range c.pending {
		delete(c.pending, id)
		p.finish(answer{err: err})
	}
}

// request is a call on the wire.
type request struct {
	ID      int64  `json:"id"`
	Session string `json:"sessionId,omitempty"`
	Method  string `json:"method"`
	Params  any    `json:"params,omitempty"`
}

// answer is what came of a call.
type answer struct {
	result json.RawMessage
	err    error
}

// Pending is a call that was sent.
type Pending struct {
	conn   *Conn
	id     int64
	method string
	answer chan answer // takes one, never blocks
}

func (p *Pending) finish(a answer) { p.answer <- a }

// Wait waits for the answer and reads its result, if result is not nil. It may be
// called once. An error is an *Error, ErrLost, ErrClosed, ErrTooLarge or the context's,
// whose end gives the answer up.
func (p *Pending) Wait(ctx context.Context, result any) error {
	var a answer
	select {
	case a = <-p.answer:
	case <-ctx.Done():
		p.conn.forget(p.id)
		return ctx.Err()
	}
	if a.err != nil || result == nil {
		return a.err
	}
	if raw, ok := result.(*json.RawMessage); ok {
		*raw = a.result
		return nil
	}
	if err := json.Unmarshal(a.result, result); err != nil {
		return &Error{Method: p.method, Message: "the answer has another form than expected"}
	}
	return nil
}

func (c *Conn) forget(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pending, id)
}

// Send sends a call, in a session of the protocol ("" is the browser's own), and does
// not wait for its answer. An error in sending comes from Wait.
func (c *Conn) Send(session, method string, params any) *Pending {
	p := &Pending{conn: c, method: method, answer: make(chan answer, 1)}
	c.mu.Lock()
	if c.err != nil {
		p.finish(answer{err: c.err})
		c.mu.Unlock()
		return p
	}
	c.last++
	p.id = c.last
	c.pending[p.id] = p
	c.mu.Unlock()
	message, err := ndjson.Marshal(request{p.id, session, method, params})
	if err != nil {
		c.forget(p.id)
		p.finish(answer{err: err})
		return p
	}
	// Not the caller's context: a half-written message would end the connection for all.
	if err := c.socket.Write(context.Background(), message); err != nil {
		c.fail(err)
	}
	return p
}

// Call sends a call and waits for its answer.
func (c *Conn) Call(ctx context.Context, session, method string, params, result any) error {
	return c.Send(session, method, params).Wait(ctx, result)
}

// read takes messages until the connection ends.
func (c *Conn) read(ctx context.Context) {
	defer close(c.done)
	for {
		message, err := c.socket.Read(ctx)
		if err != nil {
			c.fail(err)
			c.socket.Drop()
			return
		}
		f, ok := parseFrame(message)
		switch {
		case !ok: // no frame of the protocol; there is nobody to tell
		case f.ID != 0:
			c.deliver(f)
		default:
			c.dispatch(f)
		}
	}
}

func (c *Conn) deliver(f *frame) {
	c.mu.Lock()
	p := c.pending[f.ID]
	delete(c.pending, f.ID)
	c.mu.Unlock()
	if p == nil {
		return // given up
	}
	if f.Error != nil {
		p.finish(answer{err: &Error{p.method, f.Error.Code, f.Error.Message}})
		return
	}
	p.finish(answer{result: f.Result})
}
