package main

import (
	"context"

	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/steel"
)

// writing is the argument and flags of verbs that put a text into an element.
type writing struct {
	onElement
	input
	Text *string `arg:"" optional:"" name:"text" help:"The text. A secret comes by --stdin or --from-env."`
}

// write reads the text, before any traffic, and prints what do did with it.
func (w *writing) write(s *cli.Session, verb string, do func(context.Context, *steel.Page, steel.Choice, steel.Typed) (*steel.Action, error)) error {
	ways := 0
	for _, given := range []bool{w.Text != nil, w.Stdin, w.FromEnv != ""} {
		if given {
			ways++
		}
	}
	switch {
	case ways != 1:
		return fault.New(fault.Usage, "one text is needed").WithHint("kxm-steel %s TARGET TEXT, or --stdin, or --from-env NAME", verb)
	case w.Stdin && w.OnDialog == "text-from-stdin":
		return fault.New(fault.Usage, "--stdin and --on-dialog text-from-stdin both read standard input")
	}
	choice, err := w.meant()
	if err != nil {
		return err
	}
	var text steel.Typed
	w.before = func(d *desk) (err error) {
		if w.Text != nil {
			text = steel.Typed{Text: *w.Text, Shown: true}
			return nil
		}
		text.Text, _, err = w.read(s, d)
		return err
	}
	return w.act(s, verb, func(ctx context.Context, p *steel.Page) (*steel.Action, error) { return do(ctx, p, choice, text) })
}

// act attaches to the tab and prints what do did in it.
func (t *onTab) act(s *cli.Session, verb string, do func(context.Context, *steel.Page) (*steel.Action, error)) error {
	return t.run(s, verb, false, func(ctx context.Context, d *desk, p *steel.Page) error {
		done, err := do(ctx, p)
		if err != nil {
			return err
		}
		return d.emit(done)
	})
}

// secretHelp says how a text that nobody should see is given.
const secretHelp = `A text from --stdin or --from-env is in nothing that is printed or kept. One for a password-like field (type password, or autocomplete current-password, new-password, one-time-code, cc-number or cc-csc) is refused as an argument, which other programs can see.`

// fillCmd replaces what a field holds.
type fillCmd struct {
	writing
	Loose bool `help:"Take it as well when the field makes something else of the text."`
}

// Codes names what the command can end with.
func (*fillCmd) Codes() []fault.Code {
	return locatingCodes(fault.SteelSecretInArgv, fault.SteelTargetReadOnly, fault.SteelTargetDisabled, fault.SteelValueDiffers)
}

// Help says what a field is.
func (*fillCmd) Help() string {
	return `The value is set at once, as input and change events tell the page, and read back: valueLength is in characters. A field that cuts the text or puts it into another form ends the command with steel_value_differs; with --loose it is only not verified. Text inputs, dates, times, numbers, colours and ranges, text areas and editable content are filled; a date is 2026-01-31 and a time 13:45. Editable content is selected and written over as by an input method. An empty text empties the field. A label stands for its field.

` + secretHelp + "\n\n" + targetHelp
}

// Run prints the action.
func (c *fillCmd) Run(s *cli.Session) error {
	return c.write(s, "fill", func(ctx context.Context, p *steel.Page, choice steel.Choice, text steel.Typed) (*steel.Action, error) {
		return p.Fill(ctx, c.aim, choice, text, c.Loose)
	})
}

// typeCmd types a text.
type typeCmd struct{ writing }

// Codes names what the command can end with.
func (*typeCmd) Codes() []fault.Code {
	return locatingCodes(fault.SteelSecretInArgv, fault.SteelTargetReadOnly, fault.SteelTargetDisabled, fault.SteelTargetKind)
}

// Help says which keys are pressed.
func (*typeCmd) Help() string {
	return `Each character is a key pressed and let go, on a keyboard of the United States; a line end is Enter, which sends a form, and a tabulator is Tab. What such a keyboard does not have is put in as by an input method. An element that does not have the focus gets it, and is written on at its end. Once the page has gone elsewhere, the rest is typed nowhere, and the command fails.

` + secretHelp + "\n\n" + targetHelp
}

// Run prints the action.
func (c *typeCmd) Run(s *cli.Session) error {
	return c.write(s, "type", func(ctx context.Context, p *steel.Page, choice steel.Choice, text steel.Typed) (*steel.Action, error) {
		return p.Type(ctx, c.aim, choice, text)
	})
}
