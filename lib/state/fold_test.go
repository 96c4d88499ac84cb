package state

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"kxm/lib/fault"
	"kxm/lib/item"
)

func TestAPromotedProposalIsTheCurrentValue(t *testing.T) {
	w := newWorld(t)
	p := w.propose("agent-1", "Releases are cut from the main branch")
	m := w.promote(alice, p)
	k := w.key(branch)
	wantList(t, "current", current(k), "Releases are cut from the main branch")
	it := k.Current[0].Item
	if it.ID != "ctx_"+m || it.Status != item.StatusCurrent || it.Authority != item.AuthorityEvidence || it.StateKey != branch ||
		it.Provenance.SourceType != item.OriginPeer || it.Provenance.SourceRef != "proposal:"+p ||
		it.Provenance.Author != "agent-1" || it.Provenance.Signer != alice || it.Provenance.SelfPromoted {
		t.Errorf("item %+v", it)
	}
	wantList(t, "evidence", it.EvidenceRefs, "pr:12", "review:pr-12")
	if it.ValidFrom != "2026-09-01T12:02:00.000Z" || it.ObservedAt != it.ValidFrom || it.ValidUntil != "" {
		t.Errorf("times %q %q %q", it.ObservedAt, it.ValidFrom, it.ValidUntil)
	}
	// The proposal's own record is closed by the promotion.
	if got := k.Proposals[0]; got.Outcome != OutcomePromoted || got.Item.Status != item.StatusRejected || got.Item.ID != "ctx_"+p {
		t.Errorf("proposal %+v", got)
	}
	if gaps := k.Gaps(); gaps != nil {
		t.Errorf("gaps %v", gaps)
	}
}

func TestALaterPromotionSupersedesAndValidityIsHalfOpen(t *testing.T) {
	w := newWorld(t)
	w.promote(alice, w.propose("agent-1", "one"))
	start := w.now
	second := w.propose("agent-2", "two")
	w.promote(bob, second)
	end := w.now
	k := w.key(branch)
	wantList(t, "current", current(k), "two")
	old := k.Superseded[0].Item
	if old.Status != item.StatusSuperseded || old.ValidUntil != k.Current[0].Item.ValidFrom || old.ValidFrom != timeText(start) {
		t.Errorf("superseded %+v", old)
	}
	for _, c := range []struct {
		asOf time.Time
		want []string
	}{
		{start.Add(-time.Millisecond), []string{}},
		{start, []string{"one"}},
		{start.Add(-time.Millisecond + 999*time.Microsecond), []string{}}, // to the millisecond
		{end.Add(-time.Millisecond), []string{"one"}},
		{end, []string{"two"}},
		{time.Date(1969, 1, 1, 0, 0, 0, 0, time.UTC), []string{}},
		{time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), []string{"two"}},
		{time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC), []string{"two"}},
	} {
		wantList(t, "as of "+c.asOf.String(), current(w.keyAt(branch, c.asOf)), c.want...)
	}
}

func TestTwoCurrentValuesAreAContradictionUntilOneExpectsBoth(t *testing.T) {
	w := newWorld(t)
	one, two := w.propose("agent-1", "one"), w.propose("agent-2", "two")
	before := slices.Clone(w.records)
	a := w.promote(alice, one)
	after := w.records
	// Elsewhere, without having seen it.
	w.records = before
	b := w.promote(bob, two)
	w.records = append(w.records, after[len(after)-1])
	k := w.key(branch)
	wantList(t, "current", current(k), "one", "two")
	_, err := k.Value()
	wantCode(t, err, fault.StateContradiction)
	if err != nil && (!strings.Contains(err.Error(), a) || !strings.Contains(err.Error(), b)) {
		t.Errorf("%v does not name both", err)
	}

	three := w.propose("agent-3", "three")
	promote := func(expect ...string) error {
		w.tick()
		_, err := w.as(alice, item.OriginHuman).Promote(w.key(branch), Promote{Proposal: three, EvidenceRefs: []string{"x"}, Expect: expect})
		return err
	}
	wantCode(t, promote(), fault.StateContradiction)
	wantCode(t, promote(a), fault.StateConflict)
	wantCode(t, promote([]string{}...), fault.StateConflict) // none is expected
	w.promote(alice, three, "ctx_"+a, b)
	wantList(t, "current", current(w.key(branch)), "three")
}

