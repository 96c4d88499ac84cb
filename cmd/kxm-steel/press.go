package main

import (
	"context"

	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/steel"
)

// pressCmd presses a key.
type pressCmd struct {
	onTab
	oneOf
	Key    string `arg:"" name:"key" help:"Enter, Escape, Tab, Backspace, Delete, Home, End, PageUp, PageDown, ArrowUp, ArrowDown, ArrowLeft, ArrowRight, Space, F1 to F12, or one character; behind Control+, Shift+, Alt+ or Meta+."`
	Target string `placeholder:"T" help:"The element that gets the focus first; default: what has it."`
}

// Codes names what the command can end with.
func (*pressCmd) Codes() []fault.Code {
	return locatingCodes(fault.SteelTargetDisabled, fault.SteelTargetKind)
}

// Help says what a key does.
func (*pressCmd) Help() string {
	return `The key is pressed and let go, and with it those before it, as in Shift+Tab. Control or Meta with a, c, x, v, z and y select, copy, cut, paste, undo and repeat; other keys with Control, Alt or Meta write nothing.

` + targetHelp
}

// Run prints the action.
func (c *pressCmd) Run(s *cli.Session) error {
	key, err := steel.ParseKey(c.Key)
	if err != nil {
		return err
	}
	choice, err := c.choice()
	if err != nil {
		return err
	}
	switch {
	case c.Target != "":
		if c.aim, err = steel.ParseAim(c.Target); err != nil {
			return err
		}
	case c.Nth != 0:
		return fault.New(fault.Usage, "--nth is for an element, and none is named").WithHint("--target T")
	}
	return c.act(s, "press", func(ctx context.Context, p *steel.Page) (*steel.Action, error) {
		return p.PressKey(ctx, key, c.aim, choice)
	})
}
