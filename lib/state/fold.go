package state

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"kxm/lib/fault"
	"kxm/lib/item"
)

// Outcome is what became of a proposal.
type Outcome string

// The outcomes.
const (
	OutcomeOpen      Outcome = "open"
	OutcomePromoted  Outcome = "promoted"
	OutcomeRejected  Outcome = "rejected"
	OutcomeWithdrawn Outcome = "withdrawn"
)

// Proposed is a proposal and what became of it.
type Proposed struct {
	Item    item.Item // proposed while it is open, else rejected
	Event   *Checked
	Outcome Outcome
	EndedBy []string // the events that ended it, by id
}

// Value is a promoted value.
type Value struct {
	Item       item.Item // current or superseded
	Proposal   *Checked
	Promotions []*Checked // that made it this value, by id; more than one if they promote one proposal
}

// IDs returns the ids of the value's promotions, which a later one names in its
// expect.
func (v *Value) IDs() []string {
	ids := make([]string, len(v.Promotions))
	for i, p := range v.Promotions {
		ids[i] = p.ID
	}
	return ids
}

// Key is what the events of one key add up to.
type Key struct {
	Project    string
	Name       string
	Current    []Value    // none, one, or several: a contradiction; by id
	Superseded []Value    // by id
	Proposals  []Proposed // by id
	Events     []*Checked // all of them, those that are left out too, by id
	Findings   []Finding  // about events that are left out or cut

	heads []string // nil: not looked for yet
}

// Open returns the proposals that nobody has decided about.
func (k *Key) Open() []*Proposed {
	var open []*Proposed
	for i := range k.Proposals {
		if k.Proposals[i].Outcome == OutcomeOpen {
			open = append(open, &k.Proposals[i])
		}
	}
	return open
}

// Contradicted reports whether the key has more than one current value.
func (k *Key) Contradicted() bool { return len(k.Current) > 1 }

// Value returns the current value, nil if there is none. More than one is refused
// (StateContradiction), and all are named.
func (k *Key) Value() (*Value, error) {
	switch len(k.Current) {
	case 0:
		return nil, nil
	case 1:
		return &k.Current[0], nil
	}
	return nil, k.contradiction()
}

func (k *Key) contradiction() *fault.Error {
	ids := ""
	for i := range k.Current {
		if i > 0 {
			ids += ", "
		}
		ids += k.Current[i].Promotions[0].ID
	}
	return fault.New(fault.StateContradiction, "the key %s has %d current values: %s", fault.Quote(masked(k.Name)), len(k.Current), ids).
		WithHint("promote one value with --expect for each of them")
}

// Items returns the key's items: current values, superseded ones, and proposals.
func (k *Key) Items() []item.Item {
	items := make([]item.Item, 0, len(k.Current)+len(k.Superseded)+len(k.Proposals))
	for i := range k.Current {
		items = append(items, k.Current[i].Item)
	}
	for i := range k.Superseded {
		items = append(items, k.Superseded[i].Item)
	}
	for i := range k.Proposals {
		items = append(items, k.Proposals[i].Item)
	}
	return items
}

// Gaps returns what a reader's stream says about the events that are left out.
func (k *Key) Gaps() []item.Gap { return gapsOf(k.Findings) }

// Heads returns the ids that no other event of the key names, by id.
func (k *Key) Heads() []string {
	if k.heads != nil {
		return slices.Clone(k.heads)
	}
	named := map[string]bool{}
	for _, e := range k.Events {
		for _, id := range e.Names() {
			named[id] = true
		}
		for _, id := range e.After {
			named[id] = true
		}
	}
	var heads []string
	for _, e := range k.Events {
		if !named[e.ID] {
			heads = append(heads, e.ID)
		}
	}
	k.heads = heads
	return slices.Clone(heads)
}

// event returns the key's event of an id, or nil.
func (k *Key) event(id string) *Checked {
	i, ok := slices.BinarySearchFunc(k.Events, id, func(e *Checked, id string) int { return cmp.Compare(e.ID, id) })
	if !ok {
		return nil
	}
	return k.Events[i]
}

// FoldKeys folds the events of all keys as they were at a time (zero: now), by key.
func FoldKeys(events []Checked, t *Trust, asOf time.Time) []Key {
	return foldKeys(events, t, through(asOf))
}

