package main

import (
	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/packet"
)

// explainCmd says where an item comes from.
type explainCmd struct {
	input
	ID string `arg:"" name:"id" help:"The item's id."`
}

// Codes names what the command can end with.
func (*explainCmd) Codes() []fault.Code {
	return append(poolCodes(), fault.ContextIsolationViolation, fault.ItemNotFound)
}

// Run prints the explanation, also of an item that is not there.
func (c *explainCmd) Run(s *cli.Session) error {
	pool, project, err := c.pool(s)
	if err != nil {
		return err
	}
	e, err := packet.Explain(pool, project, c.ID, maskText)
	if err != nil {
		return err
	}
	if err := s.Emit(e); err != nil {
		return err
	}
	if !e.Found {
		return fault.New(fault.ItemNotFound, "no item %s in the pool", fault.Quote(c.ID))
	}
	return nil
}
