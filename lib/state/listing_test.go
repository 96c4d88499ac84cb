package state

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"kxm/lib/item"
)

// TestListingIsTheFold: folder by folder, through the form of the cache, comes to the
// same items and gaps as folding the whole log at once, now and as of any time.
func TestListingIsTheFold(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(7, seed))
		w := history(t, r, 40)
		times := []time.Time{{}, w.now, w.records[r.IntN(len(w.records))].clock(t), w.now.AddDate(-20, 0, 0), time.Unix(-1, 0)}
		for _, asOf := range times {
			set := w.set()
			var want []string
			gaps := set.Gaps()
			contradicted := 0
			for _, k := range FoldKeys(set.Events, w.trust, asOf) {
				for _, it := range k.Items() {
					want = append(want, string(it.AppendJSON(nil)))
				}
				gaps = append(gaps, k.Gaps()...)
				for _, sides := range []int{len(k.Current), len(k.Open())} {
					if sides > 1 {
						contradicted++
					}
				}
			}
			j := FoldJournal(set.Events, w.trust, asOf)
			for _, it := range j.Items() {
				want = append(want, string(it.AppendJSON(nil)))
			}
			gaps = append(gaps, j.Gaps()...)
			slices.SortFunc(gaps, func(a, b item.Gap) int { return cmp.Or(cmp.Compare(a.Gap, b.Gap), cmp.Compare(a.Detail, b.Detail)) })
			gaps = slices.CompactFunc(gaps, func(a, b item.Gap) bool { return a.Gap == b.Gap })
			slices.Sort(want) // every line begins with the item's id

			l := w.listing(asOf, true)
			var got []string
			for row := range l.All() {
				got = append(got, row.JSON)
				it, err := item.Parse([]byte(row.JSON))
				if err != nil {
					t.Fatal(err)
				}
				if row.ID != it.ID || row.Status != it.Status || row.Kind != it.Kind || row.Key != it.StateKey || row.Category != it.JournalCategory || row.RunID != it.RunID {
					t.Errorf("row %+v of %+v", row, it)
				}
			}
			if !slices.Equal(got, want) {
				t.Fatalf("seed %d as of %s:\n%s\nwant\n%s", seed, asOf, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			if !slices.Equal(l.Gaps, gaps) {
				t.Fatalf("seed %d as of %s: gaps\n%v\nwant\n%v", seed, asOf, l.Gaps, gaps)
			}
			if n := len(l.Contradictions()); n != contradicted {
				t.Errorf("seed %d as of %s: %d contradictions, want %d", seed, asOf, n, contradicted)
			}
			rows := slices.DeleteFunc(slices.Collect(l.All()), func(r Row) bool { return !live(r.Status) })
			live := w.listing(asOf, false)
			same := func(a, b Row) bool {
				return a.ID == b.ID && a.JSON == b.JSON && a.digest == b.digest && a.clock == b.clock
			}
			if got := slices.Collect(live.All()); !slices.EqualFunc(got, rows, same) || !slices.Equal(live.Gaps, l.Gaps) {
				t.Errorf("seed %d as of %s: live are %v, want %v", seed, asOf, got, rows)
			}
		}
	}
}

// clock is the time of the record's event.
func (r *Record) clock(t *testing.T) time.Time {
	e, err := Parse(r.Event)
	if err != nil {
		t.Fatal(err)
	}
	return e.Clock.Time()
}

// TestReviewsMeetEntriesOfOtherDays: the latest review that counts decides, and those
// that do not are named.
func TestReviewsMeetEntriesOfOtherDays(t *testing.T) {
	w := newWorld(t)
	entry := w.note("agent-1", "", Entry{Category: "lesson", Summary: "seen"})
	w.now = w.now.AddDate(0, 0, 3)
	w.review(alice, entry, VerdictRejected)
	w.now = w.now.AddDate(0, 0, 3)
	w.review(bob, entry, VerdictApproved)
	before := w.now.AddDate(0, 0, -1)
	other := strings.Repeat("0", 64)
	w.tick()
	wrong := w.forge(Event{Clock: at(w.now), Actor: bob, Body: &Review{Entry: entry, Digest: other, To: VerdictRejected, Why: "no"}}, "kxm-human", bob)
	lost := w.forge(Event{Clock: at(w.now) + 1, Actor: bob, Body: &Review{Entry: id1, Digest: other, To: VerdictRejected, Why: "no"}}, "kxm-human", bob)
	l := w.listing(time.Time{}, true)
	if row, ok := l.Entry(entry); !ok || row.Status != item.StatusCurrent {
		t.Errorf("now %+v", row)
	}
	var gaps []string
	for _, g := range l.Gaps {
		gaps = append(gaps, g.Gap)
	}
	wantList(t, "gaps", gaps, "state_event_untrusted:"+wrong, "state_event_untrusted:"+lost)
	then := w.listing(before, true)
	if row, ok := then.Entry(entry); !ok || row.Status != item.StatusRejected || len(then.Gaps) != 0 {
		t.Errorf("before the second review %+v, %v", row, then.Gaps)
	}
	if row, ok := w.listing(before, false).Entry(entry); ok {
		t.Errorf("a rejected entry is live: %+v", row)
	}
}

// FuzzFolded: whatever a cache holds, reading it ends without much memory, and what is
// read is written as it was.
func FuzzFolded(f *testing.F) {
	f.Add(encoded(&folded{last: 7, foreign: 1, gaps: []foldedGap{{3, item.Gap{Gap: "a", Detail: "b"}}}, reviews: []foldedReview{{"i", "e", "p", "d", VerdictApproved}},
		rows: []Row{{ID: "ctx_1", Status: item.StatusCurrent, Kind: item.KindState, Key: "k", Category: "c", RunID: "r", JSON: "{}", key: 300, digest: "d"}}}))
	f.Add(encoded(&folded{}))
	f.Add("\x00\x00\x00\x00\xff\xff\xff\xff\x0f")
	f.Add("\x80")
	f.Fuzz(func(t *testing.T, data string) {
		var got folded
		if !got.decode(data) {
			return
		}
		var again folded
		text := encoded(&got)
		var size counter
		if got.encode(&size); int(size) != len(text) {
			t.Errorf("%d bytes are counted of %d", size, len(text))
		}
		if !again.decode(text) || encoded(&again) != text || again.last != got.last || again.foreign != got.foreign ||
			!slices.Equal(again.gaps, got.gaps) || !slices.Equal(again.reviews, got.reviews) {
			t.Errorf("%+v, then %+v", got, again)
		}
	})
}
