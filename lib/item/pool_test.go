package item_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"kxm/lib/fault"
	"kxm/lib/item"
	"kxm/lib/ndjson"
)

// line is one item of a pool; unequal n make unequal ids.
func line(n int) string {
	kind := item.Kinds()[n%5]
	more := ""
	if kind == item.KindState {
		more = fmt.Sprintf(`,"status":"current","stateKey":"key.%d"`, n)
	}
	if n%7 == 0 {
		more += fmt.Sprintf(`,"evidenceRefs":["pr:%d","review:%d"]`, n, n)
	}
	summary := strings.Repeat("Releases are cut from the main branch after review. ", 2+n%4)
	return fmt.Sprintf(`{"schema":"kxm.context-item.v1","id":"ctx_%08d","kind":"%s","project":"demo","summary":"%s","provenance":{"sourceType":"git","sourceRef":"memory:file-%d.md"},"authority":"instruction","confidence":"probable","scope":"project","observedAt":"2026-09-%02dT12:00:00Z"%s}`,
		n, kind, summary, n, 1+n%30, more)
}

func lines(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(line(i))
		b.WriteByte('\n')
	}
	return b.String()
}

func TestReadPoolKeepsTheOrderOfTheStream(t *testing.T) {
	// Sizes around those of the batches that workers take, with gaps, items that
	// stand twice, and one value that is larger than everything is buffered in.
	for _, n := range []int{0, 1, 2, 255, 256, 257, 511, 512, 513, 3000} {
		var stream strings.Builder
		var wantItems, wantGaps []string
		for i := range n {
			stream.WriteString(line(i) + "\n")
			if i == n/2 {
				stream.WriteString(strings.Replace(line(n), "{", `{"unknown":"`+strings.Repeat("x", 3<<20)+`",`, 1))
				wantItems = append(wantItems, line(i), line(n))
			} else {
				wantItems = append(wantItems, line(i))
			}
			if i%50 == 3 {
				fmt.Fprintf(&stream, "{\"gap\":\"gap %d\",\"schema\":\"kxm.gap.v1\"}", i)
				wantGaps = append(wantGaps, fmt.Sprintf(`{"schema":"kxm.gap.v1","gap":"gap %d"}`, i))
			}
			if i%90 == 4 {
				stream.WriteString(strings.Replace(line(i/2), "{", "{ \"dropped\":1,", 1))
			}
		}
		for _, processors := range []int{1, 4} {
			old := runtime.GOMAXPROCS(processors)
			pool, err := item.ReadPool(strings.NewReader(stream.String()), "stdin")
			runtime.GOMAXPROCS(old)
			if err != nil {
				t.Fatalf("%d items: %v", n, err)
			}
			var items, gaps []string
			for i := range pool.Items {
				items = append(items, string(pool.Items[i].AppendJSON(nil)))
			}
			for _, g := range pool.Gaps {
				gaps = append(gaps, string(g.AppendJSON(nil)))
			}
			if strings.Join(items, "\n") != strings.Join(wantItems, "\n") || strings.Join(gaps, "\n") != strings.Join(wantGaps, "\n") {
				t.Errorf("%d items on %d processors: got %d items, %d gaps", n, processors, len(items), len(gaps))
			}
		}
	}
}

func TestReadPoolReadsListsToo(t *testing.T) {
	list := "[" + strings.ReplaceAll(strings.TrimSpace(lines(3)), "\n", ",") + "]"
	for _, in := range []string{list, `{"items":` + list + `}`, `{"unresolvedGaps":["a"],"items":` + list + `,"schema":"x"}`} {
		pool, err := item.ReadPool(strings.NewReader(in), "stdin")
		if err != nil || len(pool.Items) != 3 {
			t.Errorf("%.60s: got %d items, %v", in, len(pool.Items), err)
		}
	}
}

