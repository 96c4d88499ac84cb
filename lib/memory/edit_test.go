package memory

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kxm/lib/fault"
	"kxm/lib/item"
	"kxm/lib/kxmtest"
)

// TestPromoteKeepsEveryOtherByte holds what a promotion changes in a file that
// people have edited in their own way.
func TestPromoteKeepsEveryOtherByte(t *testing.T) {
	text := "---\r\n# noted by hand\r\nid:   cand_project_0123456789ab  # the id\r\nschema: kxm.memory.v1\r\nscope: project\r\nkind: 'learning'\r\n" +
		"summary: >-\r\n  Use pnpm\r\n  everywhere\r\nprovenance: {sourceRef: \"peer: x\", sourceType: 'peer', runId: run_1} # peer\r\n" +
		"authority: evidence\r\nconfidence: probable\r\nlifecycle: active\r\nevidenceRefs:\r\n  - pr:12\r\nreviewed: yes\r\n---\r\n\r\nBody: peer evidence probable.\r\n"
	want := strings.NewReplacer("cand_project_0123456789ab", "use-pnpm", "sourceType: 'peer'", "sourceType: 'git'",
		"authority: evidence", "authority: instruction", "confidence: probable", "confidence: verified").Replace(text)
	dir := t.TempDir()
	kxmtest.WriteFiles(t, dir, map[string]string{"memory/candidates/cand_project_0123456789ab.md": text})
	root := openRoot(t, dir)
	p, err := Promote(root, "cand_project_0123", Promotion{ID: "use-pnpm", Authority: AuthorityInstruction, Confidence: item.ConfidenceVerified})
	if err != nil {
		t.Fatal(err)
	}
	if p != (Promoted{"cand_project_0123456789ab", "use-pnpm", "memory/candidates/cand_project_0123456789ab.md", "memory/use-pnpm.md"}) {
		t.Errorf("got %+v", p)
	}
	if got := read(t, dir, p.To); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if _, err := os.Lstat(filepath.Join(dir, p.From)); !os.IsNotExist(err) {
		t.Errorf("the candidate is still there: %v", err)
	}
	if s := mustLoad(t, root.FS()); s.Err() != nil || s.Records[0].Origin() != item.OriginGit {
		t.Errorf("got %+v", s)
	}
	noTemps(t, dir)
}

// TestPromoteANote holds that a note's own file promotes with its authority and
// confidence as they were.
func TestPromoteANote(t *testing.T) {
	dir := t.TempDir()
	root := openRoot(t, dir)
	c := mustNote(t, root, Note{Fact: "peer: \"git\" is not the source", Refs: []string{"pr:1"}})
	before := read(t, dir, c.Path)
	p, err := Promote(root, c.ID, Promotion{ID: "fact"})
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(strings.Replace(before, "sourceType: peer", "sourceType: git", 1), "id: "+c.ID, "id: fact", 1)
	if got := read(t, dir, p.To); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestPromoteTOML(t *testing.T) {
	text := "+++\nschema = \"kxm.memory.v1\"\nid = \"cand_a\"\nscope = \"project\"\nkind = \"k\"\nsummary = \"from a peer\"\nauthority = \"evidence\"\n" +
		"confidence = \"probable\"\nlifecycle = \"active\"\n[provenance]\nsourceRef = \"peer\"\nsourceType = \"peer\" # peer\n+++\n"
	dir := t.TempDir()
	kxmtest.WriteFiles(t, dir, map[string]string{"memory/candidates/cand_a.md": text})
	p, err := Promote(openRoot(t, dir), "cand_a", Promotion{ID: "fact"})
	if err != nil {
		t.Fatal(err)
	}
	want := strings.NewReplacer("cand_a", "fact", `sourceType = "peer"`, `sourceType = "git"`).Replace(text)
	if got := read(t, dir, p.To); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	raw, err := json.Marshal(p)
	if want := `{"candidate":"cand_a","id":"fact","from":"memory/candidates/cand_a.md","path":"memory/fact.md"}`; err != nil || string(raw) != want {
		t.Errorf("got %s, %v", raw, err)
	}
}

func TestPromoteRefuses(t *testing.T) {
	candidate := func(changes map[string]string) string {
		all := map[string]string{"provenance": "{sourceType: peer}", "authority": "evidence"}
		for k, v := range changes {
			all[k] = v
		}
		return memoryFile("cand_a", all)
	}
	for name, c := range map[string]struct {
		candidate string
		promotion Promotion
		code      fault.Code
	}{
		"taken id":            {candidate(nil), Promotion{ID: "taken"}, fault.MemoryIDTaken},
		"taken file":          {candidate(nil), Promotion{ID: "file"}, fault.MemoryIDTaken},
		"twice taken id":      {candidate(nil), Promotion{ID: "twin"}, fault.MemoryIDTaken},
		"bad id":              {candidate(nil), Promotion{ID: "a/b"}, fault.Usage},
		"empty id":            {candidate(nil), Promotion{}, fault.Usage},
		"unknown authority":   {candidate(nil), Promotion{ID: "x", Authority: "policy"}, fault.Usage},
		"unknown confidence":  {candidate(nil), Promotion{ID: "x", Confidence: "sure"}, fault.Usage},
		"secret in it":        {candidate(map[string]string{"body": secret}), Promotion{ID: "x"}, fault.SecretFound},
		"escaped source":      {candidate(map[string]string{"provenance": `{sourceType: "p\x65er"}`}), Promotion{ID: "x"}, fault.InvalidMemoryFile},
		"no such candidate":   {memoryFile("cand_b", nil), Promotion{ID: "x"}, fault.MemoryNotFound},
		"too many references": {candidate(map[string]string{"evidenceRefs": "[" + refs(65) + "]"}), Promotion{ID: "x"}, fault.InvalidMemoryFile},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			files := map[string]string{
				"memory/candidates/cand_a.md": c.candidate,
				"memory/other.md":             memoryFile("taken", nil),
				"memory/file.md":              "broken",
				"memory/twin1.md":             memoryFile("twin", nil),
				"memory/twin2.md":             memoryFile("twin", nil),
			}
			kxmtest.WriteFiles(t, dir, files)
			_, err := Promote(openRoot(t, dir), "cand_a", c.promotion)
			if !fault.Is(err, c.code) {
				t.Errorf("got %v, want %s", err, c.code)
			}
			for name, text := range files {
				if got := read(t, dir, name); got != text {
					t.Errorf("%s became\n%s", name, got)
				}
			}
			if list, _ := os.ReadDir(filepath.Join(dir, "memory")); len(list) != 5 {
				t.Errorf("the folder holds %v", list)
			}
		})
	}
}

