package eventlog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"kxm/lib/fault"
	"kxm/lib/kxmtest"
	"kxm/lib/repo"
)

// newHub makes an empty bare repository and n clones of it.
func newHub(t testing.TB, n int) (hub string, clones []string) {
	t.Helper()
	hub = newRepo(t, "--bare")
	for range n {
		clones = append(clones, newClone(t, hub))
	}
	return hub, clones
}

func newClone(t testing.TB, hub string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "clone")
	kxmtest.Git(t, t.TempDir(), "clone", "-q", hub, dir)
	return dir
}

func sync1(t testing.TB, l *Log, o SyncOptions) SyncResult {
	t.Helper()
	r, err := l.Sync(t.Context(), "", o)
	if err != nil {
		t.Fatal(err)
	}
	if tip := snapshot(t, l).Tip(); tip != r.Tip {
		t.Errorf("the log is at %s, sync says %s", tip, r.Tip)
	}
	return r
}

func hubTip(t testing.TB, hub string) repo.OID {
	t.Helper()
	return repo.OID(kxmtest.Git(t, hub, "for-each-ref", "--format=%(objectname)", Ref))
}

func TestSyncOfTwoClones(t *testing.T) {
	hub, dirs := newHub(t, 2)
	a, b := openLog(t, dirs[0], ""), openLog(t, dirs[1], "")
	is := func(what string, got SyncResult, fetched, merged, pushed, restored int) {
		t.Helper()
		if got.Fetched != fetched || got.Merged != merged || got.Pushed != pushed || got.Restored != restored || got.Remote != "origin" {
			t.Errorf("%s: %+v, want fetched %d, merged %d, pushed %d, restored %d", what, got, fetched, merged, pushed, restored)
		}
	}
	is("nothing at all", sync1(t, a, SyncOptions{}), 0, 0, 0, 0)
	appendAll(t, a, newEvent("p", "k", at(1), "a"), newEvent("p", "k", at(2), "a"))
	is("pull alone", sync1(t, a, SyncOptions{Pull: true}), 0, 0, 0, 0)
	if tip := hubTip(t, hub); tip != "" {
		t.Errorf("pull pushed %s", tip)
	}
	is("first push", sync1(t, a, SyncOptions{}), 0, 0, 2, 0)
	is("again", sync1(t, a, SyncOptions{}), 0, 0, 0, 0)
	// Histories without a common root.
	appendAll(t, b, newEvent("p", "k", at(3), "b"))
	appendAll(t, b, newEvent("p", "k", at(4), "b"), newEntry("p", at(4), "b"))
	is("the other", sync1(t, b, SyncOptions{}), 2, 1, 3, 0)
	appendAll(t, a, newEvent("p", "k", at(5), "a"))
	is("pull into what is new", sync1(t, a, SyncOptions{Pull: true}), 3, 1, 0, 0)
	appendAll(t, b, newEvent("p", "k", at(6), "b"))
	is("push alone", sync1(t, b, SyncOptions{Push: true}), 0, 0, 1, 0)
	is("push alone, behind", sync1(t, a, SyncOptions{Push: true}), 1, 1, 1, 0)
	is("forward", sync1(t, b, SyncOptions{}), 1, 0, 0, 0)
	if a, b := snapshot(t, a), snapshot(t, b); a.Tip() != b.Tip() || a.Tip() != hubTip(t, hub) || len(all(t, a)) != 7 {
		t.Errorf("at %s and %s, the hub at %s; %d events", a.Tip(), b.Tip(), hubTip(t, hub), len(all(t, a)))
	}
	// The history is one line.
	if merges := kxmtest.Git(t, hub, "rev-list", "--merges", "--count", Ref); merges != "0" {
		t.Errorf("%s merges", merges)
	}
	if roots := kxmtest.Git(t, hub, "rev-list", "--max-parents=0", "--count", Ref); roots != "1" {
		t.Errorf("%s roots", roots)
	}
	for _, dir := range append(dirs, hub) {
		kxmtest.Git(t, dir, "fsck", "--strict")
	}
	// Nothing of it is in the way of a person's work.
	if refs := kxmtest.Git(t, dirs[0], "for-each-ref", "--format=%(refname)"); refs != "refs/kxm/remotes/origin/state\nrefs/kxm/state" {
		t.Errorf("refs are\n%s", refs)
	}
	kxmtest.Git(t, dirs[0], "fetch", "-q", "--prune")
	is("after a prune", sync1(t, a, SyncOptions{}), 0, 0, 0, 0)
}

