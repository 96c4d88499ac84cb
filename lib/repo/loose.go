package repo

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
)

// inflater is a reusable zlib reader: making one costs more than inflating a
// small object with it.
type inflater struct {
	in *bufio.Reader
	z  io.ReadCloser
}

var inflaters sync.Pool

// newInflater returns one over src that has not started yet: in may be read first.
func newInflater(src io.Reader) *inflater {
	f, _ := inflaters.Get().(*inflater)
	if f == nil {
		return &inflater{in: bufio.NewReaderSize(src, 4096)}
	}
	f.in.Reset(src)
	return f
}

// start begins to inflate where in stands.
func (f *inflater) start() (err error) {
	if f.z == nil {
		f.z, err = zlib.NewReader(f.in)
		return err
	}
	return f.z.(zlib.Resetter).Reset(f.in, nil)
}

func (f *inflater) release() {
	f.in.Reset(nil)
	inflaters.Put(f)
}

// errSize reports a stream that is longer than its header says.
var errSize = errors.New("longer than its header says")

// all reads exactly size bytes and makes sure that the stream ends there with a
// right checksum.
func (f *inflater) all(size int64) ([]byte, error) {
	data := make([]byte, size)
	if _, err := io.ReadFull(f.z, data); err != nil {
		return nil, noEOF(err)
	}
	var more [1]byte
	switch n, err := io.ReadFull(f.z, more[:]); {
	case n > 0:
		return nil, errSize
	case err != io.EOF:
		return nil, err
	}
	return data, nil
}

// noEOF names the end of input in the middle of something.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// maxRatio is above the best that deflate can do (1032 to 1). A header that claims
// more for the bytes that are there is a lie, found before memory is taken for it.
const maxRatio = 1040

// loosePath is where a loose object lies in an object directory.
func loosePath(dir string, id OID) string {
	return filepath.Join(dir, string(id[:2]), string(id[2:]))
}

// readLoose reads a loose object of at most limit bytes, or only its header. It fails with
// fs.ErrNotExist when there is no file.
func readLoose(dir string, id OID, limit int64, headerOnly bool) (typ string, size int64, data []byte, err error) {
	file, err := os.Open(loosePath(dir, id))
	if err != nil {
		return "", 0, nil, err
	}
	defer file.Close()
	st, err := file.Stat()
	if err != nil {
		return "", 0, nil, err
	}
	f := newInflater(file)
	defer f.release()
	if err := f.start(); err != nil {
		return "", 0, nil, corrupt(id, "does not inflate: %v", noEOF(err))
	}
	typ, size, err = looseHeader(f.z)
	switch {
	case err != nil:
		return "", 0, nil, corrupt(id, "has no header: %v", err)
	case size > limit:
		return typ, size, nil, tooLarge(id, size, limit)
	case size > st.Size()*maxRatio:
		return "", 0, nil, corrupt(id, "claims %d bytes", size)
	case headerOnly:
		return typ, size, nil, nil
	}
	data, err = f.all(size)
	if err != nil {
		return "", 0, nil, corrupt(id, "does not inflate: %v", err)
	}
	return typ, size, data, nil
}

var errHeader = errors.New("not \"type size\"")

// looseHeader reads "<type> <size>\0".
func looseHeader(r io.Reader) (string, int64, error) {
	// The longest is "commit " with 19 digits.
	head := make([]byte, 0, 32)
	for len(head) < cap(head) {
		// zlib's reader has no ReadByte; the bytes come from memory.
		if _, err := io.ReadFull(r, head[len(head):len(head)+1]); err != nil {
			return "", 0, noEOF(err)
		}
		head = head[:len(head)+1]
		if head[len(head)-1] != 0 {
			continue
		}
		typ, digits, _ := bytes.Cut(head[:len(head)-1], []byte(" "))
		size, err := strconv.ParseUint(string(digits), 10, 62)
		switch string(typ) {
		case "blob", "tree", "commit", "tag":
		default:
			return "", 0, errHeader
		}
		if err != nil {
			return "", 0, errHeader
		}
		return string(typ), int64(size), nil
	}
	return "", 0, errHeader
}
