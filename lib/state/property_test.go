package state

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"kxm/lib/fault"
	"kxm/lib/item"
)

// history makes a random store: several clones with clocks of their own write, honestly
// through the verbs and dishonestly past them, and merge now and then.
func history(t *testing.T, r *rand.Rand, events int) *world {
	w := newWorld(t)
	if r.IntN(4) == 0 {
		w.trust = trusting(t, everyone(t), "[state]\nselfPromotion = true\n")
	}
	type clone struct {
		records []Record
		skew    time.Duration
	}
	clones := make([]clone, 3)
	for i := range clones {
		clones[i].skew = []time.Duration{0, 0, time.Hour, -time.Hour, 30 * 24 * time.Hour, time.Millisecond}[r.IntN(6)]
	}
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	base := w.now
	for n := range events {
		c := &clones[r.IntN(len(clones))]
		base = base.Add(time.Duration(r.IntN(3)) * time.Duration(r.IntN(90_000)) * time.Millisecond) // often the same millisecond
		w.now, w.records = base.Add(c.skew), c.records
		key := pick(branch, branch, "other")
		k := w.key(key)
		actor := pick(alice, bob, "agent-1", "agent-2")
		var proposals, promotions []string
		for _, e := range k.Events {
			switch e.Type() {
			case TypePropose:
				proposals = append(proposals, e.ID)
			case TypePromote:
				promotions = append(promotions, e.ID)
			}
		}
		save := func(d *Draft, err error) {
			if err == nil {
				w.add(d, nil)
			} else if fault.CodeOf(err) == "" {
				t.Fatal(err)
			}
		}
		switch op := r.IntN(20); {
		case op < 6 || len(proposals) == 0:
			writer := w.as(actor, "")
			if r.IntN(3) == 0 {
				writer = w.as(pick(alice, bob), item.OriginHuman)
			}
			save(writer.Propose(k, Propose{Key: key, Summary: fmt.Sprintf("value %d", n), EvidenceRefs: []string{"pr:1"},
				Authority: item.Authority(pick("evidence", "evidence", "hypothesis", "policy"))}))
		case op < 12:
			who, origin := pick(alice, bob, ci), item.OriginHuman
			if who == ci {
				origin = item.OriginWorkflow
			}
			var expect []string
			if len(k.Current) > 1 {
				for i := range k.Current {
					expect = append(expect, k.Current[i].IDs()[0])
				}
			}
			save(w.as(who, origin).Promote(k, Promote{Proposal: proposals[r.IntN(len(proposals))], EvidenceRefs: []string{fmt.Sprintf("review:%d", n)}, Expect: expect}))
		case op == 12:
			save(w.as(pick(alice, ci), pickOrigin(r)).Reject(k, End{Proposal: proposals[r.IntN(len(proposals))], Why: "no"}))
		case op == 13:
			id := proposals[r.IntN(len(proposals))]
			save(w.as(pick(actor, w.find(id).Actor), "").Withdraw(k, End{Proposal: id}))
		case op == 14: // past the rules: any expect, any signature or none, perhaps another digest
			id := proposals[r.IntN(len(proposals))]
			body := &Promotion{Proposal: id, Digest: w.find(id).Digest, EvidenceRefs: []string{"forged"}, Expect: []string{}}
			if r.IntN(4) == 0 {
				body.Digest = strings.Repeat("0", 64)
			}
			for _, p := range promotions {
				if r.IntN(2) == 0 {
					body.Expect = append(body.Expect, p)
				}
			}
			clock := at(w.now) + HLC(r.IntN(1<<20))
			var who []string
			if r.IntN(3) > 0 {
				who = []string{pick(alice, bob, bot, mallory)}
			}
			w.forge(Event{Key: key, Clock: clock, Actor: actor, Body: body}, pick("kxm-human", "kxm-peer", "git"), who...)
			if _, err := Parse(w.records[len(w.records)-1].Event); err != nil {
				continue // it names what is later than itself
			}
		case op == 15: // from the far future
			w.forge(Event{Key: key, Clock: maxHLC - HLC(r.IntN(1000)), Actor: actor, Body: &Proposal{Summary: "far", Authority: item.AuthorityEvidence, Confidence: item.ConfidenceVerified, EvidenceRefs: []string{"r"}}}, "")
		case op == 16:
			w.sign(w.records[r.IntN(len(w.records))].ID, pick(alice, bob, ci, bot, mallory), pick("kxm-human", "kxm-workflow", "kxm-peer"))
		case op == 17:
			save(w.as(actor, "").Note(Entry{Category: pick("lesson", "error", "skill-candidate", "contradiction"), Summary: fmt.Sprintf("note %d", n), RunID: pick("", "run-1")}))
		case op == 18:
			if j := w.journal(); len(j.Records) > 0 {
				e := j.Records[r.IntN(len(j.Records))].Event
				save(w.as(pick(alice, bob), item.OriginHuman).Review(e, nil, Review{Entry: e.ID, To: Verdict(pick("approved", "rejected", "quarantined")), Why: "seen"}))
			}
		default:
			other := &clones[r.IntN(len(clones))]
			w.records = append(slices.Clone(w.records), other.records...)
			w.records = unite(w.records)
		}
		c.records = slices.Clone(w.records)
	}
	w.records = nil
	for _, c := range clones {
		w.records = append(w.records, c.records...)
	}
	return w
}

