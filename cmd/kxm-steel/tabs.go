package main

import (
	"context"
	"time"

	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/steel"
)

// tabCmd is the verbs about tabs.
type tabCmd struct {
	List  tabListCmd  `cmd:"" help:"Print the tabs, one a line."`
	New   tabNewCmd   `cmd:"" help:"Open a tab and make it the current one."`
	Use   tabUseCmd   `cmd:"" help:"Make a tab the current one."`
	Close tabCloseCmd `cmd:"" help:"Close a tab, also one that does not answer."`
}

// onBrowser is the flags of verbs about a browser's tabs.
type onBrowser struct {
	onSession
	Timeout duration `placeholder:"D" help:"How long the command may take: 10s, or 30s where a page is loaded."`

	onDialog string // of a verb that loads a page
}

// Codes names what the commands can end with.
func (*onBrowser) Codes() []fault.Code { return attachingCodes() }

// run connects to the browser and lets act answer.
func (b *onBrowser) run(s *cli.Session, a *steel.Access, act func(context.Context, *desk, *steel.Browser) error) error {
	d, err := open(s, 0, false)
	if err != nil {
		return err
	}
	defer d.Store.Close()
	a.Session, a.Timeout = d.named(b.Session), time.Duration(b.Timeout)
	if a.Timeout == 0 {
		a.Timeout = actTime
	}
	if a.Dialog, err = dialogAnswer(s, d, b.onDialog); err != nil {
		return err
	}
	return interruptible(s, func(ctx context.Context) error {
		return d.OnBrowser(ctx, a, func(ctx context.Context, b *steel.Browser) error { return act(ctx, d, b) })
	})
}

// tabListCmd prints the tabs.
type tabListCmd struct{ onBrowser }

// Help says what is a tab's name.
func (*tabListCmd) Help() string {
	return `A tab has the same name, t1, t2 and so on, for as long as it is open, and no other ever gets it. One that a page opened gets its name when it is listed; it is not followed.`
}

// Run prints one tab a line.
func (c *tabListCmd) Run(s *cli.Session) error {
	return c.run(s, &steel.Access{Verb: "tab list", Reads: true}, func(_ context.Context, d *desk, b *steel.Browser) error {
		return emitAll(d, b.Tabs())
	})
}

// tabNewCmd opens a tab.
type tabNewCmd struct {
	onBrowser
	OnDialog string `placeholder:"HOW" help:"Answer the page's dialogs otherwise: accept, dismiss, text-from-stdin or text-from-env=NAME."`
	URL      string `arg:"" optional:"" name:"url" default:"about:blank" help:"The page: http, https or about:blank."`
}

// Codes names what the command can end with.
func (*tabNewCmd) Codes() []fault.Code {
	return attachingCodes(fault.SteelURLRefused, fault.SteelNavigationFailed, fault.SteelNavigationTimeout)
}

// Run prints the tab. If its page does not come it is closed again.
func (c *tabNewCmd) Run(s *cli.Session) error {
	if err := steel.CheckPageURL(c.URL); err != nil {
		return err
	}
	if c.Timeout == 0 {
		c.Timeout = duration(loadTime)
	}
	c.onDialog = c.OnDialog
	return c.run(s, &steel.Access{Verb: "tab new"}, func(ctx context.Context, d *desk, b *steel.Browser) error {
		tab, err := b.NewTab(ctx, c.URL)
		if err != nil {
			return err
		}
		return d.emit(tab)
	})
}

// tabUseCmd chooses a tab.
type tabUseCmd struct {
	onBrowser
	Name string `arg:"" name:"tab" help:"The tab: t1, t2 and so on."`
}

// Run prints the tab.
func (c *tabUseCmd) Run(s *cli.Session) error {
	return c.run(s, &steel.Access{Verb: "tab use", Verifying: true}, func(_ context.Context, d *desk, b *steel.Browser) error {
		tab, err := b.UseTab(c.Name)
		if err != nil {
			return err
		}
		return d.emit(tab)
	})
}

// tabCloseCmd closes a tab.
type tabCloseCmd struct {
	onBrowser
	Name string `arg:"" name:"tab" help:"The tab: t1, t2 and so on."`
}

// Help says what is current then.
func (*tabCloseCmd) Help() string {
	return `The answer is the current tab. If that is the one that was closed, the tab that opened it becomes current, or else the one with the lowest number; after the last one a blank tab is opened. A page is not asked whether it wants to be left.`
}

// Run prints the current tab.
func (c *tabCloseCmd) Run(s *cli.Session) error {
	return c.run(s, &steel.Access{Verb: "tab close"}, func(ctx context.Context, d *desk, b *steel.Browser) error {
		tab, err := b.CloseTab(ctx, c.Name)
		if err != nil {
			return err
		}
		return d.emit(tab)
	})
}
