// Package ndjson owns JSON as it enters and leaves the programs: a strict,
// streaming reader of any sequence of values, access to the members of a value
// without decoding it, writing, and the canonical form that digests are of.
//
// Start with [NewDecoder] for a stream and [Validate] for one value. Strict
// means: UTF-8 without a byte-order mark, no duplicate key, no lone surrogate
// escape, no more than [MaxDepth] levels, nothing after the value. Numbers and
// texts are kept as they were written, so that what is passed through stays
// exact. The package knows no schema, and it maps nothing to Go structs except in
// [Marshal].
package ndjson

import (
	"bytes"
	"sync"

	"kxm/lib/fault"
)

// Limits of one value, which in an unrolled list is one element.
const (
	MaxValue = 16 << 20 // bytes from its first to its last
	MaxDepth = 1000     // arrays and objects that are open at once
)

// Validate reports whether raw is exactly one strict JSON value; white space may
// surround it. The error is a *fault.Error with code InvalidJSON and the line
// within raw. The size is not limited.
func Validate(raw []byte) error {
	v := validators.Get().(*Validator)
	defer validators.Put(v)
	return v.Validate(raw)
}

// Validator validates values one after another and keeps the lists in which it notes
// levels and keys. Its zero value is ready.
type Validator struct{ scan scanner }

// validators serve those who validate values here and there: a log is validated event by
// event, and making the lists anew took as long as scanning.
var validators = sync.Pool{New: func() any { return new(Validator) }}

// Validate is the function of that name.
func (v *Validator) Validate(raw []byte) error {
	s := &v.scan
	s.reset(false)
	if leadingSpace(raw) == len(raw) {
		s.fail(len(raw), "the text holds no JSON value")
		return s.fault(raw)
	}
	if s.run(raw, true) == failed {
		return s.fault(raw)
	}
	if i := s.pos + leadingSpace(raw[s.pos:]); i < len(raw) {
		s.unexpected(raw, i, true, "after the value")
		return s.fault(raw)
	}
	return nil
}

// fault turns the scanner's problem into an error that names the line within buf.
func (s *scanner) fault(buf []byte) *fault.Error {
	e := fault.New(fault.InvalidJSON, "%s", s.problem.message)
	e.Line = 1 + bytes.Count(buf[:s.problem.at], newline)
	e.Hint = s.problem.hint
	return e
}

var newline = []byte{'\n'}

// leadingSpace counts the white space that text begins with.
func leadingSpace[T []byte | string](text T) int {
	for i := range len(text) {
		if !isSpace(text[i]) {
			return i
		}
	}
	return len(text)
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }
