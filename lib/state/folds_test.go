package state

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
)

// TestFoldsKeepUp: a fold that events were added to is the fold of all of them, also
// when several are of one millisecond, with the heads that are recorded.
func TestFoldsKeepUp(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(9, seed))
		w := history(t, r, 12)
		b := w.batch("agent-1")
		b.Writer.Now = w.now.Add(48 * time.Hour)
		for i := range 40 {
			c := Command{Verb: TypePropose, Key: []string{branch, "other"}[r.IntN(2)], Summary: fmt.Sprintf("value %d", i), Evidence: []string{"r"}, As: []string{"agent-1", alice}[r.IntN(2)]}
			if n := len(b.Drafts); n > 0 && r.IntN(3) == 0 {
				id := b.Drafts[r.IntN(n)].ID
				c = []Command{
					{Verb: TypePromote, Proposal: id, Evidence: []string{"r"}},
					{Verb: TypeReject, Proposal: id, Why: "no"},
					{Verb: TypeWithdraw, Proposal: id, As: "agent-1"},
				}[r.IntN(3)]
			}
			if r.IntN(3) == 0 {
				b.Writer.Now = b.Writer.Now.Add(time.Millisecond)
			}
			if _, err := b.Do(c, 0); err != nil {
				continue // such as a proposal that is decided
			}
			for _, name := range []string{branch, "other"} {
				got, err := b.keys.key(name)
				if err != nil {
					t.Fatal(err)
				}
				events := w.set().Events
				for _, d := range b.Drafts {
					events = append(events, *d.Checked())
				}
				want := FoldKey(name, events, w.trust, time.Time{})
				if !reflect.DeepEqual(got.Heads(), want.Heads()) {
					t.Fatalf("seed %d: after %d commands the heads of %s are %v, want %v", seed, i, name, got.Heads(), want.Heads())
				}
				if !reflect.DeepEqual(got, &want) {
					t.Fatalf("seed %d: after %d commands the fold of %s is\n%+v\nwant\n%+v", seed, i, name, got, want)
				}
			}
		}
		if len(b.Drafts) < 10 {
			t.Fatalf("seed %d: only %d commands did anything", seed, len(b.Drafts))
		}
	}
}
