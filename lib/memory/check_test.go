package memory

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"kxm/lib/kxmtest"
	"kxm/lib/rank"
	"kxm/lib/redact"
)

// tree returns a file system of texts; a text that begins with "-> " is a link.
func tree(files map[string]string) fstest.MapFS {
	out := fstest.MapFS{}
	for name, text := range files {
		f := &fstest.MapFile{Data: []byte(text)}
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			f.Data, f.Mode = []byte(target), fs.ModeSymlink
		}
		out[name] = f
	}
	return out
}

// checkTree checks a repository whose .kxm is at the top.
func checkTree(t testing.TB, files map[string]string, change func(*CheckInput)) Report {
	t.Helper()
	root := tree(files)
	kxm := fstest.MapFS{}
	for name, f := range root {
		if inner, ok := strings.CutPrefix(name, ".kxm/"); ok {
			kxm[inner] = f
		}
	}
	facts, err := Load(kxm)
	if err != nil {
		t.Fatal(err)
	}
	candidates, err := LoadCandidates(kxm)
	if err != nil {
		t.Fatal(err)
	}
	in := CheckInput{Facts: facts, Candidates: candidates, Dir: ".", Root: root, Now: kxmtest.Now(), CandidateDays: 30,
		Exists: func(p string) bool { return p == "docs/testing.md" || p == "lib" }}
	if change != nil {
		change(&in)
	}
	return Check(in)
}

// told returns the findings as "file:line rule".
func told(r Report) string {
	var list []string
	for _, f := range r.Findings {
		list = append(list, fmt.Sprintf("%s:%d %s", f.File, f.Line, f.Rule))
	}
	return strings.Join(list, "; ")
}

