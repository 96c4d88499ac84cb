package ndjson

import "testing"

func TestObjectWritesMembersInOrder(t *testing.T) {
	o := NewObject([]byte("x="))
	o.Text("b", "1\n")
	o.Optional("none", "")
	o.Optional("a", "{")
	o.List("empty", nil)
	o.List("list", []string{"p", `"`})
	o.Name("inner")
	inner := NewObject(o.Bytes)
	inner.Text("k", "v")
	o.Bytes = inner.End()
	o.Text("last", "")
	want := `x={"b":"1\n","a":"{","empty":[],"list":["p","\""],"inner":{"k":"v"},"last":""}`
	if got := string(o.End()); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if err := Validate([]byte(want[2:])); err != nil {
		t.Error(err)
	}
	empty := NewObject(nil)
	if got := string(empty.End()); got != "{}" {
		t.Errorf("an empty object is %s", got)
	}
}
