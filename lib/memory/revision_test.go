package memory

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"kxm/lib/kxmtest"
	"kxm/lib/repo"
)

// TestRevisionExactly computes the revision again from its definition.
func TestRevisionExactly(t *testing.T) {
	dir := t.TempDir()
	large := strings.Repeat("0123456789abcdef", MaxFileSize/16) + "end"
	kxmtest.WriteFiles(t, dir, map[string]string{
		"memory/b.md": "bee\x00", "memory/a.md": "", "memory/a-b.md": "dash", "memory/not-counted.txt": "x", "memory/candidates/c.md": "x",
		"skills/promoted/s/SKILL.md": "skill", "skills/promoted/s/scripts/run": "#!", "skills/promoted/s-t/x": "after s/ by bytes? no: before",
		"skills/promoted/loose": "file", "skills/promoted/s/assets/large": large, "skills/candidates/x/SKILL.md": "x", "other/linked.md": "linked", "config.toml": "x",
	})
	link(t, dir, "../other/linked.md", "memory/linked.md")
	link(t, dir, "../run", "skills/promoted/s/link")
	want := sha256.New()
	add := func(label, path, bytes string) {
		fmt.Fprintf(want, "%s:%s\x00%d\x00%s\x00", label, path, len(bytes), bytes)
	}
	add("memory", "memory/a-b.md", "dash")
	add("memory", "memory/a.md", "")
	add("memory", "memory/b.md", "bee\x00")
	add("memory", "memory/linked.md", "linked")
	add("skill", "skills/promoted/loose", "file")
	add("skill", "skills/promoted/s-t/x", "after s/ by bytes? no: before")
	add("skill", "skills/promoted/s/SKILL.md", "skill")
	add("skill", "skills/promoted/s/assets/large", large)
	add("skill", "skills/promoted/s/link", "../run")
	add("skill", "skills/promoted/s/scripts/run", "#!")
	got, err := Revision(openRoot(t, dir).FS())
	if err != nil || got != "ctxrev_"+hex.EncodeToString(want.Sum(nil)) {
		t.Errorf("got %s, %v", got, err)
	}
}

// TestRevisionOfACommit holds that worktree, index and commit have one revision.
func TestRevisionOfACommit(t *testing.T) {
	dir := kxmtest.NewRepo(t, map[string]string{".kxm/memory/a.md": memoryFile("a", nil), ".kxm/skills/promoted/s/SKILL.md": "s", ".kxm/skills/promoted/s/a.b/c": "x", ".kxm/skills/promoted/s/a/c": "x"})
	link(t, dir, "a.md", ".kxm/memory/b.md")
	link(t, dir, "SKILL.md", ".kxm/skills/promoted/s/again")
	kxmtest.Git(t, dir, "add", "-A")
	kxmtest.Git(t, dir, "commit", "-qm", "links")
	r := openRepo(t, dir)
	head, _, err := r.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	commit, err := r.CommitFS(t.Context(), head, ".kxm")
	if err != nil {
		t.Fatal(err)
	}
	index, err := r.IndexFS(t.Context(), ".kxm")
	if err != nil {
		t.Fatal(err)
	}
	a, errA := Revision(openRoot(t, dir+"/.kxm").FS())
	b, errB := Revision(commit)
	c, errC := Revision(index)
	if a != b || b != c || errA != nil || errB != nil || errC != nil {
		t.Errorf("worktree %s, %v; commit %s, %v; index %s, %v", a, errA, b, errB, c, errC)
	}
}

func openRepo(t testing.TB, dir string) *repo.Repo {
	t.Helper()
	home := t.TempDir()
	env := map[string]string{}
	for _, kv := range kxmtest.GitEnv(home) {
		key, value, _ := strings.Cut(kv, "=")
		env[key] = value
	}
	r, err := repo.Open(t.Context(), repo.Options{Dir: dir, Getenv: func(key string) string { return env[key] }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// TestRevisionTellsTreesApart holds that moving bytes between files, names and
// folders makes another revision, and that what is not dispatched does not.
func TestRevisionTellsTreesApart(t *testing.T) {
	revision := func(files map[string]string) string {
		t.Helper()
		r, err := Revision(tree(files))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	seen := map[string]int{}
	for i, files := range []map[string]string{
		{},
		{"memory/a.md": ""},
		{"memory/a.md": "", "memory/b.md": ""},
		{"memory/a.md": "\x00memory:memory/b.md\x00"},
		{"memory/a.md": "0"},
		{"memory/ab.md": ""},
		{"skills/promoted/a.md": ""},
		{"memory/a.md": "x", "memory/b.md": "y"},
		{"memory/a.md": "y", "memory/b.md": "x"},
		{"memory/a.md": "xy", "memory/b.md": ""},
	} {
		r := revision(files)
		if j, ok := seen[r]; ok {
			t.Errorf("trees %d and %d have one revision", i, j)
		}
		seen[r] = i
	}
	base := map[string]string{"memory/a.md": "x"}
	more := map[string]string{"memory/a.md": "x", "memory/candidates/c.md": "c", "skills/quarantined/q/SKILL.md": "q", "config.toml": "t", "memory/sub/d.md": "d"}
	if revision(base) != revision(more) {
		t.Error("what is not dispatched counts")
	}
}

func TestRevisionOfWhatCannotBeRead(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"link out":     {"memory/a.md": "-> ../../x"},
		"link nowhere": {"memory/a.md": "-> b.md"},
		"too large":    {"memory/a.md": strings.Repeat("x", MaxFileSize+1)},
	} {
		if r, err := Revision(tree(files)); err == nil {
			t.Errorf("%s has the revision %s", name, r)
		}
	}
	pipe := fstest.MapFS{"skills/promoted/pipe": {Mode: 0o010000000 | 1<<25}} // fs.ModeNamedPipe
	if r, err := Revision(pipe); err == nil {
		t.Errorf("a pipe has the revision %s", r)
	}
}