func TestPromotionsOfOneProposalAreOneValue(t *testing.T) {
	w := newWorld(t)
	one := w.propose("agent-1", "one")
	before := slices.Clone(w.records)
	a := w.promote(alice, one)
	first := w.records[len(w.records)-1]
	w.records = before
	w.tick()
	b := w.add(w.as(bob, item.OriginHuman).Promote(w.key(branch), Promote{Proposal: one, EvidenceRefs: []string{"review:bob"}}))
	w.records = append(w.records, first)
	k := w.key(branch)
	v, err := k.Value()
	if err != nil || v == nil {
		t.Fatal(v, err)
	}
	if v.Item.ID != "ctx_"+a || v.Item.Provenance.Signer != alice+", "+bob {
		t.Errorf("item %+v", v.Item)
	}
	wantList(t, "evidence", v.Item.EvidenceRefs, "pr:12", "review:bob", "review:pr-12")
	wantList(t, "ids", v.IDs(), a, b)
	// One of its promotions stands for the value, and all are replaced.
	w.promote(alice, w.propose("agent-2", "two"), b)
	k = w.key(branch)
	wantList(t, "current", current(k), "two")
	if len(k.Superseded) != 1 || k.Superseded[0].Item.ID != "ctx_"+a {
		t.Errorf("superseded %+v", k.Superseded)
	}
}

func TestALostCredentialGivesBackWhatItReplacedUnlessALaterOneReplacedIt(t *testing.T) {
	w := newWorld(t)
	w.promote(alice, w.propose("agent-1", "one"))
	w.promote(bob, w.propose("agent-2", "two"))
	all := w.trust
	w.trust = trusting(t, line(t, alice, `namespaces="kxm-human"`, alice), "")
	k := w.key(branch)
	wantList(t, "current without bob", current(k), "one")
	if k.Current[0].Item.ValidUntil != "" || k.Current[0].Item.Status != item.StatusCurrent {
		t.Errorf("item %+v", k.Current[0].Item)
	}
	if gaps := k.Gaps(); len(gaps) != 1 || !strings.HasPrefix(gaps[0].Gap, "state_event_untrusted:") {
		t.Errorf("gaps %v", gaps)
	}
	if got := k.Proposals[1].Outcome; got != OutcomeOpen {
		t.Errorf("bob's proposal is %s", got)
	}
	// Alice replaces bob's value while he is trusted: it replaces what his replaced, too.
	w.trust = all
	w.promote(alice, w.propose("agent-3", "three"))
	w.trust = trusting(t, line(t, alice, `namespaces="kxm-human"`, alice), "")
	k = w.key(branch)
	wantList(t, "current without bob", current(k), "three")
	if old := k.Superseded[0].Item; old.Summary != "one" || old.ValidUntil != k.Current[0].Item.ValidFrom {
		t.Errorf("superseded %+v", old)
	}
}

func TestAnotherSignatureRenewsAPromotion(t *testing.T) {
	w := newWorld(t)
	m := w.promote(bob, w.propose("agent-1", "one"))
	w.trust = trusting(t, line(t, alice, `namespaces="kxm-human"`, alice), "")
	wantList(t, "current without bob", current(w.key(branch)))
	w.sign(m, alice, "kxm-human")
	wantList(t, "current with alice", current(w.key(branch)), "one")
	if got := w.key(branch).Current[0].Item.Provenance.Signer; got != alice {
		t.Errorf("signer %s", got)
	}
}

