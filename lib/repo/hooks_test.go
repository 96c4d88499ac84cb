package repo

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kxm/lib/kxmtest"
)

// hook installs a hook that runs this test binary in a helper mode and leaves its
// output in a file, which is returned.
func hook(t *testing.T, hooks, name, before string, env ...string) string {
	t.Helper()
	self := must(os.Executable())(t)
	out := filepath.Join(t.TempDir(), "seen")
	script := fmt.Sprintf("#!/bin/sh\n%s\nKXM_REPO_HELPER=index %s '%s' >'%s' 2>&1\n", before, strings.Join(env, " "), self, out)
	path := filepath.Join(hooks, name)
	writeText(t, path, script)
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	return out
}

func seen(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("the hook did not run: %v", err)
	}
	return string(data)
}

// TestPreCommitSeesWhatWillBeCommitted runs real hooks: `git commit -a` and `git
// commit PATH` use an index of their own, in a linked worktree with GIT_DIR set.
func TestPreCommitSeesWhatWillBeCommitted(t *testing.T) {
	main := kxmtest.NewRepo(t, map[string]string{"facts/a.md": "old a\n", "facts/b.md": "old b\n"})
	tree := filepath.Join(t.TempDir(), "linked")
	kxmtest.Git(t, main, "worktree", "add", "-q", "-b", "side", tree)
	other := kxmtest.NewRepo(t, map[string]string{"x": "x\n"})
	out := hook(t, filepath.Join(main, ".git/hooks"), "pre-commit", "", "KXM_REPO_OTHER='"+other+"'")
	for _, dir := range []string{main, tree} {
		kxmtest.WriteFiles(t, dir, map[string]string{"facts/a.md": "new a\n", "facts/b.md": "new b\n"})
		tail := fmt.Sprintf("other %s\ngit in other %s\n", filepath.Base(other), filepath.Base(other))
		head := fmt.Sprintf("worktree %s backend files\n", filepath.Base(dir))

		// Only what the path names; the rest stays as it was committed.
		kxmtest.Git(t, dir, "commit", "-q", "-m", "one", "facts/a.md")
		if got, want := seen(t, out), head+"a.md=new a\nb.md=old b\n"+tail; got != want {
			t.Errorf("commit PATH in %s:\n%s\nwant\n%s", dir, got, want)
		}
		kxmtest.Git(t, dir, "commit", "-q", "-a", "-m", "all")
		if got, want := seen(t, out), head+"a.md=new a\nb.md=new b\n"+tail; got != want {
			t.Errorf("commit -a in %s:\n%s\nwant\n%s", dir, got, want)
		}
		// The worktree may be ahead of the index.
		kxmtest.WriteFiles(t, dir, map[string]string{"facts/c.md": "staged\n"})
		kxmtest.Git(t, dir, "add", "facts/c.md")
		kxmtest.WriteFiles(t, dir, map[string]string{"facts/c.md": "later\n"})
		kxmtest.Git(t, dir, "commit", "-q", "-m", "staged")
		if got, want := seen(t, out), head+"a.md=new a\nb.md=new b\nc.md=staged\n"+tail; got != want {
			t.Errorf("commit of the index in %s:\n%s\nwant\n%s", dir, got, want)
		}
	}
}

// TestHookInASubfolder changes folder before it calls, as hooks of monorepos do: a
// relative GIT_INDEX_FILE still means the one at the top.
func TestHookInASubfolder(t *testing.T) {
	dir := kxmtest.NewRepo(t, map[string]string{"facts/a.md": "old\n"})
	out := hook(t, filepath.Join(dir, ".git/hooks"), "pre-commit", "cd facts || exit 1")
	kxmtest.WriteFiles(t, dir, map[string]string{"facts/a.md": "new\n"})
	kxmtest.Git(t, dir, "commit", "-q", "-a", "-m", "all")
	if got, want := seen(t, out), fmt.Sprintf("worktree %s backend files\na.md=new\n", filepath.Base(dir)); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestReceiveHookReadsQuarantinedObjects runs where objects of a push lie apart,
// named by GIT_OBJECT_DIRECTORY, and GIT_DIR is ".".
func TestReceiveHookReadsQuarantinedObjects(t *testing.T) {
	dir := kxmtest.NewRepo(t, map[string]string{"facts/a.md": "old\n"})
	bare := filepath.Join(t.TempDir(), "hub.git")
	kxmtest.Git(t, dir, "clone", "-q", "--bare", dir, bare)
	self := must(os.Executable())(t)
	out := filepath.Join(t.TempDir(), "seen")
	// The pushed commit becomes an index, whose blobs lie in the quarantine alone.
	writeText(t, filepath.Join(bare, "hooks/pre-receive"), fmt.Sprintf("#!/bin/sh\nread old new ref\n"+
		"GIT_INDEX_FILE='%[1]s.index'; export GIT_INDEX_FILE\ngit read-tree $new || exit 1\nKXM_REPO_HELPER=index '%[2]s' >'%[1]s' 2>&1\n", out, self))
	if err := os.Chmod(filepath.Join(bare, "hooks/pre-receive"), 0o755); err != nil {
		t.Fatal(err)
	}
	kxmtest.WriteFiles(t, dir, map[string]string{"facts/a.md": "pushed\n"})
	kxmtest.Git(t, dir, "commit", "-q", "-a", "-m", "all")
	kxmtest.Git(t, dir, "push", "-q", bare, "HEAD:refs/heads/main")
	if got := seen(t, out); !strings.HasSuffix(got, "backend files\na.md=pushed\n") {
		t.Errorf("the hook saw %q", got)
	}
}
