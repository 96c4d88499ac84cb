package ndjson

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// AppendString appends s as a JSON string, with only what must be escaped
// escaped: quotes, backslashes and control characters, as encoding/json and RFC
// 8785 write them. Bytes that are not UTF-8 become the escape \ufffd.
func AppendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r != utf8.RuneError || size != 1 {
				i += size
				continue
			}
			dst = append(dst, s[start:i]...)
			dst = append(dst, `\ufffd`...)
			i++
			start = i
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, s[start:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, `\b`...)
		case '\f':
			dst = append(dst, `\f`...)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// Marshal is encoding/json's Marshal, except that <, >, &, U+2028 and U+2029
// stand as they are. It writes no final newline.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return plainSeparators(bytes.TrimSuffix(b.Bytes(), newline)), nil
}

// plainSeparators undoes the escapes of U+2028 and U+2029, which encoding/json
// writes for the sake of JavaScript whatever it is told.
func plainSeparators(raw []byte) []byte {
	if !bytes.Contains(raw, []byte(`\u202`)) {
		return raw
	}
	out := raw[:0]
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			out = append(out, raw[i])
			continue
		}
		if rest := raw[i:]; bytes.HasPrefix(rest, []byte(`\u2028`)) || bytes.HasPrefix(rest, []byte(`\u2029`)) {
			out = append(out, 0xE2, 0x80, 0xA8+rest[5]-'8')
			i += 5
			continue
		}
		out = append(out, raw[i], raw[i+1]) // an escaped backslash is not the start of the next escape
		i++
	}
	return out
}
