package main

import (
	"context"

	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/steel"
)

// dialogCmd sets how dialogs are answered.
type dialogCmd struct {
	onSession
	Policy string `enum:",default,accept,dismiss" placeholder:"HOW" default:"" help:"From now on: default, accept or dismiss."`
}

// Help says what the policies do.
func (*dialogCmd) Help() string {
	return `By default alert and beforeunload are accepted, confirm and prompt dismissed. A verb's --on-dialog goes before it. A dialog that opens while no command runs is answered by nobody and blocks its tab: kxm-steel recover.`
}

// Codes names what the command can end with.
func (*dialogCmd) Codes() []fault.Code {
	return stateCodes(fault.SteelHumanInControl, fault.SteelTakeoverInvalid, fault.SteelSessionGone, fault.SteelSessionExpired)
}

// Run prints the policy and the last dialogs.
func (c *dialogCmd) Run(s *cli.Session) error {
	return answer(s, 0, false, func(ctx context.Context, d *desk) (*steel.DialogReport, error) {
		return d.Policy(ctx, d.named(c.Session), steel.Policy(c.Policy))
	})
}
