package treehash

import (
	"crypto/sha256"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"kxm/lib/fault"
)

// walk collects the entries of a folder: links whole, files still to be read.
type walk struct {
	fsys    fs.FS
	skip    func(path string) bool
	entries []Entry
}

func (w *walk) visit(name string, d fs.DirEntry, err error) error {
	if name == "." {
		if err == nil && !d.IsDir() {
			err = &fs.PathError{Op: "read", Path: name, Err: fs.ErrInvalid}
		}
		if err != nil {
			return unreadable(err, name)
		}
		return nil
	}
	switch {
	case w.leftOut(name):
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	case !utf8.ValidString(name):
		return fault.New(fault.TreeRefused, "the path %s is not UTF-8", fault.Quote(name))
	case strings.IndexByte(name, 0) >= 0:
		return fault.New(fault.TreeRefused, "the path %s holds a NUL byte", fault.Quote(name))
	case err != nil:
		return unreadable(err, name)
	case d.IsDir():
		return nil
	case d.Type() == fs.ModeSymlink:
		return w.link(name)
	case d.Type() == 0:
		w.entries = append(w.entries, Entry{Path: name, Type: File})
		return nil
	default:
		return refusedType(name, d.Type())
	}
}

// leftOut reports whether the digest does not cover a path whose folder it covers.
func (w *walk) leftOut(name string) bool {
	base := path.Base(name)
	return base == ".git" || base == "node_modules" || w.skip != nil && w.skip(name)
}

func (w *walk) link(name string) error {
	target, err := fs.ReadLink(w.fsys, name)
	if err != nil {
		return unreadable(err, name)
	}
	if why := w.escape(path.Dir(name), target); why != "" {
		return fault.New(fault.PathEscapes, "the link %s to %s %s", fault.Quote(name), fault.Quote(target), why)
	}
	w.entries = append(w.entries, Entry{name, Link, int64(len(target)), sha256.Sum256([]byte(target))})
	return nil
}

// maxLinks is more than any system follows in one path: a target that needs more
// leads nowhere.
const maxLinks = 255

// escape says how a link target, read from a folder of the tree, leads to what the
// digest does not cover, or "". It goes the way that the system would go: ".."
// after a link leaves the folder that the link leads to, which the text of a path
// does not tell. Where nothing exists it goes on by the text alone, since
// something may be put there.
func (w *walk) escape(from, target string) string {
	if isAbsolute(target) {
		return "is absolute"
	}
	var at []string // the folder reached, from the root of the tree
	if from != "." {
		at = strings.Split(from, "/")
	}
	rest := parts(target)
	for links := 0; len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		if part == "" || part == "." {
			continue
		}
		if part == ".." {
			if len(at) == 0 {
				return "leads out of the folder"
			}
			at = at[:len(at)-1]
			continue
		}
		at = append(at, part)
		name := strings.Join(at, "/")
		if w.leftOut(name) {
			return "leads into what the digest leaves out"
		}
		next, ok := w.target(name)
		if !ok {
			continue
		}
		if isAbsolute(next) {
			return "leads to an absolute link"
		}
		if links++; links > maxLinks {
			return ""
		}
		at = at[:len(at)-1]
		rest = append(parts(next), rest...)
	}
	return ""
}

// target returns the target of a link; ok is false if there is no link.
func (w *walk) target(name string) (target string, ok bool) {
	info, err := fs.Lstat(w.fsys, name)
	if err != nil || info.Mode().Type() != fs.ModeSymlink {
		return "", false
	}
	target, err = fs.ReadLink(w.fsys, name)
	return target, err == nil
}

func parts(target string) []string { return strings.Split(filepath.ToSlash(target), "/") }

func isAbsolute(target string) bool {
	return strings.HasPrefix(target, "/") || filepath.IsAbs(target)
}