func TestManyClonesConverge(t *testing.T) {
	for n, short := range map[int]int{2: 3, 8: 1} {
		hub, dirs := newHub(t, n)
		var group sync.WaitGroup
		rounds := count(short, 10)
		for i, dir := range dirs {
			backend := ""
			if i == 1 {
				backend = "native"
			}
			l := openLog(t, dir, backend)
			group.Go(func() {
				for round := range rounds {
					appendAll(t, l, newEvent("p", fmt.Sprint("key ", round%2), at(round), fmt.Sprint(i)))
					appendAll(t, l, newEntry("p", at(round), fmt.Sprint(i)))
					if _, err := l.Sync(t.Context(), "origin", SyncOptions{}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
		for _, dir := range dirs {
			l := openLog(t, dir, "")
			sync1(t, l, SyncOptions{})
			if s := snapshot(t, l); s.Tip() != hubTip(t, hub) || len(all(t, s)) != 2*n*rounds {
				t.Errorf("%d clones: one is at %s, the hub at %s; %d events", n, s.Tip(), hubTip(t, hub), len(all(t, s)))
			}
			if rest := leftovers(t, dir); len(rest) > 0 {
				t.Errorf("left over: %v", rest)
			}
		}
		kxmtest.Git(t, hub, "fsck", "--strict")
		t.Logf("%d clones: %s commits, %s merges", n, kxmtest.Git(t, hub, "rev-list", "--count", Ref), kxmtest.Git(t, hub, "rev-list", "--merges", "--count", Ref))
	}
}

// TestAThirdClone: two clones that meet only through a third, in either order, hold
// the same tree.
func TestAThirdClone(t *testing.T) {
	var trees []repo.OID
	for _, order := range [][2]int{{0, 1}, {1, 0}} {
		hub, dirs := newHub(t, 3)
		for i, n := range order {
			l := openLog(t, dirs[i], "")
			for j := range count(5, 200) {
				appendAll(t, l, newEvent("p", fmt.Sprint("key ", j%3), at(j), fmt.Sprint(n)))
			}
			sync1(t, l, SyncOptions{})
		}
		third := openLog(t, dirs[2], "")
		sync1(t, third, SyncOptions{})
		trees = append(trees, snapshot(t, third).Tree())
		if got := len(all(t, snapshot(t, third))); got != 2*count(5, 200) || hubTip(t, hub) != snapshot(t, third).Tip() {
			t.Errorf("%d events", got)
		}
	}
	if trees[0] != trees[1] {
		t.Errorf("trees %v", trees)
	}
}

// TestTwoRemotes: what one remote has is not rewritten for the other; clones join
// both alike.
func TestTwoRemotes(t *testing.T) {
	hubs := []string{newRepo(t, "--bare"), newRepo(t, "--bare")}
	var tips []repo.OID
	var dirs []string
	for i := range 2 {
		dir := newClone(t, hubs[i])
		kxmtest.Git(t, dir, "remote", "add", "other", hubs[1-i])
		l := openLog(t, dir, "")
		appendAll(t, l, newEvent("p", "k", at(i), "x"))
		sync1(t, l, SyncOptions{}) // each to its own
		dirs = append(dirs, dir)
	}
	for _, dir := range dirs {
		l := openLog(t, dir, "")
		if r, err := l.Sync(t.Context(), "other", SyncOptions{Pull: true}); err != nil || r.Merged != 1 {
			t.Fatalf("%+v, %v", r, err)
		}
		tips = append(tips, snapshot(t, l).Tip())
	}
	if tips[0] != tips[1] {
		t.Errorf("two clones made the merges %v", tips)
	}
	if parents := strings.Fields(kxmtest.Git(t, dirs[0], "log", "-1", "--format=%P", Ref)); len(parents) != 2 || parents[0] > parents[1] {
		t.Errorf("parents %v", parents)
	}
	l := openLog(t, dirs[0], "")
	for _, remote := range []string{"origin", "other"} {
		if _, err := l.Sync(t.Context(), remote, SyncOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if hubTip(t, hubs[0]) != tips[0] || hubTip(t, hubs[1]) != tips[0] {
		t.Errorf("the hubs are at %s and %s, want %s", hubTip(t, hubs[0]), hubTip(t, hubs[1]), tips[0])
	}
	if err := func() error { _, err := openLog(t, dirs[0], "").Sync(t.Context(), "none", SyncOptions{}); return err }(); !fault.Is(err, fault.Usage) {
		t.Errorf("a remote that is not configured: %v", err)
	}
}

func TestWhichRemote(t *testing.T) {
	dir := newRepo(t)
	l := openLog(t, dir, "")
	sync := func(name string) error { _, err := l.Sync(t.Context(), name, SyncOptions{}); return err }
	if err := sync(""); !fault.Is(err, fault.Usage) {
		t.Errorf("no remote: %v", err)
	}
	kxmtest.Git(t, dir, "remote", "add", "team/hub", newRepo(t, "--bare"))
	appendAll(t, l, newEvent("p", "k", at(1), "x"))
	if err := sync(""); err != nil {
		t.Errorf("the only remote: %v", err)
	}
	if got := kxmtest.Git(t, dir, "rev-parse", "refs/kxm/remotes/team/hub/state"); got != string(snapshot(t, l).Tip()) {
		t.Errorf("the tracking ref is %s", got)
	}
	kxmtest.Git(t, dir, "remote", "add", "second", newRepo(t, "--bare"))
	if err := sync(""); !fault.Is(err, fault.Usage) {
		t.Errorf("two remotes, none of them origin: %v", err)
	}
	for _, name := range []string{"-x", "--upload-pack=touch x", "../x", "file:///tmp", ".", "a b"} {
		if err := sync(name); !fault.Is(err, fault.Usage) {
			t.Errorf("%q: %v", name, err)
		}
	}
	kxmtest.Git(t, dir, "remote", "add", "origin", filepath.Join(t.TempDir(), "nowhere"))
	if err := sync(""); !fault.Is(err, fault.GitFailed) {
		t.Errorf("a remote that is not there: %v", err)
	}
}

// TestARemoteThatLostEvents is told, and gets them back.
func TestARemoteThatLostEvents(t *testing.T) {
	start := func(t *testing.T) (hub string, l *Log, first, second repo.OID) {
		hub, dirs := newHub(t, 1)
		l = openLog(t, dirs[0], "")
		appendAll(t, l, newEvent("p", "k", at(1), "x"))
		first = sync1(t, l, SyncOptions{}).Tip
		appendAll(t, l, newEvent("p", "k", at(2), "x"), newEvent("p", "k", at(3), "x"))
		second = sync1(t, l, SyncOptions{}).Tip
		return hub, l, first, second
	}
	check := func(t *testing.T, hub string, l *Log, restored, pushed int) {
		t.Helper()
		r := sync1(t, l, SyncOptions{})
		if r.Restored != restored || r.Pushed != pushed {
			t.Errorf("%+v, want %d restored and %d pushed", r, restored, pushed)
		}
		other := openLog(t, newClone(t, hub), "")
		sync1(t, other, SyncOptions{})
		if got := len(all(t, snapshot(t, other))); got < 3 || snapshot(t, other).Tip() != r.Tip {
			t.Errorf("the remote has %d events", got)
		}
		if again := sync1(t, l, SyncOptions{}); again.Restored != 0 || again.Pushed != 0 {
			t.Errorf("once more: %+v", again)
		}
	}
	t.Run("rolled back", func(t *testing.T) {
		hub, l, first, _ := start(t)
		kxmtest.Git(t, hub, "update-ref", Ref, string(first))
		check(t, hub, l, 2, 2)
	})
	t.Run("deleted", func(t *testing.T) {
		hub, l, _, _ := start(t)
		kxmtest.Git(t, hub, "update-ref", "-d", Ref)
		check(t, hub, l, 3, 3)
	})
	t.Run("begun anew", func(t *testing.T) {
		hub, l, _, _ := start(t)
		kxmtest.Git(t, hub, "update-ref", "-d", Ref)
		other := openLog(t, newClone(t, hub), "")
		appendAll(t, other, newEvent("p", "k", at(4), "other"))
		sync1(t, other, SyncOptions{})
		check(t, hub, l, 3, 3)
	})
	t.Run("dropped by a later commit", func(t *testing.T) {
		hub, l, first, second := start(t)
		// Its history goes on from ours, but its tree lacks two events.
		tree := kxmtest.Git(t, hub, "rev-parse", string(first)+"^{tree}")
		commit := kxmtest.Git(t, hub, "commit-tree", "-m", "drop", "-p", string(second), tree)
		kxmtest.Git(t, hub, "update-ref", Ref, commit)
		check(t, hub, l, 2, 2)
	})
	t.Run("changed by a later commit", func(t *testing.T) {
		hub, l, _, second := start(t)
		index := filepath.Join(t.TempDir(), "index")
		w := newEvent("p", "k", at(2), "x")
		blob := kxmtest.GitInput(t, hub, []byte("forged\n"), "hash-object", "-w", "--stdin")
		for _, args := range [][]string{{"read-tree", string(second)}, {"update-index", "--cacheinfo", "100644," + blob + "," + w.Folder + "/" + w.ID + ".json"}} {
			if out, ok := gitWithIndex(t, hub, index, args...); !ok {
				t.Fatal(out)
			}
		}
		tree, _ := gitWithIndex(t, hub, index, "write-tree")
		commit := kxmtest.Git(t, hub, "commit-tree", "-m", "forge", "-p", string(second), strings.TrimSpace(tree))
		kxmtest.Git(t, hub, "update-ref", Ref, commit)
		check(t, hub, l, 1, 1)
	})
}

// TestAHostileTip: whatever a stranger pushes, the sync goes on and no event is lost.
func TestAHostileTip(t *testing.T) {
	hub, dirs := newHub(t, 2)
	l := openLog(t, dirs[0], "")
	mine := []Write{newEvent("p", "k", at(1), "x", "signature\n"), newEntry("p", at(1), "x"), newEvent("p", "other", at(1), "x")}
	appendAll(t, l, mine...)
	sync1(t, l, SyncOptions{})

	stranger := openLog(t, dirs[1], "")
	b := &raw{t: t, l: stranger}
	shardName, keyName, _ := strings.Cut(mine[0].Folder, "/")
	otherShard, otherKey, _ := strings.Cut(mine[2].Folder, "/")
	link := b.file("link", "/etc/passwd")
	link.Mode = repo.ModeSymlink
	tree := b.tree(
		b.file(formatName, "kxm-state 9\n"), b.file("format-9", ""), b.file("j", "a file where a folder belongs"), link,
		repo.TreeEntry{Name: "module", Mode: repo.ModeSubmodule, OID: repo.OID(strings.Repeat("1", 40))},
		b.folder(".git", b.file("config", "x")),
		b.folder(shardName, b.folder(keyName,
			b.folder(mine[0].ID+".json", b.file("x", "x")),
			b.file(SignatureName(mine[0].ID, mine[0].Signatures[0]), "worthless\n"))),
		b.folder(otherShard, b.file(otherKey, "a file where a folder belongs")),
		b.folder("deep", b.nested(strings.Repeat("d/", 20)+"e", b.file("f", "f"))))
	commit := encodeCommit(tree, nil, kxmtest.Now(), "hostile")
	ids, err := stranger.r.WriteObjects(t.Context(), []repo.NewObject{{Type: "commit", Data: commit}})
	if err == nil {
		err = stranger.r.UpdateRef(t.Context(), Ref, "", ids[0], repo.UpdateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	kxmtest.Git(t, dirs[1], "push", "-q", "--force", "origin", Ref)

	appendAll(t, l, newEvent("p", "k", at(2), "x"))
	sync1(t, l, SyncOptions{})
	check := func(l *Log) {
		t.Helper()
		s := snapshot(t, l)
		got := all(t, s)
		for _, w := range append(mine, newEvent("p", "k", at(2), "x")) {
			if r := got[w.ID]; string(r.Event) != string(w.Event) || len(r.Signatures) != len(w.Signatures) {
				t.Errorf("%s reads as %+v", w.ID, r)
			}
		}
		foreign, err := s.Foreign(t.Context())
		if got := strings.Join(foreign, " "); err != nil || got != ".git deep format-9 link module" {
			t.Errorf("foreign: %s, %v", got, err)
		}
	}
	check(l)
	// The stranger's own clone gets them too, and agrees.
	sync1(t, stranger, SyncOptions{})
	check(stranger)
	if a, b := snapshot(t, l), snapshot(t, stranger); a.Tip() != b.Tip() || a.Tip() != hubTip(t, hub) {
		t.Errorf("at %s and %s, the hub at %s", a.Tip(), b.Tip(), hubTip(t, hub))
	}
}

func TestARemoteWithOtherRefsOrRules(t *testing.T) {
	t.Run("a ref in the ref's place", func(t *testing.T) {
		hub, dirs := newHub(t, 1)
		l := openLog(t, dirs[0], "")
		appendAll(t, l, newEvent("p", "k", at(1), "x"))
		tip := snapshot(t, l).Tip()
		kxmtest.Git(t, dirs[0], "push", "-q", "origin", string(tip)+":"+Ref+"/x")
		l.rounds = 2
		ctx := t.Context()
		if r, err := l.Sync(ctx, "", SyncOptions{Pull: true}); err != nil || r.Tip != tip {
			t.Errorf("pull: %+v, %v", r, err)
		}
		_, err := l.Sync(ctx, "", SyncOptions{})
		if code := fault.CodeOf(err); code != fault.GitFailed && code != fault.StateSyncRejected {
			t.Errorf("push: %v", err)
		}
		if got := hubTip(t, hub); got != "" && got != tip {
			t.Errorf("the hub has %s", got)
		}
	})
	t.Run("the tip is no log", func(t *testing.T) {
		hub, dirs := newHub(t, 1)
		l := openLog(t, dirs[0], "")
		appendAll(t, l, newEvent("p", "k", at(1), "x"))
		tip := snapshot(t, l).Tip()
		kxmtest.Git(t, hub, "update-ref", Ref, kxmtest.GitInput(t, hub, []byte("x"), "hash-object", "-w", "--stdin"))
		if _, err := l.Sync(t.Context(), "", SyncOptions{}); !fault.Is(err, fault.StateRefBroken) {
			t.Errorf("%v", err)
		}
		if now := snapshot(t, l).Tip(); now != tip {
			t.Errorf("the log moved to %s", now)
		}
	})
	t.Run("a host that takes branches only", func(t *testing.T) {
		hub, dirs := newHub(t, 2)
		text := "#!/bin/sh\ncase $1 in refs/heads/*) exit 0;; esac\necho 'branches only' >&2\nexit 1\n"
		if err := os.WriteFile(filepath.Join(hub, "hooks", "update"), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		l := openLog(t, dirs[0], "")
		appendAll(t, l, newEvent("p", "k", at(1), "x"))
		_, err := l.Sync(t.Context(), "", SyncOptions{})
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != fault.GitFailed || !strings.Contains(f.Hint, "remoteRef") {
			t.Errorf("%v", err)
		}
		for i, dir := range dirs {
			l := openLog(t, dir, "")
			l.remoteRef = "refs/heads/kxm-state"
			appendAll(t, l, newEvent("p", "k", at(2+i), "x"))
			sync1(t, l, SyncOptions{})
		}
		if got := len(all(t, snapshot(t, openLog(t, dirs[1], "")))); got != 3 {
			t.Errorf("%d events", got)
		}
	})
	t.Run("always faster", func(t *testing.T) {
		// A hook that moves the ref on before each push is compared.
		hub, dirs := newHub(t, 1)
		l := openLog(t, dirs[0], "")
		appendAll(t, l, newEvent("p", "k", at(1), "x"))
		sync1(t, l, SyncOptions{})
		text := "#!/bin/sh\nunset GIT_QUARANTINE_PATH GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES\n" +
			"export GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x\n" +
			"old=$(git rev-parse " + Ref + ")\ngit update-ref " + Ref + " $(git commit-tree -m $$ -p $old $old^{tree})\n"
		if err := os.WriteFile(filepath.Join(hub, "hooks", "pre-receive"), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		appendAll(t, l, newEvent("p", "k", at(2), "x"))
		if l.rounds != 20 {
			t.Errorf("%d rounds", l.rounds)
		}
		l.rounds = count(3, 20)
		if _, err := l.Sync(t.Context(), "", SyncOptions{}); !fault.Is(err, fault.StateSyncRejected) {
			t.Errorf("%v", err)
		}
		if got := kxmtest.Git(t, hub, "rev-list", "--count", Ref); got != fmt.Sprint(1+l.rounds+1) {
			t.Errorf("the hub has %s commits after %d rounds", got, l.rounds+1)
		}
		if got := len(all(t, snapshot(t, l))); got != 2 {
			t.Errorf("%d events", got)
		}
	})
}

// TestSyncInUnusualClones: what git cannot see in full is still joined.
func TestSyncInUnusualClones(t *testing.T) {
	for _, name := range []string{"shallow", "partial clone", "alternates", "SHA-256", "linked worktree"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := kinds[name](t)
			var args []string
			if name == "SHA-256" {
				args = append(args, "--object-format=sha256")
			}
			hub := newRepo(t, append(args, "--bare")...)
			kxmtest.Git(t, dir, "remote", "add", "hub", hub)
			other := newRepo(t, args...)
			kxmtest.Git(t, other, "remote", "add", "origin", hub)
			a, b := openLog(t, dir, ""), openLog(t, other, "")
			for i := range 3 {
				appendAll(t, a, newEvent("p", "k", at(2*i), "a"))
				appendAll(t, b, newEvent("p", "k", at(2*i+1), "b"))
				if _, err := a.Sync(t.Context(), "hub", SyncOptions{}); err != nil {
					t.Fatal(err)
				}
				sync1(t, b, SyncOptions{})
			}
			if _, err := a.Sync(t.Context(), "hub", SyncOptions{}); err != nil {
				t.Fatal(err)
			}
			if x, y := snapshot(t, a), snapshot(t, b); x.Tip() != y.Tip() || len(all(t, x)) != 6 {
				t.Errorf("at %s and %s with %d events", x.Tip(), y.Tip(), len(all(t, x)))
			}
			if merges := kxmtest.Git(t, hub, "rev-list", "--merges", "--count", Ref); merges != "0" {
				t.Errorf("%s merges", merges)
			}
		})
	}
}

func gitWithIndex(t testing.TB, dir, index string, args ...string) (string, bool) {
	t.Helper()
	r, err := repo.Open(t.Context(), repo.Options{Dir: dir, Getenv: closedEnv(t, "GIT_INDEX_FILE="+index)})
	if err != nil {
		t.Fatal(err)
	}
	out, err := r.Git(t.Context(), nil, args...)
	if err != nil {
		return err.Error(), false
	}
	return string(out), true
}
