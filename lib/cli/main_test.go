//go:build unix

package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"kxm/lib/fault"
	"kxm/lib/kxmtest"
)

// childVariable makes the test binary the program "tool", with the name of what its
// "do" command does.
const childVariable = "CLI_TEST_CHILD"

func TestMain(m *testing.M) {
	if job, ok := os.LookupEnv(childVariable); ok {
		g := newGrammar()
		g.Do.run = jobs[job]
		Main(program(g))
	}
	// What the surroundings say must not show in what the tests compare.
	os.Unsetenv("KXM_ERRORS")
	os.Setenv("COLUMNS", "80")
	os.Exit(m.Run())
}

// jobs are what a child does.
var jobs = map[string]func(s *Session) error{
	"nothing": func(*Session) error { return nil },
	"answer":  func(s *Session) error { s.Print("answer\n"); return nil },
	"refuse": func(s *Session) error {
		s.Print("finding\n")
		return fault.New(fault.MemoryCheckFailed, "findings")
	},
	"big": func(s *Session) error { s.Print("%s\n", strings.Repeat("x", 1<<20)); return nil },
	"big into a small file": func(s *Session) error {
		// A full disk, for this process alone.
		signal.Ignore(syscall.SIGXFSZ)
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1000, Max: 1000}); err != nil {
			return err
		}
		s.Print("%s\n", strings.Repeat("x", 1<<20))
		return nil
	},
	"panic":                   func(*Session) error { panic(fault.New(fault.RedactionUnavailable, "no rules")) },
	"time":                    func(s *Session) error { s.Print("%s\n", s.Now().Format(time.RFC3339Nano)); return nil },
	"environment":             func(s *Session) error { s.Print("%s\n", s.Getenv("CLI_TEST_WORD")); return nil },
	"another was interrupted": func(*Session) error { return &Outcome{Signal: syscall.SIGINT} },
	// Waits with nothing to clean up.
	"wait": func(s *Session) error {
		fmt.Fprintln(s.Err, "ready")
		time.Sleep(time.Minute)
		return nil
	},
	// Waits and cleans up.
	"wait and clean": func(s *Session) error {
		ctx, stop := s.Context()
		defer stop()
		if err := os.WriteFile(s.Path("half-written"), nil, 0o600); err != nil {
			return err
		}
		s.Print("half an answer")
		fmt.Fprintln(s.Err, "ready")
		select {
		case <-ctx.Done():
		case <-time.After(time.Minute):
		}
		return errors.Join(ctx.Err(), os.Remove(s.Path("half-written")))
	},
	// The signal comes when the work is done.
	"wait and be done": func(s *Session) error {
		ctx, stop := s.Context()
		s.Print("whole answer\n")
		fmt.Fprintln(s.Err, "ready")
		<-ctx.Done()
		stop()
		stop()
		return nil
	},
	// Cleaning up that never ends.
	"wait and hang": func(s *Session) error {
		ctx, stop := s.Context()
		defer stop()
		fmt.Fprintln(s.Err, "ready")
		<-ctx.Done()
		fmt.Fprintln(s.Err, "cleaning")
		time.Sleep(time.Minute)
		return nil
	},
	// A context that was given back leaves the signals as they were.
	"clean and wait": func(s *Session) error {
		_, stop := s.Context()
		stop()
		fmt.Fprintln(s.Err, "ready")
		time.Sleep(time.Minute)
		return nil
	},
}

// child is the program "tool" in a process of its own.
func child(t *testing.T, job string, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, args...)
	cmd.Env = append(os.Environ(), childVariable+"="+job)
	cmd.Dir = t.TempDir()
	return cmd
}

// below runs a command as "$0" and "$@" of a shell script.
func below(cmd *exec.Cmd, script string) *exec.Cmd {
	cmd.Args = append([]string{"sh", "-c", script, cmd.Path}, cmd.Args[1:]...)
	cmd.Path = "/bin/sh"
	return cmd
}

// run runs a child to its end.
func run(t *testing.T, cmd *exec.Cmd) (status syscall.WaitStatus, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	if cmd.Stdout == nil {
		cmd.Stdout = &out
	}
	if cmd.Stderr == nil {
		cmd.Stderr = &errs
	}
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.Sys().(syscall.WaitStatus), out.String(), errs.String()
}

