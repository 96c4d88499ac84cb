package skill

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"kxm/lib/fault"
	"kxm/lib/kxmtest"
	"kxm/lib/treehash"
)

const document = "---\nname: release-notes\ndescription: Write release notes from merged pull requests\nlicense: MIT\n---\n\n# Release notes\n\nRun scripts/collect.sh.\n"

// secret is built so that no scanner takes this file for a leak.
var secret = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"

// newStore returns an empty store and its .kxm folder.
func newStore(t testing.TB) (*Store, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), ".kxm")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return &Store{Kxm: root, Path: ".kxm"}, dir
}

// sourceFolder is a skill with every kind of entry.
func sourceFolder(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	kxmtest.WriteFiles(t, dir, map[string]string{
		"SKILL.md":            document,
		"scripts/collect.sh":  "#!/bin/sh\ngit log --merges\n",
		"references/style.md": "Short sentences.\n",
		"assets/logo.bin":     "\x00\xff\x01",
		"metadata.json":       `{"left": "out"}`,
	})
	if err := os.Chmod(filepath.Join(dir, "scripts/collect.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../references/style.md", filepath.Join(dir, "scripts/style")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func candidate(t testing.TB) Candidate {
	return Candidate{
		Files: os.DirFS(sourceFolder(t)), Author: "ada", Models: []string{"model-a", "model-b"},
		Sources: Sources{RunIDs: []string{"run_1"}, Receipts: []string{"receipt_1"}}, At: kxmtest.Now(),
	}
}

func create(t testing.TB, s *Store) *Skill {
	t.Helper()
	skill, err := s.Create(candidate(t))
	if err != nil {
		t.Fatal(err)
	}
	return skill
}

func evaluate(t testing.TB, s *Store, id string, passed bool, kinds ...EvaluationKind) *Skill {
	t.Helper()
	var skill *Skill
	for _, kind := range kinds {
		var err error
		skill, err = s.Evaluate(id, Evaluation{Kind: kind, Passed: passed, By: "eve", Evidence: []string{"run_2"}}, kxmtest.Now())
		if err != nil {
			t.Fatal(err)
		}
	}
	return skill
}

// promoted returns a promoted skill.
func promoted(t testing.TB, s *Store) *Skill {
	t.Helper()
	skill := create(t, s)
	evaluate(t, s, skill.ID, true, required...)
	skill, err := s.Promote(skill.ID, "bob", []string{"pr:12"}, kxmtest.Now())
	if err != nil {
		t.Fatal(err)
	}
	return skill
}

// tree returns every path below dir with its mode and content.
func tree(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %s", info.Mode(), name)
		switch full := filepath.Join(dir, name); {
		case d.Type() == fs.ModeSymlink:
			target, err := os.Readlink(full)
			if err != nil {
				return err
			}
			b.WriteString(" -> " + target)
		case d.Type().IsRegular():
			data, err := os.ReadFile(full)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " %q", data)
		}
		b.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func events(t testing.TB, s *Store, id string) string {
	t.Helper()
	lines, err := History(s.fsys(), id)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, line := range lines {
		var e struct{ Schema, Event, By, At, Status, Kind string }
		if err := json.Unmarshal(line, &e); err != nil || e.Schema != EventSchema || e.At != "2026-09-01T12:00:00Z" || e.By == "" {
			t.Fatalf("%s: %v", line, err)
		}
		list = append(list, strings.TrimSpace(e.Event+" "+e.Kind)+" "+e.Status)
	}
	return strings.Join(list, ", ")
}

func TestLifeOfAPromotedSkill(t *testing.T) {
	s, dir := newStore(t)
	skill := create(t, s)
	if !strings.HasPrefix(skill.ID, "release-notes.") || skill.Status != StatusCandidate || len(skill.ID) != len("release-notes.")+12 {
		t.Fatalf("created %+v", skill)
	}
	copied := filepath.Join(dir, "skills/candidates", skill.ID)
	for name, want := range map[string]string{"SKILL.md": document, "assets/logo.bin": "\x00\xff\x01", "scripts/style": "Short sentences.\n"} {
		if got, err := os.ReadFile(filepath.Join(copied, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if info, err := os.Stat(filepath.Join(copied, "scripts/collect.sh")); err != nil || info.Mode()&0o100 == 0 {
		t.Errorf("the script lost its execute bit: %v, %v", info, err)
	}
	digest, err := treehash.Folder(os.DirFS(copied), func(p string) bool { return p == "metadata.json" })
	if err != nil || digest != skill.Digest || !strings.Contains(digest, strings.TrimPrefix(skill.ID, "release-notes.")) {
		t.Errorf("digest %s, recorded %s (%v)", digest, skill.Digest, err)
	}
	if items, problems := Items(s.fsys(), "demo", ".kxm", nil); len(items) != 0 || len(problems) != 0 {
		t.Errorf("a candidate is served: %v, %v", items, problems)
	}

	evaluate(t, s, skill.ID, true, StaticReview, Sandbox)
	evaluate(t, s, skill.ID, false, Sandbox, Optimization) // neither quarantines
	if found, err := Find(s.fsys(), skill.ID); err != nil || fmt.Sprint(found.Missing()) != "[sandbox functional safety]" || found.Status != StatusCandidate {
		t.Fatalf("%+v, %v", found, err)
	}
	evaluate(t, s, skill.ID, true, Sandbox, Functional, Safety)
	done, err := s.Promote(skill.ID, "bob", []string{"pr:12"}, kxmtest.Now())
	if err != nil {
		t.Fatal(err)
	}
	if done.Status != StatusPromoted || done.Decided == nil || done.Decided.By != "bob" || done.Decided.At != "2026-09-01T12:00:00Z" || len(done.Evaluations) != 7 {
		t.Errorf("promoted %+v", done)
	}
	if _, err := os.Stat(copied); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the candidate is still there: %v", err)
	}
	if got, want := events(t, s, skill.ID), "created candidate, evaluated static-review candidate, evaluated sandbox candidate, "+
		"evaluated sandbox candidate, evaluated optimization candidate, evaluated sandbox candidate, evaluated functional candidate, evaluated safety candidate, promoted promoted"; got != want {
		t.Errorf("history\n got %s\nwant %s", got, want)
	}

	items, problems := Items(s.fsys(), "demo", "sub/.kxm", func(name string) string {
		if name != "skills/promoted/"+skill.ID+"/SKILL.md" {
			t.Errorf("blob of %s", name)
		}
		return strings.Repeat("ab", 20)
	})
	if len(items) != 1 || len(problems) != 0 {
		t.Fatalf("%v, %v", items, problems)
	}
	want := `{"schema":"kxm.context-item.v1","id":"skill_` + skill.ID + `","kind":"skill","project":"demo",` +
		`"summary":"release-notes: Write release notes from merged pull requests",` +
		`"provenance":{"sourceType":"git","sourceRef":"skill:` + skill.ID + `@` + skill.Digest + `",` +
		`"path":"sub/.kxm/skills/promoted/` + skill.ID + `/SKILL.md","blob":"` + strings.Repeat("ab", 20) + `"},` +
		`"authority":"instruction","confidence":"verified","scope":"project","status":"current"}`
	if got := string(items[0].AppendJSON(nil)); got != want {
		t.Errorf("item\n got %s\nwant %s", got, want)
	}
	if err := items[0].Check(); err != nil {
		t.Error(err)
	}
}

func TestAFailedEvaluationQuarantines(t *testing.T) {
	for _, kind := range []EvaluationKind{Functional, Safety} {
		s, dir := newStore(t)
		id := create(t, s).ID
		if skill := evaluate(t, s, id, false, kind); skill.Status != StatusQuarantined || skill.recorded != StatusQuarantined {
			t.Errorf("%s: %+v", kind, skill)
		}
		if _, err := os.Stat(filepath.Join(dir, "skills/quarantined", id, "SKILL.md")); err != nil {
			t.Error(err)
		}
		evaluate(t, s, id, true, required...) // may be recorded, and leads nowhere
		if _, err := s.Promote(id, "bob", []string{"pr:12"}, kxmtest.Now()); !fault.Is(err, fault.SkillPromotionInvalid) {
			t.Errorf("%s: promoted from quarantine: %v", kind, err)
		}
	}

	s, _ := newStore(t)
	id := promoted(t, s).ID
	evaluate(t, s, id, false, Safety)
	if skills, problems := Promoted(s.fsys()); len(skills)+len(problems) != 0 {
		t.Errorf("a skill that failed is still promoted: %v, %v", skills, problems)
	}
	skill, err := s.Reject(id, "bob", "leaks the environment", kxmtest.Now())
	if err != nil || skill.Status != StatusRejected || skill.Decided.Reason != "leaks the environment" {
		t.Errorf("%+v, %v", skill, err)
	}
	if got := events(t, s, id); !strings.HasSuffix(got, "promoted promoted, evaluated safety quarantined, rejected rejected") {
		t.Error(got)
	}
}

func TestADocumentAloneIsASkill(t *testing.T) {
	s, _ := newStore(t)
	c := candidate(t)
	c.Files, c.Document = nil, []byte(document)
	skill, err := s.Create(c)
	if err != nil {
		t.Fatal(err)
	}
	want, err := treehash.Folder(fstest.MapFS{"SKILL.md": {Data: []byte(document)}}, nil)
	if err != nil || skill.Digest != want {
		t.Errorf("digest %s, want %s (%v)", skill.Digest, want, err)
	}
	if skills, problems := Verified(s.fsys()); len(skills) != 1 || len(problems) != 0 {
		t.Errorf("%v, %v", skills, problems)
	}
}

func TestOneOfManyPromotionsWins(t *testing.T) {
	s, dir := newStore(t)
	id := create(t, s).ID
	evaluate(t, s, id, true, required...)
	const n = 8
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			// Each with a root of its own, as programs have.
			root, err := os.OpenRoot(dir)
			if err != nil {
				errs[i] = err
				return
			}
			defer root.Close()
			_, errs[i] = (&Store{Kxm: root}).Promote(id, fmt.Sprint("decider-", i), []string{"pr:1"}, kxmtest.Now())
		})
	}
	wg.Wait()
	winner := -1
	for i, err := range errs {
		switch {
		case err == nil && winner < 0:
			winner = i
		case err == nil:
			t.Errorf("%d and %d both promoted it", winner, i)
		case !fault.Is(err, fault.SkillPromotionInvalid):
			t.Errorf("%d: %v", i, err)
		}
	}
	skill, err := Find(s.fsys(), id)
	if err != nil || winner < 0 || skill.Decided.By != fmt.Sprint("decider-", winner) {
		t.Errorf("winner %d: %+v, %v", winner, skill, err)
	}
	if got := strings.Count(events(t, s, id), "promoted promoted"); got != 1 {
		t.Errorf("the history tells of %d promotions", got)
	}
}

func TestManyCreationsAtOnce(t *testing.T) {
	s, dir := newStore(t)
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		c := candidate(t)
		c.Files, c.Document = nil, fmt.Appendf(nil, "%s%d\n", document, i%4)
		wg.Go(func() { _, errs[i] = s.Create(c) })
	}
	wg.Wait()
	exist := 0
	for _, err := range errs {
		if fault.Is(err, fault.SkillCandidateExists) {
			exist++
		} else if err != nil {
			t.Error(err)
		}
	}
	if skills, problems := Verified(s.fsys()); len(skills) != 4 || exist != 4 || len(problems) != 0 {
		t.Errorf("%d skills, %d existed: %v\n%s", len(skills), exist, problems, tree(t, dir))
	}
}

// A program may die between two steps. The next call must find nothing half done,
// or complete it.
func TestCallsCompleteWhatACrashLeft(t *testing.T) {
	s, dir := newStore(t)
	kxmtest.WriteFiles(t, dir, map[string]string{"skills/.staged/SKILL.md": "cut", "skills/.staged/x/y": "z", "skills/.staged.json": "{"})
	id := create(t, s).ID
	if skills, problems := Verified(s.fsys()); len(skills) != 1 || len(problems) != 0 {
		t.Errorf("%v, %v", skills, problems)
	}
	evaluate(t, s, id, true, required...)

	// Promotion: the metadata is written, the folder has not moved.
	skill, err := Find(s.fsys(), id)
	if err != nil {
		t.Fatal(err)
	}
	half := skill.fields.withDecision(StatusPromoted, Decision{By: "mallory", At: "2026-09-01T12:00:00Z"})
	kxmtest.WriteFiles(t, dir, map[string]string{skill.path() + "/metadata.json": string(half.file())})
	if skills, _ := Promoted(s.fsys()); len(skills) != 0 {
		t.Error("half a promotion counts")
	}
	if skill, err = s.Promote(id, "bob", []string{"pr:1"}, kxmtest.Now()); err != nil || skill.Decided.By != "bob" {
		t.Fatalf("%+v, %v", skill, err)
	}

	// Quarantine: the same, and the half fails closed.
	half = skill.fields.with("status", []byte(`"quarantined"`))
	kxmtest.WriteFiles(t, dir, map[string]string{skill.path() + "/metadata.json": string(half.file())})
	if skills, problems := Promoted(s.fsys()); len(skills) != 0 || len(problems) != 1 {
		t.Errorf("half a quarantine: %v, %v", skills, problems)
	}
	if skill = evaluate(t, s, id, false, Safety); skill.Status != StatusQuarantined {
		t.Errorf("%+v", skill)
	}

	// History: the last line was cut.
	history := filepath.Join(dir, "skills/history", id+".jsonl")
	data, err := os.ReadFile(history)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(history, data[:len(data)-1], 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Reject(id, "bob", "why", kxmtest.Now()); err != nil {
		t.Fatal(err)
	}
	if got := events(t, s, id); !strings.HasSuffix(got, "evaluated safety quarantined, rejected rejected") {
		t.Error(got)
	}
}

func TestWritingStaysInsideTheFolder(t *testing.T) {
	outside := t.TempDir()
	for _, name := range []string{"skills", "skills/candidates", "skills/history"} {
		s, dir := newStore(t)
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(outside, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Create(candidate(t)); err == nil {
			t.Errorf("%s leads outside, and a candidate was created", name)
		}
		if got, err := os.ReadDir(outside); err != nil || len(got) != 0 {
			t.Errorf("%s: written outside: %v, %v", name, got, err)
		}
	}
}

func TestALockIsWaitedFor(t *testing.T) {
	s, _ := newStore(t)
	id := create(t, s).ID
	unlock, err := lock(s.Kxm, folder)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := s.Reject(id, "bob", "why", kxmtest.Now())
		done <- err
	}()
	select {
	case err := <-done:
		t.Errorf("written in spite of the lock: %v", err)
	case <-time.After(2 * lockPause):
	}
	unlock()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
