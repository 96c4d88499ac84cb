package eventlog

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"kxm/lib/fault"
	"kxm/lib/repo"
)

// Cache keeps what was computed from folders of events, each value valid for one
// path and tree, and the whole file for one digest of whatever else the values depend
// on. So it is right at any commit, after any merge, and needs no invalidation.
// Deleting or damaging its file changes no answer; whoever can write into the Git
// directory can forge it, and could change the programs as well. It is safe for
// concurrent use.
type Cache struct {
	l      *Log
	digest [sha256.Size]byte
	opened time.Time
	file   cacheFile

	mu       sync.Mutex
	listings map[listingKey][]byte
	values   map[FolderRef][]byte
	complete [2]bool       // all folders of keys, of the journal, were asked for at the newest commit
	used     []atomic.Bool // of the file's values
	usedList []atomic.Bool // of its listings
}

// listingKey names the list of folders in a folder: the kind decides which names
// count.
type listingKey struct {
	kind placeKind
	tree repo.OID
}

// cacheName is the file, by the version of its form.
const cacheName = "cache/state-v1"

// OpenCache reads the cache for a digest of everything that the values depend on
// beside the events. A file that is absent, damaged, or of another digest or version is
// an empty cache.
func (l *Log) OpenCache(digest string) *Cache {
	c := &Cache{l: l, digest: sha256.Sum256([]byte(digest)), opened: l.now(), listings: map[listingKey][]byte{}, values: map[FolderRef][]byte{}}
	idLen := 20
	if l.r.ObjectFormat() == "sha256" {
		idLen = 32
	}
	c.file.idLen = idLen
	if st, err := os.Stat(l.path(cacheName)); err == nil && st.Mode().IsRegular() && st.Size() <= maxCache {
		if data, err := os.ReadFile(l.path(cacheName)); err == nil {
			c.file.parse(data, c.digest)
		}
	}
	c.used = make([]atomic.Bool, c.file.values.count)
	c.usedList = make([]atomic.Bool, c.file.listings.count)
	return c
}

// Get returns the value of a folder. It must not be changed.
func (c *Cache) Get(f FolderRef) (value []byte, ok bool) {
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
func (c *Cache) Put(f FolderRef, value []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.values[f] = value
}

// Folders is [Snapshot.Folders], which reads only the folders that changed.
func (c *Cache) Folders(ctx context.Context, s *Snapshot, ofJournal bool) ([]FolderRef, error) {
	var refs []FolderRef
	for _, e := range s.top {
		p := place{kind: top}.child(e.Name)
		if e.Mode != repo.ModeFolder || p.kind != shard && p.kind != journal || (p.kind == journal) != ofJournal {
			continue
		}
		below, err := c.foldersOf(ctx, p, e.OID)
		if err != nil {
			return nil, err
		}
		refs = append(refs, below...)
	}
	if s.newest {
		c.mu.Lock()
		c.complete[index(ofJournal)] = true
		c.mu.Unlock()
	}
	return refs, nil
}

func index(b bool) int {
	if b {
		return 1
	}
	return 0
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
// dropped when all folders of their kind were asked for. Of two programs that save at
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
		b.values = append(b.values, cacheRow{f.Tree, f.Path, value})
	}
	for k, listing := range c.listings {
		b.listings = append(b.listings, cacheRow{k.tree, string(rune(k.kind)), listing})
	}
	for i := range c.file.values.count {
		row, ok := c.file.values.row(c.file.data, i)
		_, again := c.values[FolderRef{row.path, row.tree}]
		if ok && !again && (c.used[i].Load() || !c.complete[index(strings.HasPrefix(row.path, "j/"))]) {
			b.values = append(b.values, row)
		}
	}
	for i := range c.file.listings.count {
		row, ok := c.file.listings.row(c.file.data, i)
		if !ok || len(row.path) != 1 {
			continue
		}
		kind := placeKind(row.path[0])
		_, again := c.listings[listingKey{kind, row.tree}]
		if !again && (c.usedList[i].Load() || !c.complete[index(kind == year)]) {
			b.listings = append(b.listings, row)
		}
	}
	data := b.encode(c.digest)
	if len(data) > maxCache {
		return nil
	}
	if _, err := c.l.r.Folder("kxm/cache"); err != nil {
		return err
	}
	if err := c.l.replace(cacheName, data); err != nil {
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

func castagnoli(data []byte) uint32 { return crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)) }

// cacheFile is a file that was read and found sound; without one it is empty.
type cacheFile struct {
	idLen            int
	data             []byte
	listings, values cacheTable
}

