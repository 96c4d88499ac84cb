package steel

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"kxm/lib/cdp"
	"kxm/lib/fault"
)

// Times after an action.
const (
	calmTime = 50 * time.Millisecond // in which what an action begins shows
	domTime  = 5 * time.Second       // for the next document
)

// Page is a tab with an open connection. It is used by one goroutine, but for Send.
type Page struct {
	service *Service
	record  *Record
	access  *Access
	conn    *cdp.Conn
	late    context.Context // ends lateTime after the command's own
	session string          // the protocol's
	tab     Tab
	settled bool // what the command did has been waited for
	stoodIn bool // the tab took the place of the recorded one, which is gone

	targets []target // pages
	others  []target // whatever else there is, as frames of other sites
	main    *frameTree
	worlds  map[string]*cdp.Pending // isolated worlds that were asked for, by frame
	aimed   *Reference              // what the command is about, if that is a reference
	views   map[string]*view        // cross-site frames that were attached to, by their target
	owners  map[string]*owner       // elements of frames, by the frame's id
	watch   *watch
	dialogs dialogs
	before  sight // when the tab was attached to
	arrived bool  // the tab was sent to a page, which is there
}

// frameTree is a frame with those inside it, as far as they are the tab's own process.
type frameTree struct {
	Frame struct {
		ID       string `json:"id"`
		LoaderID string `json:"loaderId"`
		URL      string `json:"url"`
		Origin   string `json:"securityOrigin"`
		MIME     string `json:"mimeType"`
	} `json:"frame"`
	Children []*frameTree `json:"childFrames"`
}

// walk calls see for each frame, parents first.
func (f *frameTree) walk(see func(*frameTree)) {
	see(f)
	for _, c := range f.Children {
		c.walk(see)
	}
}

// open attaches to the recorded tab: one wait to attach, one for everything else.
func (p *Page) open(ctx context.Context) error {
	r := p.record
	name := p.access.Tab
	if name == "" {
		name = r.Tab
	}
	list := p.conn.Send("", "Target.getTargets", nil)
	var to attached
	attaching := error(errNoTab)
	if t := r.tab(name); t != nil {
		p.tab = *t
		attach := attachTo(p.conn, t.TargetID)
		if p.aimed != nil && p.aimed.TargetID != t.TargetID {
			p.beginView(p.aimed.TargetID)
		}
		attaching = attach.Wait(ctx, &to)
		for _, v := range p.views {
			v.attached(ctx)
		}
	}
	var a targetsAnswer
	if err := list.Wait(ctx, &a); err != nil {
		return err
	}
	p.targets, p.others = a.pages(), a.others()
	if !p.has(p.tab.TargetID) {
		if attaching = p.standIn(ctx, &to); attaching != nil {
			return attaching
		}
	}
	if attaching != nil {
		return attaching
	}
	p.session = to.Session
	return p.enable(ctx)
}

// standIn attaches to the only tab there is in place of one that is gone, if the command
// takes that; otherwise it says what became of the tab.
func (p *Page) standIn(ctx context.Context, to *attached) error {
	if !p.access.standsIn || p.access.Tab != "" || len(p.targets) != 1 || restarted(p.record, p.targets) {
		return p.lost()
	}
	p.tab = p.record.tabOf(p.targets[0].ID)
	p.record.Tab, p.stoodIn = p.tab.Tab, true
	return attachTo(p.conn, p.tab.TargetID).Wait(ctx, to)
}

var errNoTab = errors.New("no tab is recorded")

func (p *Page) has(target string) bool {
	for _, t := range p.targets {
		if t.ID == target {
			return true
		}
	}
	return false
}

// lost says what became of a tab that is not there.
func (p *Page) lost() error {
	if restarted(p.record, p.targets) {
		return browserRestarted(p.record)
	}
	return fault.New(fault.SteelTabLost, "the tab %s is not in the browser any more; there %s", fault.Quote(p.tab.Tab), p.record.listed(p.targets)).
		WithHint("kxm-steel tab use tN goes on in another one; kxm-steel tab new opens one")
}

