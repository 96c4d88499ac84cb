package repo

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	githash "github.com/go-git/go-git/v5/plumbing/hash"

	"kxm/lib/fault"
	"kxm/lib/kxmtest"
)

// newObjects is one object of each kind that logs consist of: a small and a large
// blob, trees with names that sort in Git's special order, and a commit.
func newObjects(r *Repo) (objects []NewObject, commit OID) {
	blobs := [][]byte{{}, []byte("{\"a\":1}\n"), bytes.Repeat([]byte("large and compressible\n"), 10_000)}
	var entries []TreeEntry
	for i, b := range blobs {
		objects = append(objects, NewObject{"blob", b})
		entries = append(entries, TreeEntry{fmt.Sprintf("a%d", i), ModeFile, r.HashObject("blob", b)})
	}
	inner := EncodeTree(entries)
	folder := r.HashObject("tree", inner)
	outer := EncodeTree([]TreeEntry{
		{"a/b", ModeFile, entries[0].OID}, {"a0", ModeFile, entries[1].OID}, {"a", ModeFolder, folder},
		{"a.b", ModeExecutable, entries[1].OID}, {"z", ModeSymlink, entries[1].OID},
	}[1:])
	when := time.Date(2026, 9, 1, 12, 0, 0, 0, time.FixedZone("", -(5*3600+1800)))
	data := EncodeCommit(Commit{Tree: r.HashObject("tree", outer), Author: Person{"Ada", "ada@example.com", when}, Committer: Person{"kxm", "kxm@localhost", time.Unix(1700000000, 0).UTC()}, Message: "two\n\nlines\n"})
	objects = append(objects, NewObject{"tree", inner}, NewObject{"tree", outer}, NewObject{"commit", data})
	return objects, r.HashObject("commit", data)
}

// onBothBackends runs a test with a repository of each backend, and in SHA-256.
func onBothBackends(t *testing.T, test func(t *testing.T, dir string, r *Repo)) {
	for _, c := range []struct{ format, backend string }{{"sha1", ""}, {"sha1", "native"}, {"sha256", ""}} {
		t.Run(c.format+" "+c.backend, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			kxmtest.Git(t, dir, "init", "-q", "--object-format="+c.format)
			test(t, dir, open(t, dir, c.backend))
		})
	}
}

func TestGitReadsWhatIsWritten(t *testing.T) {
	onBothBackends(t, func(t *testing.T, dir string, r *Repo) {
		objects, commit := newObjects(r)
		// Twice: what exists is written again, and one object may stand there twice.
		for range 2 {
			ids, err := r.WriteObjects(t.Context(), append(objects, objects[0]))
			if err != nil {
				t.Fatal(err)
			}
			for i, o := range append(objects, objects[0]) {
				if want := kxmtest.GitInput(t, dir, o.Data, "hash-object", "-t", o.Type, "--stdin"); string(ids[i]) != want {
					t.Errorf("%s %d is %s, want %s", o.Type, i, ids[i], want)
				}
				typ, data, err := r.Object(t.Context(), ids[i])
				if err != nil || typ != o.Type || !bytes.Equal(data, o.Data) {
					t.Errorf("%s %d reads as %s of %d bytes, %v", o.Type, i, typ, len(data), err)
				}
			}
		}
		kxmtest.Git(t, dir, "update-ref", "refs/heads/main", string(commit))
		kxmtest.Git(t, dir, "fsck", "--strict", "--full")
		got := kxmtest.Git(t, dir, "log", "-1", "--format=%T|%an <%ae> %ad|%cn <%ce> %cd|%B", "--date=raw", "main")
		if want := string(r.HashObject("tree", objects[4].Data)) + "|Ada <ada@example.com> 1788283800 -0530|kxm <kxm@localhost> 1700000000 +0000|two\n\nlines\n"; got != want {
			t.Errorf("git log says %q, want %q", got, want)
		}
		if rest := leftovers(t, dir); len(rest) > 0 {
			t.Errorf("left over: %v", rest)
		}
		if _, err := os.Stat(filepath.Join(dir, ".git", "objects", string(commit[:2]), string(commit[2:]))); err != nil {
			t.Errorf("not a file of its own: %v", err)
		}
	})
}

