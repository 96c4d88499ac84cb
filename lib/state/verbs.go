package state

import (
	"cmp"
	"slices"
	"strings"

	"kxm/lib/fault"
	"kxm/lib/item"
)

// Propose is a request for a proposal.
type Propose struct {
	Key          string
	Summary      string
	Authority    item.Authority  // "": evidence
	Confidence   item.Confidence // "": probable
	EvidenceRefs []string
	ProposedBy   string // must be the caller; "" asks nothing
}

// Propose makes a proposal for a key, of which k is the fold. It refuses a claim above
// the ceiling of its origin (ContextAuthorityViolation) and a proposer who is not the
// caller (StateProposerMismatch).
func (w *Writer) Propose(k *Key, r Propose) (*Draft, error) {
	d := w.begin(TypePropose)
	key := d.label("key", NormalKey(r.Key), MaxKey)
	body := &Proposal{
		Summary:      d.prose("summary", r.Summary),
		Authority:    cmp.Or(r.Authority, item.AuthorityEvidence),
		Confidence:   cmp.Or(r.Confidence, item.ConfidenceProbable),
		EvidenceRefs: d.refs("evidence", r.EvidenceRefs, 1, MaxEvidenceRefs, MaxEvidenceRef),
	}
	if by := strings.TrimSpace(r.ProposedBy); by != "" && !d.callerIs(by) {
		d.refuse(fault.New(fault.StateProposerMismatch, "the proposal is said to be by %s, who is not the caller", fault.Quote(masked(by))).On("proposedBy"))
	}
	if !body.Authority.Valid() {
		d.fail("authority", "is none of policy, instruction, evidence and hypothesis")
	}
	if !body.Confidence.Valid() {
		d.fail("confidence", "is none of verified, probable and uncertain")
	}
	if origin := d.origin(); body.Authority.Rank() > origin.Ceiling().Rank() {
		d.refuse(fault.New(fault.ContextAuthorityViolation, "a proposal of origin %s cannot claim %s authority, at most %s", origin, body.Authority, origin.Ceiling()).
			On("authority").WithHint("an allowed signer can claim more with --origin human or workflow"))
	}
	d.follow(k)
	return d.finish(key, body)
}

// origin returns the origin that the event will have.
func (d *drafting) origin() item.Origin {
	if d.Signing == nil {
		return item.OriginPeer
	}
	return d.draft.credential.Origin
}

// callerIs reports whether a name is the caller's: the signer's, or the actor's when
// the event is unsigned.
func (d *drafting) callerIs(name string) bool {
	if d.Signing == nil {
		return name == strings.TrimSpace(d.Actor)
	}
	return d.Trust.Signers.PersonNamed(name) == d.Trust.Signers.PersonOf(d.Signing.Key)
}

// open returns the proposal that a verb is about, or refuses: it does not exist
// (StateProposalNotFound), or was decided about, or does not count
// (StateProposalNotPromotable).
func (k *Key) open(id string) (*Proposed, error) {
	i, ok := slices.BinarySearchFunc(k.Proposals, id, func(p Proposed, id string) int { return cmp.Compare(p.Event.ID, id) })
	if ok {
		p := &k.Proposals[i]
		if p.Outcome != OutcomeOpen {
			return nil, fault.New(fault.StateProposalNotPromotable, "the proposal %s was %s by %s", id, p.Outcome, p.EndedBy[0])
		}
		return p, nil
	}
	switch e := k.event(id); {
	case e == nil:
		return nil, fault.New(fault.StateProposalNotFound, "no proposal has the id %s", fault.Quote(masked(id))).WithHint("kxm-state proposals")
	case e.Type() == TypePropose: // one that counts was found above
		return nil, fault.New(fault.StateProposalNotPromotable, "the proposal %s does not count: %s", id, e.Problem.Message).WithHint("%s", e.Problem.Fix)
	default:
		return nil, fault.New(fault.StateProposalNotFound, "the event %s is of type %s, and no proposal", id, e.Type())
	}
}

// Promote is a request for a promotion.
type Promote struct {
	Proposal     string
	EvidenceRefs []string
	// Expect names the values that are replaced, by any of their promotions; nil is the
	// one that is current now, and an empty list is none.
	Expect []string
}

// Promote makes a proposal the value of its key, of which k is the fold. It refuses
// the proposal's author (StatePromotionInvalid), several current values of which not
// all are expected (StateContradiction), and others than those that are expected
// (StateConflict).
func (w *Writer) Promote(k *Key, r Promote) (*Draft, error) {
	d := w.begin(TypePromote)
	if d.err != nil {
		return nil, d.err
	}
	p, err := k.open(BareID(r.Proposal))
	if err != nil {
		return nil, err
	}
	if d.Trust.signedBy(p.Event, d.draft.credential) {
		if !d.Trust.SelfPromotion {
			return nil, d.authorPromotes(p.Event)
		}
		d.draft.Warnings = append(d.draft.Warnings, "the proposal's author promotes it: the value will say selfPromoted")
	}
	expect, err := k.expect(r.Expect)
	if err != nil {
		return nil, err
	}
	d.follow(k)
	d.named(p.Event)
	body := &Promotion{
		Proposal:     p.Event.ID,
		Digest:       p.Event.Digest,
		EvidenceRefs: d.refs("evidence", r.EvidenceRefs, 1, MaxEvidenceRefs, MaxEvidenceRef),
		Expect:       expect,
	}
	return d.finish(k.Name, body)
}

