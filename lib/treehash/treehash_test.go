package treehash

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"kxm/lib/fault"
)

// A tree maps paths to contents. "-> " begins a link's target, "x:" the content of
// an executable file, and a final slash makes an empty folder.
type tree map[string]string

// write makes the tree below a new folder, in the order given by less.
func (tr tree) write(t testing.TB, less func(a, b string) int) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range slices.SortedFunc(maps.Keys(tr), less) {
		full := filepath.Join(dir, filepath.FromSlash(name))
		must(t, os.MkdirAll(filepath.Dir(full), 0o755))
		content := tr[name]
		if target, ok := strings.CutPrefix(content, "-> "); ok {
			must(t, os.Symlink(target, full))
		} else if text, ok := strings.CutPrefix(content, "x:"); ok {
			must(t, os.WriteFile(full, []byte(text), 0o755))
		} else if strings.HasSuffix(name, "/") {
			must(t, os.MkdirAll(full, 0o755))
		} else {
			must(t, os.WriteFile(full, []byte(content), 0o644))
		}
	}
	return dir
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func folder(t testing.TB, dir string) string {
	t.Helper()
	sum, err := Folder(os.DirFS(dir), nil)
	must(t, err)
	return sum
}

// byHand is kxt1 as its definition reads, of a tree of files and links.
func byHand(tr tree) string {
	var all strings.Builder
	all.WriteString("kxt1\x00")
	for _, name := range slices.Sorted(maps.Keys(tr)) {
		kind, content := "f", tr[name]
		if text, ok := strings.CutPrefix(content, "x:"); ok {
			kind, content = "x", text
		} else if target, ok := strings.CutPrefix(content, "-> "); ok {
			kind, content = "l", target
		}
		sum := sha256.Sum256([]byte(content))
		all.WriteString(kind + "\x00" + name + "\x00" + strconv.Itoa(len(content)) + "\x00" + hex.EncodeToString(sum[:]) + "\x00")
	}
	sum := sha256.Sum256([]byte(all.String()))
	return "kxt1:" + hex.EncodeToString(sum[:])
}

func TestCheckValues(t *testing.T) {
	for _, c := range []struct {
		name string
		tree tree
		want string
	}{
		{"no entries", tree{}, "05a5f9b3f8176107b159f2d11bf7e9d14a5ea00a2466fb44381d7cceaac3cf79"},
		{"one file", tree{"a.txt": "hello\n"}, "1a507557dcb7ac033a7c752b51fbfe2d5ddd787f17cb9a763d3811f2fcc17e99"},
		{"executable", tree{"a.txt": "x:hello\n"}, "e96650b133585d6e8ce058c9a7b650f6abbae30e8b6a3ec8518c1c373f073dc3"},
		{"with a link", tree{"a.txt": "hello\n", "b": "-> a.txt"}, "c27d28a56d1066daa12ec722becf8b32ea6e3ee3bb7316890e16c55d72aa939c"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := folder(t, c.tree.write(t, cmp.Compare)); got != "kxt1:"+c.want {
				t.Errorf("got %s, want kxt1:%s", got, c.want)
			}
			if got := byHand(c.tree); got != "kxt1:"+c.want {
				t.Errorf("by hand %s, want kxt1:%s", got, c.want)
			}
		})
	}
}

// mixed holds names that sort otherwise by folder than by bytes.
var mixed = tree{
	"a/b.txt": "one", "a.txt": "two", "a-b/c": "three", "a/b/c": "-> ../../a.txt", "a/bin/run": "x:#!/bin/sh\n",
	"empty": "", "ünï": "four", "A": "five", "new\nline": "six", "z/self": "-> .", "z/up": "-> ..", "z/gone": "-> missing",
}

func TestEntriesAndSumAgainstTheDefinition(t *testing.T) {
	dir := mixed.write(t, cmp.Compare)
	if got, want := folder(t, dir), byHand(mixed); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	entries, err := Entries(os.DirFS(dir), nil)
	must(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Path)
	}
	if want := slices.Sorted(maps.Keys(mixed)); !slices.Equal(names, want) {
		t.Errorf("paths %q, want %q", names, want)
	}
	none, err := Entries(fstest.MapFS{}, nil)
	if err != nil || none == nil || len(none) != 0 {
		t.Errorf("an empty folder gives %#v, %v", none, err)
	}
}

