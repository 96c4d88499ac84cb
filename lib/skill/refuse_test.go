package skill

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"kxm/lib/fault"
	"kxm/lib/kxmtest"
	"kxm/lib/redact"
	"kxm/lib/treehash"
)

// refusal is a call that must fail with a code and leave the disk as it was.
type refusal struct {
	name string
	code fault.Code
	call func() error
}

func checkRefusals(t *testing.T, dir string, list []refusal) {
	t.Helper()
	for _, c := range list {
		before := tree(t, dir)
		err := c.call()
		if !fault.Is(err, c.code) {
			t.Errorf("%s: %v, want %s", c.name, err, c.code)
		}
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("%s: the error repeats the secret", c.name)
		}
		if after := tree(t, dir); after != before {
			t.Errorf("%s: the refusal changed\n%s\nto\n%s", c.name, before, after)
		}
	}
}

func TestCreateRefuses(t *testing.T) {
	s, dir := newStore(t)
	with := func(change func(*Candidate)) func() error {
		return func() error {
			c := candidate(t)
			change(&c)
			_, err := s.Create(c)
			return err
		}
	}
	files := func(name, text string) func() error {
		return with(func(c *Candidate) {
			files := map[string]string{"SKILL.md": document}
			files[name] = text
			source := t.TempDir()
			kxmtest.WriteFiles(t, source, files)
			c.Files = os.DirFS(source)
		})
	}
	link := func(name, target string) func() error {
		return with(func(c *Candidate) {
			source := sourceFolder(t)
			if err := os.Symlink(target, filepath.Join(source, name)); err != nil {
				t.Fatal(err)
			}
			c.Files = os.DirFS(source)
		})
	}
	many := make([]string, MaxRefs+1)
	for i := range many {
		many[i] = fmt.Sprint("run_", i)
	}
	checkRefusals(t, dir, []refusal{
		{"no author", fault.ActorUnknown, with(func(c *Candidate) { c.Author = " " })},
		{"overlong author", fault.Usage, with(func(c *Candidate) { c.Author = strings.Repeat("x", MaxActor+1) })},
		{"secret author", fault.SecretFound, with(func(c *Candidate) { c.Author = secret })},
		{"no models", fault.Usage, with(func(c *Candidate) { c.Models = nil })},
		{"17 models", fault.Usage, with(func(c *Candidate) { c.Models = many[:17] })},
		{"empty model", fault.Usage, with(func(c *Candidate) { c.Models = []string{"a", ""} })},
		{"model twice", fault.Usage, with(func(c *Candidate) { c.Models = []string{"a", " a"} })},
		{"model not UTF-8", fault.Usage, with(func(c *Candidate) { c.Models = []string{"\xff"} })},
		{"no sources", fault.SkillSourcesRequired, with(func(c *Candidate) { c.Sources = Sources{} })},
		{"65 run ids", fault.Usage, with(func(c *Candidate) { c.Sources.RunIDs = many })},
		{"secret journal id", fault.SecretFound, with(func(c *Candidate) { c.Sources.JournalIDs = []string{secret} })},
		{"no SKILL.md", fault.InvalidSkillFrontmatter, with(func(c *Candidate) { c.Files = fstest.MapFS{"skill.md": {Data: []byte(document)}} })},
		{"SKILL.md is a link", fault.InvalidSkillFrontmatter, with(func(c *Candidate) {
			source := t.TempDir()
			kxmtest.WriteFiles(t, source, map[string]string{"a.md": document})
			if err := os.Symlink("a.md", filepath.Join(source, "SKILL.md")); err != nil {
				t.Fatal(err)
			}
			c.Files = os.DirFS(source)
		})},
		{"no front matter", fault.InvalidSkillFrontmatter, files("SKILL.md", "# hello\n")},
		{"broken front matter", fault.InvalidSkillFrontmatter, files("SKILL.md", "---\nname: [\n---\n")},
		{"bad name", fault.InvalidSkillName, files("SKILL.md", "---\nname: Release Notes\ndescription: x\n---\n")},
		{"no folder", fault.IOFailed, with(func(c *Candidate) { c.Files = os.DirFS(filepath.Join(dir, "missing")) })},
		{"secret in SKILL.md", fault.SecretFound, files("SKILL.md", document+"token = "+secret+"\n")},
		{"secret in broken SKILL.md", fault.SecretFound, files("SKILL.md", "---\nname: "+secret+"\n"+secret+": 1\n"+secret+": 2\n---\n")},
		{"secret in a script", fault.SecretFound, files("scripts/a.sh", "#!/bin/sh\nexport TOKEN="+secret+"\n")},
		{"secret file name", fault.SecretFound, files("references/"+secret+".md", "x")},
		{"secret in a link", fault.SecretFound, link("scripts/x", secret)},
		{"escaping link", fault.PathEscapes, link("scripts/x", "../../outside")},
		{"absolute link", fault.PathEscapes, link("x", "/etc/passwd")},
		{"link to the metadata", fault.PathEscapes, link("x", "metadata.json")},
		{"what the digest leaves out", fault.SkillIntegrityViolation, files("scripts/node_modules/x.js", "x")},
		{"too large", fault.Usage, files("assets/x", strings.Repeat("x", MaxSize))},
		{"document too large", fault.Usage, with(func(c *Candidate) { c.Files, c.Document = nil, make([]byte, MaxSize+1) })},
		{"nothing", fault.InvalidSkillFrontmatter, with(func(c *Candidate) { c.Files = nil })},
	})

	skill := create(t, s)
	again := with(func(*Candidate) {})
	checkRefusals(t, dir, []refusal{{"candidate exists", fault.SkillCandidateExists, again}})
	if _, err := s.Reject(skill.ID, "bob", "too vague", kxmtest.Now()); err != nil {
		t.Fatal(err)
	}
	checkRefusals(t, dir, []refusal{{"rejected before", fault.SkillCandidateExists, again}})
}

