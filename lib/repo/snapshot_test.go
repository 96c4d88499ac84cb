package repo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"kxm/lib/fault"
	"kxm/lib/kxmtest"
)

// TestLinksInSnapshots follows links of all kinds, in a commit and in the index.
func TestLinksInSnapshots(t *testing.T) {
	dir := kxmtest.NewRepo(t, map[string]string{
		"root/a/b/file": "file\n", "root/other/x": "x\n", "outside": "outside\n", "real/kxm/x": "x\n",
	})
	links := map[string]string{
		"root/to-file": "a/b/file", "root/to-folder": "a/b", "root/a/up": "../other/x", "root/a/b/far": "../../to-folder/file",
		"root/dots": "./a/.././other/x", "root/slash": "other/", "root/chain": "to-file",
		"root/out": "../outside", "root/absolute": "/etc/passwd", "root/out-and-in": "../root/other/x", "root/a/out": "../../outside",
		"root/loop": "loop", "root/loop-a": "loop-b", "root/loop-b": "loop-a", "root/dangling": "nothing", "root/through-file": "other/x/y", "root/file-slash": "other/x/",
		"linked-root": "root", "linked-parent": "real",
	}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	kxmtest.Git(t, dir, "add", "-A")
	kxmtest.Git(t, dir, "commit", "-q", "-m", "links")
	r := open(t, dir, "")
	head, _, err := r.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for kind, at := range map[string]func(prefix string) (BlobFS, error){
		"commit": func(prefix string) (BlobFS, error) { return r.CommitFS(t.Context(), head, prefix) },
		"index":  func(prefix string) (BlobFS, error) { return r.IndexFS(t.Context(), prefix) },
	} {
		fsys := must(at("root"))(t)
		for name, want := range map[string]string{
			"to-file": "file\n", "to-folder/file": "file\n", "a/up": "x\n", "a/b/far": "file\n", "to-folder/far": "file\n", "dots": "x\n", "slash/x": "x\n", "chain": "file\n",
		} {
			if data, err := fsys.ReadFile(name); err != nil || string(data) != want {
				t.Errorf("%s: %s: %q, %v", kind, name, data, err)
			}
			if id, ok := fsys.Blob(name); !ok || id != r.HashBlob([]byte(want)) {
				t.Errorf("%s: %s: blob %s, %v", kind, name, id, ok)
			}
			if info, err := fsys.Stat(name); err != nil || info.Size() != int64(len(want)) || !info.Mode().IsRegular() {
				t.Errorf("%s: %s: %v, %v", kind, name, info, err)
			}
		}
		for _, name := range []string{"out", "absolute", "out-and-in", "a/out"} {
			_, err := fsys.ReadFile(name)
			var p *fs.PathError
			if !fault.Is(err, fault.PathEscapes) || !errors.As(err, &p) || p.Path != name {
				t.Errorf("%s: %s: %v", kind, name, err)
			}
			if info, err := fsys.Lstat(name); err != nil || info.Mode().Type() != fs.ModeSymlink || info.Size() != int64(len(links["root/"+name])) {
				t.Errorf("%s: lstat %s: %v, %v", kind, name, info, err)
			}
			if target, err := fsys.ReadLink(name); err != nil || target != links["root/"+name] {
				t.Errorf("%s: readlink %s: %q, %v", kind, name, target, err)
			}
		}
		for name, want := range map[string]error{
			"loop": errLinks, "loop-a": errLinks, "dangling": fs.ErrNotExist, "through-file": fs.ErrNotExist, "file-slash": errNotFolder,
			"a": errIsFolder, ".": errIsFolder, "to-folder": errIsFolder, "../outside": fs.ErrInvalid, "/a": fs.ErrInvalid, "": fs.ErrInvalid, "a/": fs.ErrInvalid,
		} {
			if _, err := fsys.ReadFile(name); !errors.Is(err, want) {
				t.Errorf("%s: %q: %v, want %v", kind, name, err, want)
			}
			if _, ok := fsys.Blob(name); ok {
				t.Errorf("%s: %q has a blob", kind, name)
			}
		}
		if _, err := fsys.ReadLink("a/b/file"); !errors.Is(err, errNotLink) {
			t.Errorf("%s: readlink of a file: %v", kind, err)
		}
		if _, err := fsys.ReadDir("to-file"); !errors.Is(err, errNotFolder) {
			t.Errorf("%s: readdir of a file: %v", kind, err)
		}

		for _, prefix := range []string{"linked-root", "linked-parent/kxm", "../x", "/x"} {
			if _, err := at(prefix); !fault.Is(err, fault.PathEscapes) {
				t.Errorf("%s: folder %q: %v", kind, prefix, err)
			}
		}
		for _, prefix := range []string{"outside", "none", "none/at/all", "outside/x"} {
			if entries, err := must(at(prefix))(t).ReadDir("."); err != nil || len(entries) != 0 {
				t.Errorf("%s: folder %q: %v, %v", kind, prefix, entries, err)
			}
		}
		real := must(at("real/kxm"))(t)
		if err := fstest.TestFS(real, "x"); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// TestHostileTrees reads trees that no git would check out.
func TestHostileTrees(t *testing.T) {
	dir := kxmtest.NewRepo(t, map[string]string{"a": "a\n"})
	blob := kxmtest.Git(t, dir, "rev-parse", "HEAD:a")
	raw := rawID(OID(blob))
	tree := func(entries ...string) OID {
		var b strings.Builder
		for _, e := range entries {
			b.WriteString(e + "\x00" + string(raw[:]))
		}
		id := kxmtest.GitInput(t, dir, []byte(b.String()), "hash-object", "-t", "tree", "--literally", "-w", "--stdin")
		return OID(kxmtest.Git(t, dir, "commit-tree", "-m", "hostile", id))
	}
	r := open(t, dir, "")
	for name, c := range map[string]struct {
		commit OID
		code   fault.Code
	}{
		"dot dot": {tree("100644 .."), fault.ObjectCorrupt},
		"dot":     {tree("100644 ."), fault.ObjectCorrupt},
		"slash":   {tree("100644 a/../../b"), fault.ObjectCorrupt},
		"twice":   {tree("100644 a", "100644 a"), ""},
		"unknown": {tree("107777 a"), ""},
		"folder":  {tree("40000 a"), ""}, // a blob where a tree should be
	} {
		fsys, err := r.CommitFS(t.Context(), c.commit, "")
		if err != nil {
			t.Fatal(err)
		}
		entries, err := fsys.ReadDir(".")
		if fault.CodeOf(err) != c.code || err == nil && len(entries) != 1 {
			t.Errorf("%s: %v, %v; want code %q", name, entries, err, c.code)
		}
	}
	if _, err := must(r.CommitFS(t.Context(), tree("40000 a"), ""))(t).ReadDir("a"); !fault.Is(err, fault.ObjectCorrupt) {
		t.Errorf("a blob read as a folder: %v", err)
	}
}

func TestSnapshotsAreSafeForConcurrentUse(t *testing.T) {
	files := map[string]string{}
	for i := range 200 {
		files[fmt.Sprintf("m/%d/%d.md", i%10, i)] = fmt.Sprintf("fact %d\n", i)
	}
	dir := kxmtest.NewRepo(t, files)
	onePack(t, dir)
	for _, backend := range []string{"", "native"} {
		r := open(t, dir, backend)
		head, _, err := r.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		fsys := must(r.CommitFS(t.Context(), head, "m"))(t)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for name, want := range files {
					if data, err := fsys.ReadFile(strings.TrimPrefix(name, "m/")); err != nil || string(data) != want {
						t.Errorf("%s: %q, %v", name, data, err)
						return
					}
				}
			})
		}
		wg.Wait()
	}
}
