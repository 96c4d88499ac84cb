package steel

import (
	"bytes"
	"strings"
	"testing"

	"kxm/lib/fault"
)

const goodReferences = `{"schema":"kxm.steel-refs.v1","refs":{"e12":{"tab":"t1","targetId":"CFC4","frameId":"CFC4","loaderId":"77","node":17,"role":"button","name":"Sign in"},"e5":{"tab":"t2","targetId":"A","frameId":"B","loaderId":"C","node":1,"role":"textbox","name":""}}}`

func TestReferencesKeepTheirBytes(t *testing.T) {
	r, err := ParseReferences([]byte(goodReferences))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.Encode(); err != nil || string(got) != goodReferences+"\n" {
		t.Errorf("%s (%v)", got, err)
	}
}

func TestCorruptReferences(t *testing.T) {
	for _, change := range [][2]string{
		{goodReferences, ""}, {goodReferences, "[]"}, {goodReferences, "null"}, {"refs.v1", "refs.v2"}, {`"e12"`, `"12"`}, {`"e12"`, `"e0"`}, {`"e12"`, `"@e12"`},
		{`"e12"`, `"e5"`}, {`"t1"`, `""`}, {`"refs":{`, `"ref":{`}, {`"role":"button"`, `"role":"a b"`}, {`"targetId":"CFC4"`, `"targetId":""`}, {`"frameId":"CFC4"`, `"frameId":""`}, {`"loaderId":"77",`, ``}, {`17`, `0`}, {`17`, `1.5`},
		{`"role":"button",`, ``}, {`"name":"Sign in"`, `"name":1`},
	} {
		text := strings.Replace(goodReferences, change[0], change[1], 1)
		if _, err := ParseReferences([]byte(text)); !fault.Is(err, fault.SteelStateCorrupt) {
			t.Errorf("%q for %q: %v", change[1], change[0], err)
		}
	}
}

func FuzzParseReferences(f *testing.F) {
	f.Add([]byte(goodReferences))
	f.Add([]byte(`{"schema":"kxm.steel-refs.v1","refs":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := ParseReferences(data)
		if err != nil {
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
	})
}
