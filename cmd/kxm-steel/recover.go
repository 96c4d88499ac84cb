package main

import (
	"context"
	"time"

	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/steel"
)

// recoverCmd makes a session's tabs work again.
type recoverCmd struct {
	changing
	onSession
	Timeout  duration `placeholder:"D" default:"10s" help:"How long the command may take."`
	Operator bool     `help:"Also while a person holds the session, who cannot answer a dialog in a viewer."`
	DryRun   bool     `short:"n" help:"Look, and print what would be done."`
}

// Help says in which order it goes.
func (*recoverCmd) Help() string {
	return `Tabs that a dialog or an endless script blocks are closed, and what was typed into them is lost. Then those whose renderer crashed are revived with an empty page, and if no tab is left one is opened. The session is never released. "browser" is "restarted" if it is another one than before: then the signed-in state is probably gone.`
}

// Codes names what the command can end with.
func (*recoverCmd) Codes() []fault.Code {
	return attachingCodes(fault.SteelEndpointBusy, fault.SteelRecoverFailed)
}

// Run prints what was found and done.
func (c *recoverCmd) Run(s *cli.Session) error {
	return answer(s, c.LockWait, !c.DryRun, func(ctx context.Context, d *desk) (*steel.Recovery, error) {
		return d.Recover(ctx, steel.RecoverOptions{
			Access: steel.Access{Session: d.named(c.Session), Timeout: time.Duration(c.Timeout)}, Operator: c.Operator, DryRun: c.DryRun,
		})
	})
}
