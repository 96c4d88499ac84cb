package item_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"kxm/lib/fault"
	"kxm/lib/item"
	"kxm/lib/kxmtest"
	"kxm/lib/ndjson"
)

func TestParseAndCheckGiveThePublishedAnswers(t *testing.T) {
	cases := 0
	kxmtest.Cases(t, "items", func(t *testing.T, line int, c struct {
		Name      string
		Item      json.RawMessage
		Want      map[string]any
		WantError *struct {
			Code    fault.Code
			Message string
		}
	}) {
		cases++
		it, err := item.Parse(c.Item)
		if c.WantError != nil {
			e, ok := err.(*fault.Error)
			// We quote the subject of a message, the published ones do not.
			if !ok || e.Code != c.WantError.Code || unquote(e.Message) != unquote(c.WantError.Message) || e.Field == "" {
				t.Errorf("%s: got %#v, want %v", c.Name, err, *c.WantError)
			}
			return
		}
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			return
		}
		if err := it.Check(); err != nil {
			t.Errorf("%s: Check: %v", c.Name, err)
		}
		var got map[string]any
		if err := json.Unmarshal(it.AppendJSON(nil), &got); err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		c.Want["schema"] = item.Schema
		if !reflect.DeepEqual(got, c.Want) {
			t.Errorf("%s: got %v, want %v", c.Name, got, c.Want)
		}
	})
	if cases != 40 {
		t.Errorf("%d cases ran", cases)
	}
}

func unquote(s string) string { return strings.ReplaceAll(s, `"`, "") }

// plain is an item with the required fields alone.
func plain() map[string]any {
	return map[string]any{
		"id": "ctx_1", "kind": "knowledge", "project": "demo", "summary": "Use pnpm",
		"provenance": map[string]any{"sourceType": "git"}, "authority": "instruction", "confidence": "verified",
	}
}

// with is plain with one field, dotted if it is provenance's, set to a JSON value.
func with(t *testing.T, field, value string) []byte {
	it := plain()
	if name, inside := strings.CutPrefix(field, "provenance."); inside {
		it["provenance"].(map[string]any)[name] = json.RawMessage(value)
	} else {
		it[field] = json.RawMessage(value)
	}
	raw, err := ndjson.Marshal(it)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func quoted(s string) string { return string(ndjson.AppendString(nil, s)) }

// numbered is a JSON list of n different texts.
func numbered(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`"r%d"`, i)
	}
	return "[" + strings.Join(list, ",") + "]"
}

