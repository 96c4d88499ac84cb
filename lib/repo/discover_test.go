package repo

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kxm/lib/fault"
	"kxm/lib/kxmtest"
)

// gitSays runs git in dir with extra variables and returns the lines of its answer,
// or ok=false when it refuses.
func gitSays(t *testing.T, dir string, env []string, args ...string) ([]string, bool) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, append(kxmtest.GitEnv(t.TempDir()), env...)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n"), err == nil
}

// TestDiscoveryAgreesWithGit goes through Git's rules for where a repository and its
// worktree are: every combination of folder, variables and configuration.
func TestDiscoveryAgreesWithGit(t *testing.T) {
	root := must(filepath.EvalSymlinks(t.TempDir()))(t)
	main, other, tree := filepath.Join(root, "main"), filepath.Join(root, "other"), filepath.Join(root, "tree")
	for _, dir := range []string{main, other} {
		kxmtest.WriteFiles(t, dir, map[string]string{"a/b/c": "c\n"})
		kxmtest.Git(t, dir, "init", "-q")
		kxmtest.Git(t, dir, "add", "-A")
		kxmtest.Git(t, dir, "commit", "-q", "-m", "start")
	}
	kxmtest.Git(t, main, "worktree", "add", "-q", tree)
	kxmtest.WriteFiles(t, root, map[string]string{"outside/x": "", "main/a/.git/HEAD": "damaged\n"})
	if err := os.Symlink(filepath.Join(main, "a"), filepath.Join(root, "outside", "link")); err != nil {
		t.Fatal(err)
	}

	folders := []string{main, filepath.Join(main, "a/b"), filepath.Join(main, ".git"), filepath.Join(main, ".git/refs"), tree, filepath.Join(tree, "a"), filepath.Join(root, "outside"), filepath.Join(root, "outside/link")}
	environments := [][]string{
		nil,
		{"GIT_DIR=.git"},
		{"GIT_DIR=."},
		{"GIT_DIR=" + other + "/.git"},
		{"GIT_DIR=" + tree + "/.git"},
		{"GIT_DIR=" + other + "/.git", "GIT_WORK_TREE=" + other},
		{"GIT_DIR=" + other + "/.git", "GIT_IMPLICIT_WORK_TREE=0"},
		{"GIT_DIR=" + main + "/.git/worktrees/tree"},
		{"GIT_DIR=" + main + "/.git/worktrees/tree", "GIT_COMMON_DIR=" + main + "/.git"},
		{"GIT_WORK_TREE=" + other},
		{"GIT_WORK_TREE=."},
		{"GIT_DIR=" + root + "/outside"},
		{"GIT_CEILING_DIRECTORIES=" + main},
		{"GIT_CEILING_DIRECTORIES=" + main + "/a"},
		{"GIT_CEILING_DIRECTORIES=relative:" + root + ":" + main + "/a/b"},
		{"GIT_CEILING_DIRECTORIES=" + root + "/outside/link"},
		{"GIT_CEILING_DIRECTORIES=:" + root + "/outside/link"},
	}
	configurations := [][]string{
		nil,
		{"core.bare", "true"},
		{"core.worktree", other},
		{"core.worktree", "../../outside"},
		{"core.bare", "true", "core.worktree", other},
		{"core.bare", "true", "extensions.worktreeConfig", "true"},
	}
	for _, conf := range configurations {
		kxmtest.Git(t, main, "config", "core.bare", "false")
		for _, key := range []string{"core.worktree", "extensions.worktreeConfig"} {
			exitOf(t, main, "--git-dir="+main+"/.git", "config", "--unset-all", key)
		}
		for i := 0; i < len(conf); i += 2 {
			kxmtest.Git(t, root, "--git-dir="+main+"/.git", "config", conf[i], conf[i+1])
		}
		for _, env := range environments {
			if conf != nil && env != nil && strings.HasPrefix(env[0], "GIT_CEILING") {
				continue // has nothing to do with configuration
			}
			for _, dir := range folders {
				where := strings.Join(slices.Concat([]string{strings.TrimPrefix(dir, root)}, env, conf), " ")
				// Without a worktree git answers the first two questions and fails at the third.
				places, hasTop := gitSays(t, dir, env, "rev-parse", "--absolute-git-dir", "--path-format=absolute", "--git-common-dir", "--show-toplevel")
				ok := len(places) >= 2
				top := ""
				if hasTop {
					top = places[2]
				}
				r, err := Open(t.Context(), Options{Dir: dir, Getenv: closed(t, env...)})
				if (err == nil) != ok {
					t.Errorf("%s: opened: %v, git: %v", where, err, ok)
					continue
				}
				if err != nil {
					if !fault.Is(err, fault.NotARepository) {
						t.Errorf("%s: %v", where, err)
					}
					continue
				}
				if r.GitDir() != places[0] || r.CommonDir() != places[1] {
					t.Errorf("%s: %s, %s; git: %q", where, r.GitDir(), r.CommonDir(), places)
				}
				if r.WorkTree() != top {
					t.Errorf("%s: worktree %q, git: %q", where, r.WorkTree(), top)
				}
				// A git program that we start must end up in the same place.
				want, args := r.GitDir()+"\n", []string{"rev-parse", "--absolute-git-dir"}
				if r.WorkTree() != "" {
					want, args = want+r.WorkTree()+"\n", append(args, "--show-toplevel")
				}
				if child, err := r.Git(t.Context(), nil, args...); err != nil || string(child) != want {
					t.Errorf("%s: our git is in %q, %v; want %q", where, child, err, want)
				}
			}
		}
	}
}

