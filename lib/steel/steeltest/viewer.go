package steeltest

import (
	"context"
	_ "embed"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"kxm/lib/cdp"
)

// size is how large a tab is, in pixels.
type size struct{ width, height int }

// viewSize is that of a tab while somebody looks at it, unless its session has dimensions
// of its own.
var viewSize = size{1920, 1080}

// viewerPage shows the frames of a tab on a canvas and sends mouse, wheel and keys back.
//
//go:embed viewer.html
var viewerPage string

// Paths of what a person looks at. None of it needs a key or a session's id.
const (
	viewerPath    = "/v1/sessions/debug"
	castPath      = "/v1/sessions/cast"
	inspectorPath = "/v1/devtools/inspector.html"
)

// viewer answers GET /v1/sessions/debug?pageId=T&interactive=true&showControls=true.
func (s *Server) viewer(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, viewerPage) // a browser that has gone is no failure
}

// inspector answers GET /v1/devtools/inspector.html?pageId=T: it leads to the browser's
// own tools, which are on a port of their own.
func (s *Server) inspector(w http.ResponseWriter, r *http.Request) {
	at := strings.TrimPrefix(s.URL, "http:")
	if running := s.chromium(); running != nil {
		u, err := url.Parse(running.Address)
		if err != nil {
			panic(err) // it was dialled
		}
		at = "//" + u.Host
	}
	w.Header().Set("Location", "http:"+at+"/devtools/devtools_app.html?ws="+at+"/devtools/page/"+url.QueryEscape(s.pageOf(r)))
	w.WriteHeader(http.StatusFound)
}

// pageOf is the tab that a request names; else it is the first one.
func (s *Server) pageOf(r *http.Request) string {
	page, b := r.URL.Query().Get("pageId"), s.behind()
	if page != "" || b == nil {
		return page
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.first
}

// castFrame is what the viewer is sent: a picture of the tab and how large that is. The
// real server does not send the size, which its page takes from the picture.
type castFrame struct {
	Page   string  `json:"pageId"`
	URL    string  `json:"url"`
	Title  string  `json:"title"`
	Data   string  `json:"data"` // a JPEG in base64
	Width  float64 `json:"width"`
	Height float64 `json:"height"`
}

// cast serves the viewer's socket: frames of the tab one way, and what is done to it the
// other way. It drives the tab through a session of its own, so that no other connection
// is needed, and ends with the tab, the viewer, the browser or the server. It is no
// socket that [Server.Sockets] counts or whose frames are kept.
func (s *Server) cast(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		panic(http.ErrAbortHandler)
	}
	defer s.sockets.Done()
	ctx, cancel := context.WithCancel(context.Background()) // a socket does not end with its request
	defer cancel()
	go func() {
		select {
		case <-s.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	running := s.chromium()
	if running == nil {
		panic(http.ErrAbortHandler)
	}
	tab, err := attach(ctx, running.own, s.pageOf(r))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer tab.detach()
	viewer, err := cdp.Accept(w, r)
	if err != nil {
		return
	}
	defer viewer.Drop()
	go func() {
		defer cancel()
		act(ctx, tab, viewer)
	}()
	if showTab(ctx, tab, viewer, s.behind().viewSize()) {
		_ = write(ctx, viewer, map[string]any{"type": "targetClosed", "pageId": tab.target})
		_ = viewer.Close() // it may have gone already
	}
}

// viewSize is how large a tab is while somebody looks at it.
func (b *browser) viewSize() size {
	b.mu.Lock()
	defer b.mu.Unlock()
	if d := b.config.Dimensions; d.Width > 0 && d.Height > 0 {
		return size{d.Width, d.Height}
	}
	return viewSize
}

// showTab sends the viewer frames until the context ends, or the browser, or the tab:
// then it returns true. The latest frame takes the place of one that nobody took.
func showTab(ctx context.Context, tab *drive, viewer *cdp.Socket, as size) (closed bool) {
	frames := make(chan castFrame, 1)
	sized := false // the first frames may be from before the tab got its size
	defer tab.conn.On(tab.session, "Page.screencastFrame", func(params json.RawMessage) {
		var e struct {
			Data     string `json:"data"`
			Session  int    `json:"sessionId"`
			Metadata struct {
				Width  float64 `json:"deviceWidth"`
				Height float64 `json:"deviceHeight"`
			} `json:"metadata"`
		}
		if json.Unmarshal(params, &e) != nil {
			return
		}
		tab.send("Page.screencastFrameAck", map[string]any{"sessionId": e.Session})
		if sized = sized || e.Metadata.Width == float64(as.width); !sized {
			return
		}
		select {
		case <-frames:
		default:
		}
		frames <- castFrame{Page: tab.target, Data: e.Data, Width: e.Metadata.Width, Height: e.Metadata.Height}
	})()
	// No answer is waited for: a tab that is stuck gives none, and the viewer shows nothing.
	tab.send("Page.bringToFront", nil)
	tab.send("Page.setDeviceMetricsOverride", map[string]any{"width": as.width, "height": as.height, "deviceScaleFactor": 1, "mobile": false})
	defer tab.send("Page.clearDeviceMetricsOverride", nil) // without which the size would stay
	tab.send("Page.startScreencast", map[string]any{"format": "jpeg", "quality": 75, "maxWidth": as.width, "maxHeight": as.height})
	for {
		select {
		case f := <-frames:
			var info struct {
				Target struct{ URL, Title string } `json:"targetInfo"`
			}
			_ = tab.conn.Call(ctx, "", "Target.getTargetInfo", map[string]any{"targetId": tab.target}, &info) // it may have closed
			f.URL, f.Title = info.Target.URL, info.Target.Title
			if write(ctx, viewer, f) != nil {
				return false
			}
		case <-tab.open.Done():
			return true
		case <-tab.conn.Done():
			return true
		case <-ctx.Done():
			return false
		}
	}
}

func write(ctx context.Context, to *cdp.Socket, v any) error {
	message, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return to.Write(ctx, message)
}

// inputs are the calls that do to a tab what the viewer says, by its messages' types.
var inputs = map[string]string{
	"mouseEvent": "Input.dispatchMouseEvent",
	"keyEvent":   "Input.dispatchKeyEvent",
	"insertText": "Input.insertText",
}

// input is a message of the viewer.
type input struct {
	Type  string          `json:"type"`
	Event json.RawMessage `json:"event"` // parameters of the call
}

// inputLimit is how long a tab may take for what is done to it before the next thing is
// done all the same.
const inputLimit = 3 * time.Second

// act does to the tab what the viewer says, until the viewer ends or the context. One
// thing is done after the other: unawaited, Chromium lets keys overtake the click that is
// to set the focus.
func act(ctx context.Context, tab *drive, viewer *cdp.Socket) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	said := make(chan input, 1000)
	go func() {
		for {
			select {
			case m := <-said:
				one, done := context.WithTimeout(ctx, inputLimit)
				_ = tab.send(inputs[m.Type], m.Event).Wait(one, nil) // a tab that closes refuses it
				done()
			case <-ctx.Done():
				return
			}
		}
	}()
	for {
		message, err := viewer.Read(ctx)
		var m input
		if err != nil || json.Unmarshal(message, &m) != nil || inputs[m.Type] == "" {
			return
		}
		select {
		case said <- m:
		case <-ctx.Done():
			return
		}
	}
}
