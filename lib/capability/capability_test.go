package capability_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"kxm/lib/capability"
	"kxm/lib/fault"
)

const published = `{"schema":"kxm.capability-set.v1","version":1,"tools":["bash","read"],"connectors":["mail"],"contributions":["builtin:todo","package:review-kit/skill/pdf"]}`

func TestParseAndWriteAreAFixedPoint(t *testing.T) {
	set, err := capability.Parse([]byte(published))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(set.AppendJSON(nil)); got != published {
		t.Errorf("got  %s\nwant %s", got, published)
	}
	if raw, err := json.Marshal(set); err != nil || string(raw) != published {
		t.Errorf("marshalled %s, %v", raw, err)
	}
	// Of the keys in RFC 8785's order, as anyone can compute it:
	// printf '%s' '{"connectors":["mail"],…,"version":1}' | sha256sum
	if got := set.Digest(); got != "sha256:e980332bc2cc7c3c877b72f1f93cd8bf771d0e1fb827aa8b885addd32ef3bb57" {
		t.Errorf("digest %s", got)
	}
}

func TestOrderAndRepeatsMeanNothing(t *testing.T) {
	want, err := capability.Parse([]byte(published))
	if err != nil {
		t.Fatal(err)
	}
	for _, raw := range []string{
		` {"contributions":["package:review-kit/skill/pdf","builtin:todo"],"connectors":["mail","mail"],"tools":["read","bash","read"],"version":1,"schema":"kxm.capability-set.v1"} `,
		`{"schema":"kxm.capability-set.v1","version":1,"tools":["re\u0061d","bash"],"connectors":["mail"],"contributions":["builtin:todo","package:review-kit\/skill\/pdf"]}`,
	} {
		got, err := capability.Parse([]byte(raw))
		if err != nil || !capability.Equal(got, want) || got.Digest() != want.Digest() {
			t.Errorf("%s: %+v, %v", raw, got, err)
		}
	}
}

func TestEmptySetsAreLists(t *testing.T) {
	const empty = `{"schema":"kxm.capability-set.v1","version":1,"tools":[],"connectors":[],"contributions":[]}`
	set, err := capability.New(nil, nil, nil)
	if err != nil || string(set.AppendJSON(nil)) != empty || string(capability.Set{}.AppendJSON(nil)) != empty {
		t.Errorf("got %s and %s, %v", set.AppendJSON(nil), capability.Set{}.AppendJSON(nil), err)
	}
	if parsed, err := capability.Parse([]byte(empty)); err != nil || !capability.Equal(parsed, set) || parsed.Allows("read") || parsed.Allows("") {
		t.Errorf("%+v, %v", parsed, err)
	}
}

func TestParseRefuses(t *testing.T) {
	with := func(field, value string) string {
		fields := []string{"schema", `"kxm.capability-set.v1"`, "version", "1", "tools", "[]", "connectors", "[]", "contributions", "[]"}
		if i := slices.Index(fields, field); i >= 0 {
			fields[i+1] = value
		} else {
			fields = append(fields, field, value)
		}
		var b strings.Builder
		for i := 0; i < len(fields); i += 2 {
			if fields[i+1] != "" {
				fmt.Fprintf(&b, `,"%s":%s`, fields[i], fields[i+1])
			}
		}
		return "{" + b.String()[1:] + "}"
	}
	if _, err := capability.Parse([]byte(with("tools", `["a"]`))); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ raw, field string }{
		{`[]`, ""},
		{`null`, ""},
		{`"` + capability.Schema + `"`, ""},
		{with("schema", ""), "schema"},
		{with("schema", "null"), "schema"},
		{with("schema", `"kxm.capability-set.v2"`), "schema"},
		{with("version", ""), "version"},
		{with("version", "2"), "version"},
		{with("version", "1.0"), "version"},
		{with("version", `"1"`), "version"},
		{with("version", "null"), "version"},
		{with("tools", ""), "tools"},
		{with("connectors", ""), "connectors"},
		{with("contributions", ""), "contributions"},
		{with("tools", "null"), "tools"},
		{with("tools", `"read"`), "tools"},
		{with("tools", `{"read":true}`), "tools"},
		{with("tools", `["read",1]`), "tools[1]"},
		{with("tools", `["read",null]`), "tools[1]"},
		{with("tools", `["*"]`), "tools[0]"},
		{with("tools", `["read","mail_*"]`), "tools[1]"},
		{with("connectors", `["*"]`), "connectors[0]"},
		{with("contributions", `["package:*"]`), "contributions[0]"},
		{with("tools", `[""]`), "tools[0]"},
		{with("tools", `["a b"]`), "tools[0]"},
		{with("tools", "[\"a`b\"]"), "tools[0]"},
		{with("tools", `["a\u0000"]`), "tools[0]"},
		{with("tools", `["a\u202eb"]`), "tools[0]"},
		{with("connectors", `[" "]`), "connectors[0]"},
		{with("connectors", `["a\nb"]`), "connectors[0]"},
		{with("contributions", `["`+strings.Repeat("é", capability.MaxName+1)+`"]`), "contributions[0]"},
		{with("deny", `[]`), "deny"},
		{with("Tools", `[]`), "Tools"},
		{with("category", `"x"`), "category"},
	} {
		_, err := capability.Parse([]byte(c.raw))
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != fault.CapabilityInvalid || f.Field != c.field || f.Code.Exit() != fault.ExitBadInput {
			t.Errorf("%s: %v, want capability_invalid of %q", c.raw, err, c.field)
		}
	}
	for _, raw := range []string{``, `{`, published + `{}`, `{"schema":1,"schema":1}`, "{\"tools\":[\"\xff\"]}"} {
		if _, err := capability.Parse([]byte(raw)); !fault.Is(err, fault.InvalidJSON) {
			t.Errorf("%q: %v, want invalid_json", raw, err)
		}
	}
	if _, err := capability.Parse([]byte(with("contributions", `["`+strings.Repeat("é", capability.MaxName)+`"]`))); err != nil {
		t.Errorf("the longest name: %v", err)
	}
}

