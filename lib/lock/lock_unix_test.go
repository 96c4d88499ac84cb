//go:build unix

package lock

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAFileThatIsReplacedIsLockedAnew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := Try(path)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Release()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	second, err := Try(path)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Release()
	if same, err := stillAt(first.File(), path); same || err != nil {
		t.Errorf("the removed file is still at its path: %v, %v", same, err)
	}
	if same, err := stillAt(second.File(), path); !same || err != nil {
		t.Errorf("the new file is not at its path: %v, %v", same, err)
	}
}
