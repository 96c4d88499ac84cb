package state

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"kxm/lib/fault"
	"kxm/lib/item"
)

// note stores a journal entry.
func (w *world) note(actor string, origin item.Origin, e Entry) string {
	w.Helper()
	w.tick()
	return w.add(w.as(actor, origin).Note(e))
}

func (w *world) review(who, id string, to Verdict) string {
	w.Helper()
	w.tick()
	return w.add(w.as(who, item.OriginHuman).Review(w.find(id), w.set().Events, Review{Entry: id, To: to, Why: "seen", EvidenceRefs: []string{"r"}}))
}

func TestEntriesBecomeItemsByCategory(t *testing.T) {
	for category, want := range map[string]struct {
		kind   item.Kind
		status item.Status
	}{
		"plan": {item.KindKnowledge, ""}, "decision": {item.KindKnowledge, ""}, "lesson": {item.KindKnowledge, ""},
		"skill-candidate": {item.KindSkill, item.StatusProposed},
		"contradiction":   {item.KindEvidence, ""}, "error": {item.KindEvidence, ""}, "observation": {item.KindEvidence, ""},
		"hypothesis": {item.KindEvidence, ""}, "experiment": {item.KindEvidence, ""}, "state-change": {item.KindEvidence, ""},
	} {
		w := newWorld(t)
		id := w.note("agent-1", "", Entry{Category: category, Summary: "s\n\tt", Severity: "high", Area: "ci", RunID: "run-1", StageID: "test", Evidence: []string{"log:1", "log:1"}})
		it := w.journal().Records[0].Item
		want := item.Item{ID: "journal_" + id, Kind: want.kind, Project: project, Summary: "s\n\tt", Authority: item.AuthorityEvidence, Confidence: item.ConfidenceProbable,
			Provenance: item.Provenance{SourceType: item.OriginPeer, Author: "agent-1"}, ObservedAt: timeText(w.now), Status: want.status,
			EvidenceRefs: []string{"log:1"}, JournalCategory: category, RunID: "run-1", StageID: "test"}
		if !item.Equal(&it, &want) {
			t.Errorf("%s: %+v, want %+v", category, it, want)
		}
		if err := it.Check(); err != nil {
			t.Error(err)
		}
	}
}

func TestAnEntrysOriginIsWorkflowOnlyWhenOneSignedIt(t *testing.T) {
	for who, want := range map[string]struct {
		as     item.Origin
		origin item.Origin
		signer string
	}{"agent-1": {"", item.OriginPeer, ""}, bot: {item.OriginPeer, item.OriginPeer, bot}, alice: {item.OriginHuman, item.OriginPeer, alice}, ci: {item.OriginWorkflow, item.OriginWorkflow, ci}} {
		w := newWorld(t)
		w.note(who, want.as, Entry{Category: "plan", Summary: "s"})
		if p := w.journal().Records[0].Item.Provenance; p.SourceType != want.origin || p.Signer != want.signer || p.Author != who {
			t.Errorf("%s: %+v", who, p)
		}
	}
}

func TestTheLatestValidReviewCounts(t *testing.T) {
	w := newWorld(t)
	id := w.note("agent-1", "", Entry{Category: "lesson", Summary: "s"})
	status := func() item.Status { return w.journal().Records[0].Item.Status }
	w.review(alice, id, VerdictApproved)
	if status() != item.StatusCurrent {
		t.Errorf("approved: %s", status())
	}
	approved := w.now
	w.review(bob, id, VerdictQuarantined)
	if n := w.journal().Records[0]; n.Item.Status != item.StatusRejected || n.Verdict != VerdictQuarantined || len(n.Reviews) != 2 {
		t.Errorf("quarantined: %+v", n)
	}
	// A stranger's, one with another digest, and one of nothing.
	entry := w.find(id)
	w.tick()
	bad := map[string]Rule{
		w.forge(Event{Body: &Review{Entry: id, Digest: entry.Digest, To: VerdictApproved, Why: "x"}}, ""):                                                                           RuleUncredentialed,
		w.forge(Event{Body: &Review{Entry: id, Digest: entry.Digest, To: VerdictApproved, Why: "x"}}, "kxm-peer", bot):                                                              RuleUncredentialed,
		w.forge(Event{Body: &Review{Entry: id, Digest: strings.Repeat("0", 64), To: VerdictApproved, Why: "x"}}, "kxm-human", alice):                                                RuleDigest,
		w.forge(Event{Body: &Review{Entry: idAt(entry.Clock), Digest: entry.Digest, To: VerdictApproved, Why: "x"}}, "kxm-workflow", ci):                                            RuleLineage,
		w.forge(Event{Body: &Review{Entry: w.propose("agent-1", "x"), Digest: entry.Digest, To: VerdictApproved, Why: "x"}, Clock: at(w.now.Add(time.Second))}, "kxm-human", alice): RuleLineage,
	}
	j := w.journal()
	for id, rule := range bad {
		wantList(t, "rules", ruleOf(j.Findings, id), string(rule))
	}
	if len(j.Gaps()) != len(bad) {
		t.Errorf("gaps %v", j.Gaps())
	}
	if status() != item.StatusRejected {
		t.Error("a review that does not count changed the status")
	}
	// As of a time, and without a signer.
	then := FoldJournal(w.set().Events, w.trust, approved)
	if got := then.Records[0].Item.Status; got != item.StatusCurrent {
		t.Errorf("as of the approval: %s", got)
	}
	w.trust = trusting(t, line(t, alice, `namespaces="kxm-human"`, alice), "")
	if status() != item.StatusCurrent {
		t.Error("a review counts without its signer")
	}
	w.trust = trusting(t, "", "")
	if status() != "" {
		t.Error("a review counts without any signer")
	}
}

