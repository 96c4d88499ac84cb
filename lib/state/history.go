package state

import (
	"slices"
	"strconv"
	"time"

	"kxm/lib/item"
)

// HistoryEntry is one event as the history of its key shows it. Texts are masked.
type HistoryEntry struct {
	ID       string
	Type     Type
	Key      string
	Time     string // of the event's clock
	At       string // of the writer's wall clock
	Skew     string // how far they lie apart; "" if no more than MaxSkew
	Actor    string
	Origin   item.Origin
	Verified bool // a signature counts
	Signers  []HistorySigner
	Counts   bool
	Problem  string // why it does not count
	// Status is what a proposal became, what a promotion's value is (current,
	// superseded), else "".
	Status       string
	EndedBy      []string
	Proposal     string // what it decides about, else ""
	Summary      string
	Authority    item.Authority
	Confidence   item.Confidence
	EvidenceRefs []string
	Expect       []string
	Why          string
	After        []string
	Head         string
}

// HistorySigner is a signature that holds.
type HistorySigner struct {
	Name   string // "" if it grants nothing
	Origin item.Origin
	Key    string // the fingerprint
}

// History returns every event of the key in order, with who made it, on what evidence,
// and whether it counts.
func (k *Key) History() []HistoryEntry {
	status := map[string]string{}
	for i := range k.Proposals {
		status[k.Proposals[i].Event.ID] = string(k.Proposals[i].Outcome)
	}
	for _, values := range [][]Value{k.Superseded, k.Current} {
		for i := range values {
			for _, id := range values[i].IDs() {
				status[id] = string(values[i].Item.Status)
			}
		}
	}
	ended := map[string][]string{}
	for i := range k.Proposals {
		ended[k.Proposals[i].Event.ID] = k.Proposals[i].EndedBy
	}
	problems := map[string]string{}
	for _, f := range k.Findings {
		if f.LeftOut() {
			problems[f.ID] = f.Message
		}
	}
	entries := make([]HistoryEntry, len(k.Events))
	for i, e := range k.Events {
		h := HistoryEntry{
			ID: e.ID, Type: e.Type(), Key: masked(e.Key), Time: timeText(e.Clock.Time()), At: e.At,
			Actor: masked(e.Actor), Origin: e.Origin, Verified: e.Verified(), Signers: []HistorySigner{},
			Status: status[e.ID], EndedBy: ended[e.ID], After: e.After, Head: e.Head,
		}
		if skew := e.Skew(); skew != 0 {
			h.Skew = skew.String()
		}
		h.Problem = problems[e.ID]
		h.Counts = h.Problem == ""
		for _, c := range e.Credentials {
			h.Signers = append(h.Signers, HistorySigner{Name: c.Name, Origin: c.Origin, Key: c.Key.Fingerprint()})
		}
		switch body := e.Body.(type) {
		case *Proposal:
			h.Summary, h.Authority, h.Confidence = masked(body.Summary), body.Authority, body.Confidence
			h.EvidenceRefs = maskedAll(body.EvidenceRefs)
		case *Promotion:
			h.Proposal, h.Expect = body.Proposal, body.Expect
			h.EvidenceRefs = maskedAll(body.EvidenceRefs)
		case *Ending:
			h.Proposal, h.Why = body.Proposal, masked(body.Why)
		}
		entries[i] = h
	}
	return entries
}

func maskedAll(list []string) []string {
	clean := make([]string, len(list))
	for i, s := range list {
		clean[i] = masked(s)
	}
	return clean
}

// AppendJSON appends the entry as one compact JSON object.
func (h *HistoryEntry) AppendJSON(dst []byte) []byte {
	o := object{dst: append(dst, '{')}
	boolean := func(name string, v bool) {
		o.name(name)
		o.dst = strconv.AppendBool(o.dst, v)
	}
	o.text("schema", HistorySchema)
	o.text("id", h.ID)
	o.text("type", string(h.Type))
	o.text("key", h.Key)
	o.text("time", h.Time)
	o.text("at", h.At)
	o.optional("skew", h.Skew)
	o.text("actor", h.Actor)
	o.text("origin", string(h.Origin))
	boolean("verified", h.Verified)
	o.name("signers")
	o.dst = append(o.dst, '[')
	for i, s := range h.Signers {
		if i > 0 {
			o.dst = append(o.dst, ',')
		}
		signer := object{dst: append(o.dst, '{')}
		signer.optional("name", s.Name)
		signer.optional("origin", string(s.Origin))
		signer.text("key", s.Key)
		o.dst = append(signer.dst, '}')
	}
	o.dst = append(o.dst, ']')
	boolean("counts", h.Counts)
	o.optional("problem", h.Problem)
	o.optional("status", h.Status)
	if len(h.EndedBy) > 0 {
		o.list("endedBy", h.EndedBy)
	}
	o.optional("proposal", h.Proposal)
	o.optional("summary", h.Summary)
	o.optional("authority", string(h.Authority))
	o.optional("confidence", string(h.Confidence))
	if h.EvidenceRefs != nil {
		o.list("evidenceRefs", h.EvidenceRefs)
	}
	if h.Type == TypePromote {
		o.list("expect", h.Expect)
	}
	o.optional("why", h.Why)
	o.list("after", h.After)
	o.optional("head", h.Head)
	return append(o.dst, '}')
}

// MarshalJSON returns what AppendJSON appends.
func (h HistoryEntry) MarshalJSON() ([]byte, error) { return h.AppendJSON(nil), nil }

// Verify returns everything there is to say about all events of a store: what Check
// and the folds found, and ids that are named and are not here. The findings are in
// one order, each once.
func Verify(s Set, t *Trust) []Finding {
	findings := slices.Clone(s.Findings)
	here := make(map[string]bool, len(s.Events))
	for i := range s.Events {
		here[s.Events[i].ID] = true
	}
	for i := range s.Events {
		e := &s.Events[i]
		var names []string
		switch body := e.Body.(type) {
		case *Promotion:
			names = body.Expect // a missing proposal is the fold's finding
		case *Episode:
			names = body.Entries
		}
		for _, id := range append(slices.Clip(names), e.After...) {
			if !here[id] {
				findings = append(findings, newFinding(RuleNamed, e.ID, e.Path, e.Key, "it names "+id+", which is not here"))
			}
		}
	}
	for _, k := range FoldKeys(s.Events, t, time.Time{}) {
		findings = append(findings, k.Findings...)
	}
	journal := FoldJournal(s.Events, t, time.Time{})
	return sortFindings(append(findings, journal.Findings...))
}
