package memory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"kxm/lib/item"
	"kxm/lib/kxmtest"
	"kxm/lib/repo"
)

// committed is what ReadCommitted says of the repository at dir.
func committed(t testing.TB, dir string, change func(*CommittedInput)) (*Committed, *item.Gap, error) {
	t.Helper()
	in := CommittedInput{Repo: openRepo(t, dir), Folder: ".kxm", Worktree: os.DirFS(filepath.Join(dir, ".kxm"))}
	if change != nil {
		change(&in)
	}
	return ReadCommitted(t.Context(), in)
}

var committedFiles = map[string]string{
	".kxm/memory/a.md":                memoryFile("a", nil),
	".kxm/memory/b.md":                memoryFile("b", nil),
	".kxm/shared/c.md":                memoryFile("c", nil),
	".kxm/skills/promoted/s/SKILL.md": "---\nname: s\n---\n",
	".kxm/config.toml":                "project = \"demo\"\n",
	"docs/x.md":                       "x",
	".gitignore":                      "ignored.md\n",
}

// TestCommittedWithholds holds each way in which dispatched content can be
// uncommitted, and those changes that are none.
func TestCommittedWithholds(t *testing.T) {
	write := func(name, text string) func(*testing.T, string) {
		return func(t *testing.T, dir string) { kxmtest.WriteFiles(t, dir, map[string]string{name: text}) }
	}
	git := func(args ...string) func(*testing.T, string) {
		return func(t *testing.T, dir string) { kxmtest.Git(t, dir, args...) }
	}
	remove := func(name string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	do := func(steps ...func(*testing.T, string)) []func(*testing.T, string) { return steps }
	for _, c := range []struct {
		name     string
		steps    []func(*testing.T, string)
		withheld string
	}{
		{"nothing", nil, ""},
		{"modified", do(write(".kxm/memory/a.md", memoryFile("a", map[string]string{"kind": "other"}))), WithheldUncommitted},
		{"modified and staged", do(write(".kxm/memory/a.md", "x"), git("add", "-A")), WithheldUncommitted},
		{"deleted", do(remove(".kxm/memory/a.md")), WithheldUncommitted},
		{"deleted and staged", do(git("rm", "-q", ".kxm/memory/a.md")), WithheldUncommitted},
		{"everything deleted", do(remove(".kxm")), WithheldUncommitted},
		{"untracked", do(write(".kxm/memory/new.md", "x")), WithheldUncommitted},
		{"added", do(write(".kxm/memory/new.md", "x"), git("add", "-A")), WithheldUncommitted},
		{"ignored", do(write(".kxm/memory/ignored.md", "x")), WithheldUncommitted},
		{"renamed", do(git("mv", ".kxm/memory/a.md", ".kxm/memory/z.md")), WithheldUncommitted},
		{"mode changed", do(func(t *testing.T, dir string) {
			if err := os.Chmod(filepath.Join(dir, ".kxm/memory/a.md"), 0o755); err != nil {
				t.Fatal(err)
			}
		}), WithheldUncommitted},
		{"became a link to the same bytes", do(remove(".kxm/memory/a.md"), write(".kxm/memory/a.txt", memoryFile("a", nil)),
			func(t *testing.T, dir string) { link(t, dir, "a.txt", ".kxm/memory/a.md") }), WithheldUncommitted},
		{"target of a link modified", do(func(t *testing.T, dir string) { link(t, dir, "../shared/c.md", ".kxm/memory/c.md") },
			git("add", "-A"), git("commit", "-qm", "link"), write(".kxm/shared/c.md", "x")), WithheldUncommitted},
		{"link and target committed", do(func(t *testing.T, dir string) { link(t, dir, "../shared/c.md", ".kxm/memory/c.md") },
			git("add", "-A"), git("commit", "-qm", "link")), ""},
		{"skill modified", do(write(".kxm/skills/promoted/s/SKILL.md", "x")), WithheldUncommitted},
		{"skill file untracked", do(write(".kxm/skills/promoted/s/scripts/run", "x")), WithheldUncommitted},
		{"new skill", do(write(".kxm/skills/promoted/n/SKILL.md", "x")), WithheldUncommitted},

		{"candidate", do(write(".kxm/memory/candidates/c.md", "x")), ""},
		{"skill candidate", do(write(".kxm/skills/candidates/c/SKILL.md", "x")), ""},
		{"text beside the facts", do(write(".kxm/memory/README.txt", "x")), ""},
		{"configuration", do(write(".kxm/config.toml", "x")), ""},
		{"other files", do(write("docs/x.md", "y"), write("new.md", "x")), ""},
		{"touched", do(func(t *testing.T, dir string) {
			if err := os.Chtimes(filepath.Join(dir, ".kxm/memory/a.md"), kxmtest.Now(), kxmtest.Now()); err != nil {
				t.Fatal(err)
			}
		}), ""},
		{"committed after all", do(write(".kxm/memory/a.md", memoryFile("a", map[string]string{"kind": "other"})), git("commit", "-qam", "x")), ""},
		{"other bytes that git takes for the same", do(write(".gitattributes", "*.md text eol=crlf\n"), git("add", "-A"), git("commit", "-qm", "attributes"),
			remove(".kxm/memory/a.md"), git("checkout", "-q", "--", ".kxm/memory/a.md")), ""},
		{"left out of a sparse checkout", do(git("sparse-checkout", "set", "--no-cone", "/docs/", "/.kxm/memory/a.md")), ""},
		{"mode that git does not look at", do(git("config", "core.fileMode", "false"), func(t *testing.T, dir string) {
			if err := os.Chmod(filepath.Join(dir, ".kxm/memory/a.md"), 0o755); err != nil {
				t.Fatal(err)
			}
		}), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := kxmtest.NewRepo(t, committedFiles)
			for _, step := range c.steps {
				step(t, dir)
			}
			read := false
			got, withheld, err := committed(t, dir, func(in *CommittedInput) {
				in.Also = func(repo.BlobFS) error { read = true; return nil }
			})
			if err != nil {
				t.Fatal(err)
			}
			gap := ""
			if withheld != nil {
				gap = withheld.Gap
			}
			if gap != c.withheld {
				t.Fatalf("gap %q (%+v), want %q", gap, withheld, c.withheld)
			}
			if served := len(got.Facts.Records) > 0; served == (gap != "") || read != served {
				t.Errorf("%d facts, skills read %t, with gap %q", len(got.Facts.Records), read, gap)
			}
		})
	}
}