// grammar is a small one with what real ones have: a default command, a group with a
// verb that also stands outside it, and flags of one name that take different things.
type grammar struct {
	Globals

	Show  showCmd `cmd:"" default:"withargs" help:"Show a thing (the default command)."`
	List  listCmd `cmd:"" help:"List things, one a line."`
	Skill struct {
		List   skillListCmd   `cmd:"" help:"List skills."`
		Create skillCreateCmd `cmd:"" help:"Create a skill from a folder."`
	} `cmd:"" help:"A group of verbs."`
	Do    doCmd   `cmd:"" help:"Do what the test says. It's for \"tests\" only: a-b \\ 'c'."`
	Ghost listCmd `cmd:"" hidden:"" help:"Never shown."`
}

type showCmd struct {
	Format string   `enum:"json,markdown" default:"json" placeholder:"FORM" help:"json or markdown."`
	Input  string   `short:"i" placeholder:"FILE" help:"Read FILE."`
	Tag    []string `sep:"none" placeholder:"TAG" help:"May be repeated [really]: yes."`
	Name   string   `placeholder:"NAME" env:"CLI_TEST_NAME" help:"Whose."`
	Unseen bool     `hidden:"" help:"Never shown."`
	Text   string   `arg:"" optional:"" help:"The text."`
}

type listCmd struct {
	Format string `enum:"text,github" default:"text" placeholder:"FORM" help:"text or github."`
	Exit   bool   `short:"e" help:"Exit 1 when empty."`
	Kinds  string `placeholder:"K,K" listof:"state,skill,episode" help:"Only these: state, skill, episode."`
}

type skillListCmd struct {
	Level  string   `arg:"" optional:"" oneof:"high,low" help:"high or low."`
	Files  []string `arg:"" optional:"" placeholder:"FILE" help:"The files."`
	Status string   `enum:"promoted,rejected," default:"" placeholder:"STATUS" help:"Only these."`
}

type skillCreateCmd struct {
	Folder []string `arg:"" placeholder:"DIR" help:"The folders."`
	As     string   `required:"" placeholder:"NAME" help:"Who."`
}

type doCmd struct {
	run func(s *Session) error
}

func (c *showCmd) Run(s *Session) error {
	return s.Emit(map[string]string{"text": c.Text, "name": c.Name})
}
func (c *listCmd) Run(s *Session) error        { s.Print("listed\n"); return nil }
func (c *skillListCmd) Run(s *Session) error   { s.Print("skills\n"); return nil }
func (c *skillCreateCmd) Run(s *Session) error { s.Print("created\n"); return nil }
func (c *doCmd) Run(s *Session) error          { return c.run(s) }

func (*doCmd) PassesStatusOf() string { return "what the test says" }

func (*showCmd) Codes() []fault.Code { return []fault.Code{fault.InvalidJSON, fault.Usage} }
func (*listCmd) Codes() []fault.Code { return []fault.Code{fault.NoMatch} }

func newGrammar() *grammar { return new(grammar) }

func program(g *grammar) Program {
	return Program{Name: "tool", Description: "Show things, for tests.\n\nA second paragraph.", Grammar: g}
}

// world is what a run in this process is given and what it left.
type world struct {
	in     string
	env    map[string]string
	dir    string
	out    io.Writer // default: Stdout
	job    func(s *Session) error
	Stdout bytes.Buffer
	Stderr bytes.Buffer
}

func (w *world) run(t *testing.T, args ...string) int {
	t.Helper()
	w.Stdout.Reset()
	w.Stderr.Reset()
	g := newGrammar()
	g.Do.run = w.job
	if w.dir == "" {
		w.dir = t.TempDir()
	}
	out := w.out
	if out == nil {
		out = &w.Stdout
	}
	return Run(program(g), args, Streams{
		In: strings.NewReader(w.in), Out: out, Err: &w.Stderr, Dir: w.dir, Now: kxmtest.Now,
		Getenv: func(name string) string { return w.env[name] },
	})
}

// want checks status and both streams.
func (w *world) want(t *testing.T, status, got int, stdout, stderr string) {
	t.Helper()
	if got != status || w.Stdout.String() != stdout || w.Stderr.String() != stderr {
		t.Errorf("status %d, stdout %q, stderr %q\nwant   %d, stdout %q, stderr %q", got, &w.Stdout, &w.Stderr, status, stdout, stderr)
	}
}
