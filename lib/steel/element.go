package steel

import (
	"context"
	"encoding/json"
	"math"

	"kxm/lib/cdp"
	"kxm/lib/fault"
)

// Element is an element of the tab that was found.
type Element struct {
	page   *Page
	view   *view
	frame  *frameTree // the document it is in
	node   int64      // the protocol's backend node id
	object string     // the element in an isolated world of its frame, or a list that holds it
	at     int        // where it stands in that list; -1: the object is the element
	hit    Hit

	named *cdp.Pending // what it is called, until the answer is read
}

// Send sends a call to the process of the element's frame and does not wait.
func (e *Element) Send(method string, params any) *cdp.Pending {
	return e.page.conn.Send(e.view.session, method, params)
}

// Ask calls a method of the script about elements with the element, which stands first
// among its arguments, and reads what it returns.
func (e *Element) Ask(ctx context.Context, method string, args []any, result any) error {
	return e.answered(ctx, e.asking(method, args), method, result)
}

// asking sends what Ask asks, and does not wait.
func (e *Element) asking(method string, args []any) *cdp.Pending {
	return e.Send("Runtime.callFunctionOn", map[string]any{
		"objectId": e.object, "returnByValue": true, "awaitPromise": true,
		"functionDeclaration": e.question(method, args),
	})
}

// question is a function that answers as a method of an element, which is its this.
func (e *Element) question(method string, args []any) string {
	which := "this"
	if e.at >= 0 {
		which = "this[" + arguments([]any{e.at}) + "]"
	}
	return "function () { return " + elementScript(method) + ".answer(" + arguments([]any{method}) + ", " + which + ", " + listOf(args) + ") }"
}

// answered waits for the answer to asking.
func (e *Element) answered(ctx context.Context, pending *cdp.Pending, method string, result any) error {
	var a asked
	err := pending.Wait(ctx, &a)
	if gone(err) || cdp.Says(err, "Could not find object") {
		return e.left()
	}
	if err != nil {
		return err
	}
	return a.read(method, result)
}

// askNodes is Ask for a method that returns elements. They are read as backend ids.
func (e *Element) askNodes(ctx context.Context, method string, args []any) ([]int64, error) {
	var a struct {
		asked
		Result struct {
			Deep struct {
				Value []struct {
					Value struct {
						Node int64 `json:"backendNodeId"`
					} `json:"value"`
				} `json:"value"`
			} `json:"deepSerializedValue"`
		} `json:"result"`
	}
	err := e.Send("Runtime.callFunctionOn", withNodes(map[string]any{"objectId": e.object, "functionDeclaration": e.question(method, args)})).Wait(ctx, &a)
	if err == nil && a.Threw != nil {
		err = a.asked.read(method, nil)
	}
	var all []int64
	for _, v := range a.Result.Deep.Value {
		all = append(all, v.Value.Node)
	}
	return all, err
}

// listOf writes values as a list of JavaScript.
func listOf(values []any) string { return "[" + arguments(values) + "]" }

// left is the error of an element whose document went away while it was worked with.
func (e *Element) left() error {
	if e.hit.Ref != "" {
		return stale(e.hit.Ref, "the page changed while the command ran")
	}
	return fault.New(fault.SteelTargetNotFound, "the page changed while the command ran").WithHint("look with kxm-steel snapshot")
}

// Hit is what the element is called: its role and name as the browser gives them to
// assistive programs. An element that means nothing there is "generic".
func (e *Element) Hit(ctx context.Context) (Hit, error) {
	if e.hit.Role != "" {
		return e.hit, nil
	}
	n, err := e.accessible(ctx)
	if err != nil {
		return Hit{}, err
	}
	e.hit.Role, e.hit.Name = n.role(), PrintedName(n.Name.text())
	return e.hit, nil
}

// askName asks what the element is called without waiting.
func (e *Element) askName() {
	if e.named == nil {
		e.named = e.Send("Accessibility.getPartialAXTree", map[string]any{"backendNodeId": e.node, "fetchRelatives": false})
	}
}

// accessible returns the element's node of the accessibility tree.
func (e *Element) accessible(ctx context.Context) (*axNode, error) {
	e.askName()
	var a struct {
		Nodes []*axNode `json:"nodes"`
	}
	err := e.named.Wait(ctx, &a)
	e.named = nil
	if err == nil && len(a.Nodes) == 0 {
		err = badAnswer("Accessibility.getPartialAXTree", "nodes")
	}
	if err != nil {
		return nil, err
	}
	return a.Nodes[0], nil
}

// axNode is a node of the accessibility tree.
type axNode struct {
	Ignored bool    `json:"ignored"`
	Role    axValue `json:"role"`
	Name    axValue `json:"name"`
	Node    int64   `json:"backendDOMNodeId"`
}

// role is the node's role; what is left out of the tree means nothing.
func (n *axNode) role() string {
	if role := printedRole(n.Role.text()); role != "none" {
		return role
	}
	return "generic"
}

// axValue is a value in the accessibility tree.
type axValue struct {
	Value json.RawMessage `json:"value"`
}

// text is the value, if it is a text.
func (v *axValue) text() string {
	var s string
	if json.Unmarshal(v.Value, &s) != nil {
		return ""
	}
	return s
}

// String is how the element is called in messages.
func (h Hit) String() string {
	if h.Name == "" {
		return h.Role
	}
	return h.Role + " " + fault.Quote(h.Name)
}

// Rect is a part of the tab's window, in CSS pixels.
type Rect struct {
	X      float64 `json:"x"`
	Y      float64 `json:"y"`
	Width  float64 `json:"width"`
	Height float64 `json:"height"`
}

// Box returns where the element is in the tab's window: the smallest rectangle around
// all of it, which may be out of sight. What is not drawn is a SteelTargetHidden.
func (e *Element) Box(ctx context.Context) (Rect, error) {
	var a struct {
		Quads [][]float64 `json:"quads"`
	}
	if err := e.Send("DOM.getContentQuads", map[string]int64{"backendNodeId": e.node}).Wait(ctx, &a); err != nil {
		return Rect{}, err
	}
	r, ok := around(a.Quads)
	if !ok {
		return Rect{}, e.hidden()
	}
	x, y, err := e.page.offset(ctx, e.view)
	r.X, r.Y = hundredth(r.X+x), hundredth(r.Y+y)
	r.Width, r.Height = hundredth(r.Width), hundredth(r.Height)
	return r, err
}

// hidden is the error of an element that is not drawn.
func (e *Element) hidden() error {
	what := "the element"
	if e.hit.Ref != "" {
		what = e.hit.Ref
	}
	return fault.New(fault.SteelTargetHidden, "%s is hidden", what).WithHint("look with kxm-steel snapshot")
}

// around is the smallest rectangle around quads, each of which is four points.
func around(quads [][]float64) (Rect, bool) {
	left, top, right, bottom := math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for _, q := range quads {
		for i := 0; i+1 < len(q); i += 2 {
			left, right = min(left, q[i]), max(right, q[i])
			top, bottom = min(top, q[i+1]), max(bottom, q[i+1])
		}
	}
	return Rect{left, top, right - left, bottom - top}, right > left && bottom > top
}

// hundredth rounds to what is drawn and printed.
func hundredth(v float64) float64 { return math.Round(v*100) / 100 }
