package repo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"kxm/lib/fault"
	"kxm/lib/kxmtest"
)

// TestConformance compares everything that is read with what git says, for every
// kind of repository and for both backends.
func TestConformance(t *testing.T) {
	for _, f := range fixtures() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			dir := f.make(t)
			known := map[string]string{}
			for _, backend := range []string{"", "native"} {
				name, want := "files", f.backend
				if backend != "" {
					name, want = backend, backend
				}
				t.Run(name, func(t *testing.T) {
					r := open(t, dir, backend)
					if r.Backend() != want {
						t.Fatalf("backend %s (%s), want %s", r.Backend(), r.Reason(), want)
					}
					c := conformance{t: t, r: r, dir: dir, known: known, whole: slices.Contains(wholeFixtures, f.name)}
					if st, err := os.Stat(dir); err == nil && !st.IsDir() {
						c.dir = filepath.Dir(dir)
					}
					c.places()
					c.objects()
					c.decoded()
					c.refs()
					c.revisions()
					c.index()
					c.snapshots()
					c.history()
				})
			}
		})
	}
}

type conformance struct {
	t   *testing.T
	r   *Repo
	dir string
	// known are the answers of git about revisions, which both backends are held to.
	known map[string]string
	// whole asks every question; otherwise only some of those whose answer does not
	// depend on what is unusual about the fixture.
	whole bool
}

// wholeFixtures differ in what revisions, refs and the index depend on.
var wholeFixtures = []string{"loose", "shallow", "remotes", "unborn HEAD", "sha256", "detached HEAD", "linked worktree", "sparse index", "conflict and changes in the index"}

// some is how many of n questions are asked.
func (c conformance) some(n int) int {
	if c.whole || c.r.Backend() == "files" {
		return n
	}
	return min(n, 2)
}

func (c conformance) git(args ...string) string {
	c.t.Helper()
	return kxmtest.Git(c.t, c.dir, append([]string{"--no-replace-objects"}, args...)...)
}

func (c conformance) places() {
	c.t.Helper()
	for _, check := range []struct{ what, got, want string }{
		{"GitDir", c.r.GitDir(), c.git("rev-parse", "--absolute-git-dir")},
		{"CommonDir", c.r.CommonDir(), c.git("rev-parse", "--path-format=absolute", "--git-common-dir")},
		{"ObjectFormat", c.r.ObjectFormat(), c.git("rev-parse", "--show-object-format")},
	} {
		if check.got != check.want {
			c.t.Errorf("%s is %q, want %q", check.what, check.got, check.want)
		}
	}
	want := ""
	if c.git("rev-parse", "--is-inside-git-dir") == "false" && c.git("rev-parse", "--is-bare-repository") == "false" {
		// With core.worktree elsewhere, the folder of .git is not inside it.
		top, err := c.r.Git(c.t.Context(), nil, "rev-parse", "--show-toplevel")
		if err != nil {
			c.t.Fatal(err)
		}
		want = strings.TrimSpace(string(top))
	}
	if c.r.WorkTree() != want || c.r.Bare() != (want == "") {
		c.t.Errorf("WorkTree is %q, want %q", c.r.WorkTree(), want)
	}
}