// TestFindings holds each rule with what triggers it and with what nearly does.
func TestFindings(t *testing.T) {
	const file = ".kxm/memory/x.md"
	x := func(changes ...string) map[string]string {
		m := map[string]string{}
		for i := 0; i < len(changes); i += 2 {
			m[changes[i]] = changes[i+1]
		}
		return map[string]string{file: memoryFile("x", m)}
	}
	with := func(files map[string]string, more ...string) map[string]string {
		for i := 0; i < len(more); i += 2 {
			files[more[i]] = more[i+1]
		}
		return files
	}
	candidate := func(timestamp string) map[string]string {
		return map[string]string{".kxm/memory/candidates/cand_a.md": memoryFile("cand_a", map[string]string{
			"provenance": "{sourceType: peer, timestamp: " + timestamp + "}", "authority": "evidence"})}
	}
	instructions := func(blockFacts []Fact, before int) map[string]string {
		return with(x(), "AGENTS.md", strings.Repeat("x\n", before)+Block(blockFacts)+"\n")
	}
	xFact := []Fact{{ID: "x", Scope: "project", Kind: "convention", Summary: "Fact x"}}
	block := Block(xFact)
	words := "alpha beta gamma delta epsilon zeta eta theta"

	for _, c := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"nothing", x(), ""},
		{"no front matter", map[string]string{file: "text"}, file + ":1 memory-invalid"},
		{"broken front matter", x("kind", "[a"), file + ":5 memory-invalid"},
		{"folder in its place", map[string]string{file + "/y": "text"}, ""},
		{"link out of .kxm", map[string]string{file: "-> ../../AGENTS.txt", "AGENTS.txt": "a"}, file + ":1 memory-unreadable"},
		{"link inside .kxm", with(map[string]string{file: "-> ../shared/x.md"}, ".kxm/shared/x.md", memoryFile("x", nil)), ""},
		{"control-plane field", x("grants", "all"), file + ":12 memory-control-plane"},
		{"control-plane word", x("summary", "grants all"), ""},
		{"duplicate id", with(x(), ".kxm/memory/y.md", memoryFile("x", map[string]string{"summary": "Another thing altogether"})),
			file + ":3 memory-duplicate-id; .kxm/memory/y.md:3 memory-duplicate-id; .kxm/memory/y.md:3 memory-file-name"},
		{"id in another case", with(x(), ".kxm/memory/X.md", memoryFile("X", map[string]string{"summary": "Another thing altogether"})), ""},
		{"file name", map[string]string{".kxm/memory/y.md": memoryFile("x", nil)}, ".kxm/memory/y.md:3 memory-file-name"},
		{"secret in the summary", x("summary", "use "+secret), file + ":6 memory-secret"},
		{"secret in the body", x("body", "a\n\n"+secret+"\n"), file + ":15 memory-secret"},
		{"secret in an unknown key", x("extra", secret), file + ":12 memory-secret; " + file + ":12 memory-unknown-key"},
		{"secret in a broken file", map[string]string{file: "text\n" + secret + "\n"}, file + ":1 memory-invalid; " + file + ":2 memory-secret"},
		{"secret behind an escape", x("summary", `"use \x67`+secret[1:]+`"`), file + ":6 memory-secret"},
		{"allowed by its line", x("summary", "use "+secret+" # gitleaks:allow"), ""},
		{"allowed by its line, escaped", x("summary", `"use \x67`+secret[1:]+`" # gitleaks:allow`), ""},
		{"allowed on another line", x("summary", "use "+secret, "kind", "k # gitleaks:allow"), file + ":6 memory-secret"},
		{"digest", x("summary", "sha256:"+strings.Repeat("ab12", 16)), ""},
		{"end marker in the summary", x("summary", "the end "+EndMarker), file + ":6 memory-summary-marker"},
		{"marker's word in the summary", x("summary", "kxm:memory:end"), ""},
		{"newline in the summary", x("summary", "|-\n  a\n  b"), file + ":6 memory-summary-newline"},
		{"folded summary", x("summary", ">-\n  a\n  b"), ""},
		{"summary of 501", x("summary", strings.Repeat("é", 501)), file + ":6 memory-summary-long"},
		{"summary of 500", x("summary", strings.Repeat("é", 500)), ""},
		{"unknown key", x("reviewd", "2026-01-01"), file + ":12 memory-unknown-key"},
		{"known keys", x("reviewBy", "2027-01-01", "tags", "[a]", "appliesTo", "['*']", "lifecycleReason", "r"), ""},
		{"peer that claims instruction", x("provenance", "{sourceType: peer}"), file + ":8 memory-authority-ceiling"},
		{"peer that claims evidence", x("provenance", "{sourceType: peer}", "authority", "evidence"), ""},
		{"too many references", x("evidenceRefs", "["+refs(65)+"]"), file + ":1 memory-item-limits"},
		{"as many references as may be", x("evidenceRefs", "["+refs(64)+"]"), ""},
		{"missing source", x("provenance", "{sourceRef: docs/gone.md}"), file + ":7 memory-reference-missing"},
		{"missing evidence", x("evidenceRefs", "\n  - docs/testing.md#top\n  - docs/gone.md:12\n  - pr:12"), file + ":13 memory-reference-missing"},
		{"other references", x("evidenceRefs", "['https://example.com/a', 'lib', 'docs/testing.md:12-14', 'owner/repo#12', 'run_1', 'v1.2']"), ""},
		{"supersedes nothing", x("supersedes", "[gone]"), file + ":12 memory-supersedes-unknown"},
		{"supersedes a fact", with(x("supersedes", "[y]"), ".kxm/memory/y.md", memoryFile("y", map[string]string{"lifecycle": "superseded"})), ""},
		{"supersedes a file that is broken", with(x("supersedes", "[y]"), ".kxm/memory/y.md", ""), ".kxm/memory/y.md:1 memory-invalid"},
		{"review of yesterday", x("reviewBy", "2026-08-31"), file + ":12 memory-review-due"},
		{"review of today", x("reviewBy", "2026-09-01"), ""},
		{"review a second ago", x("reviewBy", "2026-09-01T11:59:59Z"), file + ":12 memory-review-due"},
		{"near duplicate", with(x("summary", words+" one"), ".kxm/memory/y.md", memoryFile("y", map[string]string{"summary": "Two, " + words})),
			".kxm/memory/y.md:6 memory-near-duplicate"},
		{"not so near", with(x("summary", words+" one"), ".kxm/memory/y.md", memoryFile("y", map[string]string{"summary": words[6:] + " two"})), ""},
		{"near, but no longer active", with(x("summary", words), ".kxm/memory/y.md", memoryFile("y", map[string]string{"summary": words, "lifecycle": "deprecated"})), ""},
		{"old candidate", candidate("2026-08-01T11:00:00Z"), ".kxm/memory/candidates/cand_a.md:7 memory-candidate-old"},
		{"candidate of 30 days", candidate("2026-08-02T11:00:00Z"), ""},
		{"candidate without a time", candidate("soon"), ""},
		{"broken candidate", map[string]string{".kxm/memory/candidates/a.md": ""}, ".kxm/memory/candidates/a.md:1 memory-invalid"},
		{"stale block", with(x(), "AGENTS.md", "a\n\n"+Block(nil)), "AGENTS.md:3 memory-block-stale"},
		{"no block yet", with(x(), "CLAUDE.md", "a\n"), "CLAUDE.md:1 memory-block-stale"},
		{"block as it should be", with(x(), "AGENTS.md", "a\n"+block, "CLAUDE.md", "@AGENTS.md", "GEMINI.md", "-> AGENTS.md"), ""},
		{"block of a broken set", map[string]string{file: "", "AGENTS.md": block}, file + ":1 memory-invalid"},
		{"malformed block", with(x(), "AGENTS.md", StartMarker), "AGENTS.md:1 memory-block-malformed"},
		{"marker in a fence", with(x(), "AGENTS.md", "```\n"+StartMarker+"\n```\n\n"+block+"\n"), ""},
		{"too long for Codex", instructions(xFact, CodexBytes/2), fmt.Sprintf("AGENTS.md:%d memory-instructions-long", CodexBytes/2+4)},
		{"just as long as Codex takes", instructions(xFact, (CodexBytes-len(block)-1)/2), ""},
		{"too long for Claude Code", with(x(), "CLAUDE.md", strings.Repeat("x\n", 197)+block+"\n"), "CLAUDE.md:201 memory-instructions-long"},
		{"as long as Claude Code takes", with(x(), "CLAUDE.md", strings.Repeat("x\n", 195)+block+"\n"), ""},
		{"too long by an import", with(x(), "CLAUDE.md", "a\n@AGENTS.md\nb\n", "AGENTS.md", strings.Repeat("x\n", 196)+block+"\n"), "CLAUDE.md:1 memory-instructions-long"},
	} {
		t.Run(c.name, func(t *testing.T) {
			report := checkTree(t, c.files, nil)
			if got := told(report); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			for _, f := range report.Findings {
				if r := rule(f.Rule); r.Severity != f.Severity || f.Fix == "" || f.Message == "" {
					t.Errorf("finding %+v", f)
				}
				if raw, _ := json.Marshal(f); strings.Contains(string(raw)+f.Text()+f.GitHub(), secret) {
					t.Errorf("the secret is in %+v", f)
				}
			}
		})
	}
}

