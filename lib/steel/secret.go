package steel

import (
	"encoding/base64"
	"io"
	"net/url"
	"slices"
	"strings"

	"kxm/lib/ndjson"
)

// Secrets knows values that must not be printed, in every spelling that they may have
// in an answer or a message. The zero value knows none.
type Secrets struct{ spellings []string }

// Add makes a value known. An empty one is none.
func (s *Secrets) Add(value string) {
	if value == "" {
		return
	}
	quoted := ndjson.AppendString(nil, value)
	all := []string{value, url.QueryEscape(value), url.PathEscape(value), string(quoted[1 : len(quoted)-1])}
	for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			all = append(all, inBase64(alphabet, value, before))
		}
	}
	for _, text := range all {
		if text != "" && !slices.Contains(s.spellings, text) {
			s.spellings = append(s.spellings, text)
		}
	}
	// The longest first: a short one may be a part of it.
	slices.SortStableFunc(s.spellings, func(a, b string) int { return len(b) - len(a) })
}

// inBase64 returns the characters of a longer base64 text that depend on the value
// alone, which stands in it behind before bytes (modulo 3).
func inBase64(alphabet *base64.Encoding, value string, before int) string {
	text := alphabet.EncodeToString([]byte(strings.Repeat("\x00", before) + value))
	first := (8*before + 5) / 6 // the first character without a bit of what stands before
	last := 8 * (before + len(value)) / 6
	if first >= last {
		return ""
	}
	return text[first:last]
}

// Mask returns text without the values.
func (s *Secrets) Mask(text string) string {
	for _, spelling := range s.spellings {
		text = strings.ReplaceAll(text, spelling, maskedValue)
	}
	return text
}

// Writer returns a writer that masks what is written to it. A value that is split
// between two writes is not found, so that lines are written whole.
func (s *Secrets) Writer(w io.Writer) io.Writer { return maskingWriter{w, s} }

type maskingWriter struct {
	to      io.Writer
	secrets *Secrets
}

func (m maskingWriter) Write(p []byte) (int, error) {
	if _, err := io.WriteString(m.to, m.secrets.Mask(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}
