package ndjson_test

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
	"kxm/lib/ndjson"
)

// read returns all values of a stream as "line:text" and the error that ended it.
func read(r io.Reader, reuse bool) (values []string, err error) {
	d := ndjson.NewDecoder(r, "stdin")
	if reuse {
		d.Reuse()
	}
	var kept []ndjson.Value
	for {
		v, err := d.Next()
		if err != nil {
			if _, again := d.Next(); again != err {
				return nil, fmt.Errorf("the error changed from %v to %v", err, again)
			}
			if !reuse {
				// Only now, so that a value that was overwritten shows.
				for _, v := range kept {
					values = append(values, fmt.Sprintf("%d:%s", v.Line, v.Raw))
				}
			}
			if err == io.EOF {
				err = nil
			}
			return values, err
		}
		if reuse {
			values = append(values, fmt.Sprintf("%d:%s", v.Line, v.Raw))
		} else {
			kept = append(kept, v)
		}
	}
}

func TestDecoderReadsAnySequence(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []string
	}{
		{"", nil},
		{" \n\t\r\n", nil},
		{"{\"a\":1}\n{\"a\":2}\n", []string{`1:{"a":1}`, `2:{"a":2}`}},
		{"{}{}\r\n\r\n{}", []string{`1:{}`, `1:{}`, `3:{}`}},
		{"{\n\"a\":\n1}  {\n}", []string{"1:{\n\"a\":\n1}", "3:{\n}"}},
		{`1 "a"true null"b"2`, []string{`1:1`, `1:"a"`, `1:true`, `1:null`, `1:"b"`, `1:2`}},
		{"1\n2\n3", []string{`1:1`, `2:2`, `3:3`}},
		{"[]", nil},
		{"[\n]\n[1,\n[2],{\"items\":[3]}]4", []string{`3:1`, `4:[2]`, `4:{"items":[3]}`, `4:4`}},
		{`{"items":[]}`, nil},
		{`{"items":[1,2]}{"items":[3]}`, []string{`1:1`, `1:2`, `1:3`}},
		{"{\"schema\":{\"a\":[1]},\n \"items\" : [ 1 , \n2 ] , \"unresolvedGaps\":[],\"x\":\n\"y\" }\n3", []string{`2:1`, `3:2`, `5:3`}},
		{`{"\u0069tems":[7],"n":1}`, []string{`1:7`}},
		{`{"items":{"items":[1]}}`, []string{`1:{"items":{"items":[1]}}`}},
		{`{"a":{"items":[1]}}`, []string{`1:{"a":{"items":[1]}}`}},
		{`{"a":[{"items":[1]}],"Items":[1]}`, []string{`1:{"a":[{"items":[1]}],"Items":[1]}`}},
		{`{"items":null,"a":[1]}`, []string{`1:{"items":null,"a":[1]}`}},
	} {
		for name, wrap := range readers {
			for _, reuse := range []bool{false, true} {
				got, err := read(wrap(strings.NewReader(c.in)), reuse)
				if err != nil || !slices.Equal(got, c.want) {
					t.Errorf("%q by %s: got %q, %v; want %q", c.in, name, got, err, c.want)
				}
			}
		}
	}
}

// readers are ways for a stream to arrive, none of which may matter.
var readers = map[string]func(io.Reader) io.Reader{
	"wholes":          func(r io.Reader) io.Reader { return r },
	"single bytes":    iotest.OneByteReader,
	"halves":          iotest.HalfReader,
	"data with error": iotest.DataErrReader,
	"thousands":       func(r io.Reader) io.Reader { return pieces{r, 1000} },
}

// pieces reads at most n bytes at a time, and nothing on the way.
type pieces struct {
	r io.Reader
	n int
}

func (p pieces) Read(b []byte) (int, error) {
	if len(b) > p.n {
		b = b[:p.n]
	}
	return p.r.Read(b)
}

