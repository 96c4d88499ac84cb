package redact

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zricethezav/gitleaks/v8/detect"

	"kxm/lib/kxmtest"
	"kxm/lib/redact/internal/sample"
)

// The engine, run with gitleaks' rules as they are, finds the secrets that gitleaks'
// own detector finds, under the same rules: in random matches of every rule, alone
// and in several surroundings, and in prose and code.
func TestTheEngineFindsWhatGitleaksFinds(t *testing.T) {
	theirs, ours := newGitleaks(t), &detector{verbatim: true}
	found := map[string]bool{}
	for _, text := range append(samples(), prose(t)...) {
		want := fromGitleaks(theirs, text, "")
		got := fromDetector(ours, text, "")
		if !slices.Equal(got, want) {
			t.Errorf("in %q\nfound %q\ngitleaks %q", text, got, want)
		}
		for _, f := range want {
			rule, _, _ := strings.Cut(f, " ")
			found[rule] = true
		}
	}
	for i := range gitleaksRules {
		if r := &gitleaksRules[i]; r.path == "" && !found[r.id] {
			t.Errorf("no sample was a finding of %s: the comparison says nothing about it", r.id)
		}
	}
}

// The same for files, where rules and allowlists with a path come in.
func TestTheEngineFindsInFilesWhatGitleaksFinds(t *testing.T) {
	theirs, ours := newGitleaks(t), &detector{verbatim: true}
	random := rand.New(rand.NewPCG(5, 6))
	found := map[string]bool{}
	paths := []string{"notes.md", "src/key.php", "infra/main.tf", "deploy/secret.yaml", "NuGet.config", "store.p12", "a/b.pfx",
		"go.sum", "web/node_modules/x.js", "recipes/a.bb", "a/@octokit/auth-token/README.md", "logo.png"}
	for i := range gitleaksRules {
		r := &gitleaksRules[i]
		if r.path == "" && i%8 != 0 && r.id != "github-pat" && r.id != "generic-api-key" {
			continue
		}
		for n := range 6 {
			text := "SRC = \"x\"" + []string{"\n", " "}[n%2]
			if r.regex != "" {
				text += sample.New(r.regex, random).Next() + "\n"
			}
			for _, path := range paths {
				got, want := fromDetector(ours, text, path), fromGitleaks(theirs, text, path)
				if !slices.Equal(got, want) {
					t.Errorf("in %s %q\nfound %q\ngitleaks %q", path, text, got, want)
				}
				if slices.ContainsFunc(want, func(f string) bool { return strings.HasPrefix(f, r.id+" ") }) {
					found[r.id] = true
				}
			}
		}
	}
	for i := range gitleaksRules {
		if r := &gitleaksRules[i]; r.path != "" && !found[r.id] {
			t.Errorf("no sample was a finding of %s", r.id)
		}
	}
}

// What gitleaks finds, Redact masks: wide borders lose nothing. The exceptions are
// ids and digests.
func TestNothingThatGitleaksFindsGetsThrough(t *testing.T) {
	theirs := newGitleaks(t)
	for _, text := range samples() {
		clean, _ := Redact(text)
		for _, f := range theirs.DetectString(text) {
			if strings.Contains(clean, f.Secret) && !public(text, strings.Index(text, f.Secret), strings.Index(text, f.Secret)+len(f.Secret)) {
				t.Errorf("in %q\n%s lets %q through: %q", text, f.RuleID, f.Secret, clean)
			}
		}
	}
}

// The prefilter and the windows are a matter of speed alone.
func TestThePrefilterLosesNothing(t *testing.T) {
	all := &detector{unfiltered: true}
	for _, text := range append(samples(), prose(t)...) {
		if got, want := product.find(text), all.find(text); !slices.Equal(got, want) {
			t.Errorf("in %q\nfound %v\nwithout prefilter %v", text, got, want)
		}
	}
	var long strings.Builder // findings of many rules, at different distances
	for i, text := range samples() {
		if i%(5*surroundings) == 1 {
			long.WriteString(text)
			long.WriteString(strings.Repeat(" and then", long.Len()%30))
		}
	}
	text := long.String()
	if got, want := unite(product.scan(text, "")), unite(all.scan(text, "")); len(want) < 30 || !slices.Equal(got, want) {
		t.Errorf("in a text of %d bytes: %d findings, without prefilter %d", len(text), len(got), len(want))
	}
}

func fromGitleaks(d *detect.Detector, text, path string) []string {
	var all []string
	for _, f := range d.Detect(detect.Fragment{Raw: text, FilePath: path}) {
		all = append(all, fmt.Sprintf("%s %q", f.RuleID, f.Secret))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// fromDetector returns the hits in gitleaks' terms, with its last step: a generic
// finding goes when another rule has found the same secret on the line.
func fromDetector(d *detector, text, path string) []string {
	hits := d.detect(text, path)
	line := func(h hit) int { return strings.Count(text[:h.match.start], "\n") }
	var all []string
	for _, h := range hits {
		if generic(h.rule) && slices.ContainsFunc(hits, func(o hit) bool {
			return !generic(o.rule) && line(o) == line(h) && strings.Contains(o.secret.in(text), h.secret.in(text))
		}) {
			continue
		}
		all = append(all, fmt.Sprintf("%s %q", ruleAt(h.rule).id, h.secret.in(text)))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// surroundings is the number of texts that samples makes of a rule.
const surroundings = 12

// samples returns random matches of every rule that holds for texts, each with the
// rule's keyword in reach, in several surroundings. They are the same each time.
func samples() (all []string) {
	random := rand.New(rand.NewPCG(7, 8))
	around := []string{"%s", "Use %s here.\n", "x = %s\n", "first line\n%s", "deploy-%s, then", "a/%s/b", "\"%s\"", "(%s)", "key: %s;", "é%sé", "_%s_", "%s."}
	for i := range ruleCount {
		r := ruleAt(i)
		if r.regex == "" || r.path != "" {
			continue
		}
		s := sample.New(r.regex, random)
		for n := range surroundings {
			text := strings.Replace(around[n%len(around)], "%s", s.Next(), 1)
			if !strings.Contains(strings.ToLower(text), r.keywords[n%len(r.keywords)]) {
				text = r.keywords[n%len(r.keywords)] + "\n" + text
			}
			all = append(all, text)
		}
	}
	return all
}

// prose returns texts without secrets: the summaries of the right answers, the
// sentences of harmless, and this package's own source, line by line and as a whole.
func prose(t *testing.T) (all []string) {
	t.Helper()
	type arbiter struct {
		Pool []struct {
			ID, Summary string
		}
	}
	kxmtest.Cases(t, "arbiter", func(t *testing.T, _ int, c arbiter) {
		for _, it := range c.Pool {
			all = append(all, it.Summary+" "+it.ID)
		}
	})
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if name == "rules_gen.go" || strings.HasSuffix(name, "_test.go") {
			continue
		}
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(data))
		for line := range strings.Lines(string(data)) {
			all = append(all, line)
		}
	}
	return append(all, harmless()...)
}
