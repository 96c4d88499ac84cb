package state

import (
	"cmp"
	"slices"
	"time"

	"kxm/lib/item"
)

// The journal categories that tell what happened in a run.
var episodic = []string{"error", "lesson", "observation", "experiment"}

// Noted is a journal entry or an episode, and what reviewers said of it.
type Noted struct {
	Item    item.Item
	Event   *Checked
	Verdict Verdict  // of the latest review that counts; "" without one
	Reviews []string // the reviews that count, by id
}

// Journal is what the events of the journal add up to.
type Journal struct {
	Records  []Noted // by id, so oldest first
	Findings []Finding
}

// Items returns the items, by their events' ids.
func (j *Journal) Items() []item.Item {
	items := make([]item.Item, len(j.Records))
	for i := range j.Records {
		items[i] = j.Records[i].Item
	}
	return items
}

// Gaps returns what a reader's stream says about the events that are left out.
func (j *Journal) Gaps() []item.Gap { return gapsOf(j.Findings) }

// Find returns the entry or episode of an event's id, or nil.
func (j *Journal) Find(id string) *Noted {
	i, ok := slices.BinarySearchFunc(j.Records, id, func(n Noted, id string) int { return cmp.Compare(n.Event.ID, id) })
	if !ok {
		return nil
	}
	return &j.Records[i]
}

// FoldJournal folds journal entries, reviews and episodes as they were at a time
// (zero: now). Events of other types are passed over.
func FoldJournal(events []Checked, t *Trust, asOf time.Time) Journal {
	var j Journal
	var reviews []*Checked
	limit := through(asOf)
	for i := range events {
		e := &events[i]
		switch {
		case !e.Type().journal() || e.Clock >= limit:
		case e.Problem != nil:
			j.Findings = append(j.Findings, *e.Problem)
		case e.Type() == TypeReview:
			reviews = append(reviews, e)
		default:
			j.Records = append(j.Records, Noted{Event: e})
		}
	}
	byID := func(a, b *Checked) int { return cmp.Compare(a.ID, b.ID) }
	slices.SortFunc(j.Records, func(a, b Noted) int { return byID(a.Event, b.Event) })
	slices.SortFunc(reviews, byID)
	for _, e := range reviews {
		body := e.Body.(*Review)
		n := j.Find(body.Entry)
		switch {
		case n == nil:
			j.Findings = append(j.Findings, missingEntry(e.ID, e.Path, body.Entry))
		case n.Event.Digest != body.Digest:
			j.Findings = append(j.Findings, otherEntry(e.ID, e.Path, body.Entry))
		default:
			n.Verdict = body.To
			n.Reviews = append(n.Reviews, e.ID)
		}
	}
	cuts := make([]string, len(j.Records))
	parallel(len(j.Records), func(i int) { cuts[i] = j.Records[i].makeItem(t) })
	for i, cut := range cuts {
		if e := j.Records[i].Event; cut != "" {
			j.Findings = append(j.Findings, newFinding(RuleCut, e.ID, e.Path, "", cut))
		}
	}
	j.Findings = sortFindings(j.Findings)
	return j
}

// missingEntry and otherEntry are why a review does not count: what it is about is not
// here, or is not what its digest says.
func missingEntry(id, path, entry string) Finding {
	return newFinding(RuleLineage, id, path, "", "the entry "+entry+" is not here, or does not count")
}

func otherEntry(id, path, entry string) Finding {
	return newFinding(RuleDigest, id, path, "", "its digest is not that of the entry "+entry)
}

// status returns the status that a verdict gives an entry.
func (v Verdict) status() item.Status {
	if v == VerdictApproved {
		return item.StatusCurrent
	}
	return item.StatusRejected
}

// makeItem makes the record's item and returns what was cut from it, or "".
func (n *Noted) makeItem(t *Trust) (cut string) {
	e := n.Event
	it := item.Item{
		Project: e.Project,
		Provenance: item.Provenance{
			SourceType: item.OriginPeer,
			Author:     t.author(e),
			Signer:     e.signers(),
		},
		Authority:  item.AuthorityEvidence,
		Confidence: item.ConfidenceProbable,
		ObservedAt: e.At,
	}
	if slices.ContainsFunc(e.Credentials, func(c Credential) bool { return c.Origin == item.OriginWorkflow }) {
		it.Provenance.SourceType = item.OriginWorkflow
	}
	switch body := e.Body.(type) {
	case *Entry:
		it.ID = prefixJournal + e.ID
		it.Kind, it.Status = kindOf(body.Category)
		it.JournalCategory = body.Category
		it.Summary = body.Summary
		it.EvidenceRefs = slices.Clone(body.Evidence)
		it.RunID, it.StageID = body.RunID, body.StageID
	case *Episode:
		it.ID = prefixEpisode + e.ID
		it.Kind = item.KindEpisode
		it.Summary = body.Summary
		it.RunID = body.RunID
		for _, id := range body.Entries {
			it.Provenance.DerivedFrom = append(it.Provenance.DerivedFrom, prefixJournal+id)
		}
	}
	if n.Verdict != "" {
		it.Status = n.Verdict.status()
	}
	cut = fit(&it)
	n.Item = it
	return cut
}

// kindOf returns what a category's entries are, and the status that they have without
// a review.
func kindOf(category string) (item.Kind, item.Status) {
	switch category {
	case "plan", "decision", "lesson":
		return item.KindKnowledge, ""
	case "skill-candidate":
		return item.KindSkill, item.StatusProposed
	}
	return item.KindEvidence, ""
}