func TestDecoderSaysWhatIsWrongAndWhere(t *testing.T) {
	for _, c := range []struct {
		in      string
		values  int
		message string
		line    int
	}{
		{"{}\n{}\n{\"a\":1,\"a\":2}\n{}", 2, `the key "a" stands twice in one object`, 3},
		{"{}\n{\n\"a\":\n tru}\n", 1, `unexpected "}" in a literal`, 4},
		{"{}\n}\n", 1, `unexpected "}" where a value must stand`, 2},
		{"{}\n,{}", 1, `unexpected "," where a value must stand`, 2},
		{"{}\n{\"a\":", 1, `the input ends inside a value`, 2},
		{"{}\n{\"a\":\n\n", 1, `the input ends inside a value`, 4},
		{"truefalse", 0, `unexpected "f" in a literal`, 1},
		{"1\n-", 1, `the input ends inside a number`, 2},
		{"[1,\n2", 2, `the input ends inside a list`, 2},
		{"[1,\n", 1, `the input ends inside a list`, 2},
		{"[\n", 0, `the input ends inside a list`, 2},
		{"[1\n2]", 1, `unexpected "2" where "," or "]" must follow`, 2},
		{"[1}", 1, `unexpected "}" where "," or "]" must follow`, 1},
		{"[1,]", 1, `unexpected "]" where a value must stand`, 1},
		{"[1]]", 1, `unexpected "]" where a value must stand`, 1},
		{"[1é]", 1, `unexpected "é" where "," or "]" must follow`, 1},
		{"[1\xe2\x82]", 1, `the text is not UTF-8`, 1},
		{"{\"items\":[1]\n", 1, `the input ends inside a list`, 2},
		{"{\"items\":[1],\n", 1, `the input ends inside a value`, 2},
		{"{\"items\":[1],\n\"a\"", 1, `the input ends inside a value`, 2},
		{"{\"items\":[1],\n\"a\":", 1, `the input ends inside a value`, 2},
		{`{"items":[1],}`, 1, `unexpected "}" where a key must stand`, 1},
		{`{"items":[1]]`, 1, `unexpected "]" where "," or "}" must follow`, 1},
		{`{"items":[1],"a" 1}`, 1, `unexpected "1" where a colon must follow the key`, 1},
		{"{\"items\":[1],\n\"items\":[2]}", 1, `the key "items" stands twice in one object`, 2},
		{"{\"a\":1,\"items\":[1],\n\"\\u0061\":2}", 1, `the key "a" stands twice in one object`, 2},
		{`{"items":1,"items":[1]}`, 0, `the key "items" stands twice in one object`, 1},
		{`{"items":[1],"a":{"b":1,"b":2}}`, 1, `the key "b" stands twice in one object`, 1},
		{"\ufeff{}", 0, `a byte-order mark stands where a value must stand`, 1},
		{"{}\n\"\xff\"", 1, `the text is not UTF-8`, 2},
	} {
		for name, wrap := range readers {
			got, err := read(wrap(strings.NewReader(c.in)), false)
			e, ok := err.(*fault.Error)
			if !ok || len(got) != c.values || e.Code != fault.InvalidJSON || e.Message != c.message || e.Line != c.line || e.Source != "stdin" {
				t.Errorf("%q by %s: got %q and %v; want %d values, %q on line %d", c.in, name, got, err, c.values, c.message, c.line)
			}
		}
	}
}

func TestAFullObjectOfManyKeysMayStillBeUnrolled(t *testing.T) {
	var b strings.Builder
	b.WriteByte('{')
	for i := range 100 {
		fmt.Fprintf(&b, `"k%d":%d,`, i, i)
	}
	b.WriteString(`"items":[1,2],"k`)
	got, err := read(strings.NewReader(b.String()+`x":0}`), false)
	if err != nil || len(got) != 2 {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := read(strings.NewReader(b.String()+`50":0}`), false); !fault.Is(err, fault.InvalidJSON) {
		t.Errorf("a key that stands before and behind the list: %v", err)
	}
}

func TestValuesStayAsTheyWereAfterTheNextOnes(t *testing.T) {
	// Values of all sizes around the size of a chunk, so that many lie over its end.
	var stream bytes.Buffer
	var want []string
	for i := range 100 {
		text := fmt.Sprintf(`{"n":%d,"s":"%s"}`, i, strings.Repeat("é", i*i*i%40_000))
		want = append(want, fmt.Sprintf("%d:%s", i+1, text))
		stream.WriteString(text + "\n")
	}
	for name, wrap := range readers {
		for _, reuse := range []bool{false, true} {
			got, err := read(wrap(bytes.NewReader(stream.Bytes())), reuse)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("by %s: values changed, %v", name, err)
			}
		}
	}
}

