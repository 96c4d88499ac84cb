package repo

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"kxm/lib/kxmtest"
)

// history is a fast-import stream with what repositories hold: deltas, merges,
// modes, links, odd names, tags of everything, commits with unusual headers.
func history() string {
	var b strings.Builder
	data := func(s string) { fmt.Fprintf(&b, "data %d\n%s\n", len(s), s) }
	commit := func(ref string, n int, message string) {
		fmt.Fprintf(&b, "commit %s\nmark :%d\nauthor Ada Lovelace <ada@example.com> %d +0130\ncommitter Bo <> %d -0500\n", ref, n, 1700000000+n*60, 1700000100+n*60)
		data(message)
	}
	file := func(mode, path, text string) {
		fmt.Fprintf(&b, "M %s inline %s\n", mode, path)
		data(text)
	}
	body := func(n int) string {
		var s strings.Builder
		for i := range 300 {
			v := i
			if i == n*7%300 {
				v = -n
			}
			fmt.Fprintf(&s, "line %d of a text that deltas well\n", v)
		}
		return s.String()
	}
	for n := 1; n <= 20; n++ {
		commit("refs/heads/main", n, fmt.Sprintf("commit %d\n\nbody of %d\n", n, n))
		file("100644", "big.txt", body(n))
		file("100644", fmt.Sprintf("dir/sub%d/file%d.txt", n%4, n), fmt.Sprintf("file %d\n", n))
		if n == 1 {
			file("100755", "run.sh", "#!/bin/sh\n")
			file("100644", ".kxm/memory/one.md", "one\n")
			file("100644", ".kxm/memory/two.md", "two\n")
			file("100644", ".kxm/memory.txt", "sorts between memory and memory/\n")
			file("120000", ".kxm/memory/link.md", "one.md")
			file("120000", ".kxm/out", "../../etc/passwd")
			file("100644", "empty", "")
			file("100644", "\"caf\\303\\251/na me\"", "name\n")
		}
		if n == 5 {
			b.WriteString("M 160000 1111111111111111111111111111111111111111 vendor/module\n")
		}
	}
	commit("refs/heads/topic/side", 21, "side")
	b.WriteString("from :10\n")
	file("100644", "side.txt", body(50))
	commit("refs/heads/main", 22, "merge without a final newline")
	b.WriteString("from :20\nmerge :21\n")
	file("100644", "side.txt", body(50))
	commit("refs/heads/orphan", 23, "")
	file("100644", "alone", "alone\n")
	b.WriteString("tag v1\nfrom :10\ntagger Ada <ada@example.com> 1700000000 +0000\n")
	data("first\n")
	b.WriteString("reset refs/tags/light\nfrom :3\n\n")
	return b.String()
}

// says runs a program and returns its output and whether it succeeded.
func says(t *testing.T, dir string, env []string, args ...string) (string, bool) {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, append(kxmtest.GitEnv(t.TempDir()), env...)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), err == nil
}

// templates holds finished repositories, by what they are, to be copied.
var templates struct {
	sync.Mutex
	dirs map[string]string
}

// fromTemplate returns a copy of what make makes, which runs once.
func fromTemplate(t testing.TB, name string, make func(dir string)) string {
	t.Helper()
	templates.Lock()
	defer templates.Unlock()
	from, ok := templates.dirs[name]
	if !ok {
		var err error
		if from, err = os.MkdirTemp("", "kxm-repo-template-"); err != nil {
			t.Fatal(err)
		}
		if templates.dirs == nil {
			templates.dirs = map[string]string{}
		}
		templates.dirs[name] = from
		make(filepath.Join(from, "repo"))
	}
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(to, "repo")
}

// removeTemplates removes what fromTemplate keeps between tests.
func removeTemplates() {
	for _, dir := range templates.dirs {
		_ = os.RemoveAll(dir) // what stays is a folder for temporary files
	}
}

