package main

import (
	"kxm/lib/cli"
	"kxm/lib/fault"
)

// renderCmd renders a formal packet.
type renderCmd struct {
	State bool `help:"Show the current state too, behind the project knowledge."`
}

// Help says what is read.
func (*renderCmd) Help() string {
	return `Reads a formal packet, or an answer that holds one, on standard input. At most five items
of project knowledge are shown, and no gaps. Text of the packet cannot open a section.`
}

// Codes names what the command can end with.
func (*renderCmd) Codes() []fault.Code { return documentCodes(fault.InvalidPacket) }

// Run prints the Markdown that an agent is given.
func (c *renderCmd) Run(s *cli.Session) error {
	p, err := readFormal(s)
	if err != nil {
		return err
	}
	s.Print("%s\n", p.Prompt(c.State))
	return nil
}
