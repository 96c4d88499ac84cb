package steel

import (
	"context"

	"kxm/lib/cdp"
)

// Scrolling says how far something is scrolled: by so many pixels, or to an end. The zero
// value brings an element into sight.
type Scrolling struct {
	X  int    `json:"x"`
	Y  int    `json:"y"`
	To string `json:"to"` // top or bottom; "" is by pixels
}

// Scroll scrolls an element, or the nearest around it that scrolls by itself, and at last
// the page. The zero Aim is what is in the middle of the window.
func (p *Page) Scroll(ctx context.Context, a Aim, c Choice, to Scrolling) (*Action, error) {
	done := &Action{Action: "scroll"}
	moved := true
	if a == (Aim{}) {
		err := p.askIn(ctx, elementScript("scroll"), p.tab.TargetID, "answer", []any{"scroll", nil, []any{to}}, &moved)
		if err != nil {
			return nil, err
		}
	} else {
		e, err := p.Locate(ctx, a, c)
		if err != nil {
			return nil, err
		}
		e.askName()
		if to == (Scrolling{}) {
			err = e.intoSight(ctx)
		} else {
			err = e.Ask(ctx, "scroll", []any{to}, &moved)
		}
		if err != nil {
			return nil, err
		}
		if _, err := e.Hit(ctx); err != nil {
			return nil, err
		}
		done.Target = &e.hit
	}
	if !moved {
		done.Warnings = append(done.Warnings, "nothing moved: it is at its end, or does not scroll")
	}
	return done, p.report(ctx, done)
}

// intoSight scrolls the element into the window, and each frame of another process that it
// is in. What is in sight already stays where it is.
func (e *Element) intoSight(ctx context.Context) error {
	for at := e; ; {
		err := at.Send("DOM.scrollIntoViewIfNeeded", map[string]int64{"backendNodeId": at.node}).Wait(ctx, nil)
		if cdp.Says(err, "Node does not have a layout object") || cdp.Says(err, "Node is detached") {
			return e.hidden()
		}
		if err != nil || at.view.target == "" {
			return err
		}
		if at, err = e.page.owner(ctx, at.view, at.view.root); err != nil {
			return err
		}
	}
}
