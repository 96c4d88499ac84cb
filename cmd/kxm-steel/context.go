package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/steel"
)

// contextCmd is the verbs about a signed-in state that is kept in a file.
type contextCmd struct {
	Save contextSaveCmd `cmd:"" help:"Write cookies and local storage to a file."`
	Load contextLoadCmd `cmd:"" help:"Set cookies and local storage from a file."`
}

// contextSaveCmd writes a context.
type contextSaveCmd struct {
	onTab
	Reveal     bool `help:"Allow -o -, which prints the context itself."`
	InWorktree bool `help:"Write the file even into a Git work tree."`
}

// Codes names what the command can end with.
func (*contextSaveCmd) Codes() []fault.Code { return attachingCodes() }

// Help says what is in the file and where it goes.
func (*contextSaveCmd) Help() string {
	return `The file holds all cookies of the browser, and the local storage of the page's origin and of those of its frames that are of the same site. Whoever has it is signed in: it has mode 0600, is never written through a symbolic link, and not into a Git work tree. With -o - and --reveal the context itself is printed, to be piped into a program that encrypts it. Otherwise nothing but counts is.`
}

// Run writes the context and prints counts.
func (c *contextSaveCmd) Run(s *cli.Session) error {
	to, err := destination(s, "context")
	if err != nil {
		return err
	}
	if to == "-" && !c.Reveal {
		return fault.New(fault.Usage, "a context is full of secrets, which are not printed").WithHint("-o FILE, or --reveal to pipe it into a program that encrypts it")
	}
	if tree := workTree(s.Path(to)); to != "-" && tree != "" && !c.InWorktree {
		return fault.New(fault.Usage, "%s lies in the Git work tree %s, where a context is easily committed", fault.Quote(to), fault.Quote(tree)).
			WithHint("name a file elsewhere, or --in-worktree")
	}
	return c.run(s, "context save", false, func(ctx context.Context, d *desk, p *steel.Page) error {
		saved, lost, err := p.SaveContext(ctx)
		if err != nil {
			return err
		}
		if lost > 0 {
			s.Warn("items of local storage that are no text were left out: %d", lost)
		}
		return d.saveContext(to, saved)
	})
}

// saveContext writes a context, in which the key has no place either, and tells of it.
func (d *desk) saveContext(to string, saved *steel.SavedContext) error {
	raw, err := saved.Encode()
	if err != nil {
		return err
	}
	f, err := d.fill(to, []byte(d.Secrets.Mask(string(raw))))
	if f == nil || err != nil {
		return err
	}
	if err := f.commit(); err != nil {
		return err
	}
	return d.emit(saved.Report(to))
}

// workTree returns the Git work tree that a file is in, or "". Links in the way to it
// are followed.
func workTree(path string) string {
	dir := filepath.Dir(path)
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

// contextLoadCmd sets what a context holds.
type contextLoadCmd struct {
	onTab
	File string `arg:"" name:"file" help:"The file; - reads it from standard input."`
}

// Codes names what the command can end with.
func (*contextLoadCmd) Codes() []fault.Code {
	return attachingCodes(fault.SteelBadContext, fault.SteelNavigationFailed, fault.SteelNavigationTimeout)
}

// Help says what becomes of the page.
func (*contextLoadCmd) Help() string {
	return `Cookies and items are added to those of the browser; of the same name, that of the file counts. No request reaches any site, and the tab shows a blank page in the end. A file that other users can read is refused.`
}

// Run loads the context and prints counts.
func (c *contextLoadCmd) Run(s *cli.Session) error {
	saved, err := readContext(s, c.File)
	if err != nil {
		return err
	}
	if c.Timeout == 0 {
		c.Timeout = duration(loadTime)
	}
	return c.run(s, "context load", false, func(ctx context.Context, d *desk, p *steel.Page) error {
		if err := p.LoadContext(ctx, saved); err != nil {
			return err
		}
		return d.emit(saved.Report(c.File))
	})
}

// readContext reads a context from a file that is its user's own; "-" is standard input.
func readContext(s *cli.Session, name string) (*steel.SavedContext, error) {
	unread := func(err error) error { return fault.Wrap(err, fault.IOFailed, "cannot read the context") }
	from := s.In
	if name != "-" {
		f, err := os.Open(s.Path(name))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fault.New(fault.Usage, "there is no file %s", fault.Quote(name))
		}
		if err != nil {
			return nil, unread(err)
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return nil, unread(err)
		}
		if err := steel.CheckContextFile(info, name); err != nil {
			return nil, err
		}
		from = f
	}
	data, err := io.ReadAll(io.LimitReader(from, steel.MaxContext+1))
	if err != nil {
		return nil, unread(err)
	}
	return steel.ParseContext(data)
}
