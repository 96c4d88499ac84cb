package steel

import (
	"strings"
	"testing"
)

func TestPrintedName(t *testing.T) {
	long := strings.Repeat("é", 200)
	for _, c := range [][2]string{
		{"", ""}, {"a", "a"}, {"  a  ", "a"}, {" ", ""}, {"a \t\n b", "a b"}, {"a\u2028b", "a b"}, {"a\x1bb", "a\ufffdb"}, {"a\xffb", "a\ufffdb"},
		{long, long}, {long + " ", long}, {long + "x", strings.Repeat("é", 199) + "…"}, {strings.Repeat("é", 199) + " x", strings.Repeat("é", 199) + "…"},
		{strings.Repeat("é", 198) + " xy", strings.Repeat("é", 198) + "…"}, {strings.Repeat("é", 198) + " x", strings.Repeat("é", 198) + " x"},
		{strings.Repeat("x", 200), strings.Repeat("x", 200)}, {strings.Repeat("x", 201), strings.Repeat("x", 199) + "…"},
	} {
		got := PrintedName(c[0])
		if got != c[1] {
			t.Errorf("%q is %q, want %q", c[0], got, c[1])
		}
		if again := PrintedName(got); again != got {
			t.Errorf("%q becomes %q", got, again)
		}
	}
}

func TestBoundary(t *testing.T) {
	const mark = "--- page e0f7ed4da8ebe9e2 ---\n" // sha256sum of "button a\n"
	for _, text := range []string{"button a\n", "button a"} {
		if got := Boundary(text); got != mark+"button a\n"+mark {
			t.Errorf("%q becomes %q", text, got)
		}
	}
	if got := Boundary(""); got != strings.Repeat("--- page e3b0c44298fc1c14 ---\n", 2) {
		t.Errorf("nothing becomes %q", got)
	}
}
