package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"

	"kxm/lib/fault"
	"kxm/lib/ndjson"
	"kxm/lib/redact"
)

// Session is one run of one command: its streams, its folder and the answer it
// builds. A command writes its answer once it is complete; the session writes it
// out in one piece when the command returns, so that a failure leaves no half
// answer in a pipe.
type Session struct {
	Program string
	Globals Globals
	Streams

	out        answer
	errorsJSON bool
}

// adopt takes the global flags over from the parsed grammar.
func (s *Session) adopt(grammar any) error {
	field := reflect.ValueOf(grammar).Elem().FieldByName("Globals")
	s.Globals = field.Interface().(Globals)
	s.errorsJSON = s.Globals.Errors == "json"
	if s.Globals.Chdir == "" {
		return nil
	}
	dir := s.Path(s.Globals.Chdir)
	info, err := os.Stat(dir)
	if err != nil {
		return fault.Wrap(cause(err), fault.Usage, "cannot run in %s", fault.Quote(s.Globals.Chdir))
	}
	if !info.IsDir() {
		return fault.New(fault.Usage, "cannot run in %s: not a folder", fault.Quote(s.Globals.Chdir))
	}
	s.Dir = dir
	return nil
}

// Explicit reports whether the user named the folder with -C, in which case
// Git's environment does not count.
func (s *Session) Explicit() bool { return s.Globals.Chdir != "" }

// Path resolves a path from the command line against the session's folder.
func (s *Session) Path(name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(s.Dir, name)
}

// ReadFile reads a file that the command line names; "-" is standard input.
func (s *Session) ReadFile(name string) ([]byte, error) {
	if name == "-" {
		data, err := io.ReadAll(s.In)
		if err != nil {
			return nil, fault.Wrap(cause(err), fault.IOFailed, "cannot read standard input")
		}
		return data, nil
	}
	data, err := os.ReadFile(s.Path(name))
	if err != nil {
		code := fault.IOFailed
		if errors.Is(err, fs.ErrNotExist) {
			code = fault.Usage // an argument that names nothing
		}
		return nil, fault.Wrap(cause(err), code, "cannot read %s", fault.Quote(name))
	}
	return data, nil
}

// Write adds bytes to the answer. It never fails: the answer is written when the
// command has returned.
func (s *Session) Write(p []byte) (int, error) { return s.out.Write(p) }

// WriteString is Write for a text, which is kept rather than copied where it is long.
func (s *Session) WriteString(text string) (int, error) { return s.out.WriteString(text) }

// Print adds formatted text to the answer.
func (s *Session) Print(format string, args ...any) { fmt.Fprintf(&s.out, format, args...) }

// Emit adds one JSON value and a line end to the answer.
func (s *Session) Emit(v any) error {
	line, err := ndjson.Marshal(v)
	if err != nil {
		return fmt.Errorf("encoding the answer: %w", err)
	}
	s.out.Write(append(line, '\n'))
	return nil
}

// Warn prints a diagnostic on standard error unless -q was given. Data from
// outside belongs in it only through fault.Quote or %q.
func (s *Session) Warn(format string, args ...any) {
	if !s.Globals.Quiet {
		s.diagnose("warning: " + fmt.Sprintf(format, args...))
	}
}

// Note prints a diagnostic on standard error when -v was given.
func (s *Session) Note(format string, args ...any) {
	if s.Globals.Verbose && !s.Globals.Quiet {
		s.diagnose(fmt.Sprintf(format, args...))
	}
}

func (s *Session) diagnose(text string) {
	// Nothing useful can be done when standard error itself fails.
	_, _ = fmt.Fprintf(s.Err, "%s: %s\n", s.Program, printable(text))
}

// printable makes a text fit for standard error: messages quote what they refuse,
// which may hold secrets and terminal escapes.
func printable(text string) string {
	clean, _ := redact.Redact(text)
	// Messages that are not ours quote as Go does. The rules know `key = "…"`, not what
	// that becomes in such quotes.
	if plain := strings.ReplaceAll(clean, `\"`, `"`); plain != clean {
		if masked, found := redact.Redact(plain); len(found) > 0 {
			clean = masked
		}
	}
	return fault.Printable(clean)
}

// finish writes the answer and the error and returns the exit status.
func (s *Session) finish(err error) int {
	status := fault.ExitOK
	var end *Outcome
	if errors.As(err, &end) {
		status = end.Status
	} else if err != nil {
		status = s.report(err).Code.Exit()
	}
	// The answer goes out also beside an error: a command adds to it only what is
	// true and whole, such as the findings of a check that then exits 1. Where it
	// cannot be written, that decides the status: 1 is a verdict, and nobody has it.
	if werr := s.flush(err == nil); errors.Is(werr, syscall.EPIPE) {
		// The reader has gone. On standard output Go dies of SIGPIPE by itself; this is
		// the case of -o and a named pipe.
		status = max(status, fault.ExitFailed)
	} else if werr != nil {
		status = s.report(werr).Code.Exit()
	}
	return status
}

// flush writes the answer. An empty one is an answer too, unless the command failed:
// then the output file keeps its bytes.
func (s *Session) flush(done bool) error {
	if s.Globals.Output != "" && s.Globals.Output != "-" {
		if s.out.size == 0 && !done {
			return nil
		}
		if err := ReplaceFile(s.Path(s.Globals.Output), s.out.bytes()); err != nil {
			return fault.Wrap(cause(err), fault.IOFailed, "cannot write %s", fault.Quote(s.Globals.Output))
		}
		return nil
	}
	if s.out.size == 0 {
		return nil
	}
	if err := s.out.sendTo(s.Streams.Out); err != nil {
		return fault.Wrap(cause(err), fault.IOFailed, "cannot write standard output")
	}
	return nil
}

// report prints an error in the form asked for and returns it with its code.
func (s *Session) report(err error) *fault.Error {
	var coded *fault.Error
	if !errors.As(err, &coded) {
		coded = &fault.Error{Code: fault.IOFailed, Message: err.Error(), Err: err}
	}
	if s.errorsJSON {
		s.reportJSON(coded)
		return coded
	}
	s.diagnose(coded.Error())
	if coded.Hint != "" {
		s.diagnose("hint: " + coded.Hint)
	}
	return coded
}

func (s *Session) reportJSON(e *fault.Error) {
	type body struct {
		Code    fault.Code `json:"code"`
		Message string     `json:"message"`
		Hint    string     `json:"hint,omitempty"`
		Source  string     `json:"source,omitempty"`
		Line    int        `json:"line,omitempty"`
		Column  int        `json:"column,omitempty"`
		Field   string     `json:"field,omitempty"`
	}
	line, err := ndjson.Marshal(struct {
		Error body `json:"error"`
	}{body{e.Code, printable(e.Message), printable(e.Hint), printable(e.Source), e.Line, e.Column, printable(e.Field)}})
	if err != nil {
		panic(err) // strings and integers always encode
	}
	_, _ = fmt.Fprintf(s.Err, "%s\n", line)
}

// cause strips the operation and path that package os puts in front of an error,
// since our message has named both.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		return link.Err
	}
	return err
}

// Say prints a line on standard error unless -q was given: what a person must see
// beside the answer, such as the text that was signed.
func (s *Session) Say(format string, args ...any) {
	if !s.Globals.Quiet {
		s.diagnose(fmt.Sprintf(format, args...))
	}
}
