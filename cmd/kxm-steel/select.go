package main

import (
	"context"

	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/steel"
)

// selectCmd chooses options of a list.
type selectCmd struct {
	onElement
	Values []string `arg:"" name:"value" help:"An option's value, or else its visible label."`
}

// Codes names what the command can end with.
func (*selectCmd) Codes() []fault.Code {
	return locatingCodes(fault.SteelTargetKind, fault.SteelTargetDisabled, fault.SteelOptionNotFound, fault.SteelValueDiffers)
}

// Help says what is chosen.
func (*selectCmd) Help() string {
	return `The options that are named are then the only ones that are chosen; several can be where the list takes several. One that is not there ends the command before anything changes. The values of what is chosen are printed.

` + targetHelp
}

// Run prints the action.
func (c *selectCmd) Run(s *cli.Session) error {
	choice, err := c.meant()
	if err != nil {
		return err
	}
	return c.act(s, "select", func(ctx context.Context, p *steel.Page) (*steel.Action, error) {
		return p.Select(ctx, c.aim, choice, c.Values)
	})
}

// checkCmd turns a box on or off.
type checkCmd struct {
	onElement
	Off bool `help:"Turn it off instead of on."`
}

// Codes names what the command can end with.
func (*checkCmd) Codes() []fault.Code {
	return locatingCodes(fault.SteelTargetKind, fault.SteelTargetDisabled, fault.SteelTargetCovered, fault.SteelValueDiffers)
}

// Help says what is pressed.
func (*checkCmd) Help() string {
	return `A checkbox, radio button, switch or whatever has aria-checked is pressed with the mouse unless it is on, or with --off off, already; where a page hides the box itself, its label is. TARGET may be the label as well. It is looked at afterwards: checked is what it is then.

` + targetHelp
}

// Run prints the action.
func (c *checkCmd) Run(s *cli.Session) error {
	choice, err := c.meant()
	if err != nil {
		return err
	}
	return c.act(s, "check", func(ctx context.Context, p *steel.Page) (*steel.Action, error) {
		return p.Check(ctx, c.aim, choice, !c.Off)
	})
}
