package state

import (
	"slices"
	"strings"

	"kxm/lib/item"
)

// value makes the item of promotions of one proposal, by id.
func (f *folder) value(group []*promotion) Value {
	first := group[0]
	body := first.proposal.Body.(*Proposal)
	v := Value{Proposal: first.proposal}
	refs := slices.Clone(body.EvidenceRefs)
	var signers []string
	selfPromoted := true
	var until HLC
	for _, p := range group {
		v.Promotions = append(v.Promotions, p.event)
		refs = append(refs, p.body.EvidenceRefs...)
		for _, c := range p.signers {
			signers = append(signers, c.Name)
		}
		selfPromoted = selfPromoted && p.selfMade
		until = max(until, p.replaced)
	}
	it := item.Item{
		ID:      prefixState + first.event.ID,
		Kind:    item.KindState,
		Project: f.Project,
		Summary: body.Summary,
		Provenance: item.Provenance{
			SourceType:   first.proposal.Origin,
			SourceRef:    proposalRef + first.proposal.ID,
			Author:       f.trust.author(first.proposal),
			Signer:       names(signers),
			SelfPromoted: selfPromoted,
		},
		Authority:    body.Authority,
		Confidence:   body.Confidence,
		ObservedAt:   first.event.At,
		ValidFrom:    timeText(first.event.Clock.Time()),
		Status:       item.StatusCurrent,
		StateKey:     f.Name,
		EvidenceRefs: refs,
	}
	if until != 0 {
		it.Status = item.StatusSuperseded
		it.ValidUntil = timeText(until.Time())
	}
	slices.Sort(it.EvidenceRefs)
	f.finish(&it, first.event)
	v.Item = it
	return v
}

// proposalItem makes the item of a proposal.
func (f *folder) proposalItem(p *Proposed) {
	body := p.Event.Body.(*Proposal)
	p.Item = item.Item{
		ID:      prefixState + p.Event.ID,
		Kind:    item.KindState,
		Project: f.Project,
		Summary: body.Summary,
		Provenance: item.Provenance{
			SourceType: p.Event.Origin,
			SourceRef:  proposalRef + p.Event.ID,
			Author:     f.trust.author(p.Event),
			Signer:     p.Event.signers(),
		},
		Authority:    body.Authority,
		Confidence:   body.Confidence,
		ObservedAt:   p.Event.At,
		Status:       item.StatusProposed,
		StateKey:     f.Name,
		EvidenceRefs: slices.Clone(body.EvidenceRefs),
	}
	if p.Outcome != OutcomeOpen {
		p.Item.Status = item.StatusRejected
	}
	f.finish(&p.Item, p.Event)
}

// finish brings an item within its limits and notes what was cut.
func (f *folder) finish(it *item.Item, e *Checked) {
	if what := fit(it); what != "" {
		f.Findings = append(f.Findings, newFinding(RuleCut, e.ID, e.Path, e.Key, what))
	}
}

// author returns who wrote an event, as an item says it: its actor, and everyone who
// signed it and is not known by that name.
func (t *Trust) author(e *Checked) string {
	who := []string{e.Actor}
	for _, c := range e.Credentials {
		if c.Origin != "" && t.Signers.PersonNamed(e.Actor) != t.Signers.PersonOf(c.Key) {
			who = append(who, c.Name)
		}
	}
	slices.Sort(who[1:])
	return list(who)
}

// signers returns the principals whose signatures on the event count.
func (c *Checked) signers() string {
	var who []string
	for _, c := range c.Credentials {
		if c.Origin != "" {
			who = append(who, c.Name)
		}
	}
	return names(who)
}

// names joins names, sorted.
func names(who []string) string {
	slices.Sort(who)
	return list(who)
}

// list joins names, each once, as many as fit a label.
func list(who []string) string {
	text := ""
	var seen []string
	for _, name := range who {
		if name == "" || slices.Contains(seen, name) {
			continue
		}
		seen = append(seen, name)
		longer := name
		if text != "" {
			longer = text + ", " + name
		}
		if clip(longer, item.MaxLabel) != longer {
			if text == "" {
				text = clip(name, item.MaxLabel)
			}
			break
		}
		text = longer
	}
	return text
}

// fit masks an item's secrets and then brings it within the limits of items: a mask
// may be longer than what it hides, and values that several promoted may have more
// references than an item holds. The limits were kept before masking, and a cut comes
// after it, so that no part of a secret is left. It returns what was cut, or "".
func fit(it *item.Item) (cut string) {
	text := func(s *string, limit int) {
		clean := masked(*s)
		if *s = clip(clean, limit); *s != clean {
			cut = "a text is longer than an item's once its secrets are masked"
		}
	}
	text(&it.Summary, item.MaxSummary)
	text(&it.StateKey, item.MaxStateKey)
	text(&it.Project, item.MaxProject)
	text(&it.RunID, item.MaxLabel)
	text(&it.StageID, item.MaxLabel)
	text(&it.Provenance.Author, item.MaxLabel)
	text(&it.Provenance.Signer, item.MaxLabel)
	refs := it.EvidenceRefs[:0]
	for _, r := range it.EvidenceRefs {
		text(&r, item.MaxEvidenceRef)
		r = strings.TrimSpace(r)
		// An item cannot be its own evidence.
		if r != it.ID && !slices.Contains(refs, r) {
			refs = append(refs, r)
		}
	}
	if len(refs) > item.MaxList {
		refs = refs[:item.MaxList]
		cut = "its value has more evidence references than an item holds"
	}
	it.EvidenceRefs = refs
	return cut
}
