package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io/fs"
	"os"
	"path/filepath"

	"kxm/lib/cli"
	"kxm/lib/fault"
)

// file is what is said of a file that was written.
type file struct {
	Schema string `json:"schema"`
	Path   string `json:"path"`
	Bytes  int64  `json:"bytes"`
	Width  int    `json:"width,omitempty"`
	Height int    `json:"height,omitempty"`
	Cut    bool   `json:"cut,omitempty"` // the page is higher than a picture can be
	SHA256 string `json:"sha256"`
	URL    string `json:"url,omitempty"`
	Status int    `json:"status,omitempty"`
	MIME   string `json:"mime,omitempty"`
}

// destination takes -o from the answer: it names where the data goes, and the answer
// tells of it.
func destination(s *cli.Session, what string) (string, error) {
	to := s.Globals.Output
	if to == "" {
		return "", fault.New(fault.Usage, "no file is named for the %s", what).WithHint("-o FILE, or -o - for standard output")
	}
	s.Globals.Output = ""
	return to, nil
}

// save writes data to a destination and tells of it; "-" is standard output, which then
// holds nothing else.
func (d *desk) save(to string, data []byte, told *file) error {
	f, err := d.fill(to, data)
	if f == nil || err != nil {
		return err
	}
	return d.keep(f, to, told)
}

// fill begins a file that holds data. It returns nil for standard output, which has the
// data then.
func (d *desk) fill(to string, data []byte) (*private, error) {
	if to == "-" {
		d.session.Write(data)
		return nil, nil
	}
	f, err := createPrivate(d.session.Path(to))
	if err != nil {
		return nil, err
	}
	if _, err := f.Write(data); err != nil {
		return nil, errors.Join(err, f.abandon())
	}
	return f, nil
}

// keep puts a file into its place and tells of it.
func (d *desk) keep(f *private, to string, told *file) error {
	if err := f.commit(); err != nil {
		return err
	}
	told.Schema, told.Path, told.Bytes, told.SHA256 = "kxm.steel-file.v1", to, f.n, hex.EncodeToString(f.sum.Sum(nil))
	return d.emit(told)
}

// private is a file that only its owner can read, and that is in its place wholly or
// not at all.
type private struct {
	path string
	tmp  *os.File
	sum  hash.Hash
	n    int64
}

// createPrivate begins a file. What is no regular file in its place, such as a symbolic
// link, is refused.
func createPrivate(path string) (*private, error) {
	info, err := os.Lstat(path)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return nil, fault.New(fault.Usage, "%s is no file", fault.Quote(path)).WithHint("name another one; links are not followed")
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, unwritten(err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".kxm-steel-*.tmp") // with mode 0600
	if err != nil {
		return nil, unwritten(err)
	}
	return &private{path: path, tmp: tmp, sum: sha256.New()}, nil
}

func unwritten(err error) error { return fault.Wrap(err, fault.IOFailed, "cannot write the file") }

// Write adds to the file.
func (f *private) Write(p []byte) (int, error) {
	n, err := f.tmp.Write(p)
	f.sum.Write(p[:n])
	f.n += int64(n)
	if err != nil {
		return n, unwritten(err)
	}
	return n, nil
}

// commit puts the file into its place.
func (f *private) commit() error {
	err := errors.Join(f.tmp.Sync(), f.tmp.Close())
	if err == nil {
		err = os.Rename(f.tmp.Name(), f.path)
	}
	if err != nil {
		return unwritten(errors.Join(err, os.Remove(f.tmp.Name())))
	}
	return nil
}

// abandon leaves nothing behind.
func (f *private) abandon() error {
	if err := errors.Join(f.tmp.Close(), os.Remove(f.tmp.Name())); err != nil {
		return unwritten(err)
	}
	return nil
}
