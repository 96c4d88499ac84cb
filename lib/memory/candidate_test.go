package memory

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"
	"unicode"

	"kxm/lib/fault"
	"kxm/lib/item"
	"kxm/lib/kxmtest"
)

func mustNote(t testing.TB, root *os.Root, n Note) Candidate {
	t.Helper()
	if n.Now.IsZero() {
		n.Now = kxmtest.Now()
	}
	c, err := WriteNote(root, n)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func candidateRecord(t testing.TB, root *os.Root, c Candidate) *Record {
	t.Helper()
	data, err := root.ReadFile(c.Path)
	if err != nil {
		t.Fatal(err)
	}
	return mustParse(t, c.ID+".md", string(data))
}

// TestNoteExactly holds the file that a note becomes, and its answer.
func TestNoteExactly(t *testing.T) {
	root := openRoot(t, t.TempDir())
	c := mustNote(t, root, Note{Fact: "Use pnpm, not npm: in this repository", Kind: "convention", Refs: []string{"pr:12", "a, b"}})
	// printf 'project\0convention\0Use pnpm, not npm: in this repository' | sha256sum | cut -c1-12
	id := "cand_project_9754604b9d55"
	if c.ID != id {
		t.Errorf("id %s, want %s", c.ID, id)
	}
	want := `---
schema: kxm.memory.v1
id: ` + id + `
scope: project
kind: convention
summary: "Use pnpm, not npm: in this repository"
provenance:
  sourceType: peer
  timestamp: 2026-09-01T12:00:00Z
authority: evidence
confidence: probable
lifecycle: active
evidenceRefs: [pr:12, "a, b"]
---
`
	if data, err := root.ReadFile("memory/candidates/" + id + ".md"); err != nil || string(data) != want {
		t.Errorf("got %v\n%s", err, data)
	}
	raw, err := json.Marshal(c)
	if want := `{"candidate":"` + id + `","path":"memory/candidates/` + id + `.md","existed":false}`; err != nil || string(raw) != want {
		t.Errorf("got %s, %v", raw, err)
	}
	if s := mustLoad(t, root.FS()); len(s.Records)+len(s.Problems) != 0 {
		t.Errorf("the candidate is loaded as a fact")
	}
}

// TestNotingTwiceIsNotingOnce holds that white space and the form of letters do not
// make another fact, and that the first file stays.
func TestNotingTwiceIsNotingOnce(t *testing.T) {
	root := openRoot(t, t.TempDir())
	first := mustNote(t, root, Note{Fact: "Café hours are 9 to 5"})
	before, _ := root.ReadFile(first.Path)
	for _, fact := range []string{"Café hours are 9 to 5", "  Cafe\u0301 hours\n\tare\u00a0 9 to 5 \n"} {
		again := mustNote(t, root, Note{Fact: fact, Refs: []string{"pr:1"}, Now: kxmtest.Now().Add(time.Hour)})
		if !again.Existed || again.ID != first.ID || again.Path != first.Path {
			t.Errorf("%q: got %+v", fact, again)
		}
	}
	if after, _ := root.ReadFile(first.Path); string(after) != string(before) {
		t.Errorf("the file became\n%s", after)
	}
	for _, other := range []Note{{Fact: "Cafe hours are 9 to 5"}, {Fact: "Café hours are 9 to 5", Kind: "rule"}, {Fact: "Café hours are 9 to 5", Scope: item.ScopeRun}} {
		if c := mustNote(t, root, other); c.Existed || c.ID == first.ID {
			t.Errorf("%+v is taken for the same", other)
		}
	}
}

func TestNotingAtOnce(t *testing.T) {
	dir := t.TempDir()
	root := openRoot(t, dir)
	var group sync.WaitGroup
	created := make([]bool, 20)
	for i := range created {
		group.Go(func() {
			c, err := WriteNote(root, Note{Fact: "one fact", Now: kxmtest.Now()})
			if err != nil {
				t.Error(err)
			}
			created[i] = !c.Existed
		})
	}
	group.Wait()
	if n := len(slices.DeleteFunc(created, func(b bool) bool { return !b })); n != 1 {
		t.Errorf("%d of the notes were the first", n)
	}
	noTemps(t, dir)
}

// TestAnyFactReadsBack holds that a fact of any text is read from its file as it
// was stored.
func TestAnyFactReadsBack(t *testing.T) {
	facts := []string{
		"- a list", "? a key", "key: value", "a # comment", "#comment", "'single'", `"double"`, `back\slash`, "yes", "null", "~", "123", "1.5", "true",
		"2026-09-01", "[flow", "{flow}", "&anchor", "*alias", "!tag", "| literal", "> folded", "%directive", "@at", "`tick`", "---", "+++", "...",
		"tab\there", "line\nbreak", "nul\x00byte", "esc\x1b[0m", "del\x7f", "next\u0085line", "sep\u2028arator", "bom\ufeff", "emoji 👩‍👩‍👧", "日本語", "e\u0301",
		"trailing space ", " leading", "a: b: c", "<<: merge", "x: &y z", "100%", "- ", ":", "-", "?", "=", "\\n", "a\\", "\"", "''", "{{ template }}", "\U0010ffff", "\u200b",
	}
	for _, fact := range facts {
		for _, kind := range []string{"learning", fact} {
			root := openRoot(t, t.TempDir()) // "-" and "- " are one fact
			ref := fact + "."
			if strings.ContainsFunc(squeeze(ref), unicode.IsControl) {
				ref = "pr:1" // an item's references hold none
			}
			c := mustNote(t, root, Note{Fact: fact, Kind: kind, Refs: []string{ref}})
			r := candidateRecord(t, root, c)
			if r.Summary != squeeze(fact) || r.Kind != squeeze(kind) || !slices.Equal(r.EvidenceRefs, []string{squeeze(ref)}) {
				t.Errorf("%q came back as %q, kind %q, references %q", fact, r.Summary, r.Kind, r.EvidenceRefs)
			}
			if CandidateID(r.Scope, r.Kind, r.Summary) != r.ID {
				t.Errorf("%q: the id is not that of what is stored", fact)
			}
		}
	}
}

func FuzzNote(f *testing.F) {
	f.Add("key: - 'value'", "learning", "pr:1")
	f.Add("a\n---\nb", "\u0085", "#")
	f.Fuzz(func(t *testing.T, fact, kind, ref string) {
		n := Note{Fact: fact, Kind: kind, Refs: []string{ref}, Now: kxmtest.Now()}
		root := openRoot(t, t.TempDir())
		c, err := WriteNote(root, n)
		if err != nil {
			if fault.CodeOf(err) == "" {
				t.Fatalf("%v has no code", err)
			}
			return
		}
		r := candidateRecord(t, root, c)
		if r.Summary != squeeze(fact) {
			t.Fatalf("%q came back as %q", fact, r.Summary)
		}
	})
}

// TestNoteRefuses holds what is no note, and that nothing is written then.
func TestNoteRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		note Note
		code fault.Code
	}{
		"empty":                {Note{Fact: " \n"}, fault.ProtocolError},
		"too long":             {Note{Fact: strings.Repeat("é", MaxSummary+1)}, fault.ProtocolError},
		"not UTF-8":            {Note{Fact: "a\xff"}, fault.ProtocolError},
		"kind not UTF-8":       {Note{Fact: "a", Kind: "\xff"}, fault.ProtocolError},
		"blank kind":           {Note{Fact: "a", Kind: " "}, fault.InvalidMemoryFile},
		"marker":               {Note{Fact: "end it: " + EndMarker}, fault.ProtocolError},
		"unknown scope":        {Note{Fact: "a", Scope: "team"}, fault.Usage},
		"scope that is a path": {Note{Fact: "a", Scope: "../x"}, fault.Usage},
		"secret fact":          {Note{Fact: "the token is " + secret}, fault.SecretFound},
		"secret kind":          {Note{Fact: "a", Kind: secret}, fault.SecretFound},
		"secret reference":     {Note{Fact: "a", Refs: []string{"ok", secret}}, fault.SecretFound},
		"65 references":        {Note{Fact: "a", Refs: strings.Split(refs(65), ", ")}, fault.InvalidMemoryFile},
		"empty reference":      {Note{Fact: "a", Refs: []string{""}}, fault.InvalidMemoryFile},
		"the same one twice":   {Note{Fact: "a", Refs: []string{"b", "b"}}, fault.InvalidMemoryFile},
		"too long in front":    {Note{Fact: strings.Repeat("a", 70_000)}, fault.ProtocolError},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			_, err := WriteNote(openRoot(t, dir), c.note)
			if !fault.Is(err, c.code) {
				t.Errorf("got %v, want %s", err, c.code)
			}
			if err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("%v holds the secret", err)
			}
			if list, _ := os.ReadDir(dir); len(list) > 0 {
				t.Errorf("wrote %v", list)
			}
		})
	}
	if _, err := WriteNote(openRoot(t, t.TempDir()), Note{Fact: strings.Repeat("é", MaxSummary), Now: kxmtest.Now()}); err != nil {
		t.Errorf("a fact of %d characters: %v", MaxSummary, err)
	}
}

