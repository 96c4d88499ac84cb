package main

import (
	"context"
	"fmt"
	"os"

	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/wiki"
)

// lintCmd holds pages against a pool.
type lintCmd struct {
	source
	Dir    string `arg:"" optional:"" name:"dir" help:"The folder whose .kxm/knowledge/wiki holds the pages, or that folder itself; default: the one that holds .kxm."`
	Pool   string `placeholder:"FILE" help:"Read the pool (of kxm-memory list --all) from a file, - is standard input, instead of the repository."`
	Strict bool   `help:"Exit 1 for warnings, too."`
	Format string `enum:"json,text,github,sarif" default:"json" placeholder:"FORM" help:"json (one finding a line), text, github (annotations of a workflow), or sarif (2.1.0)."`
	Rules  bool   `help:"List the rules instead."`
}

// Help says which pool it is.
func (*lintCmd) Help() string {
	return `The pool is the repository's, whatever stands at standard input, unless --pool names another.`
}

// Codes names what the command can end with.
func (*lintCmd) Codes() []fault.Code {
	return append(poolCodes(), fault.WikiPoolUnavailable, fault.WikiLintFailed)
}

// Run prints the findings, and fails when one is an error.
func (c *lintCmd) Run(s *cli.Session) error {
	if c.Rules {
		return listRules(s)
	}
	if c.Pool != "" && (c.Repo || c.Worktree || c.Staged) {
		return fault.New(fault.Usage, "--pool and --repo name two pools")
	}
	if c.Dir != "" { // a misspelled one would otherwise look clean
		if info, err := os.Stat(s.Path(c.Dir)); err != nil || !info.IsDir() {
			return fault.New(fault.Usage, "there is no folder %s", fault.Quote(c.Dir))
		}
	}
	ctx := context.Background()
	pool, err := c.read(ctx, s)
	if err != nil {
		return err
	}
	warnGaps(s, pool.Gaps)
	if gap, missing := wiki.Unavailable(pool.Gaps); missing {
		return fault.New(fault.WikiPoolUnavailable, "the stream says that its pool is missing: %s", fault.Quote(gap))
	}
	to, err := c.pages(ctx, s, pool)
	if err != nil {
		return err
	}
	findings := wiki.Lint(wiki.LintInput{
		Pages: to.files, Folder: to.name(), Items: pool.Items, Project: pool.project, NoState: noState(ctx, pool), Exists: to.exists(pool, c.Staged),
	})
	if err := c.print(s, findings); err != nil {
		return err
	}
	return c.verdict(findings)
}

// read reads the pool: a file's if one is named, else the repository's, whatever stands
// at standard input.
func (c *lintCmd) read(ctx context.Context, s *cli.Session) (*read, error) {
	if c.Pool == "" {
		c.Repo = true
	}
	return c.pool(ctx, s, c.Pool)
}

// pages finds the folder of the pages and reads them.
func (c *lintCmd) pages(ctx context.Context, s *cli.Session, pool *read) (*target, error) {
	to, err := pageTarget(ctx, s, c.Dir, pool, c.Staged)
	if err != nil || len(to.files) > 0 || c.Dir == "" {
		return to, err
	}
	bare := *to
	bare.folder = "."
	if err := bare.load(pool, c.Staged); err != nil {
		return nil, err
	}
	if bare.anyOurs() {
		return &bare, nil
	}
	return to, nil
}

// noState reports whether no state could be read: the repository has no such ref, or
// the stream holds no record of it.
func noState(ctx context.Context, pool *read) bool {
	if pool.repository != nil {
		return !pool.repository.HasState(ctx)
	}
	for i := range pool.Items {
		if it := &pool.Items[i]; it.StateKey != "" || it.JournalCategory != "" {
			return false
		}
	}
	return true
}

func (c *lintCmd) print(s *cli.Session, findings []wiki.Finding) error {
	if c.Format == "sarif" {
		raw, err := wiki.SARIF(findings, cli.Version)
		if err != nil {
			return fmt.Errorf("encoding the answer: %w", err)
		}
		s.Write(append(raw, '\n'))
		return nil
	}
	for i := range findings {
		f := &findings[i]
		switch c.Format {
		case "text":
			s.Print("%s", f.Text())
		case "github":
			s.Print("%s", f.GitHub())
		default:
			s.Write(append(f.AppendJSON(nil), '\n'))
		}
	}
	return nil
}

func (c *lintCmd) verdict(findings []wiki.Finding) error {
	failed := 0
	for i := range findings {
		if c.Strict || findings[i].Severity == wiki.SeverityError {
			failed++
		}
	}
	switch {
	case failed == 0:
		return nil
	case failed == 1:
		return fault.New(fault.WikiLintFailed, "1 finding in the pages")
	}
	return fault.New(fault.WikiLintFailed, "%d findings in the pages", failed)
}

func listRules(s *cli.Session) error {
	for _, r := range wiki.Rules() {
		if err := s.Emit(struct {
			Schema   string        `json:"schema"`
			Rule     string        `json:"rule"`
			Severity wiki.Severity `json:"severity"`
			Meaning  string        `json:"meaning"`
			Fix      string        `json:"fix"`
		}{"kxm.wiki-rule.v1", r.ID, r.Severity, r.Meaning, r.Fix}); err != nil {
			return err
		}
	}
	return nil
}

// exists returns a function that looks for a file which a page links to, named from the
// top of the repository; outside one, from the folder that holds .kxm.
func (t *target) exists(pool *read, staged bool) func(string) bool {
	if staged || pool.place.Top == "" {
		return pool.exists
	}
	top := pool.place.Top
	if t.dir == "" {
		top = t.root
	}
	return existsBelow(top)
}
