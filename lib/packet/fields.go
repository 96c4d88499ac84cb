package packet

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"kxm/lib/fault"
	"kxm/lib/item"
	"kxm/lib/ndjson"
)

// Limits of formal packets, steps and manifests. Lengths are in code points, and hold
// before and after secrets are masked, so that the next program can read what one wrote.
const (
	MaxText    = 50_000  // a free text
	MaxSnippet = 200_000 // an artifact's snippet
	MaxParts   = 256     // entries of a list
	MaxEntries = 4_096   // items in one section of the environment; gaps
	MaxUnknown = 64_000  // bytes of unknown fields, together
)

const maxNumber = 1_000_000_000 // of what is counted

// Masks remove secrets from a document as it is read, so that no later stage can
// print one.
type Masks struct {
	Item Mask
	// JSON appends a JSON value without secrets. Name is the key that it stands behind.
	JSON func(dst []byte, name string, value []byte) []byte
}

// reader reads the objects of one document strictly and keeps the first error, which
// names the field.
type reader struct {
	subject string // what the document is, for messages
	code    fault.Code
	masks   Masks
	unknown int // bytes of unknown fields so far
	err     error
}

func (r *reader) fail(field, format string, args ...any) {
	if r.err == nil {
		r.err = r.violation(field, fmt.Sprintf(format, args...))
	}
}

func (r *reader) violation(field, text string) *fault.Error {
	if field == "" {
		return fault.New(r.code, "the %s %s", r.subject, text)
	}
	return fault.New(r.code, "the %s's %s %s", r.subject, field, text).On(field)
}

// extra are the unknown fields of an object, masked and by name: what stands between
// the braces.
type extra []byte

// object is one object of a document.
type object struct {
	r      *reader
	path   string            // "" is the document itself
	values map[string][]byte // of the fields that are known; null is absent
	others []member
}

type member struct {
	key   string
	value []byte
}

// object takes an object apart. A value that is none, or absent, is an error.
func (r *reader) object(path string, value []byte, names ...string) *object {
	o := &object{r: r, path: path, values: make(map[string][]byte, len(names))}
	switch {
	case value == nil:
		r.fail(path, "is missing")
		return o
	case ndjson.Kind(value) != '{':
		r.fail(path, "must be an object")
		return o
	}
	if err := ndjson.Fields(value, func(key string, v []byte) error {
		if !slices.Contains(names, key) {
			o.others = append(o.others, member{key, v})
		} else if ndjson.Kind(v) != 'n' {
			o.values[key] = v
		}
		return nil
	}); err != nil && r.err == nil {
		r.err = err
	}
	return o
}

// extra returns the fields that are not known, which are passed through. Those that
// would grant something are refused, as they are in items.
func (o *object) extra() extra {
	if len(o.others) == 0 || o.r.err != nil {
		return nil
	}
	for _, m := range o.others {
		if item.ControlPlaneField(m.key) {
			o.r.err = fault.New(fault.ContextAuthorityViolation, "a %s may not carry control-plane field %s", o.r.subject, fault.Quote(m.key)).On(o.field(m.key))
			return nil
		}
	}
	raw := join(o.others)
	if o.r.unknown+len(raw) > MaxUnknown {
		o.r.fail(o.path, "has more than %d bytes of unknown fields", MaxUnknown)
		return nil
	}
	masked := o.r.masked(raw)
	slices.SortFunc(masked, func(a, b member) int { return cmp.Compare(a.key, b.key) })
	raw = join(masked)
	if o.r.unknown += len(raw); o.r.unknown > MaxUnknown {
		o.r.fail(o.path, "has more than %d bytes of unknown fields with their secrets masked", MaxUnknown)
	}
	return extra(raw[1 : len(raw)-1])
}

// masked returns the members of an object without secrets, in their keys too.
func (r *reader) masked(object []byte) []member {
	var members []member
	// What is masked is as valid as it was, so iterating over it cannot fail.
	_ = ndjson.Fields(r.masks.JSON(nil, "", object), func(key string, value []byte) error {
		members = append(members, member{key, value})
		return nil
	})
	return members
}

