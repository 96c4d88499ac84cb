package wiki

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"kxm/lib/fault"
	"kxm/lib/item"
)

func fact(id, kind, summary string, change ...func(*item.Item)) item.Item {
	it := item.Item{ID: "mem_" + id, Kind: item.KindKnowledge, Project: "demo", Summary: summary,
		Provenance: item.Provenance{SourceType: item.OriginGit, SourceRef: "memory:" + id + ".md", Path: ".kxm/memory/" + id + ".md"},
		Authority:  item.AuthorityInstruction, Confidence: item.ConfidenceVerified, Status: item.StatusCurrent, MemoryKind: kind}
	return with(it, change)
}

func value(id, key, summary string, status item.Status, change ...func(*item.Item)) item.Item {
	it := item.Item{ID: "ctx_" + id, Kind: item.KindState, Project: "demo", Summary: summary, StateKey: key, Status: status,
		Provenance: item.Provenance{SourceType: item.OriginPeer, SourceRef: "proposal:" + id, Author: "agent-7", Signer: "ada"},
		Authority:  item.AuthorityEvidence, Confidence: item.ConfidenceProbable, ValidFrom: "2026-09-01T12:00:00Z", EvidenceRefs: []string{"pr:12"}}
	if status == item.StatusProposed {
		it.ValidFrom, it.Provenance.Signer = "", ""
	}
	return with(it, change)
}

func entry(id, category, summary string, status item.Status, change ...func(*item.Item)) item.Item {
	it := item.Item{ID: "journal_" + id, Kind: item.KindKnowledge, Project: "demo", Summary: summary, JournalCategory: category, Status: status,
		Provenance: item.Provenance{SourceType: item.OriginPeer, Author: "agent-7"}, Authority: item.AuthorityEvidence, Confidence: item.ConfidenceProbable}
	return with(it, change)
}

func with(it item.Item, change []func(*item.Item)) item.Item {
	for _, c := range change {
		c(&it)
	}
	return it
}

// everything is a pool with something for each page.
func everything() item.Pool {
	return item.Pool{Items: []item.Item{
		fact("arch", "layout", "Arrows point down"),
		fact("pnpm", "convention", "Use pnpm, not npm"),
		fact("learnt", "learning", "Flaky tests retry", func(it *item.Item) { it.Authority = item.AuthorityEvidence }),
		fact("choice", "decision", "We cut releases from main", func(it *item.Item) { it.Supersedes = []string{"mem_old"} }),
		fact("old", "decision", "We cut releases from develop", func(it *item.Item) { it.Status = item.StatusSuperseded }),
		fact("gone", "convention", "Deprecated", func(it *item.Item) { it.Status = item.StatusSuperseded }),
		fact("all", "convention", "For all", func(it *item.Item) { it.Project = item.SharedProject }),
		{ID: "skill_tag.0123456789ab", Kind: item.KindSkill, Project: "demo", Summary: "tag: Tags a release",
			Provenance: item.Provenance{SourceType: item.OriginGit, SourceRef: "skill:tag@kxt1:00", Path: ".kxm/skills/promoted/tag.0123456789ab/SKILL.md"},
			Authority:  item.AuthorityInstruction, Confidence: item.ConfidenceVerified, Status: item.StatusCurrent},
		value("1", "release.branch", "develop", item.StatusSuperseded, func(it *item.Item) {
			it.ValidFrom, it.ValidUntil = "2026-07-01T00:00:00Z", "2026-08-01T00:00:00Z"
		}),
		value("2", "release.branch", "main", item.StatusCurrent, func(it *item.Item) { it.Provenance.SelfPromoted = true }),
		value("3", "release.branch", "master", item.StatusSuperseded, func(it *item.Item) {
			it.ValidFrom, it.ValidUntil = "2026-08-01T00:00:00Z", "2026-09-01T12:00:00Z"
		}),
		value("4", "deploy.window", "Monday", item.StatusProposed),
		value("5", "deploy.window", "Friday", item.StatusProposed),
		value("6", "release.branch", "trunk", item.StatusProposed),
		value("7", "release.branch", "rejected", item.StatusRejected),
		value("8", "both", "one", item.StatusCurrent),
		value("9", "both", "two", item.StatusCurrent),
		entry("d", "decision", "Decided", item.StatusCurrent),
		entry("e", "error", "It broke", item.StatusCurrent),
		entry("l", "lesson", "Unreviewed lesson", ""),
		entry("o", "observation", "Seen", item.StatusCurrent),
		entry("c", "contradiction", "pnpm or npm", "", func(it *item.Item) { it.EvidenceRefs = []string{"mem_pnpm", "pr:9"} }),
		entry("r", "error", "Rejected", item.StatusRejected),
		entry("s", "skill-candidate", "A skill", item.StatusProposed, func(it *item.Item) { it.Kind = item.KindSkill }),
		{ID: "episode_1", Kind: item.KindEpisode, Project: "demo", Summary: "The run", Status: item.StatusCurrent,
			Provenance: item.Provenance{SourceType: item.OriginPeer, DerivedFrom: []string{"journal_e", "journal_x"}}, Authority: item.AuthorityEvidence, Confidence: item.ConfidenceProbable},
		{ID: "episode_2", Kind: item.KindEpisode, Project: "demo", Summary: "Not reviewed",
			Provenance: item.Provenance{SourceType: item.OriginPeer}, Authority: item.AuthorityEvidence, Confidence: item.ConfidenceProbable},
	}, Gaps: []item.Gap{{Gap: "memory_unreadable:b.md"}, {Gap: "a"}, {Gap: "a"}}}
}

