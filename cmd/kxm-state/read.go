package main

import (
	"context"
	"path"
	"slices"
	"strings"

	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/item"
	"kxm/lib/state"
)

// stateAnswer is {"state": item or null}.
type stateAnswer struct {
	State         *item.Item  `json:"state"`
	Key           string      `json:"key,omitempty"`
	Contradiction []item.Item `json:"contradiction,omitempty"`
}

// getCmd prints a value.
type getCmd struct {
	reading
	past
	Key  string `arg:"" name:"key" help:"The key."`
	Exit bool   `short:"e" name:"exit-status" help:"Exit 1 when the key has no value."`
}

// Codes names what the command can end with.
func (*getCmd) Codes() []fault.Code {
	return storeCodes(fault.StateContradiction, fault.StateKeyNotFound)
}

// Run prints {"state": item or null, "key": …}; of several current values, all.
func (c *getCmd) Run(s *cli.Session) error {
	ctx := context.Background()
	when, err := c.when()
	if err != nil {
		return err
	}
	d, err := c.open(ctx, s)
	if err != nil {
		return err
	}
	k, err := d.Key(ctx, c.Key, when)
	if err != nil {
		return err
	}
	warnGaps(s, append(d.Trust.Gaps(), k.Gaps()...))
	answer := stateAnswer{Key: maskText(k.Name)}
	v, err := k.Value()
	switch {
	case err != nil: // a contradiction
		for i := range k.Current {
			answer.Contradiction = append(answer.Contradiction, k.Current[i].Item)
		}
	case v != nil:
		answer.State = &v.Item
	}
	if eerr := s.Emit(answer); eerr != nil {
		return eerr
	}
	if err == nil && v == nil && c.Exit {
		return fault.New(fault.StateKeyNotFound, "the key %s has no value", fault.Quote(answer.Key))
	}
	return err
}

// listCmd prints values and proposals.
type listCmd struct {
	reading
	past
	Status string `placeholder:"S,S" listof:"current,proposed,superseded,rejected" default:"current,proposed" help:"Only these: current, proposed, superseded, rejected."`
	All    bool   `help:"Every status."`
	Key    string `placeholder:"GLOB" help:"Only keys that match, with *, ? and [classes]."`
}

// Codes names what the command can end with.
func (*listCmd) Codes() []fault.Code { return storeCodes() }

// Run prints items by id, then gaps.
func (c *listCmd) Run(s *cli.Session) error {
	ctx := context.Background()
	when, err := c.when()
	if err != nil {
		return err
	}
	var wanted []item.Status
	for _, word := range strings.Split(c.Status, ",") {
		status := item.Status(strings.TrimSpace(word))
		if !status.Valid() {
			return fault.New(fault.Usage, "--status: %s is not one of current, proposed, superseded, rejected", fault.Quote(string(status)))
		}
		wanted = append(wanted, status)
	}
	if _, err := path.Match(c.Key, ""); err != nil {
		return fault.New(fault.Usage, "--key: %s is no pattern", fault.Quote(c.Key))
	}
	d, err := c.open(ctx, s)
	if err != nil {
		return err
	}
	ended := c.All || slices.Contains(wanted, item.StatusSuperseded) || slices.Contains(wanted, item.StatusRejected)
	listing, err := d.Listing(ctx, when, state.ItemFilter{State: true, Ended: ended})
	if err != nil {
		return err
	}
	emitRows(s, listing.All(), func(r *state.Row) bool {
		if !c.All && !slices.Contains(wanted, r.Status) {
			return false
		}
		// A slash is a character like any other in a key.
		ok, _ := path.Match(strings.ReplaceAll(c.Key, "/", "\x00"), strings.ReplaceAll(r.Key, "/", "\x00"))
		return c.Key == "" || ok
	})
	emitGaps(s, listing.Gaps)
	if listing.Foreign > 0 {
		s.Note("left out %s of other projects", count(listing.Foreign, "event"))
	}
	return nil
}

// historyCmd prints the events of a key.
type historyCmd struct {
	reading
	past
	Key string `arg:"" name:"key" help:"The key."`
}

// Codes names what the command can end with.
func (*historyCmd) Codes() []fault.Code { return storeCodes(fault.StateKeyNotFound) }

// Run prints one line an event, in order.
func (c *historyCmd) Run(s *cli.Session) error {
	ctx := context.Background()
	when, err := c.when()
	if err != nil {
		return err
	}
	d, err := c.open(ctx, s)
	if err != nil {
		return err
	}
	k, err := d.Key(ctx, c.Key, when)
	if err != nil {
		return err
	}
	warnGaps(s, d.Trust.Gaps())
	if len(k.Events) == 0 {
		return fault.New(fault.StateKeyNotFound, "there is no key %s", fault.Quote(maskText(k.Name))).WithHint("kxm-state list --all")
	}
	var out []byte
	for _, h := range k.History() {
		out = append(h.AppendJSON(out), '\n')
	}
	s.Write(out)
	return nil
}

// proposalsCmd prints open proposals.
type proposalsCmd struct {
	reading
	past
}

// Codes names what the command can end with.
func (*proposalsCmd) Codes() []fault.Code { return storeCodes() }

// Run prints their items by id, then gaps.
func (c *proposalsCmd) Run(s *cli.Session) error {
	all := listCmd{reading: c.reading, past: c.past, Status: string(item.StatusProposed)}
	return all.Run(s)
}

// contradictionsCmd prints contradictions.
type contradictionsCmd struct {
	reading
	past
	Check bool `help:"Exit 1 when there is any."`
}

// Codes names what the command can end with.
func (*contradictionsCmd) Codes() []fault.Code { return storeCodes(fault.StateContradiction) }

// Run prints one line a contradiction, by key.
func (c *contradictionsCmd) Run(s *cli.Session) error {
	ctx := context.Background()
	when, err := c.when()
	if err != nil {
		return err
	}
	d, err := c.open(ctx, s)
	if err != nil {
		return err
	}
	listing, err := d.Listing(ctx, when, state.ItemFilter{State: true})
	if err != nil {
		return err
	}
	found := listing.Contradictions()
	var out []byte
	for i := range found {
		out = append(found[i].AppendJSON(out), '\n')
	}
	s.Write(out)
	emitGaps(s, listing.Gaps)
	if c.Check && len(found) > 0 {
		return fault.New(fault.StateContradiction, "%s", count(len(found), "open contradiction"))
	}
	return nil
}