func TestEachFieldKeepsItsRule(t *testing.T) {
	long := func(n int) string { return quoted(strings.Repeat("é", n)) }
	const accepted fault.Code = ""
	for _, c := range []struct {
		field, value string
		want         fault.Code
	}{
		{"schema", `"kxm.context-item.v1"`, accepted}, {"schema", `null`, accepted},
		{"schema", `"kxm.context-item.v2"`, fault.InvalidContextItem}, {"schema", `"kxm.gap.v1"`, fault.InvalidContextItem},
		{"schema", `""`, fault.InvalidContextItem}, {"schema", `1`, fault.InvalidContextItem},

		{"id", long(128), accepted}, {"id", quoted(" " + strings.Repeat("x", 128) + "\u00a0\n"), accepted},
		{"id", long(129), fault.ProtocolError}, {"id", `""`, fault.ProtocolError}, {"id", `" \t"`, fault.ProtocolError},
		{"id", `null`, fault.ProtocolError}, {"id", `1`, fault.ProtocolError},
		{"id", `"a\nb"`, fault.InvalidContextField}, {"id", `"a\u0000b"`, fault.InvalidContextField},
		{"id", `"a\u007fb"`, fault.InvalidContextField}, {"id", `"a\u009bb"`, fault.InvalidContextField}, {"id", `"a\u00a9b"`, accepted},

		{"kind", `"episode"`, accepted}, {"kind", `"Episode"`, fault.InvalidContextField}, {"kind", `null`, fault.InvalidContextField},
		{"kind", `1`, fault.InvalidContextField}, {"kind", `""`, fault.InvalidContextField}, {"kind", `"skil\u006c"`, accepted},

		{"project", `"_shared"`, accepted}, {"project", long(200), accepted}, {"project", long(201), fault.ProtocolError},
		{"project", `"  "`, fault.ProtocolError}, {"project", `""`, fault.ProtocolError}, {"project", `null`, fault.ProtocolError},
		{"project", `{}`, fault.ProtocolError}, {"project", `"a\tb"`, fault.InvalidContextField},

		{"summary", long(4000), accepted}, {"summary", long(4001), fault.ProtocolError}, {"summary", `"😀"`, accepted},
		{"summary", `"a\n\tb\u0001"`, accepted}, {"summary", `"\n "`, fault.ProtocolError}, {"summary", `["a"]`, fault.ProtocolError},

		{"provenance", `"git"`, fault.InvalidContextItem}, {"provenance", `[]`, fault.InvalidContextItem}, {"provenance", `null`, fault.InvalidContextItem},
		{"provenance.sourceType", `"external"`, fault.ContextAuthorityViolation}, {"provenance.sourceType", `null`, fault.InvalidContextField},
		{"provenance.sourceType", `7`, fault.InvalidContextField},
		{"provenance.sourceRef", long(512), accepted}, {"provenance.sourceRef", long(513), fault.ProtocolError},
		{"provenance.sourceRef", `""`, fault.ProtocolError}, {"provenance.sourceRef", `null`, accepted}, {"provenance.sourceRef", `false`, fault.ProtocolError},
		{"provenance.path", `".kxm/memory/a b.md"`, accepted}, {"provenance.path", `"a/..b/c.."`, accepted},
		{"provenance.path", `"/etc/passwd"`, fault.InvalidContextField}, {"provenance.path", `"a/../b"`, fault.InvalidContextField},
		{"provenance.path", `".."`, fault.InvalidContextField}, {"provenance.path", `"../a"`, fault.InvalidContextField}, {"provenance.path", `"a/.."`, fault.InvalidContextField},
		{"provenance.path", `"a\\b"`, fault.InvalidContextField}, {"provenance.path", `"a\u0000"`, fault.InvalidContextField},
		{"provenance.path", long(4096), accepted}, {"provenance.path", long(4097), fault.ProtocolError},
		{"provenance.blob", quoted(strings.Repeat("0f", 20)), accepted}, {"provenance.blob", quoted(strings.Repeat("0f", 32)), accepted},
		{"provenance.blob", quoted(strings.Repeat("0F", 20)), fault.InvalidContextField}, {"provenance.blob", `"0f0f"`, fault.InvalidContextField},
		{"provenance.blob", `""`, fault.ProtocolError},
		{"provenance.author", long(512), accepted}, {"provenance.author", long(513), fault.ProtocolError}, {"provenance.author", `" "`, fault.ProtocolError},
		{"provenance.signer", long(512), accepted}, {"provenance.signer", long(513), fault.ProtocolError}, {"provenance.signer", `1`, fault.ProtocolError},
		{"provenance.selfPromoted", `true`, accepted}, {"provenance.selfPromoted", `false`, accepted}, {"provenance.selfPromoted", `null`, accepted},
		{"provenance.selfPromoted", `"true"`, fault.InvalidContextField}, {"provenance.selfPromoted", `1`, fault.InvalidContextField},
		{"provenance.derivedFrom", numbered(64), accepted}, {"provenance.derivedFrom", numbered(65), fault.ContextLimitsExceeded},
		{"provenance.derivedFrom", `["ctx_1"]`, fault.InvalidContextItem}, {"provenance.derivedFrom", `["a"," a"]`, fault.InvalidContextField},
		{"provenance.derivedFrom", "[" + long(128) + "]", accepted}, {"provenance.derivedFrom", "[" + long(129) + "]", fault.ProtocolError},

		{"authority", `"hypothesis"`, accepted}, {"authority", `"policy"`, fault.ContextAuthorityViolation}, {"authority", `"root"`, fault.InvalidContextField},
		{"authority", `null`, fault.InvalidContextField}, {"confidence", `"uncertain"`, accepted}, {"confidence", `null`, fault.InvalidContextField},
		{"scope", `"operator"`, accepted}, {"scope", `null`, accepted}, {"scope", `""`, fault.InvalidContextField}, {"scope", `{}`, fault.InvalidContextField},

		{"observedAt", `"2026-09-01"`, accepted}, {"observedAt", `"2026-09-01T12:00:00.5+02:00"`, accepted}, {"observedAt", `null`, accepted},
		{"observedAt", `"2026-09-01T12:00:00"`, fault.InvalidContextField}, {"observedAt", `"yesterday"`, fault.InvalidContextField},
		{"observedAt", `""`, fault.ProtocolError}, {"observedAt", `1756684800`, fault.ProtocolError}, {"validFrom", `"2026-02-29"`, fault.InvalidContextField},
		{"validFrom", `"2028-02-29"`, accepted}, {"validUntil", `"1999-01-01"`, accepted}, {"validUntil", `"1999-1-1"`, fault.InvalidContextField},

		{"status", `"proposed"`, accepted}, {"status", `""`, fault.InvalidContextField},
		{"stateKey", long(200), accepted}, {"stateKey", long(201), fault.ProtocolError}, {"stateKey", `""`, fault.ProtocolError},
		{"stateKey", `"a\rb"`, fault.InvalidContextField}, {"stateKey", `3`, fault.ProtocolError},
		{"supersedes", `[]`, accepted}, {"supersedes", `[ ]`, accepted}, {"supersedes", `null`, accepted}, {"supersedes", `["a"]`, accepted},
		{"supersedes", `"a"`, fault.InvalidContextItem}, {"supersedes", `{}`, fault.InvalidContextItem}, {"supersedes", `[1]`, fault.ProtocolError},
		{"supersedes", `[null]`, fault.ProtocolError}, {"supersedes", `[" "]`, fault.ProtocolError}, {"supersedes", `["\tctx_1 "]`, fault.InvalidContextItem},
		{"supersedes", `["a","b","a"]`, fault.InvalidContextField}, {"supersedes", "[" + long(129) + "]", fault.ProtocolError},
		{"supersedes", numbered(65), fault.ContextLimitsExceeded}, {"supersedes", `["a\u001fb"]`, fault.InvalidContextField},
		{"evidenceRefs", "[" + long(1000) + "]", accepted}, {"evidenceRefs", "[" + long(1001) + "]", fault.ProtocolError},
		{"evidenceRefs", `["ctx_1"]`, fault.InvalidContextItem}, {"evidenceRefs", `["a, b"]`, accepted},

		{"journalCategory", `"skill-candidate"`, accepted}, {"journalCategory", `"diary"`, fault.InvalidContextField}, {"journalCategory", `""`, fault.InvalidContextField},
		{"runId", long(512), accepted}, {"runId", long(513), fault.ProtocolError}, {"runId", `" "`, fault.ProtocolError}, {"runId", `"a\nb"`, fault.InvalidContextField},
		{"stageId", `"build"`, accepted}, {"stageId", long(513), fault.ProtocolError}, {"stageId", `0`, fault.ProtocolError},
	} {
		raw := with(t, c.field, c.value)
		_, err := item.Parse(raw)
		if fault.CodeOf(err) != c.want || (err == nil) != (c.want == accepted) {
			t.Errorf("%s %.80s: got %v, want %q", c.field, c.value, err, c.want)
			continue
		}
		field := c.field
		if c.want == fault.ContextAuthorityViolation {
			field = "authority" // too strong a claim, whichever of the two fields is wrong
		}
		if e, ok := err.(*fault.Error); ok && e.Field != field {
			t.Errorf("%s %.80s: the error names %q", c.field, c.value, e.Field)
		}
	}
}