func TestASecretMayBeAllowedByReviewers(t *testing.T) {
	text := document + "token = " + secret + "\n"
	c := candidate(t)
	c.Files, c.Document = nil, []byte(text)

	s, _ := newStore(t)
	_, err := s.Create(c)
	var f *fault.Error
	if !errors.As(err, &f) || f.Source != "SKILL.md" || f.Line != 10 || f.Column == 0 {
		t.Fatalf("%v", err)
	}
	rule := strings.TrimSuffix(f.Message[strings.LastIndexByte(f.Message, '(')+1:], ")")
	digest, err := treehash.Folder(fstest.MapFS{"SKILL.md": {Data: []byte(text)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Allow = []redact.Allow{{Path: ".kxm/skills/candidates/" + newID("release-notes", digest) + "/SKILL.md", Rule: rule}}
	if _, err := s.Create(c); err != nil {
		t.Errorf("allowed by path and rule %s: %v", rule, err)
	}

	s, _ = newStore(t)
	c.Document = []byte(document + "token = " + secret + " # gitleaks:allow\n")
	if _, err := s.Create(c); err != nil {
		t.Errorf("allowed on its line: %v", err)
	}
}

func TestVerbsRefuse(t *testing.T) {
	s, dir := newStore(t)
	now := kxmtest.Now()
	promote := func(id, by string, evidence ...string) func() error {
		return func() error { _, err := s.Promote(id, by, evidence, now); return err }
	}
	reject := func(id, by, reason string) func() error {
		return func() error { _, err := s.Reject(id, by, reason, now); return err }
	}
	eval := func(id string, e Evaluation) func() error {
		return func() error { _, err := s.Evaluate(id, e, now); return err }
	}
	const absent = "release-notes.0123456789ab"
	good := Evaluation{Kind: Safety, Passed: true, By: "eve"}
	for _, id := range []string{absent, "", ".", "..", "../candidates", "a/b", "release-notes", "release-notes.0123456789AB", "-a.0123456789ab", strings.Repeat("a", 41) + ".0123456789ab", "release-notes.0123456789ab/..", "a\x00.0123456789ab"} {
		checkRefusals(t, dir, []refusal{
			{"promote " + id, fault.SkillNotFound, promote(id, "bob", "pr:1")},
			{"reject " + id, fault.SkillNotFound, reject(id, "bob", "why")},
			{"evaluate " + id, fault.SkillNotFound, eval(id, good)},
			{"find " + id, fault.SkillNotFound, func() error { _, err := Find(s.fsys(), id); return err }},
		})
	}

	id := create(t, s).ID
	evaluate(t, s, id, true, StaticReview, Sandbox, Functional)
	checkRefusals(t, dir, []refusal{
		{"no decider", fault.ActorUnknown, promote(id, "", "pr:1")},
		{"the author", fault.SkillPromotionInvalid, promote(id, "ada", "pr:1")},
		{"the author in other letters", fault.SkillPromotionInvalid, promote(id, " Ada ", "pr:1")},
		{"no evidence", fault.SkillPromotionInvalid, promote(id, "bob")},
		{"empty evidence", fault.Usage, promote(id, "bob", " ")},
		{"secret evidence", fault.SecretFound, promote(id, "bob", secret)},
		{"incomplete", fault.SkillEvaluationsIncomplete, promote(id, "bob", "pr:1")},
		{"no reason", fault.Usage, reject(id, "bob", " ")},
		{"overlong reason", fault.Usage, reject(id, "bob", strings.Repeat("x", MaxText+1))},
		{"secret reason", fault.SecretFound, reject(id, "bob", "it holds "+secret)},
		{"nobody rejects", fault.ActorUnknown, reject(id, "", "why")},
		{"unknown kind", fault.Usage, eval(id, Evaluation{Kind: "vibes", By: "eve"})},
		{"no evaluator", fault.ActorUnknown, eval(id, Evaluation{Kind: Safety})},
		{"secret notes", fault.SecretFound, eval(id, Evaluation{Kind: Safety, By: "eve", Notes: secret})},
		{"evidence twice", fault.Usage, eval(id, Evaluation{Kind: Safety, By: "eve", Evidence: []string{"a", "a"}})},
	})
	evaluate(t, s, id, true, Safety)
	evaluate(t, s, id, false, StaticReview)
	checkRefusals(t, dir, []refusal{{"the latest failed", fault.SkillEvaluationsIncomplete, promote(id, "bob", "pr:1")}})
	evaluate(t, s, id, true, StaticReview)

	script := filepath.Join(dir, "skills/candidates", id, "scripts/collect.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nrm -rf /\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	checkRefusals(t, dir, []refusal{
		{"promote a changed script", fault.SkillIntegrityViolation, promote(id, "bob", "pr:1")},
		{"evaluate a changed script", fault.SkillIntegrityViolation, eval(id, good)},
	})
	if err := os.WriteFile(script, []byte("#!/bin/sh\ngit log --merges\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Promote(id, "bob", []string{"pr:1"}, now); err != nil {
		t.Fatal(err)
	}
	checkRefusals(t, dir, []refusal{{"promoted before", fault.SkillPromotionInvalid, promote(id, "bob", "pr:1")}})
	if _, err := s.Reject(id, "bob", "out of date", now); err != nil {
		t.Fatal(err)
	}
	checkRefusals(t, dir, []refusal{
		{"rejected before", fault.SkillNotFound, reject(id, "bob", "why")},
		{"promote a rejected one", fault.SkillPromotionInvalid, promote(id, "bob", "pr:1")},
	})
}
