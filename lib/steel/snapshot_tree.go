package steel

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"kxm/lib/fault"
	"kxm/lib/ndjson"
)

// Tree is the accessibility tree of one frame, as far as a snapshot needs it. It is
// read with json.Unmarshal from the result of Accessibility.getFullAXTree, of which
// it keeps nothing else: the answer for a large page is mostly reasons and positions.
// A Tree is not changed by what reads it.
type Tree struct {
	nodes  []treeNode // nodes[0] is the root
	kids   []int32    // of all nodes, each node's in a row
	labels []labelled
}

// treeNode is a node of the tree.
type treeNode struct {
	role        string // the browser's name of it
	kind        roleKind
	name, value string
	backend     int64 // the backend id of the DOM node, 0 if there is none
	level       int32
	flags       axFlags
	from, to    int32 // its children in Tree.kids
}

// labelled says that a node has (a part of) its name from another one.
type labelled struct {
	label int64 // backend id
	node  int32
}

type axFlags uint16

const (
	axIgnored axFlags = 1 << iota
	axFocusable
	axPlainText // a field of plain text: what is below is the browser's own
	axEditable
	axLabelled
	axChecked
	axMixed
	axExpanded
	axCollapsed
	axDisabled
	axFocused
	axInvalid
	axReadonly
	axRequired
	axSelected
)

// UnmarshalJSON reads the result of Accessibility.getFullAXTree. Fields of a node that
// are missing or of another type count as not said. The error is SteelBadResponse.
func (t *Tree) UnmarshalJSON(data []byte) error {
	r := treeReader{t: t, ids: map[string]int32{}, roles: map[string]string{}, kinds: roleKinds()}
	*t = Tree{}
	found := false
	err := ndjson.FieldsText(string(data), func(key, value string) error {
		if key != "nodes" || found {
			return nil
		}
		found = true
		return ndjson.ElementsText(value, r.node)
	})
	if err != nil || !found || len(t.nodes) > math.MaxInt32 {
		return fault.New(fault.SteelBadResponse, "the answer to Accessibility.getFullAXTree has no list of nodes").On("nodes")
	}
	r.link()
	return nil
}

// treeReader reads nodes, whose children are found when all have been read.
type treeReader struct {
	t        *Tree
	ids      map[string]int32 // by the text of nodeId
	roles    map[string]string
	kinds    map[string]roleKind
	children []string // the text of childIds
}

// rawNode is a node that is being read.
type rawNode struct {
	treeNode
	id, children string // JSON
	valueText    string // what the value means to a person: "five" for 5
	labels       []int64
}

func (r *treeReader) node(text string) error {
	n := rawNode{treeNode: treeNode{kind: r.kinds[""]}} // unless it has a role
	err := ndjson.FieldsText(text, func(key, value string) error {
		switch key {
		case "nodeId":
			n.id = value
		case "ignored":
			n.set(axIgnored, value == "true")
		case "role":
			n.role, n.kind = r.role(axText(value))
		case "name":
			n.name = axText(value)
		case "value":
			n.value = axText(value)
		case "childIds":
			n.children = value
		case "backendDOMNodeId":
			n.backend = positive(value)
		case "properties":
			_ = ndjson.ElementsText(value, n.property)
		}
		return nil
	})
	if err != nil || n.is(unread) {
		return nil // one node that is none is no reason to show nothing
	}
	if n.valueText != "" {
		n.value = n.valueText
	}
	index := int32(len(r.t.nodes))
	if _, twice := r.ids[n.id]; !twice {
		r.ids[n.id] = index
	}
	for _, label := range n.labels {
		r.t.labels = append(r.t.labels, labelled{label, index})
	}
	r.t.nodes = append(r.t.nodes, n.treeNode)
	r.children = append(r.children, n.children)
	return nil
}

// role returns the one copy of a role's name, and the rules for it.
func (r *treeReader) role(name string) (string, roleKind) {
	if _, known := r.roles[name]; !known {
		r.roles[name] = name
	}
	return r.roles[name], r.kinds[name]
}

