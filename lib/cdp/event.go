package cdp

import (
	"encoding/json"
	"slices"
)

// frame is a message of the browser: an answer if it has an id, else an event.
type frame struct {
	ID      int64           `json:"id"`
	Session string          `json:"sessionId"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// parseFrame reads a message; one that is neither an answer nor an event is none.
func parseFrame(message []byte) (*frame, bool) {
	f := &frame{}
	if json.Unmarshal(message, f) != nil || f.ID < 0 || f.ID == 0 && f.Method == "" {
		return nil, false
	}
	if f.Result == nil {
		f.Result = json.RawMessage("{}")
	}
	if f.Params == nil {
		f.Params = json.RawMessage("{}")
	}
	return f, true
}

// eventKey is what events are told apart by.
type eventKey struct{ session, method string }

// handler is one subscription.
type handler struct{ handle func(json.RawMessage) }

// On calls handle for each event of a method in a session of the protocol, until the
// function that it returns is called. Events of which nobody wants to know are dropped.
//
// Handlers run one after the other where messages are read, so that an event that came
// before an answer has been handled when Wait returns with it. A handler must not wait
// for an answer; it may Send.
func (c *Conn) On(session, method string, handle func(params json.RawMessage)) (off func()) {
	key, h := eventKey{session, method}, &handler{handle}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handlers[key] = append(c.handlers[key], h)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		// A new slice: the reader may be walking the old one.
		c.handlers[key] = slices.DeleteFunc(slices.Clone(c.handlers[key]), func(o *handler) bool { return o == h })
	}
}

func (c *Conn) dispatch(f *frame) {
	c.mu.Lock()
	handlers := c.handlers[eventKey{f.Session, f.Method}]
	c.mu.Unlock()
	for _, h := range handlers {
		h.handle(f.Params)
	}
}
