package ndjson

import "bytes"

// MapText appends a validated JSON value with every text in it, keys included,
// replaced by what change returns. Numbers, literals and the order of members stay
// as they were written; white space is dropped. Keys that become equal get underscores behind
// them, so that the result has no duplicate key.
func MapText(dst, value []byte, change func(string) string) []byte {
	switch Kind(value) {
	case '{':
		dst = append(dst, '{')
		start := len(dst)
		seen := map[string]bool{}
		// The value is valid, so iterating over it cannot fail.
		_ = Fields(value, func(key string, v []byte) error {
			if len(dst) > start {
				dst = append(dst, ',')
			}
			key = change(key)
			for seen[key] { // two keys became one
				key += "_"
			}
			seen[key] = true
			dst = append(AppendString(dst, key), ':')
			dst = MapText(dst, v, change)
			return nil
		})
		return append(dst, '}')
	case '[':
		dst = append(dst, '[')
		start := len(dst)
		_ = Elements(value, func(v []byte) error {
			if len(dst) > start {
				dst = append(dst, ',')
			}
			dst = MapText(dst, v, change)
			return nil
		})
		return append(dst, ']')
	case '"':
		s, _ := Text(value)
		return AppendString(dst, change(s))
	}
	return append(dst, bytes.TrimSpace(value)...)
}
