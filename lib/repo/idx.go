package repo

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"sort"
	"sync"
	"sync/atomic"
)

// rawLen is the length of a SHA-1 id in bytes. Only the git program reads
// repositories with another hash.
const rawLen = 20

// packIndex finds ids in a pack's .idx file, version 1 or 2, without loading it:
// the fan-out table (1 KiB) is kept, the sorted ids are searched in the file. The
// cost of a lookup is a few reads whatever the size of the repository.
type packIndex struct {
	file    io.ReaderAt
	version int
	count   int64
	fanout  [256]uint32 // ids whose first byte is at most the index
}

var errIndex = errors.New("the pack index is damaged")

const (
	fanoutSize = 256 * 4
	trailer    = 2 * rawLen // checksums of the pack and of the index
)

// openIndex reads the head of an index file of the given size.
func openIndex(file io.ReaderAt, size int64) (*packIndex, error) {
	var head [8 + fanoutSize]byte
	n, err := file.ReadAt(head[:], 0)
	if err != nil && err != io.EOF {
		return nil, err
	}
	x := &packIndex{file: file, version: 1}
	table := head[:n]
	if bytes.HasPrefix(table, []byte("\377tOc")) {
		if len(table) < 8 || binary.BigEndian.Uint32(table[4:]) != 2 {
			return nil, errIndex
		}
		x.version, table = 2, table[8:]
	}
	if len(table) < fanoutSize {
		return nil, errIndex
	}
	last := uint32(0)
	for i := range x.fanout {
		x.fanout[i] = binary.BigEndian.Uint32(table[4*i:])
		if x.fanout[i] < last {
			return nil, errIndex
		}
		last = x.fanout[i]
	}
	x.count = int64(last)
	least := fanoutSize + x.count*(4+rawLen) + trailer
	if x.version == 2 {
		least = 8 + fanoutSize + x.count*(rawLen+4+4) + trailer
	}
	if size < least {
		return nil, errIndex
	}
	return x, nil
}

// layout returns where the ids begin, the distance between two, and where an id
// begins in its record.
func (x *packIndex) layout() (start, stride, skip int64) {
	if x.version == 1 {
		return fanoutSize, 4 + rawLen, 4
	}
	return 8 + fanoutSize, rawLen, 0
}

// window is how many ids one read takes: about a disk page. In a bucket of 12,000
// ids (a pack of three million) the interpolated place of an id is off by 55 on
// average, so that one read nearly always finds it.
const window = 200

var windows = sync.Pool{New: func() any { return new([window * (4 + rawLen)]byte) }}

// find returns the offset of an object in the pack.
func (x *packIndex) find(id [rawLen]byte) (offset int64, ok bool, err error) {
	lo, hi := int64(0), int64(x.fanout[id[0]])
	if id[0] > 0 {
		lo = int64(x.fanout[id[0]-1])
	}
	start, stride, skip := x.layout()
	buf := windows.Get().(*[window * (4 + rawLen)]byte)
	defer windows.Put(buf)
	// Ids are uniformly distributed within a bucket: guess once, then halve.
	guess := lo + (hi-lo)*int64(binary.BigEndian.Uint32(id[1:5])>>8)>>24
	for lo < hi {
		n := min(hi-lo, window)
		at := min(max(guess-n/2, lo), hi-n)
		block := buf[:n*stride]
		if _, err := x.file.ReadAt(block, start+at*stride); err != nil {
			return 0, false, noEOF(err)
		}
		nth := func(i int64) []byte { return block[i*stride+skip:][:rawLen] }
		switch {
		case bytes.Compare(id[:], nth(0)) < 0:
			hi = at
		case bytes.Compare(id[:], nth(n-1)) > 0:
			lo = at + n
		default:
			i := int64(sort.Search(int(n), func(i int) bool { return bytes.Compare(nth(int64(i)), id[:]) >= 0 }))
			if !bytes.Equal(nth(i), id[:]) {
				return 0, false, nil
			}
			if x.version == 1 {
				return int64(binary.BigEndian.Uint32(block[i*stride:])), true, nil
			}
			offset, err := x.offset(at + i)
			return offset, err == nil, err
		}
		guess = lo + (hi-lo)/2
	}
	return 0, false, nil
}

// warming reads a file piece by piece until that has cost about as much as reading
// all of it, and keeps it from then on. So one lookup costs the same in a repository
// of any size, and a hundred thousand of them need no system call each.
type warming struct {
	file  io.ReaderAt
	size  int64
	reads atomic.Int64
	whole atomic.Pointer[[]byte]
}

const (
	warmEach = 8 << 10  // bytes that a read of a piece is worth
	warmMost = 64 << 20 // larger files are never kept: 2.4 million objects
)

func (w *warming) ReadAt(p []byte, off int64) (int, error) {
	whole := w.whole.Load()
	if whole == nil {
		if n := w.reads.Add(1); w.size > warmMost || n*warmEach < w.size || (n-1)*warmEach >= w.size {
			return w.file.ReadAt(p, off)
		}
		// This is the one read that reaches the size.
		data := make([]byte, w.size)
		if _, err := w.file.ReadAt(data, 0); err != nil {
			return w.file.ReadAt(p, off)
		}
		whole = &data
		w.whole.Store(whole)
	}
	return bytes.NewReader(*whole).ReadAt(p, off)
}

// offset reads the offset of the i-th object from a version 2 index: 31 bits, or
// the place of a 64-bit one in a second table.
func (x *packIndex) offset(i int64) (int64, error) {
	offsets := 8 + fanoutSize + x.count*(rawLen+4)
	var buf [8]byte
	if _, err := x.file.ReadAt(buf[:4], offsets+4*i); err != nil {
		return 0, noEOF(err)
	}
	short := binary.BigEndian.Uint32(buf[:])
	if short&(1<<31) == 0 {
		return int64(short), nil
	}
	if _, err := x.file.ReadAt(buf[:], offsets+4*x.count+8*int64(short&^(1<<31))); err != nil {
		return 0, noEOF(err)
	}
	long := binary.BigEndian.Uint64(buf[:])
	if long > 1<<62 {
		return 0, errIndex
	}
	return int64(long), nil
}

// rawID decodes an id that checkID let through.
func rawID(id OID) (raw [rawLen]byte) {
	_, _ = hex.Decode(raw[:], []byte(id)) // checked hexadecimal of the right length
	return raw
}

// openSized opens a file and returns its size.
func openSized(path string) (*os.File, int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	st, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, st.Size(), nil
}
