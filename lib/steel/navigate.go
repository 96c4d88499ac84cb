package steel

import (
	"context"
	"slices"
	"time"

	"kxm/lib/cdp"
	"kxm/lib/fault"
)

// ActionSchema names the form of what an acting verb answers.
const ActionSchema = "kxm.steel-action.v1"

// Action is the answer of a verb that acts on a page. Fields with nothing to say are
// left out.
type Action struct {
	Schema      string      `json:"schema"`
	Action      string      `json:"action"`
	Target      *Hit        `json:"target,omitempty"`
	URL         string      `json:"url"`
	Title       string      `json:"title,omitempty"`
	Navigated   bool        `json:"navigated,omitempty"`
	Status      int         `json:"status,omitempty"` // of the document's answer
	Redirects   int         `json:"redirects,omitempty"`
	Loading     bool        `json:"loading,omitempty"`     // the document is there, and not all that belongs to it
	ValueLength *int        `json:"valueLength,omitempty"` // in characters
	Verified    *bool       `json:"verified,omitempty"`
	Values      []string    `json:"values,omitempty"`  // that were selected
	Checked     *bool       `json:"checked,omitempty"` // what a box is now
	Files       []Upload    `json:"files,omitempty"`
	Conditions  []Condition `json:"conditions,omitempty"`
	Dialogs     []Dialog    `json:"dialogs,omitempty"`
	NewTabs     []NewTab    `json:"newTabs,omitempty"`
	Download    *Download   `json:"download,omitempty"`
	Cookies     *int        `json:"cookies,omitempty"` // how many were cleared
	Warnings    []string    `json:"warnings,omitempty"`
}

// Hit is the element that an action was done to.
type Hit struct {
	Ref  string `json:"ref,omitempty"`
	Role string `json:"role"`
	Name string `json:"name"`
}

// Upload is a file that was given to a page.
type Upload struct {
	Name  string `json:"name"`
	Bytes int    `json:"bytes"`
}

// Condition is something that was waited for.
type Condition struct {
	Condition string `json:"condition"`
	OK        bool   `json:"ok"`
}

// NewTab is a tab that a page opened.
type NewTab struct {
	Tab string `json:"tab"`
	URL string `json:"url"`
}

// report fills an action with what the tab is now and what happened since it was
// attached to. It settles first.
func (p *Page) report(ctx context.Context, a *Action) error {
	if !p.settled {
		if err := p.settle(ctx); err != nil {
			return err
		}
	}
	a.Schema = ActionSchema
	if p.isElsewhere() {
		delete(p.worlds, p.tab.TargetID) // it is the last document's
	}
	list := p.conn.Send("", "Target.getTargets", nil)
	open, cancel := p.watch.whileOpen(ctx)
	at, err := p.where(open)
	cancel()
	seen, _ := p.watch.look()
	if seen.closed {
		at, err = place{URL: p.lastURL()}, nil
		a.Warnings = append(a.Warnings, "the page closed its tab "+p.tab.Tab)
	}
	if err != nil {
		return err
	}
	// What was typed goes before anything is cut: the rest of it would stay.
	mask := p.service.Secrets.Mask
	a.URL, a.Title = PrintedURL(mask(at.URL)), clean(mask(at.Title), maxMessage)
	a.Navigated = a.Navigated || seen.arrived > p.before.arrived
	if seen.loader != p.before.loader {
		a.Status, a.Redirects = seen.status, seen.redirects
	}
	a.Dialogs = p.Dialogs()
	if d := seen.download; d != nil {
		a.Download = &Download{PrintedURL(mask(d.URL)), clean(mask(d.FileName), maxMessage)}
	}
	a.NewTabs, err = p.newTabs(ctx, list, seen.windows-p.before.windows)
	return err
}

// lastURL is where the tab was when it was attached to.
func (p *Page) lastURL() string {
	for _, t := range p.targets {
		if t.ID == p.tab.TargetID {
			return t.URL
		}
	}
	return ""
}

// How long a window that a page opened may take until it is listed.
const (
	windowTime  = time.Second
	windowPause = 20 * time.Millisecond
)

// newTabs names the tabs that the page opened, of which there should be a number. The
// first list was asked for before.
func (p *Page) newTabs(ctx context.Context, list *cdp.Pending, wanted int) ([]NewTab, error) {
	limited, cancel := context.WithTimeout(ctx, windowTime)
	defer cancel()
	for {
		var now targetsAnswer
		if err := list.Wait(ctx, &now); err != nil {
			return nil, err
		}
		opened := slices.DeleteFunc(now.pages(), func(t target) bool { return p.has(t.ID) || t.Opener != p.tab.TargetID })
		if len(opened) >= wanted || pause(limited, windowPause) != nil {
			var all []NewTab
			for _, t := range opened {
				all = append(all, NewTab{p.record.tabOf(t.ID).Tab, PrintedURL(p.service.Secrets.Mask(t.URL))})
			}
			return all, nil
		}
		list = p.conn.Send("", "Target.getTargets", nil)
	}
}

