package steel

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"kxm/lib/ndjson"
)

// planted are all spellings of a value in a text.
func planted(value string) []string {
	quoted, err := ndjson.Marshal(value)
	if err != nil {
		panic(err)
	}
	html, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	all := []string{
		value, url.QueryEscape(value), url.PathEscape(value), "x?apiKey=" + url.QueryEscape(value) + "&y=1", string(quoted), string(html),
		strings.ReplaceAll(string(quoted), "/", `\/`), strings.NewReplacer("%2B", "%2b", "%2F", "%2f", "%3D", "%3d", "%5C", "%5c").Replace(url.QueryEscape(value)),
	}
	for before := range 4 {
		for after := range 4 {
			text := strings.Repeat("b", before) + value + strings.Repeat("a", after)
			all = append(all, base64.StdEncoding.EncodeToString([]byte(text)), base64.URLEncoding.EncodeToString([]byte(text)))
		}
	}
	return all
}

func TestEverySpellingIsMasked(t *testing.T) {
	for _, value := range []string{`k+/=%&"key-1234`, "abcdefgh", `\\\\""""`, strings.Repeat("~", 40), "00000000"} {
		var s Secrets
		s.Add(value)
		s.Add("") // is none
		for _, text := range planted(value) {
			got := s.Mask("before " + text + " after")
			if !strings.Contains(got, maskedValue) || !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after") {
				t.Errorf("%q in %q becomes %q", value, text, got)
			}
			if strings.Contains(got, value) {
				t.Errorf("%q is still in %q", value, got)
			}
		}
		if text := "something else: abc, YWJj"; s.Mask(text) != text {
			t.Errorf("%q is masked", text)
		}
	}
}

// escaped is a value with percent signs before the bytes that escape says.
func escaped(value string, form string, escape func(byte) bool) string {
	var b strings.Builder
	for _, c := range []byte(value) {
		if escape(c) {
			fmt.Fprintf(&b, form, c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// Browsers escape otherwise than Go does, and fold the white space of titles.
func TestWhatABrowserMakesOfAValueIsMasked(t *testing.T) {
	t.Parallel()
	const value = "p!w'(d)*~ é\"<%41\n two  x"
	var s Secrets
	s.Add(value)
	isPlain := func(c byte) bool { return c >= 'a' && c <= 'z' }
	for _, text := range []string{
		value,
		escaped(value, "%%%02X", func(c byte) bool { return !isPlain(c) && !strings.ContainsRune("!'()*~", rune(c)) }), // encodeURIComponent
		escaped(value, "%%%02x", func(c byte) bool { return c > '~' || strings.ContainsRune(" \"<>`\n", rune(c)) }),    // a fragment
		escaped(value, "%%%02X", func(c byte) bool { return true }),
		escaped(value, "%%25%02X", func(c byte) bool { return !isPlain(c) }),
		escaped(value, "%%2525%02X", func(c byte) bool { return !isPlain(c) }),
		strings.ReplaceAll(escaped(value, "%%%02X", func(c byte) bool { return !isPlain(c) && c != ' ' }), " ", "+"),
		strings.Join(strings.Fields(value), " "),
		strings.ReplaceAll(value, "\n", ""),
		`p!w'(d)*~ é"&lt;%41` + "\n two  x",
		`p!w&#39;(d)*~ é&#34;&lt;%41` + "\n two  x",
		`p!w&#39;(d)*~ é&quot;&lt;%41` + "\n two  x",
	} {
		if got := s.Mask("<" + text + ">"); got != "<"+maskedValue+">" {
			t.Errorf("%q becomes %q", text, got)
		}
	}
	for _, text := range []string{"p%21w", "%", "100%", "a+b", "%zz p!w'(d)*"} {
		if got := s.Mask(text); got != text {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}

func TestALineStaysJSON(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ value, line, want string }{
		{"1", `{"schema":"kxm.steel-action.v1","valueLength":1}`, ""}, // too short to be looked for
		{"true", `{"verified":true,"title":"true love"}`, `{"verified":true,"title":"[redacted] love"}`},
		{"123", `{"valueLength":123,"title":"123\n"}`, `{"valueLength":123,"title":"[redacted]\n"}`},
		{"title", `{"schema":"kxm.title.v1","title":"title","schema":"title"}`, `{"schema":"kxm.title.v1","title":"[redacted]","schema":"[redacted]"}`},
		{`say "hi"`, `{"title":"say \"hi\"","u":"say \u0022hi\u0022"}`, `{"title":"[redacted]","u":"[redacted]"}`},
		{"long-enough", `{"value":{"long-enough":"x"}}`, `{"value":{"[redacted]":"x"}}`},
		{"value", `no JSON "value`, `no JSON "[redacted]`},
	} {
		var s Secrets
		s.Add(c.value)
		if c.want == "" {
			c.want = c.line
		}
		if got := s.MaskLine(c.line); got != c.want {
			t.Errorf("%q in %s: %s, want %s", c.value, c.line, got, c.want)
		}
	}
	var none Secrets
	if got := none.MaskLine(`{"a":"b"}`); got != `{"a":"b"}` {
		t.Error(got)
	}
}

func FuzzMaskLine(f *testing.F) {
	f.Add("a-secret-key", "title", "with a-secret-key%21")
	f.Add("title", "title", "\\\"title")
	f.Fuzz(func(t *testing.T, value, name, text string) {
		line, err := ndjson.Marshal(map[string]any{"schema": "kxm.x.v1", "n": 123, name: text})
		if err != nil {
			return
		}
		var s Secrets
		s.Add(value)
		got := s.MaskLine(string(line))
		if ndjson.Validate([]byte(got)) != nil && !strings.Contains(got, `"[redacted]":`) {
			t.Errorf("%q in %s becomes %s", value, line, got)
		}
	})
}

func TestWriterMasksAndSaysWhatItTook(t *testing.T) {
	var s Secrets
	var b strings.Builder
	w := s.Writer(&b)
	s.Add("a-secret-key") // also after the writer was made
	if n, err := fmt.Fprint(w, "the key is a-secret-key\n"); n != 24 || err != nil || b.String() != "the key is [redacted]\n" {
		t.Errorf("%d, %v, %q", n, err, b.String())
	}
}

func FuzzSecrets(f *testing.F) {
	f.Add("a-secret-key", "text with a-secret-key")
	f.Add("\x00\xff12345678", "")
	f.Fuzz(func(t *testing.T, value, text string) {
		var s Secrets
		s.Add(value)
		s.Mask(text)
		if len(value) >= minKey && checkKey(value, "x") == nil {
			for _, spelling := range planted(value) {
				if strings.Contains(s.Mask(spelling), value) && !strings.Contains(maskedValue, value) {
					t.Errorf("%q survives in %q", value, spelling)
				}
			}
		}
	})
}
