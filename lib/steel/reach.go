package steel

import (
	"context"
	"time"

	"kxm/lib/cdp"
	"kxm/lib/fault"
)

// How long an element is waited for that an animation moves, and one that something lies
// over, which may be going away.
const (
	stillTime = 2 * time.Second
	coverTime = time.Second
)

// reaching says what is needed of an element that is to be pressed.
type reaching struct {
	Look     bool  `json:"look"`     // nothing is scrolled or waited for
	Enabled  bool  `json:"enabled"`  // a disabled one is none
	Force    bool  `json:"force"`    // it does not matter what lies over it
	Patience int64 `json:"patience"` // milliseconds until what lies over it counts
}

// reached is where the script found an element.
type reached struct {
	X        float64 `json:"x"`
	Y        float64 `json:"y"`
	Up       int     `json:"up"` // in whose window: that many frames above the element's
	Problem  string  `json:"problem"`
	Scrolled bool    `json:"scrolled"`
}

// What is in the way of a press.
const (
	problemGone     = "gone"
	problemHidden   = "hidden"
	problemClosed   = "closed" // an option of a list that is not open
	problemDisabled = "disabled"
	problemMoving   = "moving"
	problemAway     = "away"    // not in sight, or not free, and only looked for
	problemOutside  = "outside" // no scrolling brings it into sight
	problemCovered  = "covered"
)

// point is a place in the window of a view, in CSS pixels.
type point struct{ x, y float64 }

// reach finds an element and a point at which a press meets it. Whatever lies over it, in
// its own document or in one that holds its frame, is a SteelTargetCovered.
func (p *Page) reach(ctx context.Context, a Aim, c Choice, needs reaching) (*Element, point, error) {
	// An element is looked at in the same wait in which it is found. It is not scrolled
	// then: there may be others that match.
	needs.Look, needs.Patience = !a.IsReference(), coverTime.Milliseconds()
	var at reached
	var e *Element
	var err error
	if needs.Look {
		e, err = p.LocateAndAsk(ctx, a, c, "reach", []any{needs}, &at)
	} else if e, err = p.Locate(ctx, a, c); err == nil {
		e.askOwner(ctx)
		err = e.Ask(ctx, "reach", []any{needs}, &at)
	}
	if err != nil {
		return nil, point{}, err
	}
	e.askName()
	to, err := e.reach(ctx, &at, needs)
	if err != nil {
		return nil, point{}, err
	}
	// Its name is what it was before the press.
	_, err = e.Hit(ctx)
	return e, to, err
}

// reach goes on from a first look.
func (e *Element) reach(ctx context.Context, at *reached, needs reaching) (point, error) {
	needs.Look = false
	if at.Problem == problemMoving {
		if err := e.Ask(ctx, "still", []any{stillTime.Milliseconds()}, nil); err != nil {
			return point{}, err
		}
		at.Problem = problemAway
	}
	if at.Problem == problemAway {
		*at = reached{}
		if err := e.Ask(ctx, "reach", []any{needs}, at); err != nil {
			return point{}, err
		}
	}
	if at.Problem != "" {
		return point{}, e.unreached(ctx, at)
	}
	return e.outward(ctx, at, needs.Force)
}

// unreached is the error of an element that no press meets.
func (e *Element) unreached(ctx context.Context, at *reached) error {
	h, err := e.Hit(ctx)
	if err != nil {
		return err
	}
	switch at.Problem {
	case problemGone:
		return e.left()
	case problemClosed:
		return fault.New(fault.SteelTargetKind, "%s is an option of a list that is not open", h).WithHint("kxm-steel select chooses one")
	case problemDisabled:
		return fault.New(fault.SteelTargetDisabled, "%s is disabled", h)
	case problemMoving:
		return fault.New(fault.SteelTargetCovered, "%s does not keep still", h).WithHint("--force presses where it is")
	case problemOutside:
		return fault.New(fault.SteelTargetHidden, "%s lies out of sight, and cannot be scrolled to", h)
	case problemCovered:
		return e.covered(ctx, h, at)
	}
	return e.hidden()
}

// outward follows a point of the element's own window through the frames around it, as far
// as the script did not. It returns the point in the window of the element's view, where
// it is pressed.
func (e *Element) outward(ctx context.Context, at *reached, force bool) (to point, err error) {
	within, scrolled := e, false
	for frame := e.frame; ; {
		frame = within.view.above(frame, at.Up)
		scrolled = scrolled || at.Scrolled
		if frame == within.view.root {
			if within.view.session == e.view.session {
				to = point{at.X, at.Y}
			}
			if within.view.target == "" {
				return to, nil
			}
		}
		if within, err = e.page.owner(ctx, within.view, frame); err != nil {
			return to, err
		}
		if at, err = within.through(ctx, at, scrolled, force); err != nil {
			return to, err
		}
		if at.Problem != "" {
			h, err := e.Hit(ctx)
			if err != nil {
				return to, err
			}
			return to, within.covered(ctx, h, at)
		}
		frame = within.frame
	}
}

// settleTries is how often a frame is looked at that may be scrolled still.
const settleTries = 5

// through looks whether a press meets a point of a frame's window. What scrolls in one
// process is scrolled a little later in that of the frame around it: so it is looked until
// nothing moves.
func (e *Element) through(ctx context.Context, inner *reached, scrolled, force bool) (*reached, error) {
	var last *reached
	for range settleTries {
		at := &reached{}
		if err := e.Ask(ctx, "through", []any{map[string]any{"x": inner.X, "y": inner.Y, "force": force}}, at); err != nil {
			return nil, err
		}
		still := last != nil && at.X == last.X && at.Y == last.Y && !at.Scrolled
		if !scrolled && !at.Scrolled || still {
			return at, nil
		}
		last = at
	}
	return last, nil
}

// above is the frame that many levels above one of a view's.
func (v *view) above(f *frameTree, levels int) *frameTree {
	for ; levels > 0 && f != v.root; levels-- {
		f = v.root.named(v.parent(f))
	}
	return f
}

// parent is the id of the frame around one of a view's.
func (v *view) parent(f *frameTree) (id string) {
	v.root.walk(func(around *frameTree) {
		for _, c := range around.Children {
			if c == f {
				id = around.Frame.ID
			}
		}
	})
	return id
}

// named returns the frame of an id, or nil.
func (f *frameTree) named(id string) (found *frameTree) {
	f.walk(func(f *frameTree) {
		if f.Frame.ID == id {
			found = f
		}
	})
	return found
}

// mouse sends an event of the mouse to the process of the element's frame.
func (e *Element) mouse(at point, kind string, more map[string]any) *cdp.Pending {
	event := map[string]any{"type": kind, "x": at.x, "y": at.y}
	for name, value := range more {
		event[name] = value
	}
	return e.Send("Input.dispatchMouseEvent", event)
}
