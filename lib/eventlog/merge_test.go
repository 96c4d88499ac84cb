package eventlog

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"kxm/lib/fault"
	"kxm/lib/kxmtest"
	"kxm/lib/repo"
)

// raw is a tree that is built entry by entry, also of what no honest writer makes.
type raw struct {
	t       testing.TB
	l       *Log
	objects []repo.NewObject
}

func (b *raw) object(typ string, data []byte) repo.OID {
	b.objects = append(b.objects, repo.NewObject{Type: typ, Data: data})
	return b.l.r.HashObject(typ, data)
}

func (b *raw) file(name, text string) repo.TreeEntry {
	return repo.TreeEntry{Name: name, Mode: repo.ModeFile, OID: b.object("blob", []byte(text))}
}

func (b *raw) folder(name string, entries ...repo.TreeEntry) repo.TreeEntry {
	return repo.TreeEntry{Name: name, Mode: repo.ModeFolder, OID: b.object("tree", repo.EncodeTree(entries))}
}

// tree writes the root.
func (b *raw) tree(entries ...repo.TreeEntry) repo.OID {
	b.t.Helper()
	id := b.folder("", entries...).OID
	if _, err := b.l.r.WriteObjects(b.t.Context(), b.objects); err != nil {
		b.t.Fatal(err)
	}
	b.objects = nil
	return id
}

// nested puts an entry into folders.
func (b *raw) nested(path string, e repo.TreeEntry) repo.TreeEntry {
	names := strings.Split(path, "/")
	slices.Reverse(names)
	for _, name := range names {
		e = b.folder(name, e)
	}
	return e
}