func TestAValueCannotBeAppendedOver(t *testing.T) {
	d := ndjson.NewDecoder(strings.NewReader(`[1,2]`), "stdin")
	first, _ := d.Next()
	_ = append(first.Raw, 'x', 'x')
	if second, err := d.Next(); err != nil || string(second.Raw) != "2" {
		t.Errorf("got %q, %v", second.Raw, err)
	}
}

// text is a reader of before, n times x, and after.
func text(before string, n int64, after string) io.Reader {
	return io.MultiReader(strings.NewReader(before), io.LimitReader(endless('x'), n), strings.NewReader(after))
}

type endless byte

func (e endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(e)
	}
	return len(b), nil
}

func TestTheLimitIsOnOneValue(t *testing.T) {
	const most = ndjson.MaxValue - 2 // and two quotes
	for _, c := range []struct {
		name string
		r    io.Reader
		ok   bool
	}{
		{"just fits", text(`"`, most, `"`), true},
		{"just fits, space does not count", text("  \n \"", most, "\"  \n"), true},
		{"one too many", text(`"`, most+1, `"`), false},
		{"one too many in a list", text(`[1,"`, most+1, `"]`), false},
		{"two that fit in a list", io.MultiReader(text(`["`, most, `","`), text("", most, `"]`)), true},
		{"before items", text(`{"a":"`, most, `","items":[]}`), false},
		{"behind items", text(`{"items":[],"a":"`, most, `"}`), true},
		{"space in a value counts", text(`["`, 0, `",["`+strings.Repeat(" ", most)+`"]]`), false},
	} {
		n := 0
		var err error
		d := ndjson.NewDecoder(c.r, "stdin")
		d.Reuse()
		for _, err = range d.Values() {
			n++
		}
		if c.ok && err != nil || !c.ok && (!fault.Is(err, fault.InvalidJSON) || !strings.Contains(err.Error(), "a value is larger than 16 MiB")) {
			t.Errorf("%s: %d values, %v", c.name, n, err)
		}
	}
}

func TestALargeValueIsRefusedWithoutReadingOn(t *testing.T) {
	for _, before := range []string{`"`, `[{"a":"`, `{"items":[[["`} {
		r := &counter{r: io.MultiReader(strings.NewReader(before), endless('x'))}
		if _, err := read(r, false); !fault.Is(err, fault.InvalidJSON) {
			t.Fatal(err)
		}
		if r.n > 2*ndjson.MaxValue+2<<20 {
			t.Errorf("%d bytes were read", r.n)
		}
	}
	// Numbers and literals need no closing byte either.
	for _, digit := range []endless{'1', ' '} {
		r := &counter{r: io.MultiReader(strings.NewReader(`[[`), digit)}
		if _, err := read(r, false); !fault.Is(err, fault.InvalidJSON) {
			t.Fatal(err)
		}
		if r.n > 2*ndjson.MaxValue+2<<20 {
			t.Errorf("%d bytes were read", r.n)
		}
	}
}

type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}

