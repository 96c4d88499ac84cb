package kxmtest

import (
	"flag"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

var long = flag.Bool("long", false, "make the releases of every platform")

// copied copies the project's files, as they are in the worktree, into a folder.
func copied(t *testing.T, dir string) {
	t.Helper()
	cmd := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = root(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		info, err := os.Stat(filepath.Join(cmd.Dir, name))
		if err != nil {
			continue // deleted, and not yet staged
		}
		data, err := os.ReadFile(filepath.Join(cmd.Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, data, info.Mode().Perm()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestReleaseIsReproducible makes the archives twice: in a repository, and elsewhere
// without one, in another time zone, with other modes of new files, and with settings
// of Go's that would change the binaries.
func TestReleaseIsReproducible(t *testing.T) {
	t.Parallel()
	platform := runtime.GOOS + "/" + runtime.GOARCH
	args := "9.8.7-test.1"
	if !*long {
		args += " --platforms " + platform
	}
	release := func(dir, script string, env ...string) string {
		t.Helper()
		copied(t, dir)
		cmd := exec.Command("bash", "-ec", script+"; exec scripts/release "+args)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		sums, err := os.ReadFile(filepath.Join(dir, "dist", "SHA256SUMS"))
		if err != nil {
			t.Fatal(err)
		}
		return string(sums)
	}
	first, second := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "quite", "another folder")
	one := release(first, "git init -q; git add -A; git -c user.name=Ada -c user.email=ada@example.com commit -qm release", "GIT_COMMITTER_DATE=2026-09-01T14:00:00+02:00", "GIT_CEILING_DIRECTORIES="+filepath.Dir(first))
	two := release(second, "umask 077; find . -exec touch -t 200001010000 {} +", "SOURCE_DATE_EPOCH=1788264000", "GIT_CEILING_DIRECTORIES="+filepath.Dir(second), "TZ=Asia/Tokyo", "GOFLAGS=-tags=other", "GOAMD64=v3", "GOOS=plan9")
	if one != two {
		t.Errorf("the same files give\n%sand\n%s", one, two)
	}
	name := "kxm-9.8.7-test.1-" + strings.ReplaceAll(platform, "/", "-")
	if *long && strings.Count(one, "\n") != 6 || !strings.Contains(one, "  "+name+".tar.gz\n") {
		t.Errorf("SHA256SUMS is\n%s", one)
	}
	out, err := exec.Command("tar", "-xzf", filepath.Join(first, "dist", name+".tar.gz"), "-C", first).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	wantRelease(t, filepath.Join(first, name))
}

// wantRelease looks into an unpacked archive.
func wantRelease(t *testing.T, dir string) {
	t.Helper()
	notice, err := os.ReadFile(filepath.Join(dir, "NOTICE"))
	if err != nil {
		t.Fatal(err)
	}
	wanted := []string{"LICENSE", "README.md", agentSkill, "licenses/go/LICENSE", "licenses/github.com/zricethezav/gitleaks/v8/LICENSE"}
	for _, program := range programs(t) {
		binary := filepath.Join(dir, "bin", program)
		if out, err := exec.Command(binary, "--version").Output(); err != nil || string(out) != program+" 9.8.7-test.1\n" {
			t.Errorf("%s: %v, %q", program, err, out)
		}
		wanted = append(wanted, "share/man/man1/"+program+".1", "share/bash-completion/completions/"+program, "share/zsh/site-functions/_"+program, "share/fish/vendor_completions.d/"+program+".fish")
		linked, err := exec.Command("go", "version", "-m", binary).Output()
		if err != nil {
			t.Fatal(err)
		}
		modules := 0
		for line := range strings.Lines(string(linked)) {
			fields := strings.Fields(line)
			if fields[0] != "dep" {
				continue
			}
			modules++
			short := strings.TrimPrefix(fields[1], "golang.org/") // which stand in one line
			if !strings.Contains(string(notice), short) {
				t.Errorf("NOTICE does not name %s, which %s links", fields[1], program)
			}
			if found, err := os.ReadDir(filepath.Join(dir, "licenses", filepath.FromSlash(path.Clean(fields[1])))); err != nil || len(found) == 0 {
				t.Errorf("no license of %s: %v", fields[1], err)
			}
		}
		if modules == 0 {
			t.Errorf("%s links no module: %s", program, linked)
		}
	}
	for _, name := range wanted {
		if info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name))); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	page, err := os.ReadFile(filepath.Join(dir, "share", "man", "man1", programs(t)[0]+".1"))
	if err != nil || !strings.Contains(string(page), ` "2026-09-01" "kxm 9.8.7\-test.1" `) {
		t.Errorf("the manual page has another date or version: %v, %.100s", err, page)
	}
}