// TestEveryRuleIsTried holds that no rule is without a test above.
func TestEveryRuleIsTried(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Rules() {
		if seen[r.ID] || r.Meaning == "" || r.Fix == "" || strings.HasSuffix(r.Meaning, ".") {
			t.Errorf("rule %+v", r)
		}
		seen[r.ID] = true
	}
	if len(seen) != 20 {
		t.Errorf("%d rules: add the new one to TestFindings, then here", len(seen))
	}
}

func TestCheckMessages(t *testing.T) {
	fact := func(id string) string { return memoryFile(id, map[string]string{"summary": "number" + id}) }
	report := checkTree(t, map[string]string{
		".kxm/memory/a.md": fact("a"), ".kxm/memory/b.md": fact("b"),
		"AGENTS.md": strings.Repeat("x", CodexBytes-150) + "\n" + Block([]Fact{
			{ID: "a", Scope: "project", Kind: "convention", Summary: "numbera"}, {ID: "b", Scope: "project", Kind: "convention", Summary: "numberb"}}),
	}, nil)
	if len(report.Findings) != 1 || !strings.Contains(report.Findings[0].Message, `of which Codex reads 32768; the first fact behind the cut is "`) ||
		report.Errors() != 0 {
		t.Errorf("got %+v", report)
	}
	report = checkTree(t, map[string]string{".kxm/memory/a.md": memoryFile("a", map[string]string{"provenance": "{sourceType: tool}"})}, nil)
	if f := report.Findings[0]; !strings.Contains(f.Message, "claims authority instruction, but its origin tool allows at most evidence") ||
		!strings.Contains(f.Fix, "let a review change provenance.sourceType") || report.Errors() != 1 {
		t.Errorf("got %+v", f)
	}
	report = checkTree(t, map[string]string{".kxm/memory/" + secret + ".md": "x"}, nil)
	for _, f := range report.Findings {
		if strings.Contains(f.File+f.Message, secret) {
			t.Errorf("the secret is in %+v", f)
		}
	}
	if got := told(report); !strings.Contains(got, "memory-secret") {
		t.Errorf("got %s", got)
	}
}