func (c conformance) objects() {
	ctx := c.t.Context()
	n := 0
	for line := range strings.SplitSeq(c.git("cat-file", "--batch-all-objects", "--batch-check"), "\n") {
		if line == "" {
			continue
		}
		n++
		words := strings.Fields(line)
		id, wantType := OID(words[0]), words[1]
		typ, data, err := c.r.Object(ctx, id)
		if err != nil || typ != wantType || strconv.Itoa(len(data)) != words[2] {
			c.t.Fatalf("object %s: %s of %d bytes, %v; want %s", id, typ, len(data), err, line)
		}
		// The id proves the content.
		if got := hashObject(c.r.ObjectFormat(), typ, data); got != id {
			c.t.Fatalf("object %s has the content of %s", id, got)
		}
		if typ, size, err := c.r.Header(ctx, id); err != nil || typ != wantType || size != int64(len(data)) {
			c.t.Fatalf("header of %s: %s, %d, %v; want %s", id, typ, size, err, line)
		}
	}
	if n == 0 && !strings.Contains(c.t.Name(), "unborn_HEAD") {
		c.t.Fatal("no object was compared")
	}
	for _, id := range []OID{OID(strings.Repeat("12", c.r.idLength()/2)), "", "x", "../../../../etc/passwd"} {
		if _, _, err := c.r.Object(ctx, id); !fault.Is(err, fault.ObjectMissing) {
			c.t.Errorf("object %q: %v, want %s", id, err, fault.ObjectMissing)
		}
	}
	if got, want := string(c.r.HashBlob([]byte("hello\n"))), kxmtest.GitInput(c.t, c.dir, []byte("hello\n"), "hash-object", "--stdin"); got != want {
		c.t.Errorf("HashBlob is %s, want %s", got, want)
	}
}

// decoded compares decoded commits and their trees. The ids of objects prove their
// bytes, so it is enough that each history is decoded once.
func (c conformance) decoded() {
	ctx := c.t.Context()
	person := func(p Person) string {
		return fmt.Sprintf("%s\x1f%s\x1f%s", p.Name, p.Email, p.When.Format("2006-01-02T15:04:05-07:00"))
	}
	n := 0
	for record := range strings.SplitSeq(c.git("log", "--all", "-z", "--format=%H%x1f%T%x1f%P%x1f%an%x1f%ae%x1f%aI%x1f%cn%x1f%ce%x1f%cI%x1f%B"), "\x00") {
		id, want, ok := strings.Cut(record, "\x1f")
		if !ok {
			continue
		}
		n++
		got, err := c.r.Commit(ctx, OID(id))
		if err != nil {
			c.t.Fatal(err)
		}
		parents := []string{}
		for _, p := range got.Parents {
			parents = append(parents, string(p))
		}
		text := strings.Join([]string{string(got.Tree), strings.Join(parents, " "), person(got.Author), person(got.Committer), got.Message}, "\x1f")
		// %aI writes Z for UTC since git 2.42.
		want = strings.ReplaceAll(want, "Z\x1f", "+00:00\x1f")
		if strings.TrimRight(text, "\n") != strings.TrimRight(want, "\n") {
			c.t.Fatalf("commit %s:\n%q\nwant\n%q", id, text, want)
		}
		if n%5 == 1 {
			c.tree(got.Tree)
		}
	}
	if n == 0 && !strings.Contains(c.t.Name(), "unborn_HEAD") {
		c.t.Fatal("no commit was compared")
	}
}

