package redact

import (
	"slices"
	"strings"
	"testing"
)

// FuzzRedact: redacting never panics, is idempotent, keeps valid text valid, and a
// secret planted in the text does not come out if it is found at all. The prefilter
// makes no difference.
func FuzzRedact(f *testing.F) {
	for _, text := range harmless() {
		f.Add(text, " ", uint8(0))
	}
	for i, p := range plantedSecrets() {
		f.Add("the build uses ", ", then \xff token=", uint8(i))
		f.Add(strings.Replace(p.text, "%s", "", 1), p.secret, uint8(i+1))
	}
	for i, text := range samples() {
		if i%surroundings == 2 {
			f.Add(text, "\n", uint8(i))
		}
	}
	all := &detector{unfiltered: true}
	secrets := plantedSecrets()
	f.Fuzz(func(t *testing.T, before, after string, which uint8) {
		p := secrets[int(which)%len(secrets)]
		text := before + strings.Replace(p.text, "%s", p.secret, 1) + after
		checkRedact(t, text)
		checkRedact(t, before+after)
		start := strings.Index(text, p.secret)
		for _, h := range Find(text) {
			if h.Start <= start && start+len(p.secret) <= h.End {
				if got, _ := Redact(text); strings.Count(got, p.secret) >= strings.Count(text, p.secret) {
					t.Errorf("%q becomes %q", text, got)
				}
			}
		}
		if got, want := Find(text), all.find(text); !slices.Equal(got, want) {
			t.Errorf("%q: %v, without prefilter %v", text, got, want)
		}
		FindPath(text)
		ScanFile("notes.md", []byte(text), nil)
	})
}