func TestNewLeavesItsArguments(t *testing.T) {
	tools := []string{"write", "read", "read"}
	set, err := capability.New(tools, nil, nil)
	if err != nil || !slices.Equal(tools, []string{"write", "read", "read"}) || !slices.Equal(set.Tools, []string{"read", "write"}) {
		t.Errorf("%v became %v, %v", tools, set.Tools, err)
	}
	if _, err := capability.New(nil, []string{"mail", "*"}, nil); !fault.Is(err, fault.CapabilityInvalid) {
		t.Errorf("a pattern: %v", err)
	}
}

// randomSet draws from few names, so that two sets share some.
func randomSet(t *testing.T, r *rand.Rand) capability.Set {
	t.Helper()
	list := func() (names []string) {
		for range r.IntN(8) {
			names = append(names, fmt.Sprintf("n%d", r.IntN(10)))
		}
		return names
	}
	set, err := capability.New(list(), list(), list())
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// INV-CAP-1: a set only narrows.
func TestIntersectIsAMeet(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		a, b, c := randomSet(t, r), randomSet(t, r), randomSet(t, r)
		both := capability.Intersect(a, b)
		if string(both.AppendJSON(nil)) != string(capability.Intersect(b, a).AppendJSON(nil)) {
			t.Fatalf("not commutative: %+v, %+v", a, b)
		}
		if !capability.Equal(capability.Intersect(both, c), capability.Intersect(a, capability.Intersect(b, c))) {
			t.Fatalf("not associative: %+v, %+v, %+v", a, b, c)
		}
		if !capability.Equal(capability.Intersect(a, a), a) || !capability.Equal(capability.Intersect(both, a), both) {
			t.Fatalf("not idempotent: %+v, %+v", a, b)
		}
		for i, list := range [][]string{both.Tools, both.Connectors, both.Contributions} {
			in := [][]string{a.Tools, a.Connectors, a.Contributions}[i]
			other := [][]string{b.Tools, b.Connectors, b.Contributions}[i]
			for _, name := range in {
				if slices.Contains(list, name) != slices.Contains(other, name) {
					t.Fatalf("%s: %+v and %+v give %+v", name, a, b, both)
				}
			}
			for _, name := range list {
				if !slices.Contains(in, name) {
					t.Fatalf("%s was added to %+v", name, a)
				}
			}
		}
		for _, tool := range a.Tools {
			if both.Allows(tool) != slices.Contains(b.Tools, tool) {
				t.Fatalf("%s: %+v and %+v give %+v", tool, a, b, both)
			}
		}
	}
}

// INV-CAP-2: what is written has exactly the five keys, and reading it gives it back.
func TestASetHasFiveKeys(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 1_000 {
		set := randomSet(t, r)
		var keys map[string]json.RawMessage
		if err := json.Unmarshal(set.AppendJSON(nil), &keys); err != nil || len(keys) != 5 {
			t.Fatalf("%+v: %v, %v", set, keys, err)
		}
		back, err := capability.Parse(set.AppendJSON(nil))
		if err != nil || !capability.Equal(back, set) {
			t.Fatalf("%+v came back as %+v, %v", set, back, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(published))
	f.Add([]byte(`{"schema":"kxm.capability-set.v1","version":1,"tools":["b","a","\ud83d\ude00"],"connectors":[],"contributions":[]}`))
	f.Add([]byte(`{"tools":["*"]}`))
	f.Add([]byte(`{"version":1,"version":1}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		set, err := capability.Parse(raw)
		if err != nil {
			if code := fault.CodeOf(err); code != fault.CapabilityInvalid && code != fault.InvalidJSON {
				t.Fatalf("%q: %v", raw, err)
			}
			return
		}
		form := set.AppendJSON(nil)
		back, err := capability.Parse(form)
		if err != nil || string(back.AppendJSON(nil)) != string(form) {
			t.Fatalf("%q: %s came back as %s, %v", raw, form, back.AppendJSON(nil), err)
		}
		for _, list := range [][]string{set.Tools, set.Connectors, set.Contributions} {
			for i, name := range list {
				if i > 0 && list[i-1] >= name || strings.Contains(name, "*") {
					t.Fatalf("%q: %q", raw, list)
				}
			}
		}
	})
}

func largeSet(n, step int) []byte {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("package:kit-%05d/skill/read", i*step))
	}
	set, err := capability.New(nil, nil, names)
	if err != nil {
		panic(err)
	}
	return set.AppendJSON(nil)
}

// BenchmarkIntersect reads two sets of 10,000 entries and intersects them;
// BenchmarkDecode is what it is measured against.
func BenchmarkIntersect(b *testing.B) {
	x, y := largeSet(10_000, 2), largeSet(10_000, 3)
	b.ReportAllocs()
	for b.Loop() {
		one, err := capability.Parse(x)
		if err != nil {
			b.Fatal(err)
		}
		two, err := capability.Parse(y)
		if err != nil {
			b.Fatal(err)
		}
		capability.Intersect(one, two)
	}
}

func BenchmarkDecode(b *testing.B) {
	x, y := largeSet(10_000, 2), largeSet(10_000, 3)
	b.ReportAllocs()
	for b.Loop() {
		for _, raw := range [][]byte{x, y} {
			var set struct {
				Schema                           string
				Version                          int
				Tools, Connectors, Contributions []string
			}
			if err := json.Unmarshal(raw, &set); err != nil {
				b.Fatal(err)
			}
		}
	}
}
