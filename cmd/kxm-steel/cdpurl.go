package main

import (
	"context"
	"time"

	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/steel"
)

// cdpURLCmd prints the browser's address.
type cdpURLCmd struct {
	onSession
	Timeout duration `placeholder:"D" default:"10s" help:"How long the command may take with --reveal."`
	Reveal  bool     `help:"Print the key as well."`
}

// Codes names what the command can end with.
func (*cdpURLCmd) Codes() []fault.Code {
	return askingCodes(fault.SteelSessionNotFound, fault.SteelSessionAmbiguous, fault.SteelSessionGone, fault.SteelSessionExpired, fault.SteelSessionBusy,
		fault.SteelStateCorrupt, fault.SteelHumanInControl, fault.SteelTakeoverInvalid, fault.SteelTimeout)
}

// Help says what is asked, and what to use instead.
func (*cdpURLCmd) Help() string {
	return `Without --reveal nothing is asked of the server or the browser, and "[redacted]" stands where the key would. With it the address is one that any program can act on the session with, past the session's lock; it is given only while the agent controls the session and the server has it. kxm-steel exec gives a program an address without a key.`
}

// Run prints the address.
func (c *cdpURLCmd) Run(s *cli.Session) error {
	if !c.Reveal {
		return answer(s, 0, false, func(_ context.Context, d *desk) (*steel.CDPURL, error) { return d.ShowCDPURL(d.named(c.Session)) })
	}
	d, err := open(s, 0, false)
	if err != nil {
		return err
	}
	defer d.Store.Close()
	return interruptible(s, func(ctx context.Context) error {
		address, err := d.RevealCDPURL(ctx, steel.Access{Session: d.named(c.Session), Timeout: time.Duration(c.Timeout)})
		if err != nil {
			return err
		}
		if address.HoldsKey {
			s.Warn("the address holds the key: whoever has it controls the browser")
		}
		return s.Emit(address) // unmasked, and nothing in it is from a page
	})
}
