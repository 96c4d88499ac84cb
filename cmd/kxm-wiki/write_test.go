package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"kxm/lib/fault"
	"kxm/lib/wiki"
)

// folder makes a folder of files and the target for it.
func folder(t *testing.T, files map[string]string) *target {
	t.Helper()
	to := &target{root: t.TempDir(), folder: "a/b"}
	if err := os.MkdirAll(filepath.Join(to.root, "a", "b"), 0o777); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(to.root, "a", "b", name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if to.files, err = to.read(".md"); err != nil {
		t.Fatal(err)
	}
	return to
}

// content returns all files of the folder.
func (t *target) content(tb testing.TB) map[string]string {
	tb.Helper()
	entries, err := os.ReadDir(filepath.Join(t.root, "a", "b"))
	if err != nil {
		tb.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(t.root, "a", "b", e.Name()))
		if err != nil {
			tb.Fatal(err)
		}
		all[e.Name()] = string(data)
	}
	return all
}

var (
	before = map[string]string{"changed.md": "old", "removed.md": "old", "kept.md": "kept", "notes.txt": "mine"}
	after  = map[string]string{"changed.md": "new", "made.md": "new", "kept.md": "kept", "notes.txt": "mine"}
)

func changes() *wiki.Plan {
	return &wiki.Plan{Write: []wiki.Page{{Name: "changed.md", Content: []byte("new")}, {Name: "made.md", Content: []byte("new")}}, Remove: []string{"removed.md"}}
}

func TestPlansAreCarriedOut(t *testing.T) {
	to := folder(t, before)
	if err := writeAll([]*writing{{target: to, plan: changes()}, {target: &target{root: "/nonexistent/folder"}, plan: &wiki.Plan{}}}); err != nil {
		t.Fatal(err)
	}
	if got := to.content(t); !maps.Equal(got, after) {
		t.Errorf("the folder holds %v", got)
	}
}

// TestNothingIsHalfDone fails each step that can fail, in the second of two folders.
func TestNothingIsHalfDone(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(t *testing.T, to *target, at string)
		code  fault.Code
	}{
		"changed since": {func(t *testing.T, to *target, at string) {
			if at == "start" {
				write(t, to, "changed.md", "newer")
			}
		}, fault.FileChanged},
		"made since": {func(t *testing.T, to *target, at string) {
			if at == "start" {
				write(t, to, "made.md", "newer")
			}
		}, fault.FileChanged},
		"removed since": {func(t *testing.T, to *target, at string) {
			if at == "start" {
				if err := os.Remove(filepath.Join(to.root, "a", "b", "removed.md")); err != nil {
					t.Fatal(err)
				}
			}
		}, fault.FileChanged},
		"no folder can be made": {func(t *testing.T, to *target, at string) {
			if at == "start" {
				to.root = filepath.Join(to.root, "a", "b", "kept.md")
			}
		}, fault.IOFailed},
		"a new file cannot take its place": {func(t *testing.T, to *target, at string) {
			if at == "ready" {
				temps, err := filepath.Glob(filepath.Join(to.root, "a", "b", ".made.md.*"))
				if err != nil || len(temps) != 1 {
					t.Fatal(temps, err)
				}
				if err := os.Remove(temps[0]); err != nil {
					t.Fatal(err)
				}
			}
		}, fault.IOFailed},
	} {
		t.Run(name, func(t *testing.T) {
			first, second := folder(t, before), folder(t, before)
			where := second.root
			c.spoil(t, second, "start")
			jobs := []*writing{{target: first, plan: changes()}, {target: second, plan: changes()}}
			steps := slices.Insert(slices.Clone(writeSteps), len(writeSteps)-1, func(w *writing) error {
				if w.target == second {
					c.spoil(t, second, "ready")
				}
				return nil
			})
			if err := carryOut(jobs, steps); fault.CodeOf(err) != c.code {
				t.Errorf("the error is %v", err)
			}
			if got := first.content(t); !maps.Equal(got, before) {
				t.Errorf("the first folder holds %v", got)
			}
			second.root = where
			got := second.content(t)
			for name, text := range got {
				if text == "new" || filepath.Ext(name) == ".tmp" {
					t.Errorf("the second folder holds %s: %s", name, text)
				}
			}
		})
	}
}

func write(t *testing.T, to *target, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(to.root, "a", "b", name), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestALinkOutOfTheFolderIsNotFollowed holds that pages stay below the folder that was
// named.
func TestALinkOutOfTheFolderIsNotFollowed(t *testing.T) {
	outside := t.TempDir()
	to := &target{root: t.TempDir(), folder: wiki.Folder}
	if err := os.Symlink(outside, filepath.Join(to.root, ".kxm")); err != nil {
		t.Skip(err)
	}
	err := writeAll([]*writing{{target: to, plan: changes()}})
	if entries, _ := os.ReadDir(outside); err == nil || len(entries) > 0 {
		t.Errorf("error %v, outside holds %v", err, entries)
	}
}