func (c conformance) tree(id OID) {
	entries, err := c.r.Tree(c.t.Context(), id)
	if err != nil {
		c.t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range entries {
		kind := map[Mode]string{ModeFolder: "tree", ModeSubmodule: "commit"}[e.Mode]
		if kind == "" {
			kind = "blob"
		}
		fmt.Fprintf(&b, "%06o %s %s\t%s\x00", uint32(e.Mode), kind, e.OID, e.Name)
	}
	if want := c.git("ls-tree", "-z", "--full-tree", string(id)); b.String() != want {
		c.t.Fatalf("tree %s:\n%q\nwant\n%q", id, b.String(), want)
	}
}

func (c conformance) refs() {
	ctx := c.t.Context()
	names := map[string]string{}
	for line := range strings.SplitSeq(c.git("for-each-ref", "--format=%(refname) %(objectname)"), "\n") {
		if name, id, ok := strings.Cut(line, " "); ok {
			names[name] = id
		}
	}
	if id, err := c.r.Git(ctx, nil, "rev-parse", "--verify", "-q", "HEAD"); err == nil {
		names["HEAD"] = strings.TrimSpace(string(id))
	}
	n := 0
	for name, want := range names {
		if n++; n > 8 && c.r.Backend() == "native" && n%100 != 0 {
			continue // a program for each of 1,500 refs proves no more than for some
		}
		if id, ok, err := c.r.Ref(ctx, name); err != nil || !ok || string(id) != want {
			c.t.Errorf("ref %s is %s, %v, %v; want %s", name, id, ok, err, want)
		}
	}
	absent := []string{"refs/heads/none", "refs/heads", "refs/many/0701", "refs/kxm/state/below", "refs/heads/../main", "", "/", "refs/heads/a b", "HEAD.lock", "refs/tags/v1^{}"}
	for _, name := range absent[:c.some(len(absent))] {
		if id, ok, err := c.r.Ref(ctx, name); ok || err != nil {
			c.t.Errorf("ref %q is %s, %v, %v; want none", name, id, ok, err)
		}
	}
	head, ok, err := c.r.Head(ctx)
	if want := names["HEAD"]; err != nil || string(head) != want || ok != (want != "") {
		c.t.Errorf("HEAD is %s, %v, %v; want %q", head, ok, err, want)
	}
}

func (c conformance) revisions() {
	ctx := c.t.Context()
	revs := []string{
		"HEAD", "@", "main", "HEAD~1", "HEAD~", "HEAD^", "HEAD^2", "HEAD^0", "HEAD~2^{commit}", "main~3^1~1", "HEAD~100", "HEAD^7",
		"topic/side", "heads/topic/side", "alias", "v1", "v1-again", "tags/v1", "v1~2", "v1^{commit}", "v1^{}", "light", "a-tree", "a-blob", "refs/heads/main",
		"origin", "origin/main", "main@{0}", "HEAD@{1}", ":/commit 3", "HEAD:big.txt", "HEAD^{tree}", "HEAD^{tree}~1", "config", "objects", "nothing",
		"HEAD~99999999999999999999", "", " ", "--all", "-1", "--output=x", "a..b", "HEAD^{/commit 4}", "main^-", "refs/heads", "~1", "^1", "@{u}", "@~1", "\x00",
		"1111111111111111111111111111111111111111",
	}
	if head, ok, err := c.r.Head(ctx); err != nil {
		c.t.Fatal(err)
	} else if ok {
		revs = append(revs, string(head), string(head[:9]), string(head)+"~1", string(head[:5])+"^", "x-1-g"+string(head[:8]))
	}
	for i, rev := range revs {
		if !c.whole && i%6 != 0 {
			continue
		}
		want, known := c.known[rev]
		if !known && !strings.HasPrefix(rev, "-") && rev != "" && rev != "\x00" {
			if out, err := c.r.Git(ctx, nil, "rev-parse", "--verify", "-q", "--end-of-options", rev+"^{commit}"); err == nil {
				want = strings.TrimSpace(string(out))
			}
			c.known[rev] = want
		}
		id, err := c.r.Resolve(ctx, rev)
		if string(id) != want || (want == "") != fault.Is(err, fault.RevisionNotFound) {
			c.t.Errorf("revision %q is %s, %v; want %q", rev, id, err, want)
		}
	}
}

func (c conformance) index() {
	ctx := c.t.Context()
	entries, err := c.r.Index(ctx)
	if err != nil {
		c.t.Fatal(err)
	}
	var b strings.Builder
	intended := []string{}
	for _, e := range entries {
		fmt.Fprintf(&b, "%06o %s %d\t%s\x00", uint32(e.Mode), e.OID, e.Stage, e.Path)
		if e.IntentToAdd {
			intended = append(intended, e.Path)
		}
	}
	list, err := c.r.Git(ctx, nil, "ls-files", "-s", "-z", "--full-name")
	if err != nil {
		c.t.Fatal(err)
	}
	if b.String() != string(list) {
		c.t.Errorf("index:\n%q\nwant\n%q", b.String(), list)
	}
	wantIntended := []string{}
	for _, e := range entries {
		if e.Path == "intended" {
			wantIntended = append(wantIntended, e.Path)
		}
	}
	if !slices.Equal(intended, wantIntended) {
		c.t.Errorf("intended to be added: %q, want %q", intended, wantIntended)
	}

	below := [][]string{{"dir/sub1", "run.sh"}, {".kxm/"}, {"dir", "big"}, {"."}}
	for _, prefixes := range below[:c.some(len(below))] {
		got, err := c.r.Index(ctx, prefixes...)
		if err != nil {
			c.t.Fatal(err)
		}
		want := slices.DeleteFunc(slices.Clone(entries), func(e IndexEntry) bool {
			return !slices.ContainsFunc(prefixes, func(p string) bool {
				p = strings.TrimSuffix(p, "/")
				return p == "." || e.Path == p || strings.HasPrefix(e.Path, p+"/")
			})
		})
		if !slices.Equal(got, want) {
			c.t.Errorf("index of %q has %d entries, want %d", prefixes, len(got), len(want))
		}
	}

	if c.r.Bare() {
		return
	}
	below = [][]string{{}, {"dir/sub2", ".kxm"}, {"big.txt"}, {"none"}, {"."}, {".kxm/", "dir/"}}
	for _, prefixes := range below[:c.some(len(below))] {
		got, err := c.r.StagedPaths(ctx, prefixes...)
		if err != nil {
			c.t.Fatal(err)
		}
		against := "HEAD"
		if _, ok, _ := c.r.Head(ctx); !ok {
			against = kxmtest.GitInput(c.t, c.dir, nil, "hash-object", "-t", "tree", "--stdin")
		}
		out, err := c.r.Git(ctx, nil, append([]string{"diff-index", "--cached", "--no-renames", "--ita-invisible-in-index", "-z", "--name-only", against, "--"}, prefixes...)...)
		if err != nil {
			c.t.Fatal(err)
		}
		want := slices.DeleteFunc(strings.Split(string(out), "\x00"), func(s string) bool { return s == "" })
		slices.Sort(want)
		if want = slices.Compact(want); !slices.Equal(got, want) {
			c.t.Errorf("staged below %q: %q, want %q", prefixes, got, want)
		}
	}
}

func (c conformance) snapshots() {
	ctx := c.t.Context()
	if index, err := c.r.IndexFS(ctx, ""); err != nil {
		c.t.Error(err)
	} else if entries, err := c.r.Index(ctx); err != nil {
		c.t.Error(err)
	} else {
		var want []string
		for _, e := range entries {
			if e.Stage == 0 && !e.IntentToAdd {
				want = append(want, fmt.Sprintf("%o %s %s", uint32(e.Mode), e.OID, e.Path))
			}
		}
		c.files(index, want)
	}

	head, ok, err := c.r.Head(ctx)
	if err != nil || !ok {
		return
	}
	fsys, err := c.r.CommitFS(ctx, head, "")
	if err != nil {
		c.t.Fatal(err)
	}
	var want []string
	list, err := c.r.Git(ctx, nil, "ls-tree", "-r", "-z", "--full-tree", string(head))
	if err != nil {
		c.t.Fatal(err)
	}
	for record := range strings.SplitSeq(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		head, path, _ := strings.Cut(record, "\t")
		words := strings.Fields(head)
		want = append(want, words[0]+" "+words[2]+" "+path)
	}
	c.files(fsys, want)

	kxm, err := c.r.CommitFS(ctx, head, ".kxm")
	if err != nil {
		c.t.Fatal(err)
	}
	if entries, err := kxm.ReadDir("."); err != nil || len(entries) == 0 {
		return // a folder that this history has not
	}
	if data, err := kxm.ReadFile("memory/link.md"); err != nil || string(data) != "one\n" {
		c.t.Errorf("through a link: %q, %v", data, err)
	}
	if _, err := kxm.ReadFile("out"); !fault.Is(err, fault.PathEscapes) {
		c.t.Errorf("a link that leads out: %v", err)
	}
}

// files compares the files of a snapshot, "mode id path", and their contents.
func (c conformance) files(fsys BlobFS, want []string) {
	c.t.Helper()
	var got []string
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		link := d.Type() == fs.ModeSymlink
		id, isFile := fsys.Blob(name)
		switch {
		case d.IsDir():
			if strings.HasPrefix(name, "vendor/module") {
				got = append(got, "160000 "+strings.Repeat("1", c.r.idLength())+" "+name)
			}
			return nil
		case link:
			target, err := fsys.ReadLink(name)
			got = append(got, fmt.Sprintf("120000 %s %s", c.r.HashBlob([]byte(target)), name))
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		data, err := fsys.ReadFile(name)
		if err != nil {
			return err
		}
		if info.Size() != int64(len(data)) || !isFile || id != c.r.HashBlob(data) {
			return fmt.Errorf("%s: size %d, id %s, %d bytes", name, info.Size(), id, len(data))
		}
		mode := 0o100644
		if info.Mode()&0o111 != 0 {
			mode = 0o100755
		}
		got = append(got, fmt.Sprintf("%o %s %s", mode, id, name))
		return nil
	})
	if err != nil {
		c.t.Fatal(err)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		c.t.Errorf("files:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func (c conformance) history() {
	ctx := c.t.Context()
	if _, ok, _ := c.r.Head(ctx); !ok {
		if got, err := c.r.PathHistory(ctx, "", "big.txt", 0); err != nil || len(got) != 0 {
			c.t.Errorf("history of an unborn HEAD: %v, %v", got, err)
		}
		return
	}
	got, err := c.r.PathHistory(ctx, "", "big.txt", 3)
	if err != nil {
		c.t.Fatal(err)
	}
	var b strings.Builder
	for _, i := range got {
		fmt.Fprintf(&b, "%s %s %s %s\n", i.OID, i.Author.Name, i.Author.When.UTC().Format(time.RFC3339), i.Subject)
	}
	want, err := c.r.Git(ctx, nil, "-c", "log.showSignature=false", "log", "-3", "--date=format-local:%Y-%m-%dT%H:%M:%SZ", "--format=%H %an %ad %s", "--", "big.txt")
	if err != nil || b.String() != string(want) {
		c.t.Errorf("history:\n%s\nwant\n%s%v", b.String(), want, err)
	}
}

// TestSnapshotIsAFileSystem runs the standard library's own checks.
func TestSnapshotIsAFileSystem(t *testing.T) {
	dir := kxmtest.NewRepo(t, map[string]string{"a/b/c.txt": "c\n", "a/b.txt": "b\n", "a.txt": "a\n", "empty": ""})
	for name, target := range map[string]string{"a/link": "b/c.txt", "folder-link": "a/b"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	kxmtest.Git(t, dir, "add", "-A")
	kxmtest.Git(t, dir, "commit", "-q", "-m", "links")
	r := open(t, dir, "")
	ctx := context.Background()
	head, _, err := r.Head(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for name, make := range map[string]func() (BlobFS, error){
		"commit": func() (BlobFS, error) { return r.CommitFS(ctx, head, "") },
		"index":  func() (BlobFS, error) { return r.IndexFS(ctx, "") },
	} {
		t.Run(name, func(t *testing.T) {
			if err := fstest.TestFS(must(make())(t), "a/b/c.txt", "a/b.txt", "a.txt", "empty", "a/link", "folder-link"); err != nil {
				t.Error(err)
			}
			sub := must(fs.Sub(must(make())(t), "a"))(t)
			if data, err := fs.ReadFile(sub, "link"); err != nil || string(data) != "c\n" {
				t.Errorf("link in a subfolder: %q, %v", data, err)
			}
		})
	}
	empty := must(r.CommitFS(ctx, head, "not/there"))(t)
	if err := fstest.TestFS(empty); err != nil {
		t.Error(err)
	}
	if _, err := empty.ReadFile("x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("reading from a folder that is not there: %v", err)
	}
}
