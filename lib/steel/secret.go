package steel

import (
	"encoding/base64"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"kxm/lib/ndjson"
)

// shortestSecret is how many characters a value must have: a shorter one stands in any
// text by chance, and says nothing there.
const shortestSecret = 3

// Secrets knows values that must not be printed, in every spelling that they may have
// in an answer or a message. The zero value knows none.
type Secrets struct{ all []secret }

// secret is a value with its spellings, itself among them, the longest first.
type secret struct {
	value     string
	spellings []string
}

// Add makes a value known, also as a page shows it: with its white space folded, or
// without its line ends. One of less than three characters is none.
func (s *Secrets) Add(value string) {
	for _, v := range []string{value, fold(value, noLimit), strings.NewReplacer("\r", "", "\n", "").Replace(value)} {
		known := slices.ContainsFunc(s.all, func(other secret) bool { return other.value == v })
		if !known && utf8.RuneCountInString(v) >= shortestSecret {
			s.all = append(s.all, secret{v, spellingsOf(v)})
		}
	}
	// The longest first: a short one may be a part of it.
	slices.SortStableFunc(s.all, func(a, b secret) int { return len(b.value) - len(a.value) })
}

// spellingsOf returns the spellings of a value, but those with percent signs, of which
// there are as many as programs that write them.
func spellingsOf(value string) []string {
	markup := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(value)
	all := append(inJSON(value), value, markup)
	for _, quote := range []string{"&#34;", "&quot;"} {
		all = append(all, strings.NewReplacer(`"`, quote, "'", "&#39;").Replace(markup))
	}
	for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			all = append(all, inBase64(alphabet, value, before))
		}
	}
	slices.SortStableFunc(all, func(a, b string) int { return len(b) - len(a) })
	return slices.DeleteFunc(slices.Compact(all), func(text string) bool { return text == "" })
}

// inJSON returns how encoders write a value between quotes: with nothing escaped that need
// not be, with what HTML gives a meaning to, and with slashes.
func inJSON(value string) []string {
	quoted := ndjson.AppendString(nil, value)
	plain := string(quoted[1 : len(quoted)-1])
	html := strings.NewReplacer("&", `\u0026`, "<", `\u003c`, ">", `\u003e`).Replace(plain)
	return []string{plain, html, strings.ReplaceAll(plain, "/", `\/`)}
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
func (s *Secrets) Mask(text string) string { return s.mask(text, 0) }

// mask is Mask for the values of at least so many bytes.
func (s *Secrets) mask(text string, least int) string {
	for _, one := range s.all {
		if len(one.value) < least {
			continue
		}
		for _, spelling := range one.spellings {
			text = strings.ReplaceAll(text, spelling, maskedValue)
		}
		text = maskEscaped(text, one.value)
	}
	return text
}

// maskEscaped masks a value that is written with percent signs, as in addresses. Which
// characters are differs from program to program, so that each may be or not.
func maskEscaped(text, value string) string {
	if !strings.ContainsAny(text, "%+") {
		return text
	}
	var b strings.Builder
	done := 0
	for i := 0; i < len(text); i++ {
		if end := escapedEnd(text, i, value); end > 0 {
			b.WriteString(text[done:i] + maskedValue)
			i, done = end-1, end
		}
	}
	if done == 0 {
		return text
	}
	return b.String() + text[done:]
}

// escapedEnd returns where a value ends that begins at i, or 0.
func escapedEnd(text string, i int, value string) int {
	for j := range len(value) {
		n := escapedByte(text[i:], value[j])
		if n == 0 {
			return 0
		}
		i += n
	}
	return i
}

// escapes are the percent signs of an address, one that stands in another's parameter,
// and one in that one's.
var escapes = []string{"%2525", "%25", "%"}

// escapedByte returns how long a byte is with which a text begins, or 0.
func escapedByte(text string, c byte) int {
	if text == "" || text[0] != '%' && text[0] != c && (text[0] != '+' || c != ' ') {
		return 0
	}
	const digits = "0123456789ABCDEF"
	for _, escape := range escapes {
		if n := len(escape); len(text) >= n+2 && text[:n] == escape && strings.EqualFold(text[n:n+2], string([]byte{digits[c>>4], digits[c&15]})) {
			return n + 2
		}
	}
	if text[0] == c || text[0] == '+' && c == ' ' {
		return 1
	}
	return 0
}

// MaskLine returns one of our answers, a line of JSON, without the values. They go from
// its texts, so that it stays what it is: a short value may also be a word or a number of
// ours. Names of fields, of which a page may make some up, lose those that are as long as
// a key; the schema, which comes first, is no page's.
func (s *Secrets) MaskLine(line string) string {
	if len(s.all) == 0 {
		return line
	}
	var out []byte
	rest := line
	if strings.HasPrefix(line, schemaField) {
		n := len(schemaField) + len(jsonText(line[len(schemaField):]))
		out, rest = append(out, line[:n]...), line[n:]
	}
	for {
		start := strings.IndexByte(rest, '"')
		if start < 0 {
			return string(append(out, rest...))
		}
		token := jsonText(rest[start:])
		out, rest = append(out, rest[:start]...), rest[start+len(token):]
		least := 0
		if strings.HasPrefix(rest, ":") {
			least = minKey
		}
		text, ok := ndjson.Unquote(token)
		switch masked := s.mask(text, least); {
		case !ok: // it is no JSON after all
			out = append(out, s.mask(token, least)...)
		case masked != text:
			out = ndjson.AppendString(out, masked)
		default:
			out = append(out, token...)
		}
	}
}

// schemaField begins each answer that has a schema.
const schemaField = `{"schema":`

// jsonText returns the text with which a part of a JSON line begins, with its quotes.
func jsonText(line string) string {
	end := 1
	for end < len(line) && line[end] != '"' {
		if line[end] == '\\' {
			end++
		}
		end++
	}
	return line[:min(end+1, len(line))]
}

// Writer returns a writer that masks what is written to it. A value that is split
// between two writes is not found, so that lines are written whole.
func (s *Secrets) Writer(w io.Writer) io.Writer { return maskingWriter{w, s} }

type maskingWriter struct {
	to      io.Writer
	secrets *Secrets
}

func (m maskingWriter) Write(p []byte) (int, error) {
	text := string(p)
	if strings.HasPrefix(text, "{") {
		text = m.secrets.MaskLine(text) // an error in JSON
	} else {
		text = m.secrets.Mask(text)
	}
	if _, err := io.WriteString(m.to, text); err != nil {
		return 0, err
	}
	return len(p), nil
}