// newHistory makes an ordinary repository on branch main with history checked out.
func newHistory(t testing.TB, format string) string {
	return fromTemplate(t, format, func(dir string) {
		git := func(args ...string) { kxmtest.Git(t, dir, args...) }
		kxmtest.Git(t, filepath.Dir(dir), "init", "-q", "--object-format="+format, dir)
		stream := history()
		if format == "sha256" {
			stream = strings.ReplaceAll(stream, strings.Repeat("1", 40), strings.Repeat("1", 64))
		}
		kxmtest.GitInput(t, dir, []byte(stream), "-c", "fastimport.unpackLimit=10000", "fast-import", "--quiet")
		git("tag", "-a", "-m", "tag of a tag", "v1-again", "v1")
		git("tag", "-a", "-m", "tag of a tree", "a-tree", "main^{tree}")
		git("tag", "a-blob", "main:empty")
		git("update-ref", "refs/kxm/state", "main~2")
		git("symbolic-ref", "refs/heads/alias", "refs/heads/topic/side")
		git("reset", "-q", "--hard", "main")
	})
}

// newPacked is newHistory in one pack with long chains of deltas.
func newPacked(t testing.TB) string {
	from := newHistory(t, "sha1")
	return fromTemplate(t, "packed", func(dir string) {
		if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
		kxmtest.Git(t, dir, "repack", "-adfq", "--depth=50", "--window=50")
		kxmtest.Git(t, dir, "pack-refs", "--all")
	})
}

// fixture is one kind of repository.
type fixture struct {
	name    string
	backend string // what opens it by itself
	make    func(t testing.TB) string
}

