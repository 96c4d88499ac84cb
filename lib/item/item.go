// Package item owns the nouns that every program exchanges: the context item with
// its provenance, authority and confidence, and the gap record that may stand
// beside it in a stream. It parses and checks them, writes them, reads whole
// pools, and computes what their fields imply: ceilings, derived authority, token
// estimates.
//
// Start with [Item] and [ReadPool]. The package selects and ranks nothing,
// redacts nothing and reads no file; how an item comes to exist is its producer's
// affair.
package item

import (
	"slices"
	"time"
	"unicode/utf8"

	"kxm/lib/ndjson"
)

// Names on the wire.
const (
	Schema        = "kxm.context-item.v1"
	GapSchema     = "kxm.gap.v1"
	SharedProject = "_shared" // the project of defaults that every project reads
)

// Limits, in code points unless they count entries.
const (
	MaxID          = 128 // also of each id in Supersedes and DerivedFrom
	MaxProject     = 200
	MaxSummary     = 4000
	MaxSourceRef   = 512
	MaxStateKey    = 200
	MaxEvidenceRef = 1000 // what a state proposal may cite
	MaxPath        = 4096 // PATH_MAX: no longer path can be opened
	MaxLabel       = 512  // author, signer, kinds of memory, run and stage ids, a gap's text
	MaxList        = 64   // entries of an id list
)

// Provenance says where an item's content comes from. Empty fields are absent.
type Provenance struct {
	SourceType   Origin
	SourceRef    string   // the producer's own name for the source
	DerivedFrom  []string // ids of the items it was made from
	Path         string   // of committed content: slash path from the repository's root
	Blob         string   // object id of the bytes read at Path, in lower-case hex
	Author       string   // who proposed or wrote it: a label unless signed
	Signer       string   // whose verified signature makes it count
	SelfPromoted bool     // promoted by its own author
}

// Item is one context item. Empty fields are absent; the first seven never are.
type Item struct {
	ID              string // trimmed
	Kind            Kind
	Project         string
	Summary         string
	Provenance      Provenance
	Authority       Authority
	Confidence      Confidence
	Scope           Scope
	ObservedAt      string // these three: RFC 3339 with a zone, or a date; as given
	ValidFrom       string
	ValidUntil      string
	Status          Status // state always has one
	StateKey        string // state always has one
	Supersedes      []string
	EvidenceRefs    []string
	MemoryKind      string // of authored facts: the free label of the record
	JournalCategory string // these three: of journal items
	RunID           string
	StageID         string
}

// Equal reports whether a and b have equal fields. A nil list equals an empty one.
func Equal(a, b *Item) bool {
	p, q := &a.Provenance, &b.Provenance
	return a.ID == b.ID && a.Kind == b.Kind && a.Project == b.Project && a.Summary == b.Summary &&
		p.SourceType == q.SourceType && p.SourceRef == q.SourceRef && slices.Equal(p.DerivedFrom, q.DerivedFrom) &&
		p.Path == q.Path && p.Blob == q.Blob && p.Author == q.Author && p.Signer == q.Signer && p.SelfPromoted == q.SelfPromoted &&
		a.Authority == b.Authority && a.Confidence == b.Confidence && a.Scope == b.Scope &&
		a.ObservedAt == b.ObservedAt && a.ValidFrom == b.ValidFrom && a.ValidUntil == b.ValidUntil &&
		a.Status == b.Status && a.StateKey == b.StateKey &&
		slices.Equal(a.Supersedes, b.Supersedes) && slices.Equal(a.EvidenceRefs, b.EvidenceRefs) &&
		a.MemoryKind == b.MemoryKind &&
		a.JournalCategory == b.JournalCategory && a.RunID == b.RunID && a.StageID == b.StageID
}

