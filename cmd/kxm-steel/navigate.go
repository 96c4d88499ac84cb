package main

import (
	"context"

	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/steel"
)

// loading is the flags of verbs that load a page.
type loading struct {
	onTab
	Until        string `enum:"load,dom,idle,none" default:"load" placeholder:"WHAT" help:"Wait for load, dom, idle or none."`
	FailOnStatus bool   `help:"End with status 1 when the page is answered with 400 or above."`
}

func (l *loading) navigation() steel.Navigation {
	return steel.Navigation{Until: steel.Until(l.Until), FailOnStatus: l.FailOnStatus}
}

// Codes names what the commands can end with.
func (*loading) Codes() []fault.Code {
	return attachingCodes(fault.SteelURLRefused, fault.SteelNavigationFailed, fault.SteelNavigationTimeout, fault.SteelHTTPStatus, fault.SteelNoHistory)
}

// act runs a command and prints its action.
func (l *loading) act(s *cli.Session, verb string, do func(context.Context, *steel.Page) (*steel.Action, error)) error {
	if l.Timeout == 0 {
		l.Timeout = duration(loadTime)
	}
	return l.run(s, verb, false, func(ctx context.Context, d *desk, p *steel.Page) error {
		done, err := do(ctx, p)
		if done == nil || done.Schema == "" {
			return err
		}
		return firstOf(err, d.emit(done))
	})
}

// gotoCmd sends the tab to an address.
type gotoCmd struct {
	loading
	URL string `arg:"" name:"url" help:"The page: http, https or about:blank."`
}

// Run prints where the tab is.
func (c *gotoCmd) Run(s *cli.Session) error {
	if err := steel.CheckPageURL(c.URL); err != nil {
		return err
	}
	return c.act(s, "goto", func(ctx context.Context, p *steel.Page) (*steel.Action, error) {
		return p.Goto(ctx, c.URL, c.navigation())
	})
}

// backCmd goes back in the tab's history.
type backCmd struct{ loading }

// Run prints where the tab is.
func (c *backCmd) Run(s *cli.Session) error {
	return c.act(s, "back", func(ctx context.Context, p *steel.Page) (*steel.Action, error) { return p.Back(ctx, c.navigation()) })
}

// reloadCmd loads the page again.
type reloadCmd struct{ loading }

// Run prints where the tab is.
func (c *reloadCmd) Run(s *cli.Session) error {
	return c.act(s, "reload", func(ctx context.Context, p *steel.Page) (*steel.Action, error) { return p.Reload(ctx, c.navigation()) })
}

// evalCmd runs a script in the page.
type evalCmd struct {
	onTab
	Expr string `arg:"" optional:"" name:"expr" help:"The expression; - reads it from standard input."`
	File string `placeholder:"F" help:"File that holds the expression."`
}

// Codes names what the command can end with.
func (*evalCmd) Codes() []fault.Code { return attachingCodes(fault.SteelEvalThrew) }

// Help says in which world it runs.
func (*evalCmd) Help() string {
	return `The expression runs in the page's own world, as a line of the console would; a promise is awaited. A value that JSON cannot hold has a description instead.`
}

// Run prints the value.
func (c *evalCmd) Run(s *cli.Session) error {
	if (c.Expr == "") == (c.File == "") {
		return fault.New(fault.Usage, "one expression is needed").WithHint("kxm-steel eval EXPR, or --file F, or - for standard input")
	}
	expression := c.Expr
	if c.Expr == "-" || c.File != "" {
		name := c.File
		if name == "" {
			name = "-"
		}
		data, err := s.ReadFile(name)
		if err != nil {
			return err
		}
		expression = string(data)
	}
	return c.run(s, "eval", false, func(ctx context.Context, d *desk, p *steel.Page) error {
		v, err := p.Eval(ctx, expression)
		if err != nil {
			return err
		}
		return d.emit(v)
	})
}
