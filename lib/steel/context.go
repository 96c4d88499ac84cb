package steel

import (
	"context"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"kxm/lib/cdp"
	"kxm/lib/fault"
)

// storageScript is an expression like pageScript, for questions about local storage.
//
//go:embed storage.js
var storageScript string

// contextTime is how long a new session's context may take to load.
const contextTime = 30 * time.Second

// SaveContext returns all cookies, and the local storage of the tab's origins. The
// number is that of items that are no text and were left out.
//
// Frames of another site have storage of their own beneath the tab's site, which is not
// that of their origin: a context has no place for it.
func (p *Page) SaveContext(ctx context.Context) (*SavedContext, int, error) {
	cookies, err := readCookies(ctx, p.conn)
	if err != nil {
		return nil, 0, err
	}
	saved := &SavedContext{Schema: ContextSchema, Cookies: cookies, Origins: []OriginStorage{}}
	var frames []string
	asked := map[string]bool{}
	p.main.walk(func(f *frameTree) {
		origin := f.Frame.Origin
		if (strings.HasPrefix(origin, "http://") || strings.HasPrefix(origin, "https://")) && !asked[origin] {
			asked[origin] = true
			frames = append(frames, f.Frame.ID)
		}
	})
	lost := 0
	for _, frame := range frames[:min(len(frames), maxContextOrigins)] {
		var s struct {
			Origin string        `json:"origin"`
			Items  []StorageItem `json:"items"`
			Lost   int           `json:"lost"`
		}
		if err := p.askIn(ctx, storageScript, frame, "stored", nil, &s); err != nil {
			return nil, 0, err
		}
		lost += s.Lost
		if len(s.Items) > 0 && validOrigin(s.Origin) {
			saved.Origins = append(saved.Origins, OriginStorage{s.Origin, s.Items})
		}
	}
	return saved, lost, nil
}

// LoadContext adds a context to what the browser has. The tab shows a blank page in
// the end; no request of it reaches any site.
func (p *Page) LoadContext(ctx context.Context, c *SavedContext) error {
	// First away from a page whose scripts might write the same.
	if _, err := p.Goto(ctx, blank, Navigation{Until: UntilDOM}); err != nil {
		return err
	}
	if len(c.Cookies) > 0 {
		err := p.conn.Call(ctx, "", "Storage.setCookies", map[string]any{"cookies": c.Cookies}, nil)
		if cdp.Says(err, "Invalid cookie") {
			return badContext("the browser refuses a cookie")
		}
		if err != nil {
			return err
		}
	}
	if len(c.Origins) == 0 {
		return nil
	}
	defer p.holdRequests()()
	for i := range c.Origins {
		if err := p.storeOrigin(ctx, &c.Origins[i]); err != nil {
			return err
		}
	}
	if _, err := p.Goto(ctx, blank, Navigation{Until: UntilDOM}); err != nil {
		return err
	}
	// Going back would ask the site for what was never there.
	return p.Call(ctx, "Page.resetNavigationHistory", nil, nil)
}

// emptyPage is what every document is while requests are held. Without its icon a
// browser would ask the site for one.
const emptyPage = `<!doctype html><link rel="icon" href="data:,">`

// holdRequests answers each document that the tab asks for with an empty page, and
// refuses everything else, until the function that it returns is called.
func (p *Page) holdRequests() func() {
	page := base64.StdEncoding.EncodeToString([]byte(emptyPage))
	off := p.conn.On(p.session, "Fetch.requestPaused", func(params json.RawMessage) {
		var r struct {
			ID    string `json:"requestId"`
			Frame string `json:"frameId"`
			Type  string `json:"resourceType"`
		}
		if json.Unmarshal(params, &r) != nil {
			return
		}
		if r.Frame != p.tab.TargetID || r.Type != "Document" {
			p.Send("Fetch.failRequest", map[string]string{"requestId": r.ID, "errorReason": "BlockedByClient"})
			return
		}
		p.Send("Fetch.fulfillRequest", map[string]any{
			"requestId": r.ID, "responseCode": 200, "body": page,
			"responseHeaders": []map[string]string{{"name": "Content-Type", "value": "text/html"}, {"name": "Cache-Control", "value": "no-store"}},
		})
	})
	p.Send("Network.setBypassServiceWorker", map[string]bool{"bypass": true}) // it would answer before us
	p.Send("Fetch.enable", map[string]any{"patterns": []map[string]string{{"urlPattern": "*"}}})
	return func() {
		off()
		_ = p.Call(p.late, "Fetch.disable", nil, nil) // it ends with the socket, too
	}
}

// storeOrigin puts the local storage of an origin into the browser, in an empty page of
// the origin.
func (p *Page) storeOrigin(ctx context.Context, o *OriginStorage) error {
	var at struct {
		Loader string `json:"loaderId"`
		Error  string `json:"errorText"`
	}
	if err := p.Call(ctx, "Page.navigate", map[string]string{"url": o.Origin + "/"}, &at); err != nil {
		return err
	}
	if at.Error != "" {
		return navigationFailed(at.Error)
	}
	seen, ok := p.watch.until(ctx, 0, func(s sight) bool { return s.crashed || s.loader == at.Loader })
	switch {
	case seen.crashed:
		return p.unanswering()
	case !ok:
		return ctx.Err()
	}
	n := 0
	if err := p.askIn(ctx, storageScript, p.tab.TargetID, "store", []any{o.Origin, o.Items}, &n); err != nil {
		return err
	}
	switch {
	case n < 0:
		return badContext("the browser takes %s for another origin", fault.Quote(o.Origin))
	case n < len(o.Items):
		return badContext("the browser has no room for the local storage of %s", fault.Quote(o.Origin))
	}
	return nil
}

// loadInto loads a context into the tab of a session that has just begun.
func (s *Service) loadInto(ctx context.Context, conn *cdp.Conn, r *Record, c *SavedContext) error {
	limited, cancel := context.WithTimeout(ctx, contextTime)
	defer cancel()
	p := s.page(r, &Access{Verb: "session start", Timeout: contextTime, Dialog: DialogAnswer{Policy: AcceptPolicy}})
	p.conn, p.late = conn, ctx
	if err := p.open(limited); err != nil {
		return err
	}
	return s.timedOut(limited, p.access, p.LoadContext(limited, c))
}
