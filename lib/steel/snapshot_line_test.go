package steel

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// parsedLine is what a line says by the grammar alone.
type parsedLine struct {
	indent    int
	reference string
	role      string
	attrs     []string
	value     string
	name      string
	more      int // of the line that says how much was cut
}

var (
	moreForm = regexp.MustCompile(`^\.\.\. ([1-9][0-9]*) more lines$`)
	refForm  = regexp.MustCompile(`^e[1-9][0-9]* `)
	roleForm = regexp.MustCompile(`^[a-z][a-z-]*`)
)

// parseLine reads a line as a program would that trusts nothing in it.
func parseLine(text string) (parsedLine, error) {
	var l parsedLine
	if m := moreForm.FindStringSubmatch(text); m != nil {
		l.more, _ = strconv.Atoi(m[1])
		return l, nil
	}
	rest := strings.TrimLeft(text, " ")
	l.indent = len(text) - len(rest)
	if ref := refForm.FindString(rest); ref != "" {
		l.reference, rest = ref[:len(ref)-1], rest[len(ref):]
	}
	l.role = roleForm.FindString(rest)
	if l.role == "" {
		return l, fmt.Errorf("no role in %q", text)
	}
	rest = rest[len(l.role):]
	if strings.HasPrefix(rest, "[") {
		var err error
		if rest, err = l.readAttributes(rest[1:]); err != nil {
			return l, fmt.Errorf("%q: %w", text, err)
		}
	}
	if rest != "" {
		if l.name = rest[1:]; rest[0] != ' ' || l.name == "" {
			return l, fmt.Errorf("%q does not go on with a name", text)
		}
	}
	return l, l.check()
}

// readAttributes reads up to the bracket that is not escaped.
func (l *parsedLine) readAttributes(text string) (rest string, err error) {
	var one []byte
	end := func() {
		if attr := string(one); strings.HasPrefix(attr, "=") {
			l.value = attr[1:]
		} else {
			l.attrs = append(l.attrs, attr)
		}
		one = nil
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '\\':
			if i++; i < len(text) {
				one = append(one, text[i])
			}
		case ',':
			end()
		case ']':
			end()
			return text[i+1:], nil
		default:
			one = append(one, c)
		}
	}
	return "", fmt.Errorf("no bracket at the end")
}

var attributeOrder = []string{"checked", "mixed", "expanded", "collapsed", "disabled", "focused", "invalid", "password", "readonly", "required", "selected"}

// check compares what was read with what may be said.
func (l *parsedLine) check() error {
	before := -1
	for i, a := range l.attrs {
		if level, err := strconv.Atoi(a); err == nil && i == 0 && level > 0 {
			continue
		}
		at := slices.Index(attributeOrder, a)
		if at <= before {
			return fmt.Errorf("attribute %q at its place in %q", a, l.attrs)
		}
		before = at
	}
	if slices.Contains(l.attrs, "password") && l.value != "" {
		return fmt.Errorf("a password has the value %q", l.value)
	}
	if l.indent > maxIndent {
		return fmt.Errorf("indent %d", l.indent)
	}
	if l.role == "frame" {
		_, l.name, _ = strings.Cut(l.name, " ")
		l.name = strings.TrimSuffix(l.name, " (no answer)")
	}
	for _, text := range []string{l.name, l.value} {
		if utf8.RuneCountInString(text) > nameLimit || strings.TrimSpace(text) != text || strings.Contains(text, "  ") {
			return fmt.Errorf("%q is not folded or cut", text)
		}
	}
	return nil
}

// parseSnapshot parses all lines of a text, in which nothing but the line break is a
// control or format character.
func parseSnapshot(t testing.TB, text string) []parsedLine {
	t.Helper()
	if text == "" {
		return nil
	}
	body, ok := strings.CutSuffix(text, "\n")
	if !ok || !utf8.ValidString(text) {
		t.Fatalf("%q", text)
	}
	var lines []parsedLine
	for one := range strings.SplitSeq(body, "\n") {
		if i := strings.IndexFunc(one, func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }); i >= 0 {
			t.Fatalf("a control character in %q", one)
		}
		l, err := parseLine(one)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, l)
	}
	return lines
}

func TestLineParserRefuses(t *testing.T) {
	for _, text := range []string{"", " ", "[x", "button[checked", "button[checked]x", "button[selected,checked]", "button[password,=x]", "button ", "button  x", "... 0 more lines"} {
		if l, err := parseLine(text); err == nil {
			t.Errorf("%q is %+v", text, l)
		}
	}
}
