package main

import (
	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/prompt"
)

// checkpointCmd builds the message after a compaction.
type checkpointCmd struct {
	Handoff bool `help:"Read a checkpoint event and print the block of the continuation section that it becomes."`
}

// Codes names what the command can end with.
func (*checkpointCmd) Codes() []fault.Code {
	return []fault.Code{fault.InvalidJSON, fault.PromptInputInvalid, fault.PromptNoCheckpoint}
}

// Run prints the message, or the block.
func (c *checkpointCmd) Run(s *cli.Session) error {
	raw, err := readStdin(s, "state of a run")
	if err != nil {
		return err
	}
	if c.Handoff {
		h, err := prompt.ParseHandoff(raw)
		if err != nil {
			return fault.Place(err, "stdin")
		}
		block, err := prompt.Continuation(h)
		s.Print("%s", block)
		return err
	}
	state, err := prompt.ParseState(raw)
	if err != nil {
		return fault.Place(err, "stdin")
	}
	point, err := prompt.NewCheckpoint(state)
	if err != nil {
		return err
	}
	emit(s, point.AppendJSON(nil))
	return nil
}
