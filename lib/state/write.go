package state

import (
	"crypto/rand"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

	"kxm/lib/fault"
	"kxm/lib/item"
	"kxm/lib/redact"
)

// Writer makes events. Its methods are the verbs: each takes what was folded and what
// is asked for, and returns the event to be written or a refusal. They write nothing.
type Writer struct {
	Project    string
	Actor      string // the label of who acts
	Clone      string
	Head       string // the commit of HEAD; "" without one
	Now        time.Time
	Trust      *Trust
	Signing    *Signing // how the event will be signed; nil: not at all
	Unattended bool     // no person stands behind the call
	Redact     bool     // mask secrets in prose and references instead of refusing them

	// Nonce returns 16 random digits; nil takes them from the system.
	Nonce func() string
}

// Draft is an event that is ready to be signed and written.
type Draft struct {
	ID       string
	Event    Event
	Bytes    []byte // the event's file
	Digest   string
	Signing  *Signing // sign Bytes with this key, in the namespace of the origin; nil: do not
	Masked   int      // secrets that were masked
	Warnings []string // what to tell the writer

	credential Credential
}

// Checked returns the event as a reader will see it once it is written.
func (d *Draft) Checked() *Checked {
	c := &Checked{Event: d.Event, ID: d.ID, Digest: d.Digest, Origin: item.OriginPeer}
	if d.Signing != nil {
		c.Credentials, c.Origin = []Credential{d.credential}, d.credential.Origin
	}
	return c
}

// NormalKey returns a key as events hold it: trimmed and in normal form C.
func NormalKey(key string) string { return norm.NFC.String(strings.TrimSpace(key)) }

// drafting is the making of one event. Its first error stands.
type drafting struct {
	*Writer
	draft Draft
	kind  Type
	seen  []Seen
	after []string
	checker
}

// begin checks what does not depend on what the event says, so that who may not act
// at all learns nothing else first.
func (w *Writer) begin(kind Type) *drafting {
	d := &drafting{Writer: w, kind: kind}
	d.err = d.mayWrite()
	return d
}

func (d *drafting) mayWrite() error {
	if err := d.Trust.Writable(); err != nil {
		return err
	}
	if strings.TrimSpace(d.Actor) == "" {
		return fault.New(fault.ActorUnknown, "nobody is named as the actor").WithHint("--as, KXM_ACTOR or Git's user.email names who acts")
	}
	return d.authorise(d.Now)
}

// authorise finds the credential that the event will have at a time.
func (d *drafting) authorise(at time.Time) error {
	if d.Signing == nil {
		switch {
		case needsDecider(d.kind):
			if err := d.Trust.Configured(); err != nil {
				return err
			}
			return fault.New(fault.SigningKeyMissing, "a %s counts only when it is signed, and there is no key", d.kind).WithHint("kxm-state init makes one")
		case d.Trust.RequireSigned:
			return fault.New(fault.InvalidAuth, "this project takes only signed events").WithHint("sign it with --origin human, workflow or peer")
		}
		return nil
	}
	c, err := d.Trust.Authorise(*d.Signing, at, d.Unattended)
	if err != nil {
		return err
	}
	if needsDecider(d.kind) && !decides(c.Origin) {
		return fault.New(fault.InvalidAuth, "a %s counts only with a human or workflow signature, not as %s", d.kind, c.Origin)
	}
	d.draft.credential = c
	return nil
}

// refuse keeps an error, unless there is one.
func (d *drafting) refuse(err error) {
	if d.err == nil {
		d.err = err
	}
}

// secret refuses a text that holds one, or masks it where that is asked for.
func (d *drafting) secret(field, s string, maskable bool) string {
	found := redact.Find(s)
	if len(found) == 0 || d.err != nil {
		return s
	}
	if !maskable || !d.Redact {
		e := fault.New(fault.SecretFound, "the %s holds a secret (%s at byte %d)", field, found[0].Rule, found[0].Start+1).On(field)
		if maskable {
			e = e.WithHint("take it out, or mask it with --redact")
		}
		d.refuse(e)
		return s
	}
	d.draft.Masked += len(found)
	return masked(s)
}

