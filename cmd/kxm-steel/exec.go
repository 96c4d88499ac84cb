package main

import (
	"context"
	"os"
	"time"

	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/process"
	"kxm/lib/steel"
)

// execCmd runs a program that controls the session.
type execCmd struct {
	onSession
	Tab     string   `placeholder:"tN" help:"The tab that KXM_STEEL_TARGET names; default: the current one."`
	Timeout duration `placeholder:"D" default:"10s" help:"How long looking at the tab may take, before CMD starts and after it has ended. CMD itself may run until the session's deadline."`
	Direct  bool     `help:"Give CMD the server's own address in place of the relay's; the key stands in it."`
	Argv    []string `arg:"" name:"cmd" passthrough:"partial" help:"The program and its arguments; write -- in front."`
}

// Codes names what the command itself can end with.
func (*execCmd) Codes() []fault.Code { return attachingCodes() }

// PassesStatusOf names whose status it is otherwise.
func (*execCmd) PassesStatusOf() string {
	return "CMD (128 and the number of a signal that it died of)"
}

// Help says what CMD is given and how a driver uses it.
func (*execCmd) Help() string {
	return `CMD controls the session for as long as it runs: every other verb about its page, also inside of CMD, ends with steel_session_busy. Streams, arguments and exit status are CMD's own; a failure before it starts is told by a line of kxm-steel on standard error. At the session's deadline CMD and what it started are ended (TERM, 5 s, KILL).

In CMD's environment are KXM_STEEL_CDP_URL (the address of a relay on this computer, which needs no key and ends with CMD), KXM_STEEL_CDP_HTTP (the same, for clients that look for /json/version below it; Puppeteer's browserURL drops the path and finds nothing), KXM_STEEL_SESSION and KXM_STEEL_TARGET (the tab, as the protocol names it). STEEL_API_KEY, KXM_STEEL_KEY_COMMAND and any other variable that holds the key are not. Closing the browser closes the connection only: the session goes on.

  kxm-steel exec -- node test.mjs
      Playwright: chromium.connectOverCDP(process.env.KXM_STEEL_CDP_URL)
      Puppeteer:  puppeteer.connect({browserWSEndpoint: process.env.KXM_STEEL_CDP_URL})
  kxm-steel exec -- sh -c 'agent-browser --cdp "$KXM_STEEL_CDP_URL" snapshot'

With --direct KXM_STEEL_CDP_URL is the server's address. The key stands in it where the server takes it there, which means in the cloud and with KXM_STEEL_CDP_AUTH=query or auto, and everything that CMD starts can read it. With KXM_STEEL_CDP_AUTH=header it does not, and CMD has to send the key itself.`
}

// Run runs CMD and ends as it does.
func (c *execCmd) Run(s *cli.Session) error {
	argv := c.Argv
	if len(argv) > 0 && argv[0] == "--" {
		argv = argv[1:]
	}
	if len(argv) == 0 || argv[0] == "" {
		return fault.New(fault.Usage, "no program is named").WithHint("kxm-steel exec -- CMD ARGS…")
	}
	if s.Globals.Output != "" {
		return fault.New(fault.Usage, "-o is for answers, and exec has none: CMD writes to its own streams")
	}
	d, err := open(s, 0, false)
	if err != nil {
		return err
	}
	defer d.Store.Close()
	ctx, stop := s.Context()
	defer stop()
	x := &steel.Execution{
		Access: steel.Access{Session: d.named(c.Session), Tab: c.Tab, Timeout: time.Duration(c.Timeout)},
		Argv:   argv, Direct: c.Direct, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Warn: s.Warn,
		Begin: func() error {
			stop()
			if s.Interrupted() {
				return context.Canceled
			}
			return nil
		},
	}
	if s.Explicit() {
		x.Dir = s.Dir
	}
	ended, err := d.Exec(ctx, x)
	if err != nil {
		return err
	}
	return outcome(ended)
}

// outcome is the end of CMD as ours. Ctrl-C is raised again, since it is meant for a
// script around us as well.
func outcome(r *process.Result) error {
	switch status := r.ExitStatus(); {
	case r.Signal == os.Interrupt && r.Received == os.Interrupt:
		return &cli.Outcome{Signal: r.Signal}
	case status != 0:
		return &cli.Outcome{Status: status}
	}
	return nil
}