func TestReadPoolReportsTheFirstErrorOfTheStream(t *testing.T) {
	badKind := strings.Replace(line(900_001), `"kind":"`, `"kind":"un`, 1)
	badRef := strings.Replace(line(900_002), `"sourceRef":"`, `"sourceRef":1,"x":"`, 1)
	notJSON := `{"id":}`
	twin := strings.Replace(line(1), "demo", "other", 1)
	gap := `{"schema":"kxm.gap.v1","gap":"g"}`
	for _, c := range []struct {
		name   string
		insert map[int]string // lines that stand instead of items, from 1
		code   fault.Code
		line   int
		field  string
		hint   string
	}{
		{"one bad item", map[int]string{1500: badKind}, fault.InvalidContextField, 1500, "kind", ""},
		{"two bad items far apart", map[int]string{700: badKind, 1900: badRef}, fault.InvalidContextField, 700, "kind", ""},
		{"two bad items in one batch", map[int]string{3: badRef, 5: badKind}, fault.ProtocolError, 3, "provenance.sourceRef", ""},
		{"a bad item, then broken JSON", map[int]string{3: badKind, 5: notJSON}, fault.InvalidContextField, 3, "kind", ""},
		{"broken JSON, then a bad item", map[int]string{3: notJSON, 5: badKind}, fault.InvalidJSON, 3, "", ""},
		{"twins", map[int]string{1000: twin}, fault.InvalidContextItem, 1000, "id", "the first is on line 2"},
		{"twins, then a bad item", map[int]string{1000: twin, 1001: badKind}, fault.InvalidContextItem, 1000, "id", "the first is on line 2"},
		{"a bad item, then twins", map[int]string{999: badKind, 1000: twin}, fault.InvalidContextField, 999, "kind", ""},
		{"twins, then broken JSON", map[int]string{1000: twin, 1200: notJSON}, fault.InvalidContextItem, 1000, "id", "the first is on line 2"},
		{"twins behind a gap", map[int]string{1: gap, 1000: twin}, fault.InvalidContextItem, 1000, "id", "the first is on line 2"},
		{"another schema", map[int]string{9: `{"schema":"kxm.memory.v1","id":"a"}`}, fault.InvalidContextItem, 9, "schema", ""},
		{"no object", map[int]string{9: `"text"`}, fault.InvalidContextItem, 9, "", ""},
		{"a control-plane field", map[int]string{9: strings.Replace(line(8), "{", `{"TOKEN":null,`, 1)}, fault.ContextAuthorityViolation, 9, "TOKEN", ""},
		{"a gap without a text", map[int]string{9: `{"schema":"kxm.gap.v1"}`}, fault.ProtocolError, 9, "gap", ""},
		{"a gap with an empty text", map[int]string{9: `{"schema":"kxm.gap.v1","gap":" "}`}, fault.ProtocolError, 9, "gap", ""},
		{"a gap with a long text", map[int]string{9: `{"schema":"kxm.gap.v1","gap":"` + strings.Repeat("é", 513) + `"}`}, fault.ProtocolError, 9, "gap", ""},
		{"a gap with a detail that is no text", map[int]string{9: `{"schema":"kxm.gap.v1","gap":"g","detail":{}}`}, fault.ProtocolError, 9, "detail", ""},
	} {
		var stream strings.Builder
		for i := range 2000 {
			text, ok := c.insert[i+1]
			if !ok {
				text = line(i)
			}
			stream.WriteString(text + "\n")
		}
		for _, processors := range []int{1, 2, 8} {
			old := runtime.GOMAXPROCS(processors)
			pool, err := item.ReadPool(strings.NewReader(stream.String()), "stdin")
			runtime.GOMAXPROCS(old)
			e, ok := err.(*fault.Error)
			if !ok || e.Code != c.code || e.Source != "stdin" || e.Line != c.line || e.Field != c.field || c.hint != "" && e.Hint != c.hint {
				t.Errorf("%s, %d processors: got %#v", c.name, processors, err)
			}
			if pool.Items != nil || pool.Gaps != nil {
				t.Errorf("%s: half a pool was returned", c.name)
			}
		}
	}
}

func TestALongGapTextOf512CharactersIsAccepted(t *testing.T) {
	text := strings.Repeat("é", 512)
	pool, err := item.ReadPool(strings.NewReader(`{"schema":"kxm.gap.v1","gap":"`+text+`","detail":null,"token":1}`), "stdin")
	if err != nil || len(pool.Gaps) != 1 || pool.Gaps[0] != (item.Gap{Gap: text}) {
		t.Errorf("got %+v, %v", pool, err)
	}
}

