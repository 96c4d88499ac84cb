package steel

import (
	"bytes"
	"math"
	"strconv"

	"kxm/lib/ndjson"
)

// quitMethod is the call that the browser does not get to see.
const quitMethod = "Browser.close"

// quitAnswer returns the answer to a message that asks the browser to end, and nil for
// any other. Messages are read as Chromium reads them, and not as strictly as JSON is: it
// skips comments, and more white space than JSON knows. Of several members with one name,
// which Chromium refuses, the last counts, as for anybody that may read the message in
// between. A call that Chromium would refuse for its id or session is none.
func quitAnswer(message []byte) []byte {
	// Nearly every message is done with here. Letters can be spelled in no other way
	// than by themselves or as \uXXXX.
	if !bytes.Contains(message, []byte(quitMethod)) && !bytes.Contains(message, []byte(`\u`)) {
		return nil
	}
	var id, method, session []byte
	whole := walkMembers(message, func(key string, value []byte) {
		switch key {
		case "id":
			id = value
		case "method":
			method = value
		case "sessionId":
			session = value
		}
	})
	if name, ok := ndjson.Text(method); !whole || !ok || name != quitMethod {
		return nil
	}
	number, err := strconv.ParseFloat(string(id), 64)
	if err != nil || number != math.Trunc(number) || number < math.MinInt32 || number > math.MaxInt32 {
		return nil
	}
	in, ok := ndjson.Text(session)
	if session != nil && !ok {
		return nil
	}
	answer := ndjson.NewObject(nil)
	answer.Number("id", int(number))
	answer.Name("result")
	answer.Bytes = append(answer.Bytes, "{}"...)
	answer.Optional("sessionId", in)
	return answer.End()
}

// walkMembers calls fn for each member of the object that a message is, and reports
// whether it is one from end to end. What stands inside of values is not looked at more
// closely than it takes to find their ends.
func walkMembers(message []byte, fn func(key string, value []byte)) bool {
	at := func(i int) byte { // 0 is behind the end, as it is no part of any message
		if i < len(message) {
			return message[i]
		}
		return 0
	}
	i := skipSpace(message, 0)
	if at(i) != '{' {
		return false
	}
	i = skipSpace(message, i+1)
	if at(i) == '}' {
		return skipSpace(message, i+1) == len(message)
	}
	for {
		if at(i) != '"' {
			return false
		}
		end := stringEnd(message, i)
		key, ok := ndjson.Text(message[i:end])
		i = skipSpace(message, end)
		if at(i) != ':' {
			return false
		}
		i = skipSpace(message, i+1)
		end = valueEnd(message, i)
		if end == i {
			return false
		}
		if ok {
			fn(key, message[i:end])
		}
		i = skipSpace(message, end)
		switch at(i) {
		case ',':
			i = skipSpace(message, i+1)
		case '}':
			return skipSpace(message, i+1) == len(message)
		default:
			return false
		}
	}
}

// skipSpace returns where white space and comments from i on end.
func skipSpace(m []byte, i int) int {
	for i < len(m) {
		switch m[i] {
		case ' ', '\t', '\n', '\v', '\f', '\r':
			i++
			continue
		case '/':
			if end := commentEnd(m, i); end > i {
				i = end
				continue
			}
		}
		return i
	}
	return i
}

// commentEnd returns where the comment that begins at i ends, which may be at the end of
// the message; i itself if there is none.
func commentEnd(m []byte, i int) int {
	rest, n := m[i:], -1
	switch {
	case bytes.HasPrefix(rest, []byte("//")):
		n = bytes.IndexAny(rest, "\r\n")
	case bytes.HasPrefix(rest, []byte("/*")):
		if n = bytes.Index(rest[2:], []byte("*/")); n >= 0 {
			n += 4
		}
	default:
		return i
	}
	if n < 0 {
		return len(m)
	}
	return i + n
}

// stringEnd returns where the string that begins at i ends: behind its closing quote, or
// at the end of the message.
func stringEnd(m []byte, i int) int {
	for from := i + 1; ; {
		n := bytes.IndexByte(m[from:], '"')
		if n < 0 {
			return len(m)
		}
		quote := from + n
		escapes := 0
		for quote-escapes > from && m[quote-escapes-1] == '\\' {
			escapes++
		}
		from = quote + 1
		if escapes%2 == 0 {
			return from
		}
	}
}

// valueEnd returns where the value that begins at i ends; i itself if there is none.
func valueEnd(m []byte, i int) int {
	depth := 0
	for i < len(m) {
		switch m[i] {
		case '"':
			i = stringEnd(m, i)
		case '{', '[':
			depth++
			i++
		case '}', ']':
			if depth == 0 {
				return i
			}
			depth--
			i++
		case ',', ':', ' ', '\t', '\n', '\v', '\f', '\r', '/':
			if depth == 0 {
				return i
			}
			if next := skipSpace(m, i); next > i {
				i = next
			} else {
				i++
			}
			continue
		default: // a number or a word
			for i < len(m) && bytes.IndexByte([]byte("\"{}[],: \t\n\v\f\r/"), m[i]) < 0 {
				i++
			}
		}
		if depth == 0 {
			return i
		}
	}
	return i
}
