//go:build unix

package repo

import (
	"io"
	"io/fs"
	"time"

	"golang.org/x/sys/unix"
)

// openRegular opens a file without following a link and without the runtime's
// poller, which knows nothing to wait for on a regular file. What is no regular
// file is left to the caller; so is every error, which os reports better.
func openRegular(name, base string) (fs.File, bool) {
	// O_NONBLOCK: opening a named pipe would wait for a writer.
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, false
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		_ = unix.Close(fd) // nothing was written through it
		return nil, false
	}
	return &rawFile{fd, rawInfo{base, &st}}, true
}

// rawFile is an open regular file.
type rawFile struct {
	fd   int
	info rawInfo
}

func (f *rawFile) Read(p []byte) (int, error) {
	for {
		n, err := unix.Read(f.fd, p)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return 0, &fs.PathError{Op: "read", Path: f.info.name, Err: err}
		case n == 0 && len(p) > 0:
			return 0, io.EOF
		}
		return n, nil
	}
}

func (f *rawFile) Stat() (fs.FileInfo, error) { return f.info, nil }

func (f *rawFile) Close() error { return unix.Close(f.fd) }

// rawInfo is what was known of a regular file when it was opened.
type rawInfo struct {
	name string
	st   *unix.Stat_t
}

func (i rawInfo) Name() string       { return i.name }
func (i rawInfo) Size() int64        { return i.st.Size }
func (i rawInfo) Mode() fs.FileMode  { return fs.FileMode(i.st.Mode & 0o777) }
func (i rawInfo) ModTime() time.Time { return time.Unix(i.st.Mtim.Unix()) }
func (i rawInfo) IsDir() bool        { return false }
func (i rawInfo) Sys() any           { return i.st }
