package steel

import (
	"context"

	"kxm/lib/cdp"
)

// owner is the element of a frame, in the document around it. It is found in steps, each
// of which waits for nothing but the one before, so that a command takes them beside its
// own.
type owner struct {
	element   *Element     // without an object until it is there
	asked     *cdp.Pending // which node it is, until the answer is read
	resolving *cdp.Pending // its object, until the answer is read
	err       error        // why there is none
}

// owner returns the element of a frame of a view.
func (p *Page) owner(ctx context.Context, v *view, frame *frameTree) (*Element, error) {
	o := p.ownerOf(ctx, v, frame)
	o.resolve(ctx)
	if o.resolving != nil {
		var n resolved
		o.err = o.resolving.Wait(ctx, &n)
		o.resolving, o.element.object = nil, n.Object.ID
	}
	return o.element, o.err
}

// ownerOf begins to look for the element of a frame, once.
func (p *Page) ownerOf(ctx context.Context, v *view, frame *frameTree) *owner {
	id, holder := frame.Frame.ID, v
	if o := p.owners[id]; o != nil {
		return o
	}
	o := &owner{}
	p.owners[id] = o
	around := v.parent(frame)
	if frame == v.root {
		if holder, o.err = p.holder(ctx, id); o.err != nil {
			return o
		}
		around = p.parent(id)
	}
	o.element = &Element{page: p, view: holder, frame: holder.root.named(around), at: -1}
	if o.element.frame == nil {
		o.err = errNoFrame
		return o
	}
	if p.worlds[around] == nil {
		p.askWorldIn(holder.session, around)
	}
	o.asked = o.element.Send("DOM.getFrameOwner", map[string]string{"frameId": id})
	return o
}

// resolve asks for the element's object.
func (o *owner) resolve(ctx context.Context) {
	if o.asked == nil {
		return
	}
	e := o.element
	var is struct {
		Node int64 `json:"backendNodeId"`
	}
	o.err = o.asked.Wait(ctx, &is)
	o.asked = nil
	if o.err != nil {
		return
	}
	var world int
	if world, o.err = e.page.world(ctx, e.frame.Frame.ID); o.err != nil {
		return
	}
	e.node = is.Node
	o.resolving = e.Send("DOM.resolveNode", map[string]any{"backendNodeId": is.Node, "executionContextId": world})
}

// askOwner goes on with the search for the element of the frame that an element is in, if
// that is of another process, and waits for nothing new.
func (e *Element) askOwner(ctx context.Context) {
	if e.view.target != "" {
		e.page.ownerOf(ctx, e.view, e.view.root).resolve(ctx)
	}
}
