package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/zricethezav/gitleaks/v8/config"

	"kxm/lib/redact/internal/sample"
)

func TestTheTableIsWhatTheGeneratorWrites(t *testing.T) {
	want, err := generate(config.DefaultConfig)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join("..", "..", filepath.Base(target)))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("%s is not what the gitleaks module holds: run scripts/gen", target)
	}
}

func TestAnythingThatTheDetectorDoesNotImplementIsRefused(t *testing.T) {
	for _, text := range []string{
		"[[rules]]\nid = \"x\"\nregex = \"x\"\nskipReport = true\n",
		"[[rules]]\nid = \"x\"\nregex = \"x\"\n[[rules.required]]\nid = \"y\"\n",
		"[[rules]]\nid = \"x\"\nregex = \"x\"\n[[rules.allowlists]]\ncommits = [\"y\"]\n",
		"[[rules]]\nid = \"x\"\nregex = \"x\"\n[[rules.allowlists]]\ncondition = \"xor\"\nregexes = [\"y\"]\n",
		"[[rules]]\nid = \"x\"\nregex = \"x\"\n[[rules.allowlists]]\nregexTarget = \"file\"\nregexes = [\"y\"]\n",
		"[[allowlists]]\ntargetRules = [\"x\"]\n",
		"[extend]\nuseDefault = true\n",
		"[[rules]\n",
	} {
		if code, err := generate(text); err == nil {
			t.Errorf("%q: generated\n%s", text, code)
		}
	}
}

// Each bound holds for random matches, and is exact where it is easy to see.
func TestBoundsHoldForEveryMatch(t *testing.T) {
	exprs := map[string]bound{
		`abc`:              {3, 3, 3, 3, true},
		`a b`:              {3, 1, 1, 1, false},
		`[a-z]{3,}`:        {3, 3, 3, 3, true},
		`ab?`:              {1, 1, 1, 1, true},
		`a(?: b)?`:         {1, 1, 0, 1, false},
		`(?:abc|de f)`:     {3, 2, 1, 2, false},
		`\b(a{5})(?:;|$)`:  {5, 5, 0, 5, false},
		`x[^a]{2}yy`:       {5, 1, 2, 2, false},
		`(?:ab){2}-[0-9]+`: {6, 6, 6, 6, true},
		`.*`:               {0, 0, 0, 0, false},
	}
	for expr, want := range exprs {
		if got := boundOf(parse(expr)); got != want {
			t.Errorf("%s: %+v, want %+v", expr, got, want)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, expr := range regexes(t) {
		b, s := boundOf(parse(expr)), sample.New(expr, random)
		for range 20 {
			text := s.Next()
			if n := len([]rune(text)); n < b.min {
				t.Fatalf("%s: a match of %d characters, bound %d", expr, n, b.min)
			}
			if head, tail, best := tokens(text); head < b.head || tail < b.tail || best < b.best {
				t.Fatalf("%s: runs %d, %d, %d in %q, bounds %+v", expr, head, tail, best, text, b)
			}
		}
	}
}

func TestQuickExpressionsFindEveryMatch(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	n := 0
	for _, expr := range regexes(t) {
		value, _ := assigned(parse(expr))
		if value == nil || !boundOf(value).all {
			continue
		}
		n++
		re, s := regexp.MustCompile(quick(expr, boundOf(value).min)), sample.New(expr, random)
		for range 20 {
			if text := s.Next(); !re.MatchString(text) {
				t.Errorf("%s: %s finds nothing in %q", expr, re, text)
			}
		}
	}
	if n < 50 {
		t.Errorf("%d rules of the form NAME operator VALUE: gitleaks must have changed how it writes them", n)
	}
}

func regexes(t *testing.T) (all []string) {
	t.Helper()
	for line := range strings.Lines(config.DefaultConfig) {
		if expr, ok := strings.CutPrefix(line, "regex = '''"); ok {
			all = append(all, strings.TrimSuffix(strings.TrimSpace(expr), "'''"))
		}
	}
	if len(all) < 200 {
		t.Fatalf("%d expressions found", len(all))
	}
	return all
}

// tokens returns the runs of token characters at the start, at the end and anywhere.
func tokens(text string) (head, tail, best int) {
	whole := true
	for _, r := range text {
		if token(r) {
			tail++
		} else {
			tail, whole = 0, false
		}
		best = max(best, tail)
		if whole {
			head = tail
		}
	}
	return head, tail, best
}
