package main

import (
	"context"
	"strings"
	"time"

	"kxm/lib/cli"
	"kxm/lib/eventlog"
	"kxm/lib/fault"
	"kxm/lib/item"
	"kxm/lib/memory"
	"kxm/lib/project"
	"kxm/lib/skill"
	"kxm/lib/state"
)

// repositoryPool reads what `kxm-memory list --all` prints, from one view of the
// records.
type repositoryPool struct {
	place   *project.Place
	view    *project.View
	project string // the flag's
	now     func() time.Time
	asOf    time.Time // of state and journal; zero is now
}

// read returns the items and gaps of facts, skills, state and journal.
func (r *repositoryPool) read(ctx context.Context) (item.Pool, error) {
	var pool item.Pool
	if r.view.Exists {
		if err := r.addRecords(&pool); err != nil {
			return pool, err
		}
	}
	return pool, r.addState(ctx, &pool)
}

// addRecords adds facts and skills. Only a place with records needs the project's name.
func (r *repositoryPool) addRecords(pool *item.Pool) error {
	facts, err := memory.Load(r.view.Kxm)
	if err != nil {
		return err
	}
	skills, problems := skill.Promoted(r.view.Kxm)
	if len(facts.Records)+len(facts.Duplicates)+len(facts.Problems)+len(skills)+len(problems) == 0 {
		return nil
	}
	o := memory.ItemOptions{Blob: r.view.Blob, All: true}
	if o.Project, err = r.view.Project(r.project); err != nil {
		return err
	}
	if r.place.Repo != nil {
		o.Folder = r.view.Folder()
	}
	pool.Items, pool.Gaps = facts.Items(o)
	for i := range skills {
		blob := ""
		if o.Blob != nil {
			blob = o.Blob(skills[i].Path())
		}
		pool.Items = append(pool.Items, skills[i].Item(o.Project, o.Folder, blob))
	}
	for _, p := range problems {
		pool.Gaps = append(pool.Gaps, item.Gap{Gap: p.Gap(), Detail: strings.TrimSuffix(p.Err.Error(), " ["+string(fault.CodeOf(p.Err))+"]")})
	}
	return nil
}

// hasState reports whether the repository holds any state.
func (r *repositoryPool) hasState(ctx context.Context) bool {
	if r.place.Repo == nil {
		return false
	}
	_, ok, err := r.place.Repo.Ref(ctx, eventlog.Ref)
	return ok || err != nil
}

// addState adds state and journal, which belong to no branch.
func (r *repositoryPool) addState(ctx context.Context, pool *item.Pool) error {
	if !r.hasState(ctx) {
		return nil
	}
	name, err := r.view.Project(r.project)
	if err != nil {
		return err
	}
	store, err := state.OpenStore(ctx, r.place.Repo, state.StoreOptions{Project: name, Folder: r.view.Dir, Version: cli.Version, Now: r.now})
	if err != nil {
		return err
	}
	listing, err := store.Listing(ctx, state.When{AsOf: r.asOf}, state.ItemFilter{State: true, Journal: true, Ended: true})
	if err != nil {
		return err
	}
	pool.Gaps = append(pool.Gaps, listing.Gaps...)
	for row := range listing.All() {
		it, err := row.Item()
		if err != nil {
			return err
		}
		pool.Items = append(pool.Items, it)
	}
	return nil
}