// TestNoteRedacts holds that a masked note is named by its masked text and never
// reaches the disk otherwise.
func TestNoteRedacts(t *testing.T) {
	dir := t.TempDir()
	root := openRoot(t, dir)
	c := mustNote(t, root, Note{Fact: "the token is " + secret, Refs: []string{"see " + secret}, Redact: true})
	r := candidateRecord(t, root, c)
	if strings.Contains(string(r.Data), secret) || !strings.Contains(r.Summary, "[redacted:") || CandidateID(r.Scope, r.Kind, r.Summary) != c.ID {
		t.Errorf("got\n%s", r.Data)
	}
	raw, _ := json.Marshal(c)
	if len(c.Redacted) != 2 || !strings.Contains(string(raw), `"redacted":["`) || strings.Contains(string(raw), secret) {
		t.Errorf("got %s", raw)
	}
	if again := mustNote(t, root, Note{Fact: "the token is " + secret, Redact: true}); !again.Existed {
		t.Error("the same fact masked again is another")
	}
}

func TestNoteInAFolderThatLeadsOut(t *testing.T) {
	dir := t.TempDir()
	kxmtest.WriteFiles(t, dir, map[string]string{"out/x": "", ".kxm/y": ""})
	link(t, dir, "../out", ".kxm/memory")
	if _, err := WriteNote(openRoot(t, filepath.Join(dir, ".kxm")), Note{Fact: "a", Now: kxmtest.Now()}); err == nil {
		t.Error("wrote through a link out of .kxm")
	}
	if list, _ := os.ReadDir(filepath.Join(dir, "out")); len(list) != 1 {
		t.Errorf("wrote %v", list)
	}
}

