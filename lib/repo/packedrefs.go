package repo

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"strings"

	"kxm/lib/fault"
)

// packedWindow is how much of packed-refs is read once a binary search has
// narrowed it down, and the size up to which none is done.
const packedWindow = 16 << 10

// findPackedRef looks a name up in packed-refs without reading the whole file when
// its head says that it is sorted: a repository may have 100,000 refs. Lines are
// "<id> <name>", and "^<id>" for what the tag above peels to.
func findPackedRef(path, name string, idLen int) (OID, bool, error) {
	f, size, err := openSized(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err == nil {
		defer f.Close()
		var id OID
		var ok bool
		if id, ok, err = searchPackedRefs(f, size, name, idLen); err == nil {
			return id, ok, nil
		}
	}
	return "", false, packedRefsError(err, name)
}

// findPackedBelow returns the first ref in packed-refs whose name lies below name,
// or "".
func findPackedBelow(path, name string, idLen int) (string, error) {
	f, size, err := openSized(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	below := ""
	if err == nil {
		defer f.Close()
		prefix := name + "/"
		err = walkPackedRefs(f, size, prefix, idLen, func(_ OID, found string) bool {
			if strings.HasPrefix(found, prefix) {
				below = found
			}
			return below != ""
		})
	}
	if err != nil {
		return "", packedRefsError(err, name)
	}
	return below, nil
}

func packedRefsError(err error, name string) error {
	if errors.Is(err, errPackedRefs) {
		return fault.New(fault.RefBroken, "packed-refs is damaged, so ref %s cannot be read", fault.Quote(name))
	}
	return fault.Wrap(err, fault.IOFailed, "cannot read packed-refs")
}

var errPackedRefs = errors.New("packed-refs is damaged")

func searchPackedRefs(f io.ReaderAt, size int64, name string, idLen int) (id OID, ok bool, err error) {
	err = walkPackedRefs(f, size, name, idLen, func(at OID, found string) bool {
		if found == name {
			id, ok = at, true
		}
		return ok
	})
	return id, ok, err
}

// walkPackedRefs calls fn with refs from somewhere before the place where name
// stands, or would, to some way behind it, until fn returns true.
func walkPackedRefs(f io.ReaderAt, size int64, name string, idLen int, fn func(OID, string) bool) error {
	lo, hi := int64(0), size
	if size > packedWindow {
		head := make([]byte, 512)
		if _, err := f.ReadAt(head, 0); err != nil {
			return noEOF(err)
		}
		line, _, _ := bytes.Cut(head, []byte("\n"))
		sorted := bytes.HasPrefix(line, []byte("# pack-refs with:")) && bytes.Contains(append(line, ' '), []byte(" sorted "))
		// lo stays at the beginning of a line; the line that names the ref, if any,
		// begins in [lo, hi).
		for sorted && hi-lo > packedWindow {
			middle := lo + (hi-lo)/2
			at, found, err := refAfter(f, middle, hi, idLen)
			switch {
			case err != nil:
				return err
			case at >= hi:
				hi = middle + 1 // a line may begin exactly there
			case found <= name:
				lo = at
			default:
				hi = at
			}
			if found == name {
				break
			}
		}
	}
	// The last line may reach beyond hi.
	block := make([]byte, min(hi-lo+packedWindow, size-lo))
	if _, err := f.ReadAt(block, lo); err != nil && err != io.EOF {
		return err
	}
	for line := range bytes.Lines(block) {
		if line[0] == '#' || line[0] == '^' || line[0] == '\n' {
			continue
		}
		if line[len(line)-1] != '\n' {
			if lo+int64(len(block)) < size {
				break // cut off by the window
			}
			return errPackedRefs // cut off by a crash: as for Git, what follows is not known to be absent
		}
		id, found, ok := packedRefLine(line, idLen)
		if !ok {
			return errPackedRefs
		}
		if fn(id, found) {
			return nil
		}
	}
	return nil
}

// refAfter returns the first line after offset at that names a ref, or hi when
// there is none before hi.
func refAfter(f io.ReaderAt, at, hi int64, idLen int) (int64, string, error) {
	// Usually a few lines are enough; the larger size is longer than any two lines
	// and the rest of one, since a name is a path.
	for _, size := range []int{1024, 3 * refLimit} {
		buf := make([]byte, size)
		n, err := f.ReadAt(buf, at)
		if err != nil && err != io.EOF {
			return 0, "", err
		}
		next, name, whole, ok := refIn(buf[:n], at, hi, idLen)
		if !ok {
			return 0, "", errPackedRefs
		}
		if whole || err == io.EOF {
			return next, name, nil
		}
	}
	return hi, "", nil
}

// refIn is refAfter over the bytes at an offset; whole reports that they were enough.
func refIn(rest []byte, at, hi int64, idLen int) (next int64, name string, whole, ok bool) {
	for {
		end := bytes.IndexByte(rest, '\n')
		if end < 0 || len(rest) == end+1 {
			return hi, "", false, true
		}
		at += int64(end) + 1
		if at >= hi {
			return hi, "", true, true
		}
		rest = rest[end+1:]
		if rest[0] == '^' || rest[0] == '#' {
			continue
		}
		end = bytes.IndexByte(rest, '\n')
		if end < 0 {
			return hi, "", false, true
		}
		_, name, ok := packedRefLine(rest[:end+1], idLen)
		return at, name, true, ok
	}
}

func packedRefLine(line []byte, idLen int) (OID, string, bool) {
	text := strings.TrimRight(string(line), "\r\n")
	if len(text) < idLen+2 || text[idLen] != ' ' || !isHex(text[:idLen]) {
		return "", "", false
	}
	return OID(text[:idLen]), text[idLen+1:], true
}
