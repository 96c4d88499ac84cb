package eventlog

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"kxm/lib/fault"
	"kxm/lib/repo"
)

// Cache keeps what was computed from folders of events, each value valid for one
// path and tree, and the whole file for one digest of whatever else the values depend
// on. So it is right at any commit, after any merge, and needs no invalidation.
// Deleting or damaging its file changes no answer; whoever can write into the Git
// directory can forge it, and could change the programs as well. It is safe for
// concurrent use.
//
// Keys and the journal have a file each, so that who reads the one does not pay for
// the other.
type Cache struct {
	l         *Log
	ofJournal bool
	digest    [sha256.Size]byte
	opened    time.Time
	file      cacheFile

	mu       sync.Mutex
	listings map[listingKey]string
	values   map[FolderRef]string
	complete bool          // all folders were asked for at the newest commit
	used     []atomic.Bool // of the file's values
	usedList []atomic.Bool // of its listings
}

// listingKey names the list of folders in a folder: the kind decides which names
// count.
type listingKey struct {
	kind placeKind
	tree repo.OID
}

// The files, by the version of their form.
const (
	cacheOfKeys    = "cache/state-v1"
	cacheOfJournal = "cache/journal-v1"
)

func (c *Cache) name() string {
	if c.ofJournal {
		return cacheOfJournal
	}
	return cacheOfKeys
}

// OpenCache reads the cache of the folders of keys, or of the journal's, for a digest
// of everything that the values depend on beside the events. A file that is absent,
// damaged, or of another digest or version is an empty cache.
func (l *Log) OpenCache(digest string, ofJournal bool) *Cache {
	c := &Cache{
		l: l, ofJournal: ofJournal, digest: sha256.Sum256([]byte(digest)), opened: l.now(),
		listings: map[listingKey]string{}, values: map[FolderRef]string{}, file: l.cacheFile(),
	}
	c.file.read(l.path(c.name()), c.digest)
	c.used = make([]atomic.Bool, c.file.values.count)
	c.usedList = make([]atomic.Bool, c.file.listings.count)
	return c
}

// Get returns the value of a folder: a part of the file's text, so that reading all of
// them copies nothing.
func (c *Cache) Get(f FolderRef) (value string, ok bool) {
	c.mu.Lock()
	value, ok = c.values[f]
	c.mu.Unlock()
	if ok {
		return value, true
	}
	i, value, ok := c.file.values.find(c.file.data, f.Tree, f.Path)
	if ok {
		c.used[i].Store(true)
	}
	return value, ok
}

// Put sets the value of a folder.
func (c *Cache) Put(f FolderRef, value string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.values[f] = value
}

// Folders is [Snapshot.Folders] of the cache's kind, which reads only the folders that
// changed.
func (c *Cache) Folders(ctx context.Context, s *Snapshot) ([]FolderRef, error) {
	refs, err := s.eachTop(c.ofJournal, func(p place, tree repo.OID) ([]FolderRef, error) { return c.foldersOf(ctx, p, tree) })
	if err == nil && s.newest {
		c.mu.Lock()
		c.complete = true
		c.mu.Unlock()
	}
	return refs, err
}

func (c *Cache) foldersOf(ctx context.Context, p place, tree repo.OID) ([]FolderRef, error) {
	if p.kind == journal {
		// It changes with every entry; the years below it do not.
		entries, err := c.l.entries(ctx, p, tree)
		if err != nil {
			return nil, err
		}
		var refs []FolderRef
		for _, e := range entries {
			if y := p.child(e.Name); y.kind == year && e.Mode == repo.ModeFolder {
				below, err := c.foldersOf(ctx, y, e.OID)
				if err != nil {
					return nil, err
				}
				refs = append(refs, below...)
			}
		}
		return refs, nil
	}
	key := listingKey{p.kind, tree}
	c.mu.Lock()
	listing, ok := c.listings[key]
	c.mu.Unlock()
	if !ok {
		var i int
		if i, listing, ok = c.file.listings.find(c.file.data, tree, string(rune(p.kind))); ok {
			c.usedList[i].Store(true)
		}
	}
	if refs, valid := c.file.decodeListing(p.path, listing); ok && valid {
		return refs, nil
	}
	refs, err := c.l.foldersOf(ctx, p, tree)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listings[key] = encodeListing(p.path, refs)
	return refs, nil
}