// TestStoredIsAZlibStream: at every border of a block, also as git sees it.
func TestStoredIsAZlibStream(t *testing.T) {
	for _, n := range []int{0, 1, block, 1<<16 - 2, 1<<16 - 1, 1 << 16, 2*(1<<16-1) - 1, 2 * (1<<16 - 1), 2*(1<<16-1) + 1} {
		data := bytes.Repeat([]byte("0123456789a"), n/11+1)[:n]
		z, err := zlib.NewReader(bytes.NewReader(stored(data)))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(z); err != nil || !bytes.Equal(got, data) {
			t.Errorf("of %d bytes %d come back, %v", n, len(got), err)
		}
	}
	dir := t.TempDir()
	kxmtest.Git(t, dir, "init", "-q")
	r := open(t, dir, "")
	blob := NewObject{"blob", []byte("x\n")}
	var entries []TreeEntry
	for i := range 5000 {
		entries = append(entries, TreeEntry{fmt.Sprintf("%04d", i), ModeFile, r.HashObject("blob", blob.Data)})
	}
	ids, err := r.WriteObjects(t.Context(), []NewObject{blob, {"tree", EncodeTree(entries)}})
	if err != nil {
		t.Fatal(err)
	}
	if got := kxmtest.Git(t, dir, "ls-tree", "--name-only", string(ids[1])); strings.Count(got+"\n", "\n") != len(entries) {
		t.Errorf("git lists %d of %d entries", strings.Count(got+"\n", "\n"), len(entries))
	}
	if tree, err := r.Tree(t.Context(), ids[1]); err != nil || len(tree) != len(entries) {
		t.Errorf("%d of %d entries, %v", len(tree), len(entries), err)
	}
	kxmtest.Git(t, dir, "fsck", "--full")
}

