package wiki

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/yuin/goldmark/text"

	"kxm/lib/item"
)

func TestChanges(t *testing.T) {
	before := everything().Items
	for _, c := range []struct {
		name   string
		change func(in *LintInput)
		want   string
	}{
		{"nothing", func(*LintInput) {}, ""},
		{"a new fact", func(in *LintInput) { in.Items = append(in.Items, fact("new", "convention", "New")) },
			`{"schema":"kxm.wiki-change.v1","change":"claim_added","id":"mem_new","page":"patterns.md","summary":"New"}`},
		{"other words", func(in *LintInput) { change(in, "mem_pnpm", func(it *item.Item) { it.Summary = "Use yarn, not npm" }) },
			`{"schema":"kxm.wiki-change.v1","change":"claim_changed","id":"mem_pnpm","page":"patterns.md","summary":"Use yarn, not npm","before":"Use pnpm, not npm",` +
				`"words":[{"op":"same","text":"Use "},{"op":"delete","text":"pnpm"},{"op":"insert","text":"yarn"},{"op":"same","text":", not npm"}],"fields":["summary"]}`},
		{"another authority", func(in *LintInput) {
			change(in, "mem_pnpm", func(it *item.Item) { it.Authority = item.AuthorityEvidence })
		}, `{"schema":"kxm.wiki-change.v1","change":"claim_changed","id":"mem_pnpm","page":"patterns.md","summary":"Use pnpm, not npm","fields":["authority"]}`},
		{"another file alone", func(in *LintInput) {
			change(in, "mem_pnpm", func(it *item.Item) { it.Provenance.Blob = strings.Repeat("a", 40) })
		}, ""},
		{"superseded", func(in *LintInput) {
			change(in, "mem_pnpm", func(it *item.Item) { it.Status = item.StatusSuperseded })
			change(in, "mem_arch", func(it *item.Item) { it.Supersedes = []string{"mem_pnpm"} })
		}, `{"schema":"kxm.wiki-change.v1","change":"claim_superseded","id":"mem_pnpm","page":"patterns.md","summary":"Use pnpm, not npm","replacedBy":["mem_arch"]}`},
		{"removed", func(in *LintInput) { without(in, "mem_arch") },
			`{"schema":"kxm.wiki-change.v1","change":"claim_removed","id":"mem_arch","page":"architecture.md","summary":"Arrows point down"}`},
		{"reviewed", func(in *LintInput) { change(in, "journal_l", func(it *item.Item) { it.Status = item.StatusCurrent }) },
			`{"schema":"kxm.wiki-change.v1","change":"claim_added","id":"journal_l","page":"incidents.md","summary":"Unreviewed lesson"}`},
		{"not reviewed any more", func(in *LintInput) { change(in, "journal_d", func(it *item.Item) { it.Status = item.StatusRejected }) },
			`{"schema":"kxm.wiki-change.v1","change":"claim_removed","id":"journal_d","page":"decisions.md","summary":"Decided"}`},
		{"unreviewed", func(in *LintInput) {
			in.Items = append(in.Items, entry("n", "lesson", "x", ""), value("n", "key", "x", item.StatusProposed))
		}, ""},
		{"promoted", func(in *LintInput) {
			change(in, "ctx_2", func(it *item.Item) { it.Status = item.StatusSuperseded })
			in.Items = append(in.Items, value("n", "release.branch", "trunk", item.StatusCurrent))
		}, `{"schema":"kxm.wiki-change.v1","change":"state_promoted","id":"ctx_n","stateKey":"release.branch","summary":"trunk","before":"main","words":[{"op":"delete","text":"main"},{"op":"insert","text":"trunk"}],"promotedBy":"ada","evidenceRefs":["pr:12"]}`},
		{"promoted and replaced since", func(in *LintInput) {
			in.Items = append(in.Items, value("m", "fresh", "one", item.StatusSuperseded), value("n", "fresh", "two", item.StatusCurrent))
		}, `{"schema":"kxm.wiki-change.v1","change":"state_promoted","id":"ctx_m","stateKey":"fresh","summary":"one","promotedBy":"ada","evidenceRefs":["pr:12"]}
{"schema":"kxm.wiki-change.v1","change":"state_promoted","id":"ctx_n","stateKey":"fresh","summary":"two","promotedBy":"ada","evidenceRefs":["pr:12"]}`},
		{"lost", func(in *LintInput) { without(in, "ctx_2") }, `{"schema":"kxm.wiki-change.v1","change":"state_ended","id":"ctx_2","stateKey":"release.branch","summary":"main"}`},
		{"a contradiction opened", func(in *LintInput) {
			in.Items = append(in.Items, value("m", "new", "one", item.StatusProposed), value("n", "new", "two", item.StatusProposed))
		}, `{"schema":"kxm.wiki-change.v1","change":"contradiction_opened","stateKey":"new","summary":"2 proposals","sides":["ctx_m","ctx_n"]}`},
		{"a third side", func(in *LintInput) {
			in.Items = append(in.Items, value("m", "deploy.window", "one", item.StatusProposed))
		},
			`{"schema":"kxm.wiki-change.v1","change":"contradiction_changed","stateKey":"deploy.window","summary":"3 proposals","sides":["ctx_4","ctx_5","ctx_m"]}`},
		{"contradictions closed", func(in *LintInput) {
			change(in, "ctx_4", func(it *item.Item) { it.Status = item.StatusRejected })
			change(in, "journal_d", func(it *item.Item) { it.EvidenceRefs = []string{"journal_c"} })
		}, `{"schema":"kxm.wiki-change.v1","change":"claim_changed","id":"journal_d","page":"decisions.md","summary":"Decided","fields":["evidenceRefs"]}
{"schema":"kxm.wiki-change.v1","change":"contradiction_closed","id":"journal_c","summary":"pnpm or npm"}
{"schema":"kxm.wiki-change.v1","change":"contradiction_closed","stateKey":"deploy.window","summary":"2 proposals","sides":["ctx_4","ctx_5"]}`},
		{"a secret", func(in *LintInput) { in.Items = append(in.Items, fact("new", "convention", "Of "+secret)) },
			`{"schema":"kxm.wiki-change.v1","change":"claim_added","id":"mem_new","page":"patterns.md","summary":"Of [redacted:github-pat]"}`},
	} {
		in := &LintInput{Items: slices.Clone(before)}
		c.change(in)
		r := rand.New(rand.NewPCG(1, 1))
		for range 3 {
			var lines []string
			for _, change := range Compare(before, in.Items, Options{Project: "demo"}) {
				lines = append(lines, string(change.AppendJSON(nil)))
			}
			if got := strings.Join(lines, "\n"); got != c.want {
				t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
			}
			r.Shuffle(len(in.Items), func(i, j int) { in.Items[i], in.Items[j] = in.Items[j], in.Items[i] })
		}
		// The way back says the opposite.
		if back := Compare(in.Items, before, Options{Project: "demo"}); (len(back) == 0) != (c.want == "") && c.name != "promoted and replaced since" && c.name != "superseded" {
			t.Errorf("%s: the way back: %v", c.name, back)
		}
	}
}