func TestTheAuthorCannotPromote(t *testing.T) {
	twoNames := line(t, alice+",al", `namespaces="kxm-human"`, alice) + line(t, "al,alter", `namespaces="kxm-human"`, bob) +
		line(t, ci, `namespaces="kxm-workflow,kxm-human"`, ci) + line(t, "ci2", `namespaces="kxm-peer"`, ci)
	for name, c := range map[string]struct {
		list    string
		actor   string // of the proposal
		signer  string // of the proposal
		space   string
		by      string // who promotes
		refused bool
	}{
		"another":                    {"", "agent", "", "", alice, false},
		"same name":                  {"", alice, "", "", alice, true},
		"same key":                   {"", "x", alice, "kxm-human", alice, true},
		"another key of one person":  {twoNames, "x", alice, "kxm-human", bob, true},
		"another name of one person": {twoNames, "al", "", "", alice, true},
		"a name through a third":     {twoNames, "alter", "", "", alice, true},
		"key in another namespace":   {twoNames, "x", ci, "kxm-peer", ci, true},
		// It grants the proposal nothing, but shows whose it is.
		"key in a namespace that is not allowed": {"", "x", alice, "kxm-workflow", alice, true},
		"key for another purpose":                {"", "x", alice, "git", alice, true},
		"countersigned by another":               {"", "x", bob, "kxm-human", alice, false},
		"stranger's signature":                   {"", "x", mallory, "kxm-human", alice, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if c.list != "" {
				w.trust = trusting(t, c.list, "")
			}
			p := w.propose(c.actor, "one")
			if c.signer != "" {
				w.sign(p, c.signer, c.space)
			}
			w.tick()
			_, err := w.as(c.by, item.OriginHuman).Promote(w.key(branch), Promote{Proposal: p, EvidenceRefs: []string{"r"}})
			proposal := w.find(p)
			forged := w.forge(Event{Key: branch, Body: &Promotion{Proposal: p, Digest: proposal.Digest, EvidenceRefs: []string{"r"}}}, "kxm-human", c.by)
			k := w.key(branch)
			if !c.refused {
				if err != nil || len(k.Current) != 1 {
					t.Errorf("refused: %v, %v", err, k.Findings)
				}
				return
			}
			wantCode(t, err, fault.StatePromotionInvalid)
			wantList(t, "current", current(k))
			wantList(t, "rules", ruleOf(k.Findings, forged), string(RuleAuthor))
			if c.list == "" { // where bob is another person, he can make it count
				w.sign(forged, bob, "kxm-human")
				wantList(t, "countersigned", current(w.key(branch)), "one")
			}
			// A project of one person allows it, and says so.
			w = &world{TB: t, trust: trusting(t, everyone(t)+c.list, "[state]\nselfPromotion = true\n"), now: w.now, records: w.records[:len(w.records)-1], nonces: 99}
			m := w.promote(c.by, p)
			v := w.key(branch).Current
			if len(v) != 1 || v[0].Item.ID != "ctx_"+m || !v[0].Item.Provenance.SelfPromoted {
				t.Errorf("selfPromotion: %+v", v)
			}
		})
	}
}