// restarted reports whether the browser is another one than the record's: a browser's
// own context gets a new id each time it starts.
func restarted(r *Record, pages []target) bool {
	if r.BrowserContextID == "" || len(pages) == 0 {
		return false
	}
	for _, t := range pages {
		if t.ContextID == r.BrowserContextID {
			return false
		}
	}
	return true
}

func browserRestarted(r *Record) error {
	return fault.New(fault.SteelBrowserRestarted, "the browser of the session %s was started anew: its tabs, and probably the signed-in state, are gone", fault.Quote(r.ID)).
		WithHint("kxm-steel recover, then repeat a person's login if there was one; or start a new session")
}

// enable turns on what a command watches and asks whether the tab answers.
func (p *Page) enable(ctx context.Context) error {
	p.watch = watchTab(p.conn, p.session, p.tab.TargetID)
	p.dialogs = dialogs{
		conn: p.conn, session: p.session, tab: p.tab.Tab, policy: p.record.DialogPolicy, text: p.access.Dialog.Text,
		now: p.service.now, mask: p.service.Secrets.Mask,
	}
	if p.access.Dialog.Policy != "" {
		p.dialogs.policy = p.access.Dialog.Policy
	}
	p.dialogs.listen()
	p.worlds = map[string]*cdp.Pending{}
	p.Send("Page.enable", nil)
	p.Send("Inspector.enable", nil)
	if !p.access.Reads {
		// Of bodies nothing is kept: they are not looked at.
		p.Send("Network.enable", map[string]int{"maxTotalBufferSize": 0, "maxResourceBufferSize": 0})
		p.Send("Page.bringToFront", nil)
	}
	p.Send("Page.setLifecycleEventsEnabled", map[string]bool{"enabled": true})
	tree := p.Send("Page.getFrameTree", nil)
	p.askWorld(p.tab.TargetID) // the main frame's id is the target's
	p.prepare(ctx)
	one := p.Send("Runtime.evaluate", map[string]any{"expression": "1", "returnByValue": true})
	probing, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	if err := answers(probing, p.watch, one); err != nil {
		if probing.Err() != nil && ctx.Err() == nil || errors.Is(err, errCrashed) {
			return p.unanswering()
		}
		return err
	}
	root, err := waitTree(ctx, tree)
	if err != nil {
		return err
	}
	p.main = root
	p.before, _ = p.watch.look()
	return nil
}

// waitTree waits for the answer to Page.getFrameTree.
func waitTree(ctx context.Context, tree *cdp.Pending) (*frameTree, error) {
	var t struct {
		Tree *frameTree `json:"frameTree"`
	}
	err := tree.Wait(ctx, &t)
	if err == nil && t.Tree == nil {
		err = badAnswer("Page.getFrameTree", "frameTree")
	}
	return t.Tree, err
}

var errCrashed = errors.New("the renderer crashed")

// answers waits for an answer, or for the news that the renderer has crashed.
func answers(ctx context.Context, w *watch, one *cdp.Pending) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		if _, ok := w.until(ctx, 0, func(s sight) bool { return s.crashed }); ok {
			cancel(errCrashed)
		}
	}()
	if err := one.Wait(ctx, nil); err != nil {
		if errors.Is(context.Cause(ctx), errCrashed) {
			return errCrashed
		}
		return err
	}
	return nil
}

// unanswering is the error of a tab that does not answer.
func (p *Page) unanswering() error {
	if seen, _ := p.watch.look(); seen.crashed {
		return fault.New(fault.SteelTabCrashed, "the renderer of the tab %s crashed", fault.Quote(p.tab.Tab)).
			WithHint("kxm-steel recover; if it happens again, give Chromium a larger /dev/shm")
	}
	return fault.New(fault.SteelTabStuck, "a dialog or an endless script blocks the tab %s", fault.Quote(p.tab.Tab)).
		WithHint("kxm-steel recover closes it; unsaved input is lost")
}

// Send sends a call to the tab and does not wait.
func (p *Page) Send(method string, params any) *cdp.Pending {
	return p.conn.Send(p.session, method, params)
}

// Call sends a call to the tab and waits for its answer.
func (p *Page) Call(ctx context.Context, method string, params, result any) error {
	return p.Send(method, params).Wait(ctx, result)
}

