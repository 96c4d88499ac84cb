//go:build unix

package treehash

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"kxm/lib/fault"
)

// A pipe that nobody writes to must be refused without being opened, which would
// wait for ever.
func TestPipeOnDisk(t *testing.T) {
	dir := tree{"a": "1"}.write(t, cmp.Compare)
	must(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644))
	if _, err := Folder(os.DirFS(dir), nil); !fault.Is(err, fault.TreeRefused) {
		t.Errorf("got %v", err)
	}
}

// A name that is not UTF-8 is refused as a file, as a link and as a folder.
func TestNameThatIsNotUTF8(t *testing.T) {
	const name = "a\xffb"
	for what, write := range map[string]func(path string) error{
		"file":   func(path string) error { return os.WriteFile(path, nil, 0o644) },
		"folder": func(path string) error { return os.Mkdir(path, 0o755) },
		"link":   func(path string) error { return os.Symlink("a", path) },
	} {
		dir := t.TempDir()
		if err := write(filepath.Join(dir, name)); errors.Is(err, syscall.EILSEQ) {
			continue // a file system that holds no such name, as on macOS
		} else if err != nil {
			t.Fatal(err)
		}
		if _, err := Folder(os.DirFS(dir), nil); !fault.Is(err, fault.TreeRefused) {
			t.Errorf("%s: got %v", what, err)
		}
	}
}
