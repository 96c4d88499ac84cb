package skill

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"kxm/lib/fault"
	"kxm/lib/item"
	"kxm/lib/ndjson"
	"kxm/lib/redact"
)

// record is a JSON object as it was read: its fields in order, each value raw.
// Only fields that a verb changes are replaced, so what a newer version wrote
// stays.
type record []field

type field struct {
	key   string
	value []byte
}

// order is the order in which metadata is written; fields it does not name follow
// by name.
var order = []string{"schema", "id", "name", "description", "digest", "author", "models", "sources", "status", "createdAt", "evaluations", "decided"}

func (r record) get(key string) []byte {
	for _, f := range r {
		if f.key == key {
			return f.value
		}
	}
	return nil
}

// with returns a copy with a field set.
func (r record) with(key string, value []byte) record {
	out := slices.Clone(r)
	if i := slices.IndexFunc(out, func(f field) bool { return f.key == key }); i >= 0 {
		out[i].value = value
		return out
	}
	return append(out, field{key, value})
}

// appendJSON appends the object, compact, in the order of writing.
func (r record) appendJSON(dst []byte) []byte {
	rank := func(key string) int {
		if i := slices.Index(order, key); i >= 0 {
			return i
		}
		return len(order)
	}
	sorted := slices.Clone(r)
	slices.SortFunc(sorted, func(a, b field) int {
		if d := rank(a.key) - rank(b.key); d != 0 {
			return d
		}
		return strings.Compare(a.key, b.key)
	})
	dst = append(dst, '{')
	for i, f := range sorted {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(ndjson.AppendString(dst, f.key), ':')
		dst = append(dst, f.value...)
	}
	return append(dst, '}')
}

// file returns the bytes of metadata.json: indented, since people review it.
func (r record) file() []byte {
	var b bytes.Buffer
	if err := json.Indent(&b, r.appendJSON(nil), "", "  "); err != nil {
		panic("skill: metadata is no JSON: " + err.Error()) // every value was validated or written here
	}
	b.WriteByte('\n')
	return b.Bytes()
}

// AppendJSON appends the metadata as one compact object, unknown fields included,
// with the status by the folder and every text redacted.
func (s *Skill) AppendJSON(dst []byte) []byte {
	raw := s.fields.with("status", ndjson.AppendString(nil, string(s.Status))).appendJSON(nil)
	return ndjson.MapText(dst, raw, func(text string) string {
		text, _ = redact.Redact(text)
		return text
	})
}

// MarshalJSON returns what AppendJSON appends.
func (s Skill) MarshalJSON() ([]byte, error) { return s.AppendJSON(nil), nil }

// encodeList returns a JSON list of texts.
func encodeList(list []string) []byte {
	out := []byte{'['}
	for i, s := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = ndjson.AppendString(out, s)
	}
	return append(out, ']')
}

// object builds a JSON object field by field.
type object struct{ bytes []byte }

func (o *object) raw(key string, value []byte) *object {
	if o.bytes == nil {
		o.bytes = []byte{'{'}
	} else {
		o.bytes = append(o.bytes, ',')
	}
	o.bytes = append(ndjson.AppendString(o.bytes, key), ':')
	o.bytes = append(o.bytes, value...)
	return o
}

func (o *object) text(key, value string) *object {
	return o.raw(key, ndjson.AppendString(nil, value))
}

// optional is text that is left out when empty.
func (o *object) optional(key, value string) *object {
	if value == "" {
		return o
	}
	return o.text(key, value)
}

func (o *object) end() []byte { return append(o.bytes, '}') }

// newRecord returns the metadata of a new candidate.
func newRecord(s *Skill) record {
	text := func(v string) []byte { return ndjson.AppendString(nil, v) }
	var sources object
	sources.raw("runIds", encodeList(s.Sources.RunIDs)).raw("journalIds", encodeList(s.Sources.JournalIDs)).
		raw("receipts", encodeList(s.Sources.Receipts))
	return record{
		{"schema", text(Schema)}, {"id", text(s.ID)}, {"name", text(s.Name)}, {"description", text(s.Description)},
		{"digest", text(s.Digest)}, {"author", text(s.Author)}, {"models", encodeList(s.Models)}, {"sources", sources.end()},
		{"status", text(string(s.Status))}, {"createdAt", text(s.CreatedAt)}, {"evaluations", []byte("[]")},
	}
}