// TestCommittedContent holds that what is read is the commit's, with its object
// ids.
func TestCommittedContent(t *testing.T) {
	dir := kxmtest.NewRepo(t, committedFiles)
	for name, change := range map[string]func(*CommittedInput){
		"files": nil,
		"git":   func(in *CommittedInput) { in.Repo = nativeRepo(t, dir) },
	} {
		t.Run(name, func(t *testing.T) {
			c, withheld, err := committed(t, dir, change)
			if err != nil || withheld != nil {
				t.Fatal(withheld, err)
			}
			if ids(c.Facts.Records) != "a b" || string(c.Commit) != kxmtest.Git(t, dir, "rev-parse", "HEAD") {
				t.Errorf("got %+v", c)
			}
			items, gaps := c.Facts.Items(ItemOptions{Project: "demo", Folder: ".kxm", Blob: c.Blob, Committed: true})
			if len(items) != 2 || len(gaps) != 0 || items[0].Provenance.Path != ".kxm/memory/a.md" ||
				items[0].Provenance.Blob != kxmtest.Git(t, dir, "rev-parse", "HEAD:.kxm/memory/a.md") {
				t.Errorf("got %+v, %+v", items, gaps)
			}
			want, err := Revision(os.DirFS(filepath.Join(dir, ".kxm")))
			if err != nil || c.Revision != want {
				t.Errorf("revision %s, want %s, %v", c.Revision, want, err)
			}
		})
	}
}

