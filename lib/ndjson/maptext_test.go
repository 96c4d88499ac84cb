package ndjson

import (
	"strings"
	"testing"
)

func TestMapTextChangesTextsAndNothingElse(t *testing.T) {
	mask := func(s string) string { return strings.ReplaceAll(s, "secret", "x") }
	for _, c := range []struct{ in, want string }{
		{` 1.50 `, `1.50`},
		{`"a secret"`, `"a x"`},
		{`[1, "secret" ,null,{"a" : true}]`, `[1,"x",null,{"a":true}]`},
		{`{"secret":"secret","n":1e2}`, `{"x":"x","n":1e2}`},
		{`{"secret":1,"x":2,"x_":3}`, `{"x":1,"x_":2,"x__":3}`},
		{`{"z":{},"a":[]}`, `{"z":{},"a":[]}`},
		{`"\u0073ecret\n"`, `"x\n"`},
	} {
		got := MapText(nil, []byte(c.in), mask)
		if string(got) != c.want {
			t.Errorf("%s became %s, want %s", c.in, got, c.want)
		}
		if err := Validate(got); err != nil {
			t.Errorf("%s became %s: %v", c.in, got, err)
		}
	}
}
