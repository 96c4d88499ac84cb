package repo

import (
	"os"
	"path/filepath"
	"testing"

	"kxm/lib/kxmtest"
)

func TestDirty(t *testing.T) {
	start := map[string]string{".kxm/memory/a.md": "a\n", ".kxm/memory/b.md": "b\n", "other.txt": "other\n", ".gitignore": "*.ignored\n"}
	for name, c := range map[string]struct {
		change func(t *testing.T, dir string)
		want   bool
	}{
		"clean":           {func(*testing.T, string) {}, false},
		"elsewhere":       {func(t *testing.T, dir string) { writeText(t, filepath.Join(dir, "other.txt"), "x\n") }, false},
		"modified":        {func(t *testing.T, dir string) { writeText(t, filepath.Join(dir, ".kxm/memory/a.md"), "x\n") }, true},
		"same bytes":      {func(t *testing.T, dir string) { writeText(t, filepath.Join(dir, ".kxm/memory/a.md"), "a\n") }, false},
		"untracked":       {func(t *testing.T, dir string) { writeText(t, filepath.Join(dir, ".kxm/memory/new/c.md"), "c\n") }, true},
		"ignored":         {func(t *testing.T, dir string) { writeText(t, filepath.Join(dir, ".kxm/memory/c.ignored"), "c\n") }, true},
		"staged deletion": {func(t *testing.T, dir string) { kxmtest.Git(t, dir, "rm", "-q", "--cached", ".kxm/memory/a.md") }, true},
		"staged, then undone in the worktree": {func(t *testing.T, dir string) {
			writeText(t, filepath.Join(dir, ".kxm/memory/a.md"), "x\n")
			kxmtest.Git(t, dir, "add", "-A")
			writeText(t, filepath.Join(dir, ".kxm/memory/a.md"), "a\n")
		}, true},
		"a name that is a pattern": {func(t *testing.T, dir string) { writeText(t, filepath.Join(dir, "*"), "x\n") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := kxmtest.NewRepo(t, start)
			c.change(t, dir)
			index := must(os.ReadFile(filepath.Join(dir, ".git/index")))(t)
			// GIT_GLOB_PATHSPECS, which a person's git may pass on, must not count.
			r := open(t, filepath.Join(dir, ".kxm"), "", "GIT_GLOB_PATHSPECS=1")
			if got, err := r.Dirty(t.Context(), ".kxm/memory", "[o]ther.txt"); err != nil || got != c.want {
				t.Errorf("dirty: %v, %v; want %v", got, err, c.want)
			}
			if after := must(os.ReadFile(filepath.Join(dir, ".git/index")))(t); string(after) != string(index) {
				t.Error("the index was written")
			}
		})
	}
	bare := filepath.Join(t.TempDir(), "bare.git")
	kxmtest.Git(t, t.TempDir(), "init", "-q", "--bare", bare)
	if dirty, err := open(t, bare, "").Dirty(t.Context(), ".kxm"); dirty || err != nil {
		t.Errorf("bare: %v, %v", dirty, err)
	}
}

func TestMergeFile(t *testing.T) {
	r := open(t, kxmtest.NewRepo(t, nil), "")
	base := "1\n2\n3\n4\n5\n"
	labels := MergeLabels{Ours: "here", Base: "before", Theirs: "there"}
	merged, conflict, err := r.MergeFile(t.Context(), []byte(base), []byte("one\n2\n3\n4\n5\n"), []byte("1\n2\n3\n4\nfive\n"), labels)
	if err != nil || conflict || string(merged) != "one\n2\n3\n4\nfive\n" {
		t.Errorf("%q, %v, %v", merged, conflict, err)
	}
	merged, conflict, err = r.MergeFile(t.Context(), []byte(base), []byte("1\n2\nx\n4\n5\n"), []byte("1\n2\ny\n4\n5\n"), labels)
	if want := "1\n2\n<<<<<<< here\nx\n=======\ny\n>>>>>>> there\n4\n5\n"; err != nil || !conflict || string(merged) != want {
		t.Errorf("%q, %v, %v", merged, conflict, err)
	}
	if _, _, err = r.MergeFile(t.Context(), []byte(base), []byte("\x00"), []byte("\x01"), labels); err == nil {
		t.Error("binary files were merged")
	}
}
