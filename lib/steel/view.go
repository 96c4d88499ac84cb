package steel

import (
	"context"
	"errors"

	"kxm/lib/cdp"
)

// view is a frame of another site within the tab. It is a target of its own, with a
// process and a session of the protocol; its id is the frame's.
type view struct {
	target  string
	session string
	attach  *cdp.Pending // until its answer is read
	tree    *cdp.Pending // asked for; read once
	root    *frameTree
	err     error // why there is none
}

// prepare sends what is known before the tab answers: which frame the command is about.
func (p *Page) prepare(ctx context.Context) {
	ref := p.aimed
	switch {
	case ref == nil:
	case ref.TargetID != p.tab.TargetID:
		p.enterView(ctx, p.beginView(ref.TargetID), ref.FrameID)
	case ref.FrameID != p.tab.TargetID:
		p.askWorld(ref.FrameID)
	}
}

// beginView sends the call that attaches to a cross-site frame.
func (p *Page) beginView(target string) *view {
	v := p.views[target]
	if v == nil {
		v = &view{target: target, attach: attachTo(p.conn, target)}
		p.views[target] = v
	}
	return v
}

var errNoFrame = errors.New("the frame is not in the tab")

// enterView reads the answer to beginView and asks for the frame's tree, and for the
// world of one of its frames.
func (p *Page) enterView(ctx context.Context, v *view, frame string) {
	if v.tree != nil || v.err != nil {
		return
	}
	v.attached(ctx)
	if v.err == nil {
		v.tree = p.conn.Send(v.session, "Page.getFrameTree", nil)
		p.askWorldIn(v.session, frame)
	}
}

// attached reads the answer to beginView.
func (v *view) attached(ctx context.Context) {
	if v.attach != nil {
		var to attached
		v.err = v.attach.Wait(ctx, &to)
		v.attach, v.session = nil, to.Session
	}
}

// viewOf returns the view of a target; the tab's own one has no name. A target that is
// no frame of the tab has none.
func (p *Page) viewOf(ctx context.Context, target, frame string) (*view, error) {
	if target == p.tab.TargetID {
		return &view{session: p.session, root: p.main}, nil
	}
	if !p.leads(target) {
		if _, err := p.holder(ctx, target); err != nil {
			return nil, err
		}
	}
	v := p.beginView(target)
	p.enterView(ctx, v, frame)
	if v.err == nil && v.root == nil {
		v.root, v.err = waitTree(ctx, v.tree)
	}
	return v, v.err
}

// parent is the frame that holds a cross-site frame, or "".
func (p *Page) parent(frame string) string {
	for _, t := range p.others {
		if t.ID == frame && t.Type == "iframe" {
			return t.Parent
		}
	}
	return ""
}

// leads reports whether a cross-site frame stands in the tab's own document or frames,
// or in a cross-site frame that does.
func (p *Page) leads(frame string) bool {
	for range p.others {
		if frame = p.parent(frame); p.main.has(frame) {
			return true
		}
	}
	return false
}

// holder returns the view in which the element of a cross-site frame stands. It may be
// a frame within another cross-site one, which is looked for in those of the tab.
func (p *Page) holder(ctx context.Context, frame string) (*view, error) {
	parent := p.parent(frame)
	if p.main.has(parent) {
		return p.viewOf(ctx, p.tab.TargetID, "")
	}
	for _, t := range p.others {
		if parent == "" || t.ID == frame || !p.leads(t.ID) {
			continue
		}
		if v, err := p.viewOf(ctx, t.ID, t.ID); err == nil && v.root.has(parent) {
			return v, nil
		}
	}
	return nil, errNoFrame
}

// has reports whether a frame is among those of a tree.
func (f *frameTree) has(id string) (found bool) {
	f.walk(func(f *frameTree) { found = found || f.Frame.ID == id })
	return found
}

// find returns the frame of an id that still shows the document of a loader, or nil.
func (f *frameTree) find(id, loader string) *frameTree {
	var found *frameTree
	f.walk(func(f *frameTree) {
		if f.Frame.ID == id && f.Frame.LoaderID == loader {
			found = f
		}
	})
	return found
}

// offset is where the top left corner of a view stands in the tab's window, in CSS
// pixels: the sum over the frames that hold it.
func (p *Page) offset(ctx context.Context, v *view) (x, y float64, err error) {
	for v.target != "" {
		holder, err := p.holder(ctx, v.target)
		if err != nil {
			return 0, 0, err
		}
		left, top, err := holder.corner(ctx, p.conn, v.target)
		if err != nil {
			return 0, 0, err
		}
		x, y, v = x+left, y+top, holder
	}
	return x, y, nil
}

// corner is where the content of a frame's element begins.
func (v *view) corner(ctx context.Context, conn *cdp.Conn, frame string) (x, y float64, err error) {
	var owner struct {
		Node int64 `json:"backendNodeId"`
	}
	if err := conn.Call(ctx, v.session, "DOM.getFrameOwner", map[string]string{"frameId": frame}, &owner); err != nil {
		return 0, 0, err
	}
	var box struct {
		Model struct {
			Content []float64 `json:"content"`
		} `json:"model"`
	}
	if err := conn.Call(ctx, v.session, "DOM.getBoxModel", map[string]int64{"backendNodeId": owner.Node}, &box); err != nil {
		return 0, 0, err
	}
	if len(box.Model.Content) != 8 {
		return 0, 0, badAnswer("DOM.getBoxModel", "content")
	}
	return box.Model.Content[0], box.Model.Content[1], nil
}
