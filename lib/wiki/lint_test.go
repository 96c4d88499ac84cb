package wiki

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"kxm/lib/item"
)

// linted lints the pages of everything after a change.
func linted(t *testing.T, o Options, change func(in *LintInput)) []Finding {
	t.Helper()
	pool := everything()
	in := LintInput{Pages: folderOf(compile(t, pool, o)), Folder: Folder, Items: pool.Items, Project: "demo", Exists: func(name string) bool {
		return strings.HasPrefix(name, ".kxm/memory/") || strings.HasPrefix(name, ".kxm/skills/promoted/") || name == "README.md"
	}}
	if change != nil {
		change(&in)
	}
	return Lint(in)
}

// rewrite replaces text on a page and seals it anew, as another program might.
func rewrite(t *testing.T, in *LintInput, name string, pairs ...string) {
	t.Helper()
	data := in.Pages[name]
	body := string(data[:bytes.LastIndex(data, []byte(markStart))])
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(body, pairs[i]) {
			t.Fatalf("%s does not hold %q:\n%s", name, pairs[i], body)
		}
		body = strings.Replace(body, pairs[i], pairs[i+1], 1)
	}
	in.Pages[name] = seal([]byte(body))
}

func change(in *LintInput, id string, f func(*item.Item)) {
	f(&in.Items[slices.IndexFunc(in.Items, func(it item.Item) bool { return it.ID == id })])
}

func without(in *LintInput, ids ...string) {
	in.Items = slices.DeleteFunc(in.Items, func(it item.Item) bool { return slices.Contains(ids, it.ID) })
}

func TestCompiledPagesHaveNoFinding(t *testing.T) {
	for _, o := range []Options{{}, {Proposals: true}, {Journal: true}, {Proposals: true, Journal: true}} {
		if found := linted(t, o, nil); len(found) > 0 {
			t.Errorf("%+v: %+v", o, found)
		}
	}
	for _, s := range hostile {
		if _, w := structure(t, s); oneLine(s) != "" {
			pool := item.Pool{Items: w.compiler.items}
			if found := Lint(LintInput{Pages: folderOf(w), Folder: Folder, Items: pool.Items, Project: "demo"}); masked(s) == s && len(found) > 0 {
				t.Errorf("%q: %+v", s, found)
			}
		}
	}
}