// AppendJSON appends the item as one compact JSON object, its fields in a fixed
// order and absent ones left out.
func (it *Item) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"schema":"`+Schema+`"`...)
	dst = appendText(dst, `,"id":`, it.ID)
	dst = appendText(dst, `,"kind":`, string(it.Kind))
	dst = appendText(dst, `,"project":`, it.Project)
	dst = appendText(dst, `,"summary":`, it.Summary)
	dst = it.Provenance.appendJSON(dst)
	dst = appendText(dst, `,"authority":`, string(it.Authority))
	dst = appendText(dst, `,"confidence":`, string(it.Confidence))
	dst = appendText(dst, `,"scope":`, string(it.Scope))
	dst = appendText(dst, `,"observedAt":`, it.ObservedAt)
	dst = appendText(dst, `,"validFrom":`, it.ValidFrom)
	dst = appendText(dst, `,"validUntil":`, it.ValidUntil)
	dst = appendText(dst, `,"status":`, string(it.Status))
	dst = appendText(dst, `,"stateKey":`, it.StateKey)
	dst = appendList(dst, `,"supersedes":`, it.Supersedes)
	dst = appendList(dst, `,"evidenceRefs":`, it.EvidenceRefs)
	dst = appendText(dst, `,"memoryKind":`, it.MemoryKind)
	dst = appendText(dst, `,"journalCategory":`, it.JournalCategory)
	dst = appendText(dst, `,"runId":`, it.RunID)
	dst = appendText(dst, `,"stageId":`, it.StageID)
	return append(dst, '}')
}

func (p *Provenance) appendJSON(dst []byte) []byte {
	// The origin is written even when it is empty, so that what follows may begin
	// with a comma; Check refuses such an item.
	dst = append(dst, `,"provenance":{"sourceType":`...)
	dst = ndjson.AppendString(dst, string(p.SourceType))
	dst = appendText(dst, `,"sourceRef":`, p.SourceRef)
	dst = appendList(dst, `,"derivedFrom":`, p.DerivedFrom)
	dst = appendText(dst, `,"path":`, p.Path)
	dst = appendText(dst, `,"blob":`, p.Blob)
	dst = appendText(dst, `,"author":`, p.Author)
	dst = appendText(dst, `,"signer":`, p.Signer)
	if p.SelfPromoted {
		dst = append(dst, `,"selfPromoted":true`...)
	}
	return append(dst, '}')
}

// appendText appends a member, unless its text is empty.
func appendText(dst []byte, key, text string) []byte {
	if text == "" {
		return dst
	}
	return ndjson.AppendString(append(dst, key...), text)
}

// appendList appends a member, unless its list is empty.
func appendList(dst []byte, key string, list []string) []byte {
	if len(list) == 0 {
		return dst
	}
	dst = append(append(dst, key...), '[')
	for i, text := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = ndjson.AppendString(dst, text)
	}
	return append(dst, ']')
}

// MarshalJSON returns what AppendJSON appends.
func (it Item) MarshalJSON() ([]byte, error) { return it.AppendJSON(nil), nil }

// Size returns what the token estimate counts of an item: the code points of its
// summary, id, kind and source reference.
func (it *Item) Size() int {
	return utf8.RuneCountInString(it.Summary) + utf8.RuneCountInString(it.ID) +
		utf8.RuneCountInString(string(it.Kind)) + utf8.RuneCountInString(it.Provenance.SourceRef)
}

// Tokens returns the token estimate for a sum of sizes: a quarter of it, rounded
// up. Sizes are summed first, so that the rounding happens once.
func Tokens(size int) int { return (size + 3) / 4 }

// Derive returns the authority and confidence of content made from ancestors by
// summing up or merging: what it claims, but never more than its strongest
// ancestor nor than evidence. Superseded and rejected ancestors do not count, and
// without one that does, the content is a hypothesis.
func Derive(claim Authority, ancestors []Item) (Authority, Confidence) {
	strongest := AuthorityHypothesis
	for i := range ancestors {
		a := &ancestors[i]
		if a.Status != StatusSuperseded && a.Status != StatusRejected && a.Authority.Rank() > strongest.Rank() {
			strongest = a.Authority
		}
	}
	least := AuthorityEvidence
	for _, a := range []Authority{claim, strongest} {
		if a.Rank() < least.Rank() {
			least = a
		}
	}
	if !least.Valid() { // an unknown claim claims nothing
		least = AuthorityHypothesis
	}
	return least, ConfidenceProbable
}

// Time returns the time that orders items by age: when it was observed, else since
// when it is valid. ok is false if it names neither.
func (it *Item) Time() (t time.Time, ok bool) {
	for _, s := range [...]string{it.ObservedAt, it.ValidFrom} {
		if s != "" {
			t, err := ParseTime(s)
			return t, err == nil
		}
	}
	return time.Time{}, false
}

// Gap is a record of something that a producer left out of its stream.
type Gap struct {
	Gap    string // 1-512 characters
	Detail string // free text for a person; may be empty
}

// AppendJSON appends the gap record as one compact JSON object.
func (g Gap) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"schema":"`+GapSchema+`","gap":`...)
	dst = ndjson.AppendString(dst, g.Gap)
	dst = appendText(dst, `,"detail":`, g.Detail)
	return append(dst, '}')
}

// MarshalJSON returns what AppendJSON appends.
func (g Gap) MarshalJSON() ([]byte, error) { return g.AppendJSON(nil), nil }
