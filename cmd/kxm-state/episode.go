package main

import (
	"context"

	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/item"
	"kxm/lib/state"
)

// episodeCmd groups the verbs of episodes.
type episodeCmd struct {
	Add episodeAddCmd `cmd:"" help:"Add an episode."`
}

type episodeAddCmd struct {
	writing
	signable
	Summary string   `arg:"" name:"summary" help:"What happened in the run, at most 4,000 characters."`
	RunID   string   `name:"run" required:"" placeholder:"ID" help:"The run."`
	Entries []string `placeholder:"ID" sep:"none" help:"A journal entry that it sums up; one flag each."`
	Outcome string   `placeholder:"TEXT" help:"How the run ended."`
}

// Codes names what the command can end with.
func (*episodeAddCmd) Codes() []fault.Code { return decideCodes(fault.StateEventNotFound) }

// Run writes the episode and prints it as an item.
func (c *episodeAddCmd) Run(s *cli.Session) error {
	return c.note(s, []command{{Command: state.Command{
		Verb: state.TypeEpisode, Run: c.RunID, Summary: c.Summary, Entries: c.Entries, Outcome: c.Outcome, Origin: item.Origin(c.Origin),
	}}})
}

// episodesCmd prints what happened.
type episodesCmd struct {
	reading
	past
	RunID string `name:"run" placeholder:"ID" help:"Only of this run."`
	Limit int    `placeholder:"N" default:"50" help:"At most this many, the newest."`
}

// Codes names what the command can end with.
func (*episodesCmd) Codes() []fault.Code { return storeCodes() }

// Run prints {"episodes": […]}, whole items, oldest first.
func (c *episodesCmd) Run(s *cli.Session) error {
	ctx := context.Background()
	when, err := c.when()
	if err != nil {
		return err
	}
	if c.Limit < 1 {
		return fault.New(fault.Usage, "--limit must be at least 1")
	}
	d, err := c.open(ctx, s)
	if err != nil {
		return err
	}
	listing, err := d.Listing(ctx, when, state.ItemFilter{Journal: true})
	if err != nil {
		return err
	}
	warnGaps(s, listing.Gaps)
	return s.Emit(struct {
		Episodes []state.Row `json:"episodes"`
	}{listing.Episodes(c.RunID, c.Limit)})
}
