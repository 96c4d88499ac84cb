package steel

import (
	"context"
	"slices"

	"kxm/lib/fault"
)

// covered is the error of an element over which something lies, in the document of e and
// at a point there. It names the latter, and gives it a reference.
func (e *Element) covered(ctx context.Context, what Hit, at *reached) error {
	nodes, err := e.askNodes(ctx, "cover", []any{at})
	if err != nil {
		return err
	}
	if len(nodes) == 0 {
		return fault.New(fault.SteelTargetHidden, "%s lies out of sight, and cannot be scrolled to", what)
	}
	over, err := e.mostTelling(ctx, nodes)
	if err != nil {
		return err
	}
	over.frame = e.view.above(e.frame, at.Up)
	if err := e.page.refer(over); err != nil {
		return err
	}
	return fault.New(fault.SteelTargetCovered, "%s is covered by %s (%s)", what, over.hit, over.hit.Ref).
		WithHint("close what covers it, or press all the same with --force; kxm-steel snapshot --within %s shows what is in it", over.hit.Ref)
}

// mostTelling chooses among an element and what it stands in, inner ones first: a dialog,
// else what has a name, else what has a role, else the element itself.
func (e *Element) mostTelling(ctx context.Context, nodes []int64) (*Element, error) {
	all := make([]*Element, len(nodes))
	for i, node := range nodes {
		all[i] = &Element{page: e.page, view: e.view, node: node}
		all[i].askName()
	}
	for _, o := range all {
		if _, err := o.Hit(ctx); err != nil {
			return nil, err
		}
	}
	for _, tells := range []func(Hit) bool{
		func(h Hit) bool { return h.Role == "dialog" || h.Role == "alertdialog" },
		func(h Hit) bool { return h.Role != "generic" && h.Name != "" },
		func(h Hit) bool { return h.Role != "generic" },
	} {
		if i := slices.IndexFunc(all, func(o *Element) bool { return tells(o.hit) }); i >= 0 {
			return all[i], nil
		}
	}
	return all[0], nil
}

// refer gives an element a reference, the one that it has already if there is one, and
// keeps it.
func (p *Page) refer(e *Element) error {
	refs, err := p.service.Store.References(p.record.ID)
	if err != nil {
		return err
	}
	target := e.view.target
	if target == "" {
		target = p.tab.TargetID
	}
	ref := Reference{p.tab.Tab, target, e.frame.Frame.ID, e.frame.Frame.LoaderID, e.node, e.hit.Role, storedName(e.hit.Name)}
	number := 0
	for name, known := range refs.Refs {
		n := refNumber(name)
		if known.FrameID == ref.FrameID && known.LoaderID == ref.LoaderID && known.Node == ref.Node && (number == 0 || n < number) {
			number = n
		}
		p.record.NextRef = max(p.record.NextRef, n+1)
	}
	if number == 0 {
		number = max(p.record.NextRef, 1)
		p.record.NextRef = number + 1
	}
	e.hit.Ref = refName(number)
	refs.Refs[e.hit.Ref] = ref
	return p.service.Store.WriteReferences(p.record.ID, refs)
}