// Until says what a navigation waits for.
type Until string

// What a navigation waits for.
const (
	UntilLoad Until = "load"
	UntilDOM  Until = "dom"
	UntilIdle Until = "idle" // half a second without a request
	UntilNone Until = "none"
)

// Navigation is a request for another page.
type Navigation struct {
	Until        Until
	FailOnStatus bool // 400 and above is an error
}

// Goto sends the tab to an address. A page that is there but not complete when time is
// up is a success that says so; a download is reported and is no error.
func (p *Page) Goto(ctx context.Context, url string, o Navigation) (*Action, error) {
	if err := CheckPageURL(url); err != nil {
		return nil, err
	}
	var a struct {
		LoaderID string `json:"loaderId"`
		Error    string `json:"errorText"`
		Download bool   `json:"isDownload"`
	}
	// The answer comes with the response's head, which a server may hold back for long.
	call := p.Send("Page.navigate", map[string]string{"url": url})
	if err := call.Wait(ctx, &a); err != nil {
		return nil, p.tooSlow(err)
	}
	done := &Action{Action: "goto"}
	switch {
	case a.Download:
		p.watch.until(ctx, domTime, func(s sight) bool { return s.download != nil })
		return done, p.report(ctx, done)
	case a.Error != "":
		return nil, navigationFailed(a.Error)
	case a.LoaderID == "": // within the document: nothing is loaded
		return done, p.report(ctx, done)
	}
	return done, p.arrive(ctx, done, a.LoaderID, o)
}

func navigationFailed(text string) error {
	return fault.New(fault.SteelNavigationFailed, "the page could not be loaded: %s", clean(text, quoted))
}

// arrive waits until the document of a loader (any new one, if it is "") is there as
// far as is asked for.
func (p *Page) arrive(ctx context.Context, done *Action, loader string, o Navigation) error {
	isNew := func(s sight) bool { return s.loader == loader || loader == "" && s.arrived > p.before.arrived }
	moment := map[Until]func(sight) bool{
		UntilNone: func(s sight) bool { return true },
		UntilDOM:  func(s sight) bool { return s.dom },
		UntilLoad: func(s sight) bool { return s.load },
		UntilIdle: func(s sight) bool { return s.load && s.idle },
	}[o.Until]
	seen, ok := p.watch.until(ctx, 0, func(s sight) bool { return s.crashed || isNew(s) && moment(s) })
	switch {
	case seen.crashed:
		return p.unanswering()
	case !ok && !(isNew(seen) && seen.dom):
		return p.tooSlow(ctx.Err())
	case !ok:
		done.Loading = true
	}
	p.arrived = ok && o.Until != UntilNone
	if err := p.report(p.late, done); err != nil {
		return err
	}
	if o.FailOnStatus && done.Status >= 400 {
		return fault.New(fault.SteelHTTPStatus, "the page was answered with status %d", done.Status)
	}
	return nil
}

// tooSlow stops the loading of a page that did not come in time.
func (p *Page) tooSlow(err error) error {
	if err != context.DeadlineExceeded {
		return err
	}
	_ = p.Call(p.late, "Page.stopLoading", nil, nil) // the command fails all the same
	return fault.New(fault.SteelNavigationTimeout, "the page was not there within %s; loading was stopped", short(p.access.Timeout)).
		WithHint("give it longer with --timeout")
}

// Reload loads the page again.
func (p *Page) Reload(ctx context.Context, o Navigation) (*Action, error) {
	if err := p.Call(ctx, "Page.reload", nil, nil); err != nil {
		return nil, err
	}
	done := &Action{Action: "reload"}
	return done, p.arrive(ctx, done, "", o)
}

// Back goes back in the tab's history.
func (p *Page) Back(ctx context.Context, o Navigation) (*Action, error) {
	var h struct {
		Current int `json:"currentIndex"`
		Entries []struct {
			ID int `json:"id"`
		} `json:"entries"`
	}
	if err := p.Call(ctx, "Page.getNavigationHistory", nil, &h); err != nil {
		return nil, err
	}
	if h.Current < 1 || h.Current > len(h.Entries) {
		return nil, fault.New(fault.SteelNoHistory, "the tab has no page to go back to")
	}
	if err := p.Call(ctx, "Page.navigateToHistoryEntry", map[string]int{"entryId": h.Entries[h.Current-1].ID}, nil); err != nil {
		return nil, err
	}
	done := &Action{Action: "back"}
	return done, p.arriveBack(ctx, done, o)
}

// arriveBack is arrive for history: what comes may be a move within the document, which
// has no loader of its own.
func (p *Page) arriveBack(ctx context.Context, done *Action, o Navigation) error {
	seen, ok := p.watch.until(ctx, domTime, func(s sight) bool { return s.crashed || s.arrived > p.before.arrived })
	if !ok || seen.loader == p.before.loader {
		return p.report(ctx, done)
	}
	return p.arrive(ctx, done, "", o)
}