func TestLintRules(t *testing.T) {
	const patterns = Folder + "/patterns.md"
	for _, c := range []struct {
		rule, name string
		change     func(in *LintInput)
		want       string // path:line severity; "" is no finding
	}{
		{RuleBrokenRef, "a fact that is gone", func(in *LintInput) { without(in, "mem_pnpm") }, Folder + "/contradictions.md:18 error, " + patterns + ":7 error"},
		{RuleBrokenRef, "a superseded fact, which is in the pool", func(in *LintInput) { change(in, "mem_old", func(it *item.Item) { it.Summary = "x" }) }, ""},
		{RuleBrokenRef, "an entry that is gone", func(in *LintInput) { without(in, "journal_o") }, Folder + "/architecture.md:5 error"},
		{RuleBrokenRef, "an entry where there is no state", func(in *LintInput) { without(in, "journal_o"); in.NoState = true }, Folder + "/architecture.md:5 warning"},
		{RuleBrokenRef, "a fact where there is no state", func(in *LintInput) { without(in, "mem_arch"); in.NoState = true }, Folder + "/architecture.md:6 error"},
		{RuleBrokenRef, "an id in prose", func(in *LintInput) {
			in.Pages["notes.md"] = []byte("mem_nothing and [mem_nothing](../../memory/nothing.md)\n")
		}, ""},

		{RuleBrokenLink, "a file that is gone", func(in *LintInput) {
			old := in.Exists
			in.Exists = func(name string) bool { return name != ".kxm/memory/pnpm.md" && old(name) }
		}, patterns + ":7 error"},
		{RuleBrokenLink, "an anchor that is gone", func(in *LintInput) { rewrite(t, in, "decisions.md", `<a id="mem_choice"></a>`, "") }, Folder + "/history.md:6 error"},
		{RuleBrokenLink, "a page that is gone", func(in *LintInput) { delete(in.Pages, "history.md") }, Folder + "/index.md:17 error"},
		{RuleBrokenLink, "links of somebody's page", func(in *LintInput) {
			in.Pages["notes.md"] = []byte("[a](state.md#release.branch)\n\n[b](#nowhere) ![c](no.png)\n\n[d](../../../../x)\n")
		}, Folder + "/notes.md:1 error, " + Folder + "/notes.md:3 error, " + Folder + "/notes.md:3 error, " + Folder + "/notes.md:5 error"},
		{RuleBrokenLink, "links that lead somewhere", func(in *LintInput) {
			in.Pages["notes.md"] = []byte("# A title\n\n[a](state.md#ctx_2) [b](#a-title) [c](https://example.com/x) [d](../../../README.md) [e](/README.md) [f](mailto:a@b.c) `[g](no.md)`\n\n" +
				"<a name=\"here\"></a>\n\n[h](#here)\n\n```\n[i](no.md)\n```\n")
		}, ""},

		{RuleOrphanPage, "a page that the index forgot", func(in *LintInput) {
			rewrite(t, in, "index.md", "- [Patterns](patterns.md): 4 claims\n", "")
		}, patterns + ":1 warning"},
		{RuleOrphanPage, "a page of ours of another time", func(in *LintInput) { in.Pages["old.md"] = seal([]byte("# Old\n\n")) }, Folder + "/old.md:1 warning"},
		{RuleOrphanPage, "somebody's page", func(in *LintInput) { in.Pages["notes.md"] = []byte("# Notes\n") }, ""},

		{RuleStaleStateLink, "a value that was replaced since", func(in *LintInput) {
			change(in, "ctx_2", func(it *item.Item) { it.Status = item.StatusSuperseded })
		}, Folder + "/state.md:13 error"},
		{RuleStaleStateLink, "a superseded value labelled current", func(in *LintInput) {
			rewrite(t, in, "state.md", "**Superseded:** <a id=\"ctx_3\">", "**Current:** <a id=\"ctx_3\">")
		}, Folder + "/state.md:14 error"},
		{RuleStaleStateLink, "a superseded value without a label", func(in *LintInput) {
			rewrite(t, in, "state.md", "**Superseded:** <a id=\"ctx_3\">", "<a id=\"ctx_3\">")
		}, Folder + "/state.md:14 error"},
		{RuleStaleStateLink, "a superseded value as a side", func(in *LintInput) {
			change(in, "ctx_8", func(it *item.Item) { it.Status = item.StatusSuperseded })
		}, Folder + "/contradictions.md:7 error, " + Folder + "/state.md:7 error"},
		{RuleStaleStateLink, "a superseded value that says it is current", func(in *LintInput) {
			change(in, "ctx_3", func(it *item.Item) { it.Summary = "Current: current **Current:**" })
			in.Pages = folderOf(compile(t, item.Pool{Items: in.Items}, Options{}))
		}, ""},
		{RuleStaleStateLink, "a superseded value that an entry cites", func(in *LintInput) {
			change(in, "journal_c", func(it *item.Item) { it.EvidenceRefs = []string{"ctx_1"} })
			in.Pages = folderOf(compile(t, item.Pool{Items: in.Items}, Options{}))
		}, ""},

		{RuleUnresolvedContradiction, "a new one", func(in *LintInput) {
			in.Items = append(in.Items, value("x", "new", "one", item.StatusProposed), value("y", "new", "two", item.StatusProposed))
		}, Folder + "/contradictions.md:1 error"},
		{RuleUnresolvedContradiction, "a third side", func(in *LintInput) {
			in.Items = append(in.Items, value("x", "deploy.window", "Sunday", item.StatusProposed))
		}, Folder + "/contradictions.md:1 error"},
		{RuleUnresolvedContradiction, "sides in two sections", func(in *LintInput) {
			rewrite(t, in, "contradictions.md", "- <a id=\"ctx_5\">", "\n## Friday\n\n- <a id=\"ctx_5\">")
		}, Folder + "/contradictions.md:1 error"},
		{RuleUnresolvedContradiction, "the page is gone", func(in *LintInput) { delete(in.Pages, "contradictions.md") },
			Folder + "/contradictions.md:1 error, " + Folder + "/contradictions.md:1 error, " + Folder + "/contradictions.md:1 error"},
		{RuleUnresolvedContradiction, "one that was decided", func(in *LintInput) {
			change(in, "ctx_9", func(it *item.Item) { it.Status = item.StatusSuperseded })
		}, ""},

		{RuleHandEdited, "a changed word", func(in *LintInput) {
			in.Pages["patterns.md"] = bytes.Replace(in.Pages["patterns.md"], []byte("pnpm"), []byte("npm"), 1)
		}, patterns + ":1 error"},
		{RuleHandEdited, "a page without a mark", func(in *LintInput) { in.Pages["patterns.md"] = []byte("# Patterns\n") }, patterns + ":1 error"},
		{RuleHandEdited, "line ends of another system", func(in *LintInput) {
			in.Pages["patterns.md"] = bytes.ReplaceAll(in.Pages["patterns.md"], []byte("\n"), []byte("\r\n"))
		}, ""},
		{RuleHandEdited, "somebody's page", func(in *LintInput) { in.Pages["notes.md"] = []byte("# Notes\n") }, ""},

		{RuleUnreviewedClaim, "an entry whose review was taken back", func(in *LintInput) {
			change(in, "journal_e", func(it *item.Item) { it.Status = "" })
		}, Folder + "/incidents.md:6 error"},
		{RuleUnreviewedClaim, "a rejected entry", func(in *LintInput) {
			change(in, "journal_e", func(it *item.Item) { it.Status = item.StatusRejected })
		}, Folder + "/incidents.md:6 error"},
		{RuleUnreviewedClaim, "a proposal that is no side any more", func(in *LintInput) { without(in, "ctx_5") }, Folder + "/contradictions.md:12 error"},
		{RuleUnreviewedClaim, "proposals on their page", func(in *LintInput) {
			in.Pages = folderOf(compile(t, item.Pool{Items: in.Items}, Options{Proposals: true, Journal: true}))
			without(in, "ctx_5")
		}, ""},

		{RuleForeignProject, "another project's fact", func(in *LintInput) { change(in, "mem_arch", func(it *item.Item) { it.Project = "other" }) }, Folder + "/architecture.md:6 error"},
		{RuleForeignProject, "a shared fact", func(in *LintInput) { change(in, "mem_arch", func(it *item.Item) { it.Project = item.SharedProject }) }, ""},
	} {
		var got []string
		found := linted(t, Options{}, c.change)
		for _, f := range found {
			if f.Rule == c.rule {
				got = append(got, fmt.Sprintf("%s:%d %s", f.Path, f.Line, f.Severity))
			}
			if f.Message == "" || f.Fix == "" || f.Line < 1 {
				t.Errorf("%s: %+v", c.name, f)
			}
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s, %s: %s, want %s; all: %+v", c.rule, c.name, strings.Join(got, ", "), c.want, found)
		}
	}
}

