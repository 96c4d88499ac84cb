package repo

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/go-git/go-git/v5/plumbing/format/packfile"
)

// pack is one pack and its index. Files are opened at the first use and stay open,
// so that a repack that removes them does not disturb a reader; the runtime closes
// them once nothing refers to the pack.
type pack struct {
	base string // path without ".pack"

	mu       sync.Mutex
	idx      *packIndex
	idxErr   error
	data     *os.File
	dataSize int64
}

// index opens the index.
func (p *pack) index() (*packIndex, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.idx == nil && p.idxErr == nil {
		f, size, err := openSized(p.base + ".idx")
		if err != nil {
			return nil, err
		}
		if p.idx, p.idxErr = openIndex(&warming{file: f, size: size}, size); p.idxErr != nil {
			f.Close()
			p.idxErr = fmt.Errorf("%s.idx: %w", p.base, p.idxErr)
		}
	}
	return p.idx, p.idxErr
}

// open opens the pack itself.
func (p *pack) open() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.data != nil {
		return nil
	}
	f, size, err := openSized(p.base + ".pack")
	if err != nil {
		return err
	}
	var head [12]byte
	if _, err := f.ReadAt(head[:], 0); err != nil || !bytes.HasPrefix(head[:], []byte("PACK\x00\x00\x00")) || head[7] < 2 || head[7] > 3 {
		f.Close()
		return errPack
	}
	p.data, p.dataSize = f, size
	return nil
}

var errPack = errors.New("the pack is damaged")

// Types of pack entries.
const (
	packCommit   = 1
	packTree     = 2
	packBlob     = 3
	packTag      = 4
	packOffDelta = 6
	packRefDelta = 7
)

var packTypes = map[byte]string{packCommit: "commit", packTree: "tree", packBlob: "blob", packTag: "tag"}

// packEntry is the head of an entry.
type packEntry struct {
	kind   byte
	size   int64 // of what inflates from it: the object, or the delta
	base   int64 // packOffDelta: where the base begins
	baseID OID   // packRefDelta
}

// entry reads the head of the entry at an offset, and returns a reader of the
// deflated bytes that follow, which the caller releases. Most entries come with the
// one read that this takes.
func (p *pack) entry(at int64) (packEntry, *inflater, error) {
	if at < 12 || at >= p.dataSize-rawLen {
		return packEntry{}, nil, errPack
	}
	f := newInflater(io.NewSectionReader(p.data, at, p.dataSize-at))
	// Type and size take up to 10 bytes, a base up to 20.
	head, err := f.in.Peek(32)
	if err != nil && err != io.EOF {
		f.release()
		return packEntry{}, nil, err
	}
	e, used, ok := parseEntry(head, at)
	if !ok || e.size > (p.dataSize-at)*maxRatio {
		f.release()
		return packEntry{}, nil, errPack
	}
	if _, err = f.in.Discard(used); err == nil {
		err = f.start()
	}
	if err != nil {
		f.release()
		return packEntry{}, nil, noEOF(err)
	}
	return e, f, nil
}

// parseEntry decodes the head of the entry at offset at.
func parseEntry(buf []byte, at int64) (e packEntry, used int, ok bool) {
	if len(buf) == 0 {
		return e, 0, false
	}
	c := buf[0]
	e.kind, e.size = c>>4&7, int64(c&15)
	i := 1
	for shift := 4; c&0x80 != 0; shift += 7 {
		if i >= len(buf) || shift > 55 {
			return e, 0, false
		}
		c = buf[i]
		i++
		e.size |= int64(c&0x7f) << shift
	}
	switch e.kind {
	case packCommit, packTree, packBlob, packTag:
	case packOffDelta:
		if i >= len(buf) {
			return e, 0, false
		}
		c, distance := buf[i], int64(buf[i]&0x7f)
		i++
		for c&0x80 != 0 {
			if i >= len(buf) || distance > at {
				return e, 0, false
			}
			c = buf[i]
			i++
			distance = (distance+1)<<7 | int64(c&0x7f)
		}
		// A base lies before its delta, so that chains end.
		if distance <= 0 || distance > at-12 {
			return e, 0, false
		}
		e.base = at - distance
	case packRefDelta:
		if len(buf)-i < rawLen {
			return e, 0, false
		}
		e.baseID = OID(hex.EncodeToString(buf[i : i+rawLen]))
		i += rawLen
	default:
		return e, 0, false
	}
	return e, i, true
}

// deltaSizes reads the sizes of the base and of the result from a delta's head.
func deltaSizes(delta []byte) (base, result int64, ok bool) {
	if base, delta, ok = deltaSize(delta); ok {
		result, _, ok = deltaSize(delta)
	}
	return base, result, ok
}

func deltaSize(b []byte) (size int64, rest []byte, ok bool) {
	for i := 0; i < len(b) && i < 9; i++ {
		size |= int64(b[i]&0x7f) << (7 * i)
		if b[i]&0x80 == 0 {
			return size, b[i+1:], true
		}
	}
	return 0, nil, false
}

