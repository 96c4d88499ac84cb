package state

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkReadAll checks and folds 100,000 events of 10,000 keys, of which one in ten
// is signed.
func BenchmarkReadAll(b *testing.B) {
	w := newWorld(b)
	for n := range 10_000 {
		key := fmt.Sprintf("service.%d.branch", n)
		k := &Key{Name: key}
		var ids []string
		for i := range 9 {
			w.now = w.now.Add(time.Millisecond)
			d, err := w.as("agent-1", "").Propose(&Key{}, Propose{Key: key, Summary: fmt.Sprintf("Releases of service %d are cut from branch %d; the key rotates weekly", n, i), EvidenceRefs: []string{"pr:12"}})
			ids = append(ids, w.add(d, err))
			if i == 0 {
				c := d.Checked()
				k.Events, k.Proposals = []*Checked{c}, []Proposed{{Event: c, Outcome: OutcomeOpen}}
			}
		}
		w.now = w.now.Add(time.Millisecond)
		w.add(w.as(alice, "human").Promote(k, Promote{Proposal: ids[0], EvidenceRefs: []string{"review:1"}}))
	}
	var set Set
	b.Run("check", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			set = w.set()
		}
	})
	b.Run("fold", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if keys := FoldKeys(set.Events, w.trust, time.Time{}); len(keys) != 10_000 || len(keys[0].Current) != 1 {
				b.Fatal("wrong")
			}
		}
	})
}