func TestWhatDoesNotCountIsLeftOutAndNamed(t *testing.T) {
	for name, c := range map[string]struct {
		rule  Rule
		forge func(w *world, p *Checked) string
	}{
		"promotion without a signature": {RuleUncredentialed, func(w *world, p *Checked) string {
			return w.forge(Event{Key: branch, Body: &Promotion{Proposal: p.ID, Digest: p.Digest, EvidenceRefs: []string{"r"}}}, "")
		}},
		"promotion by a peer": {RuleUncredentialed, func(w *world, p *Checked) string {
			return w.forge(Event{Key: branch, Body: &Promotion{Proposal: p.ID, Digest: p.Digest, EvidenceRefs: []string{"r"}}}, "kxm-peer", bot)
		}},
		"promotion by a stranger": {RuleUncredentialed, func(w *world, p *Checked) string {
			return w.forge(Event{Key: branch, Body: &Promotion{Proposal: p.ID, Digest: p.Digest, EvidenceRefs: []string{"r"}}}, "kxm-human", mallory)
		}},
		"promotion in a namespace that the line does not allow": {RuleUncredentialed, func(w *world, p *Checked) string {
			return w.forge(Event{Key: branch, Body: &Promotion{Proposal: p.ID, Digest: p.Digest, EvidenceRefs: []string{"r"}}}, "kxm-human", ci)
		}},
		"promotion with another digest": {RuleDigest, func(w *world, p *Checked) string {
			return w.forge(Event{Key: branch, Body: &Promotion{Proposal: p.ID, Digest: strings.Repeat("0", 64), EvidenceRefs: []string{"r"}}}, "kxm-human", alice)
		}},
		"promotion of nothing": {RuleLineage, func(w *world, p *Checked) string {
			return w.forge(Event{Key: branch, Body: &Promotion{Proposal: at(w.now.Add(-time.Hour)).String() + "-" + strings.Repeat("0", 32), Digest: p.Digest, EvidenceRefs: []string{"r"}}}, "kxm-human", alice)
		}},
		"promotion under another key": {RuleLineage, func(w *world, p *Checked) string {
			return w.forge(Event{Key: "other", Body: &Promotion{Proposal: p.ID, Digest: p.Digest, EvidenceRefs: []string{"r"}}}, "kxm-human", alice)
		}},
		"rejection without a signature": {RuleUncredentialed, func(w *world, p *Checked) string {
			return w.forge(Event{Key: branch, Body: &Ending{How: TypeReject, Proposal: p.ID, Digest: p.Digest, Why: "no"}}, "")
		}},
		"rejection with another digest": {RuleDigest, func(w *world, p *Checked) string {
			return w.forge(Event{Key: branch, Body: &Ending{How: TypeReject, Proposal: p.ID, Digest: strings.Repeat("0", 64), Why: "no"}}, "kxm-human", alice)
		}},
		"withdrawal by another": {RuleNotAuthor, func(w *world, p *Checked) string {
			return w.forge(Event{Key: branch, Actor: "agent-2", Body: &Ending{How: TypeWithdraw, Proposal: p.ID, Digest: p.Digest}}, "")
		}},
		"unsigned claim of policy": {RuleCeiling, func(w *world, p *Checked) string {
			return w.forge(Event{Key: branch, Body: &Proposal{Summary: "s", Authority: item.AuthorityPolicy, Confidence: item.ConfidenceVerified, EvidenceRefs: []string{"r"}}}, "")
		}},
		"peer's claim of instruction": {RuleCeiling, func(w *world, p *Checked) string {
			return w.forge(Event{Key: branch, Body: &Proposal{Summary: "s", Authority: item.AuthorityInstruction, Confidence: item.ConfidenceVerified, EvidenceRefs: []string{"r"}}}, "kxm-peer", bot)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			p := w.find(w.propose("agent-1", "one"))
			w.tick()
			id := c.forge(w, p)
			e := w.find(id)
			k := w.key(e.Key)
			wantList(t, "rules", ruleOf(k.Findings, id), string(c.rule))
			if gaps := k.Gaps(); len(gaps) != 1 || gaps[0].Gap != "state_event_untrusted:"+id {
				t.Errorf("gaps %v", gaps)
			}
			if len(k.Current) != 0 {
				t.Error("it made a value")
			}
			k = w.key(branch)
			if open := k.Open(); len(open) != 1 || open[0].Event.ID != p.ID {
				t.Errorf("open %v", open)
			}
			found := Verify(w.set(), w.trust)
			if !slices.Contains(ruleOf(found, id), string(c.rule)) {
				t.Errorf("verify found %v", found)
			}
		})
	}
}

func TestACountersignatureLiftsAClaim(t *testing.T) {
	w := newWorld(t)
	w.tick()
	p := w.forge(Event{Key: branch, Actor: "agent-1", Body: &Proposal{Summary: "s", Authority: item.AuthorityPolicy, Confidence: item.ConfidenceVerified, EvidenceRefs: []string{"r"}}}, "")
	w.tick()
	_, err := w.as(alice, item.OriginHuman).Promote(w.key(branch), Promote{Proposal: p, EvidenceRefs: []string{"r"}})
	wantCode(t, err, fault.StateProposalNotPromotable)
	w.sign(p, bob, "kxm-human")
	w.promote(alice, p)
	it := w.key(branch).Current[0].Item
	if it.Authority != item.AuthorityPolicy || it.Provenance.SourceType != item.OriginHuman || it.Provenance.Author != "agent-1, "+bob {
		t.Errorf("item %+v", it)
	}
	// Without bob it claims too much again, and its promotion has nothing to promote.
	w.trust = trusting(t, line(t, alice, `namespaces="kxm-human"`, alice), "")
	wantList(t, "current", current(w.key(branch)))
}

