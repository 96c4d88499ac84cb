//go:build unix

package repo

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"kxm/lib/fault"
	"kxm/lib/kxmtest"
)

const testRef = "refs/kxm/state"

// newCommits makes a repository with n commits that no ref names.
func newCommits(t *testing.T, dir string, n int) (commits []OID) {
	t.Helper()
	tree := kxmtest.GitInput(t, dir, nil, "mktree")
	for i := range n {
		commits = append(commits, OID(kxmtest.Git(t, dir, "commit-tree", "-m", strings.Repeat("x", i+1), tree)))
	}
	return commits
}

func gitRef(t *testing.T, dir, name string) string {
	t.Helper()
	out, _ := says(t, dir, nil, "git", "rev-parse", "--verify", "-q", name)
	return strings.TrimSpace(out)
}

func TestUpdateRefComparesAndSets(t *testing.T) {
	onBothBackends(t, func(t *testing.T, dir string, r *Repo) {
		ctx, c := t.Context(), newCommits(t, dir, 3)
		update := func(old, new OID) error {
			return r.UpdateRef(ctx, testRef, old, new, UpdateOptions{})
		}
		holds := func(want OID) {
			t.Helper()
			id, ok, err := r.PlainRef(ctx, testRef)
			if err != nil || id != want || ok != (want != "") || gitRef(t, dir, testRef) != string(want) {
				t.Errorf("the ref is %s, %v, %v; for git %s; want %s", id, ok, err, gitRef(t, dir, testRef), want)
			}
		}
		holds("")
		if err := update(c[0], c[1]); !fault.Is(err, fault.RefMoved) {
			t.Errorf("an absent ref had a value: %v", err)
		}
		if err := update("", c[0]); err != nil {
			t.Fatal(err)
		}
		holds(c[0])
		if err := update("", c[1]); !fault.Is(err, fault.RefMoved) {
			t.Errorf("a ref was made twice: %v", err)
		}
		if err := update(c[1], c[2]); !fault.Is(err, fault.RefMoved) {
			t.Errorf("a ref moved from where it was not: %v", err)
		}
		kxmtest.Git(t, dir, "pack-refs", "--all", "--prune")
		holds(c[0])
		if err := update("", c[1]); !fault.Is(err, fault.RefMoved) {
			t.Errorf("a packed ref was made twice: %v", err)
		}
		// The folder refs/kxm is gone now.
		if err := update(c[0], c[1]); err != nil {
			t.Fatal(err)
		}
		holds(c[1])
		if err := update(c[1], c[1]); err != nil {
			t.Errorf("no change: %v", err)
		}
		if rest := leftovers(t, dir); len(rest) > 0 {
			t.Errorf("left over: %v", rest)
		}
		for _, name := range []string{"", "HEAD", "refs/../x", "refs/a b", "refs/x.lock", "state"} {
			if err := r.UpdateRef(ctx, name, "", c[0], UpdateOptions{}); !fault.Is(err, fault.Usage) {
				t.Errorf("%q: %v", name, err)
			}
		}
		if err := update(c[1], "abc"); !fault.Is(err, fault.ObjectMissing) {
			t.Errorf("no full id: %v", err)
		}
		kxmtest.Git(t, dir, "fsck", "--strict")
	})
}