func nativeRepo(t testing.TB, dir string) *repo.Repo {
	t.Helper()
	r, err := repo.Open(t.Context(), repo.Options{Dir: dir, Explicit: true, Backend: "native"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func TestCommittedPin(t *testing.T) {
	dir := kxmtest.NewRepo(t, committedFiles)
	pin, err := Revision(os.DirFS(filepath.Join(dir, ".kxm")))
	if err != nil {
		t.Fatal(err)
	}
	commit := func(name, text string) {
		kxmtest.WriteFiles(t, dir, map[string]string{name: text})
		kxmtest.Git(t, dir, "add", "-A")
		kxmtest.Git(t, dir, "commit", "-qm", "more")
	}
	pinned := func(in *CommittedInput) { in.Pin = pin }

	if c, withheld, err := committed(t, dir, pinned); err != nil || withheld != nil || len(c.Facts.Records) != 2 {
		t.Errorf("the pinned revision: %+v, %v", withheld, err)
	}
	commit("docs/x.md", "another commit, the same facts")
	if _, withheld, err := committed(t, dir, pinned); err != nil || withheld != nil {
		t.Errorf("another commit with the same facts: %+v, %v", withheld, err)
	}
	during := func(name, text string) func(*CommittedInput) {
		return func(in *CommittedInput) {
			in.Pin = pin
			in.Also = func(repo.BlobFS) error { commit(name, text); return nil }
		}
	}
	if _, withheld, err := committed(t, dir, during("docs/x.md", "while it was read")); err != nil || withheld != nil {
		t.Errorf("another commit while reading, with the same facts: %+v, %v", withheld, err)
	}
	c, withheld, err := committed(t, dir, during(".kxm/memory/c.md", memoryFile("c", nil)))
	if err != nil || withheld == nil || withheld.Gap != WithheldRevisionDrift || len(c.Facts.Records) != 0 {
		t.Errorf("other facts while reading: %+v, %v", withheld, err)
	}
	if _, withheld, err := committed(t, dir, pinned); err != nil || withheld == nil || withheld.Gap != WithheldRevisionDrift {
		t.Errorf("other facts: %+v, %v", withheld, err)
	}
	if _, withheld, err := committed(t, dir, nil); err != nil || withheld != nil {
		t.Errorf("no pin: %+v, %v", withheld, err)
	}
}

// TestCommittedGitUnavailable holds that a Git that does not answer in time is an
// answer, and a caller that gave up is not.
func TestCommittedGitUnavailable(t *testing.T) {
	dir := kxmtest.NewRepo(t, committedFiles)
	c, withheld, err := committed(t, dir, func(in *CommittedInput) { in.Timeout = time.Nanosecond })
	if err != nil || withheld == nil || withheld.Gap != WithheldGitUnavailable || len(c.Facts.Records) != 0 {
		t.Errorf("got %+v, %v", withheld, err)
	}

	r := openRepo(t, kxmtest.NewRepo(t, committedFiles))
	if err := os.WriteFile(filepath.Join(r.GitDir(), "HEAD"), []byte("broken\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, withheld, err := ReadCommitted(t.Context(), CommittedInput{Repo: r, Folder: ".kxm", Worktree: os.DirFS(r.WorkTree() + "/.kxm")}); err != nil || withheld == nil || withheld.Gap != WithheldGitUnavailable {
		t.Errorf("with a broken HEAD: %+v, %v", withheld, err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir = kxmtest.NewRepo(t, committedFiles)
	if _, _, err := ReadCommitted(ctx, CommittedInput{Repo: openRepo(t, dir), Folder: ".kxm", Worktree: os.DirFS(dir + "/.kxm")}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	_, _, err = committed(t, dir, func(in *CommittedInput) { in.Also = func(repo.BlobFS) error { return fs.ErrInvalid } })
	if !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("got %v", err)
	}
}

// TestCommittedElsewhere holds a project in a folder, a repository without commits,
// one without facts, and a bare one.
func TestCommittedElsewhere(t *testing.T) {
	dir := kxmtest.NewRepo(t, map[string]string{"api/.kxm/memory/a.md": memoryFile("a", nil), ".kxm/memory/top.md": memoryFile("top", nil)})
	api := func(in *CommittedInput) {
		in.Folder, in.Worktree = "api/.kxm", os.DirFS(filepath.Join(dir, "api/.kxm"))
	}
	c, withheld, err := committed(t, dir, api)
	if err != nil || withheld != nil || ids(c.Facts.Records) != "a" {
		t.Errorf("in a folder: %+v, %v", withheld, err)
	}
	kxmtest.WriteFiles(t, dir, map[string]string{".kxm/memory/top.md": "modified: another project's"})
	if _, withheld, err := committed(t, dir, api); err != nil || withheld != nil {
		t.Errorf("beside a modified project: %+v, %v", withheld, err)
	}

	bare := filepath.Join(t.TempDir(), "bare.git")
	kxmtest.Git(t, dir, "clone", "-q", "--bare", dir, bare)
	if c, withheld, err := committed(t, bare, func(in *CommittedInput) { in.Worktree = nil }); err != nil || withheld != nil || ids(c.Facts.Records) != "top" {
		t.Errorf("bare: %+v, %v", withheld, err)
	}

	empty := t.TempDir()
	kxmtest.Git(t, empty, "init", "-q")
	if c, withheld, err := committed(t, empty, nil); err != nil || withheld != nil || len(c.Facts.Records) != 0 || c.Commit != "" || c.Blob("memory/a.md") != "" {
		t.Errorf("without commits: %+v, %+v, %v", c, withheld, err)
	}
	kxmtest.WriteFiles(t, empty, map[string]string{".kxm/memory/a.md": memoryFile("a", nil)})
	if _, withheld, err := committed(t, empty, nil); err != nil || withheld == nil || withheld.Gap != WithheldUncommitted {
		t.Errorf("without commits, with a fact: %+v, %v", withheld, err)
	}

	none := kxmtest.NewRepo(t, map[string]string{"README.md": "x"})
	if c, withheld, err := committed(t, none, func(in *CommittedInput) { in.Worktree = nil }); err != nil || withheld != nil || len(c.Facts.Records) != 0 {
		t.Errorf("without facts: %+v, %v", withheld, err)
	}
}

// TestCommittedServesTheGoodOnes holds that a file that is committed and broken
// hides no other, and that it costs the revision only where it cannot be read.
func TestCommittedServesTheGoodOnes(t *testing.T) {
	dir := kxmtest.NewRepo(t, map[string]string{".kxm/memory/a.md": memoryFile("a", nil), ".kxm/memory/broken.md": "x"})
	c, withheld, err := committed(t, dir, nil)
	if err != nil || withheld != nil || ids(c.Facts.Records) != "a" || len(c.Facts.Problems) != 1 || c.Revision == "" {
		t.Errorf("got %+v, %+v, %v", c, withheld, err)
	}
	link(t, dir, "../../README", ".kxm/memory/out.md")
	kxmtest.Git(t, dir, "add", "-A")
	kxmtest.Git(t, dir, "commit", "-qm", "a link out")
	c, withheld, err = committed(t, dir, nil)
	if err != nil || withheld != nil || ids(c.Facts.Records) != "a" || len(c.Facts.Problems) != 2 || c.Revision != "" {
		t.Errorf("got %+v, %+v, %v", c, withheld, err)
	}
	if _, withheld, err = committed(t, dir, func(in *CommittedInput) { in.Pin = "ctxrev_0" }); err != nil || withheld == nil || withheld.Gap != WithheldRevisionDrift {
		t.Errorf("got %+v, %v", withheld, err)
	}
}

// BenchmarkCommitted1000 reads 1,000 committed facts in a repository with nothing
// else and with 20,000 other files: the times must not differ.
func BenchmarkCommitted1000(b *testing.B) {
	for _, others := range []int{0, 20_000} {
		b.Run(fmt.Sprint(others), func(b *testing.B) {
			dir := b.TempDir()
			kxmtest.Git(b, dir, "init", "-q")
			kxmtest.Git(b, dir, "config", "gc.auto", "0")
			writeFacts(b, dir, 1000)
			files := map[string]string{}
			for i := range others {
				files[fmt.Sprintf("src/%d/%d.txt", i%100, i)] = fmt.Sprint(i)
			}
			kxmtest.WriteFiles(b, dir, files)
			kxmtest.Git(b, dir, "add", "-A")
			kxmtest.Git(b, dir, "commit", "-qm", "x")
			kxmtest.Git(b, dir, "repack", "-adq")
			for b.Loop() {
				c, withheld, err := committed(b, dir, nil)
				if err != nil || withheld != nil || len(c.Facts.Records) != 1000 {
					b.Fatal(withheld, err)
				}
			}
		})
	}
}
