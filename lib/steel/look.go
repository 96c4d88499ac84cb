package steel

import (
	"context"
	"errors"
	"slices"
	"strings"

	"kxm/lib/cdp"
	"kxm/lib/fault"
)

// frameTime is how long a frame of another site may take to tell of itself.
const frameTime = probeTime

// SnapshotOptions say what of the page is wanted; see [SnapshotInput].
type SnapshotOptions struct {
	Within      Aim
	Choice      Choice
	Interactive bool
	Find        string
	Depth       int
	MaxBytes    int
}

// Snapshot prints the page as lines and keeps what the references in it stand for.
// Frames that do not answer are named as such.
func (p *Page) Snapshot(ctx context.Context, o *SnapshotOptions) (*Snapshot, error) {
	in := &SnapshotInput{
		Tab: p.tab.Tab, TargetID: p.tab.TargetID, NextRef: p.record.NextRef,
		Interactive: o.Interactive, Find: o.Find, Depth: o.Depth, MaxBytes: o.MaxBytes,
	}
	if o.Within != (Aim{}) {
		e, err := p.Locate(ctx, o.Within, o.Choice)
		if err != nil {
			return nil, err
		}
		in.Within = &NodeKey{e.frame.Frame.ID, e.node}
	}
	known, err := p.service.Store.References(p.record.ID)
	if err != nil {
		return nil, err
	}
	in.Known = known
	if in.Frames, err = p.tell(ctx); err != nil {
		return nil, err
	}
	s, refs, err := BuildSnapshot(in)
	if errors.Is(err, ErrNotInTree) {
		return nil, fault.New(fault.SteelTargetHidden, "the target is not in what the page tells assistive programs").WithHint("name an element around it")
	}
	if err != nil {
		return nil, err
	}
	p.record.NextRef = s.NextRef
	return s, p.service.Store.WriteReferences(p.record.ID, refs)
}

// telling is a frame that was asked to tell of itself.
type telling struct {
	frame   Frame
	session string
	tree    *cdp.Pending // of the browser's accessibility tree
	owner   *cdp.Pending // the element that holds the frame
	fields  map[int64]*cdp.Pending
}

// tell asks each frame of the tab for its tree. Those of the tab's own process must
// answer; those of other sites have frameTime.
func (p *Page) tell(ctx context.Context) ([]Frame, error) {
	own := p.begin(p.session, "", p.main, "", p.session)
	short, cancel := context.WithTimeout(ctx, frameTime)
	defer cancel()
	var foreign []*telling
	for _, t := range p.others {
		if t.Type != "iframe" || !p.leads(t.ID) {
			continue
		}
		foreign = append(foreign, p.beginForeign(short, t)...)
	}
	for _, t := range own {
		if err := t.read(ctx, p.conn); err != nil {
			return nil, err
		}
	}
	for _, t := range foreign {
		if err := t.read(short, p.conn); err != nil {
			if p.conn.Err() != nil {
				return nil, err
			}
			t.frame.Tree = nil
		}
	}
	var frames []Frame
	for _, t := range append(own, foreign...) {
		frames = append(frames, t.frame)
	}
	return frames, nil
}

// begin asks the frames of a tree, parents first. Their elements are looked for in
// holder, the session of the document around them.
func (p *Page) begin(session, target string, tree *frameTree, parent, holder string) []*telling {
	t := &telling{session: session, frame: Frame{
		ID: tree.Frame.ID, LoaderID: tree.Frame.LoaderID, TargetID: target, URL: tree.Frame.URL, Parent: parent,
	}}
	t.tree = p.conn.Send(session, "Accessibility.getFullAXTree", map[string]string{"frameId": tree.Frame.ID})
	if parent != "" {
		t.owner = p.conn.Send(holder, "DOM.getFrameOwner", map[string]string{"frameId": tree.Frame.ID})
	}
	all := []*telling{t}
	for _, child := range tree.Children {
		all = append(all, p.begin(session, target, child, tree.Frame.ID, session)...)
	}
	return all
}

// beginForeign asks a frame of another site, and those within it that are its own
// process. One that cannot be attached to has no answer.
func (p *Page) beginForeign(ctx context.Context, t target) []*telling {
	silent := []*telling{{frame: Frame{ID: t.ID, TargetID: t.ID, URL: t.URL, Parent: p.parent(t.ID)}}}
	holder := p.session
	if h, err := p.holder(ctx, t.ID); err == nil {
		holder = h.session
	}
	v, err := p.viewOf(ctx, t.ID, t.ID)
	if err != nil || v.root == nil {
		silent[0].owner = p.conn.Send(holder, "DOM.getFrameOwner", map[string]string{"frameId": t.ID})
		return silent
	}
	return p.begin(v.session, t.ID, v.root, p.parent(t.ID), holder)
}

// read reads what the frame was asked, and which of its fields are password-like.
func (t *telling) read(ctx context.Context, conn *cdp.Conn) error {
	if t.owner != nil {
		var owner struct {
			Node int64 `json:"backendNodeId"`
		}
		if err := t.owner.Wait(ctx, &owner); err == nil {
			t.frame.Owner = owner.Node
		} else if conn.Err() != nil {
			return err
		}
	}
	if t.tree == nil {
		return nil
	}
	tree := &Tree{}
	if err := t.tree.Wait(ctx, tree); err != nil {
		return err
	}
	t.frame.Password = map[int64]bool{}
	t.fields = map[int64]*cdp.Pending{}
	for _, node := range tree.fields() {
		t.fields[node] = conn.Send(t.session, "DOM.describeNode", map[string]int64{"backendNodeId": node})
	}
	for node, asked := range t.fields {
		secret, err := isSecretField(ctx, asked)
		if err != nil && (ctx.Err() != nil || conn.Err() != nil) {
			return err
		}
		t.frame.Password[node] = secret || err != nil // a field that is gone shows nothing
	}
	t.frame.Tree = tree
	return nil
}

// secretHints are the autocompletions of fields whose value is nobody's to see.
var secretHints = []string{"current-password", "new-password", "one-time-code", "cc-number", "cc-csc"}

// isSecretField reports whether a field that was described is password-like.
func isSecretField(ctx context.Context, asked *cdp.Pending) (bool, error) {
	var d struct {
		Node struct {
			Attributes []string `json:"attributes"` // names and values in turn
		} `json:"node"`
	}
	if err := asked.Wait(ctx, &d); err != nil {
		return false, err
	}
	for i := 0; i+1 < len(d.Node.Attributes); i += 2 {
		value := strings.ToLower(d.Node.Attributes[i+1])
		switch d.Node.Attributes[i] {
		case "type":
			if value == "password" {
				return true, nil
			}
		case "autocomplete":
			if slices.ContainsFunc(strings.Fields(value), func(hint string) bool { return slices.Contains(secretHints, hint) }) {
				return true, nil
			}
		}
	}
	return false, nil
}

// fields are the backend ids of the nodes that may be password-like.
func (t *Tree) fields() []int64 {
	var all []int64
	for i := range t.nodes {
		if n := &t.nodes[i]; n.backend > 0 && n.isField() {
			all = append(all, n.backend)
		}
	}
	return all
}
