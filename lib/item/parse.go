package item

import (
	"strings"

	"kxm/lib/fault"
	"kxm/lib/ndjson"
)

// Parse returns the item that raw holds, which package ndjson has validated. Null
// is absent; unknown fields are dropped, since what later stages do not know they
// cannot redact, measure or refuse; control-plane fields are refused. Ids and the
// entries of lists are trimmed, other texts kept as they are. The error is a
// *fault.Error that names the field; its place in the stream is the caller's to
// add. The item's texts share one copy of raw.
func Parse(raw []byte) (Item, error) {
	var it Item
	if _, err := parseRecord(string(raw), &it, false); err != nil {
		return Item{}, err
	}
	return it, nil
}

// The fields of an item, as indexes into the values of a walk.
const (
	fSchema = iota
	fID
	fKind
	fProject
	fSummary
	fProvenance
	fAuthority
	fConfidence
	fScope
	fObservedAt
	fValidFrom
	fValidUntil
	fStatus
	fStateKey
	fSupersedes
	fEvidenceRefs
	fMemoryKind
	fJournalCategory
	fRunID
	fStageID
	fieldCount
)

func fieldIndex(key string) int {
	switch key {
	case "schema":
		return fSchema
	case "id":
		return fID
	case "kind":
		return fKind
	case "project":
		return fProject
	case "summary":
		return fSummary
	case "provenance":
		return fProvenance
	case "authority":
		return fAuthority
	case "confidence":
		return fConfidence
	case "scope":
		return fScope
	case "observedAt":
		return fObservedAt
	case "validFrom":
		return fValidFrom
	case "validUntil":
		return fValidUntil
	case "status":
		return fStatus
	case "stateKey":
		return fStateKey
	case "supersedes":
		return fSupersedes
	case "evidenceRefs":
		return fEvidenceRefs
	case "memoryKind":
		return fMemoryKind
	case "journalCategory":
		return fJournalCategory
	case "runId":
		return fRunID
	case "stageId":
		return fStageID
	}
	return -1
}

