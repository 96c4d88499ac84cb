package ndjson

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"kxm/lib/fault"
)

// Canonical validates raw and returns its RFC 8785 form: no space, keys in the
// order of their UTF-16 code units, texts with as few escapes as possible, and
// numbers as ECMAScript writes them. Numbers become doubles, so integers beyond
// 2^53 lose digits here: the form is for digests, never for passing data on. A
// number beyond the range of a double is refused.
func Canonical(raw []byte) ([]byte, error) {
	if err := Validate(raw); err != nil {
		return nil, err
	}
	return appendCanonical(make([]byte, 0, len(raw)), trimSpace(string(raw)), nil)
}

// Digest returns the SHA-256, in lower-case hex, of the canonical form of an
// object without the top-level fields named.
func Digest(raw []byte, without ...string) (string, error) {
	if err := Validate(raw); err != nil {
		return "", err
	}
	if Kind(raw) != '{' {
		return "", fault.New(fault.InvalidJSON, "the value is no object")
	}
	form, err := appendCanonical(make([]byte, 0, len(raw)), trimSpace(string(raw)), without)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(form)
	return hex.EncodeToString(sum[:]), nil
}

// appendCanonical appends the canonical form of a validated value, of whose own
// fields those in without are left out. It recurs, to at most MaxDepth.
func appendCanonical(dst []byte, value string, without []string) ([]byte, error) {
	switch value[0] {
	case '{':
		type field struct{ key, value string }
		var fields []field
		if err := FieldsText(value, func(key, value string) error {
			if !slices.Contains(without, key) {
				fields = append(fields, field{key, value})
			}
			return nil
		}); err != nil {
			return nil, err
		}
		slices.SortFunc(fields, func(a, b field) int { return compareUTF16(a.key, b.key) })
		dst = append(dst, '{')
		for i, f := range fields {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(AppendString(dst, f.key), ':')
			var err error
			if dst, err = appendCanonical(dst, f.value, nil); err != nil {
				return nil, err
			}
		}
		return append(dst, '}'), nil
	case '[':
		dst = append(dst, '[')
		first := true
		err := ElementsText(value, func(element string) (err error) {
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst, err = appendCanonical(dst, element, nil)
			return err
		})
		return append(dst, ']'), err
	case '"':
		text, _ := Unquote(value)
		return AppendString(dst, text), nil
	case 't', 'f', 'n':
		return append(dst, value...), nil
	}
	return appendNumber(dst, value)
}

// appendNumber writes a number as ECMAScript's Number::toString does.
func appendNumber(dst []byte, value string) ([]byte, error) {
	f, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return nil, fault.New(fault.InvalidJSON, "the number %s has no canonical form: it is beyond the range of a double", fault.Quote(value))
	}
	abs := math.Abs(f)
	switch {
	case f == 0:
		return append(dst, '0'), nil // also of -0
	case abs >= 1e-6 && abs < 1e21:
		return strconv.AppendFloat(dst, f, 'f', -1, 64), nil
	}
	text := strconv.FormatFloat(f, 'e', -1, 64)
	return append(dst, strings.Replace(text, "e-0", "e-", 1)...), nil // Go writes two digits at least
}

// compareUTF16 compares strings by their UTF-16 code units. That differs from the
// order of their bytes only where a character beyond U+FFFF, which begins with a
// unit from D800 to DBFF, meets one from U+E000 to U+FFFF.
func compareUTF16(a, b string) int {
	for a != "" && b != "" {
		r, n := utf8.DecodeRuneInString(a)
		q, m := utf8.DecodeRuneInString(b)
		if r != q {
			if (r > 0xFFFF) != (q > 0xFFFF) && min(r, q) >= 0xE000 {
				return int(q) - int(r)
			}
			return int(r) - int(q)
		}
		a, b = a[n:], b[m:]
	}
	return len(a) - len(b)
}
