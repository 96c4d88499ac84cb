package repo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"kxm/lib/fault"
	"kxm/lib/kxmtest"
)

// onePack repacks dir and returns the path of its only pack without extension.
func onePack(t testing.TB, dir string, args ...string) string {
	t.Helper()
	kxmtest.Git(t, dir, append(args, "repack", "-adfq")...)
	packs, err := filepath.Glob(filepath.Join(dir, ".git/objects/pack/*.pack"))
	if err != nil || len(packs) != 1 {
		t.Fatalf("packs: %q, %v", packs, err)
	}
	return strings.TrimSuffix(packs[0], ".pack")
}

// TestDamageIsNeverContent flips every byte of a pack, of its index and of a loose
// object in turn: what is read is what was written, or an error says which object
// could not be read.
func TestDamageIsNeverContent(t *testing.T) {
	var facts strings.Builder
	for i := range 40 {
		fmt.Fprintf(&facts, "fact %d: something about it\n", i*i)
	}
	dir := kxmtest.NewRepo(t, map[string]string{"a.md": facts.String(), "b.md": facts.String() + "more\n"})
	kxmtest.Git(t, dir, "tag", "-a", "-m", "tag", "v1")
	want := map[OID][]byte{}
	r := open(t, dir, "")
	for id := range strings.SplitSeq(kxmtest.Git(t, dir, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)"), "\n") {
		_, data, err := r.Object(t.Context(), OID(id))
		if err != nil {
			t.Fatal(err)
		}
		want[OID(id)] = data
	}
	check := func(t *testing.T, what string) (damaged int) {
		t.Helper()
		r := open(t, dir, "")
		for id, content := range want {
			_, data, err := r.Object(t.Context(), id)
			switch code := fault.CodeOf(err); {
			case err == nil && !bytes.Equal(data, content):
				t.Fatalf("%s: object %s has another content", what, id)
			case err != nil && code != fault.ObjectCorrupt && code != fault.ObjectMissing && code != fault.ObjectTooLarge:
				t.Fatalf("%s: object %s: %v", what, id, err)
			case err != nil:
				damaged++
			}
			if _, _, err := r.Header(t.Context(), id); err != nil && fault.CodeOf(err) == "" {
				t.Fatalf("%s: header of %s: %v", what, id, err)
			}
		}
		return damaged
	}
	flip := func(t *testing.T, path string, step int) {
		t.Helper()
		data := must(os.ReadFile(path))(t)
		seen := 0
		for i := 0; i < len(data); i += step {
			writeText(t, path, string(data[:i])+string(data[i]^0x55)+string(data[i+1:]))
			seen += check(t, fmt.Sprintf("byte %d of %s", i, filepath.Base(path)))
		}
		for _, size := range []int{0, 1, len(data) / 2, len(data) - 1} {
			writeText(t, path, string(data[:size]))
			seen += check(t, fmt.Sprintf("the first %d bytes of %s", size, filepath.Base(path)))
		}
		if seen == 0 {
			t.Errorf("no damage of %s was noticed", filepath.Base(path))
		}
		writeText(t, path, string(data))
		if n := check(t, "restored"); n != 0 {
			t.Fatalf("%d objects stay damaged", n)
		}
	}
	for name := range want {
		flip(t, loosePath(filepath.Join(dir, ".git/objects"), name), 7)
		break
	}
	for _, args := range [][]string{nil, {"-c", "repack.useDeltaBaseOffset=false"}} {
		base := onePack(t, dir, args...)
		flip(t, base+".pack", 3)
		flip(t, base+".idx", 11)
	}
}

// TestAnotherCopyIsUsed damages one of two copies of an object.
func TestAnotherCopyIsUsed(t *testing.T) {
	dir := kxmtest.NewRepo(t, map[string]string{"a.md": "content\n"})
	id := OID(kxmtest.Git(t, dir, "rev-parse", "HEAD:a.md"))
	onePack(t, dir)
	loose := loosePath(filepath.Join(dir, ".git/objects"), id)
	writeText(t, loose, "damaged")
	if data, err := open(t, dir, "").Blob(t.Context(), id); err != nil || string(data) != "content\n" {
		t.Errorf("with a good copy in a pack: %q, %v", data, err)
	}
	// An object whose bytes are right and whose name is another's.
	other := kxmtest.GitInput(t, dir, []byte("other\n"), "hash-object", "-w", "--stdin")
	writeText(t, loose, string(must(os.ReadFile(loosePath(filepath.Join(dir, ".git/objects"), OID(other))))(t)))
	if data, err := open(t, dir, "").Blob(t.Context(), id); err != nil || string(data) != "content\n" {
		t.Errorf("with another object's bytes in the file: %q, %v", data, err)
	}
	if err := os.RemoveAll(filepath.Join(dir, ".git/objects/pack")); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, dir, "").Blob(t.Context(), id); !fault.Is(err, fault.ObjectCorrupt) {
		t.Errorf("without a good copy: %v", err)
	}
}

