package ndjson_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"kxm/lib/fault"
	"kxm/lib/ndjson"
)

func TestFieldsAndElementsComeInOrderAndAsWritten(t *testing.T) {
	object := []byte(" { \"a\" : 1.50 ,\"\\u0062\\n\":\"x\\\"},{\" , \"\":{\"c\":[1,{}]},\"d\\\\\":[ ],\"e\":null}\n")
	want := []string{"a=1.50", "b\n=\"x\\\"},{\"", "={\"c\":[1,{}]}", "d\\=[ ]", "e=null"}
	var got, gotText []string
	if err := ndjson.Fields(object, func(key string, value []byte) error {
		got = append(got, key+"="+string(value))
		return nil
	}); err != nil || !slices.Equal(got, want) {
		t.Errorf("Fields: got %q, %v", got, err)
	}
	if err := ndjson.FieldsText(string(object), func(key, value string) error {
		gotText = append(gotText, key+"="+value)
		return nil
	}); err != nil || !slices.Equal(gotText, want) {
		t.Errorf("FieldsText: got %q, %v", gotText, err)
	}

	array := []byte(" [ 1 ,\"],\" , [2,[3]],{\"a\":\"}\"},true ] ")
	want = []string{`1`, `"],"`, `[2,[3]]`, `{"a":"}"}`, `true`}
	got, gotText = nil, nil
	if err := ndjson.Elements(array, func(value []byte) error {
		got = append(got, string(value))
		return nil
	}); err != nil || !slices.Equal(got, want) {
		t.Errorf("Elements: got %q, %v", got, err)
	}
	if err := ndjson.ElementsText(string(array), func(value string) error {
		gotText = append(gotText, value)
		return nil
	}); err != nil || !slices.Equal(gotText, want) {
		t.Errorf("ElementsText: got %q, %v", gotText, err)
	}
}

func TestAWalkEndsAtTheFirstErrorOfItsCallback(t *testing.T) {
	stop := errors.New("stop")
	n := 0
	count := func(int) error {
		if n++; n == 2 {
			return stop
		}
		return nil
	}
	if err := ndjson.Fields([]byte(`{"a":1,"b":2,"c":3}`), func(string, []byte) error { return count(0) }); err != stop || n != 2 {
		t.Errorf("Fields: %d calls, %v", n, err)
	}
	n = 0
	if err := ndjson.Elements([]byte(`[1,2,3]`), func([]byte) error { return count(0) }); err != stop || n != 2 {
		t.Errorf("Elements: %d calls, %v", n, err)
	}
}

func TestAWalkOfAnotherKindOfValueIsRefused(t *testing.T) {
	for _, raw := range []string{``, ` `, `1`, `"{}"`, `null`} {
		if err := ndjson.Fields([]byte(raw), func(string, []byte) error { return nil }); !fault.Is(err, fault.InvalidJSON) {
			t.Errorf("Fields of %q: %v", raw, err)
		}
		if err := ndjson.Elements([]byte(raw), func([]byte) error { return nil }); !fault.Is(err, fault.InvalidJSON) {
			t.Errorf("Elements of %q: %v", raw, err)
		}
	}
}

func TestTextDecodesStringsAndNothingElse(t *testing.T) {
	for raw, want := range map[string]string{
		`""`: "", ` "a" `: "a", `"\"\\\/\b\f\n\r\t"`: "\"\\/\b\f\n\r\t", `"\u00e9\u20AC\ud83d\ude00!"`: "é€😀!", `"\u0000"`: "\x00", `"\\u0041"`: `\u0041`,
	} {
		if got, ok := ndjson.Text([]byte(raw)); !ok || got != want {
			t.Errorf("%s: got %q, %v", raw, got, ok)
		}
	}
	for _, raw := range []string{``, `"`, `1`, `null`, `{}`, `["a"]`, `"\x"`, `"\u12"`, `"\ud800"`, `"\`} {
		if got, ok := ndjson.Text([]byte(raw)); ok {
			t.Errorf("%s: got %q", raw, got)
		}
	}
}

func TestKindTellsTheSixKindsApart(t *testing.T) {
	for raw, want := range map[string]byte{
		` {}`: '{', `[1]`: '[', `"a"`: '"', `true`: 't', `false`: 'f', "\nnull": 'n', `12`: '0', `-1`: '0', `0`: '0', ``: 0, ` `: 0,
	} {
		if got := ndjson.Kind([]byte(raw)); got != want {
			t.Errorf("%q: got %q", raw, got)
		}
	}
}

// rebuild decodes a value into what encoding/json decodes it into, by walking.
func rebuild(raw []byte) (any, error) {
	switch ndjson.Kind(raw) {
	case '{':
		m := map[string]any{}
		return m, ndjson.Fields(raw, func(key string, value []byte) (err error) {
			m[key], err = rebuild(value)
			return err
		})
	case '[':
		a := []any{}
		err := ndjson.Elements(raw, func(value []byte) error {
			v, err := rebuild(value)
			a = append(a, v)
			return err
		})
		return a, err
	case '"':
		s, ok := ndjson.Text(raw)
		if !ok {
			return nil, fmt.Errorf("%q is no text", raw)
		}
		return s, nil
	case 'n':
		return nil, nil
	case 't', 'f':
		return strings.TrimSpace(string(raw)) == "true", nil
	}
	return json.Number(strings.TrimSpace(string(raw))), nil
}

func FuzzWalk(f *testing.F) {
	f.Add([]byte(`{"a":[1,"\u0041\\",{"\"":null}],"":true, "b" : -1e5 }`))
	f.Add([]byte(`{"a"`))
	f.Add([]byte(`[1,,{"a":"\`))
	f.Add([]byte(`{"a":1}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := rebuild(raw) // must not panic, whatever it is given
		if ndjson.Validate(raw) != nil {
			return
		}
		if err != nil {
			t.Fatalf("%q: %v", raw, err)
		}
		var want any
		d := json.NewDecoder(strings.NewReader(string(raw)))
		d.UseNumber()
		if err := d.Decode(&want); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: got %#v, want %#v", raw, got, want)
		}
	})
}