func TestALaterReviewCountsWhateverItsWritersClockSays(t *testing.T) {
	w := newWorld(t)
	id := w.note("agent-1", "", Entry{Category: "lesson", Summary: "s"})
	w.tick()
	w.review(alice, id, VerdictApproved)
	w.now = w.now.Add(-time.Hour)
	w.review(bob, id, VerdictQuarantined)
	if n := w.journal().Records[0]; n.Verdict != VerdictQuarantined {
		t.Errorf("by a clock that is behind: %s", n.Verdict)
	}
	// Many in one millisecond, of which the last is the last.
	b := w.batch("operator")
	stream := ""
	for i := range 9 {
		stream += `{"type":"journal-review","entry":"` + id + `","to":"` + []string{"rejected", "approved"}[i%2] + `","why":"x"}` + "\n"
	}
	if err := run(t, b, stream+`{"type":"journal-review","entry":"`+id+`","to":"approved","why":"x"}`); err != nil {
		t.Fatal(err)
	}
	for _, d := range b.Drafts {
		w.add(d, nil)
	}
	if n := w.journal().Records[0]; n.Verdict != VerdictApproved || len(n.Reviews) != 12 {
		t.Errorf("in one batch: %s of %d", n.Verdict, len(n.Reviews))
	}
	// One that nobody signed drags nothing.
	w.forge(Event{Body: &Review{Entry: id, Digest: w.find(id).Digest, To: VerdictApproved, Why: "x"}, Clock: at(w.now.Add(1000 * time.Hour))}, "")
	last := w.find(w.review(alice, id, VerdictRejected))
	if last.Clock.Time().Sub(w.now) > 2*time.Hour {
		t.Errorf("dragged to %s", last.Clock.Time())
	}
}

func TestEpisodesOfRuns(t *testing.T) {
	w := newWorld(t)
	for i, category := range []string{"error", "plan", "lesson", "observation", "decision", "experiment"} {
		w.note("agent-1", "", Entry{Category: category, Summary: category, RunID: []string{"run-1", "run-2"}[i%2]})
	}
	w.note("agent-1", "", Entry{Category: "error", Summary: "of no run"})
	first := w.journal().Records[0].Event
	w.tick()
	id := w.add(w.as("agent-1", "").Episode([]*Checked{first, first}, Episode{RunID: "run-1", Summary: "all of it", Entries: []string{first.ID, first.ID}, Outcome: "done"}))
	rejected := w.note("agent-1", "", Entry{Category: "error", Summary: "a lie", RunID: "run-1"})
	w.review(alice, rejected, VerdictRejected)
	j := w.journal()
	l := w.listing(time.Time{}, true)
	summaries := func(rows []Row) []string {
		all := []string{}
		for _, r := range rows {
			it, err := item.Parse([]byte(r.JSON))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, it.Summary)
		}
		return all
	}
	wantList(t, "all", summaries(l.Episodes("", 50)), "error", "lesson", "observation", "experiment", "all of it")
	wantList(t, "run-1", summaries(l.Episodes("run-1", 50)), "error", "lesson", "all of it")
	wantList(t, "newest two", summaries(l.Episodes("", 2)), "experiment", "all of it")
	wantList(t, "none", summaries(l.Episodes("run-3", 50)))
	it := j.Find(id).Item
	if it.ID != "episode_"+id || it.Kind != item.KindEpisode || it.RunID != "run-1" || it.Status != "" || it.Authority != item.AuthorityEvidence {
		t.Errorf("episode %+v", it)
	}
	wantList(t, "lineage", it.Provenance.DerivedFrom, "journal_"+first.ID)
	if err := it.Check(); err != nil {
		t.Error(err)
	}
	w.review(alice, id, VerdictApproved)
	if got := w.journal().Find(id).Item.Status; got != item.StatusCurrent {
		t.Errorf("a reviewed episode is %s", got)
	}
}