// TestAgainstTheShell computes the digest with the programs that a person has.
func TestAgainstTheShell(t *testing.T) {
	dir := tree{"a/b.txt": "one", "a.txt": "two", "a-b/c": "x:three", "A": "", "l": "-> a.txt", ".git/HEAD": "no", "x/node_modules/y": "no"}.write(t, cmp.Compare)
	script := `export LC_ALL=C
{ printf 'kxt1\0'
  find . -name .git -prune -o -name node_modules -prune -o ! -type d -print | sed 's|^\./||' | sort | while read -r p; do
    if [ -L "$p" ]; then k=l; content() { readlink -n "$p"; }
    elif [ -x "$p" ]; then k=x; content() { cat "$p"; }
    else k=f; content() { cat "$p"; }; fi
    printf '%s\0%s\0%s\0%s\0' $k "$p" $(content | wc -c) $(content | sha256sum | cut -c1-64)
  done
} | sha256sum | cut -c1-64`
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	must(t, err)
	if got, want := folder(t, dir), "kxt1:"+strings.TrimSpace(string(out)); got != want {
		t.Errorf("got %s, the shell %s", got, want)
	}
}

func TestWhatChangesTheDigest(t *testing.T) {
	base := folder(t, mixed.write(t, cmp.Compare))
	seen := map[string]string{base: "nothing"}
	for what, change := range map[string]func(tr tree){
		"a content":             func(tr tree) { tr["a.txt"] = "Two" },
		"a longer content":      func(tr tree) { tr["a.txt"] = "two\n" },
		"the execute bit":       func(tr tree) { tr["a.txt"] = "x:two" },
		"a name":                func(tr tree) { tr["b.txt"] = tr["a.txt"]; delete(tr, "a.txt") },
		"a folder":              func(tr tree) { tr["a/c.txt"] = tr["a.txt"]; delete(tr, "a.txt") },
		"a link's target":       func(tr tree) { tr["a/b/c"] = "-> ../../a-b/c" },
		"a file for a link":     func(tr tree) { tr["a/b/c"] = "../../a.txt" },
		"a new empty file":      func(tr tree) { tr["new"] = "" },
		"a file gone":           func(tr tree) { delete(tr, "empty") },
		"contents exchanged":    func(tr tree) { tr["a.txt"], tr["A"] = tr["A"], tr["a.txt"] },
		"a name's letter case":  func(tr tree) { tr["a"+"B.txt"] = tr["a.txt"]; delete(tr, "a.txt") },
		"content moved to name": func(tr tree) { tr["A5"] = "ive"; delete(tr, "A") },
	} {
		tr := maps.Clone(mixed)
		change(tr)
		sum := folder(t, tr.write(t, cmp.Compare))
		if other, ok := seen[sum]; ok {
			t.Errorf("%s changed gives the same digest as %s", what, other)
		}
		seen[sum] = what
	}
}

func TestWhatDoesNotChangeTheDigest(t *testing.T) {
	want := folder(t, mixed.write(t, cmp.Compare))
	check := func(what, dir string) {
		t.Helper()
		if got := folder(t, dir); got != want {
			t.Errorf("%s changes the digest", what)
		}
	}
	check("the order of creation", mixed.write(t, func(a, b string) int { return cmp.Compare(b, a) }))

	with := maps.Clone(mixed)
	maps.Copy(with, tree{"hollow/": "", "a/hollow/more/": "", ".git/HEAD": "ref", "a/.git": "gitdir: elsewhere", "node_modules/x/i.js": "1",
		"z/node_modules/x": "x:1", "z/sub/node_modules/y": "-> /etc/passwd"})
	check("what is left out", with.write(t, cmp.Compare))

	dir := mixed.write(t, cmp.Compare)
	must(t, os.Chtimes(filepath.Join(dir, "a.txt"), time.Unix(1, 0), time.Unix(1, 0)))
	must(t, os.Chmod(filepath.Join(dir, "a.txt"), 0o600))
	must(t, os.Chmod(filepath.Join(dir, "a/bin/run"), 0o744))
	must(t, os.Chmod(filepath.Join(dir, "a"), 0o700))
	check("times and other mode bits", dir)
}

