package steel

import (
	"context"
	"encoding/json"
	"strings"

	"kxm/lib/cdp"
	"kxm/lib/fault"
)

// How many matches are looked at.
const (
	shownMatches = 5  // that a message about several names
	triedNames   = 50 // elements of a name, in one frame, that the browser is believed
	pageTries    = 4  // of a search in a page that is going elsewhere
)

// Locate finds the one element that is meant. SteelTargetNotFound and
// SteelTargetAmbiguous say that there is none or more than one, SteelRefUnknown and
// SteelRefStale that a reference means nothing any more.
func (p *Page) Locate(ctx context.Context, a Aim, c Choice) (*Element, error) {
	return p.LocateAndAsk(ctx, a, c, "", nil, nil)
}

// LocateAndAsk is Locate and Element.Ask in as few waits as can be.
func (p *Page) LocateAndAsk(ctx context.Context, a Aim, c Choice, method string, args []any, result any) (*Element, error) {
	if a.IsReference() {
		if c.Nth != 0 {
			return nil, fault.New(fault.SteelUsage, "%s is one element: there is no other to choose", a)
		}
		e, err := p.referenced(ctx, a.wanted, c)
		if err == nil && method != "" {
			err = e.Ask(ctx, method, args, result)
		}
		return e, err
	}
	q := question{Take: max(c.Nth, 1), Hidden: c.Hidden}
	if method != "" {
		if args == nil {
			args = []any{}
		}
		q.Ask = &inquiry{method, args}
	}
	all, err := p.search(ctx, a, &q)
	if err != nil {
		return nil, err
	}
	return p.choose(ctx, a, c, all, result)
}

// Count returns how many visible elements are meant.
func (p *Page) Count(ctx context.Context, a Aim) (int, error) {
	if a.IsReference() {
		_, err := p.referenced(ctx, a.wanted, Choice{Hidden: true})
		if err != nil {
			return 0, err
		}
		return 1, nil
	}
	all, err := p.search(ctx, a, &question{Take: 1})
	return total(all), err
}

// question is what find of the script is told.
type question struct {
	Take   int      `json:"take"` // how many elements are needed
	Hidden bool     `json:"hidden"`
	Ask    *inquiry `json:"ask,omitempty"`
}

// script is the one that knows what is asked.
func (q *question) script() string {
	if q.Ask == nil {
		return elementScript("")
	}
	return elementScript(q.Ask.Method)
}

// inquiry is what is asked of each element that is needed.
type inquiry struct {
	Method string `json:"method"`
	Args   []any  `json:"args"`
}

// matches are the elements of one frame that match.
type matches struct {
	frame    *frameTree
	world    int
	pending  *cdp.Pending // the question
	list     string       // the object that holds the elements, from its third place on
	document int64        // backend node ids of the document
	nodes    []int64      // and of the first elements
	head     struct {
		Count   int               `json:"count"`
		Hidden  int               `json:"hidden"`
		Shown   bool              `json:"shown"` // what was counted is visible
		Invalid bool              `json:"invalid"`
		Answers []json.RawMessage `json:"answers"`
	}
}

// listed is where the elements begin in what find returns.
const listed = 2

// search asks the tab's frames, as far as they are its own process's, for what matches.
// A page that goes elsewhere meanwhile is asked again.
func (p *Page) search(ctx context.Context, a Aim, q *question) ([]*matches, error) {
	for try := 1; ; try++ {
		all, err := p.searchFrames(ctx, a, q)
		if !gone(err) || try == pageTries {
			return all, err
		}
		if p.main, err = waitTree(ctx, p.Send("Page.getFrameTree", nil)); err != nil {
			return nil, err
		}
	}
}

func (p *Page) searchFrames(ctx context.Context, a Aim, q *question) ([]*matches, error) {
	var all []*matches
	p.main.walk(func(f *frameTree) {
		if p.worlds[f.Frame.ID] == nil {
			p.askWorld(f.Frame.ID)
		}
		all = append(all, &matches{frame: f})
	})
	// The main frame's world is there already: it is asked while the others are made.
	if err := p.askFrames(ctx, a, q, all[:1]); err != nil {
		return nil, err
	}
	if err := p.askFrames(ctx, a, q, all[1:]); err != nil {
		return nil, err
	}
	for i, m := range all {
		if m.pending == nil {
			continue
		}
		if err := m.read(ctx, m.pending); err != nil && (i == 0 || !gone(err)) {
			return nil, err
		}
		if m.head.Invalid {
			return nil, fault.New(fault.SteelUsage, "%s is no CSS selector", fault.Quote(a.wanted))
		}
	}
	if total(all) == 0 && (a.kind == byText || a.kind == byLabel) {
		return all, p.searchNames(ctx, a, q, all)
	}
	return prefer(all), nil
}

