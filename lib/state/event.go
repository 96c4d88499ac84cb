package state

import (
	"strings"
	"time"

	"kxm/lib/fault"
	"kxm/lib/item"
	"kxm/lib/ndjson"
)

// Type says what an event does. Events of unknown types are kept, counted and ignored.
type Type string

// The types.
const (
	TypePropose  Type = "propose"
	TypePromote  Type = "promote"
	TypeReject   Type = "reject"
	TypeWithdraw Type = "withdraw"
	TypeJournal  Type = "journal"
	TypeReview   Type = "journal-review"
	TypeEpisode  Type = "episode"
)

// Keyed reports whether events of the type belong to a key, not to the journal.
func (t Type) Keyed() bool {
	return t == TypePropose || t == TypePromote || t == TypeReject || t == TypeWithdraw
}

func (t Type) journal() bool { return t == TypeJournal || t == TypeReview || t == TypeEpisode }

// Event is one event: what stands in its file. Its id is not inside; see [ID].
type Event struct {
	Project string
	Key     string // of the four types that belong to a key
	Clock   HLC
	At      string // the writer's wall clock, RFC 3339 in UTC
	Nonce   string // 16 digits, so that two equal notes are two events
	Actor   string // a label, not a credential
	Clone   string // 8 digits that tell clones apart
	After   []string
	Head    string // the commit of HEAD, if there was one
	Body    Body
}

// Body is what an event says, by its type: *[Proposal], *[Promotion], *[Ending],
// *[Entry], *[Review], *[Episode] or *[Unknown].
type Body interface {
	// Type returns the event's type.
	Type() Type
	// names returns the ids that the event is about, which it must come after.
	names() []string
	check(c *checker)
	appendJSON(dst []byte) []byte
}

// Proposal is a value that is proposed for a key.
type Proposal struct {
	Summary      string
	Authority    item.Authority
	Confidence   item.Confidence
	EvidenceRefs []string
}

// Promotion makes a proposal the current value of its key.
type Promotion struct {
	Proposal     string
	Digest       string // the whole SHA-256 of the proposal's file
	EvidenceRefs []string
	Expect       []string // the promotions whose values it replaces
}

// Ending rejects or withdraws a proposal.
type Ending struct {
	How      Type // TypeReject or TypeWithdraw
	Proposal string
	Digest   string
	Why      string // a withdrawal may do without
}

// Entry is a journal entry.
type Entry struct {
	Category string
	Summary  string
	Severity string
	Area     string
	RunID    string
	StageID  string
	Evidence []string
}

// Review is a verdict on a journal entry or an episode.
type Review struct {
	Entry        string
	Digest       string
	To           Verdict
	EvidenceRefs []string
	Why          string
}

// Verdict is what a review makes of its entry.
type Verdict string

// The verdicts.
const (
	VerdictApproved    Verdict = "approved"
	VerdictRejected    Verdict = "rejected"
	VerdictQuarantined Verdict = "quarantined"
)

// Episode sums up journal entries of a run.
type Episode struct {
	RunID   string
	Summary string
	Entries []string
	Outcome string
}

// Unknown is the body of an event whose type this program does not know.
type Unknown struct {
	Name Type
	Raw  string // the JSON as it stands in the file
}

// Type implements Body.
func (*Proposal) Type() Type { return TypePropose }

// Type implements Body.
func (*Promotion) Type() Type { return TypePromote }

// Type implements Body.
func (b *Ending) Type() Type { return b.How }

// Type implements Body.
func (*Entry) Type() Type { return TypeJournal }

// Type implements Body.
func (*Review) Type() Type { return TypeReview }

// Type implements Body.
func (*Episode) Type() Type { return TypeEpisode }

// Type implements Body.
func (b *Unknown) Type() Type { return b.Name }

func (*Proposal) names() []string    { return nil }
func (b *Promotion) names() []string { return append([]string{b.Proposal}, b.Expect...) }
func (b *Ending) names() []string    { return []string{b.Proposal} }
func (*Entry) names() []string       { return nil }
func (b *Review) names() []string    { return []string{b.Entry} }
func (b *Episode) names() []string   { return b.Entries }
func (*Unknown) names() []string     { return nil }

// Type returns the event's type.
func (e *Event) Type() Type { return e.Body.Type() }

// Names returns the ids that the event is about.
func (e *Event) Names() []string { return e.Body.names() }

// Skew returns how far the event's clock lies ahead of its writer's wall clock
// (negative: behind), or 0 if that is no more than [MaxSkew].
func (e *Event) Skew() time.Duration {
	wall, err := item.ParseTime(e.At)
	if err != nil {
		return 0
	}
	if d := e.Clock.Time().Sub(wall); d > MaxSkew || d < -MaxSkew {
		return d
	}
	return 0
}