func TestDeprecateKeepsEveryOtherByte(t *testing.T) {
	text := strings.Replace(memoryFile("x", map[string]string{"extra": "kept", "body": "\r\nBody\r\n"}), "lifecycle: active", "lifecycle:  active   # since 2020", 1)
	dir := t.TempDir()
	kxmtest.WriteFiles(t, dir, map[string]string{"shared/x.md": text})
	link(t, dir, "../shared/x.md", "memory/x.md")
	if err := os.Chmod(filepath.Join(dir, "shared/x.md"), 0o640); err != nil {
		t.Fatal(err)
	}
	root := openRoot(t, dir)
	want := strings.Replace(text, "active   #", "deprecated   #", 1)
	want = strings.Replace(want, "extra: kept\n", "extra: kept\nlifecycleReason: \"replaced: by\\\" y\"\n", 1)
	for range 2 { // doing it again changes nothing
		path, err := Deprecate(root, "x", "replaced:\n by\" y")
		if err != nil || path != "memory/x.md" {
			t.Fatal(path, err)
		}
		if got := read(t, dir, "shared/x.md"); got != want {
			t.Fatalf("got\n%s\nwant\n%s", got, want)
		}
	}
	if info, err := os.Lstat(filepath.Join(dir, "memory/x.md")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
	if info, err := os.Stat(filepath.Join(dir, "shared/x.md")); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the mode is %v, %v", info.Mode(), err)
	}
	for why, code := range map[string]fault.Code{" ": fault.ProtocolError, secret: fault.SecretFound} {
		if _, err := Deprecate(root, "x", why); !fault.Is(err, code) {
			t.Errorf("%q: %v", why, err)
		}
	}
	if _, err := Deprecate(root, "y", "why"); !fault.Is(err, fault.MemoryNotFound) {
		t.Errorf("got %v", err)
	}
}

func TestSupersede(t *testing.T) {
	dir := t.TempDir()
	old, new, third := memoryFile("old", nil), memoryFile("new", map[string]string{"supersedes": "\n  - first # the very first", "tags": "[a]"}), memoryFile("third", nil)
	kxmtest.WriteFiles(t, dir, map[string]string{"memory/old.md": old, "memory/new.md": new, "memory/third.md": third})
	root := openRoot(t, dir)
	for range 2 {
		o, n, err := Supersede(root, "old", "new")
		if err != nil || o != "memory/old.md" || n != "memory/new.md" {
			t.Fatal(o, n, err)
		}
	}
	if got := read(t, dir, "memory/old.md"); got != strings.Replace(old, "lifecycle: active", "lifecycle: superseded", 1) {
		t.Errorf("got\n%s", got)
	}
	r := mustParse(t, "new.md", read(t, dir, "memory/new.md"))
	if strings.Join(r.Supersedes, " ") != "first old" || !r.Active() || len(r.Tags) != 1 {
		t.Errorf("got\n%s", r.Data)
	}
	if got := read(t, dir, "memory/third.md"); got != third {
		t.Errorf("got\n%s", got)
	}
	for _, c := range []struct {
		old, new string
		code     fault.Code
	}{{"old", "old", fault.Usage}, {"new", "old", fault.Usage}, {"old", "x", fault.MemoryNotFound}, {"x", "new", fault.MemoryNotFound}} {
		if _, _, err := Supersede(root, c.old, c.new); !fault.Is(err, c.code) {
			t.Errorf("%s by %s: %v, want %s", c.old, c.new, err, c.code)
		}
	}
}

// TestSupersedeStopsAtTheLimitOfItems holds that an edit never makes a fact that
// cannot be served.
func TestSupersedeStopsAtTheLimitOfItems(t *testing.T) {
	dir := t.TempDir()
	new := memoryFile("new", map[string]string{"supersedes": "[" + refs(64) + "]"})
	kxmtest.WriteFiles(t, dir, map[string]string{"memory/old.md": memoryFile("old", nil), "memory/new.md": new})
	if _, _, err := Supersede(openRoot(t, dir), "old", "new"); err == nil {
		t.Error("accepted")
	}
	if got := read(t, dir, "memory/old.md"); got != memoryFile("old", nil) {
		t.Errorf("old.md became\n%s", got)
	}
}
