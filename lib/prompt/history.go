package prompt

import (
	"bytes"
	"io"

	"kxm/lib/fault"
	"kxm/lib/ndjson"
)

// The entry of a history that delivered an update.
const (
	historyType   = "custom_message"
	historyCustom = "kxm-context"
	historyDetail = "kxmContext"
	compaction    = "compaction"
)

// Found is what a history says of the last update.
type Found struct {
	Snapshot *Snapshot // nil: none that still counts
	// Malformed says that the newest update carries no snapshot that parses, which
	// counts as none.
	Malformed error
}

// entry is what counts of one line, whose bytes it shares.
type entry struct {
	id, parent, kind, custom []byte // the texts
	details                  []byte // the value
}

// Delivered finds the newest snapshot on the active branch of a session's history:
// entries of NDJSON, each with the id of its parent, from the leaf (the last entry,
// unless one is named) to the root. A compaction behind it takes it back. The history
// is read from the end, and nothing before the answer: a parent stands before its
// children. The error is a *fault.Error: fault.PromptHistoryInvalid with the line that
// is not JSON, or for a leaf that is nowhere; a torn last line is passed over.
func Delivered(r io.ReaderAt, size int64, leaf string) (Found, error) {
	t := newTail(r, size)
	var json ndjson.Validator
	want, found, last := []byte(leaf), false, true
	for {
		line, at, err := t.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return Found{}, fault.Wrap(err, fault.IOFailed, "cannot read the history")
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		torn := last
		last = false
		if err := json.Validate(line); err != nil {
			if torn {
				continue
			}
			return Found{}, brokenLine(r, at, err)
		}
		e := parseEntry(line)
		if len(e.id) == 0 || len(want) > 0 && !bytes.Equal(e.id, want) {
			continue
		}
		found = true
		switch {
		case string(e.kind) == compaction:
			return Found{}, nil
		case string(e.kind) == historyType && string(e.custom) == historyCustom:
			return e.snapshot(), nil
		case len(e.parent) == 0:
			return Found{}, nil // the root
		}
		want = append(want[:0], e.parent...)
	}
	if leaf != "" && !found {
		return Found{}, fault.New(fault.PromptHistoryInvalid, "the history has no entry %s", fault.Quote(leaf)).On("leaf")
	}
	return Found{}, nil
}

// snapshot reads what the message of an update carries.
func (e *entry) snapshot() Found {
	var raw []byte
	if ndjson.Kind(e.details) == '{' {
		_ = ndjson.Fields(e.details, func(key string, value []byte) error { // it is valid
			if key == historyDetail {
				raw = value
			}
			return nil
		})
	}
	if raw == nil {
		return Found{Malformed: fault.New(fault.PromptInputInvalid, "details.%s is missing", historyDetail)}
	}
	s, err := ParseSnapshot(raw)
	if err != nil {
		return Found{Malformed: err}
	}
	return Found{Snapshot: s}
}

// brokenLine names the line that begins at a place. Only now are the lines before it
// counted: nothing else needs them.
func brokenLine(r io.ReaderAt, at int64, cause error) error {
	number := 1
	chunk := make([]byte, tailChunk)
	for from := int64(0); from < at; {
		n := min(at-from, tailChunk)
		if readAt(r, chunk[:n], from) != nil {
			return fault.Wrap(cause, fault.PromptHistoryInvalid, "a line of the history is not JSON")
		}
		number += bytes.Count(chunk[:n], []byte{'\n'})
		from += n
	}
	e := fault.New(fault.PromptHistoryInvalid, "the line is not JSON: %s", cause.(*fault.Error).Message)
	e.Line = number
	return e
}

// parseEntry picks the members that count out of a validated line. Unlike
// ndjson.Fields it copies nothing: a line may be as long as the memory allows.
func parseEntry(line []byte) (e entry) {
	if line[0] != '{' {
		return e
	}
	for i := 1; ; i++ {
		key := next(line, i)
		if line[key] == '}' {
			return e
		}
		keyEnd := valueEnd(line, key)
		from := next(line, next(line, keyEnd)+1)
		to := valueEnd(line, from)
		e.take(line[key:keyEnd], line[from:to])
		if e.enough() {
			return e
		}
		if i = next(line, to); line[i] == '}' {
			return e
		}
	}
}

func (e *entry) take(key, value []byte) {
	switch string(textOf(key)) {
	case "id":
		e.id = textOf(value)
	case "parentId":
		e.parent = textOf(value)
	case "type":
		e.kind = textOf(value)
	case "customType":
		e.custom = textOf(value)
	case "details":
		e.details = value
	}
}

// textOf returns the text of a JSON string, nil for any other value. It is a part of
// the line unless it holds escapes.
func textOf(value []byte) []byte {
	if value[0] != '"' {
		return nil
	}
	if bytes.IndexByte(value, '\\') < 0 {
		return value[1 : len(value)-1]
	}
	s, _ := ndjson.Text(value)
	return []byte(s)
}

// enough reports whether what is still to come cannot count: most lines are messages,
// whose long members stand behind the short ones.
func (e *entry) enough() bool {
	return len(e.id) > 0 && len(e.parent) > 0 && len(e.kind) > 0 && string(e.kind) != historyType
}

// next skips white space.
func next(s []byte, i int) int {
	for isSpace(s[i]) {
		i++
	}
	return i
}

// valueEnd returns the place behind the value that begins at i in a validated text.
func valueEnd(s []byte, i int) int {
	for depth := 0; ; i++ {
		switch s[i] {
		case '"':
			i = textEnd(s, i)
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
		case ',', ':', ' ', '\t', '\r', '\n':
			continue // inside, since what is no text, object or array ends below
		default:
			for i+1 < len(s) && bytes.IndexByte([]byte(",}] \t\r\n"), s[i+1]) < 0 {
				i++
			}
		}
		if depth == 0 {
			return i + 1
		}
	}
}

// textEnd returns the place of the quote that ends the text that begins at i.
func textEnd(s []byte, i int) int {
	for {
		i++
		i += bytes.IndexByte(s[i:], '"')
		escapes := 0
		for s[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i
		}
	}
}
