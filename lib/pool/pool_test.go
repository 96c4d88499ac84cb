package pool

import (
	"os"
	"testing"

	"kxm/lib/fault"
	"kxm/lib/kxmtest"
	"kxm/lib/project"
	"kxm/lib/state"
)

const fact = `---
schema: kxm.memory.v1
id: build
scope: project
kind: decision
summary: Build with make
provenance:
  sourceType: git
  sourceRef: Makefile
authority: instruction
confidence: verified
lifecycle: active
evidenceRefs: []
---
`

// at is the source of a repository's worktree.
func at(t *testing.T, files map[string]string) *Source {
	t.Helper()
	dir := kxmtest.NewRepo(t, files)
	env := map[string]string{"HOME": t.TempDir(), "PATH": os.Getenv("PATH")}
	p, err := project.Find(t.Context(), project.Options{Dir: dir, Getenv: func(name string) string { return env[name] }})
	if err != nil {
		t.Fatal(err)
	}
	v, err := p.Worktree(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return &Source{Place: p, View: v, Now: kxmtest.Now}
}

// TestNamesAreAskedForOnlyWhereThereIsSomething: a new project has an empty pool, and one
// with records, good or bad, must have a name.
func TestNamesAreAskedForOnlyWhereThereIsSomething(t *testing.T) {
	for _, tt := range []struct {
		files map[string]string
		items int
		gaps  int
		code  fault.Code
	}{
		{map[string]string{".kxm/memory/candidates/.gitkeep": ""}, 0, 0, ""},
		{map[string]string{".kxm/memory/build.md": fact}, 0, 0, fault.ProjectNotConfigured},
		{map[string]string{".kxm/memory/bad.md": "bad"}, 0, 0, fault.ProjectNotConfigured},
		{map[string]string{".kxm/memory/build.md": fact, ".kxm/memory/bad.md": "bad", ".kxm/config.toml": "project = \"demo\"\n"}, 1, 1, ""},
		{map[string]string{".kxm/skills/promoted": "no folder", ".kxm/config.toml": "project = \"demo\"\n"}, 0, 1, ""},
	} {
		s := at(t, tt.files)
		r, err := s.ReadRecords()
		if err != nil {
			t.Fatal(err)
		}
		pool, err := s.Items(r, Options{})
		if fault.CodeOf(err) != tt.code || len(pool.Items) != tt.items || len(pool.Gaps) != tt.gaps {
			t.Errorf("%v: %d items, %v, %v", tt.files, len(pool.Items), pool.Gaps, err)
		}
		committed, err := s.Items(r, Options{Committed: true})
		if err == nil && tt.gaps > 0 && len(committed.Gaps[0].Gap) <= len("dispatch_context_") {
			t.Errorf("gaps of what is to be dispatched: %v", committed.Gaps)
		}
		// Without any state there is nothing to trust, and nothing to list.
		if l, err := s.State(t.Context(), state.When{}, state.ItemFilter{State: true}); l != nil || err != nil || s.HasState(t.Context()) {
			t.Errorf("state %v, %v", l, err)
		}
	}
}