// foldKeys folds the events of all keys that are earlier than a limit.
func foldKeys(events []Checked, t *Trust, limit HLC) []Key {
	byKey := map[string][]*Checked{}
	for i := range events {
		if e := &events[i]; e.Type().Keyed() {
			byKey[e.Key] = append(byKey[e.Key], e)
		}
	}
	names := slices.Sorted(maps.Keys(byKey))
	keys := make([]Key, len(names))
	parallel(len(names), func(i int) { keys[i] = foldKey(names[i], byKey[names[i]], t, limit) })
	return slices.DeleteFunc(keys, func(k Key) bool { return len(k.Events) == 0 })
}

// FoldKey folds the events of one key as they were at a time (zero: now). Events of
// other keys are passed over, since a folder may hold a key that was made to collide.
func FoldKey(name string, events []Checked, t *Trust, asOf time.Time) Key {
	var own []*Checked
	for i := range events {
		if e := &events[i]; e.Type().Keyed() && e.Key == name {
			own = append(own, e)
		}
	}
	return foldKey(name, own, t, through(asOf))
}

// folder folds one key.
type folder struct {
	*Key
	trust    *Trust
	proposed map[string]int // place in Proposals
	promoted map[string]*promotion
	order    []*promotion // those that count, by id
}

// promotion is one that counts.
type promotion struct {
	event    *Checked
	body     *Promotion
	proposal *Checked
	signers  []Credential // human or workflow, and not the author's unless selfMade
	selfMade bool         // nobody but the author signed it
	replaced HLC          // by the first that replaces it; 0: current
}

func foldKey(name string, events []*Checked, t *Trust, limit HLC) Key {
	k := Key{Name: name}
	for _, e := range events {
		if e.Clock < limit {
			k.Events = append(k.Events, e)
			k.Project = e.Project
		}
	}
	slices.SortFunc(k.Events, func(a, b *Checked) int { return cmp.Compare(a.ID, b.ID) })
	f := folder{Key: &k, trust: t, proposed: map[string]int{}, promoted: map[string]*promotion{}}
	f.gather()
	f.promotions()
	f.replace()
	f.values()
	f.endings()
	for i := range k.Proposals {
		f.proposalItem(&k.Proposals[i])
	}
	k.Findings = sortFindings(k.Findings)
	return k
}

// leaveOut notes why an event does not count.
func (f *folder) leaveOut(rule Rule, e *Checked, message string) {
	f.Findings = append(f.Findings, newFinding(rule, e.ID, e.Path, e.Key, message))
}

// gather finds the proposals, and the events that are left out by themselves.
func (f *folder) gather() {
	proposals := 0
	for _, e := range f.Events {
		if e.Problem == nil && e.Type() == TypePropose {
			proposals++
		}
	}
	f.Proposals = make([]Proposed, 0, proposals) // they are large
	for _, e := range f.Events {
		switch {
		case e.Problem != nil:
			f.Findings = append(f.Findings, *e.Problem)
		case e.Type() == TypePropose:
			f.proposed[e.ID] = len(f.Proposals)
			f.Proposals = append(f.Proposals, Proposed{Event: e, Outcome: OutcomeOpen})
		}
	}
}

// target returns the proposal that an event is about, or leaves the event out.
func (f *folder) target(e *Checked, id, digest string) *Proposed {
	i, ok := f.proposed[id]
	if !ok {
		f.leaveOut(RuleLineage, e, f.missing(id))
		return nil
	}
	p := &f.Proposals[i]
	if p.Event.Digest != digest {
		f.leaveOut(RuleDigest, e, "its digest is not that of the proposal "+id)
		return nil
	}
	return p
}

// missing says why there is no proposal of an id.
func (f *folder) missing(id string) string {
	switch e := f.event(id); {
	case e == nil:
		return "the proposal " + id + " is not here"
	case e.Problem != nil:
		return "the proposal " + id + " does not count: " + e.Problem.Message
	default:
		return "the event " + id + " is no proposal"
	}
}

