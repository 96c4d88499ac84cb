package repo

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"

	"kxm/lib/fault"
)

// snapshot implements BlobFS over nodes.
type snapshot struct {
	ctx  context.Context
	r    *Repo
	root *node
}

// maxLinks is how many symbolic links one path may lead over, as in Linux.
const maxLinks = 40

// maxTarget bounds the target of a symbolic link, as paths are bounded.
const maxTarget = 4096

var (
	errIsFolder  = errors.New("is a folder")
	errNotLink   = errors.New("not a symbolic link")
	errNotFolder = errors.New("not a folder")
	errLinks     = errors.New("too many levels of symbolic links")
)

// walk finds the node that name leads to; a link in the last place is followed if
// follow says so.
func (s *snapshot) walk(name string, follow bool) (*node, error) {
	if !fs.ValidPath(name) {
		return nil, fs.ErrInvalid
	}
	stack := []*node{s.root}
	parts := strings.Split(name, "/")
	links := 0
	link := ""
	for len(parts) > 0 {
		part := parts[0]
		parts = parts[1:]
		at := stack[len(stack)-1]
		switch part {
		case "", ".":
			if !at.isFolder() {
				return nil, errNotFolder
			}
			continue
		case "..":
			if len(stack) == 1 {
				return nil, escapes(link)
			}
			stack = stack[:len(stack)-1]
			continue
		}
		if !at.isFolder() {
			return nil, fs.ErrNotExist
		}
		child, err := at.child(s.ctx, s.r, part)
		if err != nil {
			return nil, err
		}
		if child.mode == ModeSymlink && (follow || len(parts) > 0) {
			if links++; links > maxLinks {
				return nil, errLinks
			}
			target, err := s.target(child)
			if err != nil {
				return nil, err
			}
			if link = name; path.IsAbs(target) {
				return nil, escapes(link)
			}
			parts = append(strings.Split(target, "/"), parts...)
			continue
		}
		stack = append(stack, child)
	}
	return stack[len(stack)-1], nil
}

func escapes(name string) error {
	return fault.New(fault.PathEscapes, "symbolic link %s leads out of its folder", fault.Quote(name))
}

// target reads where a link leads.
func (s *snapshot) target(n *node) (string, error) {
	_, size, err := s.r.Header(s.ctx, n.id)
	if err != nil {
		return "", err
	}
	if size == 0 || size > maxTarget {
		return "", fault.New(fault.PathEscapes, "symbolic link %s has a target of %d bytes", fault.Quote(n.name), size)
	}
	data, err := s.r.Blob(s.ctx, n.id)
	return string(data), err
}

func failed(op, name string, err error) error { return &fs.PathError{Op: op, Path: name, Err: err} }

// Open implements fs.FS.
func (s *snapshot) Open(name string) (fs.File, error) {
	n, err := s.walk(name, true)
	if err != nil {
		return nil, failed("open", name, err)
	}
	if n.isFolder() {
		entries, err := s.entries(n)
		if err != nil {
			return nil, failed("open", name, err)
		}
		return &openFolder{info: folderInfo(n, path.Base(name)), name: name, entries: entries}, nil
	}
	data, err := s.r.Blob(s.ctx, n.id)
	if err != nil {
		return nil, failed("open", name, err)
	}
	return &openFile{info: fileInfo{name: path.Base(name), mode: fileMode(n.mode), size: int64(len(data))}, Reader: bytes.NewReader(data)}, nil
}

// ReadDir implements fs.ReadDirFS.
func (s *snapshot) ReadDir(name string) ([]fs.DirEntry, error) {
	n, err := s.walk(name, true)
	if err == nil && !n.isFolder() {
		err = errNotFolder
	}
	if err != nil {
		return nil, failed("readdir", name, err)
	}
	entries, err := s.entries(n)
	if err != nil {
		return nil, failed("readdir", name, err)
	}
	return entries, nil
}

func (s *snapshot) entries(n *node) ([]fs.DirEntry, error) {
	children, err := n.list(s.ctx, s.r)
	if err != nil {
		return nil, err
	}
	entries := make([]fs.DirEntry, len(children))
	for i, c := range children {
		entries[i] = dirEntry{s, c}
	}
	return entries, nil
}

