package memory

import (
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kxm/lib/fault"
	"kxm/lib/item"
	"kxm/lib/kxmtest"
)

// memoryFile returns a valid memory file with some keys replaced, added or, for an
// empty value, left out; the key "body" is what follows the front matter.
func memoryFile(id string, changes map[string]string) string {
	order := []string{"schema", "id", "scope", "kind", "summary", "provenance", "authority", "confidence", "lifecycle", "evidenceRefs"}
	values := map[string]string{
		"schema": Schema, "id": id, "scope": "project", "kind": "convention", "summary": "Fact " + id,
		"provenance": "{sourceType: git, sourceRef: docs/testing.md}", "authority": "instruction",
		"confidence": "verified", "lifecycle": "active", "evidenceRefs": "[]",
	}
	body := changes["body"]
	changes = maps.Clone(changes)
	delete(changes, "body")
	var extra []string
	for key, value := range changes {
		if _, ok := values[key]; !ok {
			extra = append(extra, key)
		}
		values[key] = value
	}
	var b strings.Builder
	b.WriteString("---\n")
	slices.Sort(extra)
	for _, key := range append(order, extra...) {
		if values[key] != "" {
			b.WriteString(key + ": " + values[key] + "\n")
		}
	}
	b.WriteString("---\n" + body)
	return b.String()
}