// label takes a name, which is never masked: what is looked up by it must not change.
func (d *drafting) label(field, s string, limit int) string {
	s = strings.TrimSpace(s)
	d.checker.label(field, s, limit)
	return d.secret(field, s, false)
}

func (d *drafting) optional(field, s string) string {
	if strings.TrimSpace(s) == "" {
		return ""
	}
	return d.label(field, s, MaxLabel)
}

// prose takes a text of several lines. Its limits are checked before its secrets are
// masked.
func (d *drafting) prose(field, s string) string {
	s = strings.TrimSpace(strings.ReplaceAll(s, "\r\n", "\n"))
	d.checker.prose(field, s)
	return d.secret(field, s, true)
}

// refs takes a list of references: trimmed, and each once.
func (d *drafting) refs(field string, list []string, least, most, limit int) []string {
	refs := []string{}
	add := func(s string) {
		if !slices.Contains(refs, s) {
			refs = append(refs, s)
		}
	}
	for _, s := range list {
		add(strings.TrimSpace(s))
	}
	d.checker.refs(field, refs, least, most, limit)
	clean := refs
	refs = []string{}
	for _, s := range clean {
		add(d.secret(field, s, true))
	}
	return refs
}

// named notes an event that the new one is about.
func (d *drafting) named(e *Checked) {
	d.seen = append(d.seen, Seen{ID: e.ID, Named: true, Credentialed: e.Verified()})
}

// follow notes the events of the key that the new one comes after.
func (d *drafting) follow(k *Key) {
	for _, e := range slices.Backward(k.Events) {
		if e.Verified() { // the others drag nothing, and those before it less
			d.seen = append(d.seen, Seen{ID: e.ID, Credentialed: true})
			break
		}
	}
	d.after = k.Heads()
}

// finish makes the event.
func (d *drafting) finish(key string, body Body) (*Draft, error) {
	if d.err != nil {
		return nil, d.err
	}
	clock, err := Next(d.Now, d.seen)
	if err != nil {
		return nil, err
	}
	// The line of a signer may end between now and the clock that the event must have.
	if err := d.authorise(clock.Time()); err != nil {
		return nil, err
	}
	if ahead := clock.Time().Sub(d.Now); ahead > MaxSkew {
		d.draft.Warnings = append(d.draft.Warnings, "this clock lies "+ahead.Round(time.Second).String()+" behind the events before this one: one of the clocks is wrong")
	}
	nonce := newNonce
	if d.Nonce != nil {
		nonce = d.Nonce
	}
	e := Event{
		Project: d.label("project", d.Project, MaxProject),
		Key:     key,
		Clock:   clock,
		At:      timeText(d.Now),
		Nonce:   nonce(),
		Actor:   d.label("actor", d.Actor, MaxLabel),
		Clone:   d.Clone,
		After:   headsBefore(d.after, clock),
		Head:    d.Head,
		Body:    body,
	}
	if d.err != nil {
		return nil, d.err
	}
	if err := e.check(); err != nil {
		return nil, err
	}
	d.draft.Bytes = e.Encode()
	if len(d.draft.Bytes) > MaxEvent {
		return nil, invalid("", "the event has %d bytes; at most %d are allowed", len(d.draft.Bytes), MaxEvent)
	}
	d.draft.Event = e
	d.draft.Digest = digestOf(d.draft.Bytes)
	d.draft.ID = idOf(d.draft.Digest, clock)
	d.draft.Signing = d.Signing
	return &d.draft, nil
}

// headsBefore returns the newest heads that are earlier than a clock: one from the far
// future, which nobody vouches for, drags nothing, and so cannot come before.
func headsBefore(heads []string, clock HLC) []string {
	limit, _ := slices.BinarySearch(heads, clock.String())
	heads = heads[:limit]
	return heads[max(0, len(heads)-MaxAfter):]
}

func newNonce() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: the program would have ended
	return hex.EncodeToString(b[:])
}