// askFrames sends the question to frames, once the worlds of all of them are there. One
// that goes elsewhere is none.
func (p *Page) askFrames(ctx context.Context, a Aim, q *question, all []*matches) error {
	for _, m := range all {
		var err error
		if m.world, err = p.world(ctx, m.frame.Frame.ID); err != nil && (m.frame == p.main || !gone(err)) {
			return err
		}
	}
	for _, m := range all {
		if m.world != 0 {
			m.pending = p.askFind(m.world, a, q)
		}
	}
	return nil
}

// askFind sends the question to one frame. The answer holds what JSON does not: nodes.
func (p *Page) askFind(world int, a Aim, q *question) *cdp.Pending {
	return p.Send("Runtime.evaluate", withNodes(map[string]any{
		"expression": q.script() + ".find(" + arguments([]any{a.kind, a.wanted, q}) + ")", "contextId": world,
	}))
}

// foundGroup names what is held in a page of what was found there.
const foundGroup = "kxm-found"

// withNodes asks for a list's texts and nodes, the latter by their numbers.
func withNodes(params map[string]any) map[string]any {
	params["objectGroup"] = foundGroup
	params["serializationOptions"] = map[string]any{
		"serialization": "deep", "maxDepth": 1, "additionalParameters": map[string]any{"maxNodeDepth": 0, "includeShadowTree": "none"},
	}
	return params
}

// read reads the answer of one frame.
func (m *matches) read(ctx context.Context, pending *cdp.Pending) error {
	var a struct {
		asked
		Result struct {
			ObjectID string `json:"objectId"`
			Deep     struct {
				Value []struct {
					Value json.RawMessage `json:"value"`
				} `json:"value"`
			} `json:"deepSerializedValue"`
		} `json:"result"`
	}
	if err := pending.Wait(ctx, &a); err != nil {
		return err
	}
	if a.Threw != nil {
		return a.asked.read("find", nil)
	}
	var head string
	values := a.Result.Deep.Value
	if len(values) < listed || json.Unmarshal(values[0].Value, &head) != nil || json.Unmarshal([]byte(head), &m.head) != nil {
		return badAnswer("Runtime.evaluate", "deepSerializedValue")
	}
	m.list, m.nodes = a.Result.ObjectID, nil
	for i, v := range values[1:] {
		var n struct {
			Node int64 `json:"backendNodeId"`
		}
		if json.Unmarshal(v.Value, &n) != nil {
			return badAnswer("Runtime.evaluate", "backendNodeId")
		}
		if i == 0 {
			m.document = n.Node
		} else {
			m.nodes = append(m.nodes, n.Node)
		}
	}
	return nil
}

// searchNames asks the browser for the elements of a name that the script did not find:
// it does not know what style sheets add to one.
func (p *Page) searchNames(ctx context.Context, a Aim, q *question, all []*matches) error {
	asked := make([]*cdp.Pending, len(all))
	for i, m := range all {
		if m.list != "" {
			asked[i] = p.Send("Accessibility.queryAXTree", map[string]any{"backendNodeId": m.document, "accessibleName": a.wanted})
		}
	}
	for i, m := range all {
		if asked[i] == nil {
			continue
		}
		var found struct {
			Nodes []*axNode `json:"nodes"`
		}
		if err := asked[i].Wait(ctx, &found); err != nil && ctx.Err() != nil {
			return err
		}
		if err := p.accept(ctx, a, q, m, found.Nodes); err != nil && !gone(err) {
			return err
		}
	}
	return nil
}

