package steeltest

import (
	"context"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"kxm/lib/cdp"
)

// browser is the Chromium behind a server. It has one profile, which outlives each
// Chromium that is started on it.
type browser struct {
	server  *Server
	program Program
	home    string
	ctx     context.Context // ends with the server
	stop    context.CancelFunc
	watches sync.WaitGroup

	changing sync.Mutex // held while one Chromium takes another's place

	mu      sync.Mutex
	running *Chromium // nil while there is none
	config  config
	feed    *cdp.Conn // tells the log what happens in it
	first   string    // its first page, which the server drives
}

// config is what of a create's body needs a Chromium of its own.
type config struct {
	UserAgent  string `json:"userAgent"`
	Timezone   string `json:"timezone"`
	BlockAds   bool   `json:"blockAds"` // here it is only a difference
	ProxyURL   string `json:"proxyUrl"` // here it is only a difference
	Dimensions struct {
		Width  int `json:"width"`
		Height int `json:"height"`
	} `json:"dimensions"`
}

// launch is how a Chromium of a configuration is started.
func (c config) launch(home string) Launch {
	l := Launch{Home: home}
	if c.UserAgent != "" {
		l.Flags = append(l.Flags, "--user-agent="+c.UserAgent)
	}
	if d := c.Dimensions; d.Width > 0 && d.Height > 0 {
		l.Flags = append(l.Flags, "--window-size="+strconv.Itoa(d.Width)+","+strconv.Itoa(d.Height))
	}
	if c.Timezone != "" {
		l.Env = append(l.Env, "TZ="+c.Timezone)
	}
	return l
}

// StartBrowser starts a Chromium behind the server, to which its sockets lead from then
// on. Close ends it.
func (s *Server) StartBrowser(ctx context.Context, program Program) error {
	home, err := os.MkdirTemp("", "kxm-chromium-")
	if err != nil {
		return err
	}
	b := &browser{server: s, program: program, home: home}
	b.ctx, b.stop = context.WithCancel(context.Background())
	if _, err := b.start(ctx, config{}); err != nil {
		b.close()
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.browser = b
	return nil
}

// behind returns what keeps the browser, or nil.
func (s *Server) behind() *browser {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.browser
}

// chromium returns what runs behind the server, or nil.
func (s *Server) chromium() *Chromium {
	b := s.behind()
	if b == nil || s.knob("browser") == "none" {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.running
}

// start starts a Chromium where none is, and watches it. Except for the first one the
// caller holds changing.
func (b *browser) start(ctx context.Context, c config) (*Chromium, error) {
	running, err := b.program.Start(ctx, c.launch(b.home))
	if err != nil {
		return nil, err
	}
	pages, err := running.Pages(ctx)
	var feed *cdp.Conn
	if err == nil {
		feed, err = b.server.startFeed(ctx, running)
	}
	if err != nil {
		running.Kill()
		return nil, err
	}
	b.mu.Lock()
	b.running, b.config, b.feed, b.first = running, c, feed, pages[0].ID
	b.mu.Unlock()
	b.watches.Go(func() {
		<-running.Done
		feed.Close()
		b.relaunch(running)
	})
	return running, nil
}

// take returns what runs, and leaves none.
func (b *browser) take() (*Chromium, config) {
	b.mu.Lock()
	defer b.mu.Unlock()
	running := b.running
	b.running = nil
	return running, b.config
}

// relaunch puts another Chromium in the place of one that ended by itself: the session
// goes on, and nothing says that its tabs are gone.
func (b *browser) relaunch(ended *Chromium) {
	b.changing.Lock()
	defer b.changing.Unlock()
	b.mu.Lock()
	replaced := b.running != ended
	b.mu.Unlock()
	if replaced {
		return
	}
	_, c := b.take()
	ended.Kill() // what is left of it
	if b.ctx.Err() == nil && b.server.knob("browser") != "none" {
		b.mustStart(c)
	}
}

// mustStart starts a Chromium as the server itself does; where it cannot, there is none.
func (b *browser) mustStart(c config) *Chromium {
	running, err := b.start(b.ctx, c)
	if err != nil && b.ctx.Err() == nil {
		b.server.complainOf("the browser did not come back: " + err.Error())
	}
	return running
}

// settle does with the browser, if there is one, what a create does, or a release: that
// starts another one. A create that fails leaves none.
func (s *Server) settle(c config, how string) {
	b := s.behind()
	if b == nil {
		return
	}
	b.changing.Lock()
	defer b.changing.Unlock()
	if how == "fails" {
		if old, _ := b.take(); old != nil {
			old.End()
		}
		return
	}
	b.mu.Lock()
	stays := b.running != nil && b.config == c && how != "release"
	b.mu.Unlock()
	if !stays {
		b.restart(c)
	}
}

// restart puts a Chromium of the configuration in the place of what runs. The profile
// stays, session cookies too, which Chromium itself would drop. The caller holds
// changing.
func (b *browser) restart(c config) {
	var cookies []map[string]any
	if old, _ := b.take(); old != nil {
		cookies = old.sessionCookies(b.ctx)
		old.End()
	}
	if running := b.mustStart(c); running != nil && len(cookies) > 0 {
		if err := running.own.Call(b.ctx, "", "Storage.setCookies", map[string]any{"cookies": cookies}, nil); err != nil {
			b.server.complainOf("session cookies were lost: " + err.Error())
		}
	}
}

// sessionCookies returns the cookies that end with the browser, as they are set again.
func (c *Chromium) sessionCookies(ctx context.Context) []map[string]any {
	ctx, cancel := context.WithTimeout(ctx, endLimit)
	defer cancel()
	var all struct{ Cookies []map[string]any }
	if c.own.Call(ctx, "", "Storage.getCookies", nil, &all) != nil {
		return nil // it has ended, and they with it
	}
	all.Cookies = slices.DeleteFunc(all.Cookies, func(v map[string]any) bool { return v["session"] != true })
	for _, v := range all.Cookies {
		delete(v, "expires") // -1, which is no time
	}
	return all.Cookies
}

// KillBrowser kills the Chromium behind the server, and returns when another one has
// taken its place, or none if the knob "browser" is "none".
func (s *Server) KillBrowser() {
	b := s.behind()
	if b == nil {
		return
	}
	b.changing.Lock()
	defer b.changing.Unlock()
	old, c := b.take()
	if old != nil {
		old.Kill()
	}
	if s.knob("browser") != "none" {
		b.mustStart(c)
	}
}

// close ends the browser and removes its profile.
func (b *browser) close() {
	b.stop()
	b.changing.Lock()
	if old, _ := b.take(); old != nil {
		old.Kill()
	}
	b.changing.Unlock()
	b.watches.Wait()
	removeHome(b.home)
}

// removeHome removes the folder of a Chromium that was killed; "" is none. Its processes
// may take a moment to end, and write until then.
func removeHome(home string) {
	if home == "" {
		return
	}
	for range 100 {
		if os.RemoveAll(home) == nil {
			return
		}
		time.Sleep(pollTime)
	}
}
