package memory

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"kxm/lib/fault"
	"kxm/lib/kxmtest"
)

func openRoot(t testing.TB, dir string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

func link(t testing.TB, dir, target, name string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, path ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// statuses returns the plan as "AGENTS.md updated, CLAUDE.md linked AGENTS.md".
func statuses(p *SyncPlan) string {
	var list []string
	for _, f := range p.Files {
		list = append(list, strings.TrimSpace(f.Name+" "+string(f.Status)+" "+f.Of))
	}
	return strings.Join(list, ", ")
}

// TestSyncStatuses holds what becomes of the three files, and that a second sync
// finds nothing to do.
func TestSyncStatuses(t *testing.T) {
	stale := "# T\n\n" + Block(nil) + "\nend\n"
	for _, c := range []struct {
		name        string
		files       map[string]string
		links       map[string]string
		dir         string
		first, next string
	}{
		{"replaced and appended", map[string]string{"AGENTS.md": stale, "GEMINI.md": "g\n"}, nil, ".",
			"AGENTS.md updated, GEMINI.md appended", "AGENTS.md unchanged, GEMINI.md unchanged"},
		{"in a folder", map[string]string{"api/CLAUDE.md": "c\n", "AGENTS.md": "not this one\n"}, nil, "api", "CLAUDE.md appended", "CLAUDE.md unchanged"},
		{"link to one of them", map[string]string{"AGENTS.md": "a\n"}, map[string]string{"CLAUDE.md": "AGENTS.md"}, ".",
			"AGENTS.md appended, CLAUDE.md linked AGENTS.md", "AGENTS.md unchanged, CLAUDE.md linked AGENTS.md"},
		{"link from the first of them", map[string]string{"CLAUDE.md": "a\n"}, map[string]string{"AGENTS.md": "./CLAUDE.md"}, ".",
			"AGENTS.md linked CLAUDE.md, CLAUDE.md appended", "AGENTS.md linked CLAUDE.md, CLAUDE.md unchanged"},
		{"links to a file with another name", map[string]string{"docs/agents.md": "a\n"}, map[string]string{"AGENTS.md": "docs/agents.md", "CLAUDE.md": "docs/../docs/agents.md"}, ".",
			"AGENTS.md appended, CLAUDE.md linked AGENTS.md", "AGENTS.md unchanged, CLAUDE.md linked AGENTS.md"},
		{"link up inside the repository", map[string]string{"AGENTS.md": "a\n", "api/x": ""}, map[string]string{"api/AGENTS.md": "../AGENTS.md"}, "api",
			"AGENTS.md appended", "AGENTS.md unchanged"},
		{"link through a linked folder", map[string]string{"docs/agents.md": "a\n"}, map[string]string{"d": "docs", "AGENTS.md": "d/agents.md"}, ".",
			"AGENTS.md appended", "AGENTS.md unchanged"},
		{"import", map[string]string{"AGENTS.md": "a\n", "CLAUDE.md": "@AGENTS.md\n"}, nil, ".",
			"AGENTS.md appended, CLAUDE.md imports AGENTS.md", "AGENTS.md unchanged, CLAUDE.md imports AGENTS.md"},
		{"import of a later file", map[string]string{"AGENTS.md": "@./GEMINI.md\n", "GEMINI.md": "g"}, nil, ".",
			"AGENTS.md imports GEMINI.md, GEMINI.md appended", "AGENTS.md imports GEMINI.md, GEMINI.md unchanged"},
		{"import in a chain", map[string]string{"AGENTS.md": "a", "CLAUDE.md": "@AGENTS.md", "GEMINI.md": "@CLAUDE.md"}, nil, ".",
			"AGENTS.md appended, CLAUDE.md imports AGENTS.md, GEMINI.md imports AGENTS.md", "AGENTS.md unchanged, CLAUDE.md imports AGENTS.md, GEMINI.md imports AGENTS.md"},
		{"import in a circle", map[string]string{"AGENTS.md": "@CLAUDE.md", "CLAUDE.md": "@AGENTS.md"}, nil, ".",
			"AGENTS.md appended, CLAUDE.md imports AGENTS.md", "AGENTS.md unchanged, CLAUDE.md imports AGENTS.md"},
		{"import into a circle", map[string]string{"AGENTS.md": "@CLAUDE.md", "CLAUDE.md": "@GEMINI.md", "GEMINI.md": "@CLAUDE.md"}, nil, ".",
			"AGENTS.md imports CLAUDE.md, CLAUDE.md appended, GEMINI.md imports CLAUDE.md", "AGENTS.md imports CLAUDE.md, CLAUDE.md unchanged, GEMINI.md imports CLAUDE.md"},
		{"import of a file that is missing", map[string]string{"CLAUDE.md": "@AGENTS.md\n"}, nil, ".", "CLAUDE.md appended", "CLAUDE.md unchanged"},
		{"import beside markers", map[string]string{"AGENTS.md": "a\n", "CLAUDE.md": "@AGENTS.md\n" + stale}, nil, ".",
			"AGENTS.md appended, CLAUDE.md updated", "AGENTS.md unchanged, CLAUDE.md unchanged"},
		{"import in a fence", map[string]string{"AGENTS.md": "a\n", "CLAUDE.md": "```\n@AGENTS.md\n```\n"}, nil, ".",
			"AGENTS.md appended, CLAUDE.md appended", "AGENTS.md unchanged, CLAUDE.md unchanged"},
		{"import of a link to itself", map[string]string{"AGENTS.md": "@CLAUDE.md\n"}, map[string]string{"CLAUDE.md": "AGENTS.md"}, ".",
			"AGENTS.md appended, CLAUDE.md linked AGENTS.md", "AGENTS.md unchanged, CLAUDE.md linked AGENTS.md"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			kxmtest.WriteFiles(t, dir, c.files)
			for name, target := range c.links {
				link(t, dir, target, name)
			}
			root := openRoot(t, dir)
			for _, want := range []string{c.first, c.next} {
				plan, err := PlanSync(root.FS(), c.dir, twoFacts)
				if err != nil {
					t.Fatal(err)
				}
				if got := statuses(plan); got != want {
					t.Errorf("got %s, want %s", got, want)
				}
				if err := plan.Write(root); err != nil {
					t.Fatal(err)
				}
			}
			for name, target := range c.links {
				if got, err := os.Readlink(filepath.Join(dir, name)); err != nil || got != target {
					t.Errorf("%s is no longer a link to %s: %s, %v", name, target, got, err)
				}
			}
			noTemps(t, dir)
		})
	}
}

func noTemps(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if strings.HasSuffix(p, ".tmp") {
			t.Errorf("left %s", p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestSyncKeepsTheRest holds every other byte, the mode, and that what is outside
// the plan is not touched.
func TestSyncKeepsTheRest(t *testing.T) {
	dir := t.TempDir()
	text := "\ufeff# Title\r\n\r\n" + strings.ReplaceAll(Block(nil), "\n", "\r\n") + "\r\nlast line"
	kxmtest.WriteFiles(t, dir, map[string]string{"AGENTS.md": text, "GEMINI.md": "```\n" + StartMarker + "\n```\n", "README.md": StartMarker})
	for name, mode := range map[string]fs.FileMode{"AGENTS.md": 0o755, "GEMINI.md": 0o600} {
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	root := openRoot(t, dir)
	plan, err := PlanSync(root.FS(), ".", twoFacts)
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.Write(root); err != nil {
		t.Fatal(err)
	}
	want := "\ufeff# Title\r\n\r\n" + strings.ReplaceAll(Block(twoFacts), "\n", "\r\n") + "\r\nlast line"
	if got := read(t, dir, "AGENTS.md"); got != want {
		t.Errorf("got %q", got)
	}
	if got := read(t, dir, "README.md"); got != StartMarker {
		t.Errorf("README.md became %q", got)
	}
	for name, mode := range map[string]fs.FileMode{"AGENTS.md": 0o755, "GEMINI.md": 0o600} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s has mode %v, %v", name, info.Mode(), err)
		}
	}
}

// TestSyncRefusesAsAWhole holds the problems that are told, that every faulty file
// is named, and that none is written.
func TestSyncRefusesAsAWhole(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		links map[string]string
		want  string
	}{
		{"none", nil, nil, `memory sync failed: none of AGENTS.md, CLAUDE.md, GEMINI.md exists in "."`},
		{"two faulty", map[string]string{"AGENTS.md": StartMarker + "\n", "CLAUDE.md": "c\n", "GEMINI.md": EndMarker + StartMarker}, nil,
			"memory sync failed: AGENTS.md has " + StartMarker + " with no " + EndMarker + ", GEMINI.md has " + EndMarker + " before " + StartMarker + "; wrote no file"},
		{"open fence", map[string]string{"AGENTS.md": "```\ncode\n"}, nil, "AGENTS.md ends inside a code fence that is never closed"},
		{"end in a fence", map[string]string{"AGENTS.md": StartMarker + "\n```\n" + EndMarker + "\n```\n"}, nil, "with no"},
		{"before a fence's info", map[string]string{"AGENTS.md": "```" + StartMarker + "`" + EndMarker + "\n"}, nil, "AGENTS.md would not hold the block as one"},
		{"link to nothing", map[string]string{"AGENTS.md": "a"}, map[string]string{"CLAUDE.md": "missing.md"}, "CLAUDE.md is a symbolic link to nothing"},
		{"link out", map[string]string{"AGENTS.md": "a"}, map[string]string{"CLAUDE.md": "../out.md"}, "CLAUDE.md is a symbolic link that leads out of the repository"},
		{"absolute link", map[string]string{"AGENTS.md": "a"}, map[string]string{"CLAUDE.md": "/etc/hostname"}, "CLAUDE.md is a symbolic link that leads out of the repository"},
		{"link in a circle", map[string]string{"AGENTS.md": "a"}, map[string]string{"CLAUDE.md": "CLAUDE.md"}, "CLAUDE.md cannot be read"},
		{"folder", map[string]string{"AGENTS.md": "a", "CLAUDE.md/x": ""}, nil, "CLAUDE.md is no regular file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			outer := t.TempDir()
			kxmtest.WriteFiles(t, outer, map[string]string{"out.md": "out"})
			dir := filepath.Join(outer, "repo")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			kxmtest.WriteFiles(t, dir, c.files)
			for name, target := range c.links {
				link(t, dir, target, name)
			}
			plan, err := PlanSync(openRoot(t, dir).FS(), ".", twoFacts)
			if !fault.Is(err, fault.MemorySyncFailed) || !strings.Contains(err.Error(), c.want) || plan != nil {
				t.Errorf("got %v", err)
			}
			for name, text := range c.files {
				if got := read(t, dir, name); got != text {
					t.Errorf("%s became %q", name, got)
				}
			}
		})
	}
}

// TestWriteRefusesAChangedFile holds that an edit made between plan and write is
// not lost, and that then no file is written.
func TestWriteRefusesAChangedFile(t *testing.T) {
	dir := t.TempDir()
	kxmtest.WriteFiles(t, dir, map[string]string{"AGENTS.md": "a\n", "CLAUDE.md": "c\n"})
	root := openRoot(t, dir)
	plan, err := PlanSync(root.FS(), ".", nil)
	if err != nil {
		t.Fatal(err)
	}
	kxmtest.WriteFiles(t, dir, map[string]string{"CLAUDE.md": "edited\n"})
	if err := plan.Write(root); err == nil || !strings.Contains(err.Error(), `"CLAUDE.md" was changed`) {
		t.Errorf("got %v", err)
	}
	if a, c := read(t, dir, "AGENTS.md"), read(t, dir, "CLAUDE.md"); a != "a\n" || c != "edited\n" {
		t.Errorf("got %q, %q", a, c)
	}
	noTemps(t, dir)
}

// TestPlanNeedsNoDisk holds that a plan is made of any file system, such as the
// index's.
func TestPlanNeedsNoDisk(t *testing.T) {
	plan, err := PlanSync(fstest.MapFS{"CLAUDE.md": {Data: []byte("c\n")}, "AGENTS.md": {Data: []byte("CLAUDE.md"), Mode: fs.ModeSymlink}}, ".", nil)
	if err != nil || statuses(plan) != "AGENTS.md linked CLAUDE.md, CLAUDE.md appended" {
		t.Errorf("got %v, %v", plan, err)
	}
}

// TestDiffIsAPatch holds that `git apply` of the diff does what Write does.
func TestDiffIsAPatch(t *testing.T) {
	files := map[string]string{"api/AGENTS.md": "# A\n\n" + Block(twoFacts[1:]) + "\nrest\n", "api/CLAUDE.md": "no newline", "api/GEMINI.md": Block(twoFacts)}
	patched, written := kxmtest.NewRepo(t, files), kxmtest.NewRepo(t, files)
	root := openRoot(t, written)
	plan, err := PlanSync(root.FS(), "api", twoFacts)
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.Write(root); err != nil {
		t.Fatal(err)
	}
	kxmtest.GitInput(t, patched, plan.Diff(), "apply", "-")
	for name := range files {
		if a, b := read(t, patched, name), read(t, written, name); a != b {
			t.Errorf("%s: applied %q, written %q", name, a, b)
		}
	}
	if plan, err = PlanSync(root.FS(), "api", twoFacts); err != nil || len(plan.Diff()) != 0 || len(plan.Stale()) != 0 {
		t.Errorf("after the sync: %v, %v", plan, err)
	}
}