// join writes members as an object.
func join(members []member) []byte {
	raw := []byte{'{'}
	for i, m := range members {
		if i > 0 {
			raw = append(raw, ',')
		}
		raw = append(append(ndjson.AppendString(raw, m.key), ':'), m.value...)
	}
	return append(raw, '}')
}

// close adds the unknown fields behind the known ones and ends the object.
func (e extra) close(o *ndjson.Object) []byte {
	if len(e) > 0 {
		if o.Bytes[len(o.Bytes)-1] != '{' {
			o.Bytes = append(o.Bytes, ',')
		}
		o.Bytes = append(o.Bytes, e...)
	}
	return o.End()
}

func (o *object) field(name string) string {
	if o.path == "" {
		return name
	}
	return o.path + "." + name
}

func (o *object) has(name string) bool { return o.values[name] != nil }

func (o *object) fail(name, format string, args ...any) { o.r.fail(o.field(name), format, args...) }

// shape is what a text may be besides its length.
type shape uint8

const (
	anyText shape = iota // blank too
	filled
	single // filled, and without control characters
)

// text reads a text that must be there and not be blank.
func (o *object) text(name string, limit int) string {
	return o.r.text(o.field(name), name, o.values[name], limit, filled)
}

// prose reads a text that must be there and may be blank.
func (o *object) prose(name string) string {
	return o.r.text(o.field(name), name, o.values[name], MaxText, anyText)
}

// label reads a text that stands on one line among others: an id, a name, a reference.
func (o *object) label(name string) string {
	return o.r.text(o.field(name), name, o.values[name], item.MaxLabel, single)
}

// optional is text that may be absent, or empty, which is the same.
func (o *object) optional(name string, limit int) string {
	if o.absent(name) {
		return ""
	}
	return o.text(name, limit)
}

// optionalLabel is label that may be absent or empty.
func (o *object) optionalLabel(name string) string {
	if o.absent(name) {
		return ""
	}
	return o.label(name)
}

func (o *object) absent(name string) bool {
	s, ok := ndjson.Text(o.values[name])
	return !o.has(name) || ok && s == ""
}

// text checks a text as it was written and as it is once masked, and returns it masked.
// Name is the key that it stands behind.
func (r *reader) text(field, name string, value []byte, limit int, shape shape) string {
	if r.given(field, value, limit, shape); r.err != nil {
		return ""
	}
	clean, _ := ndjson.Text(r.masks.JSON(nil, name, value))
	if longer(clean, limit) {
		r.fail(field, "exceeds %d characters with its secrets masked", limit)
	}
	return clean
}

// given is text without the mask.
func (r *reader) given(field string, value []byte, limit int, shape shape) string {
	if value == nil {
		r.fail(field, "is missing")
		return ""
	}
	s, ok := ndjson.Text(value)
	switch {
	case !ok:
		r.fail(field, "must be a string")
	case shape != anyText && strings.TrimSpace(s) == "":
		r.fail(field, "cannot be empty")
	case shape == single && strings.ContainsFunc(s, unicode.IsControl):
		r.fail(field, "holds a control character")
	case longer(s, limit):
		r.fail(field, "exceeds %d characters", limit)
	}
	return s
}

// longer reports whether a text has more code points than limit; it has no more of
// them than bytes.
func longer(s string, limit int) bool {
	return len(s) > limit && utf8.RuneCountInString(s) > limit
}

// time reads a time with a zone, or a date.
func (o *object) time(name string) string {
	s := o.label(name)
	if s == "" || o.r.err != nil {
		return s
	}
	if _, err := item.ParseTime(s); err != nil {
		e := err.(*fault.Error)
		o.r.err = o.r.violation(o.field(name), "is no time: "+e.Message).WithHint("%s", e.Hint)
	}
	return s
}