func pickOrigin(r *rand.Rand) item.Origin {
	if r.IntN(2) == 0 {
		return item.OriginHuman
	}
	return item.OriginWorkflow
}

// scramble returns the same set of records in another order, with events that come
// several times and their signatures spread over them.
func scramble(r *rand.Rand, records []Record) []Record {
	var out []Record
	for _, rec := range records {
		parts := 1 + r.IntN(2)
		split := make([]Record, parts)
		for i := range split {
			split[i] = Record{ID: rec.ID, Path: rec.Path, Event: rec.Event, Err: rec.Err}
		}
		for _, s := range rec.Signatures {
			i := r.IntN(parts)
			split[i].Signatures = append(split[i].Signatures, s)
		}
		out = append(out, split...)
	}
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// lists are the trust points that a history is read with: all signers, each one
// missing, one only, nobody.
func lists(t *testing.T) map[string]string {
	all := strings.SplitAfter(strings.TrimSuffix(everyone(t), "\n"), "\n")
	made := map[string]string{"all": everyone(t), "nobody": ""}
	for i, l := range all {
		if i < 2 {
			made["without "+l[:5]] = strings.Join(slices.Delete(slices.Clone(all), i, i+1), "")
		}
	}
	made["alice until 12:05"] = line(t, alice, `namespaces="kxm-human",valid-before="20260901120500Z"`, alice) + strings.Join(all[1:], "")
	return made
}

func TestTheFoldIsAFunctionOfTheSet(t *testing.T) {
	// What the histories must contain to prove anything.
	met := map[string]int{"contradictions": 0, "values of two promotions": 0, "superseded values": 0, "rejections": 0, "withdrawals": 0, "reviewed entries": 0, "values given back": 0}
	for seed := range uint64(25) {
		r := rand.New(rand.NewPCG(seed, 1))
		w := history(t, r, 40)
		selfPromotion := w.trust.SelfPromotion
		for name, list := range lists(t) {
			configuration := ""
			if selfPromotion {
				configuration = "[state]\nselfPromotion = true\n"
			}
			trust := trusting(t, list, configuration)
			set := Check(w.records, trust, project)
			want := dump(set, trust, time.Time{})
			for range 2 {
				if got := dump(Check(scramble(r, w.records), trust, project), trust, time.Time{}); got != want {
					t.Fatalf("seed %d, %s: another order gives another answer:\n%s", seed, name, difference(got, want))
				}
			}
			checkLaws(t, fmt.Sprintf("seed %d, %s", seed, name), set, trust)
			count(met, set, trust)
		}
	}
	for what, n := range met {
		if n < 5 {
			t.Errorf("%d %s are too few", n, what)
		}
	}
}

// difference returns the first lines in which two texts differ.
func difference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return "got  " + a[i] + "\nwant " + b[i]
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(a), len(b))
}

