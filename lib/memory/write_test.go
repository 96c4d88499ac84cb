package memory

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"kxm/lib/fault"
	"kxm/lib/kxmtest"
)

// TestReplaceFilesIsAllOrNothing holds that a file that cannot be prepared leaves
// the others as they were.
func TestReplaceFilesIsAllOrNothing(t *testing.T) {
	dir := t.TempDir()
	kxmtest.WriteFiles(t, dir, map[string]string{"a.md": "a"})
	root := openRoot(t, dir)
	err := replaceFiles(root, []replacement{
		{"a.md", []byte("a"), []byte("b"), 0o644},
		{"missing/b.md", []byte("b"), []byte("c"), 0o644},
	})
	if !fault.Is(err, fault.IOFailed) || !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), `cannot write "missing/b.md"`) {
		t.Errorf("got %v", err)
	}
	err = replaceFiles(root, []replacement{{"a.md", []byte("a"), []byte("b"), 0o644}, {"b.md", []byte("b"), []byte("c"), 0o644}})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if got := read(t, dir, "a.md"); got != "a" {
		t.Errorf("a.md became %q", got)
	}
	noTemps(t, dir)
}

// TestCreateFileNeverReplaces holds both ways of creating a file: by a hard link,
// and in place where the file system has none.
func TestCreateFileNeverReplaces(t *testing.T) {
	for name, create := range map[string]func(dir string) error{
		"link":     func(dir string) error { return createFile(openRoot(t, dir), "a.md", []byte("new")) },
		"in place": func(dir string) error { return createInPlace(openRoot(t, dir), "a.md", []byte("new")) },
	} {
		dir := t.TempDir()
		if err := create(dir); err != nil || read(t, dir, "a.md") != "new" {
			t.Errorf("%s: %v", name, err)
		}
		kxmtest.WriteFiles(t, dir, map[string]string{"a.md": "old"})
		if err := create(dir); !errors.Is(err, fs.ErrExist) || read(t, dir, "a.md") != "old" {
			t.Errorf("%s: %v", name, err)
		}
		noTemps(t, dir)
	}
}