func compile(t testing.TB, pool item.Pool, o Options) *Wiki {
	t.Helper()
	if o.Project == "" {
		o.Project = "demo"
	}
	w, err := Compile(pool, o)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// homes returns the ids that are at home on each page, as a reader finds them.
func homes(w *Wiki) map[string][]string {
	all := map[string][]string{}
	for _, p := range w.Pages {
		for _, c := range readDocument(p.Name, p.Content).claims {
			if c.home {
				all[p.Name] = append(all[p.Name], c.id)
			}
		}
	}
	return all
}

func TestEveryClaimHasOneHome(t *testing.T) {
	reviewedOnly := map[string][]string{
		"architecture.md":   {"journal_o", "mem_arch"},
		"decisions.md":      {"journal_d", "mem_choice"},
		"incidents.md":      {"episode_1", "journal_e"},
		"patterns.md":       {"mem_all", "mem_learnt", "mem_pnpm", "skill_tag.0123456789ab"},
		"state.md":          {"ctx_8", "ctx_9", "ctx_2", "ctx_3", "ctx_1"},
		"contradictions.md": {"ctx_4", "ctx_5", "journal_c"},
		"history.md":        {"mem_gone", "mem_old"},
	}
	all := map[string][]string{}
	for page, ids := range reviewedOnly {
		all[page] = ids
	}
	delete(all, "contradictions.md") // what is at home elsewhere is only mentioned there
	all["proposals.md"] = []string{"ctx_4", "ctx_5", "ctx_6"}
	all["journal.md"] = []string{"episode_2", "journal_c", "journal_l", "journal_s"}
	for _, c := range []struct {
		o          Options
		want       map[string][]string
		unreviewed int
	}{
		{Options{}, reviewedOnly, 4},
		{Options{Proposals: true, Journal: true}, all, 0},
		{Options{Sections: map[string]string{"layout": "incidents", "decision": "architecture"}}, map[string][]string{
			"architecture.md": {"journal_o", "mem_choice"}, "decisions.md": {"journal_d"}, "incidents.md": {"episode_1", "journal_e", "mem_arch"},
			"patterns.md": reviewedOnly["patterns.md"], "state.md": reviewedOnly["state.md"], "contradictions.md": reviewedOnly["contradictions.md"], "history.md": reviewedOnly["history.md"],
		}, 4},
	} {
		w := compile(t, everything(), c.o)
		got := homes(w)
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%+v: %v, want %v", c.o, got, c.want)
		}
		claims := 0
		for _, p := range w.Pages {
			claims += p.Claims
			if p.Claims != len(got[p.Name]) {
				t.Errorf("%s says %d claims", p.Name, p.Claims)
			}
		}
		a := w.Audit
		if a.Items != 26 || a.Claims != claims || a.Unreviewed != c.unreviewed || a.Rejected != 2 || a.Contradictions != 3 || !slices.Equal(a.Gaps, []string{"a", "memory_unreadable:b.md"}) {
			t.Errorf("%+v: %+v", c.o, a)
		}
		if a.Items != a.Claims+a.Unreviewed+a.Rejected {
			t.Errorf("items are missing: %+v", a)
		}
	}
}

func page(t testing.TB, w *Wiki, name string) string {
	t.Helper()
	i := slices.IndexFunc(w.Pages, func(p Page) bool { return p.Name == name })
	if i < 0 {
		t.Fatalf("there is no page %s", name)
	}
	return string(w.Pages[i].Content)
}

