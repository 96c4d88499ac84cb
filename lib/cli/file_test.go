//go:build unix

package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// folder makes files and symbolic links ("-> target") and returns their folder.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, link := strings.CutPrefix(text, "-> "); link {
			err = os.Symlink(target, path)
		} else {
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// wantTree compares all files and links below dir.
func wantTree(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if d.Type()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(path)
			got[name] = "-> " + target
			return err
		}
		data, err := os.ReadFile(path)
		got[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s is there", name)
		}
	}
	for name, text := range want {
		if is, ok := got[name]; !ok || is != text {
			t.Errorf("%s holds %q, want %q (it is there: %v)", name, is, text, ok)
		}
	}
}

func TestReplaceFile(t *testing.T) {
	for _, c := range []struct {
		name         string
		before, then map[string]string
		path         string
	}{
		{"a new file", nil, map[string]string{"f": "new"}, "f"},
		{"an old file", map[string]string{"f": "old and longer", "g": "g"}, map[string]string{"f": "new", "g": "g"}, "f"},
		{"a link", map[string]string{"l": "-> d/f", "d/f": "old"}, map[string]string{"l": "-> d/f", "d/f": "new"}, "l"},
		{"a link to a link", map[string]string{"l": "-> d/m", "d/m": "-> ../f", "f": "old"}, map[string]string{"l": "-> d/m", "d/m": "-> ../f", "f": "new"}, "l"},
		{"a link to nothing yet", map[string]string{"l": "-> d/f", "d/g": "g"}, map[string]string{"l": "-> d/f", "d/f": "new", "d/g": "g"}, "l"},
		{"a link behind a linked folder", map[string]string{"s": "-> r/d", "r/d/l": "-> ../f", "r/f": "old"}, map[string]string{"s": "-> r/d", "r/d/l": "-> ../f", "r/f": "new"}, "s/l"},
		{"a name like a temporary one", map[string]string{".f.1-0.tmp": "x"}, map[string]string{".f.1-0.tmp": "x", "f": "new"}, "f"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := folder(t, c.before)
			if err := ReplaceFile(filepath.Join(dir, c.path), []byte("new")); err != nil {
				t.Fatal(err)
			}
			wantTree(t, dir, c.then)
		})
	}
}

func TestReplaceFileKeepsTheMode(t *testing.T) {
	old := syscall.Umask(0o027)
	defer syscall.Umask(old)
	dir := folder(t, map[string]string{"private": "x", "open": "x", "program": "x", "locked": "x"})
	for name, mode := range map[string]fs.FileMode{"private": 0o600, "open": 0o666, "program": 0o755, "locked": 0o444, "new": 0} {
		path := filepath.Join(dir, name)
		if mode != 0 {
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
		} else {
			mode = 0o640 // what the umask leaves
		}
		if err := ReplaceFile(path, []byte("y")); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode() != mode {
			t.Errorf("%s has mode %v, want %v (%v)", name, info.Mode(), mode, err)
		}
	}
}

