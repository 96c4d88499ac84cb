package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/item"
	"kxm/lib/memory"
	"kxm/lib/pool"
	"kxm/lib/project"
	"kxm/lib/repo"
	"kxm/lib/skill"
	"kxm/lib/state"
)

// listCmd prints the pool.
type listCmd struct {
	From      string `placeholder:"S,S" listof:"memory,skills,state,journal" default:"memory,skills,state,journal" help:"Only these sources: memory, skills, state, journal; default: all."`
	Scope     string `placeholder:"S,S" listof:"agent,project,run,operator" help:"Only memory of these scopes: agent, project, run, operator; other sources stay whole."`
	Rev       string `placeholder:"REV" xor:"view" help:"Read a commit instead of the worktree."`
	Committed bool   `xor:"view" help:"Read HEAD, and withhold everything when a fact or promoted skill is not committed."`
	Staged    bool   `xor:"view" help:"Read the index instead of the worktree."`
	Pin       string `placeholder:"CTXREV" help:"With --committed: withhold everything when the revision is not this one."`
	All       bool   `help:"Superseded, deprecated, rejected and withdrawn records too."`
	Strict    bool   `help:"Exit 4 when a memory file could not be read."`
	Project   string `placeholder:"NAME" env:"KXM_PROJECT" help:"The project's name; default: the configuration's."`
}

// Codes names what the command can end with.
func (*listCmd) Codes() []fault.Code {
	return append(recordCodes(), fault.ProjectNotConfigured, fault.RevisionNotFound, fault.MemoryUnreadable, fault.StateRefBroken)
}

// sources of a pool. State and journal are folded from a ref of their own.
var sources = []string{"memory", "skills", "state", "journal"}

// Run prints the items, then the gaps.
func (c *listCmd) Run(s *cli.Session) error {
	from, scopes, err := c.flags()
	if err != nil {
		return err
	}
	out, err := c.read(context.Background(), s, from, scopes)
	if err == nil {
		err = c.addState(context.Background(), out, from)
	}
	if err != nil {
		// In a pipe without pipefail the reader must not take this for a new project.
		g := item.Gap{Gap: "pool_unavailable:" + string(codeOf(err))}
		if c.Committed {
			g.Gap = "dispatch_context_failed"
		}
		s.Write(append(g.AppendJSON(nil), '\n'))
		return err
	}
	out.write(s)
	for _, g := range out.Gaps {
		s.Write(append(g.AppendJSON(nil), '\n'))
		if g.Detail != "" {
			s.Warn("%s: %s", g.Gap, g.Detail)
		} else {
			s.Warn("%s", g.Gap)
		}
	}
	if c.Strict && out.unreadable > 0 {
		return fault.New(fault.MemoryUnreadable, "%s could not be read", count(out.unreadable, "memory file")).WithHint("kxm-memory check")
	}
	return nil
}

// codeOf is an error's code, as it is reported.
func codeOf(err error) fault.Code {
	if code := fault.CodeOf(err); code != "" {
		return code
	}
	return fault.IOFailed
}

func (c *listCmd) flags() (from []string, scopes []item.Scope, err error) {
	for _, word := range strings.Split(c.From, ",") {
		word = strings.TrimSpace(word)
		if !slices.Contains(sources, word) {
			return nil, nil, fault.New(fault.Usage, "--from: %s is not one of %s", fault.Quote(word), strings.Join(sources, ", "))
		}
		from = append(from, word)
	}
	if scopes, err = parseScopes(c.Scope); err != nil {
		return nil, nil, err
	}
	if c.Pin != "" && !c.Committed {
		return nil, nil, fault.New(fault.Usage, "--pin needs --committed")
	}
	if c.Project == item.SharedProject {
		return nil, nil, fault.New(fault.Usage, "--project cannot be %s, which every project reads", fault.Quote(item.SharedProject))
	}
	return from, scopes, nil
}

// parseScopes reads a list of scopes; an empty text is none.
func parseScopes(text string) ([]item.Scope, error) {
	if text == "" {
		return nil, nil
	}
	var scopes []item.Scope
	for _, word := range strings.Split(text, ",") {
		scope := item.Scope(strings.TrimSpace(word))
		if !scope.Valid() {
			return nil, fault.New(fault.Usage, "--scope: %s is not one of agent, project, run, operator", fault.Quote(string(scope)))
		}
		scopes = append(scopes, scope)
	}
	return scopes, nil
}

// listed is what list prints.
type listed struct {
	item.Pool
	state      *state.Listing
	unreadable int // memory files
	source     *pool.Source
}

// write prints the items of all sources by id. Those of the state ref come as they are
// printed.
func (p *listed) write(s *cli.Session) {
	slices.SortStableFunc(p.Items, func(a, b item.Item) int { return strings.Compare(a.ID, b.ID) })
	rest := p.Items
	var line []byte
	items := func(n int) {
		for i := range rest[:n] {
			line = append(rest[i].AppendJSON(line[:0]), '\n')
			s.Write(line)
		}
		rest = rest[n:]
	}
	if p.state != nil {
		for row := range p.state.All() {
			before, _ := slices.BinarySearchFunc(rest, row.ID, func(it item.Item, id string) int { return strings.Compare(it.ID, id) })
			items(before)
			s.WriteString(row.JSON)
			s.WriteString("\n")
		}
	}
	items(len(rest))
}