// What cannot be read is not absent, and a name may be taken by others.
func TestUpdateRefOfRefsThatAreNotPlain(t *testing.T) {
	cases := []struct {
		name  string
		make  func(t *testing.T, dir string, c []OID)
		read  fault.Code
		write fault.Code
	}{
		{"empty", func(t *testing.T, dir string, c []OID) { writeRef(t, dir, testRef, "") }, fault.RefBroken, fault.RefBroken},
		{"garbage", func(t *testing.T, dir string, c []OID) { writeRef(t, dir, testRef, "garbage\n") }, fault.RefBroken, fault.RefBroken},
		{"symbolic", func(t *testing.T, dir string, c []OID) {
			kxmtest.Git(t, dir, "update-ref", "refs/heads/main", string(c[0]))
			kxmtest.Git(t, dir, "symbolic-ref", testRef, "refs/heads/main")
		}, fault.RefBroken, fault.RefBroken},
		{"symbolic, to nothing", func(t *testing.T, dir string, c []OID) {
			kxmtest.Git(t, dir, "symbolic-ref", testRef, "refs/heads/none")
		}, fault.RefBroken, fault.RefBroken},
		{"a ref below", func(t *testing.T, dir string, c []OID) {
			kxmtest.Git(t, dir, "update-ref", testRef+"/x/y", string(c[0]))
		}, "", fault.RefConflict},
		{"a packed ref below", func(t *testing.T, dir string, c []OID) {
			kxmtest.Git(t, dir, "update-ref", testRef+"/x/y", string(c[0]))
			kxmtest.Git(t, dir, "pack-refs", "--all", "--prune")
		}, "", fault.RefConflict},
		{"a ref above", func(t *testing.T, dir string, c []OID) {
			kxmtest.Git(t, dir, "update-ref", "refs/kxm", string(c[0]))
		}, "", fault.RefConflict},
		{"a packed ref above", func(t *testing.T, dir string, c []OID) {
			kxmtest.Git(t, dir, "update-ref", "refs/kxm", string(c[0]))
			kxmtest.Git(t, dir, "pack-refs", "--all", "--prune")
		}, "", fault.RefConflict},
		{"empty folders", func(t *testing.T, dir string, c []OID) {
			if err := os.MkdirAll(filepath.Join(dir, ".git", filepath.FromSlash(testRef), "x", "y"), 0o755); err != nil {
				t.Fatal(err)
			}
		}, "", ""},
	}
	for _, c := range cases {
		for _, backend := range []string{"", "native"} {
			t.Run(c.name+" "+backend, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				kxmtest.Git(t, dir, "init", "-q")
				commits := newCommits(t, dir, 2)
				c.make(t, dir, commits)
				r := open(t, dir, backend)
				if id, ok, err := r.PlainRef(t.Context(), testRef); ok || fault.CodeOf(err) != c.read {
					t.Errorf("it reads as %s, %v, %v", id, ok, err)
				}
				other, err := r.ConflictingRef(t.Context(), testRef)
				if err != nil || (other != "") != (c.write == fault.RefConflict) {
					t.Errorf("in conflict with %q, %v", other, err)
				}
				err = r.UpdateRef(t.Context(), testRef, "", commits[1], UpdateOptions{})
				if fault.CodeOf(err) != c.write {
					t.Errorf("UpdateRef says %v", err)
				}
				if rest := leftovers(t, dir); len(rest) > 0 {
					t.Errorf("left over: %v", rest)
				}
				if c.read != "" {
					err := r.UpdateRef(t.Context(), testRef, "", commits[1], UpdateOptions{Damaged: true})
					if id, ok, readErr := r.PlainRef(t.Context(), testRef); err != nil || readErr != nil || !ok || id != commits[1] {
						t.Errorf("repaired: %v, and reads as %s, %v, %v", err, id, ok, readErr)
					}
				}
			})
		}
	}
}

func writeRef(t *testing.T, dir, name, text string) {
	t.Helper()
	kxmtest.WriteFiles(t, filepath.Join(dir, ".git"), map[string]string{name: text})
}

