package main

import (
	"context"
	"time"

	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/steel"
)

// takeoverCmd is the verbs of a person's turn.
type takeoverCmd struct {
	Begin   beginCmd   `cmd:"" help:"Hand the tab to a person, and print what to tell them."`
	Status  statusCmd  `cmd:"" help:"Print who controls the session; with --wait once no person does."`
	Done    doneCmd    `cmd:"" help:"Say that the person has done their part."`
	Verify  verifyCmd  `cmd:"" help:"Take the session back if the page shows that it worked."`
	Abandon abandonCmd `cmd:"" help:"Give up: wipe and release the session."`
}

// onSession is the flag of verbs about a session that may ask nothing of a page.
type onSession struct {
	Session string `placeholder:"ID" help:"The session's id or name; default: KXM_STEEL_SESSION, else the only open one."`
}

// stateCodes are how a change of a session's record can end.
func stateCodes(more ...fault.Code) []fault.Code {
	return settingCodes(append(more, fault.SteelSessionNotFound, fault.SteelSessionAmbiguous, fault.SteelSessionBusy, fault.SteelStateCorrupt)...)
}

// beginCmd gives the session to a person.
type beginCmd struct {
	onSession
	Reason string   `required:"" enum:"login,mfa,captcha,sso,consent,other" placeholder:"WHAT" help:"What the person is asked for: login, mfa, captcha, sso, consent or other."`
	Why    string   `placeholder:"TEXT" help:"One sentence for the person; it is kept and printed, so no secret belongs in it."`
	Hold   duration `placeholder:"D" default:"15m" help:"How long the person may take before a sweep tells of it."`
	By     string   `placeholder:"NAME" help:"Who asks; default: agent."`
}

// Help says what holds meanwhile.
func (*beginCmd) Help() string {
	return `Until takeover verify has succeeded no verb acts on the page, and until takeover done none looks at it: a person may be typing a password. The session's deadline stands still. "message" is for the operator. No link holds a key; in the cloud the viewer's link controls the page by itself.`
}

// Codes names what the command can end with.
func (*beginCmd) Codes() []fault.Code { return attachingCodes() }

// Run prints what to tell the operator.
func (c *beginCmd) Run(s *cli.Session) error {
	return answer(s, 0, false, func(ctx context.Context, d *desk) (*steel.Turn, error) {
		return d.BeginTakeover(ctx, &steel.Handover{
			Session: d.named(c.Session), Reason: c.Reason, Why: c.Why, Hold: time.Duration(c.Hold), By: c.By,
		})
	})
}

// statusCmd tells who controls the session.
type statusCmd struct {
	onSession
	Wait duration `placeholder:"D" help:"Wait so long for the person to be done."`
}

// Help says what the statuses of --wait mean.
func (*statusCmd) Help() string {
	return `Nothing is sent anywhere, and the session is as idle as before. With --wait the status is 0 once no person holds the session, 1 if it was released, 5 if time is up; the answer is printed in each case.`
}

// Codes names what the command can end with.
func (*statusCmd) Codes() []fault.Code {
	return stateCodes(fault.SteelSessionGone, fault.SteelTakeoverPending)
}

// Run prints state and times.
func (c *statusCmd) Run(s *cli.Session) error {
	return answer(s, 0, false, func(ctx context.Context, d *desk) (*steel.Turn, error) {
		return d.TakeoverStatus(ctx, d.named(c.Session), time.Duration(c.Wait))
	})
}

// doneCmd ends the person's part.
type doneCmd struct {
	onSession
	By string `placeholder:"NAME" help:"Who says so; default: operator."`
}

// Help says whose verb it is.
func (*doneCmd) Help() string {
	return `It is the operator's, or the agent's after the operator has said so. Nothing is sent to the page; takeover verify looks at it.`
}

// Codes names what the command can end with.
func (*doneCmd) Codes() []fault.Code {
	return stateCodes(fault.SteelTakeoverInvalid, fault.SteelSessionGone)
}

// Run prints state and times.
func (c *doneCmd) Run(s *cli.Session) error {
	return answer(s, 0, false, func(ctx context.Context, d *desk) (*steel.Turn, error) {
		return d.TakeoverDone(ctx, d.named(c.Session), c.By)
	})
}

// verifyCmd takes the session back.
type verifyCmd struct {
	onTab
	conditions
	Cookie     []string `sep:"none" placeholder:"NAME" help:"A cookie of this name is there for the tab's address."`
	NoSnapshot bool     `help:"Leave the fresh snapshot out of the answer."`
}

// Help says what holds and what follows.
func (*verifyCmd) Help() string {
	return `All conditions must hold at once, within --timeout; at least one is needed. Then the agent controls the session again, references of before are dropped, the answer holds a fresh snapshot, and the deadline runs on with at least a minute left. Otherwise nothing changes. If the tab is gone and one is left, that one is used.
` + conditionsHelp + "\n\n" + targetHelp
}

// Codes names what the command can end with.
func (*verifyCmd) Codes() []fault.Code { return locatingCodes(fault.SteelNotAuthenticated) }

// Run prints who controls the session now.
func (c *verifyCmd) Run(s *cli.Session) error {
	wanted, err := c.wanted()
	if err != nil {
		return err
	}
	for _, name := range c.Cookie {
		wanted = append(wanted, steel.Wanted{Subject: steel.CookieSet, Value: name})
	}
	if err := steel.CheckWanted(wanted); err != nil {
		return err
	}
	return answer(s, 0, false, func(ctx context.Context, d *desk) (*steel.Turn, error) {
		a, err := c.access(s, d)
		if err != nil {
			return nil, err
		}
		v := &steel.Verification{Access: *a, Wanted: wanted}
		if !c.NoSnapshot {
			v.Snapshot = func(ctx context.Context, p *steel.Page) (any, error) {
				return p.Snapshot(ctx, &steel.SnapshotOptions{MaxBytes: d.Settings.SnapshotBytes})
			}
		}
		return d.VerifyTakeover(ctx, v)
	})
}

// abandonCmd gives up.
type abandonCmd struct {
	changing
	onSession
	By string `placeholder:"NAME" help:"Who gives up; default: agent."`
}

// Codes names what the command can end with.
func (*abandonCmd) Codes() []fault.Code {
	return changingCodes(fault.SteelSessionNotFound, fault.SteelSessionAmbiguous, fault.SteelTakeoverInvalid, fault.SteelReleaseFailed, fault.SteelWipeIncomplete)
}

// Run prints what came of the session.
func (c *abandonCmd) Run(s *cli.Session) error {
	return answer(s, c.LockWait, true, func(ctx context.Context, d *desk) (*steel.Released, error) {
		return d.AbandonTakeover(ctx, d.named(c.Session), c.By)
	})
}
