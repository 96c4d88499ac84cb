package steel

import (
	"encoding/base64"
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
	all := []string{value, url.QueryEscape(value), url.PathEscape(value), "x?apiKey=" + url.QueryEscape(value) + "&y=1", string(quoted)}
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
