package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var at = time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)

// stage writes the files in the order given, with a mode and time of its own.
func stage(t *testing.T, names []string, mode fs.FileMode, modified time.Time) string {
	t.Helper()
	dir := t.TempDir()
	for _, top := range []string{"kxm-1-linux-amd64", "kxm-1-windows-amd64"} {
		for _, name := range names {
			file := filepath.Join(dir, top, filepath.FromSlash(name))
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o777), os.WriteFile(file, []byte("text of "+name+"\n"), mode), os.Chtimes(file, modified, modified)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

func released(t *testing.T, stage string) map[string]string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "a", "b")
	if err := release(stage, out, at); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, name := range []string{"SHA256SUMS", "kxm-1-linux-amd64.tar.gz", "kxm-1-windows-amd64.zip"} {
		data, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(data)
	}
	return files
}

var staged = []string{"LICENSE", "bin/kxm-b", "bin/kxm-a", "share/man/man1/kxm-a.1", "README.md"}

// listed is what an archive must hold, in this order.
var listed = []string{
	"drwxr-xr-x kxm-1/", "-rw-r--r-- kxm-1/LICENSE", "-rw-r--r-- kxm-1/README.md", "drwxr-xr-x kxm-1/bin/", "-rwxr-xr-x kxm-1/bin/kxm-a", "-rwxr-xr-x kxm-1/bin/kxm-b",
	"drwxr-xr-x kxm-1/share/", "drwxr-xr-x kxm-1/share/man/", "drwxr-xr-x kxm-1/share/man/man1/", "-rw-r--r-- kxm-1/share/man/man1/kxm-a.1",
}

func TestSameFilesSameBytes(t *testing.T) {
	first := released(t, stage(t, staged, 0o600, at.Add(time.Hour)))
	reversed := slices.Clone(staged)
	slices.Reverse(reversed)
	second := released(t, stage(t, reversed, 0o755, at.Add(-99999*time.Hour)))
	var sums strings.Builder
	for _, name := range []string{"kxm-1-linux-amd64.tar.gz", "kxm-1-windows-amd64.zip"} {
		if first[name] != second[name] {
			t.Errorf("%s differs", name)
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256([]byte(first[name])), name)
	}
	if first["SHA256SUMS"] != sums.String() || second["SHA256SUMS"] != sums.String() {
		t.Errorf("SHA256SUMS is\n%swant\n%s", first["SHA256SUMS"], &sums)
	}
}

func TestTarball(t *testing.T) {
	zr, err := gzip.NewReader(strings.NewReader(released(t, stage(t, staged, 0o600, at.Add(time.Hour)))["kxm-1-linux-amd64.tar.gz"]))
	if err != nil {
		t.Fatal(err)
	}
	if zr.Name != "" || zr.Comment != "" || !zr.ModTime.IsZero() || zr.OS != 255 || len(zr.Extra) > 0 {
		t.Errorf("the gzip header says %+v", zr.Header)
	}
	var got []string
	tr := tar.NewReader(zr)
	for {
		h, err := tr.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Uid != 0 || h.Gid != 0 || h.Uname != "" || h.Gname != "" || !h.ModTime.Equal(at) || h.Format != tar.FormatUSTAR || len(h.PAXRecords) > 0 {
			t.Errorf("%+v", h)
		}
		got = append(got, line(h.FileInfo().Mode(), strings.Replace(h.Name, "-linux-amd64", "", 1)))
		text(t, h.Name, tr, h.FileInfo().IsDir())
	}
	if !slices.Equal(got, listed) {
		t.Errorf("%q, want %q", got, listed)
	}
}

func TestZip(t *testing.T) {
	data := released(t, stage(t, staged, 0o600, at.Add(time.Hour)))["kxm-1-windows-amd64.zip"]
	zr, err := zip.NewReader(strings.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range zr.File {
		if !f.Modified.Equal(at) || f.Comment != "" {
			t.Errorf("%+v", f.FileHeader)
		}
		got = append(got, line(f.Mode(), strings.Replace(f.Name, "-windows-amd64", "", 1)))
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text(t, f.Name, r, f.Mode().IsDir())
	}
	if !slices.Equal(got, listed) {
		t.Errorf("%q, want %q", got, listed)
	}
	// The format knows no time before 1980.
	var early bytes.Buffer
	if err := zipped(&early, filepath.Join(stage(t, staged, 0o600, at), "kxm-1-windows-amd64"), time.Unix(0, 0).UTC()); err != nil {
		t.Fatal(err)
	}
	zr, err = zip.NewReader(bytes.NewReader(early.Bytes()), int64(early.Len()))
	if err != nil || !zr.File[0].Modified.Equal(firstZipTime) {
		t.Errorf("%v, %v", err, zr.File[0].Modified)
	}
}

func line(mode fs.FileMode, name string) string { return mode.String() + " " + name }

// text wants an entry's bytes to be those of its file.
func text(t *testing.T, name string, r io.Reader, folder bool) {
	t.Helper()
	got, err := io.ReadAll(r)
	_, rel, _ := strings.Cut(name, "/")
	want := "text of " + rel + "\n"
	if folder {
		want = ""
	}
	if err != nil || string(got) != want {
		t.Errorf("%s: %v, %q", name, err, got)
	}
}

func TestRefused(t *testing.T) {
	if err := release(t.TempDir(), t.TempDir(), at); err == nil || !strings.Contains(err.Error(), "nothing is staged") {
		t.Errorf("an empty stage: %v", err)
	}
	dir := stage(t, staged, 0o600, at)
	if err := os.Symlink("LICENSE", filepath.Join(dir, "kxm-1-linux-amd64", "link")); err != nil {
		t.Fatal(err)
	}
	if err := release(dir, t.TempDir(), at); err == nil || !strings.Contains(err.Error(), "link is neither a file nor a folder") {
		t.Errorf("a link: %v", err)
	}
}
