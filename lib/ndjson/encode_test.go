package ndjson_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"kxm/lib/fault"
	"kxm/lib/ndjson"
)

func TestMarshalEscapesOnlyWhatMustBe(t *testing.T) {
	type pair struct {
		Text string          `json:"text"`
		Raw  json.RawMessage `json:"raw"`
	}
	got, err := ndjson.Marshal(pair{"<a> & \u2028\u2029 \\u2028 \\\u2028 \x01\x7f\"", json.RawMessage(`12345678901234567890`)})
	want := "{\"text\":\"<a> & \u2028\u2029 \\\\u2028 \\\\\u2028 \\u0001\x7f\\\"\",\"raw\":12345678901234567890}"
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v\nwant %s", got, err, want)
	}
	if _, err := ndjson.Marshal(func() {}); err == nil {
		t.Error("a function was marshalled")
	}
}

func FuzzAppendString(f *testing.F) {
	f.Add("plain")
	f.Add("\x00\b\t\n\f\r\x1f\"\\/<>&\x7f\u0080\u2028\u2029\ufffd\ufeff😀")
	f.Add("\xffa\xe2\x82")
	f.Fuzz(func(t *testing.T, s string) {
		got := ndjson.AppendString([]byte("x"), s)
		want, err := ndjson.Marshal(s)
		if err != nil || string(got) != "x"+string(want) {
			t.Fatalf("got %s, encoding/json writes %s", got, want)
		}
		if err := ndjson.Validate(got[1:]); err != nil {
			t.Fatal(err)
		}
		if text, ok := ndjson.Text(got[1:]); !ok || text != string([]rune(s)) { // which replaces each bad byte, too
			t.Fatalf("%q became %q", s, text)
		}
	})
}