// Dialogs are those that were answered so far.
func (p *Page) Dialogs() []Dialog { return p.dialogs.all() }

// close ends the connection.
func (p *Page) close() { p.conn.Close() }

// settle waits for what an action set off: a navigation that begins at once, up to the
// new document, and dialogs, until none has opened for a while. A tab that was sent to a
// page has been waited for already: what that page began by itself shows by then.
func (p *Page) settle(ctx context.Context) error {
	began := func(s sight) bool { return s.started > p.before.started || s.crashed || s.closed }
	if p.arrived {
		began = func(s sight) bool { return s.goesOn || s.crashed || s.closed }
	}
	seen, _ := p.watch.look()
	if !p.arrived && !began(seen) {
		seen, _ = p.watch.until(ctx, calmTime, began)
	}
	if began(seen) {
		stops, came := seen.stopped, p.before.arrived
		if p.arrived {
			came = seen.arrived
		}
		p.watch.until(ctx, domTime, func(s sight) bool {
			return s.crashed || s.closed || s.arrived > came && s.dom || s.download != nil || s.stopped > stops
		})
	}
	switch seen, _ := p.watch.look(); {
	case seen.crashed:
		return p.unanswering()
	case seen.closed:
		return nil
	}
	return p.dialogs.settle(ctx, calmTime, began(seen))
}

// transport turns an error of the connection into ours. A connection that broke is
// looked into once, to say what happened instead. Other errors stay as they are.
func (s *Service) transport(ctx context.Context, r *Record, err error) error {
	var refused *cdp.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, cdp.ErrTooLarge):
		return fault.New(fault.SteelTooLarge, "an answer of the browser is larger than %d MiB", cdp.MaxMessage>>20)
	case errors.Is(err, cdp.ErrLost):
		return s.whyLost(ctx, r)
	case errors.As(err, &refused):
		return fault.New(fault.SteelBadResponse, "the browser refused %s: %s", refused.Method, clean(s.Secrets.Mask(refused.Message), quoted))
	}
	return err
}

// badAnswer is an answer of the browser without a field that it must have.
func badAnswer(method, field string) error {
	return fault.New(fault.SteelBadResponse, "the browser's answer to %s has no %s", method, fault.Quote(field)).On(field)
}

// whyLost says why a connection broke.
func (s *Service) whyLost(ctx context.Context, r *Record) error {
	lost := fault.New(fault.SteelConnectionLost, "the connection to the browser of %s was lost", fault.Quote(r.ID)).
		WithHint("what the command did is not known: look with kxm-steel snapshot")
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	list, err := s.List(ctx)
	if err != nil {
		return lost
	}
	if err := s.isCurrent(r, list); err != nil {
		return err
	}
	conn, err := s.Dial(ctx, r.ID)
	if err != nil {
		if fault.Is(err, fault.SteelNoBrowser) {
			return err
		}
		return lost
	}
	defer conn.Close()
	if pages, err := listPages(ctx, conn); err == nil && restarted(r, pages) {
		return browserRestarted(r)
	}
	return lost
}

// place is where a tab is.
type place struct {
	URL   string `json:"url"`
	Title string `json:"title"`
}

// where asks for address and title, in the page itself: the browser's own list of
// targets may be behind.
func (p *Page) where(ctx context.Context) (place, error) {
	var at place
	err := p.ask(ctx, p.tab.TargetID, "where", nil, &at)
	return at, err
}

// asked is the answer of Runtime.evaluate and Runtime.callFunctionOn.
type asked struct {
	Result struct {
		Type        string          `json:"type"`
		Subtype     string          `json:"subtype"`
		Value       json.RawMessage `json:"value"`
		Unserial    string          `json:"unserializableValue"`
		Description string          `json:"description"`
		ObjectID    string          `json:"objectId"`
	} `json:"result"`
	Threw *struct {
		Text      string `json:"text"`
		Exception struct {
			Description string `json:"description"`
			Value       any    `json:"value"`
		} `json:"exception"`
	} `json:"exceptionDetails"`
}
