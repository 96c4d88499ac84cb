package eventlog

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kxm/lib/fault"
	"kxm/lib/kxmtest"
	"kxm/lib/repo"
)

// rules are the rules of the findings, in order.
func rules(t testing.TB, l *Log) (rules []string) {
	t.Helper()
	findings, err := l.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		if f.Message == "" || f.Severity != "error" && f.Severity != "warning" {
			t.Errorf("%+v", f)
		}
		rules = append(rules, f.Rule)
	}
	return rules
}

func TestCheckOfASoundLog(t *testing.T) {
	onBackends(t, func(t *testing.T, dir string, l *Log) {
		if got := rules(t, l); len(got) != 0 {
			t.Errorf("without a log: %v", got)
		}
		fill(t, l, 0, 5)
		if got := rules(t, l); len(got) != 0 {
			t.Errorf("%v", got)
		}
		if done, err := l.Repair(t.Context()); err != nil || len(done) != 0 {
			t.Errorf("a sound log was repaired: %v, %v", done, err)
		}
	})
}

func TestCheckNamesEverything(t *testing.T) {
	dir := newRepo(t)
	l := openLog(t, dir, "")
	good := newEvent("p", "key", at(1), "x", "s")
	shardName, keyName, _ := strings.Cut(good.Folder, "/")
	b := &raw{t: t, l: l}
	bad := b.file(newEvent("p", "key", at(2), "x").ID+".json", "bad")
	tree := b.tree(b.file("format-9", ""), b.file("x", ""), b.folder(shardName, b.folder(keyName, b.file(good.ID+".json", string(good.Event)), bad, b.file(SignatureName(good.ID, []byte("s")), "t"))))
	commit := encodeCommit(tree, nil, kxmtest.Now(), "x")
	ids, err := l.r.WriteObjects(t.Context(), []repo.NewObject{{Type: "commit", Data: commit}})
	if err == nil {
		err = l.r.UpdateRef(t.Context(), Ref, "", ids[0], repo.UpdateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	got := rules(t, l)
	slices.Sort(got)
	if want := []string{"event_invalid", "format_missing", "format_unknown", "path_foreign", "signature_invalid"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	appendAll(t, l, newEvent("p", "key", at(2), "x"), good)
	if got := rules(t, l); !slices.Equal(got, []string{"signature_invalid", "format_unknown", "path_foreign"}) && !slices.Contains(got, "format_unknown") || slices.Contains(got, "format_missing") || slices.Contains(got, "event_invalid") {
		t.Errorf("after the next write: %v", got)
	}
	// An object that is gone.
	blob := kxmtest.Git(t, dir, "rev-parse", Ref+":"+good.Folder+"/"+good.ID+".json")
	if err := os.Remove(filepath.Join(dir, ".git", "objects", blob[:2], blob[2:])); err != nil {
		t.Fatal(err)
	}
	if got := rules(t, l); !slices.Contains(got, "history_incomplete") || !slices.Contains(got, "event_invalid") {
		t.Errorf("without a blob: %v", got)
	}
}

func TestCheckNamesWhatDeadWritersLeft(t *testing.T) {
	dir := newRepo(t)
	l := openLog(t, dir, "")
	appendAll(t, l, newEvent("p", "key", at(1), "x"))
	tip := string(snapshot(t, l).Tip())
	refLock := filepath.Join(dir, ".git", filepath.FromSlash(Ref)+".lock")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(refLock, tip+"\n")
	if got := rules(t, l); !slices.Equal(got, []string{"lock_foreign"}) {
		t.Errorf("%v", got)
	}
	write(l.path(lockName), tip+"\n")
	if got := rules(t, l); !slices.Equal(got, []string{"lock_left"}) {
		t.Errorf("%v", got)
	}
	left := must(l.spool([]Write{newEvent("p", "key", at(2), "x")}))(t)
	if err := os.Rename(l.path(spoolDir+left), l.path(takenDir+left)); err != nil {
		t.Fatal(err)
	}
	must(l.spool([]Write{newEvent("p", "key", at(3), "x")}))(t)
	write(l.path(spoolDir+"bad.json"), "{")
	got := rules(t, l)
	slices.Sort(got)
	if !slices.Equal(got, []string{"batch_damaged", "batch_left", "batch_left", "lock_left"}) {
		t.Errorf("%v", got)
	}
	done, err := l.Repair(t.Context())
	if err != nil || len(done) != 2 {
		t.Errorf("%v, %v", done, err)
	}
	if got := rules(t, l); len(got) != 0 {
		t.Errorf("after the repair: %v", got)
	}
	if got := len(all(t, snapshot(t, l))); got != 3 {
		t.Errorf("%d events", got)
	}
}

// TestRepair: a ref that cannot be read becomes readable, and no event that is in
// the repository is lost.
func TestRepair(t *testing.T) {
	ref := filepath.FromSlash(Ref)
	for name, damage := range map[string]func(t *testing.T, dir string){
		"empty":         func(t *testing.T, dir string) { overwrite(t, dir, ref, "") },
		"garbage":       func(t *testing.T, dir string) { overwrite(t, dir, ref, "garbage\n") },
		"a lost commit": func(t *testing.T, dir string) { overwrite(t, dir, ref, strings.Repeat("1", 40)+"\n") },
		"symbolic":      func(t *testing.T, dir string) { kxmtest.Git(t, dir, "symbolic-ref", Ref, "refs/heads/none") },
		"a lost tree": func(t *testing.T, dir string) {
			commit := kxmtest.Git(t, dir, "rev-parse", Ref)
			kxmtest.Git(t, dir, "update-ref", "refs/kxm/before", commit+"~1")
			kxmtest.Git(t, dir, "repack", "-adq")
			kxmtest.Git(t, dir, "prune-packed")
			kxmtest.Git(t, dir, "update-ref", "-d", "refs/kxm/before")
			overwrite(t, dir, ref, kxmtest.GitInput(t, dir, []byte("tree "+strings.Repeat("1", 40)+"\nauthor kxm <kxm@localhost> 1 +0000\ncommitter kxm <kxm@localhost> 1 +0000\n\nx\n"), "hash-object", "-t", "commit", "-w", "--stdin", "--literally")+"\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, dirs := newHub(t, 2)
			other := openLog(t, dirs[1], "")
			appendAll(t, other, newEvent("p", "k", at(1), "from the remote"))
			sync1(t, other, SyncOptions{})
			dir := dirs[0]
			l := openLog(t, dir, "")
			sync1(t, l, SyncOptions{})
			for i := range 3 {
				appendAll(t, l, newEvent("p", "k", at(10+i), fmt.Sprint("local ", i)))
			}
			before := all(t, snapshot(t, l))
			damage(t, dir)
			// Another process, which has nothing in memory.
			l = openLog(t, dir, "")
			if got := rules(t, l); !slices.Equal(got, []string{"ref_broken"}) {
				t.Errorf("%v", got)
			}
			if err := l.Append(t.Context(), []Write{newEvent("p", "k", at(20), "x")}); !fault.Is(err, fault.StateRefBroken) {
				t.Errorf("Append says %v", err)
			}
			done, err := l.Repair(t.Context())
			if err != nil || len(done) == 0 || !strings.HasPrefix(done[0], "set "+Ref) {
				t.Fatalf("%v, %v", done, err)
			}
			after := all(t, snapshot(t, l))
			for id := range before {
				if _, ok := after[id]; !ok {
					t.Errorf("event %s is lost", id)
				}
			}
			if got := rules(t, l); len(got) != 0 {
				t.Errorf("after the repair: %v", got)
			}
			appendAll(t, l, newEvent("p", "k", at(20), "x"))
			sync1(t, l, SyncOptions{})
		})
	}
	t.Run("no other copy", func(t *testing.T) {
		dir := newRepo(t)
		overwrite(t, dir, "HEAD", "ref: refs/heads/main\n")
		kxmtest.WriteFiles(t, filepath.Join(dir, ".git"), map[string]string{Ref: ""})
		l := openLog(t, dir, "")
		if _, err := l.Repair(t.Context()); !fault.Is(err, fault.StateRefBroken) {
			t.Errorf("%v", err)
		}
		if data, err := os.ReadFile(filepath.Join(dir, ".git", ref)); err != nil || len(data) != 0 {
			t.Errorf("the ref is %q, %v", data, err)
		}
	})
	t.Run("another ref in its place", func(t *testing.T) {
		dir := newRepo(t)
		l := openLog(t, dir, "")
		appendAll(t, l, newEvent("p", "k", at(1), "x"))
		tip := string(snapshot(t, l).Tip())
		kxmtest.Git(t, dir, "update-ref", "-d", Ref)
		kxmtest.Git(t, dir, "update-ref", Ref+"/x", tip)
		if _, err := l.Repair(t.Context()); !fault.Is(err, fault.StateRefBroken) {
			t.Errorf("%v", err)
		}
	})
	t.Run("the packed value under an empty file", func(t *testing.T) {
		dir := newRepo(t)
		l := openLog(t, dir, "")
		appendAll(t, l, newEvent("p", "k", at(1), "x"))
		tip := snapshot(t, l).Tip()
		kxmtest.Git(t, dir, "pack-refs", "--all")
		kxmtest.WriteFiles(t, filepath.Join(dir, ".git"), map[string]string{Ref: ""})
		l = openLog(t, dir, "")
		if done, err := l.Repair(t.Context()); err != nil || snapshot(t, l).Tip() != tip {
			t.Errorf("%v, %v", done, err)
		}
	})
}

func TestCompact(t *testing.T) {
	onBackends(t, func(t *testing.T, dir string, l *Log) {
		loose := func() int {
			files, err := filepath.Glob(filepath.Join(dir, ".git", "objects", "??", "*"))
			if err != nil {
				t.Fatal(err)
			}
			return len(files)
		}
		if err := l.Compact(t.Context()); err != nil {
			t.Errorf("without a log: %v", err)
		}
		kxmtest.GitInput(t, dir, []byte("the user's own"), "hash-object", "-w", "--stdin")
		for i := range 5 {
			appendAll(t, l, newEvent("p", "k", at(i), "x"))
		}
		before := all(t, snapshot(t, l))
		if err := l.Compact(t.Context()); err != nil || loose() != 1 {
			t.Errorf("%d loose objects, %v", loose(), err)
		}
		if after := all(t, snapshot(t, l)); len(after) != len(before) {
			t.Errorf("%d events, then %d", len(before), len(after))
		}
		packs := func() int {
			return len(must(filepath.Glob(filepath.Join(dir, ".git", "objects", "pack", "*.pack")))(t))
		}
		if err := l.Compact(t.Context()); err != nil || packs() != 1 {
			t.Errorf("%d packs when nothing is new, %v", packs(), err)
		}
		appendAll(t, l, newEvent("p", "k", at(9), "x"))
		if err := l.Compact(t.Context()); err != nil || loose() != 1 || packs() != 2 {
			t.Errorf("%d loose objects, %d packs, %v", loose(), packs(), err)
		}
		kxmtest.Git(t, dir, "fsck", "--strict")
		// The note of what is packed is only a note.
		if err := os.WriteFile(l.path("compacted"), []byte("garbage"), 0o644); err != nil {
			t.Fatal(err)
		}
		appendAll(t, l, newEvent("p", "k", at(10), "x"))
		if err := l.Compact(t.Context()); err != nil || loose() != 1 {
			t.Errorf("%d loose objects, %v", loose(), err)
		}
	})
}

// TestTidy packs once our own objects have piled up, and not because of the user's.
func TestTidy(t *testing.T) {
	dir := newRepo(t)
	l := openLog(t, dir, "")
	folder := filepath.Join(dir, ".git", "objects", "17")
	crowd := func() {
		t.Helper()
		for i := 0; len(must(filepath.Glob(filepath.Join(folder, "*")))(t)) <= crowded; i++ {
			// Any files there look like objects.
			kxmtest.WriteFiles(t, folder, map[string]string{fmt.Sprintf("%038x", i): ""})
		}
	}
	packs := func() int {
		return len(must(filepath.Glob(filepath.Join(dir, ".git", "objects", "pack", "*.pack")))(t))
	}
	appendAll(t, l, newEvent("p", "k", at(0), "x"))
	if err := l.Tidy(t.Context()); err != nil || packs() != 0 {
		t.Errorf("%d packs in an empty repository, %v", packs(), err)
	}
	crowd()
	if err := l.Tidy(t.Context()); err != nil || packs() != 0 {
		t.Errorf("%d packs among the user's objects, %v", packs(), err)
	}
	var stream strings.Builder
	fmt.Fprintf(&stream, "feature done\n")
	for i := range fewCommits {
		fmt.Fprintf(&stream, "commit %s\ncommitter kxm <kxm@localhost> %d +0000\ndata 0\n", Ref, i)
		if i == 0 {
			fmt.Fprintf(&stream, "from %s\n", snapshot(t, l).Tip())
		}
	}
	stream.WriteString("done\n")
	kxmtest.GitInput(t, dir, []byte(stream.String()), "-c", "fastimport.unpackLimit=100000", "fast-import", "--quiet")
	crowd()
	if err := l.Tidy(t.Context()); err != nil || packs() != 1 {
		t.Errorf("%d packs after %d commits, %v", packs(), fewCommits, err)
	}
	crowd()
	if err := l.Tidy(t.Context()); err != nil || packs() != 1 {
		t.Errorf("%d packs when nothing is new, %v", packs(), err)
	}
}
