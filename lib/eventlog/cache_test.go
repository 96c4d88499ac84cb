package eventlog

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"kxm/lib/kxmtest"
	"kxm/lib/repo"
)

// fold is what a reader of the log might compute: the ids in each folder. calls
// counts how often it had to.
func fold(t testing.TB, l *Log, c *Cache, rev string) (lines []string, calls int) {
	t.Helper()
	s, err := l.Snapshot(t.Context(), rev)
	if err != nil {
		t.Fatal(err)
	}
	folders, err := c.Folders(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if want := must(s.Folders(t.Context(), c.ofJournal))(t); !slices.Equal(folders, want) {
		t.Errorf("the cache lists %v, want %v", folders, want)
	}
	for _, f := range folders {
		value, ok := c.Get(f)
		if !ok {
			calls++
			records, err := s.Records(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range records {
				value += r.Path + " "
			}
			c.Put(f, value)
		}
		lines = append(lines, value)
	}
	return lines, calls
}

// fill appends events about keys and entries of days.
func fill(t testing.TB, l *Log, from, to int) {
	t.Helper()
	var writes []Write
	for i := from; i < to; i++ {
		writes = append(writes, newEvent("p", fmt.Sprint("key ", i), at(i), "x"), newEntry("p", at(i*86400), "x"))
	}
	appendAll(t, l, writes...)
}

func TestCache(t *testing.T) {
	for _, ofJournal := range []bool{false, true} {
		onBackends(t, func(t *testing.T, dir string, l *Log) { testCache(t, l, ofJournal) })
	}
}

func testCache(t *testing.T, l *Log, ofJournal bool) {
	const keys = 40
	fill(t, l, 0, keys)
	file := l.path((&Cache{ofJournal: ofJournal}).name())
	first := snapshot(t, l).Tip()
	check := func(digest, rev string, want int) *Cache {
		t.Helper()
		c := l.OpenCache(digest, ofJournal)
		lines, calls := fold(t, l, c, rev)
		none := &Cache{l: l, ofJournal: ofJournal, listings: map[listingKey]string{}, values: map[FolderRef]string{}}
		none.file.idLen = c.file.idLen
		fresh, _ := fold(t, l, none, rev)
		if !slices.Equal(lines, fresh) || calls != want {
			t.Errorf("%d folders computed, want %d; the same as without cache: %v", calls, want, slices.Equal(lines, fresh))
		}
		return c
	}
	save := func(c *Cache) {
		t.Helper()
		if err := c.Save(); err != nil {
			t.Fatal(err)
		}
	}
	save(check("trust", "", keys))
	save(check("trust", "", 0))
	check("other trust", "", keys)
	appendAll(t, l, newEvent("p", "key 0", at(1000), "x"), newEntry("p", at(1000), "x"))
	c := check("trust", "", 1)
	save(c) // not worth it
	c = check("trust", "", 1)
	l.now = func() time.Time { return kxmtest.Now().Add(time.Minute) }
	save(c) // it took long
	l.now = kxmtest.Now
	check("trust", "", 0)
	check("trust", string(first), 1)
	fill(t, l, keys, 2*keys)
	save(check("trust", "", keys))
	size := must(os.Stat(file))(t).Size()
	check("trust", "", 0)

	// Damage of any kind costs time only.
	good := must(os.ReadFile(file))(t)
	for i := 0; i < len(good); i += 1 + len(good)/97 {
		flipped := slices.Clone(good)
		flipped[i] ^= 0x10
		for name, data := range map[string][]byte{"flipped": flipped, "cut": good[:i]} {
			if err := os.WriteFile(file, data, 0o644); err != nil {
				t.Fatal(err)
			}
			if c := l.OpenCache("trust", ofJournal); c.file.values.count != 0 {
				t.Errorf("%s at %d of %d, and it counts", name, i, len(good))
			}
		}
	}
	check("trust", "", 2*keys)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	check("trust", "", 2*keys)

	// Two programs save at once: one of them wins.
	var group sync.WaitGroup
	caches := []*Cache{check("trust", "", 2*keys), check("trust", "", 2*keys), check("trust", "", 2*keys)}
	for _, c := range caches {
		group.Go(func() {
			if err := c.Save(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	check("trust", "", 0)
	if again := must(os.Stat(file))(t).Size(); again != size {
		t.Errorf("the file has %d bytes, then %d", size, again)
	}
	if rest, _ := os.ReadDir(l.path("cache")); len(rest) != 1 {
		t.Errorf("left over: %v", rest)
	}
}

// TestCacheForgetsWhatIsGone: values of folders that changed do not pile up.
func TestCacheForgetsWhatIsGone(t *testing.T) {
	l := openLog(t, newRepo(t), "")
	const keys = 40
	fill(t, l, 0, keys)
	save := func(c *Cache) int {
		t.Helper()
		if err := c.Save(); err != nil {
			t.Fatal(err)
		}
		return l.OpenCache("", c.ofJournal).file.values.count
	}
	for _, ofJournal := range []bool{false, true} {
		c := l.OpenCache("", ofJournal)
		fold(t, l, c, "")
		if n := save(c); n != keys {
			t.Fatalf("%d values", n)
		}
	}
	old := string(snapshot(t, l).Tip())
	// All keys change, and the journal grows.
	var writes []Write
	for i := range keys {
		writes = append(writes, newEvent("p", fmt.Sprint("key ", i), at(1000+i), "x"), newEntry("p", at((i+keys)*86400), "x"))
	}
	appendAll(t, l, writes...)
	// Values that nobody asked for are kept until all folders were asked for.
	c := l.OpenCache("", false)
	s := snapshot(t, l)
	for _, f := range must(s.Folders(t.Context(), false))(t) {
		c.Put(f, "x")
	}
	if n := save(c); n != 2*keys {
		t.Errorf("%d values of keys without a look at all of them, want %d", n, 2*keys)
	}
	for ofJournal, want := range map[bool]int{false: keys, true: 2 * keys} {
		c := l.OpenCache("", ofJournal)
		lines, calls := fold(t, l, c, "")
		if calls == 0 { // then there is nothing to write, so nothing is dropped either
			c.Put(FolderRef{"aa/00000000000000", s.root}, lines[0])
			want++
		}
		l.now = func() time.Time { return kxmtest.Now().Add(time.Minute) }
		if n := save(c); n != want {
			t.Errorf("of the journal: %v: %d values after all of it, want %d", ofJournal, n, want)
		}
		l.now = kxmtest.Now
	}
	// A look at an old state drops nothing of the new one.
	c = l.OpenCache("", false)
	before := c.file.values.count
	fold(t, l, c, old)
	if n := save(c); n != before+keys {
		t.Errorf("%d values after a look back, want %d", n, before+keys)
	}
}

// TestACopiedFolderIsAnotherOne: one tree at two paths has two values, since its
// events fit one of them only.
func TestACopiedFolderIsAnotherOne(t *testing.T) {
	l := openLog(t, newRepo(t), "")
	w, other := newEvent("p", "key", at(1), "x"), newEvent("p", "other", at(1), "x")
	b := &raw{t: t, l: l}
	tree := b.folder("", b.file(w.ID+".json", string(w.Event))).OID
	var top []repo.TreeEntry
	for _, folder := range []string{w.Folder, other.Folder} {
		name, key, _ := strings.Cut(folder, "/")
		top = append(top, b.folder(name, repo.TreeEntry{Name: key, Mode: repo.ModeFolder, OID: tree}))
	}
	commit := encodeCommit(b.tree(append(top, b.file(formatName, formatText))...), nil, kxmtest.Now(), "x")
	ids, err := l.r.WriteObjects(t.Context(), []repo.NewObject{{Type: "commit", Data: commit}})
	if err == nil {
		err = l.r.UpdateRef(t.Context(), Ref, "", ids[0], repo.UpdateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	l.now = func() time.Time { return kxmtest.Now().Add(time.Minute) }
	c := l.OpenCache("", false)
	c.opened = kxmtest.Now()
	c.Put(FolderRef{w.Folder, tree}, "fits")
	c.Put(FolderRef{other.Folder, tree}, "does not")
	if err := c.Save(); err != nil {
		t.Fatal(err)
	}
	c = l.OpenCache("", false)
	for path, want := range map[string]string{w.Folder: "fits", other.Folder: "does not", "aa/00000000000000": ""} {
		if got, ok := c.Get(FolderRef{path, tree}); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v", path, got, ok)
		}
	}
	if n := len(must(snapshot(t, l).Key(t.Context(), "p", "other"))(t)); n != 1 {
		t.Errorf("%d records", n)
	}
}

// Large files are mapped and small ones read; either is found sound, or is no cache.
func TestLargeCacheFilesAreMapped(t *testing.T) {
	t.Parallel()
	id := strings.Repeat("ab", 20)
	for _, size := range []int{1, leastMapped} {
		want := strings.Repeat("v", size)
		b := cacheBuilder{idLen: 20, values: []cacheRow{{tree: repo.OID(id), path: "aa/00000000000000", value: want}}}
		var text bytes.Buffer
		w := bufio.NewWriter(&text)
		b.write(w, [32]byte{})
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			name  string
			text  []byte
			sound bool
		}{
			{"whole", text.Bytes(), true},
			{"cut", text.Bytes()[:text.Len()-1], false},
			{"damaged", append(bytes.Repeat([]byte{0}, size), text.Bytes()[size:]...), false},
		} {
			name := filepath.Join(t.TempDir(), "cache")
			if err := os.WriteFile(name, c.text, 0o600); err != nil {
				t.Fatal(err)
			}
			file := cacheFile{idLen: 20}
			file.read(name, [32]byte{})
			_, got, ok := file.values.find(file.data, repo.OID(id), "aa/00000000000000")
			if ok != c.sound || ok && got != want {
				t.Errorf("%d bytes, %s: %v, %d bytes", size, c.name, ok, len(got))
			}
		}
	}
}

// FuzzCacheFile: whatever the file holds, reading it ends, and what it gives lies in
// it.
func FuzzCacheFile(f *testing.F) {
	id := strings.Repeat("ab", 20)
	b := cacheBuilder{idLen: 20, listings: []cacheRow{{tree: repo.OID(id), path: "\x02", value: encodeListing("aa", []FolderRef{{"aa/00000000000000", repo.OID(id)}})}}, values: []cacheRow{{tree: repo.OID(id), path: "aa/00000000000000", value: "value"}}}
	var file bytes.Buffer
	w := bufio.NewWriter(&file)
	b.write(w, [32]byte{})
	if err := w.Flush(); err != nil || file.Len() != b.size() {
		f.Fatalf("%d bytes, want %d, %v", file.Len(), b.size(), err)
	}
	f.Add(file.Bytes())
	f.Add([]byte(cacheMagic))
	f.Fuzz(func(t *testing.T, data []byte) {
		// With a right checksum, or nothing behind it would ever be reached.
		if len(data) > 4 {
			body := data[: len(data)-4 : len(data)-4]
			data = binary.BigEndian.AppendUint32(body, crc32.Checksum(body, castagnoli()))
		}
		file := cacheFile{idLen: 20}
		file.parse(data, [32]byte{})
		for i := range file.values.count {
			row, ok := file.values.row(file.data, i)
			if !ok {
				continue
			}
			if j, value, ok := file.values.find(file.data, row.tree, row.path); ok && j == i && value != row.value {
				t.Errorf("row %d is %q, and found as %q", i, row.value, value)
			}
		}
		for i := range file.listings.count {
			if row, ok := file.listings.row(file.data, i); ok {
				if refs, ok := file.decodeListing("aa", row.value); ok && encodeListing("aa", refs) != row.value {
					t.Errorf("a listing changes from %q", row.value)
				}
			}
		}
	})
}
