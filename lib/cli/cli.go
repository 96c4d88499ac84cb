// Package cli is the edge between a binary and its operating system: it parses
// the command line, opens the streams, runs one command, and turns what the
// command returns into bytes, diagnostics and an exit status.
//
// Start with [Program] and [Main]. It is the only package that imports kong;
// commands are plain structs whose tags describe their flags and whose Run method
// takes a [Session]. It decides nothing about the product: what a command means
// is in cmd/ and the packages below.
package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"kxm/lib/fault"
)

// Program describes one binary.
type Program struct {
	Name        string
	Description string // what it does, for --help and the manual page
	Grammar     any    // pointer to a struct that embeds Globals and holds the commands
}

// Globals are the flags that every command of every binary takes. A grammar
// embeds it.
type Globals struct {
	Chdir    string       `short:"C" placeholder:"DIR" help:"Run as if started in DIR, and ignore Git's environment variables."`
	Output   string       `short:"o" placeholder:"FILE" help:"Write the answer to FILE, replaced as a whole, instead of standard output."`
	Errors   string       `placeholder:"FORM" help:"Form of the error on standard error: text or json." default:"text" enum:"text,json," env:"KXM_ERRORS"`
	Quiet    bool         `short:"q" help:"No warnings."`
	Verbose  bool         `short:"v" help:"Say more on standard error."`
	JSON     bool         `name:"json" hidden:"" help:"Accepted and without effect: answers are JSON."`
	Version  versionFlag  `help:"Print the version and end."`
	Generate generateFlag `placeholder:"FORM" help:"Print the manual page (man), a completion script (bash, zsh, fish) or the grammar (json), and end."`
}

// Streams is what a program is given by its surroundings. Tests make their own.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	Getenv   func(string) string
	Now      func() time.Time
	Dir      string // the working directory, absolute
}

// Main runs the program on the process's arguments and streams and ends the
// process. It does not return.
func Main(p Program) {
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: the working directory is gone: %v [%s]\n", p.Name, err, fault.IOFailed)
		os.Exit(fault.ExitFailed)
	}
	code := Run(p, os.Args[1:], Streams{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		Getenv: os.Getenv, Now: clock(os.Getenv), Dir: dir,
	})
	dieIfInterrupted()
	os.Exit(code)
}

// clock is the one clock of the toolchain. SOURCE_DATE_EPOCH, seconds since 1970 as
// the reproducible-builds project defines it, stops it.
func clock(getenv func(string) string) func() time.Time {
	if s, err := strconv.ParseInt(getenv("SOURCE_DATE_EPOCH"), 10, 64); err == nil && s >= 0 {
		return func() time.Time { return time.Unix(s, 0).UTC() }
	}
	return func() time.Time { return time.Now().UTC() }
}

// done ends the parse early: help, version and generated text are on the
// session's output.
type done struct{}

// Run is Main without the process: it returns the exit status.
func Run(p Program, args []string, streams Streams) (status int) {
	s := &Session{Program: p.Name, Streams: streams}
	s.errorsJSON = wantsJSONErrors(args, streams.Getenv)
	defer func() {
		if r := recover(); r != nil {
			switch r := r.(type) {
			case done:
				status = s.finish(nil)
			case *fault.Error: // a package that cannot work at all, such as a detector that does not load
				status = s.finish(r)
			default:
				panic(r)
			}
		}
	}()
	p.Grammar = pruned(p.Grammar, args)
	parser, err := newParser(p, s)
	if err != nil {
		// A grammar that does not build is a defect of the program; the tests run every --help.
		panic(err)
	}
	ctx, err := parser.Parse(args)
	if err != nil {
		return s.finish(usageError(p, err))
	}
	if err := s.adopt(ctx.Model.Target.Addr().Interface()); err != nil {
		return s.finish(err)
	}
	err = ctx.Run(s)
	var end *Outcome
	if errors.As(err, &end) && end.Signal != nil {
		interrupted.Store(end.Signal)
	}
	if interrupted.Load() != nil {
		// Main dies of the signal. The answer may be incomplete, and the error would
		// only say that the signal came.
		return fault.ExitFailed
	}
	return s.finish(err)
}

func newParser(p Program, s *Session) (*kong.Kong, error) {
	return kong.New(p.Grammar,
		kong.Name(p.Name),
		kong.Description(p.Description),
		kong.Writers(&s.out, &s.out),
		kong.Exit(func(int) { panic(done{}) }),
		kong.Help(help),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
		kong.Vars{"version": p.Name + " " + version()},
	)
}

// usageError turns kong's refusal into ours. Errors that a flag's decoder gave a
// code keep it.
func usageError(p Program, err error) error {
	var coded *fault.Error
	if errors.As(err, &coded) {
		return coded
	}
	path := p.Name
	var parse *kong.ParseError
	if errors.As(err, &parse) && parse.Context != nil {
		if n := parse.Context.Selected(); n != nil && (n.Parent == nil || n.Parent.DefaultCmd != n) {
			path = n.FullPath()
		}
	}
	return fault.New(fault.Usage, "%s", err.Error()+suggestion(err)).WithHint("%s --help", path)
}

// wantsJSONErrors looks for the form of errors before the command line is
// parsed, since the parse itself may be what fails.
func wantsJSONErrors(args []string, getenv func(string) string) bool {
	form := getenv("KXM_ERRORS")
	for i, a := range args {
		if a == "--" {
			break
		}
		if v, ok := strings.CutPrefix(a, "--errors="); ok {
			form = v
		} else if a == "--errors" && i+1 < len(args) {
			form = args[i+1]
		}
	}
	return form == "json"
}