// A changed cache is not written for few values that took no time: writing costs more
// than computing them again.
const (
	fewValues = 32
	longTime  = 50 * time.Millisecond
)

// Save writes the cache where that is worth it. Values of folders that are gone are
// dropped when all folders were asked for. Of two programs that save at
// once the last one wins.
func (c *Cache) Save() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	fresh := len(c.values) + len(c.listings)
	if fresh == 0 || fresh < fewValues && c.l.now().Sub(c.opened) < longTime {
		return nil
	}
	b := cacheBuilder{idLen: c.file.idLen}
	for f, value := range c.values {
		b.values = append(b.values, cacheRow{tree: f.Tree, path: f.Path, value: value})
	}
	for k, listing := range c.listings {
		b.listings = append(b.listings, cacheRow{tree: k.tree, path: string(rune(k.kind)), value: listing})
	}
	for i := range c.file.values.count {
		row, ok := c.file.values.row(c.file.data, i)
		_, again := c.values[FolderRef{row.path, row.tree}]
		if ok && !again && (c.used[i].Load() || !c.complete) {
			b.values = append(b.values, row)
		}
	}
	for i := range c.file.listings.count {
		row, ok := c.file.listings.row(c.file.data, i)
		if !ok || len(row.path) != 1 {
			continue
		}
		_, again := c.listings[listingKey{placeKind(row.path[0]), row.tree}]
		if !again && (c.usedList[i].Load() || !c.complete) {
			b.listings = append(b.listings, row)
		}
	}
	return c.l.writeCache(c.name(), c.digest, &b)
}

func (l *Log) writeCache(name string, digest [sha256.Size]byte, b *cacheBuilder) error {
	if b.size() > maxCache {
		return nil
	}
	if _, err := l.r.Folder("kxm/cache"); err != nil {
		return err
	}
	if err := l.replaceWith(name, func(w *bufio.Writer) { b.write(w, digest) }); err != nil {
		return fault.Wrap(err, fault.IOFailed, "cannot write the cache")
	}
	return nil
}

// The file: magic, digest, lengths of the two tables, the tables, the data that
// their rows point into, a checksum over all of it. Rows have one size and are sorted
// by id, so that one is found without reading the others.
const (
	cacheMagic = "kxmcache\x00\x00\x00\x01"
	cacheHead  = len(cacheMagic) + sha256.Size + 4 + 4 + 4
	maxCache   = 1 << 30
	rowTail    = 4 + 4 + 4 // offset of the path, its length, length of the value behind it
)

var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

// cacheFile is a file that was read and found sound; without one it is empty.
type cacheFile struct {
	idLen            int
	data             string
	listings, values cacheTable
}

func (l *Log) cacheFile() cacheFile {
	if l.r.ObjectFormat() == "sha256" {
		return cacheFile{idLen: 32}
	}
	return cacheFile{idLen: 20}
}

// read reads a file, if there is one that a cache can be.
func (f *cacheFile) read(name string, digest [sha256.Size]byte) {
	file, err := os.Open(name)
	if err != nil {
		return
	}
	defer file.Close()
	st, err := file.Stat()
	if err != nil || !st.Mode().IsRegular() || st.Size() > maxCache {
		return
	}
	if st.Size() >= leastMapped {
		if text, err := mapped(file, int(st.Size())); err == nil {
			f.parse(text, digest)
			return
		}
	}
	text := make([]byte, st.Size())
	if _, err := io.ReadFull(file, text); err == nil {
		f.parse(text, digest)
	}
}

// leastMapped is how large a file is that is mapped into memory and not read, which saves
// a quarter of the time of a list of 7 MB. Texts point into it, so that it stays mapped:
// small files, of which a program may open many, are read.
const leastMapped = 1 << 20

