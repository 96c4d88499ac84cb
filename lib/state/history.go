package state

import (
	"slices"
	"time"

	"kxm/lib/item"
	"kxm/lib/ndjson"
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
	o := ndjson.NewObject(dst)
	o.Text("schema", HistorySchema)
	o.Text("id", h.ID)
	o.Text("type", string(h.Type))
	o.Text("key", h.Key)
	o.Text("time", h.Time)
	o.Text("at", h.At)
	o.Optional("skew", h.Skew)
	o.Text("actor", h.Actor)
	o.Text("origin", string(h.Origin))
	o.Flag("verified", h.Verified)
	o.Name("signers")
	o.Bytes = append(o.Bytes, '[')
	for i, s := range h.Signers {
		if i > 0 {
			o.Bytes = append(o.Bytes, ',')
		}
		signer := ndjson.NewObject(o.Bytes)
		signer.Optional("name", s.Name)
		signer.Optional("origin", string(s.Origin))
		signer.Text("key", s.Key)
		o.Bytes = signer.End()
	}
	o.Bytes = append(o.Bytes, ']')
	o.Flag("counts", h.Counts)
	o.Optional("problem", h.Problem)
	o.Optional("status", h.Status)
	if len(h.EndedBy) > 0 {
		o.List("endedBy", h.EndedBy)
	}
	o.Optional("proposal", h.Proposal)
	o.Optional("summary", h.Summary)
	o.Optional("authority", string(h.Authority))
	o.Optional("confidence", string(h.Confidence))
	if h.EvidenceRefs != nil {
		o.List("evidenceRefs", h.EvidenceRefs)
	}
	if h.Type == TypePromote {
		o.List("expect", h.Expect)
	}
	o.Optional("why", h.Why)
	o.List("after", h.After)
	o.Optional("head", h.Head)
	return o.End()
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