// applyDelta rebuilds an object from its base.
func applyDelta(base, delta []byte) ([]byte, error) {
	want, result, ok := deltaSizes(delta)
	if !ok || want != int64(len(base)) || result > MaxObject {
		return nil, errDelta
	}
	if result == 0 {
		// Git writes no delta for an empty object, but its own reader takes one.
		return []byte{}, nil
	}
	out, err := packfile.PatchDelta(base, delta)
	if err != nil || int64(len(out)) != result {
		return nil, errDelta
	}
	return out, nil
}

var errDelta = errors.New("a delta is damaged")

// maxChain bounds a chain of deltas; Git itself makes at most 4,095.
const maxChain = 10000

// How much larger than an object the bases and deltas may be that it is rebuilt
// from: each, and the deltas together. Git makes no delta whose base is more than 32
// times as large, but somebody could, to have a gigabyte read for one small event.
const (
	maxAround   = 64
	maxTogether = 16 * maxAround
)

// atMost is factor*limit, and never more than MaxObject.
func atMost(factor, limit int64) int64 {
	if limit > MaxObject/factor {
		return MaxObject
	}
	return factor * limit
}

// read rebuilds the object at an offset, unless it has more than limit bytes. other
// resolves the base of a delta that names it by id and lies elsewhere.
func (p *pack) read(at, limit int64, cache *baseCache, other func(OID, int64) (string, []byte, error)) (typ string, data []byte, err error) {
	type link struct {
		at    int64
		delta []byte
	}
	var chain []link
	total := int64(0) // of the deltas, which are held until the base is reached
	cached := false
	around := atMost(maxAround, limit)
	for typ == "" {
		if typ, data, cached = cache.get(p, at); cached {
			if size := int64(len(data)); len(chain) == 0 && size > limit {
				return "", nil, errLarge{size, limit}
			}
			break
		}
		e, f, err := p.entry(at)
		if err != nil {
			return "", nil, err
		}
		delta := e.kind == packOffDelta || e.kind == packRefDelta
		room := around
		if len(chain) == 0 && !delta {
			room = limit
		}
		if e.size > room {
			f.release()
			return "", nil, errLarge{e.size, room}
		}
		content, err := f.all(e.size)
		f.release()
		if err != nil {
			return "", nil, err
		}
		if !delta {
			typ, data = packTypes[e.kind], content
			break
		}
		if total += e.size; total > atMost(maxTogether, limit) || len(chain) == maxChain {
			return "", nil, errDelta
		}
		if len(chain) == 0 {
			room = limit
		}
		if _, size, ok := deltaSizes(content); ok && size > room {
			return "", nil, errLarge{size, room}
		}
		chain = append(chain, link{at, content})
		if at, err = p.baseOf(e); errors.Is(err, fs.ErrNotExist) {
			at = elsewhere
			typ, data, err = other(e.baseID, around)
		}
		if err != nil {
			return "", nil, err
		}
	}
	for i := len(chain) - 1; i >= 0; i-- {
		if !cached && at != elsewhere {
			cache.put(p, at, typ, data)
		}
		cached = false
		if data, err = applyDelta(data, chain[i].delta); err != nil {
			return "", nil, err
		}
		at = chain[i].at
	}
	if cached {
		data = bytes.Clone(data) // the cache keeps its own
	}
	return typ, data, nil
}

// elsewhere is the offset of a base in another pack or in a file of its own.
const elsewhere = -1

// errLarge reports an object, or a part of it, above what is read.
type errLarge struct{ size, limit int64 }

func (e errLarge) Error() string { return "the object is too large" }

// baseOf returns the offset of a delta's base, or fs.ErrNotExist when it is not in
// this pack.
func (p *pack) baseOf(e packEntry) (int64, error) {
	if e.kind == packOffDelta {
		return e.base, nil
	}
	x, err := p.index()
	if err != nil {
		return 0, err
	}
	at, ok, err := x.find(rawID(e.baseID))
	if err == nil && !ok {
		err = fs.ErrNotExist
	}
	return at, err
}

// header returns type and size of the object at an offset from the heads of its
// chain of deltas.
func (p *pack) header(at int64, other func(OID) (string, int64, error)) (typ string, size int64, err error) {
	size = -1
	for range maxChain {
		e, f, err := p.entry(at)
		if err != nil {
			return "", 0, err
		}
		delta := e.kind == packOffDelta || e.kind == packRefDelta
		if size < 0 {
			if size = e.size; delta {
				size, err = f.resultSize(e.size)
			}
		}
		f.release()
		if err != nil {
			return "", 0, err
		}
		if !delta {
			return packTypes[e.kind], size, nil
		}
		if at, err = p.baseOf(e); errors.Is(err, fs.ErrNotExist) {
			typ, _, err = other(e.baseID)
			return typ, size, err
		}
		if err != nil {
			return "", 0, err
		}
	}
	return "", 0, errDelta
}

// resultSize reads the size of what a delta makes from its first bytes.
func (f *inflater) resultSize(deltaSize int64) (int64, error) {
	head := make([]byte, min(deltaSize, 20))
	if _, err := io.ReadFull(f.z, head); err != nil {
		return 0, noEOF(err)
	}
	_, size, ok := deltaSizes(head)
	if !ok {
		return 0, errDelta
	}
	return size, nil
}