// parseRecord reads an item into it or, if gaps are allowed, returns a gap record.
// Values are first gathered and then read in a fixed order, so that the order of
// keys decides nothing, not even which of two errors is reported; control-plane
// fields at the top come before all others. With an error, it holds anything.
func parseRecord(text string, it *Item, gaps bool) (*Gap, error) {
	if !strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{") {
		return nil, fault.New(fault.InvalidContextItem, "a context item must be an object")
	}
	var values [fieldCount]string
	control := ""
	err := ndjson.FieldsText(text, func(key, value string) error {
		if i := fieldIndex(key); i >= 0 {
			if value != "null" {
				values[i] = value
			}
		} else if ControlPlaneField(key) {
			control = firstOf(control, key)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if schema := values[fSchema]; schema != "" {
		switch name, ok := ndjson.Unquote(schema); {
		case !ok:
			return nil, violation(fault.InvalidContextItem, "schema", "must be a string")
		case name == GapSchema && gaps:
			return parseGap(text)
		case name != Schema:
			return nil, unknownSchema(name)
		}
	}
	if control != "" {
		return nil, controlField(control).On(control)
	}

	d := decoder{}
	it.ID = strings.TrimSpace(d.required("id", values[fID]))
	it.Kind = enum(&d, "kind", values[fKind], kinds)
	it.Project = d.required("project", values[fProject])
	it.Summary = d.required("summary", values[fSummary])
	d.provenance(values[fProvenance], &it.Provenance)
	it.Authority = enum(&d, "authority", values[fAuthority], authorities)
	it.Confidence = enum(&d, "confidence", values[fConfidence], confidences)
	it.Scope = enum(&d, "scope", values[fScope], scopes)
	it.ObservedAt = d.text("observedAt", values[fObservedAt])
	it.ValidFrom = d.text("validFrom", values[fValidFrom])
	it.ValidUntil = d.text("validUntil", values[fValidUntil])
	it.Status = enum(&d, "status", values[fStatus], statuses)
	it.StateKey = d.text("stateKey", values[fStateKey])
	it.Supersedes = d.list("supersedes", values[fSupersedes])
	it.EvidenceRefs = d.list("evidenceRefs", values[fEvidenceRefs])
	it.MemoryKind = d.text("memoryKind", values[fMemoryKind])
	it.JournalCategory = enum(&d, "journalCategory", values[fJournalCategory], categories)
	it.RunID = d.text("runId", values[fRunID])
	it.StageID = d.text("stageId", values[fStageID])
	if d.err != nil {
		return nil, d.err
	}
	return nil, it.check()
}

// decoder reads field values, where "" is an absent one, and keeps the first
// error. It checks types and what absence hides, the rest is Item.check's.
type decoder struct{ err error }

func (d *decoder) fail(err error) {
	if d.err == nil {
		d.err = err
	}
}

// text reads an optional text.
func (d *decoder) text(field, value string) string {
	if value == "" {
		return ""
	}
	return d.required(field, value)
}

// required reads a text that must be there.
func (d *decoder) required(field, value string) string {
	text, ok := ndjson.Unquote(value)
	switch {
	case !ok:
		d.fail(violation(fault.ProtocolError, field, "must be a string"))
	case text == "":
		d.fail(empty(field))
	}
	return text
}

// enum reads an optional member of a closed set and returns the set's own string,
// so that equal values share their memory.
func enum[T ~string](d *decoder, field, value string, set []T) T {
	if value == "" {
		return ""
	}
	text, _ := ndjson.Unquote(value)
	for _, v := range set {
		if string(v) == text {
			return v
		}
	}
	d.fail(notOneOf(field, set))
	return ""
}

// list reads an optional list of texts and trims them.
func (d *decoder) list(field, value string) []string {
	if value == "" || value == "[]" {
		return nil
	}
	var list []string
	if !strings.HasPrefix(value, "[") {
		d.fail(violation(fault.InvalidContextItem, field, "must be a list"))
		return nil
	}
	err := ndjson.ElementsText(value, func(value string) error {
		text, ok := ndjson.Unquote(value)
		text = strings.TrimSpace(text)
		switch {
		case len(list) == MaxList:
			return tooMany(field)
		case !ok:
			return violation(fault.ProtocolError, field, "must hold strings")
		case text == "":
			return empty(field)
		}
		list = append(list, text)
		return nil
	})
	if err != nil {
		d.fail(err)
	}
	return list
}

func (d *decoder) provenance(value string, p *Provenance) {
	if !strings.HasPrefix(value, "{") {
		d.fail(fault.New(fault.InvalidContextItem, "context provenance must be an object").On("provenance"))
		return
	}
	var sourceType, sourceRef, derivedFrom, path, blob, author, signer, selfPromoted, control string
	err := ndjson.FieldsText(value, func(key, value string) error {
		if value == "null" {
			value = ""
		}
		switch key {
		case "sourceType":
			sourceType = value
		case "sourceRef":
			sourceRef = value
		case "derivedFrom":
			derivedFrom = value
		case "path":
			path = value
		case "blob":
			blob = value
		case "author":
			author = value
		case "signer":
			signer = value
		case "selfPromoted":
			selfPromoted = value
		default:
			if ControlPlaneField(key) {
				control = firstOf(control, key)
			}
		}
		return nil
	})
	if err != nil {
		d.fail(err)
		return
	}
	if control != "" {
		d.fail(controlField(control).On("provenance." + control))
	}
	p.SourceType = enum(d, "provenance.sourceType", sourceType, origins)
	p.SourceRef = d.text("provenance.sourceRef", sourceRef)
	p.DerivedFrom = d.list("provenance.derivedFrom", derivedFrom)
	p.Path = d.text("provenance.path", path)
	p.Blob = d.text("provenance.blob", blob)
	p.Author = d.text("provenance.author", author)
	p.Signer = d.text("provenance.signer", signer)
	switch selfPromoted {
	case "true":
		p.SelfPromoted = true
	case "", "false":
	default:
		d.fail(violation(fault.InvalidContextField, "provenance.selfPromoted", "must be true or false"))
	}
}

// parseGap reads a gap record; fields it does not know are dropped.
func parseGap(text string) (*Gap, error) {
	var name, detail string
	if err := ndjson.FieldsText(text, func(key, value string) error {
		switch {
		case value == "null":
		case key == "gap":
			name = value
		case key == "detail":
			detail = value
		}
		return nil
	}); err != nil {
		return nil, err
	}
	var gap Gap
	var ok bool
	if gap.Gap, ok = ndjson.Unquote(name); !ok {
		return nil, fault.New(fault.ProtocolError, "the gap of a gap record must be a string").On("gap")
	}
	if checkText("gap", gap.Gap, MaxLabel) != nil {
		return nil, fault.New(fault.ProtocolError, "the gap of a gap record must have 1 to %d characters", MaxLabel).On("gap")
	}
	if detail != "" {
		if gap.Detail, ok = ndjson.Unquote(detail); !ok {
			return nil, fault.New(fault.ProtocolError, "the detail of a gap record must be a string").On("detail")
		}
	}
	return &gap, nil
}

// firstOf returns the lesser of two names, of which the first may be none yet.
func firstOf(name, other string) string {
	if name == "" {
		return other
	}
	return min(name, other)
}

func unknownSchema(name string) error {
	return violation(fault.InvalidContextItem, "schema", "is %s, not %s", fault.Quote(name), Schema)
}

func controlField(name string) *fault.Error {
	return fault.New(fault.ContextAuthorityViolation, "context items may not carry control-plane field %s", fault.Quote(name))
}