// Encode returns the event's file: compact JSON, its fields in a fixed order, and a
// newline.
func (e *Event) Encode() []byte {
	o := ndjson.NewObject(make([]byte, 0, 640))
	o.Text("schema", EventSchema)
	o.Text("type", string(e.Type()))
	o.Text("project", e.Project)
	o.Optional("key", e.Key)
	o.Text("hlc", e.Clock.String())
	o.Text("at", e.At)
	o.Text("nonce", e.Nonce)
	o.Text("actor", e.Actor)
	o.Text("clone", e.Clone)
	if e.Key != "" || len(e.After) > 0 {
		o.List("after", e.After)
	}
	o.Optional("head", e.Head)
	o.Name("body")
	return append(e.Body.appendJSON(o.Bytes), '}', '\n')
}

func (b *Proposal) appendJSON(dst []byte) []byte {
	o := ndjson.NewObject(dst)
	o.Text("summary", b.Summary)
	o.Text("authority", string(b.Authority))
	o.Text("confidence", string(b.Confidence))
	o.List("evidenceRefs", b.EvidenceRefs)
	return o.End()
}

func (b *Promotion) appendJSON(dst []byte) []byte {
	o := ndjson.NewObject(dst)
	o.Text("proposal", b.Proposal)
	o.Text("digest", b.Digest)
	o.List("evidenceRefs", b.EvidenceRefs)
	o.List("expect", b.Expect)
	return o.End()
}

func (b *Ending) appendJSON(dst []byte) []byte {
	o := ndjson.NewObject(dst)
	o.Text("proposal", b.Proposal)
	o.Text("digest", b.Digest)
	o.Optional("why", b.Why)
	return o.End()
}

func (b *Entry) appendJSON(dst []byte) []byte {
	o := ndjson.NewObject(dst)
	o.Text("category", b.Category)
	o.Text("summary", b.Summary)
	o.Optional("severity", b.Severity)
	o.Optional("area", b.Area)
	o.Optional("runId", b.RunID)
	o.Optional("stageId", b.StageID)
	o.List("evidence", b.Evidence)
	return o.End()
}

func (b *Review) appendJSON(dst []byte) []byte {
	o := ndjson.NewObject(dst)
	o.Text("entry", b.Entry)
	o.Text("digest", b.Digest)
	o.Text("to", string(b.To))
	o.List("evidenceRefs", b.EvidenceRefs)
	o.Text("why", b.Why)
	return o.End()
}

func (b *Episode) appendJSON(dst []byte) []byte {
	o := ndjson.NewObject(dst)
	o.Text("runId", b.RunID)
	o.Text("summary", b.Summary)
	o.List("entries", b.Entries)
	o.Optional("outcome", b.Outcome)
	return o.End()
}

func (b *Unknown) appendJSON(dst []byte) []byte { return append(dst, b.Raw...) }

// Parse reads the file of an event. Strict means: one compact JSON object and one
// newline, known fields in their order, every limit kept, and no id named that is not
// earlier than the event itself, so that no effect comes before its cause. Unknown
// fields are passed over: a later version may add some. The error is an
// InvalidStateEvent that names the field, or InvalidJSON.
func Parse(data []byte) (Event, error) {
	if len(data) > MaxEvent {
		return Event{}, invalid("", "the event has %d bytes; at most %d are allowed", len(data), MaxEvent)
	}
	text, ok := strings.CutSuffix(string(data), "\n")
	if !ok {
		return Event{}, invalid("", "the event does not end with a newline")
	}
	if err := ndjson.Validate(data); err != nil {
		return Event{}, err
	}
	if !strings.HasPrefix(text, "{") || !isCompact(text) {
		return Event{}, invalid("", "the event is not one compact object")
	}
	return parseEvent(text)
}

// isCompact reports whether valid JSON holds no white space between its tokens.
func isCompact(text string) bool {
	for text != "" {
		quote := strings.IndexByte(text, '"')
		tokens := text
		if quote >= 0 {
			tokens = text[:quote]
		}
		if strings.ContainsAny(tokens, " \t\r\n") {
			return false
		}
		if quote < 0 {
			return true
		}
		// Skip the string: up to a quote that is not escaped.
		i := quote + 1
		for i < len(text) && text[i] != '"' {
			if text[i] == '\\' {
				i++
			}
			i++
		}
		text = text[min(i+1, len(text)):]
	}
	return true
}

// invalid is an InvalidStateEvent about a field; "" is the event as a whole, and then
// the message begins the sentence.
func invalid(field, format string, args ...any) *fault.Error {
	if field == "" {
		return fault.New(fault.InvalidStateEvent, format, args...)
	}
	return fault.New(fault.InvalidStateEvent, "the event's "+field+" "+format, args...).On(field)
}
