package steel

import (
	"context"
	"time"

	"kxm/lib/cdp"
	"kxm/lib/fault"
)

// wipeTime is how long a wipe may take.
const wipeTime = 5 * time.Second

// blank is the page that holds nothing.
const blank = "about:blank"

// Leftovers are what an earlier session left in the browser.
type Leftovers struct {
	Cookies int `json:"cookies"`
	Tabs    int `json:"tabs"`
}

// wipe removes what a session leaves in the browser: tabs, cookies, storage, cache and
// permissions. It returns the one tab that is left, empty, and what was removed.
func (s *Service) wipe(ctx context.Context, conn *cdp.Conn, keep string) (tab target, left Leftovers, err error) {
	ctx, cancel := context.WithTimeout(ctx, wipeTime)
	defer cancel()
	session, tab, closed, err := s.oneTab(ctx, conn, keep)
	if err != nil {
		return tab, left, wipeFailed(s, "tabs", err)
	}
	left.Tabs = closed
	cookies, err := countCookies(ctx, conn)
	if err != nil {
		return tab, left, wipeFailed(s, "cookies", err)
	}
	left.Cookies = cookies
	var all []*cdp.Pending
	for _, c := range []struct {
		session, method string
		params          any
	}{
		{"", "Storage.clearCookies", nil},
		// On the browser's own session this one fails.
		{session, "Storage.clearDataForOrigin", map[string]string{"origin": "*", "storageTypes": "all"}},
		{session, "Network.clearBrowserCache", nil},
		{"", "Browser.resetPermissions", nil},
	} {
		all = append(all, conn.Send(c.session, c.method, c.params))
	}
	for _, p := range all {
		if perr := p.Wait(ctx, nil); perr != nil && err == nil {
			err = perr
		}
	}
	if err != nil {
		return tab, left, wipeFailed(s, "storage", err)
	}
	switch n, err := countCookies(ctx, conn); {
	case err != nil:
		return tab, left, wipeFailed(s, "cookies", err)
	case n > 0:
		return tab, left, fault.New(fault.SteelWipeIncomplete, "%s could not be removed", count(n, "cookie"))
	}
	return tab, left, nil
}

func wipeFailed(s *Service, what string, err error) error {
	return fault.New(fault.SteelWipeIncomplete, "the browser's %s could not be removed: %s", what, clean(s.Secrets.Mask(err.Error()), quoted))
}

// oneTab leaves one tab, which it empties, and returns how many it closed. The kept one
// is the one that is named, if it answers.
func (s *Service) oneTab(ctx context.Context, conn *cdp.Conn, keep string) (session string, kept target, closed int, err error) {
	tabs, err := s.probeTabs(ctx, conn)
	if err != nil {
		return "", kept, 0, err
	}
	at := -1
	for i, t := range tabs {
		if t.state == alive && (at < 0 || t.target.ID == keep) {
			at = i
		}
	}
	for i, t := range tabs {
		if i == at {
			continue
		}
		if err := closeTab(ctx, conn, t.target.ID); err != nil {
			return "", kept, closed, err
		}
		closed++
	}
	if at >= 0 {
		// Unasked, a page may stop its own navigation.
		d := dialogs{conn: conn, session: tabs[at].session, policy: AcceptPolicy, now: s.now, mask: s.Secrets.Mask}
		d.listen()
		conn.Send(d.session, "Page.enable", nil)
		kept = tabs[at].target
		return d.session, kept, closed, conn.Call(ctx, d.session, "Page.navigate", map[string]string{"url": blank}, nil)
	}
	if kept.ID, err = openTab(ctx, conn, blank); err != nil {
		return "", kept, closed, err
	}
	var to attached
	if err := attachTo(conn, kept.ID).Wait(ctx, &to); err != nil {
		return "", kept, closed, err
	}
	pages, err := listPages(ctx, conn)
	for _, t := range pages {
		if t.ID == kept.ID {
			kept = t
		}
	}
	return to.Session, kept, closed, err
}

func countCookies(ctx context.Context, conn *cdp.Conn) (int, error) {
	var a struct {
		Cookies []struct{} `json:"cookies"`
	}
	err := conn.Call(ctx, "", "Storage.getCookies", nil, &a)
	return len(a.Cookies), err
}

// wipeSession wipes the browser through a connection of its own, before or after the
// session of the record ends.
func (s *Service) wipeSession(ctx context.Context, r *Record) error {
	conn, err := s.Dial(ctx, r.ID)
	if err != nil {
		return err
	}
	defer conn.Close()
	keep := ""
	if t := r.tab(r.Tab); t != nil {
		keep = t.TargetID
	}
	_, _, err = s.wipe(ctx, conn, keep)
	return err
}

// closeStuck closes the tabs that do not answer, over which a release hangs, and
// reports whether there were any.
func (s *Service) closeStuck(ctx context.Context, id string) (bool, error) {
	conn, err := s.Dial(ctx, id)
	if err != nil {
		return false, err
	}
	defer conn.Close()
	tabs, err := s.probeTabs(ctx, conn)
	any := false
	for _, t := range tabs {
		if t.state == alive {
			continue
		}
		if cerr := closeTab(ctx, conn, t.target.ID); err == nil {
			err = cerr
		}
		any = true
	}
	return any, err
}
