package main

import (
	"strings"

	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/prompt"
)

// compileCmd compiles an input.
type compileCmd struct {
	promptInput
	Check bool `help:"Exit 1 when a section, group or tool has no owner."`
	Tools bool `help:"Print the tool groups that the pack describes, one a line, instead of the pack."`
}

// Codes names what the command can end with.
func (*compileCmd) Codes() []fault.Code { return inputCodes(fault.PromptUnattributed) }

// Run prints the pack.
func (c *compileCmd) Run(s *cli.Session) error {
	in, err := c.read(s)
	if err != nil {
		return err
	}
	p, err := prompt.Compile(in)
	if err != nil {
		return err
	}
	if c.Tools {
		for i := range p.ToolGroups {
			emit(s, p.ToolGroups[i].AppendJSON(nil))
		}
	} else {
		emit(s, p.AppendJSON(nil))
	}
	if c.Check && len(p.Unattributed) > 0 {
		return unattributed(p.Unattributed)
	}
	return nil
}

// unattributed says what has no owner; a long list by its beginning.
func unattributed(list []prompt.Unattributed) error {
	const most = 5
	var names []string
	for _, u := range list[:min(len(list), most)] {
		names = append(names, "the "+u.Kind+" "+fault.Quote(u.ID))
	}
	if rest := len(list) - most; rest > 0 {
		names = append(names, "and more")
	}
	return fault.New(fault.PromptUnattributed, "no descriptor owns %s", strings.Join(names, ", ")).
		WithHint("--descriptors FILE with a descriptor that does")
}