// promotions finds those that count.
func (f *folder) promotions() {
	for _, e := range f.Events {
		body, ok := e.Body.(*Promotion)
		if !ok || e.Problem != nil {
			continue
		}
		p := f.target(e, body.Proposal, body.Digest)
		if p == nil {
			continue
		}
		signers, selfMade := f.trust.promoters(e, p.Event)
		if len(signers) == 0 {
			f.leaveOut(RuleAuthor, e, "only the proposal's author signed it")
			continue
		}
		made := &promotion{event: e, body: body, proposal: p.Event, signers: signers, selfMade: selfMade}
		f.promoted[e.ID] = made
		f.order = append(f.order, made)
		p.Outcome = OutcomePromoted
		p.EndedBy = append(p.EndedBy, e.ID)
	}
}

// promoters returns whose signatures make a promotion count: those that are human or
// workflow and not the author's; or the author's, where the project allows it and
// nobody else signed.
func (t *Trust) promoters(promote, proposal *Checked) (signers []Credential, selfMade bool) {
	var own []Credential
	for _, c := range promote.Credentials {
		switch {
		case !decides(c.Origin):
		case t.signedBy(proposal, c):
			own = append(own, c)
		default:
			signers = append(signers, c)
		}
	}
	if len(signers) == 0 && t.SelfPromotion && len(own) > 0 {
		return own, true
	}
	return signers, false
}

// replace marks what each promotion that counts replaces: the promotions in its
// expect and, in turn, those in theirs. The way may lead through one that does not
// count any more, since a credentialed expect names it.
func (f *folder) replace() {
	for _, p := range f.order {
		seen := map[string]bool{}
		next := slices.Clone(p.body.Expect)
		for len(next) > 0 {
			id := next[len(next)-1]
			next = next[:len(next)-1]
			if seen[id] {
				continue
			}
			seen[id] = true
			// The first in the order of ids is the one that ended the value.
			if old := f.promoted[id]; old != nil && old.replaced == 0 {
				old.replaced = p.event.Clock
			}
			if e := f.event(id); e != nil {
				if body, ok := e.Body.(*Promotion); ok {
					next = append(next, body.Expect...)
				}
			}
		}
	}
}

// values makes one value of the promotions of one proposal, of those that are current
// and of those that are not.
func (f *folder) values() {
	type slot struct {
		proposal string
		current  bool
	}
	groups := map[slot][]*promotion{}
	for _, p := range f.order {
		at := slot{p.proposal.ID, p.replaced == 0}
		groups[at] = append(groups[at], p)
	}
	for _, p := range f.order { // each group at the place of its smallest id
		at := slot{p.proposal.ID, p.replaced == 0}
		group := groups[at]
		if group[0] != p {
			continue
		}
		v := f.value(group)
		if at.current {
			f.Current = append(f.Current, v)
		} else {
			f.Superseded = append(f.Superseded, v)
		}
	}
}

// endings applies rejections and withdrawals.
func (f *folder) endings() {
	for _, e := range f.Events {
		body, ok := e.Body.(*Ending)
		if !ok || e.Problem != nil {
			continue
		}
		p := f.target(e, body.Proposal, body.Digest)
		if p == nil {
			continue
		}
		outcome := OutcomeRejected
		if body.How == TypeWithdraw {
			outcome = OutcomeWithdrawn
			if !f.trust.withdraws(e, p.Event) {
				f.leaveOut(RuleNotAuthor, e, "only its author may withdraw the proposal "+p.Event.ID)
				continue
			}
		}
		p.EndedBy = append(p.EndedBy, e.ID)
		// A promotion counts even beside a rejection that was written elsewhere at the
		// same time, and of the others the first one.
		if p.Outcome == OutcomeOpen {
			p.Outcome = outcome
		}
	}
	for i := range f.Proposals {
		slices.Sort(f.Proposals[i].EndedBy)
	}
}

// withdraws reports whether a withdrawal is the author's: of a signed proposal one of
// its signers, of an unsigned one the same actor, both being labels.
func (t *Trust) withdraws(withdraw, proposal *Checked) bool {
	if !proposal.Verified() {
		return withdraw.Actor == proposal.Actor
	}
	for _, c := range withdraw.Credentials {
		if c.Origin == "" {
			continue
		}
		for _, author := range proposal.Credentials {
			if author.Origin != "" && t.Signers.PersonOf(author.Key) == t.Signers.PersonOf(c.Key) {
				return true
			}
		}
	}
	return false
}
