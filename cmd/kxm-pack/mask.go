package main

import (
	"bytes"
	"strings"

	"kxm/lib/item"
	"kxm/lib/ndjson"
	"kxm/lib/redact"
)

// maskText removes secrets from a text that is printed.
func maskText(s string) string {
	clean, _ := redact.Redact(s)
	return clean
}

// maskItem removes secrets from every text of an item that is printed.
func maskItem(it item.Item) item.Item {
	p := &it.Provenance
	for _, s := range []*string{
		&it.ID, &it.Project, &it.Summary, &it.StateKey, &it.MemoryKind, &it.RunID, &it.StageID,
		&p.SourceRef, &p.Path, &p.Author, &p.Signer,
	} {
		*s = maskText(*s)
	}
	if it.Kind == item.KindState && !strings.ContainsAny(it.Summary, " \t\r\n") {
		// A state's key is a name for its value, where that is a value and no prose.
		it.Summary = maskNamed(it.StateKey, it.Summary)
	}
	for _, list := range []*[]string{&it.Supersedes, &it.EvidenceRefs, &p.DerivedFrom} {
		clean := make([]string, len(*list))
		for i, s := range *list {
			clean[i] = maskText(s)
		}
		*list = clean
	}
	return it
}

// maskGaps removes secrets from the texts of gap records.
func maskGaps(pool *item.Pool) {
	for i := range pool.Gaps {
		pool.Gaps[i].Gap = maskText(pool.Gaps[i].Gap)
	}
}

// maskNamed removes secrets from a value that stands behind a name: many are known
// by the name alone.
func maskNamed(name, value string) string {
	value = maskText(value)
	before := name + `="`
	clean, found := redact.Redact(before + value + `"`)
	if len(found) == 0 {
		return value
	}
	rest, ok := strings.CutPrefix(clean, before)
	if !ok {
		return "[redacted:" + found[0].Rule + "]" // of which the name is a part
	}
	return strings.TrimSuffix(rest, `"`)
}

// maskJSON appends a validated JSON value without secrets in its texts and keys. Name
// is the key that the value stands behind.
func maskJSON(dst []byte, name string, value []byte) []byte {
	switch ndjson.Kind(value) {
	case '{':
		dst = append(dst, '{')
		seen := map[string]bool{}
		// The value is valid, so that iterating over it cannot fail.
		_ = ndjson.Fields(value, func(key string, v []byte) error {
			if len(seen) > 0 {
				dst = append(dst, ',')
			}
			clean := maskText(key)
			for seen[clean] { // two keys became one
				clean += "_"
			}
			seen[clean] = true
			dst = append(ndjson.AppendString(dst, clean), ':')
			dst = maskJSON(dst, key, v)
			return nil
		})
		return append(dst, '}')
	case '[':
		dst = append(dst, '[')
		start := len(dst)
		_ = ndjson.Elements(value, func(v []byte) error {
			if len(dst) > start {
				dst = append(dst, ',')
			}
			dst = maskJSON(dst, name, v)
			return nil
		})
		return append(dst, ']')
	case '"':
		text, _ := ndjson.Text(value)
		return ndjson.AppendString(dst, maskNamed(name, text))
	}
	return append(dst, bytes.TrimSpace(value)...)
}
