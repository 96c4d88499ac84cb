// Package pool assembles what a project knows: facts, skills, values and journal, from
// one view of the records and from the state ref. It is the one place, apart from the
// programs, where the packages that own them meet.
//
// Start with [Source]. The package reads no flags and decides nothing about a record;
// whether it counts is its owner's affair.
package pool

import (
	"context"
	"time"

	"kxm/lib/eventlog"
	"kxm/lib/fault"
	"kxm/lib/item"
	"kxm/lib/memory"
	"kxm/lib/project"
	"kxm/lib/skill"
	"kxm/lib/state"
)

// Source is where a pool comes from.
type Source struct {
	Place   *project.Place
	View    *project.View // of the records
	Project string        // the name that somebody gave; "" leaves it to the configuration
	Version string        // the program's: a cache of another one is not read
	Now     func() time.Time
}

// Records are facts and skills as they were read.
type Records struct {
	Facts    *memory.Set
	Skills   []skill.Skill
	Problems []skill.Problem // of skills
}

// ReadRecords reads facts and promoted skills of the view.
func (s *Source) ReadRecords() (Records, error) {
	var r Records
	var err error
	if r.Facts, err = memory.Load(s.View.Kxm); err == nil {
		r.Skills, r.Problems = skill.Promoted(s.View.Kxm)
	}
	return r, err
}

// Options say how records become items.
type Options struct {
	Scopes    []item.Scope // of facts; none: all
	All       bool         // those that have ended, too
	Committed bool         // they are to be dispatched, and gaps are named for that
}

// Items makes items of records, in the order of their sources. Only a place with
// records needs the project's name (ProjectNotConfigured).
func (s *Source) Items(r Records, o Options) (item.Pool, error) {
	var pool item.Pool
	name := ""
	if len(r.Facts.Records)+len(r.Facts.Duplicates)+len(r.Facts.Problems)+len(r.Skills)+len(r.Problems) > 0 {
		var err error
		if name, err = s.View.Project(s.Project); err != nil {
			return pool, err
		}
	}
	of := memory.ItemOptions{Project: name, Blob: s.View.Blob, Scopes: o.Scopes, All: o.All, Committed: o.Committed}
	if s.Place.Repo != nil {
		of.Folder = s.View.Folder()
	}
	pool.Items, pool.Gaps = r.Facts.Items(of)
	for i := range r.Skills {
		blob := ""
		if of.Blob != nil {
			blob = of.Blob(r.Skills[i].Path())
		}
		pool.Items = append(pool.Items, r.Skills[i].Item(name, of.Folder, blob))
	}
	for _, p := range r.Problems {
		g := item.Gap{Gap: p.Gap(), Detail: fault.Detail(p.Err)}
		if o.Committed {
			g.Gap = "dispatch_context_" + g.Gap
		}
		pool.Gaps = append(pool.Gaps, g)
	}
	return pool, nil
}

// HasState reports whether the repository holds any state.
func (s *Source) HasState(ctx context.Context) bool {
	if s.Place.Repo == nil {
		return false
	}
	_, ok, err := s.Place.Repo.Ref(ctx, eventlog.Ref)
	return ok || err != nil
}

// State lists the values, proposals and journal entries of the state ref, which belongs
// to no branch, so that the view does not matter. Without any state there is nothing to
// trust, no name is needed, and the listing is nil.
func (s *Source) State(ctx context.Context, when state.When, f state.ItemFilter) (*state.Listing, error) {
	if !s.HasState(ctx) {
		return nil, nil
	}
	name, err := s.View.Project(s.Project)
	if err != nil {
		return nil, err
	}
	store, err := state.OpenStore(ctx, s.Place.Repo, state.StoreOptions{Project: name, Folder: s.View.Dir, Version: s.Version, Now: s.Now})
	if err != nil {
		return nil, err
	}
	return store.Listing(ctx, when, f)
}
