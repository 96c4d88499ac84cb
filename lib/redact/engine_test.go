package redact

import (
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kxm/lib/fault"
)

func TestWordSetFindsEveryPlaceOfEveryWord(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 12))
	word := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteByte("abpq01_-. "[random.IntN(10)])
		}
		return b.String()
	}
	for range 200 {
		var words []string
		for len(words) < 40 {
			if w := word(2 + random.IntN(5)); !slices.Contains(words, w) {
				words = append(words, w)
			}
		}
		set := newWordSet(words)
		for range 20 {
			text := word(random.IntN(40))
			if random.IntN(2) == 0 {
				text = strings.ToUpper(text)
			}
			got, low := map[string]int{}, strings.ToLower(text)
			set.each(text, func(i int) bool { got[words[i]]++; return true })
			for _, w := range words {
				want := 0
				for at := range len(low) {
					if strings.HasPrefix(low[at:], w) {
						want++
					}
				}
				if got[w] != want {
					t.Fatalf("%q in %q: %d times, want %d", w, text, got[w], want)
				}
			}
			if set.in(text) != (len(got) > 0) {
				t.Fatalf("in(%q) = %v", text, set.in(text))
			}
		}
	}
}

func TestKeywordsAreSeenThroughTheKelvinSign(t *testing.T) {
	secret := "Zf3D0LXCM3EI" + "MbgJpUNnkRtO"
	for _, name := range []string{"to\u212Aen", "api_\u212Aey", "TO\u212AEN"} {
		if got, _ := Redact(name + " = " + secret); strings.Contains(got, secret) {
			t.Errorf("%q", got)
		}
	}
}

func TestRunsMeasureTheLongestOfEachKind(t *testing.T) {
	for text, want := range map[string]runs{
		"":                            {},
		"a bc def":                    {3, 0, 0, 0},
		"a: bc def":                   {3, 2, 0, 0},
		"a: 'b1' defgh":               {5, 2, 2, 2},
		"x=1 abc/d":                   {5, 3, 5, 3},
		"(x) => \"abc\", de1f, ghijk": {5, 5, 4, 4},
		"to\u212Aen é":                {7, 0, 7, 0},
	} {
		if got := runsOf(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestWindowsHoldEveryCandidate(t *testing.T) {
	r := ruleAt(ruleNumber("generic-api-key"))
	far := strings.Repeat("word ", 60)
	text := far + "key: abc123def456 " + far + "token=0123456789 and token=0123456789" + far + "x2345678901"
	var got []string
	for w := range product.windows(text, r) {
		got = append(got, w.in(text))
	}
	if len(got) != 2 || !strings.HasSuffix(got[0], "key: abc123def456 word wo") || !strings.HasSuffix(got[1], "token=0123456789 and token=0123456789word word wo") ||
		len(got[0]) > r.lead+len("abc123def456")+tail {
		t.Errorf("%q", got)
	}
	for w := range product.windows("to\u212Aen: 0123456789", r) {
		if w.start != 0 {
			t.Errorf("the letters of three bytes are not counted")
		}
	}
}

func TestEntropyIsThatOfTheCharacters(t *testing.T) {
	for text, want := range map[string]float64{"": 0, "aaaa": 0, "ab": 1, "abcd": 2, "aabb": 1, "0123456789abcdef": 4} {
		if got := entropy(text); math.Abs(got-want) > 1e-12 {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestAnExpressionThatDoesNotCompileEndsTheProgram(t *testing.T) {
	defer func() {
		err, ok := recover().(*fault.Error)
		if !ok || err.Code != fault.RedactionUnavailable || err.Code.Exit() != fault.ExitFailed {
			t.Errorf("panic with %v", err)
		}
	}()
	var l lazyRegexp
	for range 2 { // the second time as well
		func() {
			defer func() {
				if recover() == nil {
					t.Error("a broken rule is passed over")
				}
			}()
			l.get("broken", func() string { return "(" })
		}()
	}
	l.get("broken", func() string { return "(" })
}

func TestWidenedExpressionsMatchWhatTheRulesMatch(t *testing.T) {
	changed := 0
	for _, text := range samples() {
		for i := range ruleCount {
			r := ruleAt(i)
			if r.regex == "" || !strings.Contains(text, strings.Trim(r.keywords[0], "-")) {
				continue
			}
			own, wide := product.rules[i].own.get(r.id, func() string { return r.regex }), product.rules[i].wideOf(r)
			if own.MatchString(text) && !wide.MatchString(text) {
				t.Errorf("%s: %s does not match %q", r.id, wide, text)
			}
			if wide.String() != own.String() {
				changed++
			}
			if wide.NumSubexp() < own.NumSubexp() || r.group > 0 && wide.NumSubexp() != own.NumSubexp() {
				t.Errorf("%s: the groups changed in %s", r.id, wide)
			}
		}
	}
	if changed == 0 {
		t.Error("nothing is widened: gitleaks must have changed how it writes borders")
	}
	for _, r := range gitleaksRules {
		if r.regex != "" && strings.HasSuffix(r.regex, ending) && !regexp.MustCompile(regexp.QuoteMeta(endingOfToken)+"|"+regexp.QuoteMeta(endingOfValue)).MatchString(widen(&r)) {
			t.Errorf("%s keeps its narrow end", r.id)
		}
	}
}
