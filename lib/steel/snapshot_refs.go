package steel

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"kxm/lib/fault"
	"kxm/lib/ndjson"
	"kxm/lib/redact"
)

// ReferencesSchema names the form of the file of a session's references.
const ReferencesSchema = "kxm.steel-refs.v1"

// Limits of a session's references. The file is read by every command that acts, and
// nothing larger than ndjson.MaxValue is read at all.
const (
	// maxReferences is how many one snapshot gives; lines after that have none.
	maxReferences = 10_000
	// keptReferences is up to how many those of earlier snapshots are kept. The ones
	// with the highest numbers are.
	keptReferences = 4_096
	// maxRefNumber has nine digits.
	maxRefNumber = 999_999_999
)

// References are what e1, e2, … stand for. The zero value is none.
type References struct {
	Schema string               `json:"schema"`
	Refs   map[string]Reference `json:"refs"`
}

// Reference is the node that a number stands for. It says which document of which
// frame the node is in, since a node's id outlives its page.
type Reference struct {
	Tab      string `json:"tab"`
	TargetID string `json:"targetId"` // of the frame: a cross-site frame is a target of its own
	FrameID  string `json:"frameId"`
	LoaderID string `json:"loaderId"`
	Node     int64  `json:"node"` // backend id
	Role     string `json:"role"` // as printed
	Name     string `json:"name"` // as printed, without what redact knows as a secret
}

// Matches reports whether a node still has the role and name that the reference was
// given for; both are the browser's. A name that held what is not printed is not
// compared.
func (r Reference) Matches(role, name string) bool {
	return r.Role == printedRole(role) && (r.Name == storedName(PrintedName(name)) || strings.Contains(r.Name, hiddenText))
}

// storedName is a printed name as it stands in the file.
func storedName(name string) string {
	clean, _ := redact.Redact(name)
	return PrintedName(clean) // a mask may be longer than what it masks
}

// refNumber returns the number of a reference's name, such as 12 of "e12", or 0.
func refNumber(name string) int {
	digits, ok := strings.CutPrefix(name, "e")
	if !ok || len(digits) > 9 || digits == "" || digits[0] == '0' {
		return 0
	}
	n, err := strconv.ParseUint(digits, 10, 31)
	if err != nil {
		return 0
	}
	return int(n)
}

func refName(number int) string { return "e" + strconv.Itoa(number) }

// Encode returns the file's bytes.
func (r *References) Encode() ([]byte, error) {
	out := References{Schema: ReferencesSchema, Refs: r.Refs}
	if out.Refs == nil {
		out.Refs = map[string]Reference{}
	}
	raw, err := ndjson.Marshal(out)
	if err != nil {
		return nil, err
	}
	return append(raw, '\n'), nil
}

// ParseReferences reads the file of a session's references. The error says what is
// wrong and not where; it is SteelStateCorrupt.
func ParseReferences(data []byte) (*References, error) {
	corrupt := func(what string) (*References, error) { return nil, fault.New(fault.SteelStateCorrupt, "%s", what) }
	if err := ndjson.Validate(data); err != nil {
		return corrupt("not JSON")
	}
	r := &References{}
	if err := json.Unmarshal(data, r); err != nil {
		return corrupt("a field has the wrong type")
	}
	switch {
	case r.Schema != ReferencesSchema:
		return corrupt("the schema is not " + ReferencesSchema)
	case r.Refs == nil:
		return corrupt("the references are missing")
	}
	for name, ref := range r.Refs {
		switch {
		case refNumber(name) == 0:
			return corrupt("the name of a reference is none")
		case ref.Tab == "" || ref.TargetID == "" || ref.FrameID == "" || ref.LoaderID == "":
			return corrupt("a reference does not say where it is")
		case ref.Node <= 0:
			return corrupt("the node of a reference is none")
		case ref.Role == "" || ref.Role != printedRole(ref.Role):
			return corrupt("the role of a reference is none")
		}
	}
	return r, nil
}

// nodeAt is a node in a document.
type nodeAt struct {
	frame, loader string
	node          int64
}

// numbering gives numbers to nodes.
type numbering struct {
	known  map[nodeAt]int
	next   int
	given  map[string]Reference
	before *References
}

// newNumbering starts with what is known. No number below next, or that is known, is
// given to a new node.
func newNumbering(before *References, next int) *numbering {
	n := &numbering{known: map[nodeAt]int{}, next: max(next, 1), given: map[string]Reference{}, before: before}
	if before == nil {
		return n
	}
	for name, ref := range before.Refs {
		number, at := refNumber(name), nodeAt{ref.FrameID, ref.LoaderID, ref.Node}
		if number == 0 {
			continue
		}
		n.next = max(n.next, number+1)
		if other, twice := n.known[at]; !twice || number < other {
			n.known[at] = number
		}
	}
	return n
}

// name returns the name of the node's reference, or "" if there are too many. A fresh
// one is the node's only after give.
func (n *numbering) name(at nodeAt) (name string, fresh bool) {
	number, known := n.known[at]
	if !known {
		number = n.next
	}
	name = refName(number)
	if number > maxRefNumber {
		return "", false
	}
	if _, given := n.given[name]; !given && len(n.given) == maxReferences {
		return "", false
	}
	return name, !known
}

// give records the reference of a name that is printed.
func (n *numbering) give(name string, fresh bool, ref Reference) {
	if fresh {
		n.known[nodeAt{ref.FrameID, ref.LoaderID, ref.Node}] = n.next
		n.next++
	}
	if _, given := n.given[name]; !given {
		ref.Name = storedName(ref.Name)
		n.given[name] = ref
	}
}

// references returns those that were given and, up to a limit, those of before.
func (n *numbering) references() *References {
	all := &References{Schema: ReferencesSchema, Refs: n.given}
	if n.before == nil {
		return all
	}
	all.Refs = maps.Clone(n.given)
	older := slices.SortedFunc(maps.Keys(n.before.Refs), func(a, b string) int { return cmp.Compare(refNumber(b), refNumber(a)) })
	for _, name := range older {
		if len(all.Refs) >= keptReferences {
			break
		}
		if _, given := all.Refs[name]; !given {
			all.Refs[name] = n.before.Refs[name]
		}
	}
	return all
}
