package main

import (
	"context"

	"kxm/lib/cli"
	"kxm/lib/fault"
)

// batchCmd carries out many commands as one.
type batchCmd struct{ writing }

// Codes names what the command can end with.
func (*batchCmd) Codes() []fault.Code {
	return decideCodes(fault.InvalidJSON, fault.ContextAuthorityViolation, fault.StateProposerMismatch, fault.StatePromotionInvalid, fault.StateProposalNotFound,
		fault.StateProposalNotPromotable, fault.StateContradiction, fault.StateConflict, fault.StateEventNotFound)
}

// Help says what stands on standard input.
func (*batchCmd) Help() string {
	return `Each object on standard input is a command: "type" is propose, promote, reject, withdraw, journal,
journal-review or episode, and the other fields are the verb's arguments and flags:

  {"type":"propose","key":"release.branch","summary":"main","evidence":["pr:12"],"as":"agent-1"}
  {"type":"promote","proposal":"@1","evidence":["review:pr-12"]}

"@1" is the event of the command that begins on line 1. An unknown field is refused.`
}

// Run prints one line a command: its line, its type and its event's id.
func (c *batchCmd) Run(s *cli.Session) error {
	ctx := context.Background()
	commands, err := readCommands(s, "")
	if err != nil {
		return err
	}
	d, err := c.open(ctx, s)
	if err != nil {
		return err
	}
	drafts, err := c.act(ctx, d, commands...)
	if err != nil {
		return err
	}
	for i, draft := range drafts {
		if err := s.Emit(struct {
			Schema string `json:"schema"`
			Line   int    `json:"line"`
			Type   string `json:"type"`
			ID     string `json:"id"`
			Key    string `json:"key,omitempty"`
		}{"kxm.state-batch.v1", commands[i].line, string(draft.Event.Type()), draft.ID, draft.Event.Key}); err != nil {
			return err
		}
	}
	return nil
}
