// Package fault owns the errors that a caller can branch on: every error code of
// the toolchain, its exit status and its meaning, and the Error that carries a
// code with its place and a hint.
//
// Start with [New]. A package that refuses something returns an *Error; lib/cli
// turns it into text or JSON on stderr and into an exit status. The package
// prints nothing and knows no flag.
package fault

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Error is a refusal or failure with a stable code. Message says what failed
// first and quotes its subject, in lower case and without a full stop; Hint, if
// any, is one line that says what to do. Source, Line, Column and Field name the
// place: a file name or "stdin", lines and columns from 1 (0: not known), a field
// in dotted form.
type Error struct {
	Code    Code
	Message string
	Hint    string
	Source  string
	Line    int
	Column  int
	Field   string
	Err     error // the cause, for errors.Is and errors.As; its text is in Message if it matters
}

// New returns an error with a code and a formatted message. Data from outside
// belongs in the message only through [Quote] or %q.
func New(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Wrap is New with a cause, whose text is appended after a colon. Of a cause that is
// an *Error only the place and message are: a message holds one code.
func Wrap(err error, code Code, format string, args ...any) *Error {
	text := err.Error()
	if e, ok := err.(*Error); ok {
		text = e.text()
	}
	return &Error{Code: code, Message: fmt.Sprintf(format, args...) + ": " + Printable(text), Err: err}
}

// Error returns the message with its place and code, as it stands on stderr
// behind the program's name.
func (e *Error) Error() string { return fmt.Sprintf("%s [%s]", e.text(), e.Code) }

// text is Error without the code.
func (e *Error) text() string {
	var b strings.Builder
	if e.Source != "" {
		b.WriteString(Printable(e.Source))
		if e.Line > 0 {
			fmt.Fprintf(&b, ":%d", e.Line)
			if e.Column > 0 {
				fmt.Fprintf(&b, ":%d", e.Column)
			}
		}
		b.WriteString(": ")
	}
	b.WriteString(Printable(e.Message))
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// WithHint returns a copy that carries a hint.
func (e *Error) WithHint(format string, args ...any) *Error {
	c := *e
	c.Hint = fmt.Sprintf(format, args...)
	return &c
}

// At returns a copy placed in a source; line and column may be 0. A place that
// is already known is kept, so that the innermost package has the last word.
func (e *Error) At(source string, line, column int) *Error {
	c := *e
	if c.Source == "" {
		c.Source = source
	}
	if c.Line == 0 {
		c.Line, c.Column = line, column
	}
	return &c
}

// On returns a copy that names a field, unless one is named already.
func (e *Error) On(field string) *Error {
	c := *e
	if c.Field == "" {
		c.Field = field
	}
	return &c
}

// Detail returns an error's text without its code, as the detail of something else.
func Detail(err error) string {
	return strings.TrimSuffix(err.Error(), " ["+string(CodeOf(err))+"]")
}

// CodeOf returns the code of the first *Error in err's chain, or "" if there is
// none.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// Is reports whether err carries the code.
func Is(err error, code Code) bool { return CodeOf(err) == code }

// quoteLimit bounds the subject that a message repeats, in code points: the longest
// text in a list of a context item has as many.
const quoteLimit = 1_000

// Quote puts data from outside into double quotes with its control characters
// masked, so that a message stays one line and a terminal obeys no escape sequence
// in it. An overlong text is told by its length alone: the part of it that a cut
// would leave may hold a part of a secret, which no rule knows any more.
func Quote(s string) string {
	if n := utf8.RuneCountInString(s); n > quoteLimit {
		return fmt.Sprintf("a text of %d characters", n)
	}
	return `"` + Printable(s) + `"`
}

// Printable replaces control and format characters (terminal escapes, line
// breaks, bidirectional marks) and invalid UTF-8 by U+FFFD; other text is
// returned as it is.
func Printable(s string) string {
	if isPlain(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			return utf8.RuneError
		}
		return r
	}, s)
}

// isPlain reports whether s holds visible ASCII and spaces alone, as most texts do:
// names are checked by the thousand, and other characters are looked up in tables.
func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// Place puts an error's *Error into a source, unless it has one; other errors are
// returned as they are.
func Place(err error, source string) error {
	var e *Error
	if errors.As(err, &e) {
		return e.At(source, 0, 0)
	}
	return err
}