// number is the 32 bits at a place, in network order.
func number(text string, at int) uint32 {
	_ = text[at+3]
	return uint32(text[at])<<24 | uint32(text[at+1])<<16 | uint32(text[at+2])<<8 | uint32(text[at+3])
}

// parse takes the bytes of a file, which must not change any more.
func (f *cacheFile) parse(text []byte, digest [sha256.Size]byte) {
	data := unsafe.String(unsafe.SliceData(text), len(text)) // no copy: see leastMapped
	if len(data) < cacheHead+4 || !strings.HasPrefix(data, cacheMagic) || data[len(cacheMagic):][:sha256.Size] != string(digest[:]) {
		return
	}
	body := data[:len(data)-4]
	if number(data, len(body)) != crc32.Checksum(text[:len(body)], castagnoli()) {
		return
	}
	head := len(cacheMagic) + sha256.Size
	idLen, listings, values := number(data, head), number(data, head+4), number(data, head+8)
	row := f.idLen + rowTail
	if int(idLen) != f.idLen || (uint64(listings)+uint64(values))*uint64(row) > uint64(len(body)-cacheHead) {
		return
	}
	f.data = body
	f.listings = cacheTable{cacheHead, int(listings), f.idLen}
	f.values = cacheTable{cacheHead + int(listings)*row, int(values), f.idLen}
}

// cacheTable is a part of the file with rows of one size.
type cacheTable struct {
	start, count, idLen int
}

// cacheRow is a row with what it points at.
type cacheRow struct {
	tree        repo.OID
	path, value string

	made func(w *bufio.Writer) // if set, it writes the value, of so many bytes
	size int
}

func (r *cacheRow) length() int {
	if r.made != nil {
		return r.size
	}
	return len(r.value)
}

func (t cacheTable) id(data string, i int) string {
	return data[t.start+i*(t.idLen+rowTail):][:t.idLen]
}

// content returns path and value of a row; ok is false when it points nowhere.
func (t cacheTable) content(data string, i int) (path, value string, ok bool) {
	tail := t.start + i*(t.idLen+rowTail) + t.idLen
	at, pathLen, valueLen := uint64(number(data, tail)), uint64(number(data, tail+4)), uint64(number(data, tail+8))
	end := at + pathLen + valueLen
	if end > uint64(len(data)) {
		return "", "", false
	}
	return data[at : at+pathLen], data[at+pathLen : end], true
}

func (t cacheTable) row(data string, i int) (cacheRow, bool) {
	path, value, ok := t.content(data, i)
	return cacheRow{tree: repo.OID(hex.EncodeToString([]byte(t.id(data, i)))), path: path, value: value}, ok
}

func (t cacheTable) find(data string, tree repo.OID, path string) (i int, value string, ok bool) {
	var raw [sha256.Size]byte
	n, err := hex.Decode(raw[:], []byte(tree))
	if err != nil || n != t.idLen {
		return 0, "", false
	}
	id := string(raw[:n])
	lo := sort.Search(t.count, func(i int) bool { return t.id(data, i) >= id })
	// One tree may lie at several paths.
	for ; lo < t.count && t.id(data, lo) == id; lo++ {
		if p, value, ok := t.content(data, lo); ok && p == path {
			return lo, value, true
		}
	}
	return 0, "", false
}

// The files of what was made of all folders together.
const (
	wholeOfKeys    = "cache/state-all-v1"
	wholeOfJournal = "cache/journal-all-v1"
)

// whole names the file and, in place of a tree, what all folders of the kind are.
func (s *Snapshot) whole(ofJournal bool) (name string, id repo.OID) {
	name = wholeOfKeys
	if ofJournal {
		name = wholeOfJournal
	}
	h := sha256.New()
	_, _ = s.eachTop(ofJournal, func(p place, tree repo.OID) ([]FolderRef, error) {
		fmt.Fprintf(h, "%s %s\n", p.path, tree)
		return nil, nil
	})
	file := s.l.cacheFile()
	return name, repo.OID(hex.EncodeToString(h.Sum(nil)[:file.idLen]))
}