// TestNativeDamage reads a damaged object through git, and a good one after it.
func TestNativeDamage(t *testing.T) {
	dir := kxmtest.NewRepo(t, map[string]string{"a.md": "content\n", "b.md": "good\n"})
	a, b := OID(kxmtest.Git(t, dir, "rev-parse", "HEAD:a.md")), OID(kxmtest.Git(t, dir, "rev-parse", "HEAD:b.md"))
	path := loosePath(filepath.Join(dir, ".git/objects"), a)
	data := must(os.ReadFile(path))(t)
	for i, text := range []string{"damaged", string(data[:len(data)/2]), ""} {
		writeText(t, path, text)
		r := open(t, dir, "native")
		if _, err := r.Blob(t.Context(), a); err == nil || fault.CodeOf(err) == "" {
			t.Errorf("damage %d: %v", i, err)
		}
		if data, err := r.Blob(t.Context(), b); err != nil || string(data) != "good\n" {
			t.Errorf("after damage %d: %q, %v", i, data, err)
		}
	}
}

func TestMissingAlternateIsNamed(t *testing.T) {
	dir := kxmtest.NewRepo(t, map[string]string{"a": "a\n"})
	writeText(t, filepath.Join(dir, ".git/objects/info/alternates"), "../../gone\n")
	_, _, err := open(t, dir, "").Object(t.Context(), OID(strings.Repeat("1", 40)))
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != fault.ObjectMissing || !strings.Contains(f.Hint, "gone") {
		t.Errorf("%v", err)
	}
}

func TestAlternatesInACircle(t *testing.T) {
	dir := kxmtest.NewRepo(t, map[string]string{"a": "a\n"})
	other := kxmtest.NewRepo(t, map[string]string{"b": "b\n"})
	writeText(t, filepath.Join(dir, ".git/objects/info/alternates"), other+"/.git/objects\n")
	writeText(t, filepath.Join(other, ".git/objects/info/alternates"), dir+"/.git/objects\n"+other+"/.git/objects\n")
	id := OID(kxmtest.Git(t, other, "rev-parse", "HEAD:b"))
	if data, err := open(t, dir, "").Blob(t.Context(), id); err != nil || string(data) != "b\n" {
		t.Errorf("%q, %v", data, err)
	}
}

func TestEnvironmentNamesObjectDirectories(t *testing.T) {
	dir, other, third := kxmtest.NewRepo(t, map[string]string{"a": "a\n"}), kxmtest.NewRepo(t, map[string]string{"b": "b\n"}), kxmtest.NewRepo(t, map[string]string{"c": "c\n"})
	env := []string{
		"GIT_OBJECT_DIRECTORY=" + other + "/.git/objects",
		"GIT_ALTERNATE_OBJECT_DIRECTORIES=" + strings.Join([]string{"/nowhere", `"` + third + `/.git/objects"`, ".git/objects"}, string(filepath.ListSeparator)),
	}
	for _, backend := range []string{"", "native"} {
		r := open(t, dir, backend, env...)
		for name, from := range map[string]string{"a": dir, "b": other, "c": third} {
			id := OID(kxmtest.Git(t, from, "rev-parse", "HEAD:"+name))
			if data, err := r.Blob(t.Context(), id); err != nil || string(data) != name+"\n" {
				t.Errorf("%s: %s: %q, %v", r.Backend(), name, data, err)
			}
		}
	}
}

// TestReadsWhileObjectsMove reads all objects again and again while others repack,
// prune what is packed and remove the packs. None may ever seem missing, for a
// reader that was opened before and for new ones.
func TestReadsWhileObjectsMove(t *testing.T) {
	dir := newHistory(t, "sha1")
	var ids []OID
	for id := range strings.SplitSeq(kxmtest.Git(t, dir, "rev-list", "--objects", "--no-object-names", "--all"), "\n") {
		ids = append(ids, OID(id))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	var reads atomic.Int64
	var wg sync.WaitGroup
	read := func(r *Repo) {
		for _, id := range ids {
			_, _, err := r.Object(ctx, id)
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				t.Errorf("object %s: %v", id, err)
				cancel()
				return
			}
			reads.Add(1)
		}
	}
	lasting := open(t, dir, "")
	for i := range 3 {
		wg.Go(func() {
			for ctx.Err() == nil {
				r := lasting
				if i > 0 {
					r = open(t, dir, "")
				}
				read(r)
			}
		})
	}
	moves := 0
	for ; ctx.Err() == nil; moves++ {
		// Loose, then in two packs, then in one.
		switch moves % 3 {
		case 0:
			unpack(t, dir)
		case 1:
			list := kxmtest.Git(t, dir, "rev-list", "--objects", "--no-object-names", "main~10")
			kxmtest.GitInput(t, dir, []byte(list+"\n"), "pack-objects", "-q", ".git/objects/pack/pack")
			kxmtest.Git(t, dir, "repack", "-dq")
		case 2:
			kxmtest.Git(t, dir, "repack", "-adfq", fmt.Sprintf("--window=%d", 5+moves))
		}
	}
	wg.Wait()
	if moves < 3 || reads.Load() < int64(len(ids)) {
		t.Errorf("%d reads during %d moves prove nothing", reads.Load(), moves)
	}
}

