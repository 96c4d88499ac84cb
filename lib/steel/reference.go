package steel

import (
	"context"

	"kxm/lib/cdp"
	"kxm/lib/fault"
)

// reference returns a reference of the session to the tab that the command is about.
func (p *Page) reference(name string) (*Reference, error) {
	refs, err := p.service.Store.References(p.record.ID)
	if err != nil {
		return nil, err
	}
	ref, ok := refs.Refs[name]
	if !ok {
		return nil, fault.New(fault.SteelRefUnknown, "the session has no reference %s", name).WithHint("kxm-steel snapshot gives references")
	}
	if tab := p.tabName(); ref.Tab != tab {
		return nil, fault.New(fault.SteelRefUnknown, "the reference %s is to an element of the tab %s, and not of %s", name, ref.Tab, fault.Quote(tab)).
			WithHint("--tab %s, or kxm-steel snapshot", ref.Tab)
	}
	return &ref, nil
}

// tabName is the name of the tab that the command is about.
func (p *Page) tabName() string {
	if p.access.Tab != "" {
		return p.access.Tab
	}
	return p.record.Tab
}

// stale is the error of a reference whose element is not what it was.
func stale(ref, why string) error {
	return fault.New(fault.SteelRefStale, "the reference %s is stale: %s", ref, why).WithHint("kxm-steel snapshot gives new ones")
}

const pageChanged = "the page changed since the snapshot"

// referenced returns the element of a reference. It is in the document that it was in,
// and is what it was: a page may use an element again for something else.
func (p *Page) referenced(ctx context.Context, name string, c Choice) (*Element, error) {
	ref, err := p.reference(name)
	if err != nil {
		return nil, err
	}
	e, err := p.resolve(ctx, name, ref)
	if err != nil {
		return nil, err
	}
	n, err := e.accessible(ctx)
	if noNode(err) {
		return nil, isGone(name, ref)
	}
	if err != nil {
		return nil, err
	}
	is := Hit{name, n.role(), PrintedName(n.Name.text())}
	was := Hit{name, ref.Role, ref.Name}
	if e.hit = is; !n.Ignored && ref.Matches(n.Role.text(), n.Name.text()) {
		return e, nil
	}
	var now struct{ Connected, Visible bool }
	if n.Ignored {
		if err := e.Ask(ctx, "state", nil, &now); err != nil {
			return nil, err
		}
	}
	switch {
	case n.Ignored && !now.Connected:
		return nil, isGone(name, ref)
	case n.Ignored && !now.Visible && c.Hidden:
		e.hit = was
		return e, nil
	case n.Ignored && !now.Visible:
		return nil, e.hidden()
	}
	return nil, stale(name, "was "+was.String()+", is now "+Hit{name, is.Role, storedName(is.Name)}.String())
}

func isGone(name string, ref *Reference) error {
	return stale(name, "was "+Hit{Role: ref.Role, Name: ref.Name}.String()+", is not in the page any more")
}

// noNode reports whether a call was refused because there is no such node.
func noNode(err error) bool {
	for _, prefix := range []string{"No node", "Node with given id does not belong", "Could not find node"} {
		if cdp.Says(err, prefix) {
			return true
		}
	}
	return false
}

// resolve finds a reference's node, and asks what it is called without waiting.
func (p *Page) resolve(ctx context.Context, name string, ref *Reference) (*Element, error) {
	v, err := p.viewOf(ctx, ref.TargetID, ref.FrameID)
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, stale(name, pageChanged)
	}
	frame := v.root.find(ref.FrameID, ref.LoaderID)
	if frame == nil {
		return nil, stale(name, pageChanged)
	}
	e := &Element{page: p, view: v, frame: frame, node: ref.Node, at: -1}
	if p.worlds[ref.FrameID] == nil {
		p.askWorldIn(v.session, ref.FrameID)
	}
	world, err := p.world(ctx, ref.FrameID)
	if gone(err) {
		return nil, stale(name, pageChanged)
	}
	if err != nil {
		return nil, err
	}
	if v.target != "" && !p.access.Reads {
		p.ownerOf(ctx, v, v.root) // what is done to it is done at a place in the window
	}
	resolving := e.Send("DOM.resolveNode", map[string]any{"backendNodeId": ref.Node, "executionContextId": world})
	e.askName()
	var n resolved
	err = resolving.Wait(ctx, &n)
	switch {
	case noNode(err):
		return nil, isGone(name, ref)
	case gone(err):
		return nil, stale(name, pageChanged)
	}
	e.object = n.Object.ID
	return e, err
}
