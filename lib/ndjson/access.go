package ndjson

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"kxm/lib/fault"
)

// The functions here walk values that were validated before, and check only as
// much as keeps them from reading outside of the text: of a value that was not
// validated they may return an error or a wrong result.

// Fields calls fn with each key (unescaped) and value of an object, in order; the
// first error ends it and is returned. Anything but an object is InvalidJSON. The
// value is a part of object; keys share one copy of it.
func Fields(object []byte, fn func(key string, value []byte) error) error {
	return walkObject(string(object), func(key string, from, to int) error {
		return fn(key, object[from:to:to])
	})
}

// FieldsText is Fields over a string, which keys and values are parts of, so that
// nothing is copied.
func FieldsText(object string, fn func(key, value string) error) error {
	return walkObject(object, func(key string, from, to int) error {
		return fn(key, object[from:to])
	})
}

// Elements calls fn with each element of an array, in order; the first error ends
// it and is returned. Anything but an array is InvalidJSON.
func Elements(array []byte, fn func(value []byte) error) error {
	return walkArray(string(array), func(from, to int) error {
		return fn(array[from:to:to])
	})
}

// ElementsText is Elements over a string.
func ElementsText(array string, fn func(value string) error) error {
	return walkArray(array, func(from, to int) error {
		return fn(array[from:to])
	})
}

// Text returns the text of a JSON string; ok is false for any other value.
func Text(value []byte) (s string, ok bool) { return Unquote(string(value)) }

// Unquote is Text over a string, which the result is a part of unless the text
// holds escapes.
func Unquote(value string) (s string, ok bool) {
	value = trimSpace(value)
	if len(value) < 2 || value[0] != '"' || value[len(value)-1] != '"' {
		return "", false
	}
	value = value[1 : len(value)-1]
	i := strings.IndexByte(value, '\\')
	if i < 0 {
		return value, true
	}
	var b strings.Builder
	b.Grow(len(value))
	for i >= 0 {
		b.WriteString(value[:i])
		r, size := unescape(value[i:])
		if size == 0 {
			return "", false
		}
		b.WriteRune(r)
		value = value[i+size:]
		i = strings.IndexByte(value, '\\')
	}
	b.WriteString(value)
	return b.String(), true
}

// Kind returns what a value is: '{', '[', '"', 't', 'f', 'n', or '0' for a
// number; 0 if there is none.
func Kind(value []byte) byte {
	i := leadingSpace(value)
	if i == len(value) {
		return 0
	}
	switch c := value[i]; {
	case c == '-' || '0' <= c && c <= '9':
		return '0'
	default:
		return c
	}
}

// unescape decodes the escape sequence that s begins with; size 0 means that it
// is none.
func unescape(s string) (r rune, size int) {
	if len(s) < 2 {
		return 0, 0
	}
	switch s[1] {
	case '"', '\\', '/':
		return rune(s[1]), 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
	default:
		return 0, 0
	}
	r, ok := unit(s)
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	low, ok := unit(s[6:])
	if r = utf16.DecodeRune(r, low); !ok || r == utf8.RuneError {
		return 0, 0
	}
	return r, 12
}

// unit reads a \u escape.
func unit(s string) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	var r rune
	for i := 2; i < 6; i++ {
		d, ok := hexDigit(s[i])
		if !ok {
			return 0, false
		}
		r = r<<4 | rune(d)
	}
	return r, true
}

// walkObject calls fn with each key of an object and the range of its value.
func walkObject(s string, fn func(key string, from, to int) error) error {
	i := leadingSpace(s)
	if i == len(s) || s[i] != '{' {
		return fault.New(fault.InvalidJSON, "the value is no object")
	}
	for first := true; ; first = false {
		i = skipSpace(s, i+1)
		if first && i < len(s) && s[i] == '}' {
			return nil
		}
		keyEnd := textEnd(s, i)
		if keyEnd < 0 {
			return errMalformed()
		}
		key, ok := Unquote(s[i:keyEnd])
		colon := skipSpace(s, keyEnd)
		if !ok || colon >= len(s) || s[colon] != ':' {
			return errMalformed()
		}
		from := skipSpace(s, colon+1)
		to := valueEnd(s, from)
		if to < 0 {
			return errMalformed()
		}
		if err := fn(key, from, to); err != nil {
			return err
		}
		i = skipSpace(s, to)
		switch {
		case i < len(s) && s[i] == ',':
		case i < len(s) && s[i] == '}':
			return nil
		default:
			return errMalformed()
		}
	}
}

// walkArray calls fn with the range of each element of an array.
func walkArray(s string, fn func(from, to int) error) error {
	i := leadingSpace(s)
	if i == len(s) || s[i] != '[' {
		return fault.New(fault.InvalidJSON, "the value is no array")
	}
	for first := true; ; first = false {
		i = skipSpace(s, i+1)
		if first && i < len(s) && s[i] == ']' {
			return nil
		}
		to := valueEnd(s, i)
		if to < 0 {
			return errMalformed()
		}
		if err := fn(i, to); err != nil {
			return err
		}
		i = skipSpace(s, to)
		switch {
		case i < len(s) && s[i] == ',':
		case i < len(s) && s[i] == ']':
			return nil
		default:
			return errMalformed()
		}
	}
}

func errMalformed() error { return fault.New(fault.InvalidJSON, "the value is not valid JSON") }

// valueEnd returns the offset behind the value that begins at i, or -1.
func valueEnd(s string, i int) int {
	if i >= len(s) {
		return -1
	}
	switch s[i] {
	case '"':
		return textEnd(s, i)
	case '{', '[':
		depth := 0
		for i < len(s) {
			switch s[i] {
			case '"':
				if i = textEnd(s, i); i < 0 {
					return -1
				}
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
			i++
		}
		return -1
	}
	start := i
	for i < len(s) && s[i] != ',' && s[i] != '}' && s[i] != ']' && !isSpace(s[i]) {
		i++
	}
	if i == start {
		return -1
	}
	return i
}

// textEnd returns the offset behind the string that begins at i, or -1.
func textEnd(s string, i int) int {
	if i >= len(s) || s[i] != '"' {
		return -1
	}
	for from := i + 1; ; {
		n := strings.IndexByte(s[from:], '"')
		if n < 0 {
			return -1
		}
		end := from + n
		// The quote is escaped if the run of backslashes before it is odd.
		run := 0
		for end-run > from && s[end-run-1] == '\\' {
			run++
		}
		if run%2 == 0 {
			return end + 1
		}
		from = end + 1
	}
}

func skipSpace(s string, i int) int {
	for i < len(s) && isSpace(s[i]) {
		i++
	}
	return i
}

func trimSpace(s string) string {
	s = s[leadingSpace(s):]
	for s != "" && isSpace(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	return s
}