func (d *drafting) authorPromotes(proposal *Checked) error {
	return fault.New(fault.StatePromotionInvalid, "cannot promote %s: %s wrote or signed it", proposal.ID, fault.Quote(d.draft.credential.Name)).
		WithHint("someone else must promote it; a project of one person can set selfPromotion under [state] in %s", ConfigFile)
}

// expect returns the promotions that a new one replaces.
func (k *Key) expect(given []string) ([]string, error) {
	if given == nil {
		v, err := k.Value()
		if v == nil || err != nil {
			return []string{}, err
		}
		return v.IDs(), nil
	}
	all := []string{}
	met := make([]bool, len(k.Current))
	for _, id := range given {
		id = BareID(id)
		if _, ok := ParseID(id); !ok {
			return nil, invalid("expect", "%s is no event id", fault.Quote(masked(id)))
		}
		i := slices.IndexFunc(k.Current, func(v Value) bool { return slices.Contains(v.IDs(), id) })
		if i < 0 {
			return nil, k.moved()
		}
		if !met[i] {
			all = append(all, k.Current[i].IDs()...)
		}
		met[i] = true
	}
	if slices.Contains(met, false) {
		return nil, k.moved()
	}
	slices.Sort(all)
	return all, nil
}

// moved says that the key's current value is not what was expected.
func (k *Key) moved() *fault.Error {
	now := []string{}
	for i := range k.Current {
		now = append(now, k.Current[i].IDs()...)
	}
	current := "none"
	if len(now) > 0 {
		current = strings.Join(now, ", ")
	}
	return fault.New(fault.StateConflict, "the current value of %s is not what was expected: it is %s", fault.Quote(masked(k.Name)), current).
		WithHint("read the key again, and decide again")
}

// End is a request to reject or withdraw a proposal.
type End struct {
	Proposal string
	Why      string // a withdrawal may do without
}

// Reject rejects a proposal of a key, of which k is the fold.
func (w *Writer) Reject(k *Key, r End) (*Draft, error) { return w.end(TypeReject, k, r) }

// Withdraw withdraws a proposal of a key, of which k is the fold. It refuses all but
// the author (StateProposerMismatch).
func (w *Writer) Withdraw(k *Key, r End) (*Draft, error) { return w.end(TypeWithdraw, k, r) }

func (w *Writer) end(how Type, k *Key, r End) (*Draft, error) {
	d := w.begin(how)
	if d.err != nil {
		return nil, d.err
	}
	p, err := k.open(BareID(r.Proposal))
	if err != nil {
		return nil, err
	}
	body := &Ending{How: how, Proposal: p.Event.ID, Digest: p.Event.Digest}
	if how == TypeReject || strings.TrimSpace(r.Why) != "" {
		body.Why = d.prose("why", r.Why)
	}
	d.follow(k)
	d.named(p.Event)
	draft, err := d.finish(k.Name, body)
	if err == nil && how == TypeWithdraw && !w.Trust.withdraws(draft.Checked(), p.Event) {
		e := fault.New(fault.StateProposerMismatch, "only its author, %s, may withdraw the proposal %s", fault.Quote(masked(w.Trust.author(p.Event))), p.Event.ID)
		if p.Event.Verified() {
			return nil, e.WithHint("it was signed: sign the withdrawal with --origin %s, or have it rejected", p.Event.Origin)
		}
		return nil, e.WithHint("--as names the actor; or have it rejected")
	}
	return draft, err
}

// Recheck repeats, on a newer fold of the draft's key, the conditions under which it
// was made. Under the store's lock this makes a promotion compare and set.
func (d *Draft) Recheck(k *Key) error {
	switch body := d.Event.Body.(type) {
	case *Promotion:
		now := []string{}
		for i := range k.Current {
			now = append(now, k.Current[i].IDs()...)
		}
		slices.Sort(now)
		if !slices.Equal(now, body.Expect) {
			return k.moved()
		}
		_, err := k.open(body.Proposal)
		return err
	case *Ending:
		_, err := k.open(body.Proposal)
		return err
	}
	return nil
}

// Note makes a journal entry.
func (w *Writer) Note(r Entry) (*Draft, error) {
	d := w.begin(TypeJournal)
	if !slices.Contains(categories, r.Category) {
		d.fail("category", "is none of %s", strings.Join(categories, ", "))
	}
	return d.finish("", &Entry{
		Category: r.Category,
		Summary:  d.prose("summary", r.Summary),
		Severity: d.optional("severity", r.Severity),
		Area:     d.optional("area", r.Area),
		RunID:    d.optional("runId", r.RunID),
		StageID:  d.optional("stageId", r.StageID),
		Evidence: d.refs("evidence", r.Evidence, 0, MaxEvidences, MaxEvidence),
	})
}

