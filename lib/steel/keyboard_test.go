package steel

import (
	"reflect"
	"testing"

	"kxm/lib/fault"
)

func TestParseKey(t *testing.T) {
	for _, c := range []struct {
		text string
		want stroke
	}{
		{"Enter", stroke{"Enter", "Enter", 13, "\r", 0}},
		{"Home", stroke{"Home", "Home", 36, "", 0}},
		{"Delete", stroke{"Delete", "Delete", 46, "", 0}},
		{"ArrowDown", stroke{"ArrowDown", "ArrowDown", 40, "", 0}},
		{"F12", stroke{"F12", "F12", 123, "", 0}},
		{"Space", stroke{" ", "Space", 32, " ", 0}},
		{"a", stroke{"a", "KeyA", 65, "a", 0}},
		{"A", stroke{"A", "KeyA", 65, "A", heldShift}},
		{"+", stroke{"+", "Equal", 187, "+", heldShift}},
		{"é", stroke{"é", "", 0, "é", 0}},
		{"Control++", stroke{"+", "Equal", 187, "+", heldControl | heldShift}},
		{"Shift+1", stroke{"!", "Digit1", '1', "!", heldShift}},
		{"Shift+Tab", stroke{"Tab", "Tab", 9, "", heldShift}},
		{"Control+Alt+Meta+a", stroke{"a", "KeyA", 65, "a", heldControl | heldAlt | heldMeta}},
	} {
		if k, err := ParseKey(c.text); err != nil || k.stroke != c.want || k.String() != c.text {
			t.Errorf("%s is %+v, %v", c.text, k, err)
		}
	}
	for _, text := range []string{"", "enter", "F13", "F0", "ab", "Control", "Control+", "Hyper+a", "Shift+Shift+a", "\x00", "\x7f", "\xff"} {
		if _, err := ParseKey(text); !fault.Is(err, fault.SteelUsage) {
			t.Errorf("%q is a key: %v", text, err)
		}
	}
}

// What is held goes down before the key and up after it, and writes nothing with it.
func TestStrokeEvents(t *testing.T) {
	k, err := ParseKey("Shift+Control+a")
	if err != nil {
		t.Fatal(err)
	}
	var got []any
	for _, e := range k.stroke.events() {
		got = append(got, e["type"], e["key"], e["modifiers"])
		if e["text"] != nil {
			t.Errorf("%v writes", e)
		}
	}
	want := []any{"rawKeyDown", "Control", 2, "rawKeyDown", "Shift", 10, "rawKeyDown", "A", 10, "keyUp", "A", 10, "keyUp", "Shift", 2, "keyUp", "Control", 0}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
	for text, command := range map[string]any{"Control+a": "selectAll", "Meta+z": "undo", "Control+Shift+z": "redo", "Alt+a": nil, "a": nil, "Control+Alt+c": nil} {
		k, _ := ParseKey(text)
		var is any
		if c, ok := k.stroke.down()["commands"].([]string); ok {
			is = c[0]
		}
		if is != command {
			t.Errorf("%s gives the command %v, want %v", text, is, command)
		}
	}
}
