//go:build unix

package eventlog

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"kxm/lib/fault"
	"kxm/lib/kxmtest"
)

// TestAReadOnlyRepository: reading works, and writing says why it does not. Root may
// write anywhere, so as root another user does it.
func TestAReadOnlyRepository(t *testing.T) {
	base := t.TempDir()
	dir, self := filepath.Join(base, "repo"), filepath.Join(base, "writer")
	kxmtest.Git(t, base, "init", "-q", dir)
	w := newEvent("p", "a", at(1), "x")
	appendAll(t, openLog(t, dir, ""), w)
	program, err := os.ReadFile(os.Args[0])
	if err == nil {
		err = os.WriteFile(self, program, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	as := &syscall.SysProcAttr{}
	uid := os.Geteuid()
	if uid == 0 {
		uid = 65534
		as.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid), NoSetGroups: true}
		// What holds the folders of the tests is closed to others.
		for _, open := range []string{base, filepath.Dir(base)} {
			if err := os.Chmod(open, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	each := func(fn func(path string, d fs.DirEntry) error) {
		t.Helper()
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return fn(path, d)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	each(func(path string, _ fs.DirEntry) error { return os.Chown(path, uid, -1) })
	try := func(times int, extra ...string) (ids []string, status int, stderr string) {
		t.Helper()
		said, err := os.CreateTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		p := newWriter(t, dir, times, append(extra, "HOME="+base)...)
		p.cmd.Path, p.cmd.SysProcAttr, p.cmd.Stderr = self, as, said
		p.start(t)
		ids, _ = p.wait() // its status is asked for
		data, err := os.ReadFile(said.Name())
		if err != nil {
			t.Fatal(err)
		}
		return ids, p.cmd.ProcessState.ExitCode(), string(data)
	}
	if ids, status, stderr := try(1); len(ids) != 1 || status != 0 {
		t.Fatalf("before: %v, status %d, %s", ids, status, stderr)
	}
	for _, closed := range []string{"", "refs", "objects", "kxm"} {
		var changed []string
		each(func(path string, d fs.DirEntry) error {
			if !strings.HasPrefix(path, filepath.Join(dir, ".git", closed)) {
				return nil
			}
			st, err := d.Info()
			if err != nil {
				return err
			}
			changed = append(changed, path)
			return os.Chmod(path, st.Mode().Perm()&^0o222)
		})
		ids, status, stderr := try(1, "KXM_LOG_READ=1")
		if len(ids) != 1 || ids[0] != w.ID {
			t.Errorf("%q closed: read %v", closed, ids)
		}
		if status != fault.ExitFailed || !strings.Contains(stderr, "permission denied") {
			t.Errorf("%q closed: status %d, %s", closed, status, stderr)
		}
		if got := len(all(t, snapshot(t, openLog(t, dir, "", "SUDO_UID=65534")))); got != 2 {
			t.Errorf("%q closed: %d events", closed, got)
		}
		for _, path := range changed {
			if err := os.Chmod(path, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	if ids, status, stderr := try(1); len(ids) != 1 || status != 0 {
		t.Errorf("after: %v, status %d, %s", ids, status, stderr)
	}
}