func (f *cacheFile) parse(data []byte, digest [sha256.Size]byte) {
	if len(data) < cacheHead+4 || !bytes.HasPrefix(data, []byte(cacheMagic)) || !bytes.Equal(data[len(cacheMagic):][:sha256.Size], digest[:]) {
		return
	}
	body := data[:len(data)-4]
	if binary.BigEndian.Uint32(data[len(body):]) != castagnoli(body) {
		return
	}
	head := data[len(cacheMagic)+sha256.Size:]
	idLen, listings, values := binary.BigEndian.Uint32(head), binary.BigEndian.Uint32(head[4:]), binary.BigEndian.Uint32(head[8:])
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
	tree  repo.OID
	path  string
	value []byte
}

func (t cacheTable) id(data []byte, i int) []byte {
	return data[t.start+i*(t.idLen+rowTail):][:t.idLen]
}

// content returns path and value of a row; ok is false when it points nowhere.
func (t cacheTable) content(data []byte, i int) (path, value []byte, ok bool) {
	tail := data[t.start+i*(t.idLen+rowTail)+t.idLen:]
	at, pathLen, valueLen := uint64(binary.BigEndian.Uint32(tail)), uint64(binary.BigEndian.Uint32(tail[4:])), uint64(binary.BigEndian.Uint32(tail[8:]))
	end := at + pathLen + valueLen
	if end > uint64(len(data)) {
		return nil, nil, false
	}
	return data[at : at+pathLen], data[at+pathLen : end : end], true
}

func (t cacheTable) row(data []byte, i int) (cacheRow, bool) {
	path, value, ok := t.content(data, i)
	return cacheRow{repo.OID(hex.EncodeToString(t.id(data, i))), string(path), value}, ok
}

func (t cacheTable) find(data []byte, tree repo.OID, path string) (i int, value []byte, ok bool) {
	var raw [sha256.Size]byte
	n, err := hex.Decode(raw[:], []byte(tree))
	if err != nil || n != t.idLen {
		return 0, nil, false
	}
	lo, hi := 0, t.count
	for lo < hi {
		if middle := (lo + hi) / 2; bytes.Compare(t.id(data, middle), raw[:n]) < 0 {
			lo = middle + 1
		} else {
			hi = middle
		}
	}
	// One tree may lie at several paths.
	for ; lo < t.count && bytes.Equal(t.id(data, lo), raw[:n]); lo++ {
		if p, value, ok := t.content(data, lo); ok && string(p) == path {
			return lo, value, true
		}
	}
	return 0, nil, false
}

// encodeListing stores the folders in a folder: the length of a name, the name, its
// id.
func encodeListing(path string, refs []FolderRef) []byte {
	data := []byte{}
	for _, f := range refs {
		name := f.Path[len(path)+1:]
		data = append(append(data, byte(len(name))), name...)
		data, _ = hex.AppendDecode(data, []byte(f.Tree)) // ids are hexadecimal
	}
	return data
}

func (f *cacheFile) decodeListing(path string, data []byte) ([]FolderRef, bool) {
	var refs []FolderRef
	for len(data) > 0 {
		n := int(data[0])
		if len(data) < 1+n+f.idLen {
			return nil, false
		}
		refs = append(refs, FolderRef{path + "/" + string(data[1:1+n]), repo.OID(hex.EncodeToString(data[1+n : 1+n+f.idLen]))})
		data = data[1+n+f.idLen:]
	}
	return refs, true
}

// cacheBuilder makes a file.
type cacheBuilder struct {
	idLen            int
	listings, values []cacheRow
}

func (b *cacheBuilder) encode(digest [sha256.Size]byte) []byte {
	tables := [][]cacheRow{b.listings, b.values}
	at := cacheHead + (len(b.listings)+len(b.values))*(b.idLen+rowTail)
	size := at + 4
	for _, rows := range tables {
		slices.SortFunc(rows, func(a, b cacheRow) int { return cmp.Or(cmp.Compare(a.tree, b.tree), cmp.Compare(a.path, b.path)) })
		for _, r := range rows {
			size += len(r.path) + len(r.value)
		}
	}
	data := make([]byte, 0, size)
	data = append(append(data, cacheMagic...), digest[:]...)
	for _, n := range []int{b.idLen, len(b.listings), len(b.values)} {
		data = binary.BigEndian.AppendUint32(data, uint32(n))
	}
	for _, rows := range tables {
		for _, r := range rows {
			data, _ = hex.AppendDecode(data, []byte(r.tree)) // ids are hexadecimal
			for _, n := range []int{at, len(r.path), len(r.value)} {
				data = binary.BigEndian.AppendUint32(data, uint32(n))
			}
			at += len(r.path) + len(r.value)
		}
	}
	for _, rows := range tables {
		for _, r := range rows {
			data = append(append(data, r.path...), r.value...)
		}
	}
	return binary.BigEndian.AppendUint32(data, castagnoli(data))
}
