package memory

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strconv"

	"kxm/lib/fault"
)

// replacement is new content for a file that exists, at a path below a root
// without links.
type replacement struct {
	path   string
	before []byte // what the content was made from
	after  []byte
	mode   fs.FileMode
}

// replaceFiles gives each file its new content. All new files are complete on disk
// before the first takes an old one's place, so a full disk or a missing right
// changes nothing, and a reader sees an old file or a new one. A file that no
// longer holds what its new content was made from refuses them all.
//
// Each file is replaced by a rename: mode is kept; owner and hard links are not.
// Should a rename fail after others were done, those stay.
func replaceFiles(root *os.Root, files []replacement) error {
	files = slices.DeleteFunc(slices.Clone(files), func(f replacement) bool { return bytes.Equal(f.before, f.after) })
	temps := make([]string, 0, len(files))
	defer func() {
		for _, temp := range temps {
			_ = root.Remove(temp) // gone already unless something failed, and then its error is reported
		}
	}()
	for _, f := range files {
		temp, err := writeTemp(root, f.path, f.after, f.mode.Perm(), true)
		if err != nil {
			return writeError(f.path, err)
		}
		temps = append(temps, temp)
	}
	for _, f := range files {
		now, err := root.ReadFile(f.path)
		if err != nil {
			return writeError(f.path, err)
		}
		if !bytes.Equal(now, f.before) {
			return fault.New(fault.FileChanged, "%s was changed by someone else in the meantime", fault.Quote(redacted(f.path))).
				WithHint("nothing was written; run the command again")
		}
	}
	for i, f := range files {
		if err := root.Rename(temps[i], f.path); err != nil {
			return writeError(f.path, err)
		}
	}
	return nil
}

// createFile writes a file that must not exist yet; the error wraps fs.ErrExist
// where it does. It appears complete or not at all.
func createFile(root *os.Root, name string, data []byte) error {
	temp, err := writeTemp(root, name, data, 0o666, false)
	if err != nil {
		return writeError(name, err)
	}
	// A hard link, unlike a rename, never replaces.
	err = root.Link(temp, name)
	if err != nil && !errors.Is(err, fs.ErrExist) { // a file system without hard links
		err = createInPlace(root, name, data)
	}
	_ = root.Remove(temp)
	if err != nil {
		return writeError(name, err)
	}
	return nil
}

// createInPlace is createFile where hard links are missing: a reader may see part
// of the file, but it replaces nothing.
func createInPlace(root *os.Root, name string, data []byte) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	if err := writeSync(f, data); err != nil {
		_ = root.Remove(name)
		return err
	}
	return nil
}

// writeTemp writes data to a new file beside name and returns its path. With exact
// the file gets the mode as it is; else the process's mask applies.
func writeTemp(root *os.Root, name string, data []byte, mode fs.FileMode, exact bool) (string, error) {
	for {
		// Not ".md", so that no reader of the folder takes it for a record.
		temp := path.Join(path.Dir(name), "."+path.Base(name)+"."+strconv.FormatUint(rand.Uint64(), 36)+".tmp")
		f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		if err = writeSync(f, data); err == nil && exact {
			err = root.Chmod(temp, mode)
		}
		if err != nil {
			_ = root.Remove(temp)
			return "", err
		}
		return temp, nil
	}
}

// writeSync writes a file, brings it to the disk and closes it.
func writeSync(f *os.File, data []byte) error {
	_, err := f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// writeError is the failure to write a file; its path is told from the root.
func writeError(name string, err error) error {
	reason := err
	var p *fs.PathError
	var l *os.LinkError
	if errors.As(err, &p) {
		reason = p.Err
	} else if errors.As(err, &l) {
		reason = l.Err
	}
	e := fault.Wrap(reason, fault.IOFailed, "cannot write %s", fault.Quote(redacted(name)))
	e.Err = err
	return e
}
