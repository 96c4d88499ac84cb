package steeltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"kxm/lib/cdp"
)

// drive is a tab that somebody here drives, through a session of its own. Only [drive.visit]
// enables anything in it.
type drive struct {
	conn    *cdp.Conn
	target  string
	session string
	open    context.Context // ends with the session, which ends with the tab
	off     func()          // ends listening for that
}

// errTabClosed is what the real server says of a tab that closes while it is asked.
var errTabClosed = errors.New("Target closed")

// attach attaches to a tab.
func attach(ctx context.Context, conn *cdp.Conn, target string) (*drive, error) {
	open, end := context.WithCancel(context.Background())
	var mu sync.Mutex
	ended := map[string]bool{} // sessions that ended before we knew which is ours
	d := &drive{conn: conn, target: target, open: open}
	d.off = conn.On("", "Target.detachedFromTarget", func(params json.RawMessage) {
		var e attached
		if json.Unmarshal(params, &e) != nil {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if ended[e.Session] = true; e.Session == d.session {
			end()
		}
	})
	var to attached
	if err := conn.Call(ctx, "", "Target.attachToTarget", map[string]any{"targetId": target, "flatten": true}, &to); err != nil {
		d.off()
		end()
		return nil, err
	}
	mu.Lock()
	defer mu.Unlock()
	if d.session = to.Session; ended[to.Session] {
		end()
	}
	return d, nil
}

// attached is what says that a session begins or ends.
type attached struct {
	Session string `json:"sessionId"`
	Target  Page   `json:"targetInfo"` // of one that the browser began
}

// detach ends the session, and what was enabled or overridden in it.
func (d *drive) detach() {
	d.off()
	d.conn.Send("", "Target.detachFromTarget", map[string]any{"sessionId": d.session})
}

// call calls a method and waits for its answer, which a tab that closes does not give.
func (d *drive) call(ctx context.Context, method string, params, result any) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(d.open, cancel)()
	err := d.send(method, params).Wait(ctx, result)
	if err != nil && d.open.Err() != nil {
		return errTabClosed
	}
	return err
}

func (d *drive) send(method string, params any) *cdp.Pending {
	return d.conn.Send(d.session, method, params)
}

// eval evaluates an expression in the page's own world, awaits it and reads its value.
func (d *drive) eval(ctx context.Context, expression string, value any) error {
	var answer struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
		Thrown *thrown `json:"exceptionDetails"`
	}
	ask := map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}
	if err := d.call(ctx, "Runtime.evaluate", ask, &answer); err != nil {
		return err
	}
	if answer.Thrown != nil {
		return errors.New(answer.Thrown.text())
	}
	if value == nil || len(answer.Result.Value) == 0 {
		return nil
	}
	return json.Unmarshal(answer.Result.Value, value)
}

// thrown is an exception as the protocol has it.
type thrown struct {
	Text      string        `json:"text"`
	Exception *remoteObject `json:"exception"`
}

// remoteObject is a value as the protocol has it.
type remoteObject struct {
	Class       string          `json:"className"`
	Subtype     string          `json:"subtype"`
	Object      string          `json:"objectId"`
	Value       json.RawMessage `json:"value"`
	Description string          `json:"description"`
}

// text is an exception with its stack, if it has one.
func (t *thrown) text() string {
	if t.Exception != nil && t.Exception.Description != "" {
		return t.Exception.Description
	}
	return t.Text
}

// until waits for an expression to be true. A page that is being left has no answer.
func (d *drive) until(ctx context.Context, expression string) error {
	for {
		var is bool
		err := d.eval(ctx, "Boolean("+expression+")", &is)
		switch {
		case is:
			return nil
		case errors.Is(err, cdp.ErrLost), errors.Is(err, cdp.ErrClosed), errors.Is(err, errTabClosed):
			return err
		}
		if !sleep(ctx, pollTime) {
			return fmt.Errorf("%s does not come true (%v): %w", expression, err, ctx.Err())
		}
	}
}

// sleep waits, and reports false if the context ended before.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// document is what the main frame was answered with.
type document struct {
	request string // the protocol's number for it
	mime    string
	status  int
}

// arrivals keeps which documents of a frame have come, by their loader.
type arrivals struct {
	mu        sync.Mutex
	documents map[string]document
	ready     map[string]bool
	changed   chan struct{} // holds one thing when something came
}

// note keeps something and wakes who waits.
func (a *arrivals) note(keep func()) {
	a.mu.Lock()
	keep()
	a.mu.Unlock()
	select {
	case a.changed <- struct{}{}:
	default:
	}
}

// listen keeps what comes in a tab until the function that it returns is called.
func (a *arrivals) listen(d *drive) (off func()) {
	a.documents, a.ready, a.changed = map[string]document{}, map[string]bool{}, make(chan struct{}, 1)
	type arrival struct {
		Frame    string `json:"frameId"`
		Loader   string `json:"loaderId"`
		Name     string `json:"name"`
		Request  string `json:"requestId"`
		Type     string `json:"type"`
		Response struct {
			Status int    `json:"status"`
			MIME   string `json:"mimeType"`
		} `json:"response"`
	}
	on := func(method string, see func(*arrival)) func() {
		return d.conn.On(d.session, method, func(params json.RawMessage) {
			var e arrival
			if json.Unmarshal(params, &e) == nil && e.Frame == d.target { // the main frame's id is the target's
				a.note(func() { see(&e) })
			}
		})
	}
	offs := []func(){
		on("Page.lifecycleEvent", func(e *arrival) {
			if e.Name == "DOMContentLoaded" {
				a.ready[e.Loader] = true
			}
		}),
		on("Network.responseReceived", func(e *arrival) {
			if e.Type == "Document" {
				a.documents[e.Loader] = document{e.Request, e.Response.MIME, e.Response.Status}
			}
		}),
	}
	return func() {
		for _, off := range offs {
			off()
		}
	}
}

// wait waits for a document.
func (a *arrivals) wait(ctx context.Context, loader string) (document, error) {
	for {
		a.mu.Lock()
		ready, doc := a.ready[loader], a.documents[loader]
		a.mu.Unlock()
		if ready {
			return doc, nil
		}
		select {
		case <-a.changed:
		case <-ctx.Done():
			return doc, ctx.Err()
		}
	}
}

// visit loads an address until its document is there, for at most the limit. Its errors
// read as those of the real server do.
func (d *drive) visit(ctx context.Context, address string, limit time.Duration) (document, error) {
	var came arrivals
	defer came.listen(d)()
	inTime, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	d.send("Page.enable", nil)
	d.send("Page.setLifecycleEventsEnabled", map[string]any{"enabled": true})
	d.send("Network.enable", nil)
	defer d.send("Page.disable", nil)
	var at struct {
		Loader string `json:"loaderId"`
		Error  string `json:"errorText"`
	}
	err := d.call(inTime, "Page.navigate", map[string]any{"url": address}, &at)
	doc := document{}
	switch {
	case err != nil:
	case at.Error != "":
		return doc, fmt.Errorf("%s at %s", at.Error, address)
	case at.Loader != "": // else it was a move within the document
		doc, err = came.wait(inTime, at.Loader)
	}
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return doc, fmt.Errorf("Navigation timeout of %d ms exceeded", limit.Milliseconds())
	}
	return doc, err
}