// accept lets the script decide which of the browser's elements match.
func (p *Page) accept(ctx context.Context, a Aim, q *question, m *matches, nodes []*axNode) error {
	var resolving []*cdp.Pending
	for _, n := range nodes {
		if n.Node != 0 && n.Role.text() != "StaticText" && len(resolving) < triedNames {
			resolving = append(resolving, p.Send("DOM.resolveNode", map[string]any{"backendNodeId": n.Node, "executionContextId": m.world}))
		}
	}
	var objects []map[string]string
	for _, r := range resolving {
		var n resolved
		if err := r.Wait(ctx, &n); err == nil {
			objects = append(objects, map[string]string{"objectId": n.Object.ID})
		}
	}
	if len(objects) == 0 {
		return ctx.Err()
	}
	return m.read(ctx, p.Send("Runtime.callFunctionOn", withNodes(map[string]any{
		"objectId": m.list, "arguments": objects,
		"functionDeclaration": "function (...candidates) { return " + q.script() + ".find(" + arguments([]any{a.kind, a.wanted, q}) + ", ...candidates) }",
	})))
}

// resolved is the answer to DOM.resolveNode.
type resolved struct {
	Object struct {
		ID string `json:"objectId"`
	} `json:"object"`
}

// prefer drops what is hidden where anything is visible.
func prefer(all []*matches) []*matches {
	shown := false
	for _, m := range all {
		shown = shown || m.head.Shown
	}
	for _, m := range all {
		if shown && !m.head.Shown {
			m.head.Count, m.nodes = 0, nil
		}
	}
	return all
}

func total(all []*matches) int {
	n := 0
	for _, m := range all {
		n += m.head.Count
	}
	return n
}

// choose returns the match that is meant, and what was asked of it.
func (p *Page) choose(ctx context.Context, a Aim, c Choice, all []*matches, result any) (*Element, error) {
	n := total(all)
	switch {
	case n == 0:
		return nil, notMatched(a, all)
	case c.Nth > n:
		return nil, fault.New(fault.SteelTargetNotFound, "%s matches %s, and not %d", fault.Quote(a.text), count(n, "element"), c.Nth)
	case c.Nth == 0 && n > 1:
		return nil, p.ambiguous(ctx, a, n, all)
	}
	skip := max(c.Nth, 1) - 1
	for _, m := range all {
		if skip >= m.head.Count {
			skip -= m.head.Count
			continue
		}
		if skip >= len(m.nodes) {
			return nil, badAnswer("Runtime.evaluate", "deepSerializedValue")
		}
		if result != nil && (skip >= len(m.head.Answers) || json.Unmarshal(m.head.Answers[skip], result) != nil) {
			return nil, badAnswer("Runtime.evaluate", "answers")
		}
		return m.element(p, skip), nil
	}
	return nil, notMatched(a, all)
}

// element is one of the matches.
func (m *matches) element(p *Page, i int) *Element {
	return &Element{page: p, view: &view{session: p.session, root: p.main}, frame: m.frame, node: m.nodes[i], object: m.list, at: i + listed}
}

func notMatched(a Aim, all []*matches) error {
	hidden := 0
	for _, m := range all {
		hidden += m.head.Hidden
	}
	if hidden > 0 {
		return fault.New(fault.SteelTargetNotFound, "no visible element matches %s, and %s", fault.Quote(a.text), count(hidden, "hidden one")).
			WithHint("look with kxm-steel snapshot")
	}
	return fault.New(fault.SteelTargetNotFound, "no element matches %s", fault.Quote(a.text)).
		WithHint("look with kxm-steel snapshot; frames of other sites and closed shadow roots are reached by a reference alone")
}

// ambiguous names the first matches.
func (p *Page) ambiguous(ctx context.Context, a Aim, n int, all []*matches) error {
	var first []*Element
	for _, m := range all {
		for i := 0; i < len(m.nodes) && i < m.head.Count && len(first) < shownMatches; i++ {
			e := m.element(p, i)
			e.askName()
			first = append(first, e)
		}
	}
	var names []string
	for _, e := range first {
		h, err := e.Hit(ctx)
		if err != nil {
			return err
		}
		names = append(names, h.String())
	}
	if n > len(names) {
		names = append(names, "…")
	}
	return fault.New(fault.SteelTargetAmbiguous, "%s matches %d elements: %s", fault.Quote(a.text), n, strings.Join(names, ", ")).
		WithHint("choose with --nth N, or take a reference from kxm-steel snapshot")
}