func TestFindingsAreSorted(t *testing.T) {
	found := linted(t, Options{}, func(in *LintInput) { in.Items = nil })
	if len(found) < 10 || !slices.IsSortedFunc(found, func(a, b Finding) int {
		return strings.Compare(fmt.Sprintf("%s %06d %s %s", a.Path, a.Line, a.Rule, a.Message), fmt.Sprintf("%s %06d %s %s", b.Path, b.Line, b.Rule, b.Message))
	}) {
		t.Errorf("%+v", found)
	}
	if found := Lint(LintInput{Items: everything().Items, Project: "demo"}); len(found) != 0 {
		t.Errorf("a folder without pages: %+v", found)
	}
}

func TestFormsOfFindings(t *testing.T) {
	f := Finding{RuleBrokenLink, SeverityError, "a b/ü,:.md", 3, "50%\nof \"x\"", "do it"}
	if got, want := string(f.AppendJSON(nil)), `{"schema":"kxm.wiki-finding.v1","rule":"broken_link","severity":"error","path":"a b/ü,:.md","line":3,"message":"50%\nof \"x\"","fix":"do it"}`; got != want {
		t.Errorf("JSON is %s", got)
	}
	if got, want := f.GitHub(), "::error file=a b/ü%2C%3A.md,line=3,title=broken_link::50%25%0Aof \"x\" (do it)\n"; got != want {
		t.Errorf("GitHub's form is %q", got)
	}
	if got, want := f.Text(), "a b/ü,:.md:3: error: 50%\nof \"x\" [broken_link]\n    do it\n"; got != want {
		t.Errorf("text is %q", got)
	}
	raw, err := SARIF([]Finding{f}, "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	var log struct {
		Schema  string `json:"$schema"`
		Version string
		Runs    []struct {
			Tool struct {
				Driver struct {
					Name  string
					Rules []struct{ ID string }
				}
			}
			Results []struct {
				RuleID    string
				RuleIndex int
				Level     string
				Message   struct{ Text string }
				Locations []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI string }
						Region           struct{ StartLine int }
					}
				}
			}
		}
	}
	if err := json.Unmarshal(raw, &log); err != nil {
		t.Fatal(err)
	}
	run := log.Runs[0]
	result := run.Results[0]
	if log.Version != "2.1.0" || !strings.Contains(log.Schema, "sarif-2.1.0") || run.Tool.Driver.Name != "kxm-wiki" || len(run.Tool.Driver.Rules) != 8 ||
		run.Tool.Driver.Rules[result.RuleIndex].ID != result.RuleID || result.RuleID != f.Rule || result.Level != "error" || result.Message.Text != f.Message ||
		result.Locations[0].PhysicalLocation.ArtifactLocation.URI != "a%20b/%C3%BC,:.md" || result.Locations[0].PhysicalLocation.Region.StartLine != 3 {
		t.Errorf("SARIF is %s", raw)
	}
	if raw, err := SARIF(nil, ""); err != nil || !strings.Contains(string(raw), `"results":[]`) {
		t.Errorf("%s, %v", raw, err)
	}
}

func FuzzReadDocument(f *testing.F) {
	for _, s := range hostile {
		f.Add([]byte("## h\n\n- <a id=\"x\"></a>" + s + " [x](y#z)\n"))
	}
	for _, p := range compile(f, everything(), Options{}).Pages {
		f.Add(p.Content)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d := readDocument("x.md", data)
		lines := bytes.Count(data, []byte("\n")) + 1
		for _, c := range d.claims {
			if c.line < 1 || c.line > lines || c.section >= len(d.sections) {
				t.Errorf("%+v of %d lines", c, lines)
			}
		}
		for _, l := range d.links {
			if l.line < 0 || l.line > lines {
				t.Errorf("%+v of %d lines", l, lines)
			}
		}
	})
}