func TestRequireSignedLeavesOutWhatNobodySigned(t *testing.T) {
	w := newWorld(t)
	p := w.propose("agent-1", "one")
	w.promote(alice, p)
	w.trust = trusting(t, everyone(t), "[state]\nrequireSigned = true\n")
	k := w.key(branch)
	wantList(t, "current", current(k))
	wantList(t, "rules", ruleOf(k.Findings, p), string(RuleUnsigned))
	w.sign(p, bot, "kxm-peer")
	wantList(t, "current", current(w.key(branch)), "one")
}

func TestWithoutATrustPointNoSignatureCounts(t *testing.T) {
	w := newWorld(t)
	w.promote(alice, w.propose("agent-1", "one"))
	var err error
	w.trust, err = NewTrust(Point{Why: "there is a remote"}, []byte(everyone(t)), []byte("[state]\nselfPromotion = true\n"))
	if err != nil {
		t.Fatal(err)
	}
	k := w.key(branch)
	wantList(t, "current", current(k))
	if len(k.Open()) != 1 {
		t.Error("the proposal is not served")
	}
	if gaps := w.trust.Gaps(); len(gaps) != 1 || gaps[0].Gap != "state_trust_unresolved" {
		t.Errorf("gaps %v", gaps)
	}
	if w.trust.SelfPromotion {
		t.Error("a switch counts without a trust point")
	}
}

func TestHowProposalsEnd(t *testing.T) {
	w := newWorld(t)
	rejected, withdrawn, kept := w.propose("agent-1", "one"), w.propose("agent-2", "two"), w.propose("agent-3", "three")
	w.tick()
	w.add(w.as(ci, item.OriginWorkflow).Reject(w.key(branch), End{Proposal: rejected, Why: "no"}))
	w.add(w.as("agent-2", "").Withdraw(w.key(branch), End{Proposal: "proposal:" + withdrawn}))
	k := w.key(branch)
	for i, want := range []Outcome{OutcomeRejected, OutcomeWithdrawn, OutcomeOpen} {
		if got := k.Proposals[i].Outcome; got != want {
			t.Errorf("proposal %d is %s, want %s", i, got, want)
		}
		if got := k.Proposals[i].Item.Status; (got == item.StatusRejected) != (want != OutcomeOpen) {
			t.Errorf("its item is %s", got)
		}
	}
	if open := k.Open(); len(open) != 1 || open[0].Event.ID != kept {
		t.Errorf("open %v", open)
	}
	for _, id := range []string{rejected, withdrawn} {
		_, err := w.as(alice, item.OriginHuman).Promote(k, Promote{Proposal: id, EvidenceRefs: []string{"r"}})
		wantCode(t, err, fault.StateProposalNotPromotable)
		_, err = w.as(alice, item.OriginHuman).Reject(k, End{Proposal: id, Why: "again"})
		wantCode(t, err, fault.StateProposalNotPromotable)
	}
}

func TestAPromotionCountsBesideARejectionWrittenElsewhere(t *testing.T) {
	for _, first := range []string{"promote", "reject"} {
		w := newWorld(t)
		p := w.propose("agent-1", "one")
		before := slices.Clone(w.records)
		reject := func() {
			w.tick()
			w.add(w.as(bob, item.OriginHuman).Reject(w.key(branch), End{Proposal: p, Why: "no"}))
		}
		var one Record
		if first == "promote" {
			w.promote(alice, p)
			one, w.records = w.records[len(w.records)-1], before
			reject()
		} else {
			reject()
			one, w.records = w.records[len(w.records)-1], before
			w.promote(alice, p)
		}
		w.records = append(w.records, one)
		k := w.key(branch)
		wantList(t, "current, first "+first, current(k), "one")
		if got := k.Proposals[0]; got.Outcome != OutcomePromoted || len(got.EndedBy) != 2 {
			t.Errorf("proposal %+v", got)
		}
		if len(k.History()) != 3 {
			t.Error("the history does not show both")
		}
	}
}

