package repo

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"kxm/lib/kxmtest"
)

var largeDir string

// large is a packed repository of about 100,000 objects, in which .kxm/memory holds
// a thousand facts. It is made once for all benchmarks.
var large = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "kxm-repo-bench-")
	if err != nil {
		return "", err
	}
	largeDir = dir
	run := func(stdin io.Reader, args ...string) error {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Stdin, cmd.Env = dir, stdin, kxmtest.GitEnv(dir)
		return cmd.Run()
	}
	if err := run(nil, "init", "-q", "--initial-branch=main"); err != nil {
		return "", err
	}
	pr, pw := io.Pipe()
	go func() {
		fmt.Fprint(pw, "commit refs/heads/main\ncommitter A <a@example.com> 1700000000 +0000\ndata 1\nx\n")
		for i := range 95_000 {
			text := fmt.Sprintf("file %d\n", i)
			fmt.Fprintf(pw, "M 644 inline d%d/s%d/file%d.txt\ndata %d\n%s\n", i%100, i/100%50, i, len(text), text)
		}
		for i := range 1000 {
			text := fmt.Sprintf("---\nid: fact%d\nsummary: fact number %d\n---\n", i, i)
			fmt.Fprintf(pw, "M 644 inline .kxm/memory/fact%d.md\ndata %d\n%s\n", i, len(text), text)
		}
		pw.Close()
	}()
	if err := run(pr, "fast-import", "--quiet"); err != nil {
		return "", err
	}
	return dir, run(nil, "read-tree", "main")
})

func largeRepo(b *testing.B) string {
	b.Helper()
	dir, err := large()
	if err != nil {
		b.Fatal(err)
	}
	return dir
}

// removeLarge removes what the benchmarks have in common.
func removeLarge() {
	if largeDir != "" {
		_ = os.RemoveAll(largeDir) // what stays is a folder for temporary files
	}
}

// BenchmarkBlobAtHead opens a repository and reads one file at HEAD, against the
// git program that a script would use.
func BenchmarkBlobAtHead(b *testing.B) {
	dir := largeRepo(b)
	getenv := closed(b)
	b.Run("repo", func(b *testing.B) {
		for b.Loop() {
			r, err := Open(context.Background(), Options{Dir: dir, Getenv: getenv})
			if err != nil {
				b.Fatal(err)
			}
			head, _, err := r.Head(context.Background())
			if err != nil {
				b.Fatal(err)
			}
			fsys, err := r.CommitFS(context.Background(), head, ".kxm/memory")
			if err != nil {
				b.Fatal(err)
			}
			if _, err := fsys.ReadFile("fact7.md"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("git cat-file", func(b *testing.B) {
		for b.Loop() {
			cmd := exec.Command("git", "cat-file", "blob", "HEAD:.kxm/memory/fact7.md")
			cmd.Dir = dir
			if err := cmd.Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkThousandFacts reads a thousand files at HEAD, against `git cat-file
// --batch` over `git ls-tree`.
func BenchmarkThousandFacts(b *testing.B) {
	dir := largeRepo(b)
	getenv := closed(b)
	b.Run("repo", func(b *testing.B) {
		for b.Loop() {
			r, err := Open(context.Background(), Options{Dir: dir, Getenv: getenv})
			if err != nil {
				b.Fatal(err)
			}
			head, _, err := r.Head(context.Background())
			if err != nil {
				b.Fatal(err)
			}
			fsys, err := r.CommitFS(context.Background(), head, ".kxm/memory")
			if err != nil {
				b.Fatal(err)
			}
			entries, err := fsys.ReadDir(".")
			if err != nil || len(entries) != 1000 {
				b.Fatal(len(entries), err)
			}
			for _, e := range entries {
				if _, err := fsys.ReadFile(e.Name()); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("git cat-file --batch", func(b *testing.B) {
		for b.Loop() {
			cmd := exec.Command("sh", "-c", "git ls-tree HEAD .kxm/memory/ | cut -c13-52 | git cat-file --batch >/dev/null")
			cmd.Dir = dir
			if err := cmd.Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkIndex reads what .kxm has in an index of 96,000 entries, against `git
// ls-files`.
func BenchmarkIndex(b *testing.B) {
	dir := largeRepo(b)
	r, err := Open(context.Background(), Options{Dir: dir, Getenv: closed(b)})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("repo", func(b *testing.B) {
		for b.Loop() {
			if entries, err := r.Index(context.Background(), ".kxm"); err != nil || len(entries) != 1000 {
				b.Fatal(len(entries), err)
			}
		}
	})
	b.Run("git ls-files", func(b *testing.B) {
		for b.Loop() {
			cmd := exec.Command("git", "ls-files", "-s", ".kxm")
			cmd.Dir = dir
			if err := cmd.Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkPackedRef finds one of 100,000 refs.
func BenchmarkPackedRef(b *testing.B) {
	dir := kxmtest.NewRepo(b, map[string]string{"a": "a\n"})
	id := kxmtest.Git(b, dir, "rev-parse", "HEAD")
	var text strings.Builder
	text.WriteString("# pack-refs with: peeled fully-peeled sorted \n")
	for i := range 100_000 {
		fmt.Fprintf(&text, "%s refs/many/%06d\n", id, i)
	}
	writeText(b, filepath.Join(dir, ".git/packed-refs"), text.String())
	r := open(b, dir, "")
	for b.Loop() {
		if _, ok, err := r.Ref(context.Background(), "refs/many/070707"); err != nil || !ok {
			b.Fatal(ok, err)
		}
	}
}
