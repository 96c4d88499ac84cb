package eventlog

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"kxm/lib/kxmtest"
)

// kinds of repository that the log must work in, as they are made.
var kinds = map[string]func(t *testing.T) string{
	"unborn HEAD": func(t *testing.T) string { return newRepo(t) },
	"bare":        func(t *testing.T) string { return newRepo(t, "--bare") },
	"subfolder": func(t *testing.T) string {
		dir := kxmtest.NewRepo(t, map[string]string{"a/b/c": ""})
		return filepath.Join(dir, "a", "b")
	},
	"linked worktree": func(t *testing.T) string {
		dir := kxmtest.NewRepo(t, nil)
		other := filepath.Join(t.TempDir(), "linked")
		kxmtest.Git(t, dir, "worktree", "add", "-q", "--detach", other)
		return other
	},
	"submodule": func(t *testing.T) string {
		inner, outer := kxmtest.NewRepo(t, nil), kxmtest.NewRepo(t, nil)
		kxmtest.Git(t, outer, "submodule", "--quiet", "add", inner, "module")
		return filepath.Join(outer, "module")
	},
	"alternates": func(t *testing.T) string {
		dir := filepath.Join(t.TempDir(), "borrowing")
		kxmtest.Git(t, t.TempDir(), "clone", "-q", "--shared", kxmtest.NewRepo(t, nil), dir)
		return dir
	},
	"shallow": func(t *testing.T) string {
		from := kxmtest.NewRepo(t, nil)
		kxmtest.Git(t, from, "commit", "-q", "--allow-empty", "-m", "second")
		dir := filepath.Join(t.TempDir(), "shallow")
		kxmtest.Git(t, t.TempDir(), "clone", "-q", "--depth=1", "file://"+from, dir)
		return dir
	},
	"sparse checkout": func(t *testing.T) string {
		dir := kxmtest.NewRepo(t, map[string]string{"a/b": "", "c/d": ""})
		kxmtest.Git(t, dir, "sparse-checkout", "set", "a")
		return dir
	},
	"partial clone": func(t *testing.T) string {
		from := kxmtest.NewRepo(t, map[string]string{"a": "a"})
		kxmtest.Git(t, from, "config", "uploadpack.allowFilter", "true")
		dir := filepath.Join(t.TempDir(), "partial")
		kxmtest.Git(t, t.TempDir(), "clone", "-q", "--filter=blob:none", "file://"+from, dir)
		return dir
	},
	"SHA-256": func(t *testing.T) string { return newRepo(t, "--object-format=sha256") },
	"separate Git directory": func(t *testing.T) string {
		return newRepo(t, "--separate-git-dir="+filepath.Join(t.TempDir(), "git"))
	},
	"shared": func(t *testing.T) string { return newRepo(t, "--shared=group") },
}

func TestKindsOfRepository(t *testing.T) {
	kinds := maps.Clone(kinds)
	// Git 2.45 and newer can make one; an older git says so, and reading one is refused.
	if exec.Command("git", "init", "-q", "--ref-format=reftable", t.TempDir()).Run() == nil {
		kinds["reftable"] = func(t *testing.T) string { return newRepo(t, "--ref-format=reftable") }
		kinds["bare reftable"] = func(t *testing.T) string { return newRepo(t, "--bare", "--ref-format=reftable") }
	}
	for name, make := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := make(t)
			status, _ := exec.Command("git", "-C", dir, "status", "--porcelain").Output()
			l := openLog(t, dir, "")
			for i := range 3 {
				appendAll(t, l, newEvent("p", "a", at(i), "x"), newEntry("p", at(i), "x"))
			}
			// Both backends may be mixed on one repository.
			appendAll(t, openLog(t, dir, "native"), newEvent("p", "a", at(9), "by git"))
			for _, backend := range []string{"", "native"} {
				if got := all(t, snapshot(t, openLog(t, dir, backend))); len(got) != 7 {
					t.Errorf("%d events", len(got))
				}
			}
			kxmtest.Git(t, dir, "-c", "gc.pruneExpire=now", "gc", "-q")
			appendAll(t, l, newEvent("p", "a", at(10), "after gc"))
			if got := all(t, snapshot(t, l)); len(got) != 8 {
				t.Errorf("%d events after gc", len(got))
			}
			kxmtest.Git(t, dir, "fsck", "--strict")
			after, _ := exec.Command("git", "-C", dir, "status", "--porcelain").Output()
			if string(status) != string(after) {
				t.Errorf("the worktree changed:\n%s", after)
			}
			// All worktrees have one log and one clone id.
			id, err := l.CloneID(t.Context())
			if err != nil || len(id) != 8 || !isHex(id) {
				t.Errorf("clone id %q, %v", id, err)
			}
			if again, err := openLog(t, dir, "native").CloneID(t.Context()); err != nil || again != id {
				t.Errorf("clone id %q, then %q, %v", id, again, err)
			}
			if rest := leftovers(t, l.r.CommonDir()); len(rest) > 0 {
				t.Errorf("left over: %v", rest)
			}
		})
	}
}