func TestOpenRefusals(t *testing.T) {
	root := t.TempDir()
	kxmtest.WriteFiles(t, root, map[string]string{
		"garbage/.git": "not a gitfile\n",
		"nowhere/.git": "gitdir: ../missing\n",
		"plain/file":   "",
	})
	ceiling := "GIT_CEILING_DIRECTORIES=" + must(filepath.EvalSymlinks(root))(t)
	for name, code := range map[string]fault.Code{
		"garbage":    fault.NotARepository,
		"nowhere":    fault.NotARepository,
		"plain":      fault.NotARepository,
		"plain/file": fault.NotARepository,
		"absent":     fault.NotARepository,
	} {
		_, err := Open(t.Context(), Options{Dir: filepath.Join(root, name), Getenv: closed(t, ceiling)})
		if !fault.Is(err, code) {
			t.Errorf("%s: %v, want %s", name, err, code)
		}
	}
	if _, err := Open(t.Context(), Options{Dir: root, Backend: "fast"}); !fault.Is(err, fault.Usage) {
		t.Errorf("unknown backend: %v", err)
	}

	broken := kxmtest.NewRepo(t, nil)
	writeText(t, filepath.Join(broken, ".git/config"), "[core]\n\tbare = fal\"se\n")
	_, err := Open(t.Context(), Options{Dir: broken, Getenv: closed(t)})
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != fault.ConfigInvalid || f.Line != 2 || !strings.HasSuffix(f.Source, "config") {
		t.Errorf("damaged configuration: %v", err)
	}
}

// TestUnknownFormatsAreNeverReadAsFiles covers what neither we nor an old git read.
// A reftable repository looks to a reader of files like one without refs, so a
// store in it would seem empty.
func TestUnknownFormatsAreNeverReadAsFiles(t *testing.T) {
	for name, config := range map[string]string{
		"unknown extension": "[core]\nrepositoryFormatVersion = 1\n[extensions]\nfromTheFuture = yes\n",
		"version 2":         "[core]\nrepositoryFormatVersion = 2\n",
		"object format":     "[core]\nrepositoryFormatVersion = 1\n[extensions]\nobjectFormat = sha9\n",
		"reftable":          "[core]\nrepositoryFormatVersion = 1\n[Extensions]\nRefStorage = reftable\n",
		"quoted":            "[core]\nrepositoryFormatVersion = \"1\"\n[extensions]\nref\\\nStorage = reftable\n",
	} {
		t.Run(name, func(t *testing.T) {
			dir := kxmtest.NewRepo(t, map[string]string{"a": "a\n"})
			writeText(t, filepath.Join(dir, ".git/config"), config)
			if name == "reftable" {
				// As `git init --ref-format=reftable` leaves it, with a damaged table.
				writeText(t, filepath.Join(dir, ".git/HEAD"), "ref: refs/heads/.invalid\n")
				if err := os.RemoveAll(filepath.Join(dir, ".git/refs/heads")); err != nil {
					t.Fatal(err)
				}
				writeText(t, filepath.Join(dir, ".git/refs/heads"), "this repository uses the reftable format\n")
				writeText(t, filepath.Join(dir, ".git/reftable/tables.list"), "0x000000000001-0x000000000001-00000000.ref\n")
			}
			r, err := Open(t.Context(), Options{Dir: dir, Getenv: closed(t)})
			want := fault.RepositoryUnsupported
			if name == "quoted" {
				want = fault.ConfigInvalid // a name cannot be continued
			}
			if err == nil {
				// A git that knows reftable opens it, and then says what is wrong.
				if r.Backend() != "native" {
					t.Fatalf("opened with backend %s", r.Backend())
				}
				defer r.Close()
				if _, _, err = r.Ref(t.Context(), "refs/heads/main"); err == nil {
					t.Error("a ref of a damaged reftable reads as absent")
				}
				return
			}
			if !fault.Is(err, want) {
				t.Errorf("%v, want %s", err, want)
			}
		})
	}
}

