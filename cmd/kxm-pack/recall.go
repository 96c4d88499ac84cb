package main

import (
	"strings"

	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/packet"
)

// recallCmd searches the live pool.
type recallCmd struct {
	input
	Query string `placeholder:"TEXT" required:"" help:"Words to look for, at most 500 characters; an empty text finds everything."`
	Kinds string `placeholder:"K,K" listof:"evidence,state,episode,knowledge,skill" help:"Only these kinds of item: evidence, state, episode, knowledge, skill."`
	Limit int    `placeholder:"N" default:"25" help:"At most this many, 1 to 100."`
	Exit  bool   `short:"e" name:"exit-status" help:"Exit 1 when nothing is found."`
}

// Codes names what the command can end with.
func (*recallCmd) Codes() []fault.Code {
	return append(poolCodes(), fault.ContextIsolationViolation, fault.NoMatch)
}

// Run prints the hits.
func (c *recallCmd) Run(s *cli.Session) error {
	query := strings.TrimSpace(c.Query)
	if err := length("--query", query, packet.MaxQuery); err != nil {
		return err
	}
	if c.Limit < 1 || c.Limit > packet.MaxRecallLimit {
		return fault.New(fault.Usage, "--limit must lie between 1 and %d", packet.MaxRecallLimit)
	}
	kinds, err := parseKinds(c.Kinds)
	if err != nil {
		return err
	}
	pool, project, err := c.pool(s)
	if err != nil {
		return err
	}
	found, err := packet.Search(pool, packet.RecallRequest{Project: project, Query: query, Kinds: kinds, Limit: c.Limit}, maskText)
	if err != nil {
		return err
	}
	if err := s.Emit(found); err != nil {
		return err
	}
	if c.Exit && len(found.Items) == 0 {
		return fault.New(fault.NoMatch, "nothing matches")
	}
	return nil
}