// Review makes a review of a journal entry or an episode; nil is one that was not
// found. The entry's id and digest are taken from the event. Among reviews are those
// that it has: the latest counts, so the new one comes after them, whatever its
// writer's clock says. Other events among them are passed over.
func (w *Writer) Review(entry *Checked, reviews []Checked, r Review) (*Draft, error) {
	d := w.begin(TypeReview)
	if d.err != nil {
		return nil, d.err
	}
	if err := countsAs(entry, r.Entry, TypeJournal, TypeEpisode); err != nil {
		return nil, err
	}
	if r.To != VerdictApproved && r.To != VerdictRejected && r.To != VerdictQuarantined {
		d.fail("to", "is none of approved, rejected and quarantined")
	}
	d.named(entry)
	for i := range reviews {
		e := &reviews[i]
		if review, ok := e.Body.(*Review); ok && review.Entry == entry.ID {
			d.seen = append(d.seen, Seen{ID: e.ID, Credentialed: e.Verified()})
		}
	}
	return d.finish("", &Review{
		Entry:        entry.ID,
		Digest:       entry.Digest,
		To:           r.To,
		EvidenceRefs: d.refs("evidence", r.EvidenceRefs, 0, MaxEvidenceRefs, MaxEvidenceRef),
		Why:          d.prose("why", r.Why),
	})
}

// Episode makes an episode. entries holds the journal entries that r names, in its
// order; nil is one that was not found.
func (w *Writer) Episode(entries []*Checked, r Episode) (*Draft, error) {
	d := w.begin(TypeEpisode)
	ids := []string{}
	for i, e := range entries {
		if err := countsAs(e, r.Entries[i], TypeJournal); err != nil {
			d.refuse(err)
			break
		}
		if !slices.Contains(ids, e.ID) {
			ids = append(ids, e.ID)
			d.named(e)
		}
	}
	body := &Episode{RunID: d.label("runId", r.RunID, MaxLabel), Summary: d.prose("summary", r.Summary), Entries: ids}
	if strings.TrimSpace(r.Outcome) != "" {
		body.Outcome = d.prose("outcome", r.Outcome)
	}
	return d.finish("", body)
}

// countsAs refuses (StateEventNotFound) what is not an event of one of the types that
// counts.
func countsAs(e *Checked, id string, types ...Type) error {
	switch {
	case e == nil:
		return fault.New(fault.StateEventNotFound, "no event has the id %s", fault.Quote(masked(id)))
	case !slices.Contains(types, e.Type()):
		return fault.New(fault.StateEventNotFound, "the event %s is of type %s, not %s", e.ID, e.Type(), types[0])
	case e.Problem != nil:
		return fault.New(fault.StateEventNotFound, "the event %s does not count: %s", e.ID, e.Problem.Message).WithHint("%s", e.Problem.Fix)
	}
	return nil
}

// Countersign says whether a signature may be added to an event that exists, and what
// it will give. about is the proposal that a promotion names, else nil. A signature
// that would give the event nothing is refused: by a key that may not sign (see
// [Trust.Authorise]; what counts is the event's time, not now), as peer where a human
// or workflow must sign (InvalidAuth), below the authority that the event claims
// (ContextAuthorityViolation), by the author of the proposal that it promotes
// (StatePromotionInvalid).
func (w *Writer) Countersign(e, about *Checked) (Credential, error) {
	if err := w.Trust.Writable(); err != nil {
		return Credential{}, err
	}
	if w.Signing == nil {
		if err := w.Trust.Configured(); err != nil {
			return Credential{}, err
		}
		return Credential{}, fault.New(fault.SigningKeyMissing, "there is no key to sign with").WithHint("kxm-state init makes one")
	}
	c, err := w.Trust.Authorise(*w.Signing, e.Clock.Time(), w.Unattended)
	if err != nil {
		return Credential{}, err
	}
	if needsDecider(e.Type()) && !decides(c.Origin) {
		return Credential{}, fault.New(fault.InvalidAuth, "a %s counts only with a human or workflow signature, not as %s", e.Type(), c.Origin)
	}
	if p, ok := e.Body.(*Proposal); ok && p.Authority.Rank() > c.Origin.Ceiling().Rank() {
		return Credential{}, fault.New(fault.ContextAuthorityViolation, "the proposal %s claims %s authority, and origin %s allows at most %s", e.ID, p.Authority, c.Origin, c.Origin.Ceiling())
	}
	if e.Type() == TypePromote && about != nil && !w.Trust.SelfPromotion && w.Trust.signedBy(about, c) {
		return Credential{}, fault.New(fault.StatePromotionInvalid, "cannot sign the promotion %s: %s wrote or signed the proposal", e.ID, fault.Quote(c.Name)).
			WithHint("someone else must sign it")
	}
	return c, nil
}