// addState adds the values, proposals and journal entries of the state ref, as it is
// now, whatever else is viewed.
func (c *listCmd) addState(ctx context.Context, out *listed, from []string) (err error) {
	wanted := state.ItemFilter{State: slices.Contains(from, "state"), Journal: slices.Contains(from, "journal"), Ended: c.All}
	if !wanted.State && !wanted.Journal || out.source == nil {
		return nil
	}
	if out.state, err = out.source.State(ctx, state.When{}, wanted); err == nil && out.state != nil {
		out.Gaps = append(out.Gaps, out.state.Gaps...)
	}
	return err
}

func (c *listCmd) read(ctx context.Context, s *cli.Session, from []string, scopes []item.Scope) (*listed, error) {
	if c.Committed {
		return c.committed(ctx, s, from, scopes)
	}
	p, err := findPlace(ctx, s)
	if err != nil {
		return nil, err
	}
	var v *project.View
	switch {
	case c.Rev != "":
		v, err = p.Revision(ctx, c.Rev)
	case c.Staged:
		v, err = p.Index(ctx)
	default:
		v, err = p.Worktree(ctx)
	}
	source := c.source(s, p, v)
	if err != nil || !v.Exists {
		return &listed{source: source}, err
	}
	records := pool.Records{Facts: &memory.Set{}}
	if slices.Contains(from, "memory") {
		if records.Facts, err = memory.Load(v.Kxm); err != nil {
			return nil, err
		}
	}
	if slices.Contains(from, "skills") {
		records.Skills, records.Problems = skill.Promoted(v.Kxm)
	}
	return c.assemble(source, records, scopes)
}

func (c *listCmd) source(s *cli.Session, p *project.Place, v *project.View) *pool.Source {
	return &pool.Source{Place: p, View: v, Project: c.Project, Version: cli.Version, Now: s.Now}
}

// committed reads what may be dispatched.
func (c *listCmd) committed(ctx context.Context, s *cli.Session, from []string, scopes []item.Scope) (*listed, error) {
	p, head, err := placeAtHead(ctx, s)
	if fault.Is(err, fault.GitUnavailable) {
		return &listed{Pool: item.Pool{Gaps: []item.Gap{{Gap: memory.WithheldGitUnavailable, Detail: fault.Detail(err)}}}}, nil
	}
	if err != nil {
		return nil, err
	}
	in := memory.CommittedInput{Repo: p.Repo, Folder: head.Folder(), Pin: c.Pin}
	if !head.Exists && p.Has {
		in.Folder = p.Folder() // not committed at all
	}
	if p.Top != "" {
		kxm, err := repo.OpenFolder(filepath.Join(p.Top, filepath.FromSlash(in.Folder)))
		switch {
		case err == nil:
			in.Worktree = kxm
		case !os.IsNotExist(err):
			return nil, fault.Wrap(err, fault.IOFailed, "cannot open the folder of records")
		}
	}
	var records pool.Records
	in.Also = func(kxm repo.BlobFS) error {
		if slices.Contains(from, "skills") {
			records.Skills, records.Problems = skill.Promoted(kxm)
		}
		return nil
	}
	committed, withheld, err := memory.ReadCommitted(ctx, in)
	if err != nil {
		return nil, err
	}
	if withheld != nil {
		return &listed{Pool: item.Pool{Gaps: []item.Gap{*withheld}}}, nil
	}
	records.Facts = committed.Facts
	if !slices.Contains(from, "memory") {
		records.Facts = &memory.Set{}
	}
	head.Blob = committed.Blob
	return c.assemble(c.source(s, p, head), records, scopes)
}

// placeAtHead finds the place and views HEAD, in the time that dispatch has for Git:
// some repositories are read through the git program alone. The files of the view
// are not to be read later.
func placeAtHead(ctx context.Context, s *cli.Session) (*project.Place, *project.View, error) {
	ctx, cancel := context.WithTimeout(ctx, memory.GitTimeout)
	defer cancel()
	p, err := findPlace(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	if err := p.NeedRepo("--committed"); err != nil {
		return nil, nil, err
	}
	head, err := p.Revision(ctx, "HEAD")
	return p, head, err
}

// assemble makes items of what was read.
func (c *listCmd) assemble(from *pool.Source, r pool.Records, scopes []item.Scope) (*listed, error) {
	out := &listed{unreadable: len(r.Facts.Problems), source: from}
	var err error
	out.Pool, err = from.Items(r, pool.Options{Scopes: scopes, All: c.All, Committed: c.Committed})
	if err != nil {
		return nil, err
	}
	return out, nil
}
