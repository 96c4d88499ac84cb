package main

import (
	"context"
	"path"
	"slices"
	"strings"

	"kxm/lib/cli"
	"kxm/lib/config"
	"kxm/lib/fault"
	"kxm/lib/memory"
	"kxm/lib/project"
	"kxm/lib/redact"
)

// findPlace finds the project around the session's folder.
func findPlace(ctx context.Context, s *cli.Session) (*project.Place, error) {
	return project.Find(ctx, project.Options{Dir: s.Dir, Explicit: s.Explicit(), Getenv: s.Getenv})
}

// viewed is the view that the flags of a reading command ask for.
func viewed(ctx context.Context, p *project.Place, rev string, staged bool) (*project.View, error) {
	switch {
	case rev != "":
		return p.Revision(ctx, rev)
	case staged:
		return p.Index(ctx)
	}
	return p.Worktree(ctx)
}

// projects returns the nearest project as it is in the worktree, and nil. With
// staged it returns what the next commit holds of it and of every other project in
// which that commit changes a record or an instruction file, by folder, and the set
// of those files: a hook runs at the top of a repository that may hold several.
//
// Of the commit at HEAD only the trees of projects are read, so that the cost does
// not grow with the repository beyond that of its index.
func projects(ctx context.Context, p *project.Place, staged bool) ([]*project.View, map[string]bool, error) {
	if !staged {
		v, err := p.Worktree(ctx)
		return []*project.View{v}, nil, err
	}
	nearest, err := p.Index(ctx)
	if err != nil {
		return nil, nil, err
	}
	entries, err := p.Repo.Index(ctx)
	if err != nil {
		return nil, nil, err
	}
	known, changed, touched := map[string]bool{}, map[string]bool{}, map[string]bool{}
	var below []string // what the records and instruction files of all projects lie below
	for _, e := range entries {
		dir, ok := projectOf(e.Path)
		if !ok || known[dir] {
			continue
		}
		known[dir] = true
		for _, name := range append(memory.InstructionFiles(), config.Folder) {
			below = append(below, path.Join(dir, name))
		}
	}
	if len(below) > 0 {
		paths, err := p.Repo.StagedPaths(ctx, below...)
		if err != nil {
			return nil, nil, err
		}
		for _, name := range paths {
			changed[name] = true
			if dir, ok := projectOf(name); ok {
				touched[dir] = true
			} else {
				touched[path.Dir(name)] = true
			}
		}
	}
	views := []*project.View{nearest}
	for dir := range touched {
		if dir == nearest.Dir {
			continue
		}
		other := *p
		other.Cwd = dir
		v, err := other.Index(ctx)
		if err != nil {
			return nil, nil, err
		}
		views = append(views, v)
	}
	slices.SortFunc(views, func(a, b *project.View) int { return strings.Compare(a.Dir, b.Dir) })
	return views, changed, nil
}

// projectOf returns the folder that holds the .kxm which a path of the repository
// lies in.
func projectOf(name string) (dir string, ok bool) {
	dir, _, ok = strings.Cut("/"+name, "/"+config.Folder+"/")
	return path.Join(".", strings.TrimPrefix(dir, "/")), ok
}

// allow returns the places where reviewers let a secret through.
func allow(v *project.View) []redact.Allow {
	var all []redact.Allow
	for _, a := range v.Config.Secrets.Allow {
		all = append(all, redact.Allow{Path: a.Path, Rule: a.Rule})
	}
	return all
}

// recordCodes are those of finding a place and reading its configuration.
func recordCodes() []fault.Code {
	return []fault.Code{
		fault.NotARepository, fault.RepositoryUnsupported, fault.RepositoryNotOwned, fault.GitFailed, fault.GitUnavailable,
		fault.ObjectMissing, fault.ObjectCorrupt, fault.ConfigInvalid, fault.ConfigKeyUnknown, fault.ConfigKeyNotAllowed,
		fault.PathEscapes, fault.RedactionUnavailable,
	}
}
