package main

import (
	"context"
	"time"

	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/steel"
)

// consoleCmd prints messages.
type consoleCmd struct {
	onTab
	Since duration `placeholder:"D" help:"Only from so long ago on; default: since the session began."`
	Level string   `enum:"error,warning,info,debug" default:"debug" placeholder:"LEVEL" help:"The least severe level: error, warning, info or debug."`
	Limit int      `placeholder:"N" default:"200" help:"Only so many, the newest."`
}

// Codes names what the command can end with.
func (*consoleCmd) Codes() []fault.Code { return attachingCodes() }

// Help says where messages come from.
func (*consoleCmd) Help() string {
	return `The current document's messages, exceptions and failed loads come from the browser; those of documents before, in this tab and session, from the server's log. Secrets in messages are masked.`
}

// maxLimit is the largest number of messages.
const maxLimit = 10000

// Run prints the messages, oldest first.
func (c *consoleCmd) Run(s *cli.Session) error {
	if c.Limit < 1 || c.Limit > maxLimit {
		return fault.New(fault.Usage, "--limit lies between 1 and %d", maxLimit)
	}
	return c.run(s, "console", true, func(ctx context.Context, d *desk, p *steel.Page) error {
		entries, warnings, err := p.Console(ctx, &steel.ConsoleOptions{Since: time.Duration(c.Since), Level: c.Level, Limit: c.Limit})
		if err != nil {
			return err
		}
		d.warn(warnings)
		return emitAll(d, entries)
	})
}

// networkCmd prints requests.
type networkCmd struct {
	onTab
	Since  duration `placeholder:"D" help:"Only from so long ago on; default: since the session began."`
	Failed bool     `help:"Only those without an answer, or with one of 400 or above."`
}

// Codes names what the command can end with.
func (*networkCmd) Codes() []fault.Code { return attachingCodes(fault.SteelUnsupported) }

// Help says where requests come from.
func (*networkCmd) Help() string {
	return `The requests of this tab and session come from the server's log, or where there is none from what the current document remembers. Headers and bodies are never printed, and of addresses no values that look like credentials.`
}

// Run prints the requests, oldest first.
func (c *networkCmd) Run(s *cli.Session) error {
	return c.run(s, "network", true, func(ctx context.Context, d *desk, p *steel.Page) error {
		entries, warnings, err := p.Network(ctx, time.Duration(c.Since), c.Failed)
		if err != nil {
			return err
		}
		d.warn(warnings)
		return emitAll(d, entries)
	})
}

// warn prints warnings on standard error.
func (d *desk) warn(warnings []string) {
	for _, w := range warnings {
		d.session.Warn("%s", w)
	}
}
