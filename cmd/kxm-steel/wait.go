package main

import (
	"context"
	"time"

	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/steel"
)

// conditions are the flags that the verbs share which wait for something.
type conditions struct {
	URL    []string `name:"url" sep:"none" placeholder:"GLOB" help:"The tab's whole address is so; * is any text."`
	Text   []string `sep:"none" placeholder:"T" help:"The page shows the text."`
	Gone   []string `sep:"none" placeholder:"T" help:"The page does not show the text."`
	Target []string `sep:"none" placeholder:"TARGET" help:"One visible element matches: e12, css=SELECTOR, text=TEXT, label=TEXT or testid=ID."`
	Eval   []string `sep:"none" placeholder:"EXPR" help:"The expression is true in the page's own world; a promise is awaited."`
}

const conditionsHelp = `A condition may be given several times. Texts are looked for in what is visible, white space folded, also in open shadow roots and in frames of the same origin.`

func (c *conditions) wanted() ([]steel.Wanted, error) {
	var all []steel.Wanted
	for _, of := range []struct {
		subject steel.Subject
		values  []string
	}{{steel.URLMatches, c.URL}, {steel.TextShown, c.Text}, {steel.TextGone, c.Gone}, {steel.EvalTrue, c.Eval}} {
		for _, v := range of.values {
			all = append(all, steel.Wanted{Subject: of.subject, Value: v})
		}
	}
	return targets(all, steel.TargetShown, c.Target)
}

// targets adds conditions about elements.
func targets(all []steel.Wanted, subject steel.Subject, elements []string) ([]steel.Wanted, error) {
	for _, text := range elements {
		aim, err := steel.ParseAim(text)
		if err != nil {
			return nil, err
		}
		all = append(all, steel.Wanted{Subject: subject, Value: text, Aim: aim})
	}
	return all, nil
}

// waitCmd waits for the page.
type waitCmd struct {
	onTab
	conditions
	Hidden []string `sep:"none" placeholder:"TARGET" help:"No visible element matches."`
	Load   string   `enum:",load,idle" placeholder:"WHAT" default:"" help:"The page is loaded: load, or idle for half a second without a request."`
	For    duration `placeholder:"D" help:"So much time has passed."`
}

// Help says what holds.
func (*waitCmd) Help() string {
	return `All conditions must hold at once, within --timeout (10s, and the time of --for); the page is asked every 100 ms.
` + conditionsHelp + "\n\n" + targetHelp
}

// Codes names what the command can end with.
func (*waitCmd) Codes() []fault.Code { return locatingCodes(fault.SteelWaitUnmet) }

// Run prints the conditions, which hold.
func (c *waitCmd) Run(s *cli.Session) error {
	wanted, err := c.wanted()
	if err == nil {
		wanted, err = targets(wanted, steel.TargetHidden, c.Hidden)
	}
	if err != nil {
		return err
	}
	if c.Load != "" {
		wanted = append(wanted, steel.Wanted{Subject: steel.Loaded, Value: c.Load})
	}
	if c.For > 0 {
		wanted = append(wanted, steel.Wanted{Subject: steel.TimeOver, For: time.Duration(c.For)})
	}
	if err := steel.CheckWanted(wanted); err != nil {
		return err
	}
	if c.Timeout == 0 {
		c.Timeout = duration(actTime) + c.For
	}
	return c.run(s, "wait", true, func(ctx context.Context, d *desk, p *steel.Page) error {
		done, err := p.Wait(ctx, wanted)
		if err != nil {
			return err
		}
		return d.emit(done)
	})
}