// TestCodexCountsTheFilesAbove holds that the chain of AGENTS.md from the top
// counts against the limit first.
func TestCodexCountsTheFilesAbove(t *testing.T) {
	files := map[string]string{"AGENTS.md": strings.Repeat("x", CodexBytes-300), "a/AGENTS.md": strings.Repeat("y", 200), "a/b/AGENTS.md": Block(nil), "other/AGENTS.md": strings.Repeat("z", CodexBytes)}
	in := CheckInput{Dir: "a/b", Root: tree(files), Now: kxmtest.Now()}
	if got := told(Check(in)); got != "a/b/AGENTS.md:5 memory-instructions-long" {
		t.Errorf("got %s", got)
	}
	files["a/AGENTS.md"] = ""
	in.Root = tree(files)
	if got := told(Check(in)); got != "" {
		t.Errorf("got %s", got)
	}
	delete(files, "a/AGENTS.md")
	files["AGENTS.md"] = strings.Repeat("x", CodexBytes+1)
	in.Root = tree(files)
	if got := told(Check(in)); got != "a/b/AGENTS.md:1 memory-instructions-long" {
		t.Errorf("got %s", got)
	}
}

// TestCheckOfSomeFiles holds that only the wanted files have findings, and that one
// about two files is kept for either.
func TestCheckOfSomeFiles(t *testing.T) {
	files := map[string]string{
		".kxm/memory/a.md": memoryFile("a", map[string]string{"summary": "the same words", "extra": "x"}),
		".kxm/memory/b.md": memoryFile("b", map[string]string{"summary": "the same words", "extra": "x"}),
		".kxm/memory/c.md": "", "AGENTS.md": "a",
	}
	for only, want := range map[string]string{
		".kxm/memory/a.md": ".kxm/memory/a.md:12 memory-unknown-key; .kxm/memory/b.md:6 memory-near-duplicate",
		".kxm/memory/b.md": ".kxm/memory/b.md:6 memory-near-duplicate; .kxm/memory/b.md:12 memory-unknown-key",
		"AGENTS.md":        "",
		".kxm/memory/c.md": ".kxm/memory/c.md:1 memory-invalid",
	} {
		report := checkTree(t, files, func(in *CheckInput) { in.Only = func(p string) bool { return p == only } })
		if got := told(report); got != want {
			t.Errorf("%s: got %s, want %s", only, got, want)
		}
	}
}

func TestAllowedSecretsAreCounted(t *testing.T) {
	files := map[string]string{
		".kxm/memory/a.md": memoryFile("a", map[string]string{"summary": "use " + secret}),
		".kxm/memory/b.md": memoryFile("b", map[string]string{"summary": `"another of them \x67` + secret[1:] + `"`}),
	}
	report := checkTree(t, files, nil)
	if len(report.Findings) != 2 || report.Allowed != 0 {
		t.Fatalf("got %+v", report)
	}
	found := redact.Find(secret)[0].Rule
	report = checkTree(t, files, func(in *CheckInput) {
		in.Allow = []redact.Allow{{Path: ".kxm/memory/a.md", Rule: found}, {Path: ".kxm/memory/b.md", Rule: found}, {Path: ".kxm/memory/b.md", Rule: "other"}}
	})
	if len(report.Findings) != 0 || report.Allowed != 2 {
		t.Errorf("got %+v", report)
	}
}

func TestReferencedPath(t *testing.T) {
	for ref, want := range map[string]string{
		"docs/testing.md": "docs/testing.md", "./docs//a.md": "docs/a.md", "README.md": "README.md", "lib/x.go:12": "lib/x.go", "x.go:12-15": "x.go", "docs/a.md#part": "docs/a.md",
		"lib/": "lib", "../up.md": "../up.md", "Makefile": "", "pr:12": "", "issue:9": "", "https://example.com/a.md": "", "memory:x.md": "", "journal:jrn_1": "", "owner/repo#12": "",
		"see docs/a.md": "", "v1.2": "", "1.0.0": "", "": "", "#top": "", "skill:a@kxt1:00": "", "run_12": "", "docs/*.md": "", "0123abcd": "",
	} {
		if got, ok := ReferencedPath(ref); got != want || ok != (want != "") {
			t.Errorf("%q: %q, %t", ref, got, ok)
		}
	}
}

