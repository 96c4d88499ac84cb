package steel

import (
	"context"
	"slices"
	"time"

	"kxm/lib/cdp"
	"kxm/lib/fault"
)

// How a browser that is being launched is waited for.
const (
	readyTime  = 10 * time.Second        // until it answers
	readyPause = 250 * time.Millisecond  // between looks
	readyCalm  = 1500 * time.Millisecond // after that: a create within a second of a launch can end the server
	againPause = 1500 * time.Millisecond // between tries to reach a browser whose session is new
)

// awaitBrowser waits until the server's browser answers, if it is being launched. A
// browser that never does is no error: the create that follows gets the server's own
// message. What a create would not help is an error.
func (s *Service) awaitBrowser(ctx context.Context, id string) error {
	waiting := false
	limited, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	for {
		err := s.version(limited, id)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case fault.Is(err, fault.SteelUnauthorized), fault.Is(err, fault.SteelHostRejected), fault.Is(err, fault.SteelKeyCommandFailed), fault.Is(err, fault.SteelBadKey):
			return err
		case err == nil && waiting:
			return pause(ctx, s.pauses(readyCalm))
		case err == nil:
			return nil
		}
		waiting = true
		if pause(limited, s.pauses(readyPause)) != nil {
			return ctx.Err()
		}
	}
}

// version asks the browser for its version, which it gives when it is ready.
func (s *Service) version(ctx context.Context, id string) error {
	conn, err := s.Dial(ctx, id)
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.Call(ctx, "", "Browser.getVersion", nil, nil)
}

// reach dials the browser of a session that has just begun, which may take a moment.
func (s *Service) reach(ctx context.Context, id string) (*cdp.Conn, error) {
	return s.insist(ctx, func() (*cdp.Conn, error) { return s.Dial(ctx, id) })
}

// insist dials a browser that may be starting, up to three times.
func (s *Service) insist(ctx context.Context, dial func() (*cdp.Conn, error)) (*cdp.Conn, error) {
	for try := 0; ; try++ {
		conn, err := dial()
		if try == 2 || !fault.Is(err, fault.SteelNoBrowser) {
			return conn, err
		}
		if err := pause(ctx, s.pauses(againPause)); err != nil {
			return nil, err
		}
	}
}

// tabState is how one tab of the browser answered.
type tabState struct {
	target  target
	session string
	state   probe
}

// probeTab attaches to a tab and asks it for a constant.
func (s *Service) probeTab(ctx context.Context, conn *cdp.Conn, t target) (tabState, error) {
	found := tabState{target: t, state: stuck}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	var to attached
	if err := attachTo(conn, t.ID).Wait(ctx, &to); err != nil {
		return found, err
	}
	found.session = to.Session
	w := watchTab(conn, to.Session, t.ID)
	conn.Send(to.Session, "Inspector.enable", nil)
	one := conn.Send(to.Session, "Runtime.evaluate", map[string]any{"expression": "1", "returnByValue": true})
	err := answers(ctx, w, one)
	if seen, _ := w.look(); seen.crashed {
		found.state = crashed
		return found, nil
	}
	if err == nil {
		found.state = alive
	}
	if conn.Err() != nil {
		return found, conn.Err()
	}
	return found, nil
}

// probeTabs probes all tabs at once.
func (s *Service) probeTabs(ctx context.Context, conn *cdp.Conn) ([]tabState, error) {
	pages, err := listPages(ctx, conn)
	if err != nil {
		return nil, err
	}
	type probed struct {
		state tabState
		err   error
	}
	results := make([]chan probed, len(pages))
	for i, t := range pages {
		results[i] = make(chan probed, 1)
		go func() {
			state, err := s.probeTab(ctx, conn, t)
			results[i] <- probed{state, err}
		}()
	}
	var all []tabState
	for _, c := range results {
		r := <-c
		if r.err != nil && conn.Err() != nil {
			err = r.err
		}
		all = append(all, r.state)
	}
	return all, err
}

// goneTime is the pause between looks for tabs that are being closed.
const goneTime = 20 * time.Millisecond

// closeTabs closes tabs, also such as do not answer, and returns when they are gone: a
// tab that is opened beside a stuck one may share its renderer.
func closeTabs(ctx context.Context, conn *cdp.Conn, ids []string) error {
	for _, id := range ids {
		if err := closeTab(ctx, conn, id); err != nil {
			return err
		}
	}
	for {
		pages, err := listPages(ctx, conn)
		if err != nil || !slices.ContainsFunc(pages, func(t target) bool { return slices.Contains(ids, t.ID) }) {
			return err
		}
		if err := pause(ctx, goneTime); err != nil {
			return err
		}
	}
}

// closeTab closes a tab, also one that does not answer.
func closeTab(ctx context.Context, conn *cdp.Conn, id string) error {
	return conn.Call(ctx, "", "Target.closeTarget", map[string]string{"targetId": id}, nil)
}

// openTab opens a tab at a page and returns its target.
func openTab(ctx context.Context, conn *cdp.Conn, url string) (string, error) {
	var made struct {
		ID string `json:"targetId"`
	}
	err := conn.Call(ctx, "", "Target.createTarget", map[string]string{"url": url}, &made)
	if err == nil && made.ID == "" {
		err = badAnswer("Target.createTarget", "targetId")
	}
	return made.ID, err
}