// leftovers are files that writers clean up: temporary ones and locks.
func leftovers(t testing.TB, dir string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); strings.Contains(name, "tmp_") || strings.HasSuffix(name, ".lock") || strings.HasPrefix(name, "ref.") {
			found = append(found, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestManyObjectsBecomeAPack(t *testing.T) {
	onBothBackends(t, func(t *testing.T, dir string, r *Repo) {
		objects := make([]NewObject, packAbove+1)
		for i := range objects {
			objects[i] = NewObject{"blob", fmt.Appendf(nil, "object %d\n", i)}
		}
		ids, err := r.WriteObjects(t.Context(), objects)
		if err != nil {
			t.Fatal(err)
		}
		if data, err := r.Blob(t.Context(), ids[packAbove]); err != nil || string(data) != fmt.Sprintf("object %d\n", packAbove) {
			t.Errorf("%q, %v", data, err)
		}
		packs, err := filepath.Glob(filepath.Join(dir, ".git", "objects", "pack", "*.pack"))
		if err != nil || len(packs) != 1 {
			t.Errorf("packs: %v, %v", packs, err)
		}
	})
}

// shattered is the beginning of one of the two PDF files of the first collision of
// SHA-1, up to the blocks that collide.
const shattered = "" +
	"JVBERi0xLjMKJeLjz9MKCgoxIDAgb2JqCjw8L1dpZHRoIDIgMCBSL0hlaWdodCAzIDAgUi9UeXBlIDQgMCBSL1N1YnR5cGUgNSAw" +
	"IFIvRmlsdGVyIDYgMCBSL0NvbG9yU3BhY2UgNyAwIFIvTGVuZ3RoIDggMCBSL0JpdHNQZXJDb21wb25lbnQgOD4+CnN0cmVhbQr/" +
	"2P/+ACRTSEEtMSBpcyBkZWFkISEhISGFL+wJIzl1nDmxocY8TJfh//4Bc0bckWa2fhGPApq2IbJWD/nKZ8yox/hbqEx5AwwrPeIY" +
	"+G2zqQkB1d9FwU8m/t+z3DjpasIv571yjw5FvOBG0jxXD+sUE5i7VS71oKgr4zH+pIA3uLXXHw4zLt+TrDUA603cDezBqGR5DHgs" +
	"diFWYN0wl5HQa9CvP5jNpLxGKbE="

func TestACollisionAttackHasNoID(t *testing.T) {
	data, err := base64.StdEncoding.DecodeString(shattered)
	if err != nil {
		t.Fatal(err)
	}
	h := githash.New(crypto.SHA1)
	h.Write(data)
	if id := sumID(h); id != "" {
		t.Errorf("the collision is hashed as %s", id)
	}
	h.Reset()
	h.Write(data[1:])
	if id := sumID(h); len(id) != 40 {
		t.Errorf("harmless content is hashed as %q", id)
	}
	// Behind the header of an object the same bytes attack nothing.
	r := open(t, kxmtest.NewRepo(t, nil), "")
	if ids, err := r.WriteObjects(t.Context(), []NewObject{{"blob", data}}); err != nil || len(ids[0]) != 40 {
		t.Errorf("%v, %v", ids, err)
	}
}

// trace is a disk that notes what is done in which order, and fails on demand.
type trace struct {
	mu    sync.Mutex
	steps []string
	fail  map[string]error // by operation
}

func (tr *trace) step(op, name string) error {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.steps = append(tr.steps, op+" "+filepath.Base(filepath.Dir(name))+"/"+filepath.Base(name))
	return tr.fail[op]
}

// attach puts the trace between a repository and its disk.
func (tr *trace) attach(t testing.TB, r *Repo) {
	t.Helper()
	w, err := r.writing()
	if err != nil {
		t.Fatal(err)
	}
	d := theDisk(true)
	w.disk = disk{
		write: func(f *os.File, data []byte) error {
			if err := tr.step("write", f.Name()); err != nil {
				_, _ = f.Write(data[:len(data)/2]) // as a full disk does it
				return err
			}
			return d.write(f, data)
		},
		sync: func(f *os.File, full bool) error {
			return errors.Join(tr.step("sync", f.Name()), d.sync(f, full))
		},
		syncFolder: func(name string, full bool) error {
			return errors.Join(tr.step("syncFolder", name), d.syncFolder(name, full))
		},
		rename: func(from, to string) error {
			if err := tr.step("rename", to); err != nil {
				return err
			}
			return d.rename(from, to)
		},
		link: func(from, to string) error {
			if err := tr.step("link", to); err != nil {
				return err
			}
			return d.link(from, to)
		},
	}
}

func TestObjectsAreDurableBeforeTheRefNamesThem(t *testing.T) {
	dir := t.TempDir()
	kxmtest.Git(t, dir, "init", "-q")
	r := open(t, dir, "")
	var tr trace
	tr.attach(t, r)
	objects, commit := newObjects(r)
	if _, err := r.WriteObjects(t.Context(), objects); err != nil {
		t.Fatal(err)
	}
	if err := r.UpdateRef(t.Context(), "refs/kxm/state", "", commit, UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	// The order of the last step of each kind before the first of the next.
	last := func(op, in string) int {
		at := -1
		for i, s := range tr.steps {
			if strings.HasPrefix(s, op+" ") && strings.Contains(s, in) {
				at = i
			}
		}
		if at < 0 {
			t.Fatalf("no %s of %s in\n%s", op, in, strings.Join(tr.steps, "\n"))
		}
		return at
	}
	first := func(op, in string) int {
		return slices.IndexFunc(tr.steps, func(s string) bool { return strings.HasPrefix(s, op+" ") && strings.Contains(s, in) })
	}
	if n := len(slices.DeleteFunc(slices.Clone(tr.steps), func(s string) bool { return !strings.Contains(s, "tmp_obj_") || !strings.HasPrefix(s, "sync ") })); n != len(objects) {
		t.Errorf("%d objects flushed, want %d", n, len(objects))
	}
	inOrder := []int{
		last("sync", "tmp_obj_"), first("rename", string(commit[2:4])), last("syncFolder", "objects/"),
		first("write", "ref."), first("sync", "ref."), first("link", "state.lock"), first("rename", "kxm/state"), last("syncFolder", "refs/kxm"),
	}
	if !slices.IsSorted(inOrder) {
		t.Errorf("steps %v in\n%s", inOrder, strings.Join(tr.steps, "\n"))
	}
	// The new folders objects/xx and refs/kxm must have durable names too.
	for _, parent := range []string{".git/objects", ".git/refs"} {
		if first("syncFolder", parent) < 0 {
			t.Errorf("%s is not flushed in\n%s", parent, strings.Join(tr.steps, "\n"))
		}
	}
}

func TestAFailingDiskLeavesNothingHalfWritten(t *testing.T) {
	full := errors.New("no space left on device")
	for _, op := range []string{"write", "sync", "rename", "syncFolder"} {
		dir := t.TempDir()
		kxmtest.Git(t, dir, "init", "-q")
		r := open(t, dir, "")
		tr := trace{fail: map[string]error{op: full}}
		tr.attach(t, r)
		objects, commit := newObjects(r)
		if _, err := r.WriteObjects(t.Context(), objects); !fault.Is(err, fault.IOFailed) || !errors.Is(err, full) {
			t.Errorf("%s fails, and WriteObjects says %v", op, err)
		}
		if rest := leftovers(t, dir); len(rest) > 0 {
			t.Errorf("%s fails, and there stays %v", op, rest)
		}
		kxmtest.Git(t, dir, "fsck", "--strict")
		tr.fail = nil
		if _, err := r.WriteObjects(t.Context(), objects); err != nil {
			t.Fatal(err)
		}
		tr.fail = map[string]error{op: full}
		err := r.UpdateRef(t.Context(), "refs/kxm/state", "", commit, UpdateOptions{})
		if !fault.Is(err, fault.IOFailed) || !errors.Is(err, full) {
			t.Errorf("%s fails, and UpdateRef says %v", op, err)
		}
		if rest := leftovers(t, dir); len(rest) > 0 {
			t.Errorf("%s fails, and there stays %v", op, rest)
		}
		_, ok, err := r.Ref(t.Context(), "refs/kxm/state")
		if moved := op == "syncFolder"; err != nil || ok != moved {
			t.Errorf("%s fails, and the ref moved: %v, %v", op, ok, err)
		}
		kxmtest.Git(t, dir, "fsck", "--strict")
	}
}

func TestFlushingCanBeTurnedOff(t *testing.T) {
	dir := t.TempDir()
	kxmtest.Git(t, dir, "init", "-q")
	r := open(t, dir, "", "KXM_FSYNC=none")
	w, err := r.writing()
	if err != nil {
		t.Fatal(err)
	}
	// A closed file cannot be flushed, so a flush would fail.
	f, err := os.Create(filepath.Join(dir, "closed"))
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if err := errors.Join(w.disk.sync(f, true), w.disk.syncFolder(filepath.Join(dir, "closed"), true)); err != nil {
		t.Error(err)
	}
	if err := theDisk(true).sync(f, true); err == nil {
		t.Error("a closed file was flushed")
	}
}

// gc removes folders and files that it does not know at any moment.
func TestObjectFoldersMayVanish(t *testing.T) {
	dir := t.TempDir()
	kxmtest.Git(t, dir, "init", "-q")
	r := open(t, dir, "")
	var tr trace
	tr.attach(t, r)
	w, _ := r.writing()
	removed, create := 0, w.disk.rename
	w.disk.rename = func(from, to string) error {
		if removed < 3 {
			removed++
			if err := os.RemoveAll(filepath.Dir(from)); err != nil {
				t.Error(err)
			}
		}
		return create(from, to)
	}
	objects, _ := newObjects(r)
	ids, err := r.WriteObjects(t.Context(), objects)
	if err != nil || removed != 3 {
		t.Fatal(removed, err)
	}
	for _, id := range ids {
		if _, _, err := r.Object(t.Context(), id); err != nil {
			t.Error(err)
		}
	}
	w.disk.rename = func(from, to string) error { return fs.ErrNotExist }
	if _, err := r.WriteObjects(t.Context(), objects); !fault.Is(err, fault.IOFailed) {
		t.Errorf("a folder that vanishes for ever: %v", err)
	}
}

func TestWritingEndsWithItsContext(t *testing.T) {
	r := open(t, kxmtest.NewRepo(t, nil), "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	objects, commit := newObjects(r)
	if _, err := r.WriteObjects(ctx, objects); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	lock := filepath.Join(r.CommonDir(), "refs", "heads", "x.lock")
	if err := os.WriteFile(lock, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := r.UpdateRef(ctx, "refs/heads/x", "", commit, UpdateOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestBlobUpTo: what is too large is refused before it is read, loose, packed and as
// a delta, and a delta of an object that is far larger than it may be.
func TestBlobUpTo(t *testing.T) {
	onBothBackends(t, func(t *testing.T, dir string, r *Repo) {
		var ids []OID
		large := strings.Repeat("0123456789abcdef", 1<<12) // 64 KiB, below packed noise
		for i := range 3 {
			ids = append(ids, OID(kxmtest.GitInput(t, dir, fmt.Appendf(nil, "%s%d", large, i), "hash-object", "-w", "--stdin")))
		}
		size := int64(len(large) + 1)
		check := func(state string) {
			t.Helper()
			for _, id := range ids {
				if data, err := r.BlobUpTo(t.Context(), id, size); err != nil || int64(len(data)) != size {
					t.Errorf("%s: %d bytes, %v", state, len(data), err)
				}
				if _, err := r.BlobUpTo(t.Context(), id, size-1); !fault.Is(err, fault.ObjectTooLarge) {
					t.Errorf("%s: one byte too many: %v", state, err)
				}
			}
		}
		check("loose")
		tree := kxmtest.GitInput(t, dir, []byte("100644 blob "+string(ids[0])+"\ta\n100644 blob "+string(ids[1])+"\tb\n100644 blob "+string(ids[2])+"\tc\n"), "mktree")
		commit := kxmtest.Git(t, dir, "commit-tree", "-m", "x", tree)
		kxmtest.Git(t, dir, "update-ref", "refs/heads/main", commit)
		kxmtest.Git(t, dir, "repack", "-adfq", "--depth=10")
		r = open(t, dir, map[string]string{"native": "native"}[r.Backend()])
		check("packed")
		check("packed and cached")
		if _, err := r.BlobUpTo(t.Context(), OID(tree), size); !fault.Is(err, fault.ObjectCorrupt) {
			t.Errorf("a tree: %v", err)
		}
	})
}
