package packet

import (
	"fmt"

	"kxm/lib/fault"
	"kxm/lib/item"
)

// FromPool makes the material of a pool's live items, masked and in their order. open
// names those in open contradiction; nil derives them, as selection does. Items that
// inform nobody about to act are left out and counted in a gap: superseded and rejected
// ones, and those that exist to be decided on. An item of another project refuses the
// pool with context_isolation_violation.
func FromPool(pool item.Pool, project string, open map[string]bool, mask Mask) (Material, error) {
	if err := pool.Isolated(project); err != nil {
		return Material{}, err
	}
	if open == nil {
		open = openContradictions(pool.Items, nil)
	}
	var m Material
	for i := range pool.Items {
		it := &pool.Items[i]
		if it.Live() && (open[it.ID] || !inert(it)) {
			m.Items = append(m.Items, Entry{Item: mask(*it), Versioned: true, open: open[it.ID]})
		}
	}
	if left := len(pool.Items) - len(m.Items); left > 0 {
		m.Gaps = append(m.Gaps, fmt.Sprintf("%d items left out that are superseded, rejected or only proposed", left))
	}
	m.Gaps = append(m.Gaps, streamGaps(pool.Gaps)...)
	return m, nil
}

// Holds reports whether a value is an object that holds a packet as its field "packet",
// as answers of [Select] do, and is no record of its own.
func Holds(raw []byte) bool { return within(raw) != nil }

// ReadSelected reads the items of a packet that was selected (see [Packet]) as a pool,
// and the ids of those that are open contradictions. raw is the packet or an object
// that holds it. Its items are checked as those of a stream are.
func ReadSelected(raw []byte) (item.Pool, map[string]bool, error) {
	if inner := within(raw); inner != nil {
		raw = inner
	}
	var pool item.Pool
	open := map[string]bool{}
	r := reader{subject: "packet", code: fault.InvalidPacket, masks: Masks{JSON: func(_ []byte, _ string, value []byte) []byte { return value }}}
	sections := []string{"currentState", "knowledge", "evidence", "episodes", "skills", "contradictions"}
	o := r.object("", raw, append(sections, "schema", "unresolvedGaps")...)
	o.schema(Schema, true)
	for _, name := range sections {
		pool.Items = append(pool.Items, elements(o, name, MaxItems, func(path string, value []byte) item.Item {
			it, err := item.Parse(value)
			if err != nil {
				r.err = err
			}
			open[it.ID] = name == "contradictions"
			return it
		})...)
	}
	for _, gap := range elements(o, "unresolvedGaps", MaxEntries, o.texts("unresolvedGaps", MaxText)) {
		pool.Gaps = append(pool.Gaps, item.Gap{Gap: gap})
	}
	if r.err == nil {
		r.err = distinct(pool.Items)
	}
	return pool, open, r.err
}

// distinct refuses two items with one id: a selected packet holds each once.
func distinct(items []item.Item) error {
	seen := make(map[string]bool, len(items))
	for i := range items {
		if seen[items[i].ID] {
			return fault.New(fault.InvalidContextItem, "two context items have the id %s", fault.Quote(items[i].ID)).On("id")
		}
		seen[items[i].ID] = true
	}
	return nil
}
