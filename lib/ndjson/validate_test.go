package ndjson_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"kxm/lib/fault"
	"kxm/lib/ndjson"
)

func TestValidateAcceptsEveryFormOfJSON(t *testing.T) {
	for _, raw := range []string{
		`null`, `true`, `false`, `0`, `-0`, `12`, `-1.5`, `0.25e-10`, `1E+9`, `123456789012345678901234567890`,
		`""`, `"a"`, `"\"\\\/\b\f\n\r\t"`, `"\u00e9\uD83D\uDE00"`, `"é😀` + "\u2028\u007f" + `"`,
		`[]`, `[ ]`, `[1,"a",[],{}]`, `{}`, `{ }`, `{"a":1,"b":{"a":2},"":3}`,
		" \t\r\n{ \"a\" : [ 1 , 2 ] }\n\n",
		strings.Repeat("[", ndjson.MaxDepth) + strings.Repeat("]", ndjson.MaxDepth),
		`"` + strings.Repeat("long ", 100) + `"`,
	} {
		if err := ndjson.Validate([]byte(raw)); err != nil {
			t.Errorf("%.60s: %v", raw, err)
		}
	}
}

// refusals are texts that are no strict JSON value, with the words and the line of
// the error.
var refusals = []struct {
	raw, message string
	line         int
}{
	{``, `the text holds no JSON value`, 1},
	{" \n ", `the text holds no JSON value`, 2},
	{`{`, `the input ends inside a value`, 1},
	{"{\"a\":\n[1,\n", `the input ends inside a value`, 3},
	{`"abc`, `the input ends inside a string`, 1},
	{`"\`, `the input ends inside a string`, 1},
	{`"\u12`, `the input ends inside a string`, 1},
	{`"\ud800`, `the input ends inside a string`, 1},
	{`"\ud800\u`, `the input ends inside a string`, 1},
	{`tru`, `the input ends inside a literal`, 1},
	{`-`, `the input ends inside a number`, 1},
	{`1.`, `the input ends inside a number`, 1},
	{`1e+`, `the input ends inside a number`, 1},
	{`trux`, `unexpected "x" in a literal`, 1},
	{`nulls`, `unexpected "s" in a literal`, 1},
	{`01`, `unexpected "1" in a number`, 1},
	{`-a`, `unexpected "a" in a number`, 1},
	{`1.e`, `unexpected "e" in a number`, 1},
	{`1ee`, `unexpected "e" in a number`, 1},
	{`1.5.`, `unexpected "." in a number`, 1},
	{`1e5x`, `unexpected "x" in a number`, 1},
	{`1-2`, `unexpected "-" in a number`, 1},
	{`NaN`, `unexpected "N" where a value must stand`, 1},
	{`+1`, `unexpected "+" where a value must stand`, 1},
	{`'a'`, `unexpected "'" where a value must stand`, 1},
	{`[1,]`, `unexpected "]" where a value must stand`, 1},
	{`[,1]`, `unexpected "," where a value must stand`, 1},
	{`[1 2]`, `unexpected "2" where "," or "]" must follow`, 1},
	{`[1}`, `unexpected "}" where "," or "]" must follow`, 1},
	{`{"a":1]`, `unexpected "]" where "," or "}" must follow`, 1},
	{`{"a":1 "b":2}`, `unexpected """ where "," or "}" must follow`, 1},
	{`{"a" 1}`, `unexpected "1" where a colon must follow the key`, 1},
	{`{"a":}`, `unexpected "}" where a value must stand`, 1},
	{"{\n\"a\":1,\n}", `unexpected "}" where a key must stand`, 3},
	{`{a:1}`, `unexpected "a" where a key must stand`, 1},
	{`{1:1}`, `unexpected "1" where a key must stand`, 1},
	{`{"a":1} x`, `unexpected "x" after the value`, 1},
	{"{}\n{}", `unexpected "{" after the value`, 2},
	{`[1]]`, `unexpected "]" after the value`, 1},
	{`// a`, `unexpected "/" where a value must stand`, 1},
	{"\u00a01", `unexpected character U+00A0 where a value must stand`, 1},
	{"1\x00", `unexpected character U+0000 after the value`, 1},
	{"\ufeff{}", `a byte-order mark stands where a value must stand`, 1},
	{"{}\ufeff", `a byte-order mark stands after the value`, 1},
	{"\"a\nb\"", `a string holds the control character U+000A unescaped`, 1},
	{"[\n\"12345678\x1f\"]", `a string holds the control character U+001F unescaped`, 2},
	{"\"\x00\"", `a string holds the control character U+0000 unescaped`, 1},
	{`"\x"`, `unexpected "x" after a backslash`, 1},
	{`"\é"`, `unexpected "é" after a backslash`, 1},
	{`"\u12g4"`, `unexpected "g" where a hexadecimal digit must follow "\u"`, 1},
	{`"\ud800"`, `the escape "\ud800" is half of a surrogate pair`, 1},
	{`"\uDBFFx"`, `the escape "\udbff" is half of a surrogate pair`, 1},
	{`"\ud800\n"`, `the escape "\ud800" is half of a surrogate pair`, 1},
	{`"\ud800\ud800"`, `the escape "\ud800" is half of a surrogate pair`, 1},
	{`"\ud800\u0041"`, `the escape "\ud800" is half of a surrogate pair`, 1},
	{`"\udc00"`, `the escape "\udc00" is half of a surrogate pair`, 1},
	{"\"\xff\"", `the text is not UTF-8`, 1},
	{"\"\xed\xa0\x80\"", `the text is not UTF-8`, 1}, // a surrogate
	{"\"\xc0\xaf\"", `the text is not UTF-8`, 1},     // overlong
	{"\"\xe2\x82", `the text is not UTF-8`, 1},       // cut off
	{"\xff\xfe{", `the text is not UTF-8`, 1},
	{`{"a":1,"a":1}`, `the key "a" stands twice in one object`, 1},
	{"{\"a\":1,\n\"b\":{\"c\":1,\n\"c\":2}}", `the key "c" stands twice in one object`, 3},
	{`{"":1,"":2}`, `the key "" stands twice in one object`, 1},
	{`{"\u0061":1,"a":2}`, `the key "a" stands twice in one object`, 1},
	{`{"a/b":1,"a\/b":2}`, `the key "a/b" stands twice in one object`, 1},
	{`{"😀":1,"\ud83d\ude00":2}`, `the key "😀" stands twice in one object`, 1},
	{`{"a":{"x":1},"b":[{"y":1}],"a":0}`, `the key "a" stands twice in one object`, 1},
	{strings.Repeat("[", ndjson.MaxDepth+1), `a value nests deeper than 1000 levels`, 1},
	{strings.Repeat(`{"a":`, ndjson.MaxDepth+1), `a value nests deeper than 1000 levels`, 1},
}

func TestValidateSaysWhatIsWrongAndWhere(t *testing.T) {
	for _, c := range refusals {
		err := ndjson.Validate([]byte(c.raw))
		e, ok := err.(*fault.Error)
		if !ok || e.Code != fault.InvalidJSON || e.Message != c.message || e.Line != c.line {
			t.Errorf("%.60q: got %#v, want %q on line %d", c.raw, err, c.message, c.line)
		}
		if ok && strings.Contains(e.Message, "byte-order") != (e.Hint != "") {
			t.Errorf("%.60q: hint %q", c.raw, e.Hint)
		}
	}
}

func TestKeysAreComparedHoweverManyThereAre(t *testing.T) {
	// Around the change from a list to a map, and far beyond what comparing each
	// key with each other could do in the time of a test.
	for _, n := range []int{1, 31, 32, 33, 34, 500, 100_000} {
		var b bytes.Buffer
		b.WriteString(`{"first":0`)
		for i := range n {
			fmt.Fprintf(&b, `,"k%d":{"first":1,"k1":2}`, i)
		}
		for _, last := range []string{"k0", "first", `\u0066irst`, fmt.Sprint("k", n-1)} {
			text := fmt.Appendf(bytes.Clone(b.Bytes()), `,"%s":1}`, last)
			if err := ndjson.Validate(text); err == nil || !strings.Contains(err.Error(), "stands twice") {
				t.Errorf("%d keys, the last is %q again: %v", n, last, err)
			}
		}
		b.WriteString(`}`)
		if err := ndjson.Validate(b.Bytes()); err != nil {
			t.Errorf("%d keys: %v", n, err)
		}
	}
}

func FuzzValidate(f *testing.F) {
	for _, c := range refusals {
		f.Add([]byte(c.raw))
	}
	f.Add([]byte(`{"a":[1,-0.5e3,"\ud83d\ude00é\n",true,null,{"a":{}}],"b":"` + strings.Repeat("x", 50) + `"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		err := ndjson.Validate(raw)
		if want := isStrict(raw); (err == nil) != want {
			t.Fatalf("%q: got %v, encoding/json and the stricter rules say %v", raw, err, want)
		}
	})
}

// isStrict is Validate by other means: encoding/json for the syntax, and a pass of
// its own for each rule that is stricter.
func isStrict(raw []byte) bool {
	return json.Valid(raw) && utf8.Valid(raw) && !hasLoneSurrogate(raw) && keysDifferAndDepthFits(raw)
}

// hasLoneSurrogate looks at the escapes of valid JSON, which has backslashes only
// there.
func hasLoneSurrogate(raw []byte) bool {
	escaped := func(i int) (unit int) {
		if i+6 <= len(raw) && raw[i] == '\\' && raw[i+1] == 'u' {
			fmt.Sscanf(string(raw[i+2:i+6]), "%04x", &unit)
		}
		return unit
	}
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		switch unit := escaped(i); {
		case 0xDC00 <= unit && unit <= 0xDFFF:
			return true
		case 0xD800 <= unit && unit <= 0xDBFF:
			if next := escaped(i + 6); next < 0xDC00 || next > 0xDFFF {
				return true
			}
			i += 11
		default:
			i++
		}
	}
	return false
}

func keysDifferAndDepthFits(raw []byte) bool {
	type open struct {
		keys    map[string]bool // nil in an array
		wantKey bool
	}
	var stack []open
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err != nil {
			return err == io.EOF
		}
		if n := len(stack); n > 0 && stack[n-1].keys != nil && token != json.Delim('}') {
			top := &stack[n-1]
			if top.wantKey = !top.wantKey; !top.wantKey {
				key := token.(string)
				if top.keys[key] {
					return false
				}
				top.keys[key] = true
			}
		}
		switch token {
		case json.Delim('{'):
			stack = append(stack, open{keys: map[string]bool{}, wantKey: true})
		case json.Delim('['):
			stack = append(stack, open{})
		case json.Delim('}'), json.Delim(']'):
			stack = stack[:len(stack)-1]
		}
		if len(stack) > ndjson.MaxDepth {
			return false
		}
	}
}