// withEvaluation adds an evaluation behind those recorded, which stay as they are.
func (r record) withEvaluation(e Evaluation) record {
	var o object
	o.text("kind", string(e.Kind)).raw("passed", strconv.AppendBool(nil, e.Passed)).text("by", e.By).text("at", e.At).
		raw("evidence", encodeList(e.Evidence)).optional("notes", e.Notes)
	list := bytes.TrimRight(bytes.TrimSuffix(bytes.TrimSpace(r.get("evaluations")), []byte{']'}), " \t\r\n")
	list = slices.Clone(list)
	if !bytes.Equal(list, []byte{'['}) {
		list = append(list, ',')
	}
	return r.with("evaluations", append(append(list, o.end()...), ']'))
}

// withDecision sets the status and the decision that led to it.
func (r record) withDecision(status Status, d Decision) record {
	var o object
	o.text("by", d.By).text("at", d.At).raw("evidence", encodeList(d.Evidence)).optional("reason", d.Reason)
	return r.with("status", ndjson.AppendString(nil, string(status))).with("decided", o.end())
}

// parseMetadata reads metadata.json of the skill in a folder of the status and
// with the id as its name. Anything but what kxm.skill.v1 says is
// fault.InvalidSkillMetadata, naming the field; fields it does not know are kept.
func parseMetadata(source string, data []byte, status Status, id string) (*Skill, error) {
	if err := ndjson.Validate(data); err != nil {
		invalid := fault.New(fault.InvalidSkillMetadata, "the metadata is no JSON")
		var f *fault.Error
		if errors.As(err, &f) {
			invalid = fault.New(fault.InvalidSkillMetadata, "the metadata is no JSON: %s", f.Message).At(source, f.Line, f.Column)
		}
		return nil, invalid.At(source, 0, 0)
	}
	s := &Skill{Status: status}
	d := decoder{source: source}
	d.object("", data, func(key string, value []byte) {
		s.fields = append(s.fields, field{key, value})
		switch key {
		case "schema":
			if got := d.text(key, value); d.err == nil && got != Schema {
				d.refuse(key, "is %s, not %s", quoted(got), Schema)
			}
		case "id":
			s.ID = d.text(key, value)
		case "name":
			s.Name = d.text(key, value)
		case "description":
			s.Description = d.text(key, value)
		case "digest":
			s.Digest = d.text(key, value)
		case "author":
			s.Author = d.text(key, value)
		case "models":
			s.Models = d.list(key, value)
		case "sources":
			d.object(key, value, func(name string, value []byte) {
				switch name {
				case "runIds":
					s.Sources.RunIDs = d.list("sources.runIds", value)
				case "journalIds":
					s.Sources.JournalIDs = d.list("sources.journalIds", value)
				case "receipts":
					s.Sources.Receipts = d.list("sources.receipts", value)
				}
			})
		case "status":
			s.recorded = Status(d.text(key, value))
		case "createdAt":
			s.CreatedAt = d.time(key, value)
		case "evaluations":
			d.array(key, value, func(value []byte) {
				s.Evaluations = append(s.Evaluations, d.evaluation("evaluations["+strconv.Itoa(len(s.Evaluations))+"]", value))
			})
		case "decided":
			if ndjson.Kind(value) != 'n' {
				decision := d.decision(key, value)
				s.Decided = &decision
			}
		}
	})
	for _, key := range order[:len(order)-1] {
		if s.fields.get(key) == nil {
			d.refuse(key, "is missing")
		}
	}
	switch {
	case d.err != nil:
	case s.ID != id:
		d.refuse("id", "is %s, and the folder %s", quoted(s.ID), quoted(id))
	case !validName(s.Name):
		d.refuse("name", "breaks the Agent Skills rules")
	case !validDigest(s.Digest):
		d.refuse("digest", "is no kxt1 digest")
	case newID(s.Name, s.Digest) != s.ID:
		d.refuse("id", "is not made of the name and the digest")
	case strings.TrimSpace(s.Author) == "":
		d.refuse("author", "is empty")
	case len(s.Models) == 0 || len(s.Models) > MaxModels:
		d.refuse("models", "has %d entries, not 1 to %d", len(s.Models), MaxModels)
	case s.Sources.empty():
		d.refuse("sources", "names nothing")
	case !slices.Contains(statuses, s.recorded):
		d.refuse("status", "is %s", quoted(string(s.recorded)))
	}
	if d.err != nil {
		return nil, d.err
	}
	return s, nil
}

