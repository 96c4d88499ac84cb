package repo

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"kxm/lib/kxmtest"
)

// TestMain lets hooks of the tests call this binary: with KXM_REPO_HELPER set it
// prints what the package sees from where the hook runs.
func TestMain(m *testing.M) {
	switch os.Getenv("KXM_REPO_HELPER") {
	case "":
		code := m.Run()
		removeLarge()
		removeTemplates()
		os.Exit(code)
	case "index":
		if err := printIndex(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case "child":
		// Stands in for a git program that starts one of its own and hangs.
		cmd := exec.Command("sleep", "60")
		if err := cmd.Start(); err != nil {
			os.Exit(1)
		}
		fmt.Fprintln(os.Stderr, cmd.Process.Pid)
		if err := os.WriteFile(os.Getenv("KXM_REPO_PID"), fmt.Append(nil, cmd.Process.Pid), 0o600); err != nil {
			os.Exit(1)
		}
		_ = cmd.Wait()
	}
}

func printIndex() error {
	ctx := context.Background()
	r, err := Open(ctx, Options{})
	if err != nil {
		return err
	}
	defer r.Close()
	fmt.Println("worktree", filepath.Base(r.WorkTree()), "backend", r.Backend())
	fsys, err := r.IndexFS(ctx, "facts")
	if err != nil {
		return err
	}
	err = fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(fsys, name)
		fmt.Printf("%s=%s\n", name, strings.TrimSpace(string(data)))
		return err
	})
	if err != nil {
		return err
	}
	if dir := os.Getenv("KXM_REPO_OTHER"); dir != "" {
		other, err := Open(ctx, Options{Dir: dir, Explicit: true})
		if err != nil {
			return err
		}
		defer other.Close()
		fmt.Println("other", filepath.Base(other.WorkTree()))
		out, err := other.Git(ctx, nil, "rev-parse", "--show-toplevel")
		if err != nil {
			return err
		}
		fmt.Println("git in other", filepath.Base(strings.TrimSpace(string(out))))
	}
	return nil
}

// closed is a Getenv over the closed environment of the tests, with additions.
func closed(t testing.TB, extra ...string) func(string) string {
	t.Helper()
	vars := map[string]string{}
	for _, kv := range append(kxmtest.GitEnv(t.TempDir()), extra...) {
		name, value, _ := strings.Cut(kv, "=")
		vars[name] = value
	}
	return func(name string) string { return vars[name] }
}

// open opens dir in the closed environment.
func open(t testing.TB, dir, backend string, extra ...string) *Repo {
	t.Helper()
	r, err := Open(context.Background(), Options{Dir: dir, Getenv: closed(t, extra...), Backend: backend})
	if err != nil {
		t.Fatalf("open %s: %v", dir, err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return r
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
