// Package capability owns the capability set: which tools, connected apps and
// contributions one run may reach. It reads and writes sets and intersects them.
//
// Start with [Parse] or [New]; [Intersect] narrows. A set says what may be called,
// never whether a call may run: that is the gate's to decide, call by call. Nothing
// in a set means "all", and the package knows no tool by name; who owns a tool and
// what is switched on is decided where a set is made.
package capability

import (
	"slices"

	"kxm/lib/ndjson"
)

// Names on the wire.
const (
	Schema  = "kxm.capability-set.v1"
	Version = 1
)

// Set is a capability set. Its lists are sorted by bytes and hold nothing twice, as
// [New] and [Parse] make them; a set that was put together in another way must keep
// to that. The set without entries allows nothing.
type Set struct {
	Version       int // always 1
	Tools         []string
	Connectors    []string // connected apps
	Contributions []string // ids of contributions and of plugins that have none
}

// AppendJSON appends the set as one compact JSON object with its five keys. Equal
// sets are equal bytes.
func (s Set) AppendJSON(dst []byte) []byte {
	o := ndjson.NewObject(dst)
	o.Text("schema", Schema)
	o.Name("version")
	o.Bytes = append(o.Bytes, '0'+Version)
	o.List("tools", s.Tools)
	o.List("connectors", s.Connectors)
	o.List("contributions", s.Contributions)
	return o.End()
}

// MarshalJSON returns what AppendJSON appends.
func (s Set) MarshalJSON() ([]byte, error) { return s.AppendJSON(nil), nil }

// Digest returns "sha256:" and the hex digest of the set's canonical JSON (RFC 8785).
func (s Set) Digest() string {
	digest, err := ndjson.Digest(s.AppendJSON(nil))
	if err != nil {
		panic(err) // AppendJSON writes valid JSON whatever the texts hold
	}
	return "sha256:" + digest
}

// Equal reports whether a and b hold the same entries.
func Equal(a, b Set) bool {
	return slices.Equal(a.Tools, b.Tools) && slices.Equal(a.Connectors, b.Connectors) && slices.Equal(a.Contributions, b.Contributions)
}

// Allows reports whether the set holds a tool.
func (s Set) Allows(tool string) bool {
	_, ok := slices.BinarySearch(s.Tools, tool)
	return ok
}

// Intersect returns what both sets hold, in time linear in their length. It never
// adds (INV-CAP-1), and shares no memory with its arguments but the texts.
func Intersect(a, b Set) Set {
	return Set{
		Version:       Version,
		Tools:         common(a.Tools, b.Tools),
		Connectors:    common(a.Connectors, b.Connectors),
		Contributions: common(a.Contributions, b.Contributions),
	}
}

// common merges two sorted lists into what both hold; nil if that is nothing.
func common(a, b []string) []string {
	var both []string
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			a = a[1:]
		case a[0] > b[0]:
			b = b[1:]
		default:
			both = append(both, a[0])
			a, b = a[1:], b[1:]
		}
	}
	return both
}