// link turns the names of children into places. What names no node is left out.
func (r *treeReader) link() {
	for i, children := range r.children {
		n := &r.t.nodes[i]
		n.from = int32(len(r.t.kids))
		_ = ndjson.ElementsText(children, func(id string) error {
			if kid, ok := r.ids[id]; ok && len(r.t.kids) < math.MaxInt32 {
				r.t.kids = append(r.t.kids, kid)
			}
			return nil
		})
		n.to = int32(len(r.t.kids))
	}
}

func (n *treeNode) set(flag axFlags, on bool) {
	if on {
		n.flags |= flag
	}
}

func (n *treeNode) has(flag axFlags) bool { return n.flags&flag != 0 }

// property reads one element of a node's properties.
func (n *rawNode) property(text string) error {
	var name, value string
	err := ndjson.FieldsText(text, func(key, v string) error {
		switch key {
		case "name":
			name, _ = ndjson.Unquote(v)
		case "value":
			value = v
		}
		return nil
	})
	if err != nil {
		return nil // a property that is none says nothing
	}
	said := axText(value)
	yes := said == "true"
	switch name {
	case "labelledby":
		n.flags |= axLabelled
		n.readLabels(value)
	case "focusable":
		n.set(axFocusable, yes)
	case "editable":
		n.set(axEditable, said != "")
		n.set(axPlainText, said == "plaintext")
	case "checked", "pressed": // a toggle button that is pressed is told as checked
		n.set(axChecked, yes)
		n.set(axMixed, said == "mixed")
	case "expanded":
		n.set(axExpanded, yes)
		n.set(axCollapsed, said == "false")
	case "disabled":
		n.set(axDisabled, yes)
	case "focused":
		n.set(axFocused, yes)
	case "invalid": // also "grammar" and "spelling"
		n.set(axInvalid, said != "" && said != "false")
	case "readonly":
		n.set(axReadonly, yes)
	case "required":
		n.set(axRequired, yes)
	case "selected":
		n.set(axSelected, yes)
	case "level":
		n.level = int32(min(positive(said), maxLevel))
	case "valuetext":
		n.valueText = said
	}
	return nil
}

// maxLevel bounds a heading's level, which a page may set to any number.
const maxLevel = 99

func (n *rawNode) readLabels(value string) {
	_ = ndjson.FieldsText(value, func(key, nodes string) error {
		if key != "relatedNodes" {
			return nil
		}
		return ndjson.ElementsText(nodes, func(node string) error {
			return ndjson.FieldsText(node, func(key, id string) error {
				if label := positive(id); key == "backendDOMNodeId" && label > 0 {
					n.labels = append(n.labels, label)
				}
				return nil
			})
		})
	})
}

// axText returns the value of an AXValue as text: a string itself, true, false or a
// number; "" for anything else.
func axText(value string) string {
	text := ""
	_ = ndjson.FieldsText(value, func(key, v string) error {
		if key == "value" {
			text = scalar(v)
		}
		return nil
	})
	return text
}

func scalar(value string) string {
	if value == "" {
		return ""
	}
	switch c := value[0]; {
	case c == '"':
		if text, ok := ndjson.Unquote(value); ok {
			return strings.Clone(text) // not to keep the whole answer for it
		}
		text := "" // half a surrogate pair, which pages can have
		_ = json.Unmarshal([]byte(value), &text)
		return text
	case c == 't' || c == 'f':
		return strings.Clone(value)
	case c == '-' || c >= '0' && c <= '9':
		return plainNumber(value)
	}
	return ""
}

// plainNumber writes a number as a person would. The browser keeps some as 32 bits, which
// it prints as 0.4000000059604645.
func plainNumber(text string) string {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return ""
	}
	if float64(float32(f)) == f {
		return strconv.FormatFloat(f, 'f', -1, 32)
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// positive returns a whole number above 0, or 0.
func positive(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// children returns a node's children.
func (t *Tree) children(node int32) []int32 {
	n := &t.nodes[node]
	return t.kids[n.from:n.to]
}

// find returns the first node of a DOM node, or -1.
func (t *Tree) find(backend int64) int32 {
	for i := range t.nodes {
		if t.nodes[i].backend == backend && backend > 0 {
			return int32(i)
		}
	}
	return -1
}