func TestEveryFileSystemGivesTheSameDigest(t *testing.T) {
	dir := mixed.write(t, cmp.Compare)
	want := folder(t, dir)
	root, err := os.OpenRoot(dir)
	must(t, err)
	defer root.Close()
	mapped := fstest.MapFS{}
	for name, content := range mixed {
		file := &fstest.MapFile{Data: []byte(content), Mode: 0o640}
		if text, ok := strings.CutPrefix(content, "x:"); ok {
			file = &fstest.MapFile{Data: []byte(text), Mode: 0o610}
		} else if target, ok := strings.CutPrefix(content, "-> "); ok {
			file = &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink}
		}
		mapped[name] = file
	}
	for name, fsys := range map[string]fs.FS{"os.Root": root.FS(), "fstest.MapFS": mapped} {
		if got, err := Folder(fsys, nil); got != want || err != nil {
			t.Errorf("%s gives %s, %v; want %s", name, got, err, want)
		}
	}
}

func TestSkip(t *testing.T) {
	dir := tree{"a.txt": "hello\n", "metadata.json": "{}", "sub/metadata.json": "{}", "cache/x/y": "1", "cache/z": "-> /etc"}.write(t, cmp.Compare)
	sum, err := Folder(os.DirFS(dir), func(path string) bool { return path == "metadata.json" || path == "cache" })
	must(t, err)
	if want := byHand(tree{"a.txt": "hello\n", "sub/metadata.json": "{}"}); sum != want {
		t.Errorf("got %s, want %s", sum, want)
	}
}

