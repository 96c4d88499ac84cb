package ndjson

import "strconv"

// Object writes the members of a JSON object in the order of the calls. Names are
// written as they are, so they must need no escape; values are escaped. A value of
// another form is appended to Bytes behind [Object.Name].
type Object struct {
	Bytes []byte // ends with the opening brace at first; without the closing one
}

// NewObject begins an object at the end of dst.
func NewObject(dst []byte) Object { return Object{append(dst, '{')} }

// End closes the object and returns all bytes.
func (o *Object) End() []byte { return append(o.Bytes, '}') }

// Name begins a member, whose value is to follow.
func (o *Object) Name(name string) {
	if o.Bytes[len(o.Bytes)-1] != '{' {
		o.Bytes = append(o.Bytes, ',')
	}
	o.Bytes = append(append(append(o.Bytes, '"'), name...), `":`...)
}

// Text adds a text, empty or not.
func (o *Object) Text(name, value string) {
	o.Name(name)
	o.Bytes = AppendString(o.Bytes, value)
}

// Optional adds a text unless it is empty.
func (o *Object) Optional(name, value string) {
	if value != "" {
		o.Text(name, value)
	}
}

// Number adds a number.
func (o *Object) Number(name string, n int) {
	o.Name(name)
	o.Bytes = strconv.AppendInt(o.Bytes, int64(n), 10)
}

// Flag adds a truth value.
func (o *Object) Flag(name string, v bool) {
	o.Name(name)
	o.Bytes = strconv.AppendBool(o.Bytes, v)
}

// List adds an array of texts, "[]" when empty.
func (o *Object) List(name string, values []string) {
	o.Name(name)
	o.Bytes = append(o.Bytes, '[')
	for i, v := range values {
		if i > 0 {
			o.Bytes = append(o.Bytes, ',')
		}
		o.Bytes = AppendString(o.Bytes, v)
	}
	o.Bytes = append(o.Bytes, ']')
}