// fixtures is the matrix that the conformance suite runs over. make returns the
// folder to open.
func fixtures() []fixture {
	git := kxmtest.Git
	normal := func(t testing.TB) string { return newHistory(t, "sha1") }
	packed := newPacked
	bare := func(t testing.TB) string {
		from, dir := packed(t), filepath.Join(t.TempDir(), "bare.git")
		git(t, from, "clone", "-q", "--mirror", from, dir)
		return dir
	}
	clone := func(args ...string) func(t testing.TB) string {
		return func(t testing.TB) string {
			from, dir := packed(t), filepath.Join(t.TempDir(), "clone")
			git(t, from, "config", "uploadpack.allowFilter", "true")
			git(t, from, append(append([]string{"clone", "-q"}, args...), "file://"+from, dir)...)
			return dir
		}
	}
	configured := func(pairs ...string) func(t testing.TB) string {
		return func(t testing.TB) string {
			dir := normal(t)
			for i := 0; i < len(pairs); i += 2 {
				git(t, dir, "config", pairs[i], pairs[i+1])
			}
			return dir
		}
	}
	return []fixture{
		{"loose", "files", normal},
		{"packed", "files", packed},
		{"packed, then loose", "files", func(t testing.TB) string {
			dir := packed(t)
			kxmtest.WriteFiles(t, dir, map[string]string{"later.txt": "later\n"})
			git(t, dir, "add", "-A")
			git(t, dir, "commit", "-q", "-m", "later")
			git(t, dir, "branch", "-f", "topic/side", "HEAD~1")
			return dir
		}},
		{"index version 1 of packs", "files", func(t testing.TB) string {
			dir := normal(t)
			git(t, dir, "-c", "pack.indexVersion=1", "repack", "-adfq")
			return dir
		}},
		{"deltas by id", "files", func(t testing.TB) string {
			dir := normal(t)
			git(t, dir, "-c", "repack.useDeltaBaseOffset=false", "repack", "-adfq")
			return dir
		}},
		{"64-bit offsets", "files", func(t testing.TB) string {
			dir := packed(t)
			packs, err := filepath.Glob(filepath.Join(dir, ".git/objects/pack/*.pack"))
			if err != nil || len(packs) != 1 {
				t.Fatalf("packs: %v, %v", packs, err)
			}
			if err := os.Remove(strings.TrimSuffix(packs[0], ".pack") + ".idx"); err != nil {
				t.Fatal(err)
			}
			git(t, dir, "index-pack", "--index-version=2,0x40", packs[0])
			return dir
		}},
		{"subfolder", "files", func(t testing.TB) string { return filepath.Join(packed(t), "dir", "sub1") }},
		{"path of a file", "files", func(t testing.TB) string { return filepath.Join(packed(t), "dir", "sub1", "file1.txt") }},
		{"linked worktree", "files", func(t testing.TB) string {
			dir, tree := packed(t), filepath.Join(t.TempDir(), "tree")
			git(t, dir, "worktree", "add", "-q", "-b", "linked", tree, "main~1")
			git(t, tree, "update-ref", "refs/worktree/mine", "main~3")
			git(t, tree, "update-ref", "refs/bisect/bad", "main~4")
			return tree
		}},
		{"linked worktree, detached", "files", func(t testing.TB) string {
			dir, tree := normal(t), filepath.Join(t.TempDir(), "tree")
			git(t, dir, "worktree", "add", "-q", "--detach", tree, "main~1")
			return tree
		}},
		{"worktreeConfig", "files", func(t testing.TB) string {
			dir, tree := normal(t), filepath.Join(t.TempDir(), "tree")
			git(t, dir, "worktree", "add", "-q", "-b", "linked", tree)
			git(t, dir, "config", "extensions.worktreeConfig", "true")
			git(t, tree, "config", "--worktree", "user.name", "Linked")
			return tree
		}},
		{"worktree of a bare repository", "files", func(t testing.TB) string {
			dir, tree := bare(t), filepath.Join(t.TempDir(), "tree")
			git(t, dir, "worktree", "add", "-q", "-b", "linked", tree)
			return tree
		}},
		{"bare", "files", bare},
		{"folder in a bare one", "files", func(t testing.TB) string { return filepath.Join(bare(t), "refs", "heads") }},
		{"inside .git", "files", func(t testing.TB) string { return filepath.Join(normal(t), ".git", "objects") }},
		{"shallow", "files", clone("--depth", "3")},
		{"alternates, absolute", "files", func(t testing.TB) string {
			from, dir := packed(t), filepath.Join(t.TempDir(), "clone")
			git(t, from, "clone", "-q", "--shared", from, dir)
			return dir
		}},
		{"alternates, relative, nested, quoted", "files", func(t testing.TB) string {
			from := packed(t)
			root := filepath.Dir(from)
			middle, dir := filepath.Join(root, "middle"), filepath.Join(root, "clone")
			git(t, root, "clone", "-q", "--shared", from, middle)
			git(t, root, "clone", "-q", "--shared", middle, dir)
			writeText(t, filepath.Join(middle, ".git/objects/info/alternates"), "# the base\n"+from+"/.git/objects\n")
			writeText(t, filepath.Join(dir, ".git/objects/info/alternates"), "# comment\n\"../../../\\155iddle/.git/objects\"\n/nowhere/at/all\n")
			return dir
		}},
		{"submodule", "files", func(t testing.TB) string {
			from, dir := packed(t), kxmtest.NewRepo(t, map[string]string{"a": "a\n"})
			git(t, dir, "submodule", "--quiet", "add", from, "sub/module")
			return filepath.Join(dir, "sub", "module")
		}},
		{"separate-git-dir", "files", func(t testing.TB) string {
			return clone("--separate-git-dir=" + filepath.Join(t.TempDir(), "elsewhere"))(t)
		}},
		{"symlinked .git", "files", func(t testing.TB) string {
			dir := packed(t)
			moved := filepath.Join(t.TempDir(), "moved.git")
			if err := os.Rename(filepath.Join(dir, ".git"), moved); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(moved, filepath.Join(dir, ".git")); err != nil {
				t.Fatal(err)
			}
			return dir
		}},
		{"core.worktree", "files", func(t testing.TB) string {
			dir, tree := packed(t), filepath.Join(t.TempDir(), "tree")
			if err := os.Mkdir(tree, 0o755); err != nil {
				t.Fatal(err)
			}
			git(t, dir, "config", "core.worktree", tree)
			return dir
		}},
		{"50 packs", "files", func(t testing.TB) string {
			dir := packed(t)
			for i := range 50 {
				writeText(t, filepath.Join(dir, "many.txt"), fmt.Sprintf("many %d\n", i))
				id := git(t, dir, "hash-object", "-w", "many.txt")
				kxmtest.GitInput(t, dir, []byte(id+"\n"), "pack-objects", "-q", ".git/objects/pack/pack")
			}
			git(t, dir, "prune-packed", "-q")
			return dir
		}},
		{"multi-pack-index", "files", func(t testing.TB) string {
			dir := packed(t)
			writeText(t, filepath.Join(dir, "more.txt"), "more\n")
			git(t, dir, "add", "-A")
			git(t, dir, "commit", "-q", "-m", "more")
			git(t, dir, "repack", "-dq")
			git(t, dir, "multi-pack-index", "write")
			return dir
		}},
		{".pack without .idx", "files", func(t testing.TB) string {
			dir := packed(t)
			id := git(t, dir, "hash-object", "-w", "big.txt")
			name := kxmtest.GitInput(t, dir, []byte(id+"\n"), "pack-objects", "-q", ".git/objects/pack/tmp")
			from := filepath.Join(dir, ".git/objects/pack/tmp-"+name)
			if err := os.Rename(from+".pack", filepath.Join(dir, ".git/objects/pack/pack-"+name+".pack")); err != nil {
				t.Fatal(err)
			}
			return dir
		}},
		{"sha256", "native", func(t testing.TB) string { return newHistory(t, "sha256") }},
		{"partial clone", "files", clone("--filter=blob:none", "--no-checkout")},
		{"partial clone, as an extension", "native", func(t testing.TB) string {
			dir := clone("--filter=blob:none", "--no-checkout")(t)
			git(t, dir, "config", "core.repositoryFormatVersion", "1")
			git(t, dir, "config", "extensions.partialClone", "origin")
			return dir
		}},
		{"split index", "files", func(t testing.TB) string {
			dir := normal(t)
			git(t, dir, "update-index", "--split-index")
			writeText(t, filepath.Join(dir, "split.txt"), "split\n")
			git(t, dir, "add", "split.txt")
			return dir
		}},
		{"sparse index", "files", func(t testing.TB) string {
			dir := normal(t)
			git(t, dir, "sparse-checkout", "init", "--cone", "--sparse-index")
			git(t, dir, "sparse-checkout", "set", "dir/sub1")
			return dir
		}},
		{"index version 4", "files", func(t testing.TB) string {
			dir := normal(t)
			git(t, dir, "update-index", "--index-version", "4")
			writeText(t, filepath.Join(dir, "intended"), "intended\n")
			git(t, dir, "add", "-N", "intended")
			return dir
		}},
		{"index without checksum", "files", func(t testing.TB) string {
			dir := normal(t)
			path := filepath.Join(dir, ".git/index")
			data := must(os.ReadFile(path))(t)
			writeText(t, path, string(data[:len(data)-20])+strings.Repeat("\x00", 20))
			return dir
		}},
		{"conflict and changes in the index", "files", func(t testing.TB) string {
			dir := normal(t)
			git(t, dir, "checkout", "-q", "-b", "conflict", "main~3")
			writeText(t, filepath.Join(dir, "big.txt"), "other\n")
			git(t, dir, "commit", "-q", "-am", "other")
			if code := exitOf(t, dir, "merge", "main"); code != 1 {
				t.Fatalf("merge exits with %d", code)
			}
			git(t, dir, "rm", "-q", "--cached", "run.sh")
			git(t, dir, "update-index", "--chmod=+x", "empty")
			writeText(t, filepath.Join(dir, "intended"), "intended\n")
			git(t, dir, "add", "-N", "intended")
			return dir
		}},
		{"unborn HEAD", "files", func(t testing.TB) string {
			dir := t.TempDir()
			git(t, dir, "init", "-q")
			return dir
		}},
		{"unborn branch", "files", func(t testing.TB) string {
			dir := normal(t)
			git(t, dir, "symbolic-ref", "HEAD", "refs/heads/new")
			return dir
		}},
		{"detached HEAD", "files", func(t testing.TB) string {
			dir := packed(t)
			git(t, dir, "checkout", "-q", "--detach", "main~4")
			return dir
		}},
		{"packed refs, many", "files", func(t testing.TB) string {
			dir := normal(t)
			var b strings.Builder
			id := git(t, dir, "rev-parse", "main~1")
			for i := range 1500 {
				fmt.Fprintf(&b, "create refs/many/%04d %s\n", i, id)
			}
			kxmtest.GitInput(t, dir, []byte(b.String()), "update-ref", "--stdin")
			git(t, dir, "pack-refs", "--all")
			git(t, dir, "update-ref", "refs/many/0700", "main")
			git(t, dir, "update-ref", "-d", "refs/many/0701")
			return dir
		}},
		{"remotes", "files", clone()},
		{"extensions of no effect", "files", configured("core.repositoryFormatVersion", "1", "extensions.noop", "1",
			"extensions.noop-v1", "1", "extensions.preciousObjects", "true", "extensions.objectFormat", "sha1")},
		{"unknown extension in version 0", "files", configured("extensions.somethingElse", "true")},
	}
}

func writeText(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	// Git writes its own files read-only.
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// exitOf runs git where its exit status is an answer.
func exitOf(t testing.TB, dir string, args ...string) int {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, kxmtest.GitEnv(t.TempDir())
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode()
}
