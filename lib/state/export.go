package state

import (
	"slices"
	"unicode/utf8"

	"kxm/lib/fault"
	"kxm/lib/ndjson"
)

// RecordSchema names the form in which records are exported.
const RecordSchema = "kxm.state-record.v1"

// AppendRecord appends a record as one compact JSON object: the exact bytes of its
// event and its signatures, as texts. What is not UTF-8 has no such form, and is
// refused (InvalidStateEvent), as is what the store could not read. Signatures of
// which this holds are left out: they can never count.
func AppendRecord(dst []byte, r *Record) ([]byte, error) {
	if r.Err != nil {
		return dst, r.Err
	}
	if !utf8.Valid(r.Event) {
		return dst, invalid("", "the event %s is not UTF-8", fault.Quote(r.ID))
	}
	var signatures []string
	for _, s := range r.Signatures {
		if s.Err == nil && utf8.Valid(s.Data) {
			signatures = append(signatures, string(s.Data))
		}
	}
	slices.Sort(signatures)
	o := ndjson.NewObject(dst)
	o.Text("schema", RecordSchema)
	o.Text("id", r.ID)
	o.Text("event", string(r.Event))
	o.List("signatures", signatures)
	return o.End(), nil
}

// ParseRecord reads a record from one JSON object, which package ndjson has
// validated. Whether its event is right is [Check]'s to say.
func ParseRecord(raw []byte) (Record, error) {
	if ndjson.Kind(raw) != '{' {
		return Record{}, fault.New(fault.InvalidStateEvent, "a record must be an object")
	}
	f := fields{names: []string{"schema", "id", "event", "signatures"}, anyOrder: true}
	f.read(string(raw))
	if schema := f.text("schema"); f.err == nil && schema != RecordSchema {
		f.fail(invalid("schema", "is %s, not %s", fault.Quote(masked(schema)), RecordSchema))
	}
	r := Record{ID: f.text("id"), Event: []byte(f.text("event"))}
	if _, ok := ParseID(r.ID); !ok {
		f.fail(invalid("id", "is no event id"))
	}
	if len(r.Event) == 0 {
		f.fail(invalid("event", "is missing"))
	}
	for _, s := range f.list("signatures") {
		r.Signatures = append(r.Signatures, SignatureFile{Data: []byte(s)})
	}
	return r, f.err
}