func TestLinks(t *testing.T) {
	skip := func(path string) bool { return path == "metadata.json" }
	for _, c := range []struct {
		name string
		tree tree
		code fault.Code
	}{
		{"to a file beside it", tree{"a": "1", "l": "-> a"}, ""},
		{"to nothing", tree{"l": "-> nothing/here"}, ""},
		{"to itself", tree{"l": "-> l", "m": "-> n", "n": "-> m/x"}, ""},
		{"up to the root", tree{"a/b/l": "-> ../.."}, ""},
		{"up and down", tree{"a/b/l": "-> ../../c/./d//e", "c/d/e": "1"}, ""},
		{"dots that are names", tree{"l": "-> ...", "m": "-> ..a"}, ""},
		{"through a link that leads deeper", tree{"x/y/z": "1", "d": "-> x/y", "l": "-> d/../../x"}, ""},
		{"absolute", tree{"l": "-> /etc/passwd"}, fault.PathEscapes},
		{"out", tree{"l": "-> .."}, fault.PathEscapes},
		{"out and in again", tree{"a/l": "-> ../../a/b"}, fault.PathEscapes},
		{"out from deep", tree{"a/b/l": "-> ../../../x"}, fault.PathEscapes},
		{"out by way of nothing", tree{"l": "-> nothing/../../x"}, fault.PathEscapes},
		{"out by way of a link", tree{"x/up": "-> ..", "l": "-> x/up/../secret"}, fault.PathEscapes},
		{"out by way of two links", tree{"a/b/up": "-> ../..", "c": "-> a/b", "l": "-> c/up/../s"}, fault.PathEscapes},
		{"into .git", tree{".git/HEAD": "1", "l": "-> .git/HEAD"}, fault.PathEscapes},
		{"into a deep .git that is not there", tree{"l": "-> a/.git"}, fault.PathEscapes},
		{"into node_modules", tree{"a/l": "-> ../b/node_modules/x", "b/c": "1"}, fault.PathEscapes},
		{"into what skip leaves out", tree{"metadata.json": "1", "a/l": "-> ../metadata.json"}, fault.PathEscapes},
	} {
		t.Run(c.name, func(t *testing.T) {
			sum, err := Folder(os.DirFS(c.tree.write(t, cmp.Compare)), skip)
			if fault.CodeOf(err) != c.code || err == nil != (sum != "") {
				t.Errorf("got %q, %v; want code %q", sum, err, c.code)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	file := &fstest.MapFile{Data: []byte("1"), Mode: 0o644}
	for name, fsys := range map[string]fstest.MapFS{
		"device":           {"a/d": {Mode: fs.ModeDevice}},
		"character device": {"d": {Mode: fs.ModeDevice | fs.ModeCharDevice}},
		"pipe":             {"p": {Mode: fs.ModeNamedPipe}},
		"socket":           {"s": {Mode: fs.ModeSocket}},
		"unknown":          {"i": {Mode: fs.ModeIrregular}},
		"NUL":              {"a\x00b": file},
		"not UTF-8":        {"a\xffb": file},
	} {
		fsys["ok"] = file
		if sum, err := Folder(fsys, nil); !fault.Is(err, fault.TreeRefused) || sum != "" {
			t.Errorf("%s: %q, %v", name, sum, err)
		}
	}
}

func TestUnreadable(t *testing.T) {
	if _, err := Folder(os.DirFS(filepath.Join(t.TempDir(), "missing")), nil); !fault.Is(err, fault.IOFailed) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing folder: %v", err)
	}
	name := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(name, nil, 0o644))
	if _, err := Folder(os.DirFS(name), nil); !fault.Is(err, fault.IOFailed) {
		t.Errorf("a file for a folder: %v", err)
	}
	mapped := fstest.MapFS{"a": {Data: []byte("1")}, "l": {Data: []byte("a"), Mode: fs.ModeSymlink}}
	if _, err := Folder(struct{ fs.FS }{mapped}, nil); !fault.Is(err, fault.IOFailed) {
		t.Errorf("a link in a file system that cannot read links: %v", err)
	}
}

func TestTheFileSystemsOwnCodeIsKept(t *testing.T) {
	cause := fault.New(fault.ObjectMissing, "gone")
	fsys := failing{fstest.MapFS{"a": {}}, func(name string) bool { return name == "a" }, cause}
	if _, err := Folder(fsys, nil); !fault.Is(err, fault.ObjectMissing) || !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
}

// failing is a file system some of whose files cannot be opened.
type failing struct {
	fs.FS
	bad   func(name string) bool
	cause error
}

func (f failing) Open(name string) (fs.File, error) {
	if f.bad(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: f.cause}
	}
	return f.FS.Open(name)
}

func TestTheFirstFaultIsReturned(t *testing.T) {
	mapped := fstest.MapFS{}
	for i := range 500 {
		mapped[fmt.Sprintf("f%03d", i)] = &fstest.MapFile{Data: bytes.Repeat([]byte{1}, i)}
	}
	for range 50 {
		_, err := Folder(failing{mapped, func(name string) bool { return name > "f123" && name < "f400" }, fs.ErrPermission}, nil)
		if !fault.Is(err, fault.IOFailed) || !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), `"f124"`) {
			t.Fatalf("got %v, want the fault of f124", err)
		}
	}
}

func TestManyAndLargeFiles(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	tr := tree{}
	for i := range 400 {
		content := make([]byte, r.IntN(3000))
		for j := range content {
			content[j] = byte(r.IntN(256))
		}
		tr[fmt.Sprintf("%d/%d", i%7, i)] = string(content)
	}
	tr["large"] = strings.Repeat("0123456789abcdef", 50_000)
	dir := tr.write(t, cmp.Compare)
	if got, want := folder(t, dir), byHand(tr); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func BenchmarkFolder20kFiles(b *testing.B) {
	tr := tree{}
	for i := range 20_000 {
		tr[fmt.Sprintf("%d/%d/file%d", i%20, i%400, i)] = strings.Repeat("line of text\n", 150+i%300)
	}
	dir := tr.write(b, cmp.Compare)
	b.Run("kxt1", func(b *testing.B) {
		for b.Loop() {
			folder(b, dir)
		}
	})
	b.Run("sha256sum", func(b *testing.B) {
		for b.Loop() {
			cmd := exec.Command("sh", "-c", "find . -type f -print0 | xargs -0 sha256sum | sha256sum")
			cmd.Dir = dir
			must(b, cmd.Run())
		}
	})
}
