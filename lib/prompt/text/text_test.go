package text

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"kxm/lib/descriptor"
	"kxm/lib/kxmtest"
)

// requirements says how many things each text must convey, as its page lists them.
var requirements = map[string]int{
	"identity": 3, "role": 5, "autonomy": 11, "personality": 4, "permission": 7, "steering": 5, "writing": 9, "workspace": 2,
	"reporting": 16, "context-updates": 5, "side-question": 3, "ask-user": 3, "checkpoint": 3,
	"tools/approval": 4, "tools/files": 4, "tools/shell": 3, "tools/session": 3, "tools/progress": 9,
	"tools/web": 3, "tools/browser": 3, "tools/annotations": 3, "tools/connections": 3, "tools/goals": 1, "tools/plugins": 2,
	"tools/subagents": 0,
}

// open says which placeholders a text may hold.
var open = map[string][]string{"identity": {"product", "model"}, "workspace": {"cwd", "project"}, "tools/files": {"dataRoot"}}

// source is a file as it stands in the tree.
type source struct{ id, raw string }

// sources returns every Markdown file, by name.
func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	for _, dir := range []string{"", "tools/"} {
		entries, err := files.ReadDir(strings.TrimSuffix(dir+".", "/."))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.IsDir() {
				continue
			}
			raw, err := files.ReadFile(dir + e.Name())
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, source{dir + strings.TrimSuffix(e.Name(), ".md"), string(raw)})
		}
	}
	if len(all) != len(requirements) {
		t.Fatalf("%d files, and requirements of %d texts", len(all), len(requirements))
	}
	return all
}

func TestEveryFileIsAText(t *testing.T) {
	var want, got []string
	for _, s := range sources(t) {
		want = append(want, s.id)
	}
	for _, f := range All() {
		got = append(got, f.ID)
	}
	for _, g := range Groups() {
		got = append(got, "tools/"+g.ID)
	}
	got = append(got, "tools/approval")
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("texts %v\nfiles %v", got, want)
	}
	for _, f := range All() {
		if one, ok := Fixed(f.ID); !ok || one != f || f.Title == "" || f.Body == "" || strings.TrimSpace(f.Body) != f.Body {
			t.Errorf("%s: %+v", f.ID, one)
		}
	}
	if _, ok := Fixed("tools"); ok {
		t.Error("there is a text called tools")
	}
}

