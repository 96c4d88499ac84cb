package main

import (
	"context"
	"time"

	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/item"
	"kxm/lib/pool"
	"kxm/lib/project"
	"kxm/lib/wiki"
)

// diffCmd says what was learned between two commits.
type diffCmd struct {
	From      string `required:"" placeholder:"REV" help:"The older commit."`
	To        string `required:"" placeholder:"REV" help:"The newer commit."`
	StateFrom string `placeholder:"TIME" help:"State and journal as of this time on the older side; default: when that commit was made."`
	StateTo   string `placeholder:"TIME" help:"The same on the newer side."`
	Project   string `placeholder:"NAME" env:"KXM_PROJECT" help:"The project's name; default: the configuration's of each commit."`
	Format    string `enum:"json,text,markdown" default:"json" placeholder:"FORM" help:"json (one change a line), text, or markdown for a comment on a pull request."`
	ExitCode  bool   `help:"Exit 1 when something changed."`
}

// Help says what is compared.
func (*diffCmd) Help() string {
	return `Facts and skills are those of the two commits. State and journal belong to no branch: they
are compared as of the times when the commits were made, the whole second counted, and
whom to trust is decided as it is today on both sides.`
}

// Codes names what the command can end with.
func (*diffCmd) Codes() []fault.Code { return append(poolCodes(), fault.WikiChanged) }

// Run prints the changes.
func (c *diffCmd) Run(s *cli.Session) error {
	if err := (&source{Project: c.Project}).check(); err != nil {
		return err
	}
	stateFrom, err := parseTime("--state-from", c.StateFrom)
	if err != nil {
		return err
	}
	stateTo, err := parseTime("--state-to", c.StateTo)
	if err != nil {
		return err
	}
	ctx := context.Background()
	p, err := findPlace(ctx, s, s.Dir)
	if err != nil {
		return err
	}
	before, view, err := c.side(ctx, s, p, c.From, stateFrom)
	if err != nil {
		return err
	}
	after, view, err := c.side(ctx, s, p, c.To, stateTo)
	if err != nil {
		return err
	}
	changes := wiki.Compare(before.Items, after.Items, wiki.Options{Sections: view.Config.Wiki.Sections})
	switch c.Format {
	case "text":
		s.Print("%s", wiki.ChangesText(changes))
	case "markdown":
		s.Print("%s", wiki.ChangesMarkdown(changes))
	default:
		for i := range changes {
			s.Write(append(changes[i].AppendJSON(nil), '\n'))
		}
	}
	if c.ExitCode && len(changes) > 0 {
		return fault.New(fault.WikiChanged, "%s and %s differ in what the project knows", fault.Quote(c.From), fault.Quote(c.To))
	}
	return nil
}

func parseTime(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := item.ParseTime(text)
	if err != nil {
		return t, fault.Wrap(err, fault.Usage, "%s", flag)
	}
	return t, nil
}

// side reads the pool of one commit, with state and journal as of a time; zero is when
// the commit was made.
func (c *diffCmd) side(ctx context.Context, s *cli.Session, p *project.Place, rev string, asOf time.Time) (item.Pool, *project.View, error) {
	v, err := p.Revision(ctx, rev)
	if err != nil {
		return item.Pool{}, nil, err
	}
	if asOf.IsZero() && v.Commit != "" {
		commit, err := p.Repo.Commit(ctx, v.Commit)
		if err != nil {
			return item.Pool{}, nil, err
		}
		// Commits tell seconds, and events milliseconds: what happened just before the
		// commit must not look as if it came after.
		asOf = commit.Committer.When.Add(time.Second - time.Millisecond)
	}
	side, err := readRepository(ctx, &pool.Source{Place: p, View: v, Project: c.Project, Version: cli.Version, Now: s.Now}, asOf)
	if err != nil {
		return item.Pool{}, nil, err
	}
	warnGaps(s, side.Gaps)
	return side, v, nil
}