func TestALockOfGitIsWaitedForAndLeftAlone(t *testing.T) {
	onBothBackends(t, func(t *testing.T, dir string, r *Repo) {
		c := newCommits(t, dir, 2)
		if err := r.UpdateRef(t.Context(), testRef, "", c[0], UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		lock := filepath.Join(dir, ".git", filepath.FromSlash(testRef)+".lock")
		if err := os.WriteFile(lock, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		err := r.UpdateRef(t.Context(), testRef, c[0], c[1], UpdateOptions{Wait: 100 * time.Millisecond})
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != fault.RefLocked || !strings.Contains(f.Hint, "state.lock") {
			t.Errorf("%v, hint %q", err, f.Hint)
		}
		if _, err := os.Stat(lock); err != nil {
			t.Errorf("the lock is gone: %v", err)
		}
		go func() {
			time.Sleep(100 * time.Millisecond)
			_ = os.Remove(lock)
		}()
		if err := r.UpdateRef(t.Context(), testRef, c[0], c[1], UpdateOptions{}); err != nil {
			t.Errorf("the lock was given back: %v", err)
		}
	})
}

// TestALeftoverLockIsProvedByItsContent: a writer that dies leaves its note with the
// caller and its lock with the ref.
func TestALeftoverLockIsProvedByItsContent(t *testing.T) {
	dir := t.TempDir()
	kxmtest.Git(t, dir, "init", "-q")
	r, c := open(t, dir, ""), newCommits(t, dir, 3)
	r.shortPause = 20 * time.Millisecond
	var note string
	o := UpdateOptions{Intend: func(n string) error { note = n; return nil }}
	if err := r.UpdateRef(t.Context(), testRef, "", c[0], o); err != nil {
		t.Fatal(err)
	}
	linked := note
	w, _ := r.writing()
	link := w.disk.link
	w.disk.link = func(from, to string) error { return &os.LinkError{Op: "link", Old: from, New: to, Err: syscall.EPERM} }
	if err := r.UpdateRef(t.Context(), testRef, c[0], c[1], o); err != nil {
		t.Fatalf("without links: %v", err)
	}
	created := note
	w.disk.link = link
	if linked == created || gitRef(t, dir, testRef) != string(c[1]) {
		t.Fatalf("notes %q and %q, ref %s", linked, created, gitRef(t, dir, testRef))
	}
	lock := filepath.Join(dir, ".git", filepath.FromSlash(testRef)+".lock")
	for _, tc := range []struct {
		note, content string
		removed       bool
	}{
		{linked, string(c[0]) + "\n", true},
		{linked, "", false},                     // Git's, just made
		{linked, string(c[1]) + "\n", false},    // Git's, for another value
		{linked, string(c[0]), false},           // ours are complete
		{linked[:10], string(c[0][:10]), false}, // the note was cut off
		{"", "", false},
		{"\n", "\n", false},
		{created, string(c[1]) + "\n", true},
		{created, "", true}, // after a while
		{created, string(c[1][:7]), true},
		{created, string(c[2]) + "\n", false},
	} {
		if err := os.WriteFile(lock, []byte(tc.content), 0o644); err != nil {
			t.Fatal(err)
		}
		removed, err := r.RecoverRef(t.Context(), testRef, tc.note)
		_, statErr := os.Stat(lock)
		if gone := errors.Is(statErr, fs.ErrNotExist); err != nil || removed != tc.removed || gone != tc.removed {
			t.Errorf("note %q, lock %q: removed %v, gone %v, %v", tc.note, tc.content, removed, gone, err)
		}
	}
	// An empty lock that changes is in use.
	if err := os.WriteFile(lock, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	r.shortPause = 300 * time.Millisecond
	go func() {
		time.Sleep(50 * time.Millisecond)
		_ = os.WriteFile(lock, []byte(c[2]), 0o644)
	}()
	if removed, err := r.RecoverRef(t.Context(), testRef, created); removed || err != nil {
		t.Errorf("a lock in use was removed: %v, %v", removed, err)
	}
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	if removed, err := r.RecoverRef(t.Context(), testRef, linked); removed || err != nil {
		t.Errorf("no lock: %v, %v", removed, err)
	}
}

func TestCallbacksOfUpdateRef(t *testing.T) {
	dir := t.TempDir()
	kxmtest.Git(t, dir, "init", "-q")
	r, c := open(t, dir, ""), newCommits(t, dir, 3)
	lock := filepath.Join(dir, ".git", filepath.FromSlash(testRef)+".lock")
	locked := func() bool { _, err := os.Stat(lock); return err == nil }
	var order []string
	o := UpdateOptions{
		Intend: func(note string) error {
			order = append(order, "intend")
			if note != string(c[0])+"\n" || locked() {
				t.Errorf("note %q, locked %v", note, locked())
			}
			return nil
		},
		Locked: func() error {
			order = append(order, "locked")
			if data, err := os.ReadFile(lock); err != nil || string(data) != string(c[0])+"\n" || gitRef(t, dir, testRef) != "" {
				t.Errorf("the lock holds %q, %v", data, err)
			}
			// Nothing else may name the file that becomes the ref.
			if st, err := os.Stat(lock); err != nil || st.Sys().(*syscall.Stat_t).Nlink != 1 {
				t.Errorf("the lock has other names: %v", err)
			}
			return nil
		},
		Moved: func() {
			order = append(order, "moved")
			if locked() || gitRef(t, dir, testRef) != string(c[0]) {
				t.Error("the ref did not move")
			}
		},
	}
	if err := r.UpdateRef(t.Context(), testRef, "", c[0], o); err != nil {
		t.Fatal(err)
	}
	if strings.Join(order, " ") != "intend locked moved" {
		t.Errorf("called %v", order)
	}
	no := errors.New("no")
	for name, o := range map[string]UpdateOptions{
		"Intend": {Intend: func(string) error { return no }},
		"Locked": {Locked: func() error { return no }},
	} {
		o.Moved = func() { t.Errorf("%s refused, and the ref moved", name) }
		if err := r.UpdateRef(t.Context(), testRef, c[0], c[1], o); err != no || locked() || gitRef(t, dir, testRef) != string(c[0]) {
			t.Errorf("%s: %v, locked %v", name, err, locked())
		}
	}
	if rest := leftovers(t, dir); len(rest) > 0 {
		t.Errorf("left over: %v", rest)
	}
}

func TestReflog(t *testing.T) {
	onBothBackends(t, func(t *testing.T, dir string, r *Repo) {
		c := newCommits(t, dir, 3)
		update := func(old, new OID, message string) {
			t.Helper()
			o := UpdateOptions{Message: message, When: time.Unix(1700000000, 0).UTC()}
			if err := r.UpdateRef(t.Context(), testRef, old, new, o); err != nil {
				t.Fatal(err)
			}
		}
		log := func() string {
			return kxmtest.Git(t, dir, "reflog", "--format=%H %gs", testRef)
		}
		update("", c[0], "none")
		if got := log(); got != "" {
			t.Errorf("a reflog that nobody wanted: %s", got)
		}
		kxmtest.Git(t, dir, "config", "core.logAllRefUpdates", "always")
		update(c[0], c[1], "first")
		kxmtest.Git(t, dir, "config", "core.logAllRefUpdates", "true")
		update(c[1], c[2], "an existing one goes on")
		if got, want := log(), string(c[2])+" an existing one goes on\n"+string(c[1])+" first"; got != want {
			t.Errorf("the reflog is\n%s\nwant\n%s", got, want)
		}
		kxmtest.Git(t, dir, "fsck", "--strict")
	})
}

func TestSharedRepository(t *testing.T) {
	for value, want := range map[string]struct{ object, ref, folder fs.FileMode }{
		"":          {0o400, 0o600, 0o700},
		"umask":     {0o400, 0o600, 0o700},
		"false":     {0o400, 0o600, 0o700},
		"group":     {0o440, 0o660, 0o770 | fs.ModeSetgid},
		"true":      {0o440, 0o660, 0o770 | fs.ModeSetgid},
		"1":         {0o440, 0o660, 0o770 | fs.ModeSetgid},
		"everybody": {0o444, 0o664, 0o775 | fs.ModeSetgid},
		"0640":      {0o440, 0o640, 0o750 | fs.ModeSetgid},
		"0600":      {0o400, 0o600, 0o700},
	} {
		for _, backend := range []string{"", "native"} {
			dir := t.TempDir()
			kxmtest.Git(t, dir, "init", "-q")
			if value != "" {
				kxmtest.Git(t, dir, "config", "core.sharedRepository", value)
			}
			r := open(t, dir, backend)
			old := syscall.Umask(0o077)
			objects, commit := newObjects(r)
			_, err := r.WriteObjects(t.Context(), objects)
			err = errors.Join(err, r.UpdateRef(t.Context(), testRef, "", commit, UpdateOptions{}))
			folder, folderErr := r.Folder("kxm/spool")
			syscall.Umask(old)
			if err := errors.Join(err, folderErr); err != nil {
				t.Fatal(err)
			}
			git := filepath.Join(dir, ".git")
			for path, want := range map[string]fs.FileMode{
				loosePath(filepath.Join(git, "objects"), commit):               want.object,
				filepath.Dir(loosePath(filepath.Join(git, "objects"), commit)): want.folder,
				filepath.Join(git, "refs", "kxm"):                              want.folder,
				filepath.Join(git, "refs", "kxm", "state"):                     want.ref,
				filepath.Join(git, "kxm"):                                      want.folder,
				folder:                                                         want.folder,
			} {
				st, err := os.Stat(path)
				if err != nil {
					t.Fatal(err)
				}
				if got := st.Mode() & (fs.ModePerm | fs.ModeSetgid); got != want {
					t.Errorf("%s with %q: %s has %v, want %v", backend, value, path, got, want)
				}
			}
		}
	}
	dir := t.TempDir()
	kxmtest.Git(t, dir, "init", "-q")
	kxmtest.Git(t, dir, "config", "core.sharedRepository", "0066")
	if _, err := open(t, dir, "").Folder("kxm"); !fault.Is(err, fault.ConfigInvalid) {
		t.Errorf("a mode that keeps the owner out: %v", err)
	}
}

func TestFlushRef(t *testing.T) {
	dir := t.TempDir()
	kxmtest.Git(t, dir, "init", "-q")
	r, c := open(t, dir, ""), newCommits(t, dir, 1)
	if err := r.FlushRef(testRef); err != nil {
		t.Errorf("a ref whose folder is missing: %v", err)
	}
	if err := r.UpdateRef(t.Context(), testRef, "", c[0], UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	no := errors.New("no")
	tr := trace{fail: map[string]error{"syncFolder": no}}
	tr.attach(t, r)
	if err := r.FlushRef(testRef); !errors.Is(err, no) || len(tr.steps) != 1 || tr.steps[0] != "syncFolder refs/kxm" {
		t.Errorf("%v, steps %v", err, tr.steps)
	}
}
