package state

import (
	"slices"
	"strings"
	"time"
)

// folds folds keys of one state of the store with events that come to it one by one, so
// that the cost of a command grows neither with the commands before it that are about
// something else, nor with the proposals before it.
type folds struct {
	source Source
	trust  *Trust
	added  map[string][]*Checked // by key
	folded map[string]*Key       // up to date with added
}

// key returns the fold of a key. It is valid until the next event is added.
func (f *folds) key(name string) (*Key, error) {
	if k := f.folded[name]; k != nil {
		return k, nil
	}
	events, err := f.source.Key(name)
	if err != nil {
		return nil, err
	}
	events = slices.Clone(events)
	for _, e := range f.added[name] {
		events = append(events, *e)
	}
	k := FoldKey(name, events, f.trust, time.Time{})
	if f.folded == nil {
		f.folded = map[string]*Key{}
	}
	f.folded[name] = &k
	return &k, nil
}

// add adds an event that was made on top of the key's fold.
func (f *folds) add(e *Checked) {
	if f.added == nil {
		f.added = map[string][]*Checked{}
	}
	f.added[e.Key] = append(f.added[e.Key], e)
	if k := f.folded[e.Key]; k != nil && !k.addProposal(e, f.trust) {
		delete(f.folded, e.Key)
	}
}

// addProposal brings a fold up to date with a proposal that counts and follows what is
// there, and reports whether the event is one: it changes nothing of that. Proposals of
// one millisecond are in no order, so that it may have to go before some others.
func (k *Key) addProposal(e *Checked, t *Trust) bool {
	if e.Type() != TypePropose || e.Problem != nil {
		return false
	}
	heads := slices.DeleteFunc(k.Heads(), func(id string) bool { return slices.Contains(e.After, id) })
	i, _ := slices.BinarySearch(heads, e.ID)
	k.heads = slices.Insert(heads, i, e.ID)
	k.Project = e.Project
	i, _ = slices.BinarySearchFunc(k.Events, e.ID, func(e *Checked, id string) int { return strings.Compare(e.ID, id) })
	k.Events = slices.Insert(k.Events, i, e)
	i, _ = slices.BinarySearchFunc(k.Proposals, e.ID, func(p Proposed, id string) int { return strings.Compare(p.Event.ID, id) })
	k.Proposals = slices.Insert(k.Proposals, i, Proposed{Event: e, Outcome: OutcomeOpen})
	f := folder{Key: k, trust: t}
	f.proposalItem(&k.Proposals[i])
	k.Findings = sortFindings(k.Findings)
	return true
}
