package fault

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// declared returns the values of all constants of type Code.
func declared(t *testing.T) []Code {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "codes.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var all []Code
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, s := range g.Specs {
			v := s.(*ast.ValueSpec)
			if name, ok := v.Type.(*ast.Ident); !ok || name.Name != "Code" {
				continue
			}
			text, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, Code(text))
		}
	}
	if len(all) < 20 {
		t.Fatalf("only %d constants found", len(all))
	}
	slices.Sort(all)
	return all
}

func TestEveryCodeHasARow(t *testing.T) {
	if want := declared(t); !slices.Equal(Codes(), want) {
		t.Errorf("rows of\n%v\nconstants\n%v", Codes(), want)
	}
	name := regexp.MustCompile(`^[a-z]+(_[a-z0-9]+)*$`)
	for _, c := range Codes() {
		if !name.MatchString(string(c)) {
			t.Errorf("%s is no name of a code", c)
		}
		if c.Exit() < ExitNo || c.Exit() > ExitRetry {
			t.Errorf("%s ends with status %d", c, c.Exit())
		}
		m := c.Meaning()
		if m == "" || strings.HasSuffix(m, ".") || strings.ContainsAny(m, "\n\t") || unicode.IsUpper(rune(m[0])) && !unicode.IsUpper(rune(m[1])) && !strings.HasPrefix(m, "Git") && !strings.HasPrefix(m, "SKILL") {
			t.Errorf("%s: %q is no sentence in lower case without a full stop", c, m)
		}
	}
}

// Scripts branch on these: they are part of the contract.
func TestExitStatusesOfTheSharedCodes(t *testing.T) {
	for status, codes := range map[int][]Code{
		1: {"context_authority_violation", "context_isolation_violation", "secret_found"},
		2: {"usage", "project_not_configured", "actor_unknown", "config_key_unknown", "config_key_not_allowed", "not_a_repository"},
		3: {"io_failed", "git_failed", "unheard_of", ""},
		4: {"invalid_context_item", "invalid_context_field", "context_limits_exceeded", "protocol_error", "invalid_json", "invalid_front_matter"},
		5: {"skills_busy"},
	} {
		for _, c := range codes {
			if c.Exit() != status {
				t.Errorf("%s ends with status %d, want %d", c, c.Exit(), status)
			}
		}
	}
}

func TestErrorText(t *testing.T) {
	for _, c := range []struct {
		err  *Error
		want string
	}{
		{New(Usage, "no %s is given", "role"), "no role is given [usage]"},
		{New(InvalidJSON, "x").At("stdin", 3, 0), "stdin:3: x [invalid_json]"},
		{New(InvalidJSON, "x").At("a.toml", 3, 7), "a.toml:3:7: x [invalid_json]"},
		{New(InvalidJSON, "x").At("a.toml", 0, 7), "a.toml: x [invalid_json]"},
		{New(InvalidJSON, "x").At("", 3, 7), "x [invalid_json]"},
		{Wrap(io.ErrUnexpectedEOF, IOFailed, "cannot read %s", Quote("a\nb")), `cannot read "a` + "\uFFFD" + `b": unexpected EOF [io_failed]`},
		{Wrap(errors.New("two\nlines\x1b[1m"), IOFailed, "x"), "x: two\uFFFDlines\uFFFD[1m [io_failed]"},
		{New(IOFailed, "a\nb").At("c\x07d", 1, 0), "c\uFFFDd:1: a\uFFFDb [io_failed]"},
		{New(Usage, "x").On("field").WithHint("try %d", 2), "x [usage]"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestTheInnermostPlaceIsKept(t *testing.T) {
	inner := New(InvalidContextField, "x")
	outer := inner.At("inner", 2, 3).On("a.b").At("outer", 9, 9).On("c")
	if outer.Source != "inner" || outer.Line != 2 || outer.Column != 3 || outer.Field != "a.b" {
		t.Errorf("%+v", outer)
	}
	// A source without a line takes the line that comes later, and the other way round.
	if e := inner.At("file", 0, 0).At("stdin", 4, 5); e.Source != "file" || e.Line != 4 || e.Column != 5 {
		t.Errorf("%+v", e)
	}
	if e := inner.At("", 4, 0).At("stdin", 9, 9); e.Source != "stdin" || e.Line != 4 || e.Column != 0 {
		t.Errorf("%+v", e)
	}
	if *inner != (Error{Code: InvalidContextField, Message: "x"}) {
		t.Errorf("the first error changed: %+v", inner)
	}
	if hinted := inner.WithHint("h"); hinted.Hint != "h" || inner.Hint != "" {
		t.Errorf("%+v, %+v", hinted, inner)
	}
}

func TestCodesAreFoundInAChain(t *testing.T) {
	e := Wrap(io.EOF, GitFailed, "x")
	wrapped := fmt.Errorf("around: %w", errors.Join(errors.New("other"), e))
	if CodeOf(wrapped) != GitFailed || !Is(wrapped, GitFailed) || Is(wrapped, Usage) || !errors.Is(wrapped, io.EOF) {
		t.Errorf("%v", wrapped)
	}
	if CodeOf(nil) != "" || CodeOf(io.EOF) != "" || Is(nil, Usage) {
		t.Error("a code where none is")
	}
	if placed := Place(wrapped, "file"); CodeOf(placed) != GitFailed || !strings.HasPrefix(placed.Error(), "file: ") || !errors.Is(placed, io.EOF) {
		t.Errorf("%v", placed)
	}
	if Place(io.EOF, "file") != io.EOF || Place(nil, "file") != nil {
		t.Error("an error without a code has no place")
	}
}

func TestQuote(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    `""`,
		"plain é 😀":                           `"plain é 😀"`,
		"a\nb\tc\x00\x1b[2J\x7f\u0085":        "\"a\uFFFDb\uFFFDc\uFFFD\uFFFD[2J\uFFFD\uFFFD\"",
		"\u202eabc\u200b\u2028\u2029\ufeff":   "\"\uFFFDabc\uFFFD\uFFFD\uFFFD\uFFFD\"",
		"bad \xff\xfe UTF-8":                  "\"bad \uFFFD\uFFFD UTF-8\"",
		strings.Repeat("é", 1000):             `"` + strings.Repeat("é", 1000) + `"`,
		strings.Repeat("é", 1001):             "a text of 1001 characters",
		"x" + strings.Repeat("secret ", 1000): "a text of 7001 characters",
	} {
		if got := Quote(text); got != want {
			t.Errorf("%.50q: %q, want %q", text, got, want)
		}
	}
}

func FuzzPrintable(f *testing.F) {
	f.Add("plain")
	f.Add("\x1b]0;title\x07\u009b1m\u2066\xc2")
	f.Fuzz(func(t *testing.T, s string) {
		got := Printable(s)
		if !utf8.ValidString(got) || Printable(got) != got || utf8.RuneCountInString(got) != utf8.RuneCountInString(s) {
			t.Errorf("%q becomes %q", s, got)
		}
		for _, r := range got {
			if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) {
				t.Errorf("%q becomes %q, which holds %U", s, got, r)
			}
		}
		if q := Quote(s); strings.ContainsAny(q, "\n\r\x1b") {
			t.Errorf("%q is quoted as %q", s, q)
		}
	})
}