func TestReportFormats(t *testing.T) {
	f := Finding{Rule: RuleInvalid, Severity: SeverityError, File: "a,b:c%.md", Line: 3, Column: 7, Message: "100% <bad>: x,\ny\r", Fix: "do"}
	if got, want := string(f.AppendJSON(nil)), `{"schema":"kxm.memory-finding.v1","rule":"memory-invalid","severity":"error","file":"a,b:c%.md","line":3,"column":7,"message":"100% <bad>: x,\ny\r","fix":"do"}`; got != want {
		t.Errorf("got %s", got)
	}
	if got, want := f.GitHub(), "::error file=a%2Cb%3Ac%25.md,line=3,col=7,title=memory-invalid::100%25 <bad>: x,%0Ay%0D (do)\n"; got != want {
		t.Errorf("got %q", got)
	}
	f = Finding{Rule: RuleSummaryLong, Severity: SeverityWarning, File: "a.md", Line: 1, Message: "long", Fix: "shorten"}
	if got, want := f.Text(), "a.md:1: warning: long [memory-summary-long]\n    shorten\n"; got != want {
		t.Errorf("got %q", got)
	}
	if got, want := f.GitHub(), "::warning file=a.md,line=1,title=memory-summary-long::long (shorten)\n"; got != want {
		t.Errorf("got %q", got)
	}
}

// TestSimilarPairsComparesAsIfAllWere holds the filtered search to the plain one:
// for each text the first earlier one that is similar.
func TestSimilarPairsComparesAsIfAllWere(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	found := 0
	for range 300 {
		texts := make([]string, 40)
		for i := range texts {
			var words []string
			for range r.IntN(14) {
				words = append(words, fmt.Sprintf("word%d", r.IntN(5+r.IntN(15))))
			}
			texts[i] = strings.Join(words, " ")
			if i > 0 && r.IntN(3) == 0 {
				texts[i] = texts[r.IntN(i)] + " word1"
			}
		}
		var want [][2]int
		for i := range texts {
			for j := range i {
				if jaccard(texts[i], texts[j]) {
					want = append(want, [2]int{j, i})
					break
				}
			}
		}
		found += len(want)
		if got := similarPairs(texts); !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v of %q", got, want, texts)
		}
	}
	if found < 1000 {
		t.Errorf("only %d pairs", found)
	}
}

func jaccard(a, b string) bool {
	count := map[string]int{}
	for i, text := range []string{a, b} {
		for _, w := range rank.Tokenize(text) {
			count[w] |= 1 << i
		}
	}
	common := 0
	for _, n := range count {
		if n == 3 {
			common++
		}
	}
	return common > 0 && 5*common >= 4*len(count)
}

// TestSimilarPairsIsNotQuadratic holds that many facts take no more time than a
// check may, those of one mould included. The square of 20,000 would take minutes.
func TestSimilarPairsIsNotQuadratic(t *testing.T) {
	texts := make([]string, 20_000)
	for i := range texts {
		texts[i] = fmt.Sprintf("Service number %d answers within the budget of its own tier and its owner reviews alerts each week", i)
		if i%2 == 0 {
			texts[i] = fmt.Sprintf("rule %d about topic%d and area%d from team%d", i, i%97, i%89, i%83)
		}
	}
	done := make(chan int)
	go func() { done <- len(similarPairs(texts)) }()
	select {
	case n := <-done:
		if n < 9_999 {
			t.Errorf("only %d of the facts of one mould are near another", n)
		}
	case <-time.After(20 * time.Second):
		t.Error("takes more than 20 seconds")
	}
}

func BenchmarkCheck1000(b *testing.B) {
	files := map[string]string{}
	for i := range 1000 {
		id := fmt.Sprintf("fact-%d", i)
		files[".kxm/memory/"+id+".md"] = memoryFile(id, map[string]string{"summary": fmt.Sprintf("fact%d says that part%d of area%d holds %d", i, i%31, i%17, i)})
	}
	for b.Loop() {
		checkTree(b, files, nil)
	}
}