func TestTextsStandInTheOrderOfTheirPage(t *testing.T) {
	var got []string
	for _, f := range All() {
		got = append(got, f.ID)
	}
	want := []string{"identity", "role", "autonomy", "personality", "permission", "steering", "writing", "workspace", "reporting", "context-updates", "side-question", "ask-user", "checkpoint"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

// Each requirement is met by one sentence, in the order of the list.
func TestEveryRequirementIsMetOnceAndInOrder(t *testing.T) {
	for _, s := range sources(t) {
		var got []string
		body := withoutRequirements(s.raw, func(id string) { got = append(got, id) })
		want := []string{}
		for i := range requirements[s.id] {
			want = append(want, fmt.Sprintf("%s.%d", strings.TrimPrefix(s.id, "tools/"), i+1))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s meets %v, want %v", s.id, got, want)
		}
		for i, line := range strings.Split(s.raw, "\n") {
			if strings.HasPrefix(line, "<!--") && !isNeeds(line) {
				t.Errorf("%s:%d: a comment stands behind no sentence", s.id, i+1)
			}
		}
		if strings.Count(body, "<!--") != strings.Count(body, "<!-- needs: ") {
			t.Errorf("%s: a comment is neither the id of a requirement nor about needs", s.id)
		}
	}
	for _, f := range All() {
		if strings.Contains(f.Body, "<!--") {
			t.Errorf("%s holds a comment", f.ID)
		}
	}
	for _, g := range append(Groups(), Group{ID: "approval", Paragraphs: Approval()}) {
		for _, p := range g.Paragraphs {
			if strings.Contains(p.Body, "<!--") {
				t.Errorf("%s holds a comment", g.ID)
			}
		}
	}
}

// longest are the longest values that a prompt's input may give.
var longest = map[string]string{
	"product": strings.Repeat("é", 80), "model": strings.Repeat("é", 80), "project": strings.Repeat("é", 80),
	"cwd": strings.Repeat("é", 1000), "dataRoot": strings.Repeat("é", 1000),
}

func TestBudgetsHoldWithTheLongestValues(t *testing.T) {
	budgets := map[string]int{
		"identity": 400, "role": 1400, "autonomy": 2600, "personality": 1200, "permission": 1800, "steering": 2000, "writing": 1900,
		"workspace": 1500, "reporting": 12000, "side-question": 1500,
	}
	for _, f := range All() {
		if n := utf8.RuneCountInString(f.Fill(longest)); n > f.Budget || strings.Contains(f.Fill(longest), "{{") {
			t.Errorf("%s has %d characters of %d", f.ID, n, f.Budget)
		}
		if want, ok := budgets[f.ID]; ok && f.Budget != want {
			t.Errorf("%s: budget %d, want %d", f.ID, f.Budget, want)
		}
	}
	if f, _ := Fixed("reporting"); utf8.RuneCountInString(f.Body) > 6500 {
		t.Errorf("reporting has %d characters and aims at 6,000", utf8.RuneCountInString(f.Body))
	}
}

// Every byte of a text is in the prefix that providers cache, so that a change has to
// show in review: -update writes the file anew.
func TestDigestsNameEveryText(t *testing.T) {
	var b strings.Builder
	digest := func(id, title, body string) { fmt.Fprintf(&b, "%s %s: %s\n", digestOf(body), id, title) }
	for _, f := range All() {
		digest(f.ID, f.Title, f.Body)
	}
	for _, g := range append([]Group{{ID: "approval", Title: "Approval", Paragraphs: Approval()}}, Groups()...) {
		digest("tools/"+g.ID, g.Title, grouped(g))
	}
	if *kxmtest.Update {
		if err := os.WriteFile("DIGESTS", []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("DIGESTS")
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("texts have changed, and with them the prefix of every prompt; after review: go test ./lib/prompt/text -run TestDigests -update\n%s", b.String())
	}
}

func digestOf(body string) string {
	sum := sha256.Sum256([]byte(body))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// grouped writes a group as it is read.
func grouped(g Group) string {
	var parts []string
	for _, p := range g.Paragraphs {
		if len(p.Needs) > 0 {
			parts = append(parts, "<!-- needs: "+strings.Join(p.Needs, ", ")+" -->\n"+p.Body)
		} else {
			parts = append(parts, p.Body)
		}
	}
	return strings.Join(parts, "\n\n")
}

func TestNoTextHoldsAnotherPlaceholder(t *testing.T) {
	placeholder := regexp.MustCompile(`\{\{(.*?)\}\}`)
	for _, s := range sources(t) {
		var got []string
		for _, m := range placeholder.FindAllStringSubmatch(s.raw, -1) {
			got = append(got, m[1])
			if !slices.Contains(placeholders, m[1]) {
				t.Errorf("%s holds %s, which nothing fills", s.id, m[0])
			}
		}
		if !slices.Equal(got, open[s.id]) {
			t.Errorf("%s holds the placeholders %v, want %v", s.id, got, open[s.id])
		}
	}
}

// phrase reports whether text holds a phrase with no letter on either side of it.
func phrase(text, phrase string) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], phrase)
		if i < 0 {
			return false
		}
		at := from + i
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at+len(phrase):])
		if (!unicode.IsLetter(before) || strings.HasPrefix(phrase, ",")) && !unicode.IsLetter(after) {
			return true
		}
		from = at + 1
	}
}

func TestPhrase(t *testing.T) {
	for _, c := range []struct {
		text, phrase string
		want         bool
	}{
		{"a deep dive.", "deep dive", true}, {"deep diver", "deep dive", false}, {"it is a, not b", ", not", true}, {"a, nothing", ", not", false},
		{"disrobust robust", "robust", true}, {"disrobust", "robust", false}, {"", "robust", false},
	} {
		if phrase(c.text, c.phrase) != c.want {
			t.Errorf("%q in %q: %t", c.phrase, c.text, !c.want)
		}
	}
}

func TestNoTextHoldsAStockPhrase(t *testing.T) {
	raw, err := os.ReadFile("avoid.txt")
	if err != nil {
		t.Fatal(err)
	}
	phrases := strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n")
	if len(phrases) < 80 || !slices.IsSorted(phrases) || len(slices.Compact(slices.Clone(phrases))) != len(phrases) {
		t.Errorf("%d phrases, which must be sorted and stand once", len(phrases))
	}
	skill, _ := descriptor.Skill("plugin-authoring")
	for _, s := range append(sources(t), source{"the skill", skill}) {
		text := strings.ToLower(strings.Join(strings.Fields(s.raw), " "))
		for _, p := range phrases {
			if p == "" || p != strings.ToLower(strings.TrimSpace(p)) {
				t.Fatalf("%q is no phrase in lower case", p)
			}
			if phrase(text, p) {
				t.Errorf("%s holds %q", s.id, p)
			}
		}
	}
}

// names are of vendors, products and models that a text could slip into.
var names = []string{
	"kxm", "claude", "anthropic", "openai", "gpt", "chatgpt", "codex", "gemini", "google", "copilot", "cursor", "llama", "mistral", "qwen", "deepseek",
	"microsoft", "github", "gitlab", "amazon", "meta", "apple", "npm", "docker", "slack", "jira", "linux", "windows", "macos", "python", "node", "ada",
}

var dates = regexp.MustCompile(`(?i)\b(19|20)\d\d\b|\b\d{1,2}[./-]\d{1,2}[./-]\d{2,4}\b|\b(january|february|march|april|june|july|august|september|october|november|december|monday|tuesday|wednesday|thursday|friday|saturday|sunday)\b|\bmay \d`)