func mustParse(t testing.TB, file, text string) *Record {
	t.Helper()
	r, err := ParseRecord(file, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestMemoryFileCases holds every published case: the record, its item, or why
// the file is refused.
func TestMemoryFileCases(t *testing.T) {
	type memoryCase struct {
		Name, File, Text string
		Want, WantItem   json.RawMessage
		WantErrorLike    string
	}
	kxmtest.Cases(t, "memory-files", func(t *testing.T, line int, c memoryCase) {
		t.Run(c.Name, func(t *testing.T) {
			r, err := ParseRecord(c.File, []byte(c.Text))
			if c.WantErrorLike != "" {
				if err == nil {
					t.Fatal("accepted")
				}
				checkCaseError(t, c.Text, c.WantErrorLike, err)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			sameJSON(t, "record", r, c.Want)
			it, err := r.Item("demo", "", "")
			if err != nil {
				t.Fatal(err)
			}
			var want map[string]any
			if err := json.Unmarshal(c.WantItem, &want); err != nil {
				t.Fatal(err)
			}
			want["schema"] = item.Schema
			want["memoryKind"] = r.Kind // the cases were written before items had it
			raw, err := json.Marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			sameJSON(t, "item", it, raw)
		})
	})
}

// checkCaseError compares a refusal with a case. Cases that quote the YAML library
// of another program say "at line N", counted behind the fence: there only the
// line counts.
func checkCaseError(t *testing.T, text, want string, err error) {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) {
		t.Fatalf("%v is no *fault.Error", err)
	}
	if _, at, ok := strings.Cut(want, " at line "); ok {
		number, _, _ := strings.Cut(at, ",")
		if got := strings.TrimSpace(number); got != strconv.Itoa(f.Line-1) {
			t.Errorf("line %d of the file, want %s behind the fence: %v", f.Line, got, err)
		}
		return
	}
	if !strings.Contains(f.Message, want) {
		t.Errorf("message %q, want %q in it", f.Message, want)
	}
	if f.Source == "" || f.Line == 0 {
		t.Errorf("%v has no place", err)
	}
}

func sameJSON(t *testing.T, what string, got any, want []byte) {
	t.Helper()
	raw, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var g, w any
	if err := json.Unmarshal(raw, &g); err != nil {
		t.Fatalf("%s is no JSON: %v\n%s", what, err, raw)
	}
	if err := json.Unmarshal(want, &w); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(g, w) {
		t.Errorf("%s is %s, want %s", what, raw, want)
	}
}

// secret is a token of the form that GitHub issues; nobody issued it.
const secret = "ghp_" + "0123456789abcdefABCDEF0123456789abcd"

// TestRefusals holds what a memory file may not be, with the place and the field
// that the refusal names.
func TestRefusals(t *testing.T) {
	at := func(changes ...string) string {
		m := map[string]string{}
		for i := 0; i < len(changes); i += 2 {
			m[changes[i]] = changes[i+1]
		}
		return memoryFile("x", m)
	}
	for _, c := range []struct {
		name, text, message, field string
		code                       fault.Code
		line                       int
	}{
		{"missing id", at("id", ""), "is missing id", "id", fault.InvalidMemoryFile, 1},
		{"null id", at("id", "null"), "is missing id", "id", fault.InvalidMemoryFile, 3},
		{"id that is a list", at("id", "[a]"), "has invalid id", "id", fault.InvalidMemoryFile, 3},
		{"blank summary", at("summary", `"  "`), "is missing summary", "summary", fault.InvalidMemoryFile, 6},
		{"number for a summary", at("summary", "42"), "42 is not a text", "summary", fault.InvalidMemoryFile, 6},
		{"boolean for a kind", at("kind", "true"), "true is not a text", "kind", fault.InvalidMemoryFile, 5},
		{"unknown confidence", at("confidence", "sure"), "has invalid confidence: sure (must be one of verified, probable, uncertain)", "confidence", fault.InvalidMemoryFile, 9},
		{"missing lifecycle", at("lifecycle", ""), "is missing lifecycle", "lifecycle", fault.InvalidMemoryFile, 1},
		{"missing schema", at("schema", ""), "expected kxm.memory.v1, got none", "schema", fault.InvalidMemoryFile, 1},
		{"evidence that is a text", at("evidenceRefs", "pr:12"), "evidenceRefs: must be a list", "evidenceRefs", fault.InvalidMemoryFile, 11},
		{"evidence that holds a number", at("evidenceRefs", "[12]"), "12 is not a text", "evidenceRefs", fault.InvalidMemoryFile, 11},
		{"provenance that is a text", at("provenance", "git"), "provenance: must be a mapping", "provenance", fault.InvalidMemoryFile, 7},
		{"source type that is a list", at("provenance", "{sourceType: [git]}"), "provenance.sourceType: must be a text", "provenance.sourceType", fault.InvalidMemoryFile, 7},
		{"review date that is none", at("reviewBy", "soon"), "soon is neither a date", "reviewBy", fault.InvalidMemoryFile, 12},
		{"control-plane field in provenance", at("provenance", "{sourceType: git, Token: x}"), "may not carry control-plane field 'Token'", "provenance.Token", fault.ContextAuthorityViolation, 7},
		{"control-plane field below an unknown key", at("extra", "[{a: {PERMISSIONS: all}}]"), "may not carry control-plane field 'PERMISSIONS'", "extra.a.PERMISSIONS", fault.ContextAuthorityViolation, 12},
		{"anchor", at("kind", "&a convention"), "invalid YAML frontmatter in x.md", "", fault.InvalidMemoryFile, 5},
		{"TOML that does not parse", "+++\nid = \n+++\n", "invalid TOML frontmatter in x.md", "", fault.InvalidMemoryFile, 2},
		{"space behind the fence", "--- \nid: x\n---\n", noFrontMatter, "", fault.InvalidMemoryFile, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ParseRecord("x.md", []byte(c.text))
			var f *fault.Error
			if !errors.As(err, &f) {
				t.Fatalf("got %v", err)
			}
			if f.Code != c.code || !strings.Contains(f.Message, c.message) || f.Field != c.field || f.Source != "x.md" || f.Line != c.line {
				t.Errorf("got %v, field %q, line %d", err, f.Field, f.Line)
			}
		})
	}
}

// TestControlPlaneWordsInTextsAreFine holds that only keys grant.
func TestControlPlaneWordsInTextsAreFine(t *testing.T) {
	mustParse(t, "x.md", memoryFile("x", map[string]string{"summary": "The policy is to rotate every token", "tags": "[token, policy]", "kind": "policy"}))
}

// TestRefusalsKeepSecrets holds that a refused value is repeated without secrets,
// wherever it stands.
func TestRefusalsKeepSecrets(t *testing.T) {
	for _, text := range []string{
		memoryFile(secret+".", nil),
		memoryFile("x", map[string]string{"scope": secret}),
		memoryFile("x", map[string]string{"authority": secret}),
		memoryFile("x", map[string]string{"schema": secret}),
		memoryFile("x", map[string]string{"reviewBy": secret}),
		memoryFile("x", map[string]string{"extra": secret + ": " + secret}),
	} {
		for _, file := range []string{"x.md", secret + ".md"} {
			_, err := ParseRecord(file, []byte(text))
			var f *fault.Error
			if !errors.As(err, &f) {
				t.Fatalf("accepted:\n%s", text)
			}
			if all := f.Error() + f.Hint + f.Field + place(err); strings.Contains(all, secret) {
				t.Errorf("the secret is in %q", all)
			}
		}
	}
}

func TestTOMLFrontMatter(t *testing.T) {
	r := mustParse(t, "x.md", `+++
schema = "kxm.memory.v1"
id = "x"
scope = "operator"
kind = "convention"
summary = "Written in TOML"
authority = "evidence"
confidence = "probable"
lifecycle = "active"
evidenceRefs = ["pr:1"]
reviewBy = 2027-01-31
[provenance]
sourceType = "human"
+++
Body.
`)
	if r.Summary != "Written in TOML" || r.ReviewBy != "2027-01-31" || r.Origin() != item.OriginHuman || r.Body != "Body." {
		t.Errorf("got %+v", r)
	}
	if got := r.Line("provenance.sourceType"); got != 13 {
		t.Errorf("sourceType is on line %d, want 13", got)
	}
}

// TestOptionalFields holds the fields that are ours, their order in JSON, and that
// unknown keys are named with their lines.
func TestOptionalFields(t *testing.T) {
	r := mustParse(t, "x.md", memoryFile("x", map[string]string{
		"reviewBy": "2027-01-31", "supersedes": "[a, b]", "appliesTo": "['lib/**']", "tags": "[one]",
		"lifecycleReason": "because", "reviewed": "2026-01-01", "body": "\nText <b>\n",
		"provenance": "{sourceType: agent, runId: run_1, timestamp: 2026-09-01T00:00:00Z, commit: abc}",
	}))
	want := `{"schema":"kxm.memory.v1","id":"x","scope":"project","kind":"convention","summary":"Fact x",` +
		`"provenance":{"sourceType":"agent","timestamp":"2026-09-01T00:00:00Z","runId":"run_1"},` +
		`"authority":"instruction","confidence":"verified","lifecycle":"active","evidenceRefs":[],` +
		`"reviewBy":"2027-01-31","supersedes":["a","b"],"appliesTo":["lib/**"],"tags":["one"],"lifecycleReason":"because","body":"Text <b>"}`
	if got := string(r.AppendJSON(nil)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if len(r.Unknown) != 1 || r.Unknown[0] != (UnknownKey{"reviewed", 15}) {
		t.Errorf("unknown keys %v", r.Unknown)
	}
	if r.Origin() != item.OriginGit {
		t.Errorf("origin %s: one that is not of the seven is git", r.Origin())
	}
}

// TestItem holds how a record becomes an item beyond the published cases.
func TestItem(t *testing.T) {
	record := func(changes map[string]string) *Record { return mustParse(t, "x.md", memoryFile("x", changes)) }

	it, err := record(map[string]string{"scope": "operator", "provenance": "", "supersedes": "[old]"}).Item("demo", "api/.kxm", strings.Repeat("a", 40))
	if err != nil {
		t.Fatal(err)
	}
	if it.Project != item.SharedProject || it.Provenance.SourceRef != "memory:x.md" || it.Provenance.Path != "api/.kxm/memory/x.md" ||
		it.Provenance.Blob != strings.Repeat("a", 40) || it.Provenance.SourceType != item.OriginGit || !slices.Equal(it.Supersedes, []string{"mem_old"}) {
		t.Errorf("got %+v", it)
	}

	it, err = record(map[string]string{"summary": "Token " + secret, "evidenceRefs": "[\"" + secret + "\"]"}).Item("demo", "", "")
	if err != nil {
		t.Fatal(err)
	}
	if raw, _ := json.Marshal(it); strings.Contains(string(raw), secret) {
		t.Errorf("the item holds the secret: %s", raw)
	}

	// Masks: two become one in a list, and one longer than its secret is refused like
	// any text that is too long.
	it, err = record(map[string]string{"evidenceRefs": "[" + secret + ", " + secret[:39] + "e, ok]"}).Item("demo", "", "")
	if err != nil || len(it.EvidenceRefs) != 2 || it.EvidenceRefs[1] != "ok" || it.Check() != nil {
		t.Errorf("got %v, %v", it.EvidenceRefs, err)
	}
	tight := "api_key = 'a8Xk2pQz7Lm4' " // shorter than its mask
	if masked := redacted(tight); len(masked) <= len(tight) {
		t.Fatalf("%q is no longer than %q", masked, tight)
	}
	tight += strings.Repeat("a", 4000-len(tight))
	if _, err := record(map[string]string{"summary": tight}).Item("demo", "", ""); !fault.Is(err, fault.InvalidMemoryFile) {
		t.Errorf("got %v", err)
	}

	for name, c := range map[string]struct {
		changes map[string]string
		code    fault.Code
	}{
		"peer claims instruction": {map[string]string{"provenance": "{sourceType: peer}"}, fault.ContextAuthorityViolation},
		"tool claims promoted":    {map[string]string{"provenance": "{sourceType: tool}", "authority": "promoted"}, fault.ContextAuthorityViolation},
		"65 references":           {map[string]string{"evidenceRefs": "[" + refs(65) + "]"}, fault.InvalidMemoryFile},
		"a reference twice":       {map[string]string{"evidenceRefs": "[a, a]"}, fault.InvalidMemoryFile},
		"itself superseded":       {map[string]string{"supersedes": "[x]"}, fault.InvalidMemoryFile},
		"4,001 characters":        {map[string]string{"summary": strings.Repeat("é", 4001)}, fault.InvalidMemoryFile},
	} {
		if _, err := record(c.changes).Item("demo", "", ""); !fault.Is(err, c.code) {
			t.Errorf("%s: got %v, want %s", name, err, c.code)
		}
	}
	for name, changes := range map[string]map[string]string{
		"peer claims evidence": {"provenance": "{sourceType: peer}", "authority": "evidence"},
		"64 references":        {"evidenceRefs": "[" + refs(64) + "]"},
		"4,000 characters":     {"summary": strings.Repeat("é", 4000)},
	} {
		if _, err := record(changes).Item("demo", "", ""); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRedactedRecord holds that a record that is printed shows no secret, in any
// field, and that the record itself stays as it is.
func TestRedactedRecord(t *testing.T) {
	r := mustParse(t, "x.md", memoryFile("x", map[string]string{
		"summary": "a " + secret, "kind": secret, "body": secret, "lifecycleReason": secret, "evidenceRefs": "[ok, " + secret + "]", "tags": "[" + secret + "]",
		"appliesTo": "[" + secret + "]", "provenance": "{sourceType: " + secret + ", sourceRef: " + secret + ", runId: " + secret + "}"}))
	raw := string(r.Redacted().AppendJSON(nil))
	if strings.Contains(raw, secret) || strings.Count(raw, "[redacted:") != 10 || !strings.Contains(raw, `["ok",`) {
		t.Errorf("got %s", raw)
	}
	if again, err := r.MarshalJSON(); err != nil || strings.Count(string(again), secret) != 10 {
		t.Errorf("the record became %s, %v", again, err)
	}
}

func refs(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = "ref" + strconv.Itoa(i)
	}
	return strings.Join(list, ", ")
}

// TestValidID compares the written-out check with the expression that it stands
// for.
func TestValidID(t *testing.T) {
	pattern := regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*([-_][A-Za-z0-9]+)*$`)
	alphabet := []string{"a", "Z", "0", "-", "_", ".", "é", "@", "[", "`", "{", "/", "\n"}
	var try func(s string, depth int)
	try = func(s string, depth int) {
		if got, want := validID(s), pattern.MatchString(s) && len(s) <= MaxIDLength; got != want {
			t.Errorf("%q: %t, want %t", s, got, want)
		}
		if depth > 0 {
			for _, c := range alphabet {
				try(s+c, depth-1)
			}
		}
	}
	try("", 4)
	try(strings.Repeat("a", MaxIDLength-1), 2)
}

// FuzzParseRecord holds that a parser of files that anyone may write never panics,
// that what it accepts becomes an item or is refused, and that the place of a
// refusal is in the file.
func FuzzParseRecord(f *testing.F) {
	f.Add(memoryFile("x", map[string]string{"body": "text"}))
	f.Add(memoryFile("x", map[string]string{"provenance": "{sourceType: peer, timestamp: 2026-09-01}", "tags": "[a]"}))
	f.Add(memoryFile("x", map[string]string{"extra": "{Token: 1}"}))
	f.Add("+++\nschema = \"kxm.memory.v1\"\n+++\n")
	f.Add("---\n- a\n---\n")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseRecord("x.md", []byte(text))
		if err != nil {
			var e *fault.Error
			if !errors.As(err, &e) {
				t.Fatalf("%v is no *fault.Error", err)
			}
			if lines := strings.Count(text, "\n") + 1; e.Line < 1 || e.Line > lines {
				t.Errorf("line %d of %d: %v", e.Line, lines, err)
			}
			return
		}
		if !validID(r.ID) || strings.TrimSpace(r.Summary) == "" {
			t.Errorf("accepted id %q, summary %q", r.ID, r.Summary)
		}
		if raw := r.AppendJSON(nil); !json.Valid(raw) {
			t.Errorf("no JSON: %s", raw)
		}
		if it, err := r.Item("demo", ".kxm", ""); err == nil {
			if err := it.Check(); err != nil {
				t.Errorf("the item is refused: %v", err)
			}
		}
	})
}

func TestAnItemsKindIsOneSafeLine(t *testing.T) {
	for _, c := range []struct{ kind, want string }{
		{"decision", "decision"},
		{" two\n\twords ", "two  words"},
		{strings.Repeat("ä", item.MaxLabel+1), strings.Repeat("ä", item.MaxLabel)},
		{"of " + secret, "of [redacted:github-pat]"},
	} {
		if got := label(c.kind); got != c.want {
			t.Errorf("the kind %q became %q, want %q", c.kind, got, c.want)
		}
	}
}
