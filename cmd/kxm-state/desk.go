package main

import (
	"cmp"
	"context"
	"iter"
	"strconv"
	"time"

	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/item"
	"kxm/lib/project"
	"kxm/lib/redact"
	"kxm/lib/state"
)

// reading is what every command that reads the store takes.
type reading struct {
	Project  string `placeholder:"NAME" env:"KXM_PROJECT" help:"The project's name; default: the configuration's."`
	TrustRef string `placeholder:"REF" help:"The trust point; default: Git's kxm.trustRef, else refs/remotes/origin/HEAD, else HEAD where there is no remote."`
}

// past names an earlier state.
type past struct {
	AsOf string `name:"as-of" placeholder:"TIME" xor:"past" help:"As of a time, RFC 3339 with a zone or a date."`
	At   string `placeholder:"REV" xor:"past" help:"As this store was at a commit of its ref."`
}

// when reads the flags.
func (p past) when() (state.When, error) {
	if p.AsOf == "" {
		return state.When{At: p.At}, nil
	}
	at, err := item.ParseTime(p.AsOf)
	if err != nil {
		return state.When{}, fault.New(fault.Usage, "--as-of: %s is no RFC 3339 time with a zone, and no date", fault.Quote(p.AsOf))
	}
	return state.When{AsOf: at}, nil
}

// desk is the store as one command sees it.
type desk struct {
	*state.Store
	s    *cli.Session
	view *project.View
	now  time.Time
}

// open finds the repository, the project and the trust point.
func (r reading) open(ctx context.Context, s *cli.Session) (*desk, error) {
	p, err := project.Find(ctx, project.Options{Dir: s.Dir, Explicit: s.Explicit(), Getenv: s.Getenv})
	if err != nil {
		return nil, err
	}
	if err := p.NeedRepo("state"); err != nil {
		return nil, err
	}
	if r.Project == item.SharedProject {
		return nil, fault.New(fault.Usage, "--project cannot be %s, which every project reads", fault.Quote(item.SharedProject))
	}
	v, err := p.Worktree(ctx)
	if err != nil {
		return nil, err
	}
	d := &desk{s: s, view: v, now: s.Now()}
	d.Store, err = state.OpenStore(ctx, p.Repo, state.StoreOptions{
		Project: cmp.Or(r.Project, v.Config.Project), Folder: v.Dir, TrustRef: r.TrustRef,
		RemoteRef: v.Config.State.RemoteRef, Version: cli.Version, Now: s.Now,
	})
	if err != nil {
		return nil, err
	}
	if d.Project != "" {
		return d, nil
	}
	// A repository without any state is an empty one, and needs no name.
	empty, err := d.Empty(ctx)
	if err == nil && !empty {
		_, err = v.Project(r.Project)
	}
	return d, err
}

// named refuses to write for a project without a name.
func (d *desk) named() error {
	_, err := d.view.Project(d.Project)
	return err
}

// emitRows prints the items that are wanted.
func emitRows(s *cli.Session, rows iter.Seq[state.Row], wanted func(*state.Row) bool) {
	for row := range rows {
		if wanted(&row) {
			s.WriteString(row.JSON)
			s.WriteString("\n")
		}
	}
}

// emitGaps prints gaps and says them on standard error.
func emitGaps(s *cli.Session, gaps []item.Gap) {
	for _, g := range gaps {
		s.Write(append(g.AppendJSON(nil), '\n'))
		s.Warn("%s: %s", g.Gap, g.Detail)
	}
}

// warnGaps says gaps on standard error, where the answer is one object.
func warnGaps(s *cli.Session, gaps []item.Gap) {
	for _, g := range gaps {
		s.Warn("%s: %s", g.Gap, g.Detail)
	}
}

func maskText(s string) string {
	clean, _ := redact.Redact(s)
	return clean
}

// storeCodes are those of finding and reading a store.
func storeCodes(more ...fault.Code) []fault.Code {
	return append([]fault.Code{
		fault.NotARepository, fault.RepositoryUnsupported, fault.RepositoryNotOwned, fault.GitFailed, fault.GitUnavailable,
		fault.ObjectMissing, fault.ObjectCorrupt, fault.ConfigInvalid, fault.ConfigKeyUnknown, fault.ConfigKeyNotAllowed,
		fault.PathEscapes, fault.RedactionUnavailable, fault.ProjectNotConfigured, fault.RevisionNotFound, fault.StateRefBroken,
	}, more...)
}

// writeCodes are those of writing to the log besides.
func writeCodes(more ...fault.Code) []fault.Code {
	return storeCodes(append(more, fault.InvalidStateEvent, fault.StateFormatUnknown, fault.StateQuarantine, fault.StateBusy, fault.RefLocked)...)
}

// signCodes are those of an event that is signed, or can be, besides.
func signCodes(more ...fault.Code) []fault.Code {
	return writeCodes(append(more, fault.ActorUnknown, fault.InvalidAuth, fault.AdminAuthNotConfigured, fault.StateTrustUnresolved, fault.StatePersonRequired,
		fault.SigningKeyMissing, fault.SigningKeyEncrypted, fault.SigningKeyInvalid, fault.SigningFailed)...)
}

// decideCodes are those of an event about another one besides.
func decideCodes(more ...fault.Code) []fault.Code {
	return signCodes(append(more, fault.SecretFound, fault.StateEventFuture)...)
}

// count writes a number of things.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}
