package steel

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"kxm/lib/cdp"
)

// Moments of a document's life, as the protocol names them.
const (
	momentDOM  = "DOMContentLoaded"
	momentLoad = "load"
	momentIdle = "networkIdle"
)

// Download is a file that a page began to load.
type Download struct {
	URL      string `json:"url"`
	FileName string `json:"fileName"`
}

// watch keeps what happens to a tab's main frame while a command works on it.
type watch struct {
	frame string // the main frame's id, which is the target's

	mu        sync.Mutex
	started   int // navigations that began
	arrived   int // documents that came, or moves within one
	asked     int // navigations that the page asked for
	askedThen int // of them, before the document came
	stopped   int // times that loading stopped
	loader    string
	moments   map[string]bool // of the loader
	documents map[string]int  // status of a document by its loader
	redirects map[string]int  // by loader
	windows   int             // that the page opened
	download  *Download
	crashed   bool
	closed    bool          // the tab, which answers nothing any more
	changed   chan struct{} // closed and replaced at each change
}

// watchTab watches a tab from now on. What it sees depends on the domains that are
// enabled after.
func watchTab(conn *cdp.Conn, session, target string) *watch {
	w := &watch{frame: target, moments: map[string]bool{}, documents: map[string]int{}, redirects: map[string]int{}, changed: make(chan struct{})}
	on := func(method string, see func(*event)) {
		conn.On(session, method, func(params json.RawMessage) {
			e := &event{}
			if json.Unmarshal(params, e) != nil {
				return
			}
			w.mu.Lock()
			see(e)
			close(w.changed)
			w.changed = make(chan struct{})
			w.mu.Unlock()
		})
	}
	begins := func(e *event) {
		if e.FrameID == w.frame {
			w.started++
		}
	}
	on("Page.frameRequestedNavigation", func(e *event) {
		begins(e)
		if e.FrameID == w.frame {
			w.asked++
		}
	})
	on("Page.frameStartedNavigating", begins)
	on("Page.frameStartedLoading", begins)
	on("Page.frameStoppedLoading", func(e *event) {
		if e.FrameID == w.frame {
			w.stopped++
		}
	})
	on("Page.frameNavigated", func(e *event) {
		if e.Frame.ID == w.frame {
			w.started++
			w.arrived++
			w.askedThen = w.asked
			w.become(e.Frame.LoaderID)
			if e.Type == fromCache { // it had its moments when it was put there, and has none again
				w.moments = map[string]bool{momentDOM: true, momentLoad: true, momentIdle: true}
			}
		}
	})
	on("Page.navigatedWithinDocument", func(e *event) {
		if e.FrameID == w.frame {
			w.started++
			w.arrived++
		}
	})
	on("Page.lifecycleEvent", func(e *event) {
		if e.FrameID == w.frame {
			w.become(e.LoaderID)
			w.moments[e.Name] = true
		}
	})
	on("Page.windowOpen", func(*event) { w.windows++ })
	on("Page.downloadWillBegin", func(e *event) { w.download = &Download{e.URL, e.SuggestedFilename} })
	on("Inspector.targetCrashed", func(*event) { w.crashed = true })
	on("Inspector.detached", func(*event) { w.closed = true })
	on("Network.requestWillBeSent", func(e *event) {
		if e.isDocument(w.frame) && len(e.RedirectResponse) > 0 {
			w.redirects[e.LoaderID]++
		}
	})
	on("Network.responseReceived", func(e *event) {
		if e.isDocument(w.frame) {
			w.documents[e.LoaderID] = e.Response.Status
		}
	})
	return w
}

// fromCache is the type of a navigation to a document that was put away as it was, for
// the way back.
const fromCache = "BackForwardCacheRestore"

// event is what the events that are watched carry.
type event struct {
	FrameID  string `json:"frameId"`
	LoaderID string `json:"loaderId"`
	Name     string `json:"name"`
	Type     string `json:"type"`
	URL      string `json:"url"`
	Frame    struct {
		ID       string `json:"id"`
		LoaderID string `json:"loaderId"`
	} `json:"frame"`
	SuggestedFilename string          `json:"suggestedFilename"`
	RedirectResponse  json.RawMessage `json:"redirectResponse"`
	Response          struct {
		Status int `json:"status"`
	} `json:"response"`
}

func (e *event) isDocument(frame string) bool { return e.Type == "Document" && e.FrameID == frame }

// become notes which document the frame has; a new one has had no moment yet.
func (w *watch) become(loader string) {
	if loader != "" && loader != w.loader {
		w.loader, w.moments = loader, map[string]bool{}
	}
}

// sight is what a watch has seen up to a moment.
type sight struct {
	started, arrived, stopped, windows int
	loader                             string
	dom, load, idle                    bool
	status, redirects                  int
	crashed, closed                    bool
	goesOn                             bool // the document asked for another one
	download                           *Download
}

// look returns what has been seen, and a channel that is closed at the next change.
func (w *watch) look() (sight, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return sight{
		w.started, w.arrived, w.stopped, w.windows, w.loader, w.moments[momentDOM], w.moments[momentLoad], w.moments[momentIdle],
		w.documents[w.loader], w.redirects[w.loader], w.crashed, w.closed, w.asked > w.askedThen, w.download,
	}, w.changed
}

// until waits until done says so, or the context ends, or time is up (0: no limit). It
// returns what was seen last and whether done said so.
func (w *watch) until(ctx context.Context, limit time.Duration, done func(sight) bool) (sight, bool) {
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	for {
		seen, changed := w.look()
		if done(seen) {
			return seen, true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return seen, false
		}
	}
}

// whileOpen returns a context that ends with the tab, which answers nothing after.
func (w *watch) whileOpen(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		if _, closed := w.until(ctx, 0, func(s sight) bool { return s.closed }); closed {
			cancel()
		}
	}()
	return ctx, cancel
}

func (w *watch) isClosed() bool {
	seen, _ := w.look()
	return seen.closed
}