// Capitals inside a sentence are how English writes names; these are none, and single
// letters neither.
var capitals = []string{"AI", "UTC"}

func TestNoTextNamesADateAProductOrAPerson(t *testing.T) {
	for _, s := range sources(t) {
		body := withoutRequirements(s.raw, nil)
		if m := dates.FindString(body); m != "" {
			t.Errorf("%s holds the date %q", s.id, m)
		}
		lower := strings.ToLower(body)
		for _, n := range names {
			if phrase(lower, n) {
				t.Errorf("%s names %q", s.id, n)
			}
		}
		for line := range strings.Lines(body) {
			words := strings.Fields(strings.TrimLeft(line, "#-|0123456789. "))
			for i, w := range words {
				if i == 0 || strings.HasSuffix(words[i-1], ".") || strings.HasSuffix(words[i-1], ":") || words[i-1] == "|" {
					continue
				}
				w = strings.Trim(w, `.,;:()"`)
				if r, size := utf8.DecodeRuneInString(w); unicode.IsUpper(r) && len(w) > size && !slices.Contains(capitals, w) && !quoted(words[i]) {
					t.Errorf("%s: %q looks like a name", s.id, w)
				}
			}
		}
	}
}

// quoted reports whether a word begins a quotation, as a heading that is cited.
func quoted(word string) bool { return strings.HasPrefix(word, `"`) }

// A reply ends when the work is done: no text may promise that an unfinished one is
// caught, let a message ask for leave, or offer a way to stop.
func TestNoTextPermitsToStop(t *testing.T) {
	forbidden := regexp.MustCompile(`(sent|sends|send|handed|comes?) (it |them )?back|returned to you|(may|can|should|must) ask (for|the person) (for )?(permission|approval|leave)|(tool|call|way) (to|for) (stop|end|finish)`)
	never := regexp.MustCompile(`ask for permission`)
	for _, s := range sources(t) {
		text := strings.ToLower(strings.Join(strings.Fields(withoutRequirements(s.raw, nil)), " "))
		if m := forbidden.FindString(text); m != "" {
			t.Errorf("%s says %q", s.id, m)
		}
		for _, at := range never.FindAllStringIndex(text, -1) {
			if !strings.HasSuffix(text[:at[0]], "never ") {
				t.Errorf("%s lets a text ask for permission", s.id)
			}
		}
	}
}

func TestFill(t *testing.T) {
	body := "One {{product}}.\nTwo {{model}}.\n\nThree {{cwd}} and {{model}}.\n\nFour {{other}} {{product."
	for _, c := range []struct {
		values map[string]string
		want   string
	}{
		{map[string]string{"product": "P", "model": "M", "cwd": "C", "other": "O"}, "One P.\nTwo M.\n\nThree C and M.\n\nFour {{other}} {{product."},
		{map[string]string{"product": "P", "cwd": "C"}, "One P.\n\nFour {{other}} {{product."},
		{map[string]string{"product": "{{model}}", "model": "{{cwd}}", "cwd": "{{"}, "One {{model}}.\nTwo {{cwd}}.\n\nThree {{ and {{cwd}}.\n\nFour {{other}} {{product."},
		{nil, "Four {{other}} {{product."},
	} {
		if got := (Text{Body: body}).Fill(c.values); got != c.want {
			t.Errorf("%v: %q, want %q", c.values, got, c.want)
		}
	}
	if got := (Text{Body: "Plain.\n\n\nText."}).Fill(nil); got != "Plain.\n\n\nText." {
		t.Errorf("a body without placeholders became %q", got)
	}
}

func TestTheIdentityOfAnUnknownModelLeavesItOut(t *testing.T) {
	f, _ := Fixed("identity")
	known := f.Fill(map[string]string{"product": "acme", "model": "large"})
	unknown := f.Fill(map[string]string{"product": "acme"})
	if !strings.Contains(known, "acme") || !strings.Contains(known, "large") || strings.Contains(unknown, "model") || strings.Contains(unknown, "{{") {
		t.Errorf("known: %s\nunknown: %s", known, unknown)
	}
}

// What a reader of the digests needs: anyone can compute them again.
func TestDigestIsOfTheBody(t *testing.T) {
	for _, f := range All() {
		if want := digestOf(f.Body); f.Digest != want {
			t.Errorf("%s: %s, want %s", f.ID, f.Digest, want)
		}
	}
}

func TestWithoutRequirements(t *testing.T) {
	for in, want := range map[string]string{
		"A. <!-- role.1 -->\nB.  <!-- context-updates.12 -->": "A.\nB.",
		"A <!-- a note --> B <!-- role.1 -->":                 "A <!-- a note --> B",
		"<!-- needs: a.1 -->\nA":                              "<!-- needs: a.1 -->\nA",
		"A <!-- role.1":                                       "A <!-- role.1",
		"A <!-- role. --> <!-- .1 --> <!-- Role.1 -->":        "A <!-- role. --> <!-- .1 --> <!-- Role.1 -->",
		"": "",
	} {
		if got := withoutRequirements(in, nil); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}
