// Package treehash owns kxt1, the one digest of a folder: what skills, variants,
// evidence and trust are recognised by.
//
// Start with [Folder]; [Entries] and [Sum] are its two halves, for a caller that
// also shows the files. The digest covers regular files, whether any execute bit
// is set, and the targets of symbolic links. It does not cover empty folders,
// owners, times or other mode bits, and leaves out `.git` and `node_modules` at any
// depth. A tree that it could not cover is refused, not digested in part.
//
// The package follows no link and writes nothing. A tree that is changed while it
// is read has no digest: what comes out is of a tree that may never have existed.
package treehash

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"io/fs"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"kxm/lib/fault"
)

// Prefix begins every digest and names its form.
const Prefix = "kxt1:"

// The types of entries.
const (
	File       = 'f' // a regular file without an execute bit
	Executable = 'x' // a regular file with any execute bit
	Link       = 'l' // a symbolic link; its content is the text of its target
)

// Entry is what the digest knows of one file or link.
type Entry struct {
	Path   string // from the folder, with slashes
	Type   byte   // File, Executable or Link
	Size   int64  // of the content
	SHA256 [32]byte
}

// Folder returns the digest of a folder, "kxt1:" and 64 hexadecimal digits. skip
// may leave out paths and, with a folder, all below it; nil leaves out nothing
// more.
func Folder(fsys fs.FS, skip func(path string) bool) (string, error) {
	entries, err := Entries(fsys, skip)
	if err != nil {
		return "", err
	}
	return Sum(entries), nil
}

// Sum returns the digest of entries in the order that they have, which is that of
// [Entries]: by path bytes.
func Sum(entries []Entry) string {
	hash := sha256.New()
	buf := append(make([]byte, 0, 512), "kxt1\x00"...)
	for _, e := range entries {
		buf = append(buf, e.Type, 0)
		buf = append(buf, e.Path...)
		buf = append(buf, 0)
		buf = strconv.AppendInt(buf, e.Size, 10)
		buf = append(buf, 0)
		buf = hex.AppendEncode(buf, e.SHA256[:])
		buf = append(buf, 0)
		hash.Write(buf)
		buf = buf[:0]
	}
	hash.Write(buf) // the head alone, if there was no entry
	return Prefix + hex.EncodeToString(hash.Sum(nil))
}

// Entries reads a folder and returns its entries, sorted by path bytes. Symbolic
// links need an [fs.ReadLinkFS]; [os.DirFS] and the FS of an [os.Root] are one.
// Files are opened by several goroutines at once, which fsys must allow.
//
// Refused with [fault.PathEscapes]: a link whose target is absolute, leaves the
// folder (also by way of other links) or lies in what is left out. Refused with
// [fault.TreeRefused]: devices, sockets, pipes, and a path that is not UTF-8 or
// holds a NUL byte, which ends a field of the digest. What cannot be read is
// [fault.IOFailed], unless fsys gives its own code. The same tree gives the same
// fault.
func Entries(fsys fs.FS, skip func(path string) bool) ([]Entry, error) {
	w := walk{fsys: fsys, skip: skip, entries: []Entry{}}
	if err := fs.WalkDir(fsys, ".", w.visit); err != nil {
		return nil, err
	}
	// The walk sorts each folder alone, where "a" comes before "a.b"; by bytes "a/c"
	// comes after it.
	slices.SortFunc(w.entries, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	if err := hashFiles(fsys, w.entries); err != nil {
		return nil, err
	}
	return w.entries, nil
}

// hashFiles fills in the entries of files. It hashes on all processors; entries
// are taken in order, so that the fault of the first is the one that is returned.
func hashFiles(fsys fs.FS, entries []Entry) error {
	var (
		workers sync.WaitGroup
		mu      sync.Mutex
		next    int
		failed  = len(entries) // the first entry that failed, and why
		failure error
	)
	take := func() int {
		mu.Lock()
		defer mu.Unlock()
		for next < failed && entries[next].Type == Link {
			next++
		}
		if next >= failed {
			return -1
		}
		next++
		return next - 1
	}
	for range min(runtime.GOMAXPROCS(0), len(entries)) {
		workers.Go(func() {
			h := hasher{hash: sha256.New(), buf: make([]byte, 64<<10)}
			for i := take(); i >= 0; i = take() {
				if err := h.file(fsys, &entries[i]); err != nil {
					mu.Lock()
					if i < failed {
						failed, failure = i, err
					}
					mu.Unlock()
				}
			}
		})
	}
	workers.Wait()
	return failure
}

type hasher struct {
	hash hash.Hash
	buf  []byte
}

// file reads one file, piece by piece.
func (h *hasher) file(fsys fs.FS, e *Entry) error {
	f, err := fsys.Open(e.Path)
	if err != nil {
		return unreadable(err, e.Path)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return unreadable(err, e.Path)
	}
	if !info.Mode().IsRegular() {
		return refusedType(e.Path, info.Mode()) // it was replaced since the walk saw it
	}
	e.Type = File
	if info.Mode().Perm()&0o111 != 0 {
		e.Type = Executable
	}
	h.hash.Reset()
	// Only a reader: an *os.File would copy itself, by a buffer of its own.
	e.Size, err = io.CopyBuffer(h.hash, struct{ io.Reader }{f}, h.buf)
	if err != nil {
		return unreadable(err, e.Path)
	}
	h.hash.Sum(e.SHA256[:0])
	return nil
}

// unreadable keeps the code of a file system that has one to give, as that of a
// commit has for a missing object.
func unreadable(err error, name string) error {
	code := fault.CodeOf(err)
	if code == "" {
		code = fault.IOFailed
	}
	return fault.Wrap(err, code, "cannot read %s", fault.Quote(name))
}

func refusedType(name string, mode fs.FileMode) error {
	return fault.New(fault.TreeRefused, "%s is neither a file, a folder nor a link (mode %s)", fault.Quote(name), mode.Type())
}
