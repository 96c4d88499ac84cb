package main

import (
	"archive/tar"
	"archive/zip"
	"compress/flate"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// entry is a file or folder of an archive. Only its name and bytes come from the disk:
// owner, mode and time are the archive's.
type entry struct {
	name   string // slash path that begins with the archive's own folder
	file   string // where its bytes are; empty for a folder
	size   int64
	isTool bool // a program
}

func (e entry) mode() fs.FileMode {
	if e.file == "" || e.isTool {
		return 0o755
	}
	return 0o644
}

// entries lists a folder in the order of its names' bytes, which is WalkDir's, and
// refuses what an archive of every system cannot hold.
func entries(dir string) ([]entry, error) {
	var all []entry
	top := filepath.Base(dir)
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			all = append(all, entry{name: path.Join(top, rel) + "/"})
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is neither a file nor a folder", rel)
		}
		all = append(all, entry{path.Join(top, rel), file, info.Size(), strings.HasPrefix(rel, "bin/")})
		return nil
	})
	return all, err
}

// tarball writes a .tar.gz: USTAR, which holds nothing but what is set here, owned by
// nobody in particular, behind a gzip header without a name and a time.
func tarball(w io.Writer, dir string, at time.Time) error {
	zw, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	tw := tar.NewWriter(zw)
	err = each(dir, func(e entry) (io.Writer, error) {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: e.name, Size: e.size, Mode: int64(e.mode()), ModTime: at, Format: tar.FormatUSTAR}
		if e.file == "" {
			h.Typeflag = tar.TypeDir
		}
		return tw, tw.WriteHeader(h)
	})
	if err != nil {
		return err
	}
	if err := tw.Close(); err != nil {
		return err
	}
	return zw.Close()
}

// firstZipTime is the first that the format's own field can hold.
var firstZipTime = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// zipped writes a .zip.
func zipped(w io.Writer, dir string, at time.Time) error {
	if at.Before(firstZipTime) {
		at = firstZipTime
	}
	zw := zip.NewWriter(w)
	zw.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, flate.BestCompression)
	})
	err := each(dir, func(e entry) (io.Writer, error) {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: at}
		h.SetMode(e.mode())
		if e.file == "" {
			h.Method = zip.Store
			h.SetMode(fs.ModeDir | e.mode())
		}
		return zw.CreateHeader(h)
	})
	if err != nil {
		return err
	}
	return zw.Close()
}

// each begins an entry for every file and folder and copies the files' bytes.
func each(dir string, begin func(entry) (io.Writer, error)) error {
	all, err := entries(dir)
	if err != nil {
		return err
	}
	for _, e := range all {
		w, err := begin(e)
		if err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
		if e.file == "" {
			continue
		}
		f, err := os.Open(e.file)
		if err != nil {
			return err
		}
		_, err = io.Copy(w, f)
		f.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
	}
	return nil
}
