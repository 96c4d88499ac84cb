package state

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"kxm/lib/fault"
	"kxm/lib/item"
)

func TestASignatureProvesOnlyWhatItSigned(t *testing.T) {
	w := newWorld(t)
	one, two := w.propose("agent-1", "one"), w.propose("agent-2", "two")
	first, second := &w.records[0], &w.records[1]
	// Alice's signature of one proposal, laid beside another.
	second.Signatures = []SignatureFile{signed(t, alice, "kxm-human", first.Event)}
	// Hers for another purpose, and in a namespace of ours that nobody reads.
	first.Signatures = []SignatureFile{signed(t, alice, "git", first.Event), signed(t, alice, "kxm-other", first.Event)}
	w.trust = trusting(t, line(t, alice, `namespaces="*"`, alice)+line(t, bob, `namespaces="kxm-human"`, bob), "")
	for id, holds := range map[string]int{one: 1, two: 0} {
		e := w.find(id)
		if e.Verified() || e.Origin != item.OriginPeer || e.Signer() != "" || len(e.Credentials) != holds {
			t.Errorf("event %+v", e)
		}
	}
	if got := len(w.set().Findings); got != 3 {
		t.Errorf("%d findings", got)
	}
	// What holds shows whose it is, even where it grants nothing.
	w.tick()
	_, err := w.as(alice, item.OriginHuman).Promote(w.key(branch), Promote{Proposal: one, EvidenceRefs: []string{"r"}})
	wantCode(t, err, fault.StatePromotionInvalid)
	w.promote(alice, two)
}

func TestTheStrongestOfSeveralSignaturesCounts(t *testing.T) {
	w := newWorld(t)
	w.trust = trusting(t, line(t, alice, `namespaces="kxm-peer,kxm-human,kxm-workflow"`, alice)+line(t, ci, `namespaces="kxm-workflow"`, ci), "")
	id := w.propose("agent-1", "one")
	r := &w.records[0]
	for _, c := range []struct {
		who, namespace string
		origin         item.Origin
		signer         string
		proofs         int
	}{
		{alice, "kxm-peer", item.OriginPeer, alice, 1},
		{ci, "kxm-workflow", item.OriginWorkflow, ci, 2},
		{alice, "kxm-workflow", item.OriginWorkflow, alice, 3},
		{alice, "kxm-human", item.OriginHuman, alice, 4},
		{mallory, "kxm-human", item.OriginHuman, alice, 4},
	} {
		w.sign(id, c.who, c.namespace)
		e := w.find(id)
		if e.Origin != c.origin || e.Signer() != c.signer || len(e.Credentials) != c.proofs {
			t.Errorf("with %s in %s: %s by %s, %d", c.who, c.namespace, e.Origin, e.Signer(), len(e.Credentials))
		}
	}
	// The same signature wrapped in another way is not another one.
	last := r.Signatures[3].Data
	lines := bytes.SplitN(last, []byte("\n"), 3)
	wrapped := bytes.Join([][]byte{lines[0], lines[1][:10], lines[1][10:], lines[2]}, []byte("\n"))
	r.Signatures = append(r.Signatures, SignatureFile{Data: wrapped})
	if e := w.find(id); len(e.Credentials) != 4 || len(w.set().Findings) != 1 {
		t.Errorf("wrapped: %d credentials, %v", len(e.Credentials), w.set().Findings)
	}
}

func TestTimesOfALineAreHeldAgainstTheEventsTime(t *testing.T) {
	w := newWorld(t)
	m := w.promote(alice, w.propose("agent-1", "one")) // at 12:02
	for options, counts := range map[string]bool{
		`namespaces="kxm-human",valid-before="202609011202Z"`:   true,
		`namespaces="kxm-human",valid-before="20260901120159Z"`: false,
		`namespaces="kxm-human",valid-after="202609011202Z"`:    true,
		`namespaces="kxm-human",valid-after="20260901120201Z"`:  false,
		`namespaces="kxm-human",valid-before="20300101"`:        false, // without Z
		`namespaces="kxm-peer"`:                                 false,
		`namespaces="kxm-*,!kxm-peer"`:                          true,
		`cert-authority,namespaces="kxm-human"`:                 false,
		`namespaces="kxm-human",who-knows="x"`:                  false,
		``:                                                      false,
	} {
		w.trust = trusting(t, "# a list\n"+line(t, alice, options, alice)+line(t, bob, `namespaces="kxm-human"`, bob), "")
		k := w.key(branch)
		if got := len(k.Current) == 1; got != counts {
			t.Errorf("%s: %t", options, got)
		}
		if !counts {
			wantList(t, options, ruleOf(k.Findings, m), string(RuleUncredentialed))
		}
	}
}

