package eventlog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"kxm/lib/fault"
	"kxm/lib/kxmtest"
	"kxm/lib/lock"
	"kxm/lib/repo"
)

// onBackends runs a test with a repository of each backend, and in SHA-256.
func onBackends(t *testing.T, test func(t *testing.T, dir string, l *Log)) {
	for _, c := range []struct{ format, backend string }{{"sha1", ""}, {"sha1", "native"}, {"sha256", ""}} {
		t.Run(strings.TrimSpace(c.format+" "+c.backend), func(t *testing.T) {
			t.Parallel()
			dir := newRepo(t, "--object-format="+c.format)
			test(t, dir, openLog(t, dir, c.backend))
		})
	}
}

func TestAppendAndRead(t *testing.T) {
	onBackends(t, func(t *testing.T, dir string, l *Log) {
		s := snapshot(t, l)
		if s.Tip() != "" || len(all(t, s)) != 0 {
			t.Errorf("a log before the first event: %s", s.Tip())
		}
		writes := []Write{
			newEvent("p", "a", at(2), "second", "signature one\n", "signature two\n"),
			newEvent("p", "a", at(1), "first"),
			newEvent("q", "a", at(1), "of another project"),
			newEntry("p", at(3), "entry"),
		}
		appendAll(t, l, writes...)
		first := snapshot(t, l)
		got := all(t, first)
		for _, w := range writes {
			r := got[w.ID]
			if string(r.Event) != string(w.Event) || r.Folder != w.Folder || r.Path != w.Folder+"/"+w.ID+".json" || len(r.Signatures) != len(w.Signatures) || r.HLC != w.ID[:hlcLen] {
				t.Errorf("%s reads as %+v", w.ID, r)
			}
			found, ok, err := first.Find(t.Context(), w.ID)
			if err != nil || !ok || string(found.Event) != string(w.Event) || len(found.Signatures) != len(w.Signatures) {
				t.Errorf("Find says %+v, %v, %v", found, ok, err)
			}
		}
		records, err := first.Key(t.Context(), "p", "a")
		if err != nil || len(records) != 2 || records[0].ID != writes[1].ID || records[1].ID != writes[0].ID || records[1].Project != "p" || records[1].Key != "a" {
			t.Errorf("the key reads as %v, %v", records, err)
		}
		ids, err := first.IDs(t.Context(), KeyFolder("p", "a"))
		if err != nil || !slices.Equal(ids, []string{writes[1].ID, writes[0].ID}) {
			t.Errorf("ids %v, %v", ids, err)
		}
		if records, err := first.Key(t.Context(), "p", "none"); err != nil || len(records) != 0 {
			t.Errorf("a key without events reads as %v, %v", records, err)
		}
		// Once more: nothing changes, also with another writer's signature.
		appendAll(t, l, writes...)
		if s := snapshot(t, l); s.Tip() != first.Tip() {
			t.Error("a repeated write made a commit")
		}
		appendAll(t, l, Write{Folder: writes[1].Folder, ID: writes[1].ID, Signatures: [][]byte{[]byte("later\n")}})
		second := snapshot(t, l)
		rec, ok, err := second.Record(t.Context(), writes[1].Folder, writes[1].ID)
		if err != nil || !ok || len(rec.Signatures) != 1 || string(rec.Signatures[0].Data) != "later\n" || rec.Signatures[0].Name != SignatureName(rec.ID, []byte("later\n")) {
			t.Errorf("countersigned: %+v, %v, %v", rec, ok, err)
		}
		// The older state is still what it was, also by its name.
		old, err := l.Snapshot(t.Context(), string(first.Tip()))
		if err != nil || old.Tree() != first.Tree() || len(all(t, old)) != len(writes) {
			t.Errorf("the first commit reads as %v", err)
		}
		if foreign, err := second.Foreign(t.Context()); err != nil || len(foreign) != 0 {
			t.Errorf("foreign: %v, %v", foreign, err)
		}
		if got := kxmtest.Git(t, dir, "log", "--format=%an <%ae> %ad|%s", "--date=iso", Ref); got != "kxm <kxm@localhost> 2026-09-01 12:00:00 +0000|kxm: 1 signatures\nkxm <kxm@localhost> 2026-09-01 12:00:00 +0000|kxm: 4 events" {
			t.Errorf("the history is\n%s", got)
		}
		if got := kxmtest.Git(t, dir, "show", Ref+":format-1"); got != "kxm-state 1" {
			t.Errorf("format-1 says %q", got)
		}
		kxmtest.Git(t, dir, "fsck", "--strict")
		if rest := leftovers(t, dir); len(rest) > 0 {
			t.Errorf("left over: %v", rest)
		}
	})
}

