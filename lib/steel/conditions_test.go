package steel

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"kxm/lib/fault"
)

func TestAddressesMatchPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"http://a/home", "http://a/home", true}, {"http://a/home", "http://a/home?x", false}, {"*/home", "http://a/home", true}, {"*/home", "http://a/home/", false},
		{"*/home*", "http://a/home?x#y", true}, {"http://*", "http://", true}, {"*", "", true}, {"**", "x", true}, {"a*a", "a", false}, {"a*a", "aa", true},
		{"*a*b*c", "xxaxxbxxcxxc", true}, {"*a*b*c", "bac", false}, {"a?c", "abc", false}, {"a?c", "a?c", true}, {"[a]", "a", false}, {"", "", true}, {"", "x", false},
		{"*ab*ab", "ab", false}, {"*ab*ab", "abab", true},
	} {
		if got := globMatches(c.pattern, c.text); got != c.want {
			t.Errorf("%q matches %q: %v, want %v", c.pattern, c.text, got, c.want)
		}
	}
}

// A pattern means what its regular expression means.
func FuzzMatches(f *testing.F) {
	f.Add("*/home", "http://127.0.0.1/home")
	f.Add("a*b*a", "aba")
	f.Add("**a", "a\n")
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(pattern) > 50 || !utf8.ValidString(pattern) || !utf8.ValidString(text) {
			return
		}
		form := regexp.MustCompile(`(?s)\A` + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*") + `\z`)
		if got, want := globMatches(pattern, text), form.MatchString(text); got != want {
			t.Errorf("%q matches %q: %v, want %v", pattern, text, got, want)
		}
	})
}

func TestConditionsThatHoldOfAnyPage(t *testing.T) {
	for _, all := range [][]Wanted{nil, {{Subject: TextShown}}, {{Subject: TextShown, Value: "x"}, {Subject: EvalTrue, Value: " \t"}}} {
		if err := CheckWanted(all); !fault.Is(err, fault.Usage) {
			t.Errorf("%+v: %v", all, err)
		}
	}
	if err := CheckWanted([]Wanted{{Subject: TimeOver, For: 1}, {Subject: CookieSet, Value: "sid"}}); err != nil {
		t.Error(err)
	}
}