func TestAuthorsAreNeverLost(t *testing.T) {
	w := newWorld(t)
	w.trust = trusting(t, line(t, alice+",al", `namespaces="kxm-human"`, alice)+line(t, bob, `namespaces="kxm-human"`, bob)+line(t, strings.Repeat("x", 300), `namespaces="kxm-human"`, ci), "")
	for actor, c := range map[string]struct {
		signers []string
		want    string
	}{
		"agent-1":                {nil, "agent-1"},
		"agent-2":                {[]string{bob, alice}, "agent-2, " + alice + ", " + bob},
		alice:                    {[]string{alice}, alice},
		"al":                     {[]string{alice}, "al"},
		bob:                      {[]string{alice}, bob + ", " + alice},
		strings.Repeat("é", 512): {[]string{alice}, strings.Repeat("é", 512)},
		strings.Repeat("é", 300): {[]string{ci}, strings.Repeat("é", 300)},
	} {
		w.records = nil
		id := w.propose(actor, "one")
		for _, s := range c.signers {
			w.sign(id, s, "kxm-human")
		}
		it := w.key(branch).Proposals[0].Item
		if it.Provenance.Author != c.want {
			t.Errorf("%s: %s", actor, it.Provenance.Author)
		}
		if err := it.Check(); err != nil {
			t.Error(err)
		}
	}
}

func TestNoncesDiffer(t *testing.T) {
	w := newWorld(t)
	writer := w.as("agent-1", "")
	writer.Nonce = nil
	note := func() string {
		d, err := writer.Note(Entry{Category: "plan", Summary: "s"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Parse(d.Bytes); err != nil {
			t.Fatal(err)
		}
		return d.ID
	}
	if note() == note() {
		t.Error("two equal notes are one event")
	}
}

func TestHistoryShowsEveryEventAndWhatCameOfIt(t *testing.T) {
	w := newWorld(t)
	p := w.propose("agent-1", "one")
	m := w.promote(alice, p)
	w.tick()
	forged := w.forge(Event{Key: branch, Clock: at(w.now.Add(2 * time.Minute)), Body: &Ending{How: TypeReject, Proposal: p, Digest: w.find(p).Digest, Why: "it held " + secret}}, "")
	key := keyOf(t, alice).Key().Fingerprint()
	want := []string{
		`{"schema":"kxm.state-history.v1","id":"` + p + `","type":"propose","key":"release.branch","time":"2026-09-01T12:01:00.000Z","at":"2026-09-01T12:01:00.000Z","actor":"agent-1","origin":"peer","verified":false,"signers":[],"counts":true,"status":"promoted","endedBy":["` + m + `"],"summary":"one","authority":"evidence","confidence":"probable","evidenceRefs":["pr:12"],"after":[],"head":"` + strings.Repeat("a", 40) + `"}`,
		`{"schema":"kxm.state-history.v1","id":"` + m + `","type":"promote","key":"release.branch","time":"2026-09-01T12:02:00.000Z","at":"2026-09-01T12:02:00.000Z","actor":"` + alice + `","origin":"human","verified":true,"signers":[{"name":"` + alice + `","origin":"human","key":"` + key + `"}],"counts":true,"status":"current","proposal":"` + p + `","evidenceRefs":["review:pr-12"],"expect":[],"after":["` + p + `"],"head":"` + strings.Repeat("a", 40) + `"}`,
		`{"schema":"kxm.state-history.v1","id":"` + forged + `","type":"reject","key":"release.branch","time":"2026-09-01T12:05:00.000Z","at":"2026-09-01T12:03:00.000Z","skew":"2m0s","actor":"forger","origin":"peer","verified":false,"signers":[],"counts":false,"problem":"a reject counts only with a human or workflow signature","proposal":"` + p + `","why":"it held [redacted:github-pat]","after":[]}`,
	}
	got := []string{}
	for _, h := range w.key(branch).History() {
		got = append(got, string(h.AppendJSON(nil)))
	}
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			t.Errorf("line %d\n got %s\nwant %s", i, got[i], want[i])
		}
	}
}