// TestReftable reads a real one where git can make it; where it cannot, the test
// above has shown that it is refused.
func TestReftable(t *testing.T) {
	dir := t.TempDir()
	if exitOf(t, dir, "init", "-q", "--ref-format=reftable") != 0 {
		version := must(GitVersion(t.Context()))(t)
		if atLeast(version, [2]int{2, 45}) {
			t.Fatalf("git %s cannot make a reftable repository", version)
		}
		return
	}
	kxmtest.WriteFiles(t, dir, map[string]string{"a": "a\n"})
	kxmtest.Git(t, dir, "add", "-A")
	kxmtest.Git(t, dir, "commit", "-q", "-m", "start")
	r := open(t, dir, "")
	head, ok, err := r.Head(t.Context())
	if want := kxmtest.Git(t, dir, "rev-parse", "HEAD"); err != nil || !ok || string(head) != want || r.Backend() != "native" {
		t.Errorf("HEAD %s, %v, %v with backend %s; want %s", head, ok, err, r.Backend(), want)
	}
}

func TestForeignRepository(t *testing.T) {
	dir := must(filepath.EvalSymlinks(kxmtest.NewRepo(t, map[string]string{"a": "a\n"})))(t)
	bare := filepath.Join(t.TempDir(), "bare.git")
	kxmtest.Git(t, dir, "clone", "-q", "--bare", dir, bare)
	foreign := "GIT_TEST_ASSUME_DIFFERENT_OWNER=1"
	for _, d := range []string{dir, bare} {
		_, err := Open(t.Context(), Options{Dir: d, Getenv: closed(t, foreign)})
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != fault.RepositoryNotOwned || !strings.Contains(f.Hint, "safe.directory "+filepath.Dir(filepath.Join(d, "x"))) {
			t.Errorf("%s: %v", d, err)
		}
	}
	// What Git trusts is opened, and an explicit GIT_DIR is not checked.
	for _, env := range [][]string{
		{foreign, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=" + dir},
		{foreign, "GIT_DIR=" + dir + "/.git"},
	} {
		open(t, dir, "", env...)
	}
	// Explicit drops the variables of Git, so the trust that they carried too.
	_, err := Open(t.Context(), Options{Dir: dir, Explicit: true, Getenv: closed(t, foreign, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*")})
	if !fault.Is(err, fault.RepositoryNotOwned) {
		t.Errorf("explicit: %v", err)
	}
}

func TestExplicitFolderBeatsTheEnvironment(t *testing.T) {
	dir, other := kxmtest.NewRepo(t, map[string]string{"here": "here\n"}), kxmtest.NewRepo(t, map[string]string{"other": "other\n"})
	getenv := closed(t, "GIT_DIR="+other+"/.git", "GIT_WORK_TREE="+other, "GIT_INDEX_FILE="+other+"/.git/index",
		"GIT_OBJECT_DIRECTORY="+other+"/.git/objects", "GIT_COMMON_DIR="+other+"/.git", "GIT_PREFIX=x/",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=user.email", "GIT_CONFIG_VALUE_0=other@example.com")
	for _, backend := range []string{"", "native"} {
		r, err := Open(context.Background(), Options{Dir: dir, Explicit: true, Getenv: getenv, Backend: backend})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		fsys := must(r.IndexFS(t.Context(), ""))(t)
		if entries, err := fs.ReadDir(fsys, "."); err != nil || len(entries) != 1 || entries[0].Name() != "here" {
			t.Errorf("%s: index of %v, %v", r.Backend(), entries, err)
		}
		if out, err := r.Git(t.Context(), nil, "ls-files"); err != nil || string(out) != "here\n" {
			t.Errorf("%s: git sees %q, %v", r.Backend(), out, err)
		}
		if v, ok, err := r.ConfigValue(t.Context(), "user.email"); ok || err != nil {
			t.Errorf("%s: user.email %q, %v", r.Backend(), v, err)
		}
	}
	r, err := Open(context.Background(), Options{Dir: dir, Getenv: getenv})
	if err != nil || r.WorkTree() != must(filepath.EvalSymlinks(other))(t) {
		t.Errorf("not explicit: %v, %v", r, err)
	}
}

func TestLocalVariablesAreGits(t *testing.T) {
	lines, ok := gitSays(t, t.TempDir(), nil, "rev-parse", "--local-env-vars")
	if !ok || len(lines) < 10 {
		t.Fatalf("git says %q", lines)
	}
	for _, name := range lines {
		if !isLocal(name) {
			t.Errorf("%s belongs to one repository, but is not on the list", name)
		}
	}
}
