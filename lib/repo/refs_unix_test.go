//go:build unix

package repo

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"kxm/lib/fault"
	"kxm/lib/kxmtest"
)

func TestRefFilesThatAreNoFiles(t *testing.T) {
	dir := kxmtest.NewRepo(t, map[string]string{"a": "a\n"})
	head := kxmtest.Git(t, dir, "rev-parse", "HEAD")
	refs := filepath.Join(dir, ".git/refs/kxm")
	if err := os.MkdirAll(refs, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(refs, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("refs/heads/main", filepath.Join(refs, "old-symbolic")); err != nil {
		t.Fatal(err)
	}
	r := open(t, dir, "")
	if _, ok, err := r.Ref(t.Context(), "refs/kxm/pipe"); ok || !fault.Is(err, fault.RefBroken) {
		t.Errorf("a pipe: %v, %v", ok, err)
	}
	if id, ok, err := r.Ref(t.Context(), "refs/kxm/old-symbolic"); err != nil || !ok || string(id) != head {
		t.Errorf("a symbolic ref that is a link: %s, %v, %v", id, ok, err)
	}
	if _, err := r.Resolve(t.Context(), "refs/kxm/pipe"); !fault.Is(err, fault.RefBroken) {
		t.Errorf("a damaged ref as a revision: %v", err)
	}
}
