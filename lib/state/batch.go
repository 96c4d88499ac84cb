package state

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"kxm/lib/fault"
	"kxm/lib/item"
)

// Source is what commands look things up in: one state of the store.
type Source interface {
	// Key returns the checked events of a key; others may be among them.
	Key(name string) ([]Checked, error)
	// Find returns the event of an id, or nil.
	Find(id string) (*Checked, error)
	// Reviews returns the checked reviews of an entry or episode; other events may be
	// among them.
	Reviews(entry *Checked) ([]Checked, error)
}

// Batch carries out commands, of which later ones see what earlier ones did, and
// collects the events. It writes none.
type Batch struct {
	Writer Writer // its Signing and Redact are set for each command
	Source Source
	// Signing finds the key to sign with.
	Signing func(item.Origin) (Signing, error)

	Drafts []*Draft // in the order of the commands

	lines map[int]*Draft // by the line of their commands; nil: several begin there
	done  drafted
	keys  *folds // of Source and what was done
}

// drafted finds events of drafts.
type drafted struct {
	byID     map[string]*Checked
	byReview map[string][]*Checked // reviews, by the id of what they review
}

func (d *drafted) add(e *Checked) {
	if d.byID == nil {
		*d = drafted{map[string]*Checked{}, map[string][]*Checked{}}
	}
	d.byID[e.ID] = e
	if review, ok := e.Body.(*Review); ok {
		d.byReview[review.Entry] = append(d.byReview[review.Entry], e)
	}
}

// Do carries out a command that begins at a line of its source; 0 is none. The texts
// "@3" stand for the id of line 3's event. With an error nothing has changed.
func (b *Batch) Do(c Command, line int) (*Draft, error) {
	if err := b.resolve(&c); err != nil {
		return nil, err
	}
	if b.keys == nil {
		b.keys = &folds{source: b.Source, trust: b.Writer.Trust}
	}
	w := b.Writer
	w.Actor = cmp.Or(strings.TrimSpace(c.As), w.Actor)
	w.Redact = c.Redact
	w.Signing = nil
	origin := c.Origin
	if origin == "" && needsDecider(c.Verb) {
		origin = item.OriginHuman
	}
	if origin != "" {
		if err := w.Trust.MaySign(origin, w.Unattended); err != nil {
			return nil, err
		}
		signing, err := b.Signing(origin)
		if err != nil {
			return nil, err
		}
		w.Signing = &signing
	}
	d, err := b.do(&w, c)
	if err != nil {
		return nil, err
	}
	b.Drafts = append(b.Drafts, d)
	e := d.Checked()
	b.done.add(e)
	if e.Type().Keyed() {
		b.keys.add(e)
	}
	b.name(line, d)
	return d, nil
}

// name lets later commands call the draft by its line.
func (b *Batch) name(line int, d *Draft) {
	if line < 1 {
		return
	}
	if b.lines == nil {
		b.lines = map[int]*Draft{}
	}
	if _, taken := b.lines[line]; taken {
		d = nil
	}
	b.lines[line] = d
}