func TestLinesSayWhatIsKnown(t *testing.T) {
	w := compile(t, everything(), Options{})
	for _, c := range []struct{ page, line string }{
		{"patterns.md", "- <a id=\"mem_pnpm\"></a>Use pnpm, not npm (instruction) — [mem_pnpm](../../memory/pnpm.md) · source: memory:pnpm.md\n"},
		{"patterns.md", "- <a id=\"mem_learnt\"></a>Flaky tests retry — [mem_learnt](../../memory/learnt.md) · source: memory:learnt.md\n"},
		{"patterns.md", "- <a id=\"mem_all\"></a>For all (instruction) — [mem_all](../../memory/all.md) · source: memory:all.md · for every project\n"},
		{"patterns.md", "[skill_tag.0123456789ab](../../skills/promoted/tag.0123456789ab/SKILL.md) · source: skill:tag\\@kxt1:00\n"},
		{"incidents.md", "- <a id=\"episode_1\"></a>The run — [episode_1](#episode_1) · source: peer · derived from: [journal_e](#journal_e), journal_x\n"},
		{"state.md", "## release.branch\n\n- **Current:** <a id=\"ctx_2\"></a>main — [ctx_2](#ctx_2) · since: 2026-09-01T12:00:00Z · promoted by ada (self-promoted) · proposed by agent-7 · source: proposal:2 · evidence: pr:12\n" +
			"- **Superseded:** <a id=\"ctx_3\"></a>master — [ctx_3](#ctx_3) · from: 2026-08-01T00:00:00Z · until: 2026-09-01T12:00:00Z · promoted by ada · proposed by agent-7 · source: proposal:3 · evidence: pr:12\n- **Superseded:** <a id=\"ctx_1\"></a>develop"},
		{"state.md", "- These values [contradict](contradictions.md) one another.\n"},
		{"history.md", "[mem_old](../../memory/old.md) · source: memory:old.md · replaced by: [mem_choice](decisions.md#mem_choice)\n"},
		{"contradictions.md", "## both: 2 current values\n\n- one — [ctx_8](state.md#ctx_8) · "},
		{"contradictions.md", "## deploy.window: 2 proposals, not reviewed\n\n- <a id=\"ctx_4\"></a>Monday — [ctx_4](#ctx_4) · proposed by agent-7 · "},
		{"contradictions.md", "## Journal: journal_c, not reviewed\n\n- <a id=\"journal_c\"></a>pnpm or npm — [journal_c](#journal_c) · source: peer · evidence: [mem_pnpm](patterns.md#mem_pnpm), pr:9\n- Use pnpm, not npm (instruction) — [mem_pnpm](patterns.md#mem_pnpm) · "},
		{"index.md", "- [Patterns](patterns.md): 4 claims\n"},
		{"index.md", "- [Contradictions](contradictions.md): 3 open contradictions\n"},
		{"index.md", "Project: demo\n\nCompiled from: `" + w.Audit.CompiledFrom + "`\n"},
	} {
		if text := page(t, w, c.page); !strings.Contains(text, c.line) {
			t.Errorf("%s does not say\n%s\nbut\n%s", c.page, c.line, text)
		}
	}
	for _, missing := range []string{"trunk", "rejected", "Unreviewed lesson", "Not reviewed</"} {
		for _, p := range w.Pages {
			if strings.Contains(string(p.Content), missing) {
				t.Errorf("%s says %q, which nobody reviewed", p.Name, missing)
			}
		}
	}
}

func TestAnEmptyPoolHasThreePages(t *testing.T) {
	w := compile(t, item.Pool{}, Options{})
	var names []string
	for _, p := range w.Pages {
		names = append(names, p.Name)
	}
	if !slices.Equal(names, []string{"index.md", "state.md", "contradictions.md"}) {
		t.Errorf("pages are %v", names)
	}
	if !strings.Contains(page(t, w, "state.md"), "No key has a value.") || !strings.Contains(page(t, w, "contradictions.md"), "None is open.") {
		t.Error("an empty page does not say that it is")
	}
}

func TestForeignItemsRefuseAll(t *testing.T) {
	pool := everything()
	pool.Items[3].Project = "other"
	if _, err := Compile(pool, Options{Project: "demo"}); !fault.Is(err, fault.ContextIsolationViolation) {
		t.Errorf("error is %v", err)
	}
}

func TestTheOrderOfTheStreamChangesNoByte(t *testing.T) {
	want := compile(t, everything(), Options{Journal: true})
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		pool := everything()
		r.Shuffle(len(pool.Items), func(i, j int) { pool.Items[i], pool.Items[j] = pool.Items[j], pool.Items[i] })
		r.Shuffle(len(pool.Gaps), func(i, j int) { pool.Gaps[i], pool.Gaps[j] = pool.Gaps[j], pool.Gaps[i] })
		got := compile(t, pool, Options{Journal: true})
		if !slices.EqualFunc(got.Pages, want.Pages, func(a, b Page) bool { return a.Name == b.Name && bytes.Equal(a.Content, b.Content) }) ||
			fmt.Sprint(got.Audit) != fmt.Sprint(want.Audit) {
			t.Fatal("another order gave other pages")
		}
	}
}