// unpack writes the objects of all packs as files, then removes the packs as a
// repack would.
func unpack(t *testing.T, dir string) {
	t.Helper()
	packs, err := filepath.Glob(filepath.Join(dir, ".git/objects/pack/*.pack"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range packs {
		data := must(os.ReadFile(p))(t)
		// unpack-objects leaves out what it finds in a pack: so it writes elsewhere first.
		aside := t.TempDir()
		kxmtest.Git(t, aside, "init", "-q", "--bare")
		kxmtest.GitInput(t, aside, data, "unpack-objects", "-q")
		files, err := filepath.Glob(filepath.Join(aside, "objects/??/*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			to := filepath.Join(dir, ".git/objects", filepath.Base(filepath.Dir(f)), filepath.Base(f))
			if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(f, to); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, p := range packs {
		for _, ext := range []string{".pack", ".idx", ".rev"} {
			if err := os.Remove(strings.TrimSuffix(p, ".pack") + ext); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
		}
	}
}

// TestLargeObjectsAreRefused writes the head of an object that claims more than is
// read, with and without the bytes to make the claim credible.
func TestLargeObjectsAreRefused(t *testing.T) {
	dir := kxmtest.NewRepo(t, nil)
	id := OID(strings.Repeat("ab", 20))
	path := loosePath(filepath.Join(dir, ".git/objects"), id)
	for _, c := range []struct {
		size string
		code fault.Code
	}{
		{fmt.Sprint(MaxObject + 1), fault.ObjectTooLarge},
		{fmt.Sprint(MaxObject), fault.ObjectCorrupt},
		{"99999999999999999999", fault.ObjectCorrupt},
		{"-1", fault.ObjectCorrupt},
	} {
		writeText(t, path, deflated("blob "+c.size+"\x00abc"))
		if _, _, err := open(t, dir, "").Object(t.Context(), id); !fault.Is(err, c.code) {
			t.Errorf("an object of %s bytes: %v, want %s", c.size, err, c.code)
		}
	}
}

func TestMultiPackIndexAloneIsAnsweredByGit(t *testing.T) {
	dir := kxmtest.NewRepo(t, map[string]string{"a.md": "content\n"})
	id := OID(kxmtest.Git(t, dir, "rev-parse", "HEAD:a.md"))
	base := onePack(t, dir)
	kxmtest.Git(t, dir, "multi-pack-index", "write")
	r := open(t, dir, "")
	if err := os.Rename(base+".idx", base+".aside"); err != nil {
		t.Fatal(err)
	}
	// Whether git can do without the .idx depends on its version: what counts is that
	// it was asked and its answer is ours.
	data, err := r.Blob(t.Context(), id)
	want := exitOf(t, dir, "cat-file", "blob", string(id))
	if (err == nil) != (want == 0) || err == nil && string(data) != "content\n" {
		t.Errorf("%q, %v; git exits with %d", data, err, want)
	}
	if r.native.batch == nil {
		t.Error("git was not asked")
	}
}

// countReads counts the calls of ReadAt.
type countReads struct {
	*strings.Reader
	calls int
}

func (c *countReads) ReadAt(p []byte, off int64) (int, error) {
	c.calls++
	return c.Reader.ReadAt(p, off)
}

func TestAnIndexIsKeptOnceItWasReadOften(t *testing.T) {
	text := strings.Repeat("0123456789abcdef", 10*warmEach/16)
	file := &countReads{Reader: strings.NewReader(text)}
	w := &warming{file: file, size: int64(len(text))}
	for i := range 1000 {
		at := int64(i * 37 % (len(text) - 8))
		var p [8]byte
		if n, err := w.ReadAt(p[:], at); n != 8 || err != nil || string(p[:]) != text[at:at+8] {
			t.Fatalf("read %d gives %q, %d, %v", i, p[:n], n, err)
		}
	}
	if file.calls != 10 {
		t.Errorf("the file was read %d times", file.calls)
	}
	if n, err := w.ReadAt(make([]byte, 8), int64(len(text)-3)); n != 3 || err == nil {
		t.Errorf("beyond the end: %d, %v", n, err)
	}
	large := &countReads{Reader: strings.NewReader(text)}
	w = &warming{file: large, size: warmMost + 1}
	for range 100 * warmMost / warmEach / 1000 {
		if _, err := w.ReadAt(make([]byte, 8), 0); err != nil {
			t.Fatal(err)
		}
	}
	if large.calls == 0 || w.whole.Load() != nil {
		t.Error("a large file is kept")
	}
}