func TestOnlyObjectsAreItems(t *testing.T) {
	for _, raw := range []string{``, `1`, `"a"`, `[]`, `null`, `[{"id":"a"}]`} {
		if _, err := item.Parse([]byte(raw)); !fault.Is(err, fault.InvalidContextItem) {
			t.Errorf("%s: %v", raw, err)
		}
	}
	if _, err := item.Parse([]byte(`{"id":"a"`)); !fault.Is(err, fault.InvalidJSON) {
		t.Errorf("an object that does not end: %v", err)
	}
}

func TestControlPlaneFieldsAreRefusedEverywhereAndHoweverTheyAreWritten(t *testing.T) {
	for _, name := range []string{
		"permissions", "tools", "allow", "deny", "grants", "approval", "policy", "scopes", "credentials", "secrets", "token", "apiKey", "password",
		"APIKEY", "Token", "to\u212aen", "toolſ", `tok\u0065n`,
	} {
		for _, place := range []string{`%s`, `"provenance":{"sourceType":"git",%s}`, `"kind":"nonsense",%s`} {
			for _, value := range []string{`1`, `null`, `{}`} {
				field := fmt.Sprintf(`"%s":%s`, name, value)
				raw := fmt.Sprintf(`{"id":"a","project":"p","summary":"s","authority":"evidence","confidence":"verified",`+place+`}`, field)
				if !strings.Contains(raw, `"kind"`) {
					raw = raw[:len(raw)-1] + `,"kind":"skill"}`
				}
				if !strings.Contains(raw, `"provenance"`) {
					raw = raw[:len(raw)-1] + `,"provenance":{"sourceType":"git"}}`
				}
				if err := ndjson.Validate([]byte(raw)); err != nil {
					t.Fatal(err)
				}
				if _, err := item.Parse([]byte(raw)); !fault.Is(err, fault.ContextAuthorityViolation) {
					t.Errorf("%s: %v", raw, err)
				}
			}
		}
	}
	for _, name := range []string{"", "tokens", "tool", "api_key", "authority", "scope", "policy "} {
		if item.ControlPlaneField(name) {
			t.Errorf("%q is refused", name)
		}
	}
}