// decoder reads validated JSON and keeps the first thing that is wrong.
type decoder struct {
	source string
	err    error
}

func (d *decoder) refuse(name, format string, args ...any) {
	if d.err == nil {
		e := fault.New(fault.InvalidSkillMetadata, name+" "+format, args...)
		if name == "" {
			e = fault.New(fault.InvalidSkillMetadata, "the metadata "+format, args...)
		}
		d.err = e.On(name).At(d.source, 0, 0)
	}
}

func (d *decoder) text(name string, value []byte) string {
	s, ok := ndjson.Text(value)
	if !ok {
		d.refuse(name, "is no text")
	}
	return s
}

func (d *decoder) time(name string, value []byte) string {
	s := d.text(name, value)
	if d.err == nil {
		if _, err := item.ParseTime(s); err != nil {
			d.refuse(name, "is no time")
		}
	}
	return s
}

func (d *decoder) array(name string, value []byte, element func([]byte)) {
	if ndjson.Kind(value) != '[' {
		d.refuse(name, "is no list")
		return
	}
	d.keep(ndjson.Elements(value, func(v []byte) error { element(v); return d.err }))
}

func (d *decoder) object(name string, value []byte, each func(key string, value []byte)) {
	if ndjson.Kind(value) != '{' {
		d.refuse(name, "is no object")
		return
	}
	d.keep(ndjson.Fields(value, func(key string, v []byte) error { each(key, v); return d.err }))
}

func (d *decoder) keep(err error) {
	if d.err == nil {
		d.err = err
	}
}

func (d *decoder) list(name string, value []byte) []string {
	list := []string{}
	d.array(name, value, func(v []byte) { list = append(list, d.text(name, v)) })
	return list
}

func (d *decoder) evaluation(name string, value []byte) Evaluation {
	e := Evaluation{Evidence: []string{}}
	var kind, passed bool
	d.object(name, value, func(key string, value []byte) {
		switch key {
		case "kind":
			e.Kind = EvaluationKind(d.text(name+".kind", value))
			kind = true
		case "passed":
			c := ndjson.Kind(value)
			if c != 't' && c != 'f' {
				d.refuse(name+".passed", "is neither true nor false")
			}
			e.Passed = c == 't'
			passed = true
		case "by":
			e.By = d.text(name+".by", value)
		case "at":
			e.At = d.time(name+".at", value)
		case "evidence":
			e.Evidence = d.list(name+".evidence", value)
		case "notes":
			e.Notes = d.text(name+".notes", value)
		}
	})
	if !kind || !passed || e.By == "" || e.At == "" {
		d.refuse(name, "lacks kind, passed, by or at")
	}
	return e
}

func (d *decoder) decision(name string, value []byte) Decision {
	var c Decision
	d.object(name, value, func(key string, value []byte) {
		switch key {
		case "by":
			c.By = d.text(name+".by", value)
		case "at":
			c.At = d.time(name+".at", value)
		case "evidence":
			c.Evidence = d.list(name+".evidence", value)
		case "reason":
			c.Reason = d.text(name+".reason", value)
		}
	})
	if c.By == "" || c.At == "" {
		d.refuse(name, "lacks by or at")
	}
	return c
}