// oneOf reads a member of a closed set.
func oneOf[T ~string](o *object, name string, set ...T) T {
	s, ok := ndjson.Text(o.values[name])
	switch {
	case !o.has(name):
		o.fail(name, "is missing")
	case !ok || !slices.Contains(set, T(s)):
		names := make([]string, len(set))
		for i, v := range set {
			names[i] = string(v)
		}
		o.fail(name, "must be one of %s", strings.Join(names, ", "))
	}
	return T(s)
}

// schema checks the document's schema. An absent one is refused unless it is optional.
func (o *object) schema(want string, required bool) {
	switch s, ok := ndjson.Text(o.values["schema"]); {
	case !o.has("schema") && !required:
	case !o.has("schema"):
		o.fail("schema", "is missing")
	case !ok:
		o.fail("schema", "must be a string")
	case s != want:
		o.fail("schema", "is %s, not %s", fault.Quote(s), want)
	}
}

// derivedID reads an id that was derived from content.
func (o *object) derivedID(name, prefix string) string {
	s, _ := ndjson.Text(o.values[name])
	digits, ok := strings.CutPrefix(s, prefix)
	if !ok || len(digits) != idDigits || strings.Trim(digits, "0123456789abcdef") != "" {
		o.fail(name, "must be %s and %d hexadecimal digits", prefix, idDigits)
	}
	return s
}

// number reads a whole number between two bounds.
func (o *object) number(name string, least, most int) int {
	return o.r.number(o.field(name), o.values[name], least, most)
}

func (r *reader) number(field string, value []byte, least, most int) int {
	if value == nil {
		r.fail(field, "is missing")
		return 0
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(value)))
	if err != nil || n < least || n > most {
		r.fail(field, "must be a whole number from %d to %d", least, most)
	}
	return n
}

func (o *object) boolean(name string) bool {
	switch kind := ndjson.Kind(o.values[name]); {
	case !o.has(name):
		o.fail(name, "is missing")
	case kind != 't' && kind != 'f':
		o.fail(name, "must be true or false")
	default:
		return kind == 't'
	}
	return false
}

// child takes an object in a field apart.
func (o *object) child(name string, names ...string) *object {
	return o.r.object(o.field(name), o.values[name], names...)
}

// elements reads a list that must be there; an empty one is not nil.
func elements[T any](o *object, name string, most int, read func(path string, value []byte) T) []T {
	list := []T{}
	switch value := o.values[name]; {
	case value == nil:
		o.fail(name, "is missing")
	case ndjson.Kind(value) != '[':
		o.fail(name, "must be a list")
	default:
		err := ndjson.Elements(value, func(v []byte) error {
			if o.r.err != nil {
				return o.r.err
			}
			if len(list) == most {
				o.fail(name, "has more than %d entries", most)
				return o.r.err
			}
			list = append(list, read(o.field(name)+"["+strconv.Itoa(len(list))+"]", v))
			return nil
		})
		if err != nil && o.r.err == nil {
			o.r.err = err
		}
	}
	return list
}

// orNone is elements for a list that may be absent.
func orNone[T any](o *object, name string, most int, read func(path string, value []byte) T) []T {
	if !o.has(name) {
		return []T{}
	}
	return elements(o, name, most, read)
}

// labels and texts read the entries of lists.
func (o *object) labels(name string) func(path string, value []byte) string {
	return func(path string, value []byte) string { return o.r.text(path, name, value, item.MaxLabel, single) }
}

func (o *object) texts(name string, limit int) func(path string, value []byte) string {
	return func(path string, value []byte) string { return o.r.text(path, name, value, limit, filled) }
}

// The functions below write what ndjson.Object has no method for.

func writeList[T any](o *ndjson.Object, name string, list []T, appendJSON func(v *T, dst []byte) []byte) {
	o.Name(name)
	o.Bytes = appendList(o.Bytes, list, appendJSON)
}

func appendList[T any](dst []byte, list []T, appendJSON func(v *T, dst []byte) []byte) []byte {
	dst = append(dst, '[')
	for i := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendJSON(&list[i], dst)
	}
	return append(dst, ']')
}

func writeObject(o *ndjson.Object, name string, appendJSON func(dst []byte) []byte) {
	o.Name(name)
	o.Bytes = appendJSON(o.Bytes)
}
