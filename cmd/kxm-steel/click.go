package main

import (
	"context"
	"regexp"
	"strconv"
	"sync"

	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/steel"
)

// clickCmd presses an element.
type clickCmd struct {
	onElement
	Button string `enum:"left,right,middle" default:"left" placeholder:"WHICH" help:"left, right or middle."`
	Count  int    `placeholder:"N" default:"1" help:"How often; 2 is a double click."`
	Force  bool   `help:"Press all the same where something lies over the element, or it is disabled."`
}

// Codes names what the command can end with.
func (*clickCmd) Codes() []fault.Code {
	return locatingCodes(fault.SteelTargetCovered, fault.SteelTargetDisabled, fault.SteelTargetKind)
}

// Help says what is looked at first.
func (*clickCmd) Help() string {
	return `The element is scrolled to, and the press must meet it: steel_target_covered names what lies over it, with a reference. What moves is waited for two seconds, and what lies over it one, since menus and dialogs open and close in sight. The answer tells where the tab is then, dialogs and how they were answered, windows that opened and a download.

` + targetHelp
}

// maxClicks is how often an element is pressed at most.
const maxClicks = 10

// Run prints what came of it.
func (c *clickCmd) Run(s *cli.Session) error {
	choice, err := c.meant()
	if err != nil {
		return err
	}
	if c.Count < 1 || c.Count > maxClicks {
		return fault.New(fault.Usage, "--count lies between 1 and %d", maxClicks)
	}
	return c.act(s, "click", func(ctx context.Context, p *steel.Page) (*steel.Action, error) {
		return p.Click(ctx, c.aim, choice, steel.Press{Button: c.Button, Count: c.Count, Force: c.Force})
	})
}

// hoverCmd moves the mouse to an element.
type hoverCmd struct{ onElement }

// Codes names what the command can end with.
func (*hoverCmd) Codes() []fault.Code {
	return locatingCodes(fault.SteelTargetCovered, fault.SteelTargetKind)
}

// Help says how elements are named.
func (*hoverCmd) Help() string { return targetHelp }

// Run prints what came of it.
func (c *hoverCmd) Run(s *cli.Session) error {
	choice, err := c.meant()
	if err != nil {
		return err
	}
	return c.act(s, "hover", func(ctx context.Context, p *steel.Page) (*steel.Action, error) { return p.Hover(ctx, c.aim, choice) })
}

// scrollCmd scrolls.
type scrollCmd struct {
	onTab
	oneOf
	Target string `arg:"" optional:"" name:"target" help:"The element to bring into sight, or to scroll."`
	By     offset `placeholder:"X,Y" help:"By so many pixels, to the right and down."`
	To     string `enum:",top,bottom" default:"" placeholder:"END" help:"top or bottom."`
}

// Codes names what the command can end with.
func (*scrollCmd) Codes() []fault.Code { return locatingCodes() }

// Help says what is scrolled.
func (*scrollCmd) Help() string {
	return `TARGET alone is brought into sight. --by and --to scroll it, or the nearest around it that scrolls by itself, and else the page; without TARGET they begin at what is in the middle of the window. What is at its end already leaves --by to the next around it, as with a wheel. Where nothing moves, the answer warns of it.

` + targetHelp
}

// Run prints what came of it.
func (c *scrollCmd) Run(s *cli.Session) error {
	choice, err := c.choice()
	switch {
	case err != nil:
		return err
	case c.Target == "" && !c.By.given && c.To == "":
		return fault.New(fault.Usage, "one of TARGET, --by and --to is needed")
	case c.By.given && c.To != "":
		return fault.New(fault.Usage, "--by and --to both say how far")
	case c.Nth != 0 && c.Target == "":
		return fault.New(fault.Usage, "--nth is for an element, and none is named")
	}
	if c.Target != "" {
		if c.aim, err = steel.ParseAim(c.Target); err != nil {
			return err
		}
	}
	return c.act(s, "scroll", func(ctx context.Context, p *steel.Page) (*steel.Action, error) {
		return p.Scroll(ctx, c.aim, choice, steel.Scrolling{X: c.By.x, Y: c.By.y, To: c.To})
	})
}

// offset is a flag's: X,Y in pixels.
type offset struct {
	x, y  int
	given bool
}

var offsetForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(-?[0-9]{1,7}),(-?[0-9]{1,7})$`) })

// UnmarshalText reads it.
func (o *offset) UnmarshalText(text []byte) error {
	m := offsetForm().FindSubmatch(text)
	if m == nil {
		return fault.New(fault.Usage, "%s is no offset: two numbers of pixels, such as 0,400", fault.Quote(string(text)))
	}
	o.x, _ = strconv.Atoi(string(m[1])) // at most seven digits
	o.y, _ = strconv.Atoi(string(m[2]))
	o.given = true
	return nil
}