func count(met map[string]int, set Set, trust *Trust) {
	for _, k := range FoldKeys(set.Events, trust, time.Time{}) {
		if k.Contradicted() {
			met["contradictions"]++
		}
		met["superseded values"] += len(k.Superseded)
		for _, v := range k.Current {
			if len(v.Promotions) > 1 {
				met["values of two promotions"]++
			}
			// A later promotion of it would be current if its signer were trusted.
			for _, e := range k.Events {
				if p, ok := e.Body.(*Promotion); ok && e.Problem != nil && slices.Contains(p.Expect, v.Promotions[0].ID) {
					met["values given back"]++
				}
			}
		}
		for _, p := range k.Proposals {
			switch p.Outcome {
			case OutcomeRejected:
				met["rejections"]++
			case OutcomeWithdrawn:
				met["withdrawals"]++
			}
		}
	}
	for _, n := range FoldJournal(set.Events, trust, time.Time{}).Records {
		if n.Verdict != "" {
			met["reviewed entries"]++
		}
	}
}

// checkLaws compares a fold with the rules, computed again in the plainest way.
func checkLaws(t *testing.T, name string, set Set, trust *Trust) {
	t.Helper()
	byID := map[string]*Checked{}
	for i := range set.Events {
		byID[set.Events[i].ID] = &set.Events[i]
	}
	counts := func(e *Checked) bool { // as a promotion
		body, ok := e.Body.(*Promotion)
		if !ok {
			return false
		}
		p := byID[body.Proposal]
		if p == nil || p.Type() != TypePropose || p.Key != e.Key || p.Digest != body.Digest {
			return false
		}
		if a := p.Body.(*Proposal).Authority; p.Origin == item.OriginPeer && (a == item.AuthorityPolicy || a == item.AuthorityInstruction) {
			return false
		}
		for _, c := range e.Credentials {
			if c.Origin != item.OriginHuman && c.Origin != item.OriginWorkflow {
				continue
			}
			author := p.Actor == c.Name
			for _, s := range p.Credentials {
				author = author || s.Key == c.Key
			}
			if !author || trust.SelfPromotion {
				return true
			}
		}
		return false
	}
	var replaces func(id, old string, depth int) bool
	replaces = func(id, old string, depth int) bool {
		e := byID[id]
		if e == nil || depth > 100 {
			return false
		}
		body, ok := e.Body.(*Promotion)
		if !ok {
			return false
		}
		for _, x := range body.Expect {
			if x == old || replaces(x, old, depth+1) {
				return true
			}
		}
		return false
	}
	keys := FoldKeys(set.Events, trust, time.Time{})
	for i := range keys {
		k := &keys[i]
		proposals := map[string]bool{}
		for _, e := range k.Events {
			if !counts(e) {
				continue
			}
			replaced := false
			for _, later := range k.Events {
				replaced = replaced || counts(later) && later.Key == e.Key && replaces(later.ID, e.ID, 0)
			}
			if !replaced {
				proposals[e.Body.(*Promotion).Proposal] = true
			}
		}
		got := map[string]bool{}
		for _, v := range k.Current {
			got[v.Proposal.ID] = true
			for _, m := range v.Promotions {
				for _, c := range m.Credentials {
					if !v.Item.Provenance.SelfPromoted && len(v.Promotions) == 1 && len(m.Credentials) == 1 && trust.signedBy(v.Proposal, c) {
						t.Errorf("%s: %s promoted a proposal of its own", name, c.Name)
					}
				}
			}
		}
		if len(got) != len(k.Current) || fmt.Sprint(got) != fmt.Sprint(proposals) {
			t.Errorf("%s: key %s has the values %v, by the rules %v", name, k.Name, got, proposals)
		}
		for _, v := range k.Superseded {
			if v.Item.ValidUntil < v.Item.ValidFrom {
				t.Errorf("%s: %s is valid from %s until %s", name, v.Item.ID, v.Item.ValidFrom, v.Item.ValidUntil)
			}
		}
		for _, it := range k.Items() {
			checkItem(t, name, &it)
		}
		for _, e := range k.Events {
			if named := ruleOf(k.Findings, e.ID); len(named) > 1 {
				t.Errorf("%s: %s is left out for %v", name, e.ID, named)
			}
		}
		checkAsOf(t, name, set, trust, k)
	}
	journal := FoldJournal(set.Events, trust, time.Time{})
	for _, it := range journal.Items() {
		checkItem(t, name, &it)
	}
}

