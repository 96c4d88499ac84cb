package steel

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// chain makes a tree in which each node holds the next one, and what each returns for
// its number besides: the rest of a node, and the ids of more children.
func chain(t testing.TB, n int, each func(i int) (fields, kids string)) *Tree {
	t.Helper()
	var b strings.Builder
	b.WriteString(`{"nodes":[{"nodeId":"r","childIds":["0","text"]},{"nodeId":"text","role":{"value":"StaticText"},"name":{"value":"a"}}`)
	for i := range n {
		fields, kids := each(i)
		fmt.Fprintf(&b, `,{"nodeId":"%d","backendDOMNodeId":%d,"childIds":["%d"%s]%s}`, i, i+1, i+1, kids, fields)
		fmt.Fprintf(&b, `,{"nodeId":"t%d","role":{"value":"StaticText"},"name":{"value":"a"}}`, i)
	}
	b.WriteString("]}")
	tr := &Tree{}
	if err := json.Unmarshal([]byte(b.String()), tr); err != nil {
		t.Fatal(err)
	}
	return tr
}

// TestHostileShapesEndSoon builds trees on which a careless rule takes time that grows
// with the square of their size: hours in place of a second.
func TestHostileShapesEndSoon(t *testing.T) {
	const size, limit = 50_000, 20 * time.Second
	role := func(role, more string) string {
		return fmt.Sprintf(`,"role":{"value":%q},"name":{"value":"a b"}%s`, role, more)
	}
	long := strings.Repeat(" ", 100_000) + "a"
	for what, each := range map[string]func(i int) (string, string){
		"cells":          func(i int) (string, string) { return role("cell", ""), fmt.Sprintf(`,"t%d"`, i) },
		"rows":           func(i int) (string, string) { return role([]string{"row", "generic", "code"}[i%3], ""), "" },
		"nameless parts": func(i int) (string, string) { return `,"role":{"value":"code"}`, "" },
		"fields in fields": func(i int) (string, string) {
			return role("textbox", `,"value":{"value":"a"}`), fmt.Sprintf(`,"t%d"`, i)
		},
		"named by the same": func(i int) (string, string) {
			return role("LabelText", `,"properties":[{"name":"labelledby","value":{"relatedNodes":[{"backendDOMNodeId":1}]}}]`), fmt.Sprintf(`,"t%d"`, i)
		},
		"one long name": func(i int) (string, string) {
			if i > 0 {
				return `,"role":{"value":"LabelText"}`, fmt.Sprintf(`,"t%d"`, i)
			}
			return fmt.Sprintf(`,"role":{"value":"link"},"name":{"value":%q},"properties":[{"name":"labelledby","value":{"relatedNodes":[{"backendDOMNodeId":2}]}}]`, long), ""
		},
		"headings": func(i int) (string, string) {
			return role("heading", `,"properties":[{"name":"level","value":{"value":2}},{"name":"focusable","value":{"value":true}}]`), ""
		},
	} {
		t.Run(strings.ReplaceAll(what, " ", "_"), func(t *testing.T) {
			tr := chain(t, size, each)
			password := map[int64]bool{}
			for i := int64(0); i < size; i += 3 {
				password[i] = true
			}
			for _, in := range []SnapshotInput{{}, {Interactive: true}, {Find: "a"}, {MaxBytes: 100}} {
				in.Frames = []Frame{{ID: "T", LoaderID: "L", Tree: tr, Password: password}}
				start := time.Now()
				s, _ := build(t, &in)
				if took := time.Since(start); took > limit {
					t.Errorf("%s for %d lines", took, s.Lines)
				}
			}
		})
	}
}

func TestNestingCostsNoMoreThanNodes(t *testing.T) {
	const deep = 100_000
	nodes := make([]string, 0, deep)
	for i := range deep {
		nodes = append(nodes, fmt.Sprintf(`{"nodeId":"%d","ignored":false,"role":{"value":"blockquote"},"name":{"value":""},"childIds":["%d"],"backendDOMNodeId":%d}`, i, i+1, i+1))
	}
	tr := &Tree{}
	if err := json.Unmarshal([]byte(`{"nodes":[`+strings.Join(nodes, ",")+`]}`), tr); err != nil {
		t.Fatal(err)
	}
	s, _ := build(t, &SnapshotInput{Frames: []Frame{{ID: "T", Tree: tr}}})
	if s.Lines != deep-1 || len(s.Text) > deep*(maxIndent+len(" blockquote")) { // the first node is the root
		t.Errorf("%d lines, %d bytes", s.Lines, len(s.Text))
	}
	lines := strings.Split(strings.TrimSuffix(s.Text, "\n"), "\n")
	if slices.MaxFunc(lines, func(a, b string) int { return len(a) - len(b) }) != strings.Repeat(" ", maxIndent)+"blockquote" {
		t.Error("the indent goes on")
	}
}

func benchmarkSnapshot(b *testing.B, n int) {
	tr := &Tree{}
	if err := json.Unmarshal(rows(n), tr); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := BuildSnapshot(&SnapshotInput{Tab: "t1", TargetID: "T", Frames: []Frame{{ID: "T", LoaderID: "L", Tree: tr}}}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(tr.nodes)), "ns/node")
}

func BenchmarkSnapshot500Rows(b *testing.B) { benchmarkSnapshot(b, 500) }

func BenchmarkSnapshot7700Rows(b *testing.B) { benchmarkSnapshot(b, 7_700) } // 100,000 nodes
