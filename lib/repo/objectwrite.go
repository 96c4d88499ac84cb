package repo

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/adler32"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"kxm/lib/fault"
)

// NewObject is an object to be written.
type NewObject struct {
	Type string // "blob", "tree" or "commit"
	Data []byte
}

// HashObject returns the id that an object of this type and content has in the
// repository; it stores nothing. Content made for a collision attack on SHA-1 has
// none: the id is "".
func (r *Repo) HashObject(typ string, data []byte) OID { return hashObject(r.format, typ, data) }

// packAbove is the number of objects from which on they are written as one pack:
// that many files, each made durable, would take seconds.
const packAbove = 1000

// WriteObjects stores objects and returns their ids, in order. When it returns they
// are durable, unless KXM_FSYNC is "none". An object that exists is written again:
// this makes it durable, whoever wrote it, and young, so that no `git gc` that runs
// meanwhile takes it for old rubbish. After an error some of the objects may be there;
// nothing refers to them.
func (r *Repo) WriteObjects(ctx context.Context, objects []NewObject) ([]OID, error) {
	ids := make([]OID, len(objects))
	fresh := make([]looseObject, 0, len(objects))
	seen := make(map[OID]bool, len(objects))
	for i, o := range objects {
		ids[i] = r.HashObject(o.Type, o.Data)
		if ids[i] == "" {
			return nil, fault.New(fault.ObjectCorrupt, "a new %s is part of a collision attack on SHA-1", o.Type)
		}
		if !seen[ids[i]] {
			seen[ids[i]] = true
			fresh = append(fresh, looseObject{NewObject: o, id: ids[i]})
		}
	}
	if len(fresh) == 0 {
		return ids, nil
	}
	w, err := r.writing()
	if err != nil {
		return nil, err
	}
	if r.b == backend(r.native) || len(fresh) > packAbove {
		return ids, r.native.writeObjects(ctx, w, fresh)
	}
	return ids, w.writeLoose(ctx, r.objectsDir, fresh)
}

// looseObject is an object on its way into a file of its own.
type looseObject struct {
	NewObject
	id   OID
	temp string
	file *os.File
}

// maxVanished is how often an object is written anew because its folder or its
// temporary file vanished: `git gc` removes empty folders, and with --prune=now
// every file that it does not know.
const maxVanished = 10

// writeLoose writes each object into a temporary file of the folder where it
// belongs, makes all of them durable at once, and only then gives them their names:
// flushing takes as long for one file as for many.
func (w *writer) writeLoose(ctx context.Context, dir string, objects []looseObject) (err error) {
	defer func() {
		for _, o := range objects {
			o.discard()
		}
	}()
	folders := map[string]bool{} // whose entries are new
	pending := make([]*looseObject, len(objects))
	for i := range objects {
		pending[i] = &objects[i]
	}
	for try := 0; len(pending) > 0; try++ {
		for _, o := range pending {
			if err := ctx.Err(); err != nil {
				return err
			}
			made, err := w.create(dir, o)
			if err != nil {
				return cannotWrite(err, o.id)
			}
			if made {
				folders[dir] = true
			}
		}
		if err := each(pending, func(o *looseObject) error {
			return errors.Join(w.disk.sync(o.file, false), o.file.Close())
		}); err != nil {
			return fault.Wrap(err, fault.IOFailed, "cannot make the objects durable")
		}
		var vanished []*looseObject
		for _, o := range pending {
			path := loosePath(dir, o.id)
			err := w.disk.rename(o.temp, path)
			switch {
			case err == nil:
				o.temp = ""
				folders[filepath.Dir(path)] = true
			case errors.Is(err, fs.ErrNotExist) && try < maxVanished:
				vanished = append(vanished, o)
			default:
				return cannotWrite(err, o.id)
			}
		}
		pending = vanished
	}
	names := make([]string, 0, len(folders))
	for name := range folders {
		names = append(names, name)
	}
	slices.Sort(names)
	if err := each(names, func(name string) error { return w.disk.syncFolder(name, false) }); err != nil {
		return fault.Wrap(err, fault.IOFailed, "cannot make the objects durable")
	}
	return nil
}

func cannotWrite(err error, id OID) error {
	return fault.Wrap(err, fault.IOFailed, "cannot write object %s", id)
}

// create writes an object's temporary file; made reports that its folder is new.
func (w *writer) create(dir string, o *looseObject) (made bool, err error) {
	folder := filepath.Dir(loosePath(dir, o.id))
	for try := 0; ; try++ {
		// Git's own name for such files, which gc removes once they are old.
		o.temp = filepath.Join(folder, "tmp_obj_"+strconv.FormatUint(rand.Uint64(), 36))
		o.file, err = os.OpenFile(o.temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o444)
		switch {
		case err == nil:
			err := errors.Join(w.disk.write(o.file, looseFile(o.Type, o.Data)), w.share(o.temp))
			return made, err
		case try == maxVanished:
			o.temp = ""
			return made, err
		case errors.Is(err, fs.ErrNotExist):
			now, err := w.folder(folder)
			if err != nil {
				o.temp = ""
				return made, err
			}
			made = made || now
		case !errors.Is(err, fs.ErrExist):
			o.temp = ""
			return made, err
		}
	}
}

