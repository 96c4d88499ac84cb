package steeltest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"kxm/lib/cdp"
)

// startFeed tells the log what happens in each tab of a Chromium from its begin on, until
// the connection that it returns is closed. New tabs are held until they are watched, as
// the real server does. The domain Page is not enabled: a dialog that opens while no
// client is there is as lost as with the real one.
func (s *Server) startFeed(ctx context.Context, c *Chromium) (*cdp.Conn, error) {
	conn, err := cdp.Dial(ctx, cdp.Options{URL: c.Address, Client: direct})
	if err != nil {
		return nil, err
	}
	watched := map[string]func(){} // by the protocol's session; used by the reader alone
	conn.On("", "Target.attachedToTarget", func(params json.RawMessage) {
		var e attached
		if json.Unmarshal(params, &e) == nil {
			watched[e.Session] = s.watch(&drive{conn: conn, target: e.Target.ID, session: e.Session})
		}
	})
	conn.On("", "Target.detachedFromTarget", func(params json.RawMessage) {
		var e attached
		if json.Unmarshal(params, &e) == nil && watched[e.Session] != nil {
			watched[e.Session]()
			delete(watched, e.Session)
		}
	})
	err = conn.Call(ctx, "", "Target.setAutoAttach", map[string]any{
		"autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true, "filter": []any{map[string]any{"type": "page"}},
	}, nil)
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// catchUp waits until what the browser has said so far is in the log.
func (b *browser) catchUp(ctx context.Context) {
	b.mu.Lock()
	feed := b.feed
	b.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, endLimit)
	defer cancel()
	_ = feed.Call(ctx, "", "Browser.getVersion", nil, nil) // one that has ended has said all
}

// watch tells the log what happens in a tab, until the function that it returns is
// called.
func (s *Server) watch(d *drive) (off func()) {
	w := &tabWatch{server: s, tab: d, addresses: map[string]string{}}
	var offs []func()
	for method, see := range map[string]func(*tabEvent){
		"Runtime.consoleAPICalled":  w.console,
		"Runtime.exceptionThrown":   w.exception,
		"Network.requestWillBeSent": w.request,
		"Network.responseReceived":  w.response,
		"Network.loadingFinished":   w.finished,
		"Network.loadingFailed":     w.failed,
		"Inspector.targetCrashed":   w.crashed,
	} {
		offs = append(offs, d.conn.On(d.session, method, func(params json.RawMessage) {
			var e tabEvent
			if err := json.Unmarshal(params, &e); err != nil {
				s.complainOf(method + ": " + err.Error())
			}
			see(&e)
		}))
	}
	d.send("Runtime.enable", nil)
	d.send("Inspector.enable", nil)
	d.send("Network.enable", map[string]any{"maxTotalBufferSize": 0, "maxResourceBufferSize": 0}) // no body is asked for
	d.send("Runtime.runIfWaitingForDebugger", nil)
	return func() {
		for _, off := range offs {
			off()
		}
	}
}

// tabWatch makes events of the log of what the protocol says about a tab. Its methods
// are called by the connection's reader alone.
type tabWatch struct {
	server    *Server
	tab       *drive
	addresses map[string]string // of requests that are under way, by the protocol's number
}

func (w *tabWatch) add(kind, key string, body any) {
	w.server.log.add(event{kind: kind, at: w.server.time(), page: w.tab.target, key: key, body: body})
}

// tabEvent is what the events about a tab carry.
type tabEvent struct {
	Type      string         `json:"type"` // of a console call or a resource
	Args      []remoteObject `json:"args"`
	Thrown    thrown         `json:"exceptionDetails"`
	RequestID string         `json:"requestId"`
	ErrorText string         `json:"errorText"`
	Stack     struct {
		Frames []struct {
			URL    string `json:"url"`
			Line   int    `json:"lineNumber"`
			Column int    `json:"columnNumber"`
		} `json:"callFrames"`
	} `json:"stackTrace"`
	Request struct {
		Method string `json:"method"`
		URL    string `json:"url"`
	} `json:"request"`
	Response struct {
		Status int    `json:"status"`
		URL    string `json:"url"`
		MIME   string `json:"mimeType"`
	} `json:"response"`
}

// text is a value as the real server writes it: a text as it is, others as JSON, and
// what JSON cannot hold as the protocol describes it.
func (o *remoteObject) text() string {
	if len(o.Value) == 0 {
		return or(o.Description, "<unknown>")
	}
	var plain *string
	if json.Unmarshal(o.Value, &plain) != nil || plain == nil {
		return string(o.Value)
	}
	return *plain
}

type consoleBody struct {
	Level string `json:"level"`
	Text  string `json:"text"`
	Loc   string `json:"loc,omitempty"`
}

func (w *tabWatch) console(e *tabEvent) {
	texts := make([]string, len(e.Args))
	for i := range e.Args {
		texts[i] = e.Args[i].text()
	}
	body := consoleBody{Level: e.Type, Text: strings.Join(texts, " ")}
	if f := e.Stack.Frames; len(f) > 0 {
		body.Loc = fmt.Sprintf("%s:%d:%d", f[0].URL, f[0].Line+1, f[0].Column+1)
	}
	w.add("Console", "console", body)
}

// errorBody is one body for every kind of error; what an error does not have is left out.
type errorBody struct {
	Message string `json:"message,omitempty"`
	Stack   string `json:"stack,omitempty"`
	URL     string `json:"url,omitempty"`
}

// exception adds an exception twice, as the real server does, which listens to the
// protocol and to the library that it drives pages with: once as the protocol says it,
// and once as an error of that library, whose message is without name and stack. A
// primitive value that is thrown has no message there.
func (w *tabWatch) exception(e *tabEvent) {
	text := e.Thrown.text()
	second := errorBody{}
	if x := e.Thrown.Exception; x != nil && (x.Subtype == "error" || x.Object != "") {
		head, _, _ := strings.Cut(text, "\n    at ")
		second = errorBody{Message: strings.TrimPrefix(head, x.Class+": "), Stack: text}
	}
	w.add("PageError", "error", errorBody{Message: text})
	w.add("PageError", "error", second)
}

type requestBody struct {
	Method string `json:"method"`
	URL    string `json:"url"`
	Type   string `json:"resourceType,omitempty"`
}

func (w *tabWatch) request(e *tabEvent) {
	w.addresses[e.RequestID] = e.Request.URL
	w.add("Request", "request", requestBody{e.Request.Method, e.Request.URL, e.Type})
}

type responseBody struct {
	Status int    `json:"status"`
	URL    string `json:"url"`
	MIME   string `json:"mimeType,omitempty"`
}

func (w *tabWatch) response(e *tabEvent) {
	w.add("Response", "response", responseBody{e.Response.Status, e.Response.URL, e.Response.MIME})
}

func (w *tabWatch) finished(e *tabEvent) { delete(w.addresses, e.RequestID) }

func (w *tabWatch) failed(e *tabEvent) {
	w.add("RequestFailed", "error", errorBody{Message: e.ErrorText, URL: w.addresses[e.RequestID]})
	w.finished(e)
}

func (w *tabWatch) crashed(*tabEvent) {
	w.add("Error", "error", errorBody{Message: "Page crashed!"})
}