func TestWhatDoesNotFitIsNotWritten(t *testing.T) {
	dir := newRepo(t)
	l := openLog(t, dir, "")
	good := newEvent("p", "a", at(1), "x")
	with := func(change func(w *Write)) Write { w := good; change(&w); return w }
	data := func(hlc, text string) (w Write) {
		w = good
		w.Event, w.ID = []byte(text), EventID([]byte(text), hlc)
		return w
	}
	for name, w := range map[string]Write{
		"another id":            with(func(w *Write) { w.ID = newEvent("p", "a", at(1), "y").ID }),
		"no id":                 with(func(w *Write) { w.ID = "../x" }),
		"another key's folder":  with(func(w *Write) { w.Folder = KeyFolder("p", "b") }),
		"another day's folder":  with(func(w *Write) { w.Folder = DayFolder(at(100_000)) }),
		"no folder":             with(func(w *Write) { w.Folder = "" }),
		"a folder of git":       with(func(w *Write) { w.Folder = "../.git" }),
		"another stamp":         data(at(2), string(good.Event)),
		"no stamp":              data("0000", string(good.Event)),
		"the year 10000":        data(stamp(lastStamp+1, 0), strings.Replace(string(good.Event), at(1), stamp(lastStamp+1, 0), 1)),
		"no JSON":               data(at(1), "{"),
		"no object":             data(at(1), "[]\n"),
		"not UTF-8":             data(at(1), "\"\xff\"\n"),
		"too large":             newEvent("p", "a", at(1), strings.Repeat("x", MaxEvent)),
		"a large signature":     with(func(w *Write) { w.Signatures = [][]byte{make([]byte, MaxSignature+1)} }),
		"a signature of bytes":  with(func(w *Write) { w.Signatures = [][]byte{{0xff}} }),
		"of no event":           {Folder: good.Folder, ID: good.ID, Signatures: [][]byte{[]byte("s")}},
		"a project that is one": data(at(1), strings.Replace(string(good.Event), `"p"`, `1`, 1)),
	} {
		if err := l.Append(t.Context(), []Write{newEvent("p", "z", at(9), "good"), w}); !fault.Is(err, fault.InvalidStateEvent) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if s := snapshot(t, l); s.Tip() != "" {
		t.Errorf("something was written: %v", all(t, s))
	}
	appendAll(t, l, newEvent("p", "a", stamp(lastStamp, 0xffff), strings.Repeat("x", MaxEvent-200)))
}

func TestAppendIfLooksAtTheNewestState(t *testing.T) {
	onBackends(t, func(t *testing.T, dir string, l *Log) {
		ctx := t.Context()
		appendAll(t, l, newEvent("p", "a", at(1), "first"))
		// git moves the ref between the look and the write.
		other := openLog(t, dir, "")
		moved := kxmtest.Git(t, dir, "commit-tree", "-p", Ref, "-m", "by git", Ref+"^{tree}")
		calls := 0
		err := l.AppendIf(ctx, func(_ context.Context, s *Snapshot) ([]Write, error) {
			if calls++; calls == 1 {
				kxmtest.Git(t, dir, "update-ref", Ref, moved)
			} else if string(s.Tip()) != moved {
				t.Errorf("looked again at %s, want %s", s.Tip(), moved)
			}
			return []Write{newEvent("p", "a", at(2), fmt.Sprint(len(all(t, s))))}, nil
		})
		if err != nil || calls != 2 || len(all(t, snapshot(t, other))) != 2 {
			t.Errorf("%v after %d calls: %v", err, calls, all(t, snapshot(t, other)))
		}
		tip := snapshot(t, l).Tip()
		no := errors.New("no")
		if err := l.AppendIf(ctx, func(context.Context, *Snapshot) ([]Write, error) { return nil, no }); err != no {
			t.Errorf("decide refused: %v", err)
		}
		if err := l.AppendIf(ctx, func(context.Context, *Snapshot) ([]Write, error) { return nil, nil }); err != nil {
			t.Errorf("nothing to write: %v", err)
		}
		if snapshot(t, l).Tip() != tip {
			t.Error("the log moved")
		}
	})
}

// TestWritersCountTogether: conditional writers that each add one to what they see
// lose no step.
func TestWritersCountTogether(t *testing.T) {
	dir := newRepo(t)
	const writers, times = 4, 10
	var group sync.WaitGroup
	for n := range writers {
		l := openLog(t, dir, "")
		group.Go(func() {
			for i := range times {
				err := l.AppendIf(t.Context(), func(ctx context.Context, s *Snapshot) ([]Write, error) {
					records, err := s.Key(ctx, "p", "counter")
					return []Write{newEvent("p", "counter", at(len(records)), fmt.Sprintf("%d by %d", i, n))}, err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	records, err := snapshot(t, openLog(t, dir, "")).Key(t.Context(), "p", "counter")
	if err != nil || len(records) != writers*times {
		t.Fatalf("%d records, %v", len(records), err)
	}
	for i, r := range records {
		if r.HLC != at(i) {
			t.Errorf("record %d has the stamp %s, want %s", i, r.HLC, at(i))
		}
	}
}

// TestHandingOver: what is appended while the lock is held is committed by whoever
// holds it, as one commit, and withdrawn when nobody takes it in time.
func TestHandingOver(t *testing.T) {
	dir := newRepo(t)
	l := openLog(t, dir, "")
	appendAll(t, l, newEvent("p", "a", at(0), "start"))
	held, err := lock.Acquire(t.Context(), l.path(lockName), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	results := make(chan error)
	const waiting = 5
	for i := range waiting {
		go func() { results <- l.Append(context.Background(), []Write{newEvent("p", "a", at(1+i), "waiting")}) }()
	}
	spooled := func() int {
		names, err := batchNames(l.path(spoolDir))
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	spools := func(want int) {
		t.Helper()
		for range 5000 {
			if spooled() == want {
				return
			}
			select {
			case err := <-results:
				t.Fatalf("Append ended early: %v", err)
			case <-time.After(time.Millisecond):
			}
		}
		t.Fatalf("%d in the spool, want %d", spooled(), want)
	}
	spools(waiting)
	w, err := l.lead(t.Context(), held)
	if err == nil {
		err = w.commitSpool(t.Context(), []Write{newEvent("p", "a", at(9), "own")})
	}
	if err != nil {
		t.Fatal(err)
	}
	for range waiting {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	if got := kxmtest.Git(t, dir, "log", "-1", "--format=%s", Ref); got != "kxm: 6 events" {
		t.Errorf("the commit says %s", got)
	}

	// The context ends before anybody takes it.
	ctx, cancel := context.WithCancel(t.Context())
	go func() { results <- l.Append(ctx, []Write{newEvent("p", "a", at(20), "withdrawn")}) }()
	spools(1)
	cancel()
	if err := <-results; !errors.Is(err, context.Canceled) || spooled() != 0 {
		t.Errorf("%v, %d in the spool", err, spooled())
	}

	// A leader that dies after it took a batch: the next writer commits it.
	go func() { results <- l.Append(context.Background(), []Write{newEvent("p", "a", at(21), "taken")}) }()
	spools(1)
	if _, err := w.claim(); err != nil || spooled() != 0 {
		t.Fatal(err)
	}
	if err := held.Release(); err != nil {
		t.Fatal(err)
	}
	if err := <-results; err != nil {
		t.Error(err)
	}
	got := all(t, snapshot(t, l))
	if len(got) != 8 {
		t.Errorf("%d events", len(got))
	}
	if rest := leftovers(t, dir); len(rest) > 0 {
		t.Errorf("left over: %v", rest)
	}
}

func TestADamagedBatchStopsNobody(t *testing.T) {
	dir := newRepo(t)
	l := openLog(t, dir, "")
	appendAll(t, l, newEvent("p", "a", at(0), "start"))
	if _, err := l.r.Folder("kxm/spool/taken"); err != nil {
		t.Fatal(err)
	}
	forged := strings.Replace(string(newEvent("p", "a", at(1), "x").Event), "x", "y", 1)
	for name, text := range map[string]string{"empty.json": "", "cut.json": `[{"folder":"`, "forged.json": fmt.Sprintf(`[{"folder":%q,"id":%q,"event":%q}]`, KeyFolder("p", "a"), newEvent("p", "a", at(1), "x").ID, forged)} {
		if err := os.WriteFile(l.path(spoolDir+name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	appendAll(t, l, newEvent("p", "a", at(2), "next"))
	if got := all(t, snapshot(t, l)); len(got) != 2 {
		t.Errorf("%d events", len(got))
	}
	if names, err := batchNames(l.path(takenDir)); err != nil || len(names) != 3 {
		t.Errorf("damaged batches: %v, %v", names, err)
	}
}

func TestBusy(t *testing.T) {
	dir := newRepo(t)
	l := openLog(t, dir, "")
	appendAll(t, l, newEvent("p", "a", at(0), "start"))
	if l.wait != 10*time.Second {
		t.Errorf("others are waited for %v", l.wait)
	}
	l.wait = 50 * time.Millisecond
	held, err := lock.Acquire(t.Context(), l.path(lockName), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Release()
	if err := l.Append(t.Context(), []Write{newEvent("p", "a", at(1), "x")}); !fault.Is(err, fault.StateBusy) {
		t.Errorf("%v", err)
	}
	if err := l.AppendIf(t.Context(), func(context.Context, *Snapshot) ([]Write, error) { return nil, nil }); !fault.Is(err, fault.StateBusy) {
		t.Errorf("%v", err)
	}
	if rest := leftovers(t, dir); len(rest) > 0 {
		t.Errorf("left over: %v", rest)
	}
	// Once somebody has taken them they cannot be withdrawn any more.
	result := make(chan error)
	go func() { result <- l.Append(context.Background(), []Write{newEvent("p", "a", at(1), "x")}) }()
	w := &leader{l: l, lock: held}
	for len(must(w.claim())(t)) == 0 {
		time.Sleep(time.Millisecond)
	}
	select {
	case err := <-result:
		t.Errorf("not waited for whoever took them: %v", err)
	case <-time.After(4 * l.wait):
	}
	if err := w.commitSpool(t.Context(), nil); err != nil {
		t.Error(err)
	}
	if err := <-result; err != nil {
		t.Error(err)
	}
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// TestLocksOnTheRef: a lock that a writer of ours left when it died is taken over at
// once; one of git's is left alone, and named.
func TestLocksOnTheRef(t *testing.T) {
	dir := newRepo(t)
	l := openLog(t, dir, "")
	appendAll(t, l, newEvent("p", "a", at(0), "start"))
	tip := snapshot(t, l).Tip()
	refLock := filepath.Join(dir, ".git", filepath.FromSlash(Ref)+".lock")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(refLock, string(tip)+"\n")
	write(l.path(lockName), string(tip)+"\n")
	write(l.path("ref.abc"), string(tip)+"\n")
	start := time.Now()
	appendAll(t, l, newEvent("p", "a", at(1), "after a crash"))
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("taking over took %v", took)
	}
	if rest := leftovers(t, dir); len(rest) > 1 || len(rest) == 1 && filepath.Base(rest[0]) != lockName {
		t.Errorf("left over: %v", rest)
	}
	// Git's: the note is about another commit.
	write(refLock, strings.Repeat("1", 40)+"\n")
	write(l.path(lockName), string(tip)+"\n")
	l.refWait = 50 * time.Millisecond
	err := l.Append(t.Context(), []Write{newEvent("p", "a", at(2), "x")})
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != fault.RefLocked || !strings.Contains(f.Hint, "state.lock") {
		t.Errorf("%v", err)
	}
	if data, err := os.ReadFile(refLock); err != nil || string(data) != strings.Repeat("1", 40)+"\n" {
		t.Errorf("git's lock is %q, %v", data, err)
	}
	if err := os.Remove(refLock); err != nil {
		t.Fatal(err)
	}
	appendAll(t, l, newEvent("p", "a", at(2), "x"))
	if got := all(t, snapshot(t, l)); len(got) != 3 {
		t.Errorf("%d events", len(got))
	}
}

// TestStatesOfTheRef: what cannot be read is never taken for an empty log.
func TestStatesOfTheRef(t *testing.T) {
	ref := filepath.FromSlash(Ref)
	for name, c := range map[string]struct {
		make func(t *testing.T, dir string)
		want fault.Code
	}{
		"packed only": {func(t *testing.T, dir string) { kxmtest.Git(t, dir, "pack-refs", "--all", "--prune") }, ""},
		"packed, no folder": {func(t *testing.T, dir string) {
			kxmtest.Git(t, dir, "pack-refs", "--all")
			_ = os.Remove(filepath.Join(dir, ".git", "refs", "kxm"))
		}, ""},
		"empty": {func(t *testing.T, dir string) { overwrite(t, dir, ref, "") }, fault.StateRefBroken},
		"empty over a packed one": {func(t *testing.T, dir string) {
			kxmtest.Git(t, dir, "pack-refs", "--all", "--no-prune")
			overwrite(t, dir, ref, "")
		}, fault.StateRefBroken},
		"garbage":       {func(t *testing.T, dir string) { overwrite(t, dir, ref, "garbage\n") }, fault.StateRefBroken},
		"symbolic":      {func(t *testing.T, dir string) { kxmtest.Git(t, dir, "symbolic-ref", Ref, "refs/heads/main") }, fault.StateRefBroken},
		"a lost commit": {func(t *testing.T, dir string) { overwrite(t, dir, ref, strings.Repeat("1", 40)+"\n") }, fault.StateRefBroken},
		"a blob": {func(t *testing.T, dir string) {
			overwrite(t, dir, ref, kxmtest.GitInput(t, dir, []byte("x"), "hash-object", "-w", "--stdin")+"\n")
		}, fault.StateRefBroken},
		"a folder": {func(t *testing.T, dir string) {
			tip := kxmtest.Git(t, dir, "rev-parse", Ref)
			kxmtest.Git(t, dir, "update-ref", "-d", Ref)
			kxmtest.Git(t, dir, "update-ref", Ref+"/x", tip)
		}, fault.StateRefBroken},
		"a packed folder": {func(t *testing.T, dir string) {
			tip := kxmtest.Git(t, dir, "rev-parse", Ref)
			kxmtest.Git(t, dir, "update-ref", "-d", Ref)
			kxmtest.Git(t, dir, "update-ref", Ref+"/x", tip)
			kxmtest.Git(t, dir, "pack-refs", "--all", "--prune")
		}, fault.StateRefBroken},
	} {
		for _, backend := range []string{"", "native"} {
			t.Run(strings.TrimSpace(name+" "+backend), func(t *testing.T) {
				t.Parallel()
				dir := newRepo(t)
				appendAll(t, openLog(t, dir, ""), newEvent("p", "a", at(0), "start"))
				c.make(t, dir)
				l := openLog(t, dir, backend)
				s, err := l.Snapshot(t.Context(), "")
				if fault.CodeOf(err) != c.want || err != nil && fault.CodeOf(err) == "" {
					t.Fatalf("it reads as %v", err)
				}
				before := kxmtest.Git(t, dir, "for-each-ref", "--format=%(refname) %(objectname)")
				err = l.Append(t.Context(), []Write{newEvent("p", "a", at(1), "next")})
				if fault.CodeOf(err) != c.want {
					t.Errorf("Append says %v", err)
				}
				if err != nil {
					if after := kxmtest.Git(t, dir, "for-each-ref", "--format=%(refname) %(objectname)"); after != before {
						t.Errorf("refs changed from\n%s\nto\n%s", before, after)
					}
					return
				}
				if len(all(t, s)) != 1 || len(all(t, snapshot(t, l))) != 2 {
					t.Errorf("%d events, then %d", len(all(t, s)), len(all(t, snapshot(t, l))))
				}
			})
		}
	}
}

func overwrite(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, ".git", name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestOpenRefusesOptions(t *testing.T) {
	r, err := repo.Open(t.Context(), repo.Options{Dir: newRepo(t), Getenv: closedEnv(t)})
	if err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[string]fault.Code{
		"": "", "refs/kxm/state": "", "refs/kxm/other": "", "refs/heads/kxm-state": "", "refs/heads/kxm/state": "",
		"refs/heads/main": fault.ConfigInvalid, "refs/tags/kxm": fault.ConfigInvalid, "refs/kxm/": fault.ConfigInvalid,
		"refs/kxm/a b": fault.ConfigInvalid, "state": fault.ConfigInvalid, "refs/kxm/../heads/main": fault.ConfigInvalid,
	} {
		if _, err := Open(t.Context(), r, Options{RemoteRef: ref, Now: kxmtest.Now}); fault.CodeOf(err) != want {
			t.Errorf("%q: %v", ref, err)
		}
	}
	if _, err := Open(t.Context(), r, Options{}); !fault.Is(err, fault.Usage) {
		t.Errorf("without a clock: %v", err)
	}
}