func TestIdsAndListsAreTrimmedAndOtherTextsAreNot(t *testing.T) {
	raw := `{"id":"\u2003 a\n","kind":"skill","project":" p ","summary":" s\n","provenance":{"sourceType":"git","sourceRef":" r ","derivedFrom":[" d "]},` +
		`"authority":"evidence","confidence":"verified","stateKey":" k ","supersedes":["b\t"],"evidenceRefs":[" e f "]}`
	it, err := item.Parse([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	want := item.Item{ID: "a", Kind: item.KindSkill, Project: " p ", Summary: " s\n",
		Provenance: item.Provenance{SourceType: item.OriginGit, SourceRef: " r ", DerivedFrom: []string{"d"}},
		Authority:  item.AuthorityEvidence, Confidence: item.ConfidenceVerified, StateKey: " k ",
		Supersedes: []string{"b"}, EvidenceRefs: []string{"e f"}}
	if !item.Equal(&it, &want) {
		t.Errorf("got %+v", it)
	}
}

// full is an item with every field.
const full = `{"schema":"kxm.context-item.v1","id":"ctx_2","kind":"state","project":"demo","summary":"a \"b\" <é>\n","provenance":{"sourceType":"human","sourceRef":"memory:x.md","derivedFrom":["ctx_0"],"path":"a/b.md","blob":"0123456789012345678901234567890123456789","author":"ada","signer":"ada@example.com","selfPromoted":true},"authority":"policy","confidence":"probable","scope":"run","observedAt":"2026-09-01T00:00:00Z","validFrom":"2026-09-01","validUntil":"2027-09-01","status":"current","stateKey":"a.b","supersedes":["ctx_1"],"evidenceRefs":["pr:12","review:pr-12"],"memoryKind":"decision","journalCategory":"state-change","runId":"run_1","stageId":"s1"}`

func TestAnItemIsWrittenInDeclarationOrder(t *testing.T) {
	it, err := item.Parse([]byte(full))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(it.AppendJSON([]byte("x"))); got != "x"+full {
		t.Errorf("got %s", got)
	}
	if got, err := ndjson.Marshal(map[string]any{"item": it}); err != nil || string(got) != `{"item":`+full+`}` {
		t.Errorf("Marshal: got %s, %v", got, err)
	}
}

func TestEqualSeesEveryField(t *testing.T) {
	it, err := item.Parse([]byte(full))
	if err != nil {
		t.Fatal(err)
	}
	// Change each field by reflection, so that a field added later is not forgotten.
	var change func(v reflect.Value, name string, other *item.Item)
	changed := 0
	change = func(v reflect.Value, name string, other *item.Item) {
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				change(v.Field(i), name+"."+v.Type().Field(i).Name, other)
			}
			return
		case reflect.String:
			old := v.String()
			v.SetString(old + "x")
			defer v.SetString(old)
		case reflect.Bool:
			old := v.Bool()
			v.SetBool(!old)
			defer v.SetBool(old)
		case reflect.Slice:
			old := v.Interface()
			v.Set(reflect.ValueOf(append([]string{"x"}, old.([]string)...)))
			defer v.Set(reflect.ValueOf(old))
		default:
			t.Fatalf("%s is of an unknown kind", name)
		}
		changed++
		if item.Equal(&it, other) || item.Equal(other, &it) {
			t.Errorf("Equal does not see %s", name)
		}
		if string(it.AppendJSON(nil)) == string(other.AppendJSON(nil)) {
			t.Errorf("AppendJSON does not write %s", name)
		}
	}
	other := it
	change(reflect.ValueOf(&other).Elem(), "Item", &other)
	if changed != 26 || !item.Equal(&it, &other) {
		t.Errorf("%d fields were changed", changed)
	}
	it.Supersedes, other.Supersedes = nil, []string{}
	if !item.Equal(&it, &other) {
		t.Error("an empty list differs from none")
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(full))
	kinds := plain()
	for _, field := range slices.Sorted(maps.Keys(kinds)) {
		delete(kinds, field)
		raw, _ := ndjson.Marshal(kinds)
		f.Add(raw)
		kinds = plain()
	}
	f.Add([]byte(` {"kind":"skill","id":" \ud83d\ude00","project":"p","Token":null}`))
	f.Add([]byte(`{"schema":"kxm.gap.v1","gap":"g"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		it, err := item.Parse(raw) // must not panic, whatever it is given
		if ndjson.Validate(raw) != nil || ndjson.Kind(raw) != '{' {
			return
		}
		again, againErr := item.Parse(turned(t, raw))
		if fmt.Sprint(err) != fmt.Sprint(againErr) || err == nil && !item.Equal(&it, &again) {
			t.Fatalf("unknown fields or the order of keys matter:\n%+v %v\n%+v %v", it, err, again, againErr)
		}
		if err != nil {
			return
		}
		if err := it.Check(); err != nil {
			t.Fatalf("Parse accepts what Check refuses: %v", err)
		}
		written := it.AppendJSON(nil)
		if err := ndjson.Validate(written); err != nil {
			t.Fatalf("%s: %v", written, err)
		}
		back, err := item.Parse(written)
		if err != nil || !item.Equal(&it, &back) {
			t.Fatalf("%s: came back as %+v, %v", written, back, err)
		}
	})
}

// turned is an object with its keys in reverse, also of its provenance, and fields
// added that nobody knows.
func turned(t *testing.T, raw []byte) []byte {
	var fields [][]byte
	err := ndjson.Fields(raw, func(key string, value []byte) error {
		if key == "provenance" && ndjson.Kind(value) == '{' {
			value = turned(t, value)
		}
		fields = append(fields, append(append(ndjson.AppendString(nil, key), ':'), value...))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(fields)
	out := []byte(`{"unknown-1":{"token":[1]},`)
	for _, f := range fields {
		out = append(append(out, f...), ',')
	}
	return append(out, `"unknown-2":null}`...)
}

func FuzzCheck(f *testing.F) {
	f.Add("ctx_1", "demo", "Use pnpm", "memory:x.md", "a.b", "2026-09-01", "pr:1", "pr:2", "knowledge", "git", "evidence", "a/b")
	f.Add(" ctx_1", "", "\xff", "", "a\nb", "x", "", "pr:2", "state", "", "policy", "../b")
	f.Fuzz(func(t *testing.T, id, project, summary, ref, key, at, evidence1, evidence2, kind, origin, authority, path string) {
		it := item.Item{ID: id, Kind: item.Kind(kind), Project: project, Summary: summary,
			Provenance: item.Provenance{SourceType: item.Origin(origin), SourceRef: ref, Path: path},
			Authority:  item.Authority(authority), Confidence: item.ConfidenceVerified, Status: item.StatusCurrent,
			StateKey: key, ObservedAt: at, EvidenceRefs: []string{evidence1, evidence2}}
		err := it.Check()
		back, parseErr := item.Parse(it.AppendJSON(nil))
		if err == nil && (parseErr != nil || !item.Equal(&it, &back)) {
			t.Fatalf("Check accepts %+v, which comes back as %+v, %v", it, back, parseErr)
		}
		// What Parse accepts and Check refuses is text that writing changes.
		if err != nil && parseErr == nil && item.Equal(&it, &back) {
			t.Fatalf("Parse accepts what Check refuses: %v", err)
		}
	})
}