// A reader that has the file open sees the old bytes to the end.
func TestReplaceFileIsOneStep(t *testing.T) {
	dir := folder(t, map[string]string{"f": "old"})
	reader, err := os.Open(filepath.Join(dir, "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := ReplaceFile(filepath.Join(dir, "f"), []byte("new")); err != nil {
		t.Fatal(err)
	}
	text := make([]byte, 10)
	if n, _ := reader.Read(text); string(text[:n]) != "old" {
		t.Errorf("%q", text[:n])
	}
}

func TestReplaceFileFailsWithoutATrace(t *testing.T) {
	dir := folder(t, map[string]string{"f": "old", "d/g": "g", "circle": "-> circle"})
	unwritable := filepath.Join(dir, "d", "f")
	if os.Geteuid() == 0 {
		unwritable = "/proc/kxm-test" // where root may not write either
	} else {
		if err := os.Chmod(filepath.Join(dir, "d"), 0o555); err != nil {
			t.Fatal(err)
		}
		defer os.Chmod(filepath.Join(dir, "d"), 0o755)
	}
	for path, want := range map[string]error{
		filepath.Join(dir, "f", "below"): syscall.ENOTDIR, filepath.Join(dir, "absent", "x"): fs.ErrNotExist,
		filepath.Join(dir, "d"): syscall.EISDIR, filepath.Join(dir, "circle"): syscall.ELOOP,
		filepath.Join(dir, strings.Repeat("n", 255)): syscall.ENAMETOOLONG, unwritable: nil,
	} {
		if err := ReplaceFile(path, []byte("new")); err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
	}
	wantTree(t, dir, map[string]string{"f": "old", "d/g": "g", "circle": "-> circle"})
}

// A write that fails half way leaves the old file, and nothing beside it.
func TestReplaceFileOnAFullDisk(t *testing.T) {
	for name, before := range map[string]map[string]string{"an old file": {"f": "old"}, "a new file": {}} {
		t.Run(name, func(t *testing.T) {
			cmd := child(t, "big into a small file", "do", "-o", "f")
			cmd.Dir = folder(t, before)
			status, stdout, stderr := run(t, cmd)
			if status.ExitStatus() != 3 || stdout != "" || stderr != "tool: cannot write \"f\": file too large [io_failed]\n" {
				t.Errorf("status %d, %q, %q", status.ExitStatus(), stdout, stderr)
			}
			wantTree(t, cmd.Dir, before)
		})
	}
}

func TestOutputFile(t *testing.T) {
	dir := folder(t, map[string]string{"sub/x": "x", "f": "old"})
	w := &world{dir: dir, job: jobs["answer"]}
	w.want(t, 0, w.run(t, "do", "-o", "f"), "", "")
	w.want(t, 0, w.run(t, "do", "--output=sub/x"), "", "")
	w.want(t, 0, w.run(t, "-C", "sub", "do", "-o", "y"), "", "") // below the folder of -C
	wantTree(t, dir, map[string]string{"f": "answer\n", "sub/x": "answer\n", "sub/y": "answer\n"})

	// An empty answer is one; a failure without an answer is none.
	w.job = jobs["nothing"]
	w.want(t, 0, w.run(t, "do", "-o", "f"), "", "")
	w.job = jobs["panic"]
	w.want(t, 3, w.run(t, "do", "-o", "sub/x"), "", "tool: no rules [redaction_unavailable]\n")
	w.want(t, 2, w.run(t, "no-such", "--verb", "-o", "sub/x"), "", w.Stderr.String())
	w.job = jobs["refuse"]
	w.want(t, 1, w.run(t, "do", "-o", "sub/y"), "", "tool: findings [memory_check_failed]\n")
	wantTree(t, dir, map[string]string{"f": "", "sub/x": "answer\n", "sub/y": "finding\n"})

	w.job = jobs["answer"]
	w.want(t, 3, w.run(t, "do", "-o", "absent/f"), "", "tool: cannot write \"absent/f\": no such file or directory [io_failed]\n")
	w.want(t, 3, w.run(t, "do", "-o", "sub"), "", "tool: cannot write \"sub\": is a directory [io_failed]\n")
	w.job = jobs["refuse"]
	w.want(t, 3, w.run(t, "do", "-o", "absent/f", "--errors=json"), "",
		`{"error":{"code":"memory_check_failed","message":"findings"}}`+"\n"+
			`{"error":{"code":"io_failed","message":"cannot write \"absent/f\": no such file or directory"}}`+"\n")

	// A named pipe is written, not replaced.
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	read := make(chan string)
	go func() {
		data, err := os.ReadFile(pipe)
		if err != nil {
			t.Error(err)
		}
		read <- string(data)
	}()
	w.job = jobs["answer"]
	w.want(t, 0, w.run(t, "do", "-o", "pipe"), "", "")
	if got := <-read; got != "answer\n" {
		t.Errorf("%q came out of the pipe", got)
	}
	if info, err := os.Lstat(pipe); err != nil || info.Mode().Type() != fs.ModeNamedPipe {
		t.Errorf("the pipe is %v (%v)", info.Mode(), err)
	}
}
