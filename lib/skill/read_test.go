package skill

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"kxm/lib/fault"
	"kxm/lib/kxmtest"
)

// mapFS reads a folder into memory, as a commit's files are read.
func mapFS(t testing.TB, dir string) fstest.MapFS {
	t.Helper()
	out := fstest.MapFS{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		file := &fstest.MapFile{Mode: info.Mode()}
		if d.Type() == fs.ModeSymlink {
			target, err := os.Readlink(name)
			if err != nil {
				return err
			}
			file.Data = []byte(target)
		} else if file.Data, err = os.ReadFile(name); err != nil {
			return err
		}
		out[filepath.ToSlash(rel)] = file
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestPromotedSkillsAreReadFromAnyFileSystem(t *testing.T) {
	s, dir := newStore(t)
	id := promoted(t, s).ID
	for name, fsys := range map[string]fs.FS{"root": s.Kxm.FS(), "folder": os.DirFS(dir), "memory": mapFS(t, dir)} {
		skills, problems := Promoted(fsys)
		if len(skills) != 1 || len(problems) != 0 || skills[0].ID != id || skills[0].Status != StatusPromoted {
			t.Errorf("%s: %v, %v", name, skills, problems)
		}
	}
	for name, fsys := range map[string]fs.FS{"nothing": fstest.MapFS{}, "no skills": fstest.MapFS{"memory/a.md": {}}, "no folder": os.DirFS(filepath.Join(dir, "missing"))} {
		if skills, problems := Promoted(fsys); len(skills)+len(problems) != 0 {
			t.Errorf("%s: %v, %v", name, skills, problems)
		}
	}
}

// Whatever is changed in the folder of a promoted skill, it is found.
func TestTamperingIsDetected(t *testing.T) {
	s, dir := newStore(t)
	id := promoted(t, s).ID
	at := "skills/promoted/" + id + "/"
	edit := func(name string, change func(data string) string) func(fstest.MapFS) {
		return func(m fstest.MapFS) {
			f := *m[at+name]
			changed := change(string(f.Data))
			if changed == string(f.Data) {
				t.Errorf("%s: nothing was changed", name)
			}
			f.Data = []byte(changed)
			m[at+name] = &f
		}
	}
	replace := func(name, from, to string) func(fstest.MapFS) {
		return edit(name, func(s string) string { return strings.Replace(s, from, to, 1) })
	}
	chmod := func(name string, mode fs.FileMode) func(fstest.MapFS) {
		return func(m fstest.MapFS) { m[at+name] = &fstest.MapFile{Data: m[at+name].Data, Mode: mode} }
	}
	for _, c := range []struct {
		name   string
		code   fault.Code
		change func(fstest.MapFS)
	}{
		{"the body", fault.SkillIntegrityViolation, replace("SKILL.md", "Run scripts", "Run other scripts")},
		{"one byte", fault.SkillIntegrityViolation, replace("assets/logo.bin", "\xff", "\xfe")},
		{"an added byte", fault.SkillIntegrityViolation, edit("SKILL.md", func(s string) string { return s + "\n" })},
		{"line endings", fault.SkillIntegrityViolation, edit("SKILL.md", func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") })},
		{"the description", fault.SkillIntegrityViolation, replace("SKILL.md", "Write", "Wrote")},
		{"an execute bit", fault.SkillIntegrityViolation, chmod("SKILL.md", 0o755)},
		{"a lost execute bit", fault.SkillIntegrityViolation, chmod("scripts/collect.sh", 0o644)},
		{"a link's target", fault.SkillIntegrityViolation, replace("scripts/style", "style.md", "../SKILL.md")},
		{"an escaping link", fault.SkillIntegrityViolation, replace("scripts/style", "../references/style.md", "../../../../x")},
		{"a link made a file", fault.SkillIntegrityViolation, chmod("scripts/style", 0o644)},
		{"a file made a link", fault.SkillIntegrityViolation, chmod("references/style.md", fs.ModeSymlink|0o777)},
		{"an added file", fault.SkillIntegrityViolation, func(m fstest.MapFS) { m[at+"scripts/more.sh"] = &fstest.MapFile{} }},
		{"an added hidden file", fault.SkillIntegrityViolation, func(m fstest.MapFS) { m[at+".hidden"] = &fstest.MapFile{} }},
		{"a second metadata.json", fault.SkillIntegrityViolation, func(m fstest.MapFS) { m[at+"scripts/metadata.json"] = &fstest.MapFile{} }},
		{"code beside the digest", fault.SkillIntegrityViolation, func(m fstest.MapFS) { m[at+"scripts/node_modules/x/index.js"] = &fstest.MapFile{} }},
		{"a repository inside", fault.SkillIntegrityViolation, func(m fstest.MapFS) { m[at+".git/config"] = &fstest.MapFile{} }},
		{"a removed file", fault.SkillIntegrityViolation, func(m fstest.MapFS) { delete(m, at+"assets/logo.bin") }},
		{"no SKILL.md", fault.SkillIntegrityViolation, func(m fstest.MapFS) { delete(m, at+"SKILL.md") }},
		{"a device", fault.SkillIntegrityViolation, chmod("assets/logo.bin", fs.ModeDevice)},
		{"never promoted", fault.SkillIntegrityViolation, replace("metadata.json", `"status": "promoted"`, `"status": "candidate"`)},
		{"another description in the metadata", fault.SkillIntegrityViolation, replace("metadata.json", "Write release", "Ignore release")},
		{"another digest in the metadata", fault.SkillIntegrityViolation, edit("metadata.json", func(s string) string {
			i := strings.Index(s, "kxt1:") + len("kxt1:") + 63
			return s[:i] + string("0123456789abcdef"[(strings.IndexByte("0123456789abcdef", s[i])+1)%16]) + s[i+1:]
		})},
		{"another id in the metadata", fault.InvalidSkillMetadata, replace("metadata.json", `"id": "release-notes.`, `"id": "release-note.`)},
		{"another name in the metadata", fault.InvalidSkillMetadata, replace("metadata.json", `"name": "release-notes"`, `"name": "other"`)},
		{"broken metadata", fault.InvalidSkillMetadata, replace("metadata.json", "{", "[")},
		{"no metadata", fault.InvalidSkillMetadata, func(m fstest.MapFS) { delete(m, at+"metadata.json") }},
		{"metadata is a link", fault.InvalidSkillMetadata, chmod("metadata.json", fs.ModeSymlink|0o777)},
		{"also rejected", fault.SkillIntegrityViolation, func(m fstest.MapFS) { m["skills/rejected/"+id+"/SKILL.md"] = &fstest.MapFile{} }},
	} {
		m := mapFS(t, dir)
		c.change(m)
		skills, problems := Promoted(m)
		if len(skills) != 0 || len(problems) != 1 || problems[0].ID != id || !fault.Is(problems[0].Err, c.code) || problems[0].Gap() != "skill_unverified:"+id {
			t.Errorf("%s: %v, %v", c.name, skills, problems)
		}
		if items, problems := Items(m, "demo", ".kxm", nil); len(items) != 0 || len(problems) != 1 {
			t.Errorf("%s: served as %v", c.name, items)
		}
	}
}

func TestOneBadSkillHidesNoGoodOne(t *testing.T) {
	s, dir := newStore(t)
	id := promoted(t, s).ID
	c := candidate(t)
	c.Files, c.Document = nil, []byte(strings.ReplaceAll(document, "release-notes", "another"))
	bad, err := s.Create(c)
	if err != nil {
		t.Fatal(err)
	}
	evaluate(t, s, bad.ID, true, required...)
	if _, err := s.Promote(bad.ID, "bob", []string{"pr:1"}, kxmtest.Now()); err != nil {
		t.Fatal(err)
	}
	kxmtest.WriteFiles(t, dir, map[string]string{
		"skills/promoted/" + bad.ID + "/SKILL.md": "changed",
		"skills/promoted/Not An Id/SKILL.md":      document,
		"skills/promoted/.gitkeep":                "",
		"skills/promoted/README.md":               "",
	})
	link := strings.TrimSuffix(id, id[len(id)-1:]) + "0"
	if link == id {
		link = strings.TrimSuffix(id, id[len(id)-1:]) + "1"
	}
	if err := os.Symlink(id, filepath.Join(dir, "skills/promoted", link)); err != nil {
		t.Fatal(err)
	}
	for name, fsys := range map[string]fs.FS{"root": s.Kxm.FS(), "folder": os.DirFS(dir), "memory": mapFS(t, dir)} {
		items, problems := Items(fsys, "demo", ".kxm", nil)
		if len(items) != 1 || items[0].ID != "skill_"+id {
			t.Errorf("%s: %v", name, items)
		}
		gaps := map[string]bool{}
		for _, p := range problems {
			gaps[p.Gap()] = true
		}
		if len(problems) != 3 || !gaps["skill_unverified:invalid"] || !gaps["skill_unverified:"+bad.ID] || !gaps["skill_unverified:"+link] {
			t.Errorf("%s: %v", name, problems)
		}
	}
}

// unlistable is a file system one folder of which cannot be listed.
type unlistable struct {
	fstest.MapFS
	folder string
}

func (u unlistable) ReadDir(name string) ([]fs.DirEntry, error) {
	if name == u.folder {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrPermission}
	}
	return u.MapFS.ReadDir(name)
}

func TestAFolderThatCannotBeListedIsAProblem(t *testing.T) {
	s, dir := newStore(t)
	promoted(t, s)
	m := mapFS(t, dir)
	_, problems := Promoted(unlistable{m, "skills/promoted"})
	if len(problems) != 1 || problems[0].ID != "" || problems[0].Gap() != "skills_unreadable" || !fault.Is(problems[0].Err, fault.IOFailed) {
		t.Errorf("%v", problems)
	}
	skills, problems := List(unlistable{m, "skills/rejected"})
	if len(skills) != 1 || len(problems) != 1 || problems[0].Status != StatusRejected {
		t.Errorf("%v, %v", skills, problems)
	}
	m["skills/quarantined"] = &fstest.MapFile{}
	if _, problems := List(m, StatusQuarantined); len(problems) != 1 {
		t.Errorf("a file for a folder: %v", problems)
	}
}

func TestGapsRepeatOnlyPlainNames(t *testing.T) {
	for id, want := range map[string]string{
		"":                       "skills_unreadable",
		"a.0123456789ab":         "skill_unverified:a.0123456789ab",
		"A_b-C":                  "skill_unverified:A_b-C",
		"a b":                    "skill_unverified:invalid",
		"é":                      "skill_unverified:invalid",
		"a\n## Gaps":             "skill_unverified:invalid",
		strings.Repeat("x", 128): "skill_unverified:" + strings.Repeat("x", 128),
		strings.Repeat("x", 129): "skill_unverified:invalid",
	} {
		if got := (Problem{ID: id}).Gap(); got != want {
			t.Errorf("%q: %s, want %s", id, got, want)
		}
	}
}

func TestListShowsEverySkillByStatus(t *testing.T) {
	s, _ := newStore(t)
	ids := map[Status]string{}
	for i, status := range statuses {
		c := candidate(t)
		c.Files, c.Document = nil, fmt.Appendf(nil, "%s%d\n", document, i)
		skill, err := s.Create(c)
		if err != nil {
			t.Fatal(err)
		}
		ids[status] = skill.ID
		switch status {
		case StatusPromoted:
			evaluate(t, s, skill.ID, true, required...)
			_, err = s.Promote(skill.ID, "bob", []string{"pr:1"}, kxmtest.Now())
		case StatusQuarantined:
			evaluate(t, s, skill.ID, false, Safety)
		case StatusRejected:
			_, err = s.Reject(skill.ID, "bob", "why", kxmtest.Now())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	skills, problems := List(s.fsys())
	if len(skills) != 4 || len(problems) != 0 {
		t.Fatalf("%v, %v", skills, problems)
	}
	for i, status := range statuses {
		if skills[i].Status != status || skills[i].ID != ids[status] {
			t.Errorf("%d: %+v", i, skills[i])
		}
		if found, err := Find(s.fsys(), ids[status]); err != nil || found.Status != status {
			t.Errorf("%s: %+v, %v", status, found, err)
		}
		raw, err := json.Marshal(skills[i])
		var shown struct{ Schema, ID, Status string }
		if err != nil || json.Unmarshal(raw, &shown) != nil || shown.Schema != Schema || shown.ID != ids[status] || shown.Status != string(status) {
			t.Errorf("%s, %v", raw, err)
		}
	}
	if some, _ := List(s.fsys(), StatusRejected, StatusPromoted); len(some) != 2 || some[0].Status != StatusRejected {
		t.Errorf("%v", some)
	}
}

func TestMetadataKeepsWhatItDoesNotKnow(t *testing.T) {
	s, dir := newStore(t)
	skill := create(t, s)
	path := filepath.Join(dir, "skills/candidates", skill.ID, "metadata.json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data = []byte(strings.Replace(string(data), `"schema"`, `"zeta": 12345678901234567890, "alpha": {"b": [1.50, "<&>\u2028"]}, "schema"`, 1))
	data = []byte(strings.Replace(string(data), `"evaluations": []`, `"evaluations": [ {"kind":"sandbox","passed":true,"by":"x","at":"2026-01-01T00:00:00Z","new":1e5} ]`, 1))
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	evaluate(t, s, skill.ID, true, Safety)
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := `{
  "schema": "kxm.skill.v1",
  "id": "` + skill.ID + `",
  "name": "release-notes",
  "description": "Write release notes from merged pull requests",
  "digest": "` + skill.Digest + `",
  "author": "ada",
  "models": [
    "model-a",
    "model-b"
  ],
  "sources": {
    "runIds": [
      "run_1"
    ],
    "journalIds": [],
    "receipts": [
      "receipt_1"
    ]
  },
  "status": "candidate",
  "createdAt": "2026-09-01T12:00:00Z",
  "evaluations": [
    {
      "kind": "sandbox",
      "passed": true,
      "by": "x",
      "at": "2026-01-01T00:00:00Z",
      "new": 1e5
    },
    {
      "kind": "safety",
      "passed": true,
      "by": "eve",
      "at": "2026-09-01T12:00:00Z",
      "evidence": [
        "run_2"
      ]
    }
  ],
  "alpha": {
    "b": [
      1.50,
      "<&>\u2028"
    ]
  },
  "zeta": 12345678901234567890
}
`
	if string(got) != want {
		t.Errorf("metadata\n got %s\nwant %s", got, want)
	}
	if found, err := Find(s.fsys(), skill.ID); err != nil || len(found.Evaluations) != 2 || found.Evaluations[0].Evidence == nil {
		t.Errorf("%+v, %v", found, err)
	}
}

func TestShownMetadataIsRedacted(t *testing.T) {
	s, dir := newStore(t)
	skill := create(t, s)
	path := filepath.Join(dir, "skills/candidates", skill.ID, "metadata.json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(data), `"ada"`, `"`+secret+`"`, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	found, err := Find(s.fsys(), skill.ID)
	if err != nil || found.Author != secret {
		t.Fatalf("%+v, %v", found, err)
	}
	if got := string(found.AppendJSON(nil)); strings.Contains(got, secret) || !strings.Contains(got, skill.Digest) || strings.ContainsAny(got, "\n") {
		t.Error(got)
	}
}

func TestErrorsRepeatNoSecret(t *testing.T) {
	s, dir := newStore(t)
	skill := create(t, s)
	good := string(skill.fields.file())
	for _, change := range [][2]string{{"kxm.skill.v1", secret}, {`"candidate"`, `"` + secret + `"`}, {`"id": "`, `"id": "` + secret}} {
		_, err := parseMetadata("metadata.json", []byte(strings.Replace(good, change[0], change[1], 1)), StatusCandidate, skill.ID)
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", change[0], err)
		}
	}
	m := mapFS(t, dir)
	m[skill.path()+"/x"] = &fstest.MapFile{Data: []byte("/" + secret), Mode: fs.ModeSymlink}
	m["skills/candidates/"+secret+"/SKILL.md"] = &fstest.MapFile{}
	_, problems := Verified(m)
	if len(problems) != 2 {
		t.Errorf("%v", problems)
	}
	for _, p := range problems {
		if strings.Contains(p.Err.Error(), secret) {
			t.Error(p.Err)
		}
	}
	for _, text := range []string{"---\nname: " + secret + "\ndescription: x\n---\n"} {
		if _, err := ParseDocument("SKILL.md", []byte(text)); err == nil || strings.Contains(err.Error(), secret) {
			t.Error(err)
		}
	}
}

func TestMetadataIsReadStrictly(t *testing.T) {
	s, _ := newStore(t)
	skill := create(t, s)
	good := string(skill.fields.file())
	read := func(text string) error {
		_, err := parseMetadata("metadata.json", []byte(text), StatusCandidate, skill.ID)
		return err
	}
	if err := read(good); err != nil {
		t.Fatal(err)
	}
	if err := read(strings.Replace(good, `"status"`, `"decided": null, "status"`, 1)); err != nil {
		t.Errorf("null is not absent: %v", err)
	}
	for _, c := range []struct{ from, to, field string }{
		{"{", "[", ""}, {good, "[]", ""}, {good, "", ""}, {good, good + "{}", ""}, {good, "\xff", ""},
		{`"kxm.skill.v1"`, `"kxm.skill.v2"`, "schema"}, {`"kxm.skill.v1"`, `1`, "schema"},
		{`"schema": "kxm.skill.v1",`, ``, "schema"}, {`"author": "ada",`, ``, "author"}, {`"author": "ada",`, `"author": "ada", "author": "bob",`, ""},
		{`"ada"`, `" "`, "author"}, {`"ada"`, `null`, "author"},
		{skill.Digest, skill.Digest[:60], "digest"}, {skill.Digest, strings.ToUpper(skill.Digest), "digest"},
		{skill.Digest, skill.Digest[:5] + strings.Repeat("0", 64), "id"},
		{`"release-notes"`, `"Release"`, "name"}, {`"release-notes"`, `"release"`, "id"},
		{`"candidate"`, `"approved"`, "status"}, {`"2026-09-01T12:00:00Z"`, `"yesterday"`, "createdAt"},
		{`"model-a",`, `1,`, "models"}, {`"run_1"`, `{}`, "sources.runIds"}, {`"run_1"`, ``, "sources"},
		{`"evaluations": []`, `"evaluations": {}`, "evaluations"}, {`"evaluations": []`, `"evaluations": [1]`, "evaluations[0]"},
		{`"evaluations": []`, `"evaluations": [{"kind":"safety","passed":"true","by":"x","at":"2026-01-01"}]`, "evaluations[0].passed"},
		{`"evaluations": []`, `"evaluations": [{"kind":"safety","by":"x","at":"2026-01-01"}]`, "evaluations[0]"},
		{`"evaluations": []`, `"evaluations": [{"kind":"safety","passed":true,"by":"x","at":"2026-01-01","evidence":"y"}]`, "evaluations[0].evidence"},
		{`"status"`, `"decided": {"by": "x"}, "status"`, "decided"}, {`"status"`, `"decided": {"by": 1, "at": "2026-01-01"}, "status"`, "decided.by"},
	} {
		text := strings.Replace(good, c.from, c.to, 1)
		if c.field == "sources" {
			text = strings.Replace(text, `"receipt_1"`, ``, 1)
		}
		err := read(text)
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != fault.InvalidSkillMetadata || f.Field != c.field || f.Source != "metadata.json" {
			t.Errorf("%s for %s: %v, field %q wanted", c.to, c.from, err, c.field)
		}
	}
	if _, err := parseMetadata("metadata.json", []byte(good), StatusCandidate, "other.0123456789ab"); !fault.Is(err, fault.InvalidSkillMetadata) {
		t.Errorf("in the folder of another skill: %v", err)
	}
}

func FuzzMetadata(f *testing.F) {
	s, _ := newStore(f)
	skill := create(f, s)
	f.Add(skill.fields.file())
	skill = evaluate(f, s, skill.ID, true, required...)
	f.Add(skill.fields.file())
	f.Add([]byte(`{"evaluations":[{"kind":1}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		read, err := parseMetadata("m", data, StatusCandidate, skill.ID)
		if err != nil {
			if fault.CodeOf(err) != fault.InvalidSkillMetadata {
				t.Fatalf("%q: %v", data, err)
			}
			return
		}
		// Written and read again it says the same, with one evaluation more.
		next := read.fields.withEvaluation(Evaluation{Kind: Safety, By: "x", At: "2026-01-01T00:00:00Z"})
		again, err := parseMetadata("m", next.file(), StatusCandidate, skill.ID)
		if err != nil {
			t.Fatalf("%q became %q: %v", data, next.file(), err)
		}
		if len(again.Evaluations) != len(read.Evaluations)+1 || len(again.fields) != len(read.fields) || string(again.fields.file()) != string(next.file()) {
			t.Fatalf("%q became %q", data, again.fields.file())
		}
	})
}