func TestCanonicalFormOfTheStandardsExamples(t *testing.T) {
	for raw, want := range map[string]string{
		// RFC 8785, 3.2.2 and 3.2.3.
		`{
  "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
  "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
  "literals": [null, true, false]
}`: `{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
		`{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`: `{"\r":"Carriage Return","1":"One","` + "\u0080" + `":"Control","ö":"Latin Small Letter O With Diaeresis","€":"Euro Sign","😀":"Emoji: Grinning Face","` + "\ufb33" + `":"Hebrew Letter Dalet With Dagesh"}`,
		` [ ] `:                         `[]`,
		` { "b" : { } , "a" : [ {} ] }`: `{"a":[{}],"b":{}}`,
		`"\u003c\u2028\u007f"`:          "\"<\u2028\u007f\"",
		`9007199254740993`:              `9007199254740992`,
		`-0`:                            `0`,
		`-0.0e-5`:                       `0`,
		`1e21`:                          `1e+21`,
		`999999999999999934463`:         `999999999999999900000`,
		`1e-6`:                          `0.000001`,
		`1e-7`:                          `1e-7`,
		`1e-400`:                        `0`,
		`333333333.33333329`:            `333333333.3333333`,
	} {
		got, err := ndjson.Canonical([]byte(raw))
		if err != nil || string(got) != want {
			t.Errorf("%s\n got %s, %v\nwant %s", raw, got, err, want)
		}
	}
}

func TestCanonicalNumbersAreThoseOfECMAScript(t *testing.T) {
	// RFC 8785, appendix B.
	for bits, want := range map[uint64]string{
		0x0000000000000000: "0", 0x8000000000000000: "0",
		0x0000000000000001: "5e-324", 0x8000000000000001: "-5e-324",
		0x7fefffffffffffff: "1.7976931348623157e+308", 0xffefffffffffffff: "-1.7976931348623157e+308",
		0x4340000000000000: "9007199254740992", 0xc340000000000000: "-9007199254740992",
		0x4430000000000000: "295147905179352830000",
		0x44b52d02c7e14af5: "9.999999999999997e+22", 0x44b52d02c7e14af6: "1e+23", 0x44b52d02c7e14af7: "1.0000000000000001e+23",
		0x444b1ae4d6e2ef4e: "999999999999999700000", 0x444b1ae4d6e2ef4f: "999999999999999900000", 0x444b1ae4d6e2ef50: "1e+21",
		0x3eb0c6f7a0b5ed8c: "9.999999999999997e-7", 0x3eb0c6f7a0b5ed8d: "0.000001",
		0x41b3de4355555553: "333333333.3333332", 0x41b3de4355555554: "333333333.33333325", 0x41b3de4355555555: "333333333.3333333",
		0x41b3de4355555556: "333333333.3333334", 0x41b3de4355555557: "333333333.33333343",
		0xbecbf647612f3696: "-0.0000033333333333333333", 0x43143ff3c1cb0959: "1424953923781206.2",
	} {
		raw := strconv.FormatFloat(math.Float64frombits(bits), 'e', 17, 64)
		if got, err := ndjson.Canonical([]byte(raw)); err != nil || string(got) != want {
			t.Errorf("%016x: got %s, %v; want %s", bits, got, err, want)
		}
	}
}

func TestCanonicalRefusesWhatHasNoForm(t *testing.T) {
	for _, raw := range []string{`1e309`, `[-1e309]`, `{"a":1e999}`, `{"a":1,"a":1}`, `"\ud800"`, `1 2`, ``} {
		if got, err := ndjson.Canonical([]byte(raw)); !fault.Is(err, fault.InvalidJSON) {
			t.Errorf("%s: got %s, %v", raw, got, err)
		}
	}
}

func TestDigestIsOfTheCanonicalObjectWithoutTheNamedFields(t *testing.T) {
	raw := []byte(`{ "id":"x", "b": {"id":1.0}, "a":2, "created":null }`)
	want := fmt.Sprintf("%x", sha256.Sum256([]byte(`{"a":2,"b":{"id":1}}`)))
	if got, err := ndjson.Digest(raw, "id", "created", "absent"); err != nil || got != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
	want = fmt.Sprintf("%x", sha256.Sum256([]byte(`{}`)))
	if got, err := ndjson.Digest([]byte(`{"\u0069d":1}`), "id"); err != nil || got != want {
		t.Errorf("an escaped key: got %s, %v; want %s", got, err, want)
	}
	for _, raw := range []string{`[]`, `"a"`, `{"a":1e999}`, `{`} {
		if got, err := ndjson.Digest([]byte(raw)); !fault.Is(err, fault.InvalidJSON) {
			t.Errorf("%s: got %s, %v", raw, got, err)
		}
	}
}

func FuzzCanonical(f *testing.F) {
	f.Add([]byte(`{"b":[1e21,1e-7,-0,9007199254740993],"a":"\u2028<\/","😀":1,"\ufb33":{"":null}}`))
	f.Add([]byte(`1e400`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		form, err := ndjson.Canonical(raw)
		if ndjson.Validate(raw) != nil {
			if err == nil {
				t.Fatal("invalid JSON has a form")
			}
			return
		}
		var before, after any
		if jsonErr := json.Unmarshal(raw, &before); (jsonErr == nil) != (err == nil) {
			t.Fatalf("%q: got %v, encoding/json says %v", raw, err, jsonErr)
		}
		if err != nil {
			return
		}
		if err := json.Unmarshal(form, &after); err != nil || !reflect.DeepEqual(before, after) {
			t.Fatalf("%q became %q", raw, form)
		}
		if again, err := ndjson.Canonical(form); err != nil || !bytes.Equal(again, form) {
			t.Fatalf("%q became %q, %v", form, again, err)
		}
	})
}

func FuzzCanonicalKeyOrder(f *testing.F) {
	f.Add("😀", "\ufb33")
	f.Add("a", "ab")
	f.Add("\U00010000", "\U0010ffff")
	f.Add("\ud7ff", "\U00010000")
	f.Fuzz(func(t *testing.T, a, b string) {
		if !utf8.ValidString(a) || !utf8.ValidString(b) || a == b {
			return
		}
		keys := []string{a, b}
		slices.SortFunc(keys, func(a, b string) int {
			return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
		})
		var want []byte
		for i, k := range keys {
			want = append(ndjson.AppendString(append(want, "{,"[i]), k), ":1"...)
		}
		raw := ndjson.AppendString([]byte("{"), b)
		raw = append(ndjson.AppendString(append(raw, ":1,"...), a), ":1}"...)
		if got, err := ndjson.Canonical(raw); err != nil || string(got) != string(want)+"}" {
			t.Fatalf("got %s, %v; want %s}", got, err, want)
		}
	})
}