func TestByAge(t *testing.T) {
	files := fstest.MapFS{}
	for id, at := range map[string]string{"new": "2026-09-01", "old": "2026-01-01T00:00:00Z", "same": "2026-09-01T00:00:00Z", "zone": "2026-01-01T01:00:00+02:00", "none": "", "bad": "soon"} {
		provenance := "{sourceType: peer}"
		if at != "" {
			provenance = "{sourceType: peer, timestamp: " + at + "}"
		}
		files["memory/candidates/"+id+".md"] = &fstest.MapFile{Data: []byte(memoryFile(id, map[string]string{"provenance": provenance}))}
	}
	s, err := LoadCandidates(files)
	if err != nil {
		t.Fatal(err)
	}
	if got := ids(s.ByAge()); got != "bad none zone old new same" {
		t.Errorf("got %s", got)
	}
}

func TestFindPrefix(t *testing.T) {
	files := fstest.MapFS{}
	for _, id := range []string{"cand_project_aa1", "cand_project_aa2", "cand_project_ab", "cand_project_ab1"} {
		files["memory/candidates/"+id+".md"] = &fstest.MapFile{Data: []byte(memoryFile(id, nil))}
	}
	s, err := LoadCandidates(files)
	if err != nil {
		t.Fatal(err)
	}
	for given, want := range map[string]string{"cand_project_aa1": "cand_project_aa1", "cand_project_ab": "cand_project_ab", "cand_project_ab1": "cand_project_ab1"} {
		if r, err := s.FindPrefix(given); err != nil || r.ID != want {
			t.Errorf("%s: %v, %v", given, r, err)
		}
	}
	for given, want := range map[string]fault.Code{"cand_project_a": fault.CandidateAmbiguous, "cand_x": fault.MemoryNotFound, "": fault.MemoryNotFound} {
		if _, err := s.FindPrefix(given); !fault.Is(err, want) {
			t.Errorf("%q: %v, want %s", given, err, want)
		}
	}
	if r, err := s.FindPrefix("cand_project_aa2"); err != nil || r.ID != "cand_project_aa2" {
		t.Error(fmt.Sprint(r, err))
	}
}