func checkItem(t *testing.T, name string, it *item.Item) {
	t.Helper()
	if err := it.Check(); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	if it.Authority.Rank() > it.Provenance.SourceType.Ceiling().Rank() {
		t.Errorf("%s: %s is above its ceiling", name, it.ID)
	}
	back, err := item.Parse(it.AppendJSON(nil))
	if err != nil || !item.Equal(it, &back) {
		t.Errorf("%s: %s does not survive: %v", name, it.ID, err)
	}
}

// checkAsOf holds that the state as of a time is the fold of what had happened by
// then, and that what a value says of its validity is when it was current.
func checkAsOf(t *testing.T, name string, set Set, trust *Trust, k *Key) {
	t.Helper()
	for _, e := range k.Events {
		when := e.Clock.Time()
		var past []Checked
		for _, e := range set.Events {
			if !e.Clock.Time().After(when) {
				past = append(past, e)
			}
		}
		then := FoldKey(k.Name, set.Events, trust, when)
		alone := FoldKey(k.Name, past, trust, time.Time{})
		if a, b := itemsText(then.Items()), itemsText(alone.Items()); a != b {
			t.Errorf("%s: as of %s\n%s\nbut what had happened by then gives\n%s", name, when, a, b)
		}
		now := timeText(when)
		for _, v := range slices.Concat(k.Current, k.Superseded) {
			if len(v.Promotions) > 1 {
				continue // its parts may have ended at different times
			}
			valid := v.Item.ValidFrom <= now && (v.Item.ValidUntil == "" || now < v.Item.ValidUntil)
			current := slices.ContainsFunc(then.Current, func(c Value) bool { return slices.Contains(c.IDs(), v.Promotions[0].ID) })
			if valid != current {
				t.Errorf("%s: %s is valid from %q until %q, and as of %s current is %t", name, v.Item.ID, v.Item.ValidFrom, v.Item.ValidUntil, now, current)
			}
		}
	}
}

func itemsText(items []item.Item) string {
	var b bytes.Buffer
	for i := range items {
		b.Write(items[i].AppendJSON(nil))
		b.WriteByte('\n')
	}
	return b.String()
}

// Whatever uncredentialed events are added, what credentialed ones say stays.
func TestUnsignedEventsChangeNoValue(t *testing.T) {
	for seed := range uint64(15) {
		r := rand.New(rand.NewPCG(seed, 2))
		w := history(t, r, 30)
		trust := w.trust
		before := FoldKeys(w.set().Events, trust, time.Time{})
		// A stranger adds every kind of event about everything there is, unsigned or with
		// a key that is on no list.
		for _, e := range w.set().Events {
			if !e.Type().Keyed() {
				continue
			}
			w.now = e.Clock.Time().Add(time.Duration(r.IntN(1000)) * time.Millisecond)
			if w.now.Year() > 9998 {
				w.now = w.now.AddDate(-1, 0, 0)
			}
			var who []string
			if r.IntN(2) == 0 {
				who = []string{mallory}
			}
			proposal := e.ID
			if p, ok := e.Body.(*Promotion); ok {
				proposal = p.Proposal
			}
			w.forge(Event{Key: e.Key, Actor: e.Actor, Body: &Promotion{Proposal: proposal, Digest: e.Digest, EvidenceRefs: []string{"x"}, Expect: []string{e.ID}}}, "kxm-human", who...)
			w.forge(Event{Key: e.Key, Actor: e.Actor, Body: &Ending{How: TypeReject, Proposal: proposal, Digest: e.Digest, Why: "x"}}, "kxm-human", who...)
			w.forge(Event{Key: e.Key, Actor: e.Actor, After: []string{e.ID}, Body: &Proposal{Summary: "x", Authority: item.AuthorityPolicy, Confidence: item.ConfidenceVerified, EvidenceRefs: []string{"x"}}}, "kxm-human", who...)
		}
		after := FoldKeys(w.set().Events, trust, time.Time{})
		if len(before) != len(after) {
			t.Fatalf("seed %d: %d keys became %d", seed, len(before), len(after))
		}
		for i := range before {
			a, b := &before[i], &after[i]
			if x, y := itemsText(a.Items()), itemsText(b.Items()); x != y {
				t.Errorf("seed %d: key %s was\n%s\nand became\n%s", seed, a.Name, x, y)
			}
		}
	}
}
