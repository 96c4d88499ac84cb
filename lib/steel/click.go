package steel

import (
	"context"
	"errors"

	"kxm/lib/cdp"
)

// Press says how an element is pressed.
type Press struct {
	Button string // left, right or middle
	Count  int    // 2 is a double click
	Force  bool   // whatever lies over it, and also if it is disabled
}

// buttonBits are the mouse's buttons as events carry them.
var buttonBits = map[string]int{"left": 1, "right": 2, "middle": 4}

// Click presses an element with the mouse. It is scrolled to, and a press that would meet
// something else is a SteelTargetCovered that names it.
func (p *Page) Click(ctx context.Context, a Aim, c Choice, o Press) (*Action, error) {
	e, at, err := p.reach(ctx, a, c, reaching{Enabled: !o.Force, Force: o.Force})
	if err != nil {
		return nil, err
	}
	if err := e.press(ctx, at, o); err != nil {
		return nil, err
	}
	done := &Action{Action: "click", Target: &e.hit}
	return done, p.report(ctx, done)
}

// press moves the mouse to a point and presses it there.
func (e *Element) press(ctx context.Context, at point, o Press) error {
	sent := []*cdp.Pending{e.mouse(at, "mouseMoved", nil)}
	for n := 1; n <= o.Count; n++ {
		sent = append(sent,
			e.mouse(at, "mousePressed", map[string]any{"button": o.Button, "buttons": buttonBits[o.Button], "clickCount": n}),
			e.mouse(at, "mouseReleased", map[string]any{"button": o.Button, "clickCount": n}))
	}
	return e.page.met(ctx, sent)
}

// met waits until the page has met events of mouse or keys. One that navigates or closes
// its tab does not always say so, and a script that takes long is waited for by what comes
// next.
func (p *Page) met(ctx context.Context, sent []*cdp.Pending) error {
	if p.worlds[p.tab.TargetID] == nil {
		p.askWorld(p.tab.TargetID) // for the report
	}
	open, cancel := p.watch.whileOpen(ctx)
	defer cancel()
	limited, cancelled := context.WithTimeout(open, probeTime)
	defer cancelled()
	for _, s := range sent {
		err := s.Wait(limited, nil)
		var refused *cdp.Error
		switch {
		case err == nil, errors.As(err, &refused) && (gone(err) || p.watch.isClosed()), limited.Err() != nil && ctx.Err() == nil:
		default:
			return err
		}
	}
	return nil
}

// Hover moves the mouse to an element.
func (p *Page) Hover(ctx context.Context, a Aim, c Choice) (*Action, error) {
	e, at, err := p.reach(ctx, a, c, reaching{})
	if err != nil {
		return nil, err
	}
	if err := p.met(ctx, []*cdp.Pending{e.mouse(at, "mouseMoved", nil)}); err != nil {
		return nil, err
	}
	done := &Action{Action: "hover", Target: &e.hit}
	return done, p.report(ctx, done)
}
