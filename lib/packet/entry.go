package packet

import (
	"strings"

	"kxm/lib/item"
)

// Entry is an item of a formal packet. It was checked as a context item when it came
// into a packet and is not checked as one again: only the types, enumerations and
// lengths of its fields are. Fields that are not an item's are dropped, as they are
// where items are read.
type Entry struct {
	item.Item
	Versioned bool // it names its schema
	open      bool // in open contradiction; on the way to its section
}

var (
	entryFields = []string{"schema", "id", "kind", "project", "summary", "provenance", "authority", "confidence", "scope", "observedAt", "validFrom",
		"validUntil", "status", "stateKey", "supersedes", "evidenceRefs", "memoryKind", "journalCategory", "runId", "stageId"}
	provenanceFields = []string{"sourceType", "sourceRef", "derivedFrom", "path", "blob", "author", "signer", "selfPromoted"}
)

func (r *reader) entry(path string, value []byte) Entry {
	o := r.object(path, value, entryFields...)
	o.schema(item.Schema, false)
	e := Entry{Versioned: o.has("schema"), Item: item.Item{
		ID:              o.plain("id", true),
		Kind:            oneOf(o, "kind", item.Kinds()...),
		Project:         o.plain("project", true),
		Summary:         o.plain("summary", true),
		Provenance:      r.provenance(o),
		Authority:       oneOf(o, "authority", item.AuthorityPolicy, item.AuthorityInstruction, item.AuthorityEvidence, item.AuthorityHypothesis),
		Confidence:      oneOf(o, "confidence", item.ConfidenceVerified, item.ConfidenceProbable, item.ConfidenceUncertain),
		Scope:           oneOfOrNone(o, "scope", item.ScopeAgent, item.ScopeProject, item.ScopeRun, item.ScopeOperator),
		ObservedAt:      o.timeOrNone("observedAt"),
		ValidFrom:       o.timeOrNone("validFrom"),
		ValidUntil:      o.timeOrNone("validUntil"),
		Status:          oneOfOrNone(o, "status", item.StatusCurrent, item.StatusSuperseded, item.StatusProposed, item.StatusRejected),
		StateKey:        o.plain("stateKey", false),
		Supersedes:      orNone(o, "supersedes", item.MaxList, plainText(r)),
		EvidenceRefs:    orNone(o, "evidenceRefs", item.MaxList, plainText(r)),
		MemoryKind:      o.plain("memoryKind", false),
		JournalCategory: oneOfOrNone(o, "journalCategory", item.JournalCategories()...),
		RunID:           o.plain("runId", false),
		StageID:         o.plain("stageId", false),
	}}
	if r.err != nil {
		return Entry{}
	}
	e.Item = r.masks.Item(e.Item)
	if longer(e.Summary, MaxText) {
		r.fail(o.field("summary"), "exceeds %d characters with its secrets masked", MaxText)
	}
	return e
}

func (r *reader) provenance(entry *object) item.Provenance {
	o := entry.child("provenance", provenanceFields...)
	return item.Provenance{
		SourceType: oneOf(o, "sourceType", item.OriginHuman, item.OriginGit, item.OriginWorkflow, item.OriginTool, item.OriginPeer,
			item.OriginExternal, item.OriginDerived),
		SourceRef:    o.plain("sourceRef", false),
		DerivedFrom:  orNone(o, "derivedFrom", item.MaxList, plainText(r)),
		Path:         o.plain("path", false),
		Blob:         o.objectID("blob"),
		Author:       o.plain("author", false),
		Signer:       o.plain("signer", false),
		SelfPromoted: o.has("selfPromoted") && o.boolean("selfPromoted"),
	}
}

// plain reads a text of an item, whose mask masks them all. Its limit is that of any
// text, since the item's own held before it was masked.
func (o *object) plain(name string, required bool) string {
	if !o.has(name) && !required {
		return ""
	}
	return o.r.plain(o.field(name), o.values[name])
}

func plainText(r *reader) func(path string, value []byte) string {
	return func(path string, value []byte) string { return r.plain(path, value) }
}

func (r *reader) plain(field string, value []byte) string {
	return r.given(field, value, MaxText, filled)
}

// timeOrNone is time for a field that may be absent.
func (o *object) timeOrNone(name string) string {
	if !o.has(name) {
		return ""
	}
	return o.time(name)
}

// objectID reads the id of a Git object, which may be absent.
func (o *object) objectID(name string) string {
	s := o.plain(name, false)
	if o.has(name) && (len(s) != 40 && len(s) != 64 || strings.Trim(s, "0123456789abcdef") != "") {
		o.fail(name, "must be an object id of 40 or 64 lower-case hexadecimal digits")
	}
	return s
}

// oneOfOrNone is oneOf for a field that may be absent.
func oneOfOrNone[T ~string](o *object, name string, set ...T) T {
	if !o.has(name) {
		return ""
	}
	return oneOf(o, name, set...)
}

func (e *Entry) appendJSON(dst []byte) []byte {
	at := len(dst)
	dst = e.AppendJSON(dst)
	if !e.Versioned {
		const schema = `{"schema":"` + item.Schema + `",`
		dst = append(dst[:at+1], dst[at+len(schema):]...)
	}
	return dst
}

func (e *Entry) isEpisode() bool { return e.Kind == item.KindEpisode }