func mustUnion(t testing.TB, l *Log, a, b repo.OID) repo.OID {
	t.Helper()
	var objects []repo.NewObject
	id, err := l.union(t.Context(), a, b, &objects)
	if err == nil {
		_, err = l.r.WriteObjects(t.Context(), objects)
	}
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// permutations calls fn with every order of 0 to n-1.
func permutations(n int, fn func([]int)) {
	order := make([]int, 0, n)
	var extend func()
	extend = func() {
		if len(order) == n {
			fn(order)
			return
		}
		for i := range n {
			if !slices.Contains(order, i) {
				order = append(order, i)
				extend()
				order = order[:len(order)-1]
			}
		}
	}
	extend()
}

// randomTree is a tree of honest and hostile entries under few names, so that trees
// differ in the same places.
func randomTree(b *raw, rng *rand.Rand) repo.OID {
	honest := func(n int) Write { return newEvent("p", "key", at(n), "x", "signature\n") }
	entry := func(n int) Write { return newEntry("p", at(n), "x") }
	folder := func(w Write) (string, string) { top, rest, _ := strings.Cut(w.Folder, "/"); return top, rest }
	pick := func(p float64) bool { return rng.Float64() < p }
	// leaf is a file, a link, a submodule or a folder of that name; good is the content
	// that fits.
	leaf := func(name string, good []byte) repo.TreeEntry {
		switch rng.IntN(9) {
		case 0:
			return b.file(name, fmt.Sprint(rng.IntN(2)))
		case 1:
			e := b.file(name, string(good))
			e.Mode = []repo.Mode{repo.ModeExecutable, repo.ModeSymlink, repo.ModeSubmodule, 0o100664}[rng.IntN(4)]
			return e
		case 2:
			return b.folder(name, b.file("x", fmt.Sprint(rng.IntN(2))))
		}
		return b.file(name, string(good))
	}
	var keyFiles, dayFiles []repo.TreeEntry
	for n := range 4 {
		if w := honest(n); pick(0.6) {
			keyFiles = append(keyFiles, leaf(w.ID+".json", w.Event))
			if pick(0.5) {
				keyFiles = append(keyFiles, leaf(SignatureName(w.ID, w.Signatures[0]), w.Signatures[0]))
			}
		}
		if w := entry(n); pick(0.6) {
			dayFiles = append(dayFiles, leaf(w.ID+".json", w.Event))
		}
	}
	if pick(0.3) {
		keyFiles = append(keyFiles, leaf("notes", []byte("n")))
	}
	shardName, keyName := folder(honest(0))
	_, day := folder(entry(0))
	yearName, dayName, _ := strings.Cut(day, "/")
	var top []repo.TreeEntry
	if pick(0.9) {
		top = append(top, leaf(formatName, []byte(formatText)))
	}
	if pick(0.8) {
		inner := b.folder(keyName, keyFiles...)
		if pick(0.1) {
			inner = leaf(keyName, []byte("a file where a folder belongs"))
		}
		top = append(top, b.folder(shardName, inner))
	} else if pick(0.5) {
		top = append(top, leaf(shardName, []byte("x")))
	}
	if pick(0.8) {
		top = append(top, b.folder("j", b.folder(yearName, b.folder(dayName, dayFiles...))))
	}
	if pick(0.5) {
		top = append(top, b.nested(strings.Repeat("d/", rng.IntN(10))+"e", leaf("f", []byte("f"))))
	}
	if pick(0.3) {
		top = append(top, leaf(".git", []byte("x")), leaf("a/b", []byte("y")), leaf("format-9", nil))
	}
	if pick(0.2) {
		top = append(top, leaf(formatName, []byte("twice"))) // one name, twice
	}
	return b.tree(top...)
}

// TestUnionInAnyOrder: whatever is merged in whatever order, the result is one tree,
// and it does not change when a part of it is merged in once more.
func TestUnionInAnyOrder(t *testing.T) {
	l := openLog(t, newRepo(t), "")
	b := &raw{t: t, l: l}
	rng := rand.New(rand.NewPCG(1, 2))
	for range count(3, 200) {
		trees := make([]repo.OID, 4)
		for i := range trees {
			trees[i] = randomTree(b, rng)
		}
		var want repo.OID
		permutations(len(trees), func(order []int) {
			if t.Failed() {
				return
			}
			got := trees[order[0]]
			for _, i := range order[1:] {
				got = mustUnion(t, l, got, trees[i])
			}
			// Also in pairs.
			pairs := mustUnion(t, l, mustUnion(t, l, trees[order[0]], trees[order[1]]), mustUnion(t, l, trees[order[2]], trees[order[3]]))
			if want == "" {
				want = got
			}
			if got != want || pairs != want {
				t.Errorf("order %v gives %s, in pairs %s, want %s", order, got, pairs, want)
			}
		})
		for _, tree := range trees {
			if got := mustUnion(t, l, want, tree); got != want {
				t.Errorf("merging a part again gives %s, want %s", got, want)
			}
			// What fits is never lost.
			d, err := l.count(t.Context(), tree, want)
			if err != nil {
				t.Fatal(err)
			}
			lost := 0
			err = l.missing(t.Context(), tree, want, func(p place, e repo.TreeEntry) {
				if ok, err := l.fits(t.Context(), p, e); ok || err != nil {
					t.Errorf("%s/%s is lost, %v", p.path, e.Name, err)
				}
				lost++
			})
			if err != nil || lost != d.events+d.signatures+d.others {
				t.Errorf("%d lost, counted %+v, %v", lost, d, err)
			}
		}
	}
}

// TestHonestLogsNeverConflict: the union of logs is their union as sets.
func TestHonestLogsNeverConflict(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	dir := newRepo(t)
	all3 := map[string]bool{}
	var trees []repo.OID
	for range 3 {
		l := openLog(t, newRepo(t), "")
		var writes []Write
		for range 40 {
			n := rng.IntN(60)
			w := newEvent("p", fmt.Sprint("key ", n%7), at(n), "x", "signature\n")
			if n%3 == 0 {
				w = newEntry("p", at(n), "x")
			}
			writes = append(writes, w)
			all3[w.ID] = true
		}
		appendAll(t, l, writes...)
		s := snapshot(t, l)
		fetched := openLog(t, dir, "")
		if _, err := fetched.r.Git(t.Context(), nil, "fetch", "-q", l.r.WorkTree(), Ref); err != nil {
			t.Fatal(err)
		}
		trees = append(trees, s.Tree())
	}
	l := openLog(t, dir, "")
	tree := trees[0]
	for _, other := range trees[1:] {
		tree = mustUnion(t, l, tree, other)
	}
	commit := encodeCommit(tree, nil, kxmtest.Now(), "x")
	ids, err := l.r.WriteObjects(t.Context(), []repo.NewObject{{Type: "commit", Data: commit}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := l.Snapshot(t.Context(), string(ids[0]))
	if err != nil {
		t.Fatal(err)
	}
	got := all(t, s)
	for id := range all3 {
		if _, ok := got[id]; !ok {
			t.Errorf("event %s is missing", id)
		}
	}
	if len(got) != len(all3) {
		t.Errorf("%d events, want %d", len(got), len(all3))
	}
	if foreign, err := s.Foreign(t.Context()); err != nil || len(foreign) != 0 {
		t.Errorf("foreign: %v, %v", foreign, err)
	}
}

func TestWhichEntryStays(t *testing.T) {
	l := openLog(t, newRepo(t), "")
	b := &raw{t: t, l: l}
	w := newEvent("p", "key", at(1), "x", "signature\n")
	name, sig := w.ID+".json", SignatureName(w.ID, w.Signatures[0])
	good, bad := b.file(name, string(w.Event)), b.file(name, "bad")
	folder := b.folder(name, bad)
	with := func(e repo.TreeEntry, mode repo.Mode) repo.TreeEntry { e.Mode = mode; return e }
	huge := b.file(name, strings.Repeat(" ", MaxEvent+1))
	x, y := b.file("x", "1"), b.file("x", "2")
	if x.OID > y.OID {
		x, y = y, x
	}
	elsewhere := newEvent("p", "other", at(1), "x")
	b.tree()
	events := placeOf(w.Folder)
	for _, c := range []struct {
		why         string
		p           place
		stays, goes repo.TreeEntry
	}{
		{"what fits", events, good, bad},
		{"what fits before a folder", events, good, folder},
		{"what fits before a link", events, good, with(good, repo.ModeSymlink)},
		{"what fits before an executable", events, good, with(good, repo.ModeExecutable)},
		{"what fits before a submodule", events, good, with(good, repo.ModeSubmodule)},
		{"what fits before what is too large", events, good, huge},
		{"what fits before a tree under a file's mode", events, good, with(folder, repo.ModeFile)},
		{"a signature that fits", events, b.file(sig, "signature\n"), b.file(sig, "worthless\n")},
		{"the format", place{kind: top}, b.file(formatName, formatText), b.file(formatName, "kxm-state 9\n")},
		{"a folder before a file that does not fit", events, folder, bad},
		{"a folder where one belongs", place{kind: top}, b.folder("aa"), b.file("aa", "x")},
		{"a folder where neither belongs", place{kind: top}, b.folder("zz"), b.file("zz", "x")},
		{"the smaller id where neither fits", place{kind: top}, x, y},
		{"the smaller mode of one content", place{kind: top}, x, with(x, repo.ModeExecutable)},
		{"no event fits in another folder", placeOf(elsewhere.Folder), min2(good, bad), max2(good, bad)},
	} {
		b.tree()
		for _, pair := range [][2]repo.TreeEntry{{c.stays, c.goes}, {c.goes, c.stays}} {
			if got, err := l.better(t.Context(), c.p, pair[0], pair[1]); err != nil || got != c.stays {
				t.Errorf("%s: %+v stays, %v", c.why, got, err)
			}
		}
	}
	// Content that is not there could be either.
	gone := repo.TreeEntry{Name: name, Mode: repo.ModeFile, OID: repo.OID(strings.Repeat("1", 40))}
	if _, err := l.better(t.Context(), events, good, gone); !fault.Is(err, fault.StateRefBroken) {
		t.Errorf("a missing object: %v", err)
	}
}

func min2(a, b repo.TreeEntry) repo.TreeEntry {
	if a.OID < b.OID {
		return a
	}
	return b
}

func max2(a, b repo.TreeEntry) repo.TreeEntry {
	if a.OID < b.OID {
		return b
	}
	return a
}

// TestHostileEntriesAreReportedNotRead: a tip that a stranger made changes nothing
// about what fits, and each strange thing is named.
func TestHostileEntriesAreReportedNotRead(t *testing.T) {
	onBackends(t, func(t *testing.T, dir string, l *Log) {
		b := &raw{t: t, l: l}
		good := newEvent("p", "key", at(1), "good", "signature\n")
		shardName, keyName, _ := strings.Cut(good.Folder, "/")
		file := func(w Write) repo.TreeEntry { return b.file(w.ID+".json", string(w.Event)) }
		under := func(e repo.TreeEntry, mode repo.Mode) repo.TreeEntry { e.Mode = mode; return e }
		edited := file(newEvent("p", "key", at(2), "before"))
		edited.OID = b.object("blob", bytes.Replace(newEvent("p", "key", at(2), "before").Event, []byte("before"), []byte("after!"), 1))
		huge := newEvent("p", "key", at(3), "x")
		linked, executable, module, folder := newEvent("p", "key", at(4), "x"), newEvent("p", "key", at(5), "x"), newEvent("p", "key", at(6), "x"), newEvent("p", "key", at(7), "x")
		misplaced, orphan := newEvent("p", "other", at(8), "x"), newEvent("p", "key", at(9), "x")
		noJSON := Write{ID: EventID([]byte("{"), at(10)), Event: []byte("{")}
		badSignature := b.file(SignatureName(good.ID, []byte("one")), "another")
		largeSignature := b.file(SignatureName(good.ID, make([]byte, MaxSignature+1)), string(make([]byte, MaxSignature+1)))
		keyFolder := b.folder(keyName,
			file(good), b.file(SignatureName(good.ID, good.Signatures[0]), "signature\n"), badSignature, largeSignature,
			edited, b.file(huge.ID+".json", strings.Repeat(" ", MaxEvent+1)), under(file(linked), repo.ModeSymlink), under(file(executable), repo.ModeExecutable),
			repo.TreeEntry{Name: module.ID + ".json", Mode: repo.ModeSubmodule, OID: repo.OID(strings.Repeat("1", len(edited.OID)))},
			b.folder(folder.ID+".json", b.file("x", "x")), file(misplaced), b.file(SignatureName(orphan.ID, []byte("s")), "s"), file(noJSON), b.file("notes", "x"))
		tree := b.tree(b.file(formatName, formatText), b.file("format-9", ""), b.file(".git", "x"), b.file("j", "x"), b.folder("zz"), b.folder(shardName, keyFolder, b.file("x", "")), b.folder("aa/bb", b.file("x", "")))
		commit := encodeCommit(tree, nil, kxmtest.Now(), "hostile")
		ids, err := l.r.WriteObjects(t.Context(), []repo.NewObject{{Type: "commit", Data: commit}})
		if err == nil {
			err = l.r.UpdateRef(t.Context(), Ref, "", ids[0], repo.UpdateOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
		check := func(events int) {
			t.Helper()
			records, err := snapshot(t, l).Key(t.Context(), "p", "key")
			if err != nil {
				t.Fatal(err)
			}
			usable := 0
			problems := map[string]bool{}
			for _, r := range records {
				if r.Err == nil {
					usable++
					continue
				}
				problems[r.ID] = true
				if r.Event != nil || !fault.Is(r.Err, fault.InvalidStateEvent) {
					t.Errorf("%s: %v with %d bytes", r.ID, r.Err, len(r.Event))
				}
			}
			for _, w := range []string{strings.TrimSuffix(edited.Name, ".json"), huge.ID, linked.ID, executable.ID, module.ID, misplaced.ID, noJSON.ID} {
				if !problems[w] {
					t.Errorf("%s is not reported", w)
				}
			}
			if usable != events || len(problems) != 7 {
				t.Errorf("%d usable and %d reported", usable, len(problems))
			}
			rec, ok, err := snapshot(t, l).Find(t.Context(), good.ID)
			if err != nil || !ok || len(rec.Signatures) != 3 {
				t.Fatalf("%+v, %v, %v", rec, ok, err)
			}
			for _, sig := range rec.Signatures {
				if fits := string(sig.Data) == "signature\n"; fits != (sig.Err == nil) || !fits && sig.Data != nil {
					t.Errorf("signature %+v", sig)
				}
			}
			if rec, ok, err := snapshot(t, l).Find(t.Context(), misplaced.ID); err != nil || !ok || rec.Err == nil {
				t.Errorf("an event in another folder is found as %+v, %v, %v", rec, ok, err)
			}
			foreign, err := snapshot(t, l).Foreign(t.Context())
			want := []string{".git", "aa/bb", "format-9", "j", "zz", shardName + "/x"}
			for _, name := range []string{linked.ID + ".json", executable.ID + ".json", module.ID + ".json", folder.ID + ".json", SignatureName(orphan.ID, []byte("s")), "notes"} {
				want = append(want, good.Folder+"/"+name)
			}
			if events > 1 {
				want = slices.DeleteFunc(want, func(s string) bool { return s == "j" }) // an entry of the journal needed the folder
			}
			slices.Sort(want)
			if err != nil || !slices.Equal(foreign, want) {
				t.Errorf("foreign are\n%s\nwant\n%s\n%v", strings.Join(foreign, "\n"), strings.Join(want, "\n"), err)
			}
		}
		check(1)
		// Writers go on, and carry all of it along.
		appendAll(t, l, newEvent("p", "key", at(20), "next"), newEntry("p", at(20), "entry"))
		check(2)
		// An event takes its place back from what was put there.
		appendAll(t, l, newEvent("p", "key", at(2), "before"), folder)
		if records := all2(t, snapshot(t, l)); records[newEvent("p", "key", at(2), "before").ID] != nil || records[folder.ID] != nil {
			t.Errorf("%v", records)
		}
	})
}

// all2 returns why each record of the key cannot be used, by id.
func all2(t testing.TB, s *Snapshot) map[string]error {
	t.Helper()
	records, err := s.Key(t.Context(), "p", "key")
	if err != nil {
		t.Fatal(err)
	}
	problems := map[string]error{}
	for _, r := range records {
		problems[r.ID] = r.Err
	}
	return problems
}

func TestASnapshotIsOfALog(t *testing.T) {
	dir := newRepo(t)
	l := openLog(t, dir, "")
	appendAll(t, l, newEvent("p", "a", at(1), "x"))
	if _, err := l.r.Git(t.Context(), nil, "commit", "-q", "--allow-empty", "-m", "x"); err != nil {
		t.Fatal(err)
	}
	for rev, want := range map[string]fault.Code{Ref: "", "HEAD": fault.RevisionNotFound, "none": fault.RevisionNotFound, "-x": fault.RevisionNotFound} {
		if _, err := l.Snapshot(t.Context(), rev); fault.CodeOf(err) != want {
			t.Errorf("%s: %v", rev, err)
		}
	}
	if _, err := snapshot(t, l).Records(t.Context(), FolderRef{Path: "aa"}); !fault.Is(err, fault.Usage) {
		t.Errorf("a folder of folders: %v", err)
	}
}
