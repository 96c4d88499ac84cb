package main

import (
	"context"
	"strings"
	"time"

	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/steel"
)

// How long commands may take unless --timeout says otherwise.
const (
	actTime  = 10 * time.Second
	loadTime = 30 * time.Second
)

// onTab is the flags of every verb about a page.
type onTab struct {
	Session  string   `placeholder:"ID" help:"The session's id or name; default: KXM_STEEL_SESSION, else the only open one."`
	Tab      string   `placeholder:"tN" help:"The tab, for this command; default: the current one."`
	Timeout  duration `placeholder:"D" help:"How long the command may take: 10s, or 30s where a page is loaded."`
	OnDialog string   `placeholder:"HOW" help:"Answer the page's dialogs otherwise: accept, dismiss, text-from-stdin or text-from-env=NAME."`

	aim    steel.Aim         // of a verb about one element
	before func(*desk) error // reads what the command gives to the page, ahead of any traffic
}

// attachingCodes are how a verb about a page can end.
func attachingCodes(more ...fault.Code) []fault.Code {
	return askingCodes(browserCodes(append(more, fault.SteelSessionNotFound, fault.SteelSessionAmbiguous, fault.SteelSessionExpired,
		fault.SteelSessionBusy, fault.SteelStateCorrupt, fault.SteelHumanInControl, fault.SteelTakeoverInvalid, fault.SteelTabNotFound, fault.SteelTabLost,
		fault.SteelTabStuck, fault.SteelTabCrashed, fault.SteelTimeout)...)...)
}

// run attaches to the tab and lets act answer.
func (t *onTab) run(s *cli.Session, verb string, reads bool, act func(context.Context, *desk, *steel.Page) error) error {
	d, err := open(s, 0, false)
	if err != nil {
		return err
	}
	defer d.Store.Close()
	a, err := t.access(s, d)
	if err != nil {
		return err
	}
	a.Verb, a.Reads = verb, reads
	if t.before != nil {
		if err := t.before(d); err != nil {
			return err
		}
	}
	return interruptible(s, func(ctx context.Context) error {
		return d.OnPage(ctx, a, func(ctx context.Context, p *steel.Page) error { return act(ctx, d, p) })
	})
}

// access is what the flags say of the way to the tab.
func (t *onTab) access(s *cli.Session, d *desk) (*steel.Access, error) {
	if t.Timeout == 0 {
		t.Timeout = duration(actTime)
	}
	answer, err := dialogAnswer(s, d, t.OnDialog)
	return &steel.Access{Session: d.named(t.Session), Tab: t.Tab, Timeout: time.Duration(t.Timeout), Dialog: answer, Aim: t.aim}, err
}

// dialogAnswer reads --on-dialog.
func dialogAnswer(s *cli.Session, d *desk, how string) (steel.DialogAnswer, error) {
	name, fromEnv := strings.CutPrefix(how, "text-from-env=")
	switch {
	case how == "":
		return steel.DialogAnswer{}, nil
	case how == "accept" || how == "dismiss":
		return steel.DialogAnswer{Policy: steel.Policy(how)}, nil
	case fromEnv && name != "" || how == "text-from-stdin":
		in := input{Stdin: true}
		if fromEnv {
			in = input{FromEnv: name}
		}
		text, _, err := in.read(s, d)
		return steel.DialogAnswer{Text: &text}, err
	}
	return steel.DialogAnswer{}, fault.New(fault.Usage, "%s answers no dialog", fault.Quote(how)).WithHint("accept, dismiss, text-from-stdin or text-from-env=NAME")
}
