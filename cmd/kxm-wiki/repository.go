package main

import (
	"context"
	"time"

	"kxm/lib/item"
	"kxm/lib/pool"
	"kxm/lib/state"
)

// readRepository reads what `kxm-memory list --all` prints, with state and journal as of
// a time; zero is now.
func readRepository(ctx context.Context, from *pool.Source, asOf time.Time) (item.Pool, error) {
	var all item.Pool
	if from.View.Exists {
		records, err := from.ReadRecords()
		if err != nil {
			return all, err
		}
		if all, err = from.Items(records, pool.Options{All: true}); err != nil {
			return all, err
		}
	}
	listing, err := from.State(ctx, state.When{AsOf: asOf}, state.ItemFilter{State: true, Journal: true, Ended: true})
	if listing == nil || err != nil {
		return all, err
	}
	all.Gaps = append(all.Gaps, listing.Gaps...)
	for row := range listing.All() {
		it, err := row.Item()
		if err != nil {
			return all, err
		}
		all.Items = append(all.Items, it)
	}
	return all, nil
}
