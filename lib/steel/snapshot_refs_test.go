package steel

import (
	"bytes"
	"strings"
	"testing"

	"kxm/lib/fault"
)

const goodReferences = `{"schema":"kxm.steel-refs.v1","refs":{"e5":{"tab":"t1","targetId":"CFC4","frameId":"CFC4","loaderId":"9A1B","node":17,"role":"button","name":"Sign in"}}}` + "\n"

func TestReferencesKeepTheirBytes(t *testing.T) {
	r, err := ParseReferences([]byte(goodReferences))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.Encode(); err != nil || string(got) != goodReferences {
		t.Errorf("%s, want\n%s (%v)", got, goodReferences, err)
	}
	if got, err := (&References{}).Encode(); err != nil || string(got) != `{"schema":"kxm.steel-refs.v1","refs":{}}`+"\n" {
		t.Errorf("none are %s (%v)", got, err)
	}
}

func TestCorruptReferences(t *testing.T) {
	for _, change := range [][2]string{
		{goodReferences, ""}, {goodReferences, "{"}, {goodReferences, "[]"}, {goodReferences, "null"}, {"refs.v1", "refs.v2"}, {`"refs":{`, `"other":{`},
		{`"e5"`, `"5"`}, {`"e5"`, `"e05"`}, {`"e5"`, `"e0"`}, {`"e5"`, `"e"`}, {`"e5"`, `"e+5"`}, {`"e5"`, `"e1234567890"`}, {`"e5"`, `"E5"`},
		{`"t1"`, `""`}, {`"t1"`, `1`}, {`"targetId":"CFC4",`, ""}, {`"frameId":"CFC4",`, ""}, {`"loaderId":"9A1B",`, ""}, {`"node":17,`, ""}, {"17", "-17"}, {"17", "1.5"}, {"17", `"17"`},
		{`"button"`, `""`}, {`"button"`, `"a b"`}, {`"button"`, `"StaticText"`}, {`"tab":"t1"`, `"tab":"t1","tab":"t2"`}, {"}}\n", "}}{}\n"},
	} {
		text := strings.Replace(goodReferences, change[0], change[1], 1)
		if _, err := ParseReferences([]byte(text)); text == goodReferences || !fault.Is(err, fault.SteelStateCorrupt) {
			t.Errorf("%q for %q: %v", change[1], change[0], err)
		}
	}
}

// TestStoredNamesAreShort: the mask of a secret may be longer than the secret.
func TestStoredNamesAreShort(t *testing.T) {
	name := PrintedName(strings.Repeat("x", 158) + " ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a")
	stored := storedName(name)
	if n := len([]rune(stored)); n > nameLimit || stored == name {
		t.Errorf("%d: %q", n, stored)
	}
}

func FuzzReferences(f *testing.F) {
	f.Add([]byte(goodReferences))
	f.Add([]byte(`{"schema":"kxm.steel-refs.v1","refs":{},"more":1}`))
	f.Add([]byte(`{"schema":"kxm.steel-refs.v1","refs":{"e10":{"tab":"t1","targetId":"a","frameId":"b","loaderId":"c","node":9223372036854775807,"role":"x-y","name":"\ud800\u2028"}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := ParseReferences(data)
		if err != nil {
			if !fault.Is(err, fault.SteelStateCorrupt) {
				t.Fatal(err)
			}
			return
		}
		once, err := r.Encode()
		if err != nil {
			t.Fatalf("references that were read are not written: %v", err)
		}
		again, err := ParseReferences(once)
		if err != nil {
			t.Fatalf("%s: %v", once, err)
		}
		if twice, _ := again.Encode(); !bytes.Equal(once, twice) {
			t.Errorf("%s becomes %s", once, twice)
		}
		// Whatever was known, a new node gets a number of its own.
		name, fresh := newNumbering(r, 1).name(nodeAt{"another frame", "another document", 1})
		if _, known := r.Refs[name]; fresh && known {
			t.Errorf("%s is given twice", name)
		}
	})
}