func TestFormsOfChanges(t *testing.T) {
	from := everything().Items
	in := &LintInput{Items: everything().Items}
	change(in, "mem_pnpm", func(it *item.Item) { it.Summary = "Use yarn, not npm; ask @ada, fixes #12" })
	change(in, "ctx_2", func(it *item.Item) { it.Status = item.StatusSuperseded })
	in.Items = append(in.Items, value("n", "release.branch", "trunk", item.StatusCurrent))
	changes := Compare(from, in.Items, Options{Project: "demo"})
	wantText := `Changed:
  Use [-pnpm-]{+yarn+}, not npm{+; ask @ada, fixes #12+} — mem_pnpm · changed: summary

State promoted:
  release.branch: [-main-]{+trunk+} — ctx_n · promoted by ada · evidence: pr:12
`
	if got := ChangesText(changes); got != wantText {
		t.Errorf("text is\n%s", got)
	}
	wantMarkdown := `## What the project learned

### Changed

- Use <del>pnpm</del><ins>yarn</ins>, not npm<ins>; ask @<!-- -->ada, fixes \#<!-- -->12</ins> — mem_pnpm · changed: summary

### State promoted

- **release.branch**: <del>main</del><ins>trunk</ins> — ctx_n · promoted by ada · evidence: pr:12
`
	if got := ChangesMarkdown(changes); got != wantMarkdown {
		t.Errorf("Markdown is\n%s", got)
	}
	if got := ChangesMarkdown(nil); !strings.Contains(got, "Nothing changed.") || ChangesText(nil) != "" {
		t.Errorf("nothing is %q", got)
	}
}

// checkComment holds that a hostile change alters neither a comment's structure nor a
// terminal.
func checkComment(t testing.TB, s string) {
	t.Helper()
	if oneLine(s) == "" {
		return
	}
	of := func(s string) []Change {
		return []Change{{Kind: ClaimAdded, ID: s, Summary: s}, {Kind: StatePromoted, ID: s, Key: s, Summary: s, Signer: s, Refs: []string{s, s}},
			{Kind: ContradictionOpened, Key: s, By: []string{s}, Summary: s}}
	}
	plain := func(changes []Change) string {
		source := []byte(ChangesMarkdown(changes))
		return shape(readers["all"].Parser().Parse(text.NewReader(source)), source)
	}
	if got, want := plain(of(s)), plain(of("plain")); got != want {
		t.Errorf("%q gives %s, want %s", s, got, want)
	}
	for _, r := range ChangesText(of(s)) {
		if r < ' ' && r != '\n' || r == '\u202E' {
			t.Errorf("%q reaches the terminal with %U", s, r)
		}
	}
	if n := strings.Count(ChangesText(of(s)), "\n"); n != 8 {
		t.Errorf("%q takes %d lines", s, n)
	}
}

func TestHostileChangesChangeNoComment(t *testing.T) {
	for _, s := range hostile {
		checkComment(t, s)
	}
}

func FuzzHostileChangesChangeNoComment(f *testing.F) {
	for _, s := range hostile {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { checkComment(t, short(s)) })
}
