package repo

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"kxm/lib/fault"
)

// writer is how the repository is written to: the permissions that it wants and the
// operations of the disk.
type writer struct {
	shared sharing
	disk   disk
}

// disk holds the operations whose order and failures decide what a crash leaves
// behind. Tests put their own in.
type disk struct {
	write func(f *os.File, data []byte) error
	// sync makes a file's content durable. Without full it need only come before
	// whatever is written later, where the system knows the difference.
	sync func(f *os.File, full bool) error
	// syncFolder does the same for the names in a folder.
	syncFolder func(name string, full bool) error
	rename     func(from, to string) error
	link       func(from, to string) error
}

// theDisk is the real one. durable false leaves flushing out.
func theDisk(durable bool) disk {
	d := disk{
		write: func(f *os.File, data []byte) error {
			_, err := f.Write(data)
			return err
		},
		sync:       syncFile,
		syncFolder: syncFolder,
		rename:     rename,
		link:       os.Link,
	}
	if !durable {
		d.sync = func(*os.File, bool) error { return nil }
		d.syncFolder = func(string, bool) error { return nil }
	}
	return d
}

// writing returns the writer, which is made at the first use.
func (r *Repo) writing() (*writer, error) {
	r.writerOnce.Do(func() {
		r.writer = &writer{disk: theDisk(r.getenv("KXM_FSYNC") != "none")}
		entries, err := readConfigFile(filepath.Join(r.commonDir, "config"))
		if err != nil {
			r.writerErr = err
			return
		}
		for _, e := range entries {
			if e.key != "core.sharedrepository" {
				continue
			}
			if r.writer.shared, err = parseSharing(e); err != nil {
				r.writerErr = err
				return
			}
		}
	})
	return r.writer, r.writerErr
}

// sharing is core.sharedRepository: who may use the repository besides its owner.
type sharing struct {
	mode  fs.FileMode // permissions of a file, beyond the usual ones or instead of them; 0: as umask says
	exact bool        // instead
}

func parseSharing(e configEntry) (sharing, error) {
	group, everybody := sharing{mode: 0o660}, sharing{mode: 0o664}
	if e.bare {
		return group, nil
	}
	switch e.value {
	case "umask":
		return sharing{}, nil
	case "group":
		return group, nil
	case "all", "world", "everybody":
		return everybody, nil
	}
	n, err := strconv.ParseUint(e.value, 8, 32)
	switch {
	case err != nil && isTrue(e.value):
		return group, nil
	case err != nil:
		return sharing{}, nil // a boolean, and a false one
	case n == 0:
		return sharing{}, nil
	case n == 1:
		return group, nil
	case n == 2:
		return everybody, nil
	case n&0o600 != 0o600:
		return sharing{}, fault.New(fault.ConfigInvalid, "core.sharedRepository is %s, which keeps the owner out", fault.Quote(e.value)).At(e.source, e.line, 0)
	}
	return sharing{mode: fs.FileMode(n & 0o666), exact: true}, nil
}

// of returns the permissions that a file or folder with these gets.
func (s sharing) of(mode fs.FileMode) fs.FileMode {
	perm, grant := mode.Perm(), s.mode
	if perm&0o200 == 0 {
		grant &^= 0o222
	}
	if perm&0o100 != 0 {
		grant |= grant & 0o444 >> 2
	}
	if s.exact {
		perm = grant
	} else {
		perm |= grant
	}
	if mode.IsDir() {
		perm |= perm & 0o444 >> 2
		if perm&0o060 != 0 {
			return perm | fs.ModeSetgid // what is made in it belongs to the group too
		}
		return perm | mode&fs.ModeSetgid
	}
	return perm
}

// share gives a new file or folder the permissions that the repository wants.
func (w *writer) share(path string) error {
	if w.shared == (sharing{}) {
		return nil
	}
	st, err := os.Stat(path)
	if err != nil {
		return err
	}
	want := w.shared.of(st.Mode())
	if want == st.Mode()&(fs.ModePerm|fs.ModeSetgid) {
		return nil
	}
	return os.Chmod(path, want)
}

// folder makes a folder; made is false when it exists.
func (w *writer) folder(path string) (made bool, err error) {
	err = os.Mkdir(path, 0o777)
	switch {
	case errors.Is(err, fs.ErrExist) && isFolder(path):
		return false, nil
	case err != nil:
		return false, err
	}
	if err := w.share(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return true, err // if it is gone already, the caller notices
	}
	return true, nil
}

// folders makes a folder and what is missing above it, up to top, and returns the
// folders that got a new entry.
func (w *writer) folders(top, path string) (changed []string, err error) {
	rel, err := filepath.Rel(top, path)
	if err != nil {
		return nil, err
	}
	at := top
	for name := range strings.SplitSeq(rel, string(filepath.Separator)) {
		if name == "." {
			continue
		}
		made, err := w.folder(filepath.Join(at, name))
		if err != nil {
			return changed, err
		}
		if made {
			changed = append(changed, at)
		}
		at = filepath.Join(at, name)
	}
	return changed, nil
}

// Folder makes a folder below the common Git directory, with the permissions that
// core.sharedRepository asks for, and returns its path. It is for what belongs to a
// repository but not into it: locks, caches.
func (r *Repo) Folder(name string) (string, error) {
	path := filepath.Join(r.commonDir, filepath.FromSlash(name))
	if isFolder(path) {
		return path, nil
	}
	w, err := r.writing()
	if err == nil {
		_, err = w.folders(r.commonDir, path)
	}
	if fault.CodeOf(err) != "" {
		return "", err
	}
	if err != nil {
		return "", fault.Wrap(err, fault.IOFailed, "cannot make the folder %s", fault.Quote(path))
	}
	return path, nil
}

// Share gives a file that was just made below the common Git directory the
// permissions that core.sharedRepository asks for.
func (r *Repo) Share(path string) error {
	w, err := r.writing()
	if err != nil {
		return err
	}
	if err := w.share(path); err != nil {
		return fault.Wrap(err, fault.IOFailed, "cannot set the permissions of %s", fault.Quote(path))
	}
	return nil
}

// Flush makes a file's content durable, unless KXM_FSYNC is "none".
func (r *Repo) Flush(f *os.File) error {
	w, err := r.writing()
	if err != nil {
		return err
	}
	return w.disk.sync(f, false)
}

// Quarantined reports whether the process runs in a pre-receive hook of this
// repository: new objects lie aside until the push is accepted, and vanish if it is
// not, so that no ref may name them.
func (r *Repo) Quarantined() bool { return r.getenv(quarantine) != "" }

// quarantine is set by Git in the environment of pre-receive hooks.
const quarantine = "GIT_QUARANTINE_PATH"
