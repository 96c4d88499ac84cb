package main

import (
	"context"
	"io/fs"
	"os"
	"time"

	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/item"
	"kxm/lib/pool"
	"kxm/lib/project"
	"kxm/lib/wiki"
)

// source is what the commands that read a pool share.
type source struct {
	Repo     bool   `help:"Read the pool from the repository: what is committed at HEAD. The default where standard input is a terminal or the null device."`
	Worktree bool   `xor:"view" help:"Read the repository's worktree instead of HEAD."`
	Staged   bool   `xor:"view" help:"Read the repository's index instead of HEAD, facts and pages."`
	Project  string `placeholder:"NAME" env:"KXM_PROJECT" help:"The project's name; default: the configuration's, else the only one in the pool."`
}

// read is a pool with the place that it was read at.
type read struct {
	item.Pool
	place   *project.Place
	view    *project.View
	project string

	repository *pool.Source // where the pool came from; nil for a stream
}

// fromRepository reports whether the pool is the repository's.
func (c *source) fromRepository(s *cli.Session) bool {
	return c.Repo || c.Worktree || c.Staged || nobody(s.In)
}

// nobody reports whether a stream is a terminal or the null device.
func nobody(stream any) bool {
	if cli.Terminal(stream) {
		return true
	}
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err == nil && os.SameFile(info, null)
}

func (c *source) check() error {
	if c.Project == item.SharedProject {
		return fault.New(fault.Usage, "--project cannot be %s, which every project reads", fault.Quote(item.SharedProject))
	}
	return nil
}

// pool reads the pool. stream, if not empty, names a file instead of standard input.
func (c *source) pool(ctx context.Context, s *cli.Session, stream string) (*read, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	p, err := findPlace(ctx, s, s.Dir)
	if err != nil {
		return nil, err
	}
	r := &read{place: p}
	if stream == "" && c.fromRepository(s) {
		if r.view, err = c.viewed(ctx, p); err != nil {
			return nil, err
		}
		r.repository = &pool.Source{Place: p, View: r.view, Project: c.Project, Version: cli.Version, Now: s.Now}
		r.Pool, err = readRepository(ctx, r.repository, time.Time{})
	} else {
		if r.view, err = p.Worktree(ctx); err != nil {
			return nil, err
		}
		r.Pool, err = readStream(s, stream)
	}
	if err != nil {
		return nil, err
	}
	r.project, err = c.name(r)
	return r, err
}

// name returns the project's name: the flag's or environment's, the configuration's,
// else that of the only project in the pool, which may have none.
func (c *source) name(r *read) (string, error) {
	if c.Project != "" {
		return c.Project, nil
	}
	if r.view.Config.Project != "" {
		return r.view.Config.Project, nil
	}
	return r.OnlyProject()
}

func readStream(s *cli.Session, name string) (item.Pool, error) {
	if name == "" || name == "-" {
		return item.ReadPool(s.In, "stdin")
	}
	f, err := os.Open(s.Path(name))
	if err != nil {
		return item.Pool{}, fault.Wrap(err, fault.Usage, "cannot read the pool")
	}
	defer f.Close()
	return item.ReadPool(f, name)
}

func (c *source) viewed(ctx context.Context, p *project.Place) (*project.View, error) {
	switch {
	case c.Worktree:
		return p.Worktree(ctx)
	case c.Staged:
		return p.Index(ctx)
	}
	return p.Revision(ctx, "HEAD")
}

// exists looks for a file, named from the top of the repository, in what was read.
func (r *read) exists(name string) bool {
	if r.view.Root == nil || !fs.ValidPath(name) {
		return false
	}
	_, err := fs.Stat(r.view.Root, name)
	return err == nil
}

// findPlace finds the project around a folder.
func findPlace(ctx context.Context, s *cli.Session, dir string) (*project.Place, error) {
	return project.Find(ctx, project.Options{Dir: dir, Explicit: s.Explicit(), Getenv: s.Getenv})
}

// warnGaps names what the pool lacks on standard error.
func warnGaps(s *cli.Session, gaps []item.Gap) {
	for _, g := range gaps {
		if g.Detail != "" {
			s.Warn("%s: %s", g.Gap, g.Detail)
		} else {
			s.Warn("%s", g.Gap)
		}
	}
}

// options are what a pool is compiled with. dir is the folder of the pages from the top
// of the repository.
func (r *read) options(dir string, include include) wiki.Options {
	return wiki.Options{Project: r.project, Dir: dir, Sections: r.view.Config.Wiki.Sections, Proposals: include.proposals, Journal: include.journal}
}

// poolCodes are those of reading a pool.
func poolCodes() []fault.Code {
	return []fault.Code{
		fault.NotARepository, fault.RepositoryUnsupported, fault.RepositoryNotOwned, fault.GitFailed, fault.GitUnavailable,
		fault.ObjectMissing, fault.ObjectCorrupt, fault.ConfigInvalid, fault.ConfigKeyUnknown, fault.ConfigKeyNotAllowed,
		fault.PathEscapes, fault.RedactionUnavailable, fault.ProjectNotConfigured, fault.StateRefBroken, fault.RevisionNotFound,
		fault.InvalidJSON, fault.InvalidContextItem, fault.InvalidContextField, fault.ContextLimitsExceeded, fault.ProtocolError,
		fault.ContextAuthorityViolation,
	}
}
