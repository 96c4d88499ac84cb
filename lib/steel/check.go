package steel

import (
	"context"
	"time"

	"kxm/lib/fault"
)

// checkTime is how long a page may take to show that something was checked.
const checkTime = time.Second

// boxState is what the script says of something that can be checked.
type boxState struct {
	Kind     string `json:"kind"` // "checkbox", "radio", or "": it cannot be
	Checked  bool   `json:"checked"`
	Mixed    bool   `json:"mixed"`
	Disabled bool   `json:"disabled"`
}

// is reports whether it is on, or off, and nothing between.
func (b boxState) is(on bool) bool { return b.Kind != "" && b.Checked == on && !b.Mixed }

// Check turns a checkbox, a radio button or a switch on or off. It is pressed only if it
// is not so yet.
func (p *Page) Check(ctx context.Context, a Aim, c Choice, on bool) (*Action, error) {
	c.Hidden = true // a page may draw another box in place of one that it hides
	var b boxState
	e, h, err := p.inspect(ctx, a, c, "box", nil, &b)
	if err != nil {
		return nil, err
	}
	switch {
	case b.Kind == "":
		return nil, fault.New(fault.SteelTargetKind, "%s is no checkbox, radio button or switch", h)
	case b.Kind == "radio" && !on:
		return nil, fault.New(fault.SteelTargetKind, "%s is a radio button, which goes off when another one of its group is chosen", h)
	}
	presses := 1
	if b.Mixed { // which pressed once may become either
		presses = 2
	}
	for ; !b.is(on) && presses > 0; presses-- {
		if err := e.toggle(ctx); err != nil {
			return nil, err
		}
		err := e.Ask(ctx, "becomes", []any{on, checkTime.Milliseconds()}, &b)
		if e.wentOn(err) { // by the press: what it did is not seen any more
			done := &Action{Action: "check", Target: &h}
			return done, p.report(ctx, done)
		}
		if err != nil {
			return nil, err
		}
	}
	if !b.is(on) {
		return nil, fault.New(fault.SteelValueDiffers, "%s is not %s after it was pressed", h, map[bool]string{true: "on", false: "off"}[on])
	}
	verified := true
	done := &Action{Action: "check", Target: &h, Checked: &b.Checked, Verified: &verified}
	return done, p.report(ctx, done)
}

// toggle presses the element, or where no press meets it, its label.
func (e *Element) toggle(ctx context.Context) error {
	to, err := e.spot(ctx)
	if fault.Is(err, fault.SteelTargetHidden) {
		label, lerr := e.label(ctx)
		if lerr != nil || label == nil {
			return firstError(lerr, err)
		}
		e = label
		to, err = e.spot(ctx)
	}
	if err != nil {
		return err
	}
	return e.press(ctx, to, Press{Button: "left", Count: 1})
}

// spot is the point at which a press meets the element.
func (e *Element) spot(ctx context.Context) (point, error) {
	needs := reaching{Enabled: true, Patience: coverTime.Milliseconds()}
	var at reached
	if err := e.Ask(ctx, "reach", []any{needs}, &at); err != nil {
		return point{}, err
	}
	return e.reach(ctx, &at, needs)
}

// label is the first label of the element, or nil.
func (e *Element) label(ctx context.Context) (*Element, error) {
	nodes, err := e.askNodes(ctx, "labels", nil)
	if err != nil || len(nodes) == 0 {
		return nil, err
	}
	if e.page.worlds[e.frame.Frame.ID] == nil {
		e.page.askWorldIn(e.view.session, e.frame.Frame.ID)
	}
	world, err := e.page.world(ctx, e.frame.Frame.ID)
	if err != nil {
		return nil, err
	}
	l := &Element{page: e.page, view: e.view, frame: e.frame, node: nodes[0], at: -1}
	var n resolved
	err = l.Send("DOM.resolveNode", map[string]any{"backendNodeId": l.node, "executionContextId": world}).Wait(ctx, &n)
	l.object = n.Object.ID
	return l, err
}