func TestAListOfAnyLengthTakesOneBuffer(t *testing.T) {
	element := strings.Repeat("[\"some text\",\n1.5]\n,", 50_000) // 1 MB
	many := make([]io.Reader, 24)                                 // more than one value may have
	for i := range many {
		many[i] = strings.NewReader(element)
	}
	stream := io.MultiReader(strings.NewReader(`{"a":1,"items":[`), io.MultiReader(many...), strings.NewReader("0]}"))
	d := ndjson.NewDecoder(stream, "stdin")
	d.Reuse()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	n := 0
	for v, err := range d.Values() {
		if err != nil {
			t.Fatal(err)
		}
		n += len(v.Raw)
	}
	runtime.ReadMemStats(&after)
	if n <= ndjson.MaxValue {
		t.Errorf("%d bytes came", n)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 4<<20 {
		t.Errorf("%d bytes were allocated", used)
	}
}

func TestAValueIsReturnedBeforeMoreIsRead(t *testing.T) {
	// A producer may wait for an answer to a value that it wrote without a newline.
	for _, value := range []string{`{"a":[1]}`, `"a"`, `{}`} {
		asked := false
		d := ndjson.NewDecoder(io.MultiReader(strings.NewReader(value[:1]), strings.NewReader(value[1:]), readerFunc(func([]byte) (int, error) {
			asked = true
			return 0, io.EOF
		})), "stdin")
		if v, err := d.Next(); err != nil || string(v.Raw) != value || asked {
			t.Errorf("%s: got %q, %v; read on: %v", value, v.Raw, err, asked)
		}
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

func TestAFailedReadIsReportedAfterTheValuesBeforeIt(t *testing.T) {
	broken := errors.New("broken pipe")
	for _, c := range []struct {
		in     string
		values int
	}{
		{"", 0}, {"{}\n", 1}, {"{}{}", 2}, {"{}\n{\"a\":", 1}, {"1 2", 1}, {"[1,", 1}, {`{"items":[1],"a"`, 1},
	} {
		got, err := read(io.MultiReader(strings.NewReader(c.in), iotest.ErrReader(broken)), false)
		e, ok := err.(*fault.Error)
		if !ok || len(got) != c.values || e.Code != fault.IOFailed || e.Source != "stdin" || !errors.Is(err, broken) {
			t.Errorf("%q: got %q, %v", c.in, got, err)
		}
	}
	if _, err := read(readerFunc(func([]byte) (int, error) { return 0, nil }), false); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a reader that reads nothing: %v", err)
	}
	own := fault.New(fault.ObjectCorrupt, "bad blob")
	if _, err := read(iotest.ErrReader(own), false); !fault.Is(err, fault.ObjectCorrupt) {
		t.Errorf("the code of a reader's own error is lost: %v", err)
	}
}

func FuzzDecoder(f *testing.F) {
	for _, c := range refusals {
		f.Add([]byte(c.raw))
		f.Add([]byte("[1,\n" + c.raw))
		f.Add([]byte(`{"a":1,"items":[` + c.raw))
	}
	f.Add([]byte("{\"items\":[1,\"é\",{\"a\":[]}],\"b\":{\"c\":null}}\n[[1],2]3 true\n\"x\""))
	f.Fuzz(func(t *testing.T, data []byte) {
		want, wantErr := read(bytes.NewReader(data), false)
		for name, wrap := range readers {
			for _, reuse := range []bool{false, true} {
				got, err := read(wrap(bytes.NewReader(data)), reuse)
				if !slices.Equal(got, want) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
					t.Fatalf("by %s: got %q, %v; want %q, %v", name, got, err, want, wantErr)
				}
			}
		}
		if ndjson.Validate(data) == nil && wantErr != nil {
			t.Fatalf("one valid value: %v", wantErr)
		}

		// What was decoded is valid, and encoded as a list it decodes to itself.
		var values, again []string
		for v, err := range ndjson.NewDecoder(bytes.NewReader(data), "stdin").Values() {
			if err == nil {
				values = append(values, string(v.Raw))
				if err := ndjson.Validate(v.Raw); err != nil {
					t.Fatalf("%q: %v", v.Raw, err)
				}
			}
		}
		list := "[" + strings.Join(values, ",\n") + "]"
		for v, err := range ndjson.NewDecoder(strings.NewReader(list), "stdin").Values() {
			if err != nil {
				t.Fatalf("%q: %v", list, err)
			}
			again = append(again, string(v.Raw))
		}
		if !slices.Equal(values, again) {
			t.Fatalf("%q became %q", values, again)
		}
	})
}

func BenchmarkDecoder(b *testing.B) {
	line := `{"schema":"kxm.context-item.v1","id":"ctx_00000001","kind":"knowledge","project":"demo","summary":"` + strings.Repeat("Releases are cut from main. ", 7) + `","provenance":{"sourceType":"git","sourceRef":"memory:file-1.md"},"authority":"instruction","confidence":"verified"}` + "\n"
	stream := strings.Repeat(line, 10_000)
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		d := ndjson.NewDecoder(strings.NewReader(stream), "stdin")
		for _, err := range d.Values() {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
