package packet

import (
	"bytes"
	"strings"
	"testing"

	"kxm/lib/item"
	"kxm/lib/ndjson"
)

// FuzzSelect selects from every pool that can be read: it never panics, the packet
// keeps to its budget and share, and its text holds one line an item.
func FuzzSelect(f *testing.F) {
	for seed := range uint64(12) {
		g := newGenerator(seed)
		var stream []byte
		n := 2 + g.IntN(10)
		for i := range n {
			it := g.item(i, n)
			stream = append(it.AppendJSON(stream), '\n')
		}
		stream = append(item.Gap{Gap: "a gap"}.AppendJSON(stream), '\n')
		f.Add(stream, g.words(3), uint16(g.IntN(3000)), uint8(g.IntN(101)))
	}
	for _, summary := range hostile {
		it := markdownItem("a`b", summary, item.KindState)
		f.Add(it.AppendJSON(nil), summary, uint16(0), uint8(50))
	}
	f.Fuzz(func(t *testing.T, stream []byte, task string, budget uint16, share uint8) {
		pool, err := item.ReadPool(bytes.NewReader(stream), "stdin")
		if err != nil {
			return
		}
		r := Request{
			Project: "demo", Role: FindRole(Roles(nil), "implementer"), Task: task, Budget: 512 + int(budget),
			Share: float64(share%101) / 100, Contradictions: []string{"a"},
		}
		for i := range pool.Items {
			if p := pool.Items[i].Project; p != item.SharedProject {
				r.Project = p
			}
		}
		s, err := Select(pool, r, masks["longer"])
		if err != nil {
			return // two projects
		}
		p, err := s.Packet(nil)
		if err != nil {
			t.Fatal(err)
		}
		total := 0
		for _, items := range sections(&p) {
			total += size(items...)
		}
		if total > 4*r.Budget || 100*((size(p.Contradictions...)+3)/4) > int(share%101)*r.Budget {
			t.Errorf("%d characters, %d of them contradictions, in a budget of %d tokens", total, size(p.Contradictions...), r.Budget)
		}
		a := s.Audit(AuditRequest{Task: task}, true, strings.ToUpper)
		if raw, err := ndjson.Marshal(a); err != nil || ndjson.Validate(raw) != nil {
			t.Errorf("the audit does not encode: %v", err)
		}
		checkMarkdown(t, &p)
		if _, err := Search(pool, RecallRequest{Project: r.Project, Query: task, Limit: 3}, plain); err != nil {
			t.Error(err)
		}
		for i := range pool.Items {
			if e, err := Explain(pool, r.Project, pool.Items[i].ID, plain); err != nil || !e.Found {
				t.Errorf("%q: %+v, %v", pool.Items[i].ID, e, err)
			}
		}
	})
}
