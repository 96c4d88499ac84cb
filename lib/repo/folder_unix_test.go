//go:build unix

package repo

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/fstest"

	"kxm/lib/kxmtest"
)

func TestFolderIsAFileSystem(t *testing.T) {
	dir := t.TempDir()
	kxmtest.WriteFiles(t, dir, map[string]string{"a.md": "a", "memory/b.md": "b", "memory/deep/c.md": ""})
	f, err := OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := fstest.TestFS(f, "a.md", "memory/b.md", "memory/deep/c.md"); err != nil {
		t.Fatal(err)
	}
}

func TestFolderFollowsLinksInsideOnly(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "kxm")
	kxmtest.WriteFiles(t, top, map[string]string{"outside.md": "no", "kxm/a.md": "yes", "kxm/real/b.md": "yes", "elsewhere/c.md": "no"})
	for name, target := range map[string]string{
		"in.md": "a.md", "out.md": "../outside.md", "absolute.md": filepath.Join(top, "outside.md"),
		"folder": "real", "away": "../elsewhere", "loop.md": "loop.md",
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.md"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time from what is known of the folders
		for _, name := range []string{"a.md", "in.md", "real/b.md", "folder/b.md"} {
			if data, err := fs.ReadFile(f, name); err != nil || string(data) != "yes" {
				t.Errorf("%s: %q, %v", name, data, err)
			}
		}
		for _, name := range []string{"out.md", "absolute.md", "away/c.md", "loop.md", "../outside.md", "/etc/passwd", "none.md"} {
			if data, err := fs.ReadFile(f, name); err == nil {
				t.Errorf("%s was read: %q", name, data)
			}
		}
	}
	if _, err := fs.ReadDir(f, "away"); err == nil {
		t.Error("a folder outside was listed")
	}
	if _, err := f.Open("none.md"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an absent file is %v", err)
	}
	if info, err := f.Lstat("in.md"); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("a link is %v, %v", info, err)
	}
	if target, err := f.ReadLink("out.md"); err != nil || target != "../outside.md" {
		t.Errorf("a link leads to %q, %v", target, err)
	}
}