func TestLinkedWorktreesShareTheLog(t *testing.T) {
	dir := kxmtest.NewRepo(t, nil)
	other := filepath.Join(t.TempDir(), "linked")
	kxmtest.Git(t, dir, "worktree", "add", "-q", "--detach", other)
	a, b := openLog(t, dir, ""), openLog(t, other, "")
	appendAll(t, a, newEvent("p", "k", at(1), "a"))
	appendAll(t, b, newEvent("p", "k", at(2), "b"))
	if got := all(t, snapshot(t, a)); len(got) != 2 {
		t.Errorf("%d events", len(got))
	}
	idA, errA := a.CloneID(t.Context())
	idB, errB := b.CloneID(t.Context())
	if errA != nil || errB != nil || idA != idB {
		t.Errorf("%s, %v; %s, %v", idA, errA, idB, errB)
	}
}

// TestHooks: an append in a hook of git reaches the hook's repository, and with -C
// the one that is named; where a push is not accepted yet it is refused.
func TestHooks(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	hook := func(t *testing.T, dir, name string, vars ...string) {
		t.Helper()
		git := kxmtest.Git(t, dir, "rev-parse", "--absolute-git-dir")
		text := "#!/bin/sh\nunset KXM_FSYNC\nexport KXM_LOG_TIMES=1 " + strings.Join(vars, " ") + "\nexec '" + self + "'\n"
		if err := os.MkdirAll(filepath.Join(git, "hooks"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(git, "hooks", name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	events := func(t *testing.T, dir string) int { return len(all(t, snapshot(t, openLog(t, dir, "")))) }

	t.Run("commit", func(t *testing.T) {
		dir, other := kxmtest.NewRepo(t, nil), kxmtest.NewRepo(t, nil)
		linked := filepath.Join(t.TempDir(), "linked")
		kxmtest.Git(t, dir, "worktree", "add", "-q", "--detach", linked)
		hook(t, dir, "pre-commit", "KXM_LOG_DIR=.", "KXM_LOG_IMPLICIT=1")
		hook(t, dir, "post-commit", "KXM_LOG_DIR='"+other+"'")
		for i, where := range []string{dir, linked} {
			kxmtest.Git(t, where, "commit", "-q", "--allow-empty", "-m", "x")
			if events(t, dir) != i+1 || events(t, other) != i+1 {
				t.Errorf("%d events here, %d there", events(t, dir), events(t, other))
			}
		}
	})
	t.Run("push", func(t *testing.T) {
		dir, hub, other := kxmtest.NewRepo(t, nil), newRepo(t, "--bare"), newRepo(t)
		hook(t, hub, "pre-receive", "KXM_LOG_DIR=.", "KXM_LOG_IMPLICIT=1")
		out, err := exec.Command("git", "-C", dir, "push", hub, "HEAD:refs/heads/x").CombinedOutput()
		if err == nil || !strings.Contains(string(out), "state_quarantine") {
			t.Errorf("the push: %v\n%s", err, out)
		}
		if events(t, hub) != 0 {
			t.Error("something was written")
		}
		kxmtest.Git(t, hub, "fsck", "--strict")
		// Another repository is not in quarantine.
		hook(t, hub, "pre-receive", "KXM_LOG_DIR='"+other+"'")
		kxmtest.Git(t, dir, "push", "-q", hub, "HEAD:refs/heads/x")
		hook(t, hub, "pre-receive", "KXM_LOG_DIR='"+other+"'", "KXM_LOG_BACKEND=native")
		kxmtest.Git(t, dir, "push", "-q", hub, "HEAD:refs/heads/y")
		if events(t, other) != 2 || events(t, hub) != 0 {
			t.Errorf("%d events there, %d here", events(t, other), events(t, hub))
		}
		hook(t, hub, "pre-receive", "KXM_LOG_DIR='"+other+"'")
		hook(t, hub, "post-receive", "KXM_LOG_DIR=.", "KXM_LOG_IMPLICIT=1")
		kxmtest.Git(t, dir, "push", "-q", hub, "HEAD:refs/heads/z")
		if events(t, hub) != 1 {
			t.Errorf("%d events after post-receive", events(t, hub))
		}
		kxmtest.Git(t, hub, "fsck", "--strict")
	})
}