// ReadFile implements fs.ReadFileFS; the caller owns the bytes.
func (s *snapshot) ReadFile(name string) ([]byte, error) {
	n, err := s.walk(name, true)
	if err == nil && n.isFolder() {
		err = errIsFolder
	}
	if err != nil {
		return nil, failed("read", name, err)
	}
	data, err := s.r.Blob(s.ctx, n.id)
	if err != nil {
		return nil, failed("read", name, err)
	}
	return data, nil
}

// Stat implements fs.StatFS.
func (s *snapshot) Stat(name string) (fs.FileInfo, error) { return s.info("stat", name, true) }

// Lstat implements fs.ReadLinkFS.
func (s *snapshot) Lstat(name string) (fs.FileInfo, error) { return s.info("lstat", name, false) }

func (s *snapshot) info(op, name string, follow bool) (fs.FileInfo, error) {
	n, err := s.walk(name, follow)
	if err != nil {
		return nil, failed(op, name, err)
	}
	info, err := s.nodeInfo(n, path.Base(name))
	if err != nil {
		return nil, failed(op, name, err)
	}
	return info, nil
}

func (s *snapshot) nodeInfo(n *node, name string) (fs.FileInfo, error) {
	if n.isFolder() {
		return folderInfo(n, name), nil
	}
	_, size, err := s.r.Header(s.ctx, n.id)
	if err != nil {
		return nil, err
	}
	return fileInfo{name: name, mode: fileMode(n.mode), size: size}, nil
}

// ReadLink implements fs.ReadLinkFS.
func (s *snapshot) ReadLink(name string) (string, error) {
	n, err := s.walk(name, false)
	if err == nil && n.mode != ModeSymlink {
		err = errNotLink
	}
	if err != nil {
		return "", failed("readlink", name, err)
	}
	target, err := s.target(n)
	if err != nil {
		return "", failed("readlink", name, err)
	}
	return target, nil
}

// Blob implements BlobFS.
func (s *snapshot) Blob(name string) (OID, bool) {
	n, err := s.walk(name, true)
	if err != nil || n.isFolder() {
		return "", false
	}
	return n.id, true
}

// Mode implements BlobFS.
func (s *snapshot) Mode(name string) (fs.FileMode, bool) {
	n, err := s.walk(name, true)
	if err != nil || n.isFolder() {
		return 0, false
	}
	return fileMode(n.mode), true
}

// fileMode is the mode that Git gives a file when it checks it out.
func fileMode(m Mode) fs.FileMode {
	switch m {
	case ModeExecutable:
		return 0o755
	case ModeSymlink:
		return fs.ModeSymlink | 0o777
	case ModeFolder, ModeSubmodule:
		return fs.ModeDir | 0o755
	}
	return 0o644
}

type fileInfo struct {
	name string
	mode fs.FileMode
	size int64
}

func folderInfo(n *node, name string) fileInfo { return fileInfo{name: name, mode: fileMode(n.mode)} }

func (i fileInfo) Name() string       { return i.name }
func (i fileInfo) Size() int64        { return i.size }
func (i fileInfo) Mode() fs.FileMode  { return i.mode }
func (i fileInfo) ModTime() time.Time { return time.Time{} }
func (i fileInfo) IsDir() bool        { return i.mode.IsDir() }
func (i fileInfo) Sys() any           { return nil }

// dirEntry finds out its size only when it is asked for.
type dirEntry struct {
	s *snapshot
	n *node
}

func (e dirEntry) Name() string               { return e.n.name }
func (e dirEntry) IsDir() bool                { return e.n.isFolder() }
func (e dirEntry) Type() fs.FileMode          { return fileMode(e.n.mode).Type() }
func (e dirEntry) Info() (fs.FileInfo, error) { return e.s.nodeInfo(e.n, e.n.name) }
func (e dirEntry) String() string             { return fs.FormatDirEntry(e) }

type openFile struct {
	info fileInfo
	*bytes.Reader
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *openFile) Close() error               { return nil }

type openFolder struct {
	info    fileInfo
	name    string
	entries []fs.DirEntry
}

func (f *openFolder) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *openFolder) Close() error               { return nil }
func (f *openFolder) Read([]byte) (int, error)   { return 0, failed("read", f.name, errIsFolder) }

// ReadDir implements fs.ReadDirFile.
func (f *openFolder) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 {
		n = len(f.entries)
	} else if len(f.entries) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(f.entries))
	entries := f.entries[:n:n]
	f.entries = f.entries[n:]
	return entries, nil
}
