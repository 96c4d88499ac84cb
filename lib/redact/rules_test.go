package redact

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/viper"
	"github.com/zricethezav/gitleaks/v8/config"
	"github.com/zricethezav/gitleaks/v8/detect"
)

// newGitleaks returns gitleaks' own detector with its default rules.
func newGitleaks(t testing.TB) *detect.Detector {
	t.Helper()
	viper.SetConfigType("toml")
	if err := viper.ReadConfig(strings.NewReader(config.DefaultConfig)); err != nil {
		t.Fatal(err)
	}
	var vc config.ViperConfig
	if err := viper.Unmarshal(&vc); err != nil {
		t.Fatal(err)
	}
	c, err := vc.Translate()
	if err != nil {
		t.Fatal(err)
	}
	d := detect.NewDetector(c)
	d.IgnoreGitleaksAllow = true // Find does not know the mark
	return d
}

func TestTheTableIsGitleaksDefaultConfiguration(t *testing.T) {
	c := newGitleaks(t).Config
	if len(c.OrderedRules) != len(gitleaksRules) || len(c.Rules) != len(gitleaksRules) {
		t.Fatalf("%d rules, the module has %d: run scripts/gen", len(gitleaksRules), len(c.OrderedRules))
	}
	for i, id := range c.OrderedRules {
		want, got := c.Rules[id], &gitleaksRules[i]
		regex, path := "", ""
		if want.Regex != nil {
			regex = want.Regex.String()
		}
		if want.Path != nil {
			path = want.Path.String()
		}
		if got.id != id || got.regex != regex || got.path != path || got.entropy != want.Entropy ||
			got.group != want.SecretGroup || !slices.Equal(got.keywords, want.Keywords) {
			t.Errorf("rule %q differs from the module's: run scripts/gen", id)
		}
		if want.SkipReport || len(want.RequiredRules) > 0 {
			t.Errorf("rule %q depends on other rules, which is not implemented", id)
		}
		sameAllowlists(t, id, got.allow, want.Allowlists)
	}
	sameAllowlists(t, "all rules", gitleaksAllow[:], c.Allowlists)
}

func sameAllowlists(t *testing.T, id string, got []allowlist, want []*config.Allowlist) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d allowlists, the module has %d", id, len(got), len(want))
		return
	}
	exprs := func(list []*regexp.Regexp) (all []string) {
		for _, re := range list {
			all = append(all, re.String())
		}
		return all
	}
	targets := map[string]target{"": targetSecret, "match": targetMatch, "line": targetLine}
	for i, w := range want {
		g, stop := got[i], slices.Sorted(slices.Values(w.StopWords))
		if g.and != (w.MatchCondition == config.AllowlistMatchAnd) || g.target != targets[w.RegexTarget] || len(w.Commits) > 0 ||
			!slices.Equal(g.regexes, exprs(w.Regexes)) || !slices.Equal(g.paths, exprs(w.Paths)) || !slices.Equal(g.stopwords, stop) {
			t.Errorf("%s: allowlist %d differs from the module's", id, i)
		}
	}
}

func TestEveryExpressionCompiles(t *testing.T) {
	var exprs []string
	lists := slices.Clone(gitleaksAllow[:])
	for i := range ruleCount {
		r := ruleAt(i)
		exprs = append(exprs, r.regex, r.path, r.quick, widen(r))
		lists = append(lists, r.allow...)
	}
	for _, a := range lists {
		exprs = append(exprs, join(a.regexes), join(a.paths))
	}
	for _, expr := range exprs {
		if _, err := regexp.Compile(expr); err != nil {
			t.Error(err)
		}
	}
}

func TestEveryRuleCanBeFound(t *testing.T) {
	ids := map[string]bool{}
	for i := range ruleCount {
		r := ruleAt(i)
		if ids[r.id] || r.id == "" || strings.ContainsAny(r.id, "[] ") {
			t.Errorf("rule %q: the id is taken or does not fit into a placeholder", r.id)
		}
		ids[r.id] = true
		for _, k := range r.keywords {
			if len(k) < 2 || k != strings.ToLower(k) {
				t.Errorf("rule %q: keyword %q is not in lower case or too short for the word set", r.id, k)
			}
		}
		if len(r.keywords) == 0 && r.path == "" {
			t.Errorf("rule %q has neither a keyword nor a path: it would be tried on every text", r.id)
		}
		if r.form != formAny && r.run <= tail {
			t.Errorf("rule %q: a secret of %d characters fits into the tail of a window", r.id, r.run)
		}
	}
	if ruleCount > 256 {
		t.Errorf("%d rules: their numbers no longer fit into a byte", ruleCount)
	}
}

// A letter outside ASCII whose lower case is inside it would hide a keyword; there
// are two of them.
func TestFoldLettersKnowsEveryLetterThatFoldsIntoASCII(t *testing.T) {
	for r := rune(0x80); r <= 0x10FFFF; r++ {
		text := "x" + string(r)
		if low := strings.ToLower(text); low[1] < 0x80 && foldLetters(text) != low {
			t.Errorf("%U is %q in lower case", r, low)
		}
	}
}
