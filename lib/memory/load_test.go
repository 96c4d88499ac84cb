package memory

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"kxm/lib/fault"
	"kxm/lib/item"
	"kxm/lib/kxmtest"
)

func mustLoad(t testing.TB, fsys fs.FS) *Set {
	t.Helper()
	s, err := Load(fsys)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func ids(records []*Record) string {
	list := make([]string, len(records))
	for i, r := range records {
		list[i] = r.ID
	}
	return strings.Join(list, " ")
}

// TestLoad holds which files are read, what becomes of those that are no records,
// and that the good ones are served beside them.
func TestLoad(t *testing.T) {
	outer := t.TempDir()
	kxmtest.WriteFiles(t, outer, map[string]string{
		"out/secret.md":                       memoryFile("secret", nil),
		".kxm/memory/zebra.md":                memoryFile("zebra", nil),
		".kxm/memory/apple.md":                memoryFile("apple", nil),
		".kxm/memory/broken.md":               "---\nid: [\n---\n",
		".kxm/memory/twin.md":                 memoryFile("twin", nil),
		".kxm/memory/other.md":                memoryFile("twin", nil),
		".kxm/memory/README.txt":              "not read",
		".kxm/memory/folder.md/x.md":          memoryFile("x", nil),
		".kxm/memory/candidates/cand_a_1.md":  memoryFile("cand_a_1", nil),
		".kxm/memory/.hidden.md.abc.tmp":      "left by a crash",
		".kxm/memory/large.md":                memoryFile("large", map[string]string{"body": strings.Repeat("x", MaxFileSize)}),
		".kxm/memory/just.md":                 memoryFile("just", map[string]string{"body": strings.Repeat("x", MaxFileSize-len(memoryFile("just", nil)))}),
		".kxm/shared/linked.md":               memoryFile("linked", nil),
		".kxm/memory/locked.md":               memoryFile("locked", nil),
		".kxm/memory/not-utf8.md":             memoryFile("not-utf8", map[string]string{"body": "\xff"}),
		".kxm/memory/" + secret + ".md":       "nothing",
		".kxm/memory/name with spaces.md":     "nothing",
		".kxm/memory/sub/deeper/not-read.md":  memoryFile("not-read", nil),
		".kxm/memory/candidates/sub/other.md": memoryFile("other", nil),
	})
	kxm := filepath.Join(outer, ".kxm")
	link(t, kxm, "../shared/linked.md", "memory/linked.md")
	link(t, kxm, "../../out/secret.md", "memory/out.md")
	link(t, kxm, filepath.Join(outer, "out/secret.md"), "memory/absolute.md")
	link(t, kxm, "nowhere.md", "memory/dangling.md")
	link(t, kxm, "../shared", "memory/linked-folder.md")
	kxmtest.Fifo(t, filepath.Join(kxm, "memory/pipe.md"))
	link(t, kxm, "pipe.md", "memory/linked-pipe.md")

	for name, fsys := range map[string]fs.FS{"root": openRoot(t, kxm).FS(), "folder": os.DirFS(kxm)} {
		t.Run(name, func(t *testing.T) {
			s := mustLoad(t, fsys)
			if got := ids(s.Records); got != "apple just linked locked zebra" {
				t.Errorf("served %s", got)
			}
			if len(s.Duplicates) != 1 || s.Duplicates[0].ID != "twin" || s.Duplicates[0].Records[0].File != "other.md" {
				t.Errorf("duplicates %+v", s.Duplicates)
			}
			want := map[string]string{
				"absolute.md": "leads out of its folder", "broken.md": "invalid YAML frontmatter", "dangling.md": "cannot read",
				secret + ".md": noFrontMatter, "large.md": "is larger than 1048576 bytes", "linked-folder.md": "is no regular file", "linked-pipe.md": "is no regular file",
				"name with spaces.md": noFrontMatter, "not-utf8.md": "not UTF-8", "out.md": "leads out of its folder", "pipe.md": "is no regular file",
			}
			var names []string
			for _, p := range s.Problems {
				names = append(names, p.File)
				if !strings.Contains(p.Err.Error(), want[p.File]) || want[p.File] == "" {
					t.Errorf("%s: %v", p.File, p.Err)
				}
				if strings.Contains(p.Err.Error(), secret) {
					t.Errorf("%v holds the secret", p.Err)
				}
			}
			if len(names) != len(want) || !slices.IsSorted(names) {
				t.Errorf("problems %q", names)
			}
		})
	}
}

func TestLoadOfNothing(t *testing.T) {
	s := mustLoad(t, openRoot(t, t.TempDir()).FS())
	if len(s.Records)+len(s.Problems)+len(s.Duplicates) != 0 || s.Err() != nil {
		t.Errorf("got %+v", s)
	}
	items, gaps := s.Items(ItemOptions{Project: "demo"})
	if len(items)+len(gaps) != 0 {
		t.Errorf("got %v, %v", items, gaps)
	}
}

// TestLinkedMemoryFolder holds that the folder itself may be a link inside .kxm and
// not out of it.
func TestLinkedMemoryFolder(t *testing.T) {
	dir := t.TempDir()
	kxmtest.WriteFiles(t, dir, map[string]string{"a/facts/x.md": memoryFile("x", nil), "b/y": "", "facts/z.md": memoryFile("z", nil)})
	link(t, dir, "facts", "a/memory")
	link(t, dir, "../facts", "b/memory")
	if s := mustLoad(t, openRoot(t, filepath.Join(dir, "a")).FS()); ids(s.Records) != "x" {
		t.Errorf("got %s", ids(s.Records))
	}
	if _, err := Load(openRoot(t, filepath.Join(dir, "b")).FS()); !fault.Is(err, fault.PathEscapes) {
		t.Errorf("got %v", err)
	}
}

// TestGaps holds the names of gaps, that they echo plain names only, and their
// order behind the items.
func TestGaps(t *testing.T) {
	s := mustLoad(t, fstest.MapFS{
		"memory/good.md":               {Data: []byte(memoryFile("good", nil))},
		"memory/bad.md":                {Data: []byte("")},
		"memory/b a d.md":              {Data: []byte("")},
		"memory/" + secret + ".md":     {Data: []byte("")},
		"memory/twin.md":               {Data: []byte(memoryFile("twin", nil))},
		"memory/other.md":              {Data: []byte(memoryFile("twin", nil))},
		"memory/claims.md":             {Data: []byte(memoryFile("claims", map[string]string{"provenance": "{sourceType: peer}"}))},
		"memory/many.md":               {Data: []byte(memoryFile("many", map[string]string{"evidenceRefs": "[" + refs(65) + "]"}))},
		"memory/old.md":                {Data: []byte(memoryFile("old", map[string]string{"lifecycle": "deprecated"}))},
		"memory/run.md":                {Data: []byte(memoryFile("run", map[string]string{"scope": "run"}))},
		"memory/old-and-refused.md":    {Data: []byte(memoryFile("old-and-refused", map[string]string{"lifecycle": "superseded", "provenance": "{sourceType: tool}"}))},
		"memory/candidates/cand.md":    {Data: []byte(memoryFile("cand", nil))},
		"skills/promoted/x/SKILL.md":   {Data: []byte("not read here")},
		"memory/candidates/broken.md":  {Data: []byte("")},
		"memory/candidates/broken2.md": {Data: []byte("")},
	})
	names := func(gaps []item.Gap) string {
		var list []string
		for _, g := range gaps {
			list = append(list, g.Gap)
			if g.Detail == "" || strings.Contains(g.Detail, secret) {
				t.Errorf("%s has the detail %q", g.Gap, g.Detail)
			}
		}
		return strings.Join(list, " ")
	}
	itemIDs := func(items []item.Item) string {
		var list []string
		for _, it := range items {
			list = append(list, it.ID+":"+string(it.Status))
		}
		return strings.Join(list, " ")
	}

	items, gaps := s.Items(ItemOptions{Project: "demo"})
	if got := itemIDs(items); got != "mem_good:current mem_run:current" {
		t.Errorf("items %s", got)
	}
	if got := names(gaps); got != "memory_unreadable:invalid memory_unreadable:bad.md memory_unreadable:invalid memory_duplicate:twin memory_rejected:claims memory_rejected:many" {
		t.Errorf("gaps %s", got)
	}

	items, gaps = s.Items(ItemOptions{Project: "demo", All: true, Scopes: ProjectedScopes(), Committed: true})
	if got := itemIDs(items); got != "mem_good:current mem_old:superseded" {
		t.Errorf("items %s", got)
	}
	if got := names(gaps); got != "dispatch_context_memory_unreadable dispatch_context_memory_unreadable dispatch_context_memory_unreadable memory_duplicate:twin "+
		"dispatch_context_memory_rejected:claims dispatch_context_memory_rejected:many dispatch_context_memory_rejected:old-and-refused" {
		t.Errorf("gaps %s", got)
	}
	if got := s.Facts(ProjectedScopes()...); len(got) != 1 || got[0].ID != "good" {
		t.Errorf("facts %v", got)
	}
}

// TestErrTellsWhyASetIsNotWhole holds the refusal of commands that must not leave a
// fact out.
func TestErrTellsWhyASetIsNotWhole(t *testing.T) {
	s := mustLoad(t, fstest.MapFS{"memory/a.md": {Data: []byte("---\nschema: kxm.memory.v1\nid: [\n---\n")}, "memory/b.md": {Data: []byte("")}})
	var f *fault.Error
	if err := s.Err(); !errors.As(err, &f) || f.Code != fault.MemoryUnreadable || f.Source != "a.md" || f.Line == 0 || !strings.Contains(f.Message, "(and 1 more unreadable)") {
		t.Errorf("got %v", err)
	}
	s = mustLoad(t, fstest.MapFS{"memory/a.md": {Data: []byte(memoryFile("a", nil))}, "memory/b.md": {Data: []byte(memoryFile("a", nil))}})
	if err := s.Err(); !fault.Is(err, fault.MemoryDuplicate) || !strings.Contains(err.Error(), `id "a" is claimed by "a.md" and "b.md"`) {
		t.Errorf("got %v", err)
	}
	if _, err := s.Find("a"); !fault.Is(err, fault.MemoryDuplicate) {
		t.Errorf("got %v", err)
	}
	if _, err := s.Find("b"); !fault.Is(err, fault.MemoryNotFound) {
		t.Errorf("got %v", err)
	}
	s = mustLoad(t, fstest.MapFS{"memory/a.md": {Data: []byte(memoryFile("a", map[string]string{"lifecycle": "deprecated"}))}})
	if r, err := s.Find("a"); err != nil || r.ID != "a" || s.Err() != nil {
		t.Errorf("got %v, %v, %v", r, err, s.Err())
	}
}

// TestFactsAreRedacted holds what projections must not show.
func TestFactsAreRedacted(t *testing.T) {
	s := mustLoad(t, fstest.MapFS{"memory/a.md": {Data: []byte(memoryFile("a", map[string]string{"summary": "use " + secret, "kind": secret}))}})
	facts := s.Facts()
	if text := Block(facts) + NewBrief(facts, 0, kxmtest.Now()).Text(); strings.Contains(text, secret) || !strings.Contains(text, "[redacted:") {
		t.Errorf("got %s", text)
	}
}

// TestParallelLoadIsDeterministic holds that the number of processors decides
// nothing.
func TestParallelLoadIsDeterministic(t *testing.T) {
	files := fstest.MapFS{}
	for i := range 300 {
		id := fmt.Sprintf("fact-%d", i*7919%300)
		text := memoryFile(id, map[string]string{"summary": fmt.Sprintf("key token secret number %d", i)})
		if i%50 == 0 {
			text = "broken"
		}
		files["memory/"+id+".md"] = &fstest.MapFile{Data: []byte(text)}
	}
	render := func() string {
		s := mustLoad(t, files)
		items, gaps := s.Items(ItemOptions{Project: "demo"})
		var b []byte
		for _, it := range items {
			b = append(it.AppendJSON(b), '\n')
		}
		for _, g := range gaps {
			b = append(g.AppendJSON(b), '\n')
		}
		return string(b)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	alone := render()
	if strings.Count(alone, "\n") != 300 {
		t.Fatalf("got\n%s", alone)
	}
	runtime.GOMAXPROCS(8)
	for range 5 {
		if render() != alone {
			t.Fatal("eight processors give something else than one")
		}
	}
}

// writeFacts writes n facts of ordinary prose, one in five with a word that the
// rules for secrets look for.
func writeFacts(t testing.TB, dir string, n int) {
	t.Helper()
	files := map[string]string{}
	for i := range n {
		summary := fmt.Sprintf("Service number %d answers within the budget of its own tier, and its owner reviews the alerts each week", i)
		if i%5 == 0 {
			summary += "; the auth token is read from the vault"
		}
		files[fmt.Sprintf(".kxm/memory/fact-%04d.md", i)] = memoryFile(fmt.Sprintf("fact-%04d", i), map[string]string{"summary": summary})
	}
	kxmtest.WriteFiles(t, dir, files)
}

// BenchmarkLoad1000 reads 1,000 facts from the disk and makes items of them, which
// is what list does; BenchmarkRead1000 only reads the files, as cat does.
func BenchmarkLoad1000(b *testing.B) {
	dir := b.TempDir()
	writeFacts(b, dir, 1000)
	b.Run("items", func(b *testing.B) {
		for b.Loop() {
			root := openRoot(b, filepath.Join(dir, ".kxm"))
			s := mustLoad(b, root.FS())
			if items, _ := s.Items(ItemOptions{Project: "demo"}); len(items) != 1000 {
				b.Fatal(len(items))
			}
		}
	})
	b.Run("load", func(b *testing.B) {
		for b.Loop() {
			if s := mustLoad(b, openRoot(b, filepath.Join(dir, ".kxm")).FS()); len(s.Records) != 1000 {
				b.Fatal(len(s.Records))
			}
		}
	})
	b.Run("load-dirfs", func(b *testing.B) {
		for b.Loop() {
			if s := mustLoad(b, os.DirFS(filepath.Join(dir, ".kxm"))); len(s.Records) != 1000 {
				b.Fatal(len(s.Records))
			}
		}
	})
	b.Run("read-only", func(b *testing.B) {
		for b.Loop() {
			names, err := filepath.Glob(filepath.Join(dir, ".kxm/memory/*.md"))
			if err != nil || len(names) != 1000 {
				b.Fatal(names, err)
			}
			for _, name := range names {
				if _, err := os.ReadFile(name); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}