func TestReadPoolReportsAFailedRead(t *testing.T) {
	broken := errors.New("broken pipe")
	_, err := item.ReadPool(io.MultiReader(strings.NewReader(lines(3)), iotest.ErrReader(broken)), "stdin")
	if !fault.Is(err, fault.IOFailed) || !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

func TestAPoolTakesAboutTwiceItsInput(t *testing.T) {
	stream := []byte(lines(20_000))
	var before, after, live runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	pool, err := item.ReadPool(bytes.NewReader(stream), "stdin")
	if err != nil || len(pool.Items) != 20_000 {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	runtime.GC()
	runtime.ReadMemStats(&live)
	allocated := float64(after.TotalAlloc-before.TotalAlloc) / float64(len(stream))
	kept := float64(live.HeapAlloc-before.HeapAlloc) / float64(len(stream))
	// All that is ever allocated counts, so that the figure does not depend on when
	// the garbage collector runs. The read buffer, which grows to 1 MiB, is included.
	if allocated > 2.9 || kept > 2.4 {
		t.Errorf("%.2f times the input was allocated and %.2f times kept", allocated, kept)
	}
	runtime.KeepAlive(pool)
}

func FuzzReadPool(f *testing.F) {
	f.Add([]byte(lines(3) + "{\"schema\":\"kxm.gap.v1\",\"gap\":\"g\"}\n" + line(1)))
	f.Add([]byte("[" + line(0) + "," + strings.Replace(line(0), "demo", "x", 1) + "]"))
	f.Add([]byte("[[]0"))
	f.Add([]byte(`[{"items":[]}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		pool, err := item.ReadPool(bytes.NewReader(data), "stdin")
		// One value after another, as Parse reads it, must give the same.
		var want []item.Item
		var gaps []item.Gap
		first := map[string]int{}
		for v, streamErr := range ndjson.NewDecoder(bytes.NewReader(data), "stdin").Values() {
			if streamErr != nil {
				if err == nil || err.Error() != streamErr.Error() {
					t.Fatalf("got %v, want %v", err, streamErr)
				}
				return
			}
			// In a list, since a list on its own would be a stream.
			alone, aloneErr := item.ReadPool(strings.NewReader("["+string(v.Raw)+"]"), "stdin")
			if aloneErr != nil {
				e, ok := err.(*fault.Error)
				if !ok || e.Line != v.Line || e.Message != aloneErr.(*fault.Error).Message {
					t.Fatalf("got %v, want %v on line %d", err, aloneErr, v.Line)
				}
				return
			}
			if len(alone.Gaps) == 1 {
				gaps = append(gaps, alone.Gaps[0])
				continue
			}
			it, parseErr := item.Parse(v.Raw)
			if parseErr != nil {
				t.Fatalf("ReadPool accepts %s: %v", v.Raw, parseErr)
			}
			if at, known := first[it.ID]; !known {
				first[it.ID] = len(want)
				want = append(want, it)
			} else if !item.Equal(&want[at], &it) {
				e, ok := err.(*fault.Error)
				if !ok || e.Line != v.Line || e.Field != "id" {
					t.Fatalf("got %v, want twins on line %d", err, v.Line)
				}
				return
			}
		}
		if err != nil || len(pool.Items) != len(want) || !slices.Equal(pool.Gaps, gaps) {
			t.Fatalf("got %d items, %v; want %d", len(pool.Items), err, len(want))
		}
		for i := range want {
			if !item.Equal(&pool.Items[i], &want[i]) {
				t.Fatalf("item %d: got %+v, want %+v", i, pool.Items[i], want[i])
			}
		}
	})
}

func BenchmarkReadPool(b *testing.B) {
	for _, n := range []int{100, 1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			stream := []byte(lines(n))
			b.SetBytes(int64(len(stream)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := item.ReadPool(bytes.NewReader(stream), "stdin"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