func TestRecordsThatCannotBeReadAreGapsAndTheOthersAreServed(t *testing.T) {
	w := newWorld(t)
	w.note("agent-1", "", Entry{Category: "plan", Summary: "good"})
	w.records = append(w.records,
		Record{ID: id1, Path: "j/2025/0901/" + id1 + ".json", Err: errors.New("the object is missing")},
		Record{ID: id2, Path: "j/2025/0901/" + id2 + ".json", Err: fault.New(fault.InvalidStateEvent, "the path does not fit")},
		Record{ID: idAt(5), Path: "j/x", Event: []byte("{}\n")},
		Record{ID: "", Path: strings.Repeat("long ", 300) + "\x1b", Err: fault.New(fault.InvalidStateEvent, "no path of ours")})
	w.records[0].Signatures = []SignatureFile{{Name: "x", Data: []byte("no signature")}, {Name: "y", Err: errors.New("too large")}}
	s := w.set()
	if len(s.Events) != 1 || s.Events[0].Problem != nil {
		t.Errorf("events %+v", s.Events)
	}
	rules := []string{}
	for _, f := range s.Findings {
		rules = append(rules, string(f.Rule))
	}
	wantList(t, "rules", rules, "event-misplaced", "event-malformed", "event-unreadable", "event-misplaced", "signature-worthless", "signature-worthless")
	gaps := s.Gaps()
	if len(gaps) != 4 {
		t.Errorf("gaps %v", gaps)
	}
	for _, g := range gaps {
		if strings.Contains(g.Gap, "\x1b") || len([]rune(g.Gap)) > item.MaxLabel || !strings.HasPrefix(g.Gap, "state_event_untrusted:") {
			t.Errorf("gap %q", g.Gap)
		}
	}
}

func TestManyEventsAreCheckedOnAllCoresInOrder(t *testing.T) {
	w := newWorld(t)
	for i := range 200 {
		w.note("agent-1", "", Entry{Category: "plan", Summary: fmt.Sprint(i)})
	}
	for i, n := range w.journal().Records {
		if n.Item.Summary != fmt.Sprint(i) {
			t.Fatalf("record %d is %s", i, n.Item.Summary)
		}
	}
}

func TestWhatVerifySays(t *testing.T) {
	w := newWorld(t)
	m := w.promote(bob, w.propose("agent-1", "one"))
	w.tick()
	posing := w.forge(Event{Key: branch, Actor: alice, After: []string{idAt(1)}, Body: &Proposal{Summary: "x", Authority: "evidence", Confidence: "probable", EvidenceRefs: []string{"r"}}}, "")
	skewed := w.forge(Event{Key: branch, Clock: at(w.now.Add(time.Hour)), Body: &Proposal{Summary: "x", Authority: "evidence", Confidence: "probable", EvidenceRefs: []string{"r"}}}, "")
	w.sign(m, mallory, "kxm-human")
	w.sign(m, alice, "git")
	got := map[string][]string{}
	for _, f := range Verify(w.set(), w.trust) {
		got[f.ID] = append(got[f.ID], string(f.Rule))
		if f.Severity != SeverityWarning || f.Fix == "" {
			t.Errorf("finding %+v", f)
		}
	}
	wantList(t, "posing", got[posing], "actor-unproven", "named-event-missing")
	wantList(t, "skewed", got[skewed], "clock-skew")
	wantList(t, "signed twice", got[m], "signature-worthless", "signature-worthless")
	if len(got) != 3 {
		t.Errorf("findings %v", got)
	}
}

func TestEveryRuleHasASeverityAndAFix(t *testing.T) {
	for rule, r := range rules {
		if r.severity == "" || r.fix == "" || r.leftOut != (r.severity == SeverityError) {
			t.Errorf("%s: %+v", rule, r)
		}
	}
}

func TestContradictionsNameTheirSides(t *testing.T) {
	w := newWorld(t)
	one, two := w.propose("agent-1", "one"), w.propose("agent-2", "two")
	contradictions := func() []Contradiction { return w.listing(time.Time{}, false).Contradictions() }
	if c := contradictions(); len(c) != 1 || c[0].Status != item.StatusProposed || len(c[0].Sides) != 2 {
		t.Errorf("two proposals: %+v", c)
	}
	w.promote(alice, one)
	if c := contradictions(); len(c) != 0 {
		t.Errorf("one current and one proposed: %+v", c)
	}
	w.forge(Event{Key: branch, Body: &Promotion{Proposal: two, Digest: w.find(two).Digest, EvidenceRefs: []string{"r"}}}, "kxm-human", bob)
	c := contradictions()
	if len(c) != 1 || c[0].Status != item.StatusCurrent || len(c[0].Sides) != 2 {
		t.Errorf("two current: %+v", c)
	}
	if got := string(c[0].AppendJSON(nil)); !strings.HasPrefix(got, `{"schema":"kxm.state-contradiction.v1","key":"release.branch","status":"current","items":[{"schema":`) {
		t.Error(got)
	}
}
