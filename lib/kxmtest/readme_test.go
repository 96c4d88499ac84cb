package kxmtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// prefix installs every program once for the tests of this package.
var prefix = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "kxmtest-prefix-")
	if err != nil {
		return "", err
	}
	cmd := exec.Command(filepath.Join("..", "..", "scripts", "build"), "--prefix", dir)
	cmd.Stderr = os.Stderr
	return dir, cmd.Run()
})

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, err := prefix(); err == nil {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// installed returns the folder that scripts/build --prefix filled.
func installed(t *testing.T) string {
	t.Helper()
	dir, err := prefix()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// onPath is the tests' environment with the binaries first on the path.
func onPath(t *testing.T, home string) []string {
	t.Helper()
	env := GitEnv(home)
	for i, kv := range env {
		if path, ok := strings.CutPrefix(kv, "PATH="); ok {
			env[i] = "PATH=" + filepath.Join(installed(t), "bin") + string(os.PathListSeparator) + path
		}
	}
	return append(env, "SOURCE_DATE_EPOCH=1788264000") // Now
}

// TestReadmeSessionRunsAsPrinted runs the sessions of the README.
func TestReadmeSessionRunsAsPrinted(t *testing.T) {
	dir := t.TempDir()
	runAsPrinted(t, "README.md", dir, onPath(t, dir))
}

// runAsPrinted runs each console block of a page line by line in one shell and compares
// everything that it prints. What a block exports, the next does not have.
func runAsPrinted(t *testing.T, page, dir string, env []string) {
	t.Helper()
	file := filepath.Join("..", "..", filepath.FromSlash(page))
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(text), "```console\n")[1:]
	if len(blocks) == 0 {
		t.Fatalf("%s has no session", page)
	}
	updated := string(text)
	for _, block := range blocks {
		block, _, _ = strings.Cut(block, "```\n")
		var script strings.Builder
		for line := range strings.Lines(block) {
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				command = strings.TrimSuffix(command, "\n")
				script.WriteString("printf '%s\\n' '$ " + strings.ReplaceAll(command, "'", `'\''`) + "'\n" + command + "\n")
			}
		}
		cmd := exec.Command("bash", "-c", "exec 2>&1\n"+script.String())
		cmd.Dir = dir
		cmd.Env = env
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if string(out) == block {
			continue
		}
		updated = strings.Replace(updated, "```console\n"+block, "```console\n"+string(out), 1)
		if !*Update {
			t.Errorf("%s prints\n%s\nbut the commands say\n%s", page, block, out)
		}
	}
	if *Update {
		if err := os.WriteFile(file, []byte(updated), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestQuickstart runs the script that the README names first.
func TestQuickstart(t *testing.T) {
	cmd := exec.Command(filepath.Join("..", "..", "scripts", "quickstart"))
	cmd.Env = GitEnv(t.TempDir())
	for i, kv := range cmd.Env { // Go's caches lie in the real home
		if strings.HasPrefix(kv, "HOME=") {
			cmd.Env[i] = "HOME=" + os.Getenv("HOME")
		}
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"$ kxm-memory list", "kxm-pack --role planner", `"currentState"`} {
		if !strings.Contains(string(out), want) {
			t.Errorf("quickstart does not show %q:\n%s", want, out)
		}
	}
}