func (b *Batch) do(w *Writer, c Command) (*Draft, error) {
	switch c.Verb {
	case TypePropose:
		k, err := b.keys.key(NormalKey(c.Key))
		if err != nil {
			return nil, err
		}
		return w.Propose(k, Propose{Key: c.Key, Summary: c.Summary, Authority: c.Authority, Confidence: c.Confidence, EvidenceRefs: c.Evidence, ProposedBy: c.ProposedBy})
	case TypePromote, TypeReject, TypeWithdraw:
		k, err := b.keyOf(BareID(c.Proposal))
		if err != nil {
			return nil, err
		}
		switch c.Verb {
		case TypePromote:
			return w.Promote(k, Promote{Proposal: c.Proposal, EvidenceRefs: c.Evidence, Expect: c.Expect})
		case TypeReject:
			return w.Reject(k, End{Proposal: c.Proposal, Why: c.Why})
		default:
			return w.Withdraw(k, End{Proposal: c.Proposal, Why: c.Why})
		}
	case TypeJournal:
		return w.Note(Entry{Category: c.Category, Summary: c.Summary, Severity: c.Severity, Area: c.Area, RunID: c.Run, StageID: c.Stage, Evidence: c.Evidence})
	case TypeReview:
		e, err := b.find(BareID(c.Entry))
		if err != nil {
			return nil, err
		}
		reviews, err := b.reviews(e)
		if err != nil {
			return nil, err
		}
		return w.Review(e, reviews, Review{Entry: c.Entry, To: c.To, EvidenceRefs: c.Evidence, Why: c.Why})
	case TypeEpisode:
		entries := make([]*Checked, len(c.Entries))
		for i, id := range c.Entries {
			var err error
			if entries[i], err = b.find(BareID(id)); err != nil {
				return nil, err
			}
		}
		return w.Episode(entries, Episode{RunID: c.Run, Summary: c.Summary, Entries: c.Entries, Outcome: c.Outcome})
	}
	return nil, fault.New(fault.Usage, "%s is no verb", fault.Quote(string(c.Verb)))
}

// keyOf folds the key of a proposal; what is none leads to a key without it.
func (b *Batch) keyOf(id string) (*Key, error) {
	e, err := b.find(id)
	if err != nil {
		return nil, err
	}
	if e == nil || e.Key == "" {
		return &Key{}, nil
	}
	return b.keys.key(e.Key)
}

// reviews returns the reviews of an entry, those of the batch too; nil has none.
func (b *Batch) reviews(entry *Checked) ([]Checked, error) {
	if entry == nil {
		return nil, nil
	}
	reviews, err := b.Source.Reviews(entry)
	reviews = slices.Clip(reviews)
	for _, e := range b.done.byReview[entry.ID] {
		reviews = append(reviews, *e)
	}
	return reviews, err
}

func (b *Batch) find(id string) (*Checked, error) {
	if e := b.done.byID[id]; e != nil {
		return e, nil
	}
	if _, ok := ParseID(id); !ok {
		return nil, nil
	}
	return b.Source.Find(id)
}

// Recheck repeats the conditions of all events on a newer state of the store. Under
// the store's lock it makes the whole batch compare and set.
func (b *Batch) Recheck(newer Source) error {
	keys := folds{source: newer, trust: b.Writer.Trust}
	for _, d := range b.Drafts {
		if !d.Event.Type().Keyed() {
			continue
		}
		if d.Event.Type() != TypePropose { // a proposal has no condition
			k, err := keys.key(d.Event.Key)
			if err != nil {
				return err
			}
			if err := d.Recheck(k); err != nil {
				return err
			}
		}
		keys.add(d.Checked())
	}
	return nil
}

// resolve puts ids where a command names lines.
func (b *Batch) resolve(c *Command) error {
	at := func(s *string) error {
		digits, ok := strings.CutPrefix(*s, "@")
		if !ok {
			return nil
		}
		line, err := strconv.Atoi(digits)
		d, done := b.lines[line]
		switch {
		case err != nil || line < 1:
			return invalid("", "%s names no line", fault.Quote(masked(*s)))
		case !done:
			return invalid("", "%s names a line without a command before this one", fault.Quote(*s))
		case d == nil:
			return invalid("", "%s names a line on which several commands begin", fault.Quote(*s))
		}
		*s = d.ID
		return nil
	}
	c.Expect, c.Entries = slices.Clone(c.Expect), slices.Clone(c.Entries)
	texts := []*string{&c.Proposal, &c.Entry}
	for i := range c.Expect {
		texts = append(texts, &c.Expect[i])
	}
	for i := range c.Entries {
		texts = append(texts, &c.Entries[i])
	}
	for _, s := range texts {
		if err := at(s); err != nil {
			return err
		}
	}
	if len(c.Expect) == 1 && c.Expect[0] == ExpectNone {
		c.Expect = []string{}
	}
	return nil
}