// Whole returns what [Snapshot.PutWhole] kept for the same folders and digest, whichever
// snapshot they were in: a reader for whom nothing has changed looks at nothing else.
func (s *Snapshot) Whole(digest string, ofJournal bool) (value string, ok bool) {
	name, id := s.whole(ofJournal)
	file := s.l.cacheFile()
	file.read(s.l.path(name), sha256.Sum256([]byte(digest)))
	_, value, ok = file.values.find(file.data, id, "")
	return value, ok
}

// PutWhole keeps what was made of all folders of keys, or of the journal, in place of
// what was kept before. write writes it, size bytes, so that it need not be in memory.
func (s *Snapshot) PutWhole(digest string, ofJournal bool, size int, write func(w *bufio.Writer)) error {
	name, id := s.whole(ofJournal)
	b := cacheBuilder{idLen: s.l.cacheFile().idLen, values: []cacheRow{{tree: id, made: write, size: size}}}
	return s.l.writeCache(name, sha256.Sum256([]byte(digest)), &b)
}

// encodeListing stores the folders in a folder: the length of a name, the name, its
// id.
func encodeListing(path string, refs []FolderRef) string {
	data := []byte{}
	for _, f := range refs {
		name := f.Path[len(path)+1:]
		data = append(append(data, byte(len(name))), name...)
		data, _ = hex.AppendDecode(data, []byte(f.Tree)) // ids are hexadecimal
	}
	return string(data)
}

func (f *cacheFile) decodeListing(path, data string) ([]FolderRef, bool) {
	var refs []FolderRef
	for len(data) > 0 {
		n := int(data[0])
		if len(data) < 1+n+f.idLen {
			return nil, false
		}
		refs = append(refs, FolderRef{path + "/" + data[1:1+n], repo.OID(hex.EncodeToString([]byte(data[1+n : 1+n+f.idLen])))})
		data = data[1+n+f.idLen:]
	}
	return refs, true
}

// cacheBuilder makes a file.
type cacheBuilder struct {
	idLen            int
	listings, values []cacheRow
}

func (b *cacheBuilder) size() int {
	size := cacheHead + 4
	for _, rows := range [][]cacheRow{b.listings, b.values} {
		for i := range rows {
			size += b.idLen + rowTail + len(rows[i].path) + rows[i].length()
		}
	}
	return size
}

// write writes the file. Errors are the writer's, which keeps them.
func (b *cacheBuilder) write(file *bufio.Writer, digest [sha256.Size]byte) {
	sum := crc32.New(castagnoli())
	w := bufio.NewWriterSize(io.MultiWriter(file, sum), 32<<10)
	number := func(n int) {
		var raw [4]byte
		binary.BigEndian.PutUint32(raw[:], uint32(n))
		w.Write(raw[:])
	}
	tables := [][]cacheRow{b.listings, b.values}
	w.WriteString(cacheMagic)
	w.Write(digest[:])
	number(b.idLen)
	number(len(b.listings))
	number(len(b.values))
	at := cacheHead + (len(b.listings)+len(b.values))*(b.idLen+rowTail)
	for _, rows := range tables {
		slices.SortFunc(rows, func(a, b cacheRow) int { return cmp.Or(cmp.Compare(a.tree, b.tree), cmp.Compare(a.path, b.path)) })
		for i := range rows {
			r := &rows[i]
			id, _ := hex.DecodeString(string(r.tree)) // ids are hexadecimal
			w.Write(id)
			number(at)
			number(len(r.path))
			number(r.length())
			at += len(r.path) + r.length()
		}
	}
	for _, rows := range tables {
		for i := range rows {
			r := &rows[i]
			w.WriteString(r.path)
			if r.made != nil {
				r.made(w)
			} else {
				w.WriteString(r.value)
			}
		}
	}
	w.Flush()
	var raw [4]byte
	binary.BigEndian.PutUint32(raw[:], sum.Sum32())
	file.Write(raw[:])
}
