package main

import (
	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/prompt"
)

// promptRenderCmd lays a pack out.
type promptRenderCmd struct {
	Sized bool   `help:"Print the text with the characters of each section and of the framing, as one object."`
	Part  string `enum:"stable,dynamic,all" default:"all" placeholder:"PART" help:"stable, dynamic or all. The stable part is a prefix of all, byte for byte."`
}

// packCodes are those of reading a pack.
func packCodes(more ...fault.Code) []fault.Code {
	return append(more, fault.InvalidJSON, fault.PromptInputInvalid, fault.PromptBudgetInvalid)
}

// Codes names what the command can end with.
func (*promptRenderCmd) Codes() []fault.Code { return packCodes() }

// Run prints the text.
func (c *promptRenderCmd) Run(s *cli.Session) error {
	p, _, err := readPack(s)
	if err != nil {
		return err
	}
	r := prompt.Render(p, c.Part != "dynamic", c.Part != "stable")
	if c.Sized {
		emit(s, r.AppendJSON(nil))
		return nil
	}
	s.Print("%s", r.Text)
	return nil
}
