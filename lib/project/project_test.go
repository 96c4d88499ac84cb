package project

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"kxm/lib/fault"
	"kxm/lib/kxmtest"
)

// find finds the project around a folder in a closed environment.
func find(t *testing.T, dir string) (*Place, error) {
	t.Helper()
	home := t.TempDir()
	return Find(context.Background(), Options{Dir: dir, Explicit: true, Getenv: func(name string) string {
		switch name {
		case "HOME":
			return home
		case "PATH":
			return os.Getenv("PATH")
		case "GIT_CONFIG_NOSYSTEM":
			return "1"
		}
		return ""
	}})
}

func mustFind(t *testing.T, dir string) *Place {
	t.Helper()
	p, err := find(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var twoProjects = map[string]string{
	".kxm/config.toml":       "project = \"top\"\n",
	".kxm/memory/a.md":       "committed",
	"part/.kxm/config.toml":  "project = \"part\"\n",
	"part/deep/er/file.txt":  "",
	"other/without/file.txt": "",
}

func TestTheNearestFolderCounts(t *testing.T) {
	top := kxmtest.NewRepo(t, twoProjects)
	for _, c := range []struct{ from, dir, project string }{
		{".", ".", "top"}, {"other/without", ".", "top"}, {"part", "part", "part"}, {"part/deep/er", "part", "part"},
	} {
		p := mustFind(t, filepath.Join(top, c.from))
		if p.Repo == nil || p.Dir != c.dir || !p.Has {
			t.Errorf("from %s: %+v", c.from, p)
		}
		for _, rev := range []string{"", "HEAD"} {
			v, err := p.Worktree(t.Context())
			if rev != "" {
				v, err = p.Revision(t.Context(), rev)
			}
			if err != nil {
				t.Fatal(err)
			}
			if name, err := v.Project(""); err != nil || name != c.project || v.Dir != c.dir {
				t.Errorf("from %s at %q: %q in %s, %v", c.from, rev, name, v.Dir, err)
			}
		}
	}
}

func TestViewsShowTheirOwnState(t *testing.T) {
	top := kxmtest.NewRepo(t, twoProjects)
	kxmtest.WriteFiles(t, top, map[string]string{".kxm/memory/a.md": "staged"})
	kxmtest.Git(t, top, "add", "-A")
	kxmtest.WriteFiles(t, top, map[string]string{".kxm/memory/a.md": "written"})
	p := mustFind(t, top)
	worktree, err1 := p.Worktree(t.Context())
	index, err2 := p.Index(t.Context())
	commit, err3 := p.Revision(t.Context(), "HEAD")
	if err1 != nil || err2 != nil || err3 != nil {
		t.Fatal(err1, err2, err3)
	}
	for _, c := range []struct {
		name string
		v    *View
		want string
	}{{"worktree", worktree, "written"}, {"index", index, "staged"}, {"commit", commit, "committed"}} {
		data, err := fs.ReadFile(c.v.Kxm, "memory/a.md")
		if err != nil || string(data) != c.want {
			t.Errorf("%s: %q, %v", c.name, data, err)
		}
		if (c.v.Blob == nil) != (c.name == "worktree") || (c.v.Commit != "") != (c.name == "commit") {
			t.Errorf("%s: blob %t, commit %q", c.name, c.v.Blob != nil, c.v.Commit)
		}
	}
	if got, want := commit.Blob("memory/a.md"), kxmtest.Git(t, top, "rev-parse", "HEAD:.kxm/memory/a.md"); got != want {
		t.Errorf("the blob is %s, want %s", got, want)
	}
}

func TestPlacesWithoutAWorktreeOrARepository(t *testing.T) {
	top := kxmtest.NewRepo(t, twoProjects)
	bare := filepath.Join(t.TempDir(), "bare.git")
	kxmtest.Git(t, top, "clone", "-q", "--bare", ".", bare)
	p := mustFind(t, bare)
	v, err := p.Worktree(t.Context())
	if err != nil || p.Top != "" || v.Commit == "" || v.Config.Project != "top" {
		t.Errorf("bare: %+v, %+v, %v", p, v, err)
	}
	if err := p.NeedFolder(); !fault.Is(err, fault.Usage) {
		t.Errorf("a bare repository has no folder to write: %v", err)
	}

	plain := t.TempDir()
	p = mustFind(t, plain)
	if p.Repo != nil || p.Has {
		t.Errorf("outside: %+v", p)
	}
	if err := p.NeedRepo("it"); !fault.Is(err, fault.NotARepository) {
		t.Errorf("outside: %v", err)
	}
	if err := p.NeedFolder(); !fault.Is(err, fault.ProjectNotConfigured) {
		t.Errorf("outside: %v", err)
	}
}

func TestALinkedFolderIsRefused(t *testing.T) {
	top := kxmtest.NewRepo(t, map[string]string{"file": ""})
	if err := os.Symlink(t.TempDir(), filepath.Join(top, ".kxm")); err != nil {
		t.Fatal(err)
	}
	if _, err := find(t, top); !fault.Is(err, fault.PathEscapes) {
		t.Errorf("got %v", err)
	}
}

func TestNewNames(t *testing.T) {
	top := kxmtest.NewRepo(t, map[string]string{"file": ""})
	p := mustFind(t, top)
	name, err := p.NewName(t.Context(), "")
	if err != nil || name != filepath.Base(top) {
		t.Errorf("without a remote: %q, %v", name, err)
	}
	for _, c := range []struct{ url, want string }{
		{"https://git.example/ada/review-kit.git", "review-kit"}, {"git@git.example:ada/kit", "kit"}, {"../up/kit.git/", "kit"},
	} {
		kxmtest.Git(t, top, "config", "remote.origin.url", c.url)
		if name, err := mustFind(t, top).NewName(t.Context(), ""); err != nil || name != c.want {
			t.Errorf("%s: %q, %v", c.url, name, err)
		}
	}
	for _, bad := range []string{"_shared", " ", "a\nb"} {
		if _, err := p.NewName(t.Context(), bad); !fault.Is(err, fault.Usage) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if got := string(Configuration(`a "b" \c`)); got != "project = \"a \\\"b\\\" \\\\c\"\n" {
		t.Errorf("written as %s", got)
	}
}