func TestOneChangedClaimChangesItsPageAndTheIndex(t *testing.T) {
	before := compile(t, everything(), Options{})
	pool := everything()
	pool.Items[1].Summary = "Use pnpm"
	for i, p := range compile(t, pool, Options{}).Pages {
		same := bytes.Equal(p.Content, before.Pages[i].Content)
		// The page of contradictions shows this claim too.
		if changed := slices.Contains([]string{"index.md", "patterns.md", "contradictions.md"}, p.Name); same == changed {
			t.Errorf("%s: the same bytes: %v", p.Name, same)
		}
	}
}

func TestCompiledFromIsOverTheClaims(t *testing.T) {
	w := compile(t, everything(), Options{})
	digest := sha256.New()
	for _, p := range w.Pages {
		for _, c := range readDocument(p.Name, p.Content).claims {
			if line := strings.Split(string(p.Content), "\n")[c.line-1]; c.home {
				fmt.Fprintf(digest, "%s\x00%s\x00%s\x00", p.Name, c.id, line)
			}
		}
	}
	if want := "sha256:" + hex.EncodeToString(digest.Sum(nil)); w.Audit.CompiledFrom != want {
		t.Errorf("compiled from %s, want %s", w.Audit.CompiledFrom, want)
	}
}

const secret = "ghp_" + "0123456789abcdefABCDEF0123456789abcd"

func TestSecretsNeverReachAPage(t *testing.T) {
	pool := item.Pool{Items: []item.Item{
		fact("a", "decision "+secret, "A "+secret, func(it *item.Item) {
			it.Provenance.SourceRef, it.Provenance.DerivedFrom, it.EvidenceRefs = secret, []string{secret}, []string{"x", secret}
		}),
		fact(secret, "", "its id"), fact(secret+"x", "", "another"),
		value("1", "api "+secret, "of "+secret, item.StatusCurrent, func(it *item.Item) { it.Provenance.Author, it.Provenance.Signer = secret, secret }),
		value("2", "k"+secret, "one", item.StatusProposed), value("3", "k"+secret, "two", item.StatusProposed),
		value("4", "api.key", "0123456789abcdefABCDEF01234", item.StatusCurrent),
	}, Gaps: []item.Gap{{Gap: "memory_unreadable:" + secret}}}
	w := compile(t, pool, Options{})
	ids := map[string]bool{}
	for _, p := range w.Pages {
		if bytes.Contains(p.Content, []byte(secret)) || bytes.Contains(p.Content, []byte("0123456789abcdefABCDEF01234")) {
			t.Errorf("%s holds the secret:\n%s", p.Name, p.Content)
		}
	}
	for _, list := range homes(w) {
		for _, id := range list {
			if ids[id] {
				t.Errorf("two claims have the anchor %q", id)
			}
			ids[id] = true
		}
	}
	if len(ids) != len(pool.Items) || strings.Contains(strings.Join(w.Audit.Gaps, ""), secret) {
		t.Errorf("claims %v, gaps %v", ids, w.Audit.Gaps)
	}
}

func TestLinksAreRelativeToThePage(t *testing.T) {
	for _, c := range []struct{ dir, path, want string }{
		{"", ".kxm/memory/a.md", "../../memory/a.md"},
		{".", ".kxm/memory/a.md", "../../memory/a.md"},
		{"part", "part/.kxm/memory/a.md", "../../memory/a.md"},
		{"part", ".kxm/memory/a.md", "../../../../.kxm/memory/a.md"},
		{"", "docs/a b.md", "../../../docs/a%20b.md"},
		{"", "javascript:alert(1)", "../../../javascript%3Aalert%281%29"},
		{"", ".kxm/knowledge/wiki/javascript:x", "javascript%3Ax"},
		{"", ".kxm/knowledge/wiki", "../wiki"},
	} {
		w := compile(t, item.Pool{Items: []item.Item{fact("a", "", "x", func(it *item.Item) { it.Provenance.Path = c.path })}}, Options{Dir: c.dir})
		if text := page(t, w, "architecture.md"); !strings.Contains(text, "[mem_a]("+c.want+")") {
			t.Errorf("%+v: %s", c, text)
		}
	}
}

func TestUnavailablePools(t *testing.T) {
	for gap, want := range map[string]bool{
		"pool_unavailable": true, "pool_unavailable:io_failed": true, "dispatch_context_failed": true, "dispatch_context_withheld:uncommitted": true,
		"pool_unavailable_x": false, "memory_unreadable:pool_unavailable": false, "state_trust_unresolved": false,
	} {
		if name, got := Unavailable([]item.Gap{{Gap: "x"}, {Gap: gap}}); got != want || got != (name == gap) {
			t.Errorf("%s: %q, %v", gap, name, got)
		}
	}
}