func (o *looseObject) discard() {
	if o.temp == "" {
		return
	}
	if o.file != nil {
		o.file.Close()
	}
	_ = os.Remove(o.temp) // what stays is a file that gc removes
}

// atOnce is how many files are flushed at the same time.
const atOnce = 32

// each calls fn for every item, several at a time, and returns the first error.
func each[T any](items []T, fn func(T) error) error {
	if len(items) == 1 {
		return fn(items[0])
	}
	var (
		all   sync.WaitGroup
		mu    sync.Mutex
		first error
		slots = make(chan struct{}, atOnce)
	)
	for _, item := range items {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			if err := fn(item); err != nil {
				mu.Lock()
				defer mu.Unlock()
				if first == nil {
					first = err
				}
			}
		})
	}
	all.Wait()
	return first
}

// deflaters are reused: each takes a large part of a megabyte.
var deflaters sync.Pool

func deflate(dst *bytes.Buffer, parts ...[]byte) {
	z, _ := deflaters.Get().(*zlib.Writer)
	if z == nil {
		// The level that Git uses for loose objects. It is a valid one.
		z, _ = zlib.NewWriterLevel(dst, zlib.BestSpeed)
	} else {
		z.Reset(dst)
	}
	for _, p := range parts {
		_, _ = z.Write(p) // a buffer takes everything
	}
	_ = z.Close()
	deflaters.Put(z)
}

// block is what a small file takes on a disk, however small it is.
const block = 4096

// looseFile is the content of a loose object's file. Compressing one that takes a block
// anyway, or a tree, which consists of digests, would gain nothing until it is packed,
// and starting a compressor costs more than writing a few objects.
func looseFile(typ string, data []byte) []byte {
	head := append(strconv.AppendInt(append([]byte(typ), ' '), int64(len(data)), 10), 0)
	if len(data) < block || typ == "tree" {
		return stored(append(head, data...))
	}
	var buf bytes.Buffer
	buf.Grow(len(data)/2 + 128)
	deflate(&buf, head, data)
	return buf.Bytes()
}

// stored returns data as a zlib stream (RFC 1950) of stored blocks (RFC 1951, 3.2.4).
func stored(data []byte) []byte {
	const most = 1<<16 - 1 // bytes of a block
	out := make([]byte, 0, len(data)+len(data)/most*5+16)
	out = append(out, 0x78, 0x01) // a window of 32 KiB, the fastest level
	sum := adler32.Checksum(data)
	for last := false; !last; {
		part := data[:min(len(data), most)]
		data = data[len(part):]
		last = len(data) == 0
		final := byte(0)
		if last {
			final = 1
		}
		out = binary.LittleEndian.AppendUint16(append(out, final), uint16(len(part)))
		out = binary.LittleEndian.AppendUint16(out, ^uint16(len(part)))
		out = append(out, part...)
	}
	return binary.BigEndian.AppendUint32(out, sum)
}

// EncodeTree returns the content of a tree with these entries, in Git's order: by
// name, a folder's as if it ended in a slash. Ids must be full.
func EncodeTree(entries []TreeEntry) []byte {
	sorted := slices.Clone(entries)
	slices.SortStableFunc(sorted, compareEntries)
	size := 0
	for _, e := range sorted {
		size += 8 + len(e.Name) + len(e.OID)/2
	}
	data := make([]byte, 0, size)
	for _, e := range sorted {
		data = strconv.AppendUint(data, uint64(e.Mode), 8)
		data = append(data, ' ')
		data = append(data, e.Name...)
		data = append(data, 0)
		data, _ = hex.AppendDecode(data, []byte(e.OID)) // ids are hexadecimal
	}
	return data
}

// compareEntries is the order of the entries of a tree.
func compareEntries(a, b TreeEntry) int {
	n := min(len(a.Name), len(b.Name))
	if a.Name[:n] != b.Name[:n] {
		if a.Name[:n] < b.Name[:n] {
			return -1
		}
		return 1
	}
	return int(endOf(a, n)) - int(endOf(b, n))
}

// endOf is the byte at n of a name that ends there at the latest.
func endOf(e TreeEntry, n int) byte {
	switch {
	case len(e.Name) > n:
		return e.Name[n]
	case e.Mode&0o170000 == ModeFolder:
		return '/'
	}
	return 0
}

// EncodeCommit returns the content of a commit. Times are written with their zone,
// to the second.
func EncodeCommit(c Commit) []byte {
	data := append([]byte("tree "), c.Tree...)
	for _, p := range c.Parents {
		data = append(append(data, "\nparent "...), p...)
	}
	data = appendPerson(append(data, "\nauthor "...), c.Author)
	data = appendPerson(append(data, "\ncommitter "...), c.Committer)
	return append(append(data, "\n\n"...), c.Message...)
}

// appendPerson writes "Name <email> seconds +hhmm". Times before 1970 are 0, since
// Git reads no others.
func appendPerson(data []byte, p Person) []byte {
	data = append(append(append(append(data, p.Name...), " <"...), p.Email...), "> "...)
	data = strconv.AppendInt(data, max(p.When.Unix(), 0), 10)
	return append(append(data, ' '), zone(p.When)...)
}

func zone(when time.Time) string {
	if when.IsZero() {
		return "+0000"
	}
	return when.Format("-0700")
}
