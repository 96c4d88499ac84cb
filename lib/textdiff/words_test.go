package textdiff

import (
	"fmt"
	"strings"
	"testing"
)

func show(parts []Part) string {
	var b strings.Builder
	for _, p := range parts {
		switch p.Op {
		case Delete:
			fmt.Fprintf(&b, "[-%s-]", p.Text)
		case Insert:
			fmt.Fprintf(&b, "{+%s+}", p.Text)
		default:
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

func TestWords(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"", "", ""},
		{"same", "same", "same"},
		{"", "new", "{+new+}"},
		{"old", "", "[-old-]"},
		{"Use npm in this repository", "Use pnpm in this repository", "Use [-npm-]{+pnpm+} in this repository"},
		{"a b c", "a c", "a [-b -]c"},
		{"release-1.2", "release-1.3", "release-1.[-2-]{+3+}"},
		{"日本語", "日本人", "日本[-語-]{+人+}"},
		{"café", "cafe\u0301", "[-café-]{+cafe\u0301+}"},
		{"a  b", "a b", "a[-  -]{+ +}b"},
		{"a\xffb", "a\xfeb", "a[-\xff-]{+\xfe+}b"},
	} {
		if got := show(Words(c.from, c.to)); got != c.want {
			t.Errorf("%q to %q: %q, want %q", c.from, c.to, got, c.want)
		}
	}
}

func FuzzWords(f *testing.F) {
	f.Add("Use npm here", "Use pnpm, here")
	f.Add("日本語 a", "日本人\xff")
	f.Add("\u0301x", "x\u0301")
	f.Fuzz(func(t *testing.T, from, to string) {
		var a, b strings.Builder
		last := Op("")
		for _, p := range Words(from, to) {
			if p.Text == "" || p.Op == last || last == Insert && p.Op == Delete {
				t.Errorf("%q after %s", p, last)
			}
			last = p.Op
			if p.Op != Insert {
				a.WriteString(p.Text)
			}
			if p.Op != Delete {
				b.WriteString(p.Text)
			}
		}
		if a.String() != from || b.String() != to {
			t.Errorf("%q and %q, want %q and %q", a.String(), b.String(), from, to)
		}
	})
}