func TestOnlyItsSignerWithdrawsASignedProposal(t *testing.T) {
	w := newWorld(t)
	w.tick()
	p := w.add(w.as(bot, item.OriginPeer).Propose(w.key(branch), Propose{Key: branch, Summary: "one", EvidenceRefs: []string{"r"}}))
	w.tick()
	_, err := w.as(bot, "").Withdraw(w.key(branch), End{Proposal: p})
	wantCode(t, err, fault.StateProposerMismatch)
	_, err = w.as(alice, item.OriginHuman).Withdraw(w.key(branch), End{Proposal: p})
	wantCode(t, err, fault.StateProposerMismatch)
	w.add(w.as(bot, item.OriginPeer).Withdraw(w.key(branch), End{Proposal: p, Why: "wrong"}))
	if got := w.key(branch).Proposals[0].Outcome; got != OutcomeWithdrawn {
		t.Errorf("it is %s", got)
	}
}

func TestItemsOfHostileEventsStayWithinTheirLimits(t *testing.T) {
	w := newWorld(t)
	w.tick()
	// Masks that are longer than what they hide, references that become one, and more
	// promotions than an item has room for.
	short := strings.Repeat("KXM_KEY=a1b2c3 ", 266)
	refs := []string{}
	for i := range MaxEvidenceRefs {
		refs = append(refs, fmt.Sprintf("%s %d", secret, i))
	}
	p := w.forge(Event{Key: branch, Actor: "token " + secret, Body: &Proposal{Summary: short, Authority: item.AuthorityEvidence, Confidence: item.ConfidenceVerified, EvidenceRefs: refs}}, "")
	digest := w.find(p).Digest
	for n := range 4 {
		w.tick()
		refs := []string{"ctx_" + p}
		for i := range MaxEvidenceRefs - 1 {
			refs = append(refs, fmt.Sprintf("r%d-%d", n, i))
		}
		w.forge(Event{Key: branch, Body: &Promotion{Proposal: p, Digest: digest, EvidenceRefs: refs}}, "kxm-human", alice)
	}
	k := w.key(branch)
	if len(k.Current) != 1 {
		t.Fatalf("%d values", len(k.Current))
	}
	for _, it := range k.Items() {
		if err := it.Check(); err != nil {
			t.Error(err)
		}
		if strings.Contains(string(it.AppendJSON(nil)), secret) {
			t.Error("a secret came out")
		}
	}
	if n := utf8.RuneCountInString(k.Current[0].Item.Summary); n != item.MaxSummary {
		t.Errorf("the masked summary has %d characters", n)
	}
	if n := len(k.Current[0].Item.EvidenceRefs); n != item.MaxList {
		t.Errorf("%d references", n)
	}
	gaps := k.Gaps()
	if len(gaps) == 0 || !strings.HasPrefix(gaps[0].Gap, "state_event_cut:") {
		t.Errorf("gaps %v", gaps)
	}
}

func TestAValueIsNotItsOwnEvidence(t *testing.T) {
	w := newWorld(t)
	p := w.propose("agent-1", "one")
	m := w.promote(alice, p)
	w.tick()
	w.forge(Event{Key: branch, Body: &Promotion{Proposal: p, Digest: w.find(p).Digest, EvidenceRefs: []string{"ctx_" + m, "r"}}}, "kxm-human", bob)
	it := w.key(branch).Current[0].Item
	wantList(t, "evidence", it.EvidenceRefs, "pr:12", "r", "review:pr-12")
	if err := it.Check(); err != nil {
		t.Error(err)
	}
}

func TestAKeyThatWasMadeToCollideIsFoldedByItself(t *testing.T) {
	w := newWorld(t)
	w.propose("agent-1", "one")
	w.tick()
	w.add(w.as("agent-1", "").Propose(&Key{}, Propose{Key: "other", Summary: "two", EvidenceRefs: []string{"r"}}))
	events := w.set().Events
	for name, want := range map[string]string{branch: "one", "other": "two"} {
		k := FoldKey(name, events, w.trust, time.Time{})
		if len(k.Events) != 1 || k.Proposals[0].Item.Summary != want {
			t.Errorf("%s: %+v", name, k)
		}
	}
	if all := FoldKeys(events, w.trust, time.Time{}); len(all) != 2 || all[0].Name != "other" {
		t.Errorf("keys %+v", all)
	}
}
