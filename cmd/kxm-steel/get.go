package main

import (
	"context"
	"slices"

	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/steel"
)

// getCmd prints one thing about the page.
type getCmd struct {
	onTab
	oneOf
	What     string   `arg:"" name:"what" enum:"url,title,text,html,value,attr,count,box,checked,enabled,visible" help:"url, title, text, html, value, attr NAME, count, box, checked, enabled or visible."`
	Args     []string `arg:"" optional:"" name:"target" help:"An attribute's name, for attr; then the element: e12, css=SELECTOR, text=TEXT, label=TEXT or testid=ID."`
	MaxBytes int      `placeholder:"N" default:"32768" help:"Longest text in bytes; 0 is no limit."`
	Reveal   bool     `help:"Print values of password-like fields, and addresses with all their parameters."`
}

// Codes names what the command can end with.
func (*getCmd) Codes() []fault.Code { return locatingCodes(fault.SteelTargetKind) }

// Help says what is printed.
func (*getCmd) Help() string {
	return `Without TARGET, text and html are those of the whole page. A box is in CSS pixels from the top left corner of the window, whatever frame the element is in. An attribute that is not there has no value. Password-like fields are those of type password and those whose autocomplete is current-password, new-password, one-time-code, cc-number or cc-csc: their value is "[hidden]", with its length.

Hidden elements are read as well where no visible one matches, but for count, box and text.

` + targetHelp
}

// wish reads the arguments.
func (c *getCmd) wish() (*steel.Wish, error) {
	w := &steel.Wish{What: c.What, MaxBytes: c.MaxBytes, Reveal: c.Reveal}
	if c.MaxBytes < 0 {
		return nil, fault.New(fault.Usage, "--max-bytes is 0 or more")
	}
	var err error
	if w.Choice, err = c.choice(); err != nil {
		return nil, err
	}
	rest := c.Args
	if c.What == steel.ReadAttr {
		if len(rest) == 0 {
			return nil, fault.New(fault.Usage, "an attribute's name is needed").WithHint("kxm-steel get attr NAME TARGET")
		}
		w.Name, rest = rest[0], rest[1:]
	}
	whole := slices.Contains([]string{steel.ReadURL, steel.ReadTitle}, c.What)
	switch {
	case len(rest) > 1:
		return nil, fault.New(fault.Usage, "%s names a second element", fault.Quote(rest[1]))
	case whole && len(rest) > 0:
		return nil, fault.New(fault.Usage, "the %s is the page's, and of no element", c.What)
	case len(rest) == 1:
		if w.Aim, err = steel.ParseAim(rest[0]); err != nil {
			return nil, err
		}
	case !whole && c.What != steel.ReadText && c.What != steel.ReadHTML:
		return nil, fault.New(fault.Usage, "an element is needed").WithHint("kxm-steel get %s TARGET", c.What)
	}
	return w, nil
}

// Run prints the value.
func (c *getCmd) Run(s *cli.Session) error {
	w, err := c.wish()
	if err != nil {
		return err
	}
	c.aim = w.Aim
	return c.run(s, "get", true, func(ctx context.Context, d *desk, p *steel.Page) error {
		v, err := p.Read(ctx, w)
		if err != nil {
			return err
		}
		return d.emit(v)
	})
}
