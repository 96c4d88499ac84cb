package main

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/steel"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// startCmd creates a session.
type startCmd struct {
	changing
	Name         string     `placeholder:"N" help:"A name that commands may use instead of the id."`
	Timeout      duration   `placeholder:"D" help:"How long the session may last: 300000 (milliseconds), 300s or 5m."`
	Dimensions   dimensions `placeholder:"WxH" help:"Size of the window in pixels."`
	UserAgent    string     `placeholder:"S" help:"The browser's user agent."`
	Timezone     string     `placeholder:"Z" help:"The browser's time zone, such as Europe/Berlin."`
	BlockAds     bool       `help:"Block advertisements."`
	ProxyFromEnv string     `placeholder:"NAME" help:"Environment variable that holds the address of a proxy for the browser; it is a secret."`
	Context      string     `placeholder:"FILE" help:"Set cookies and local storage from what context save wrote; - reads it from standard input."`
	KeepProfile  bool       `help:"Leave what earlier sessions left in the browser: cookies, storage, tabs."`
	Wait         duration   `placeholder:"D" help:"Wait so long for the server to become free."`
	Replace      string     `placeholder:"ID" help:"Release the live session first if it has exactly this id and no person holds it."`
	DryRun       bool       `short:"n" help:"Print the calls that would be made, and make none."`
}

// Help says how it protects other sessions.
func (*startCmd) Help() string {
	return `The open-source server would silently replace a session that is live: the command ends with steel_endpoint_in_use instead. Interrupted, it releases what it has created.`
}

// Codes names what the command can end with.
func (*startCmd) Codes() []fault.Code {
	return changingCodes(browserCodes(fault.SteelUsage, fault.SteelEndpointInUse, fault.SteelHumanInControl, fault.SteelCreateFailed, fault.SteelIDMismatch,
		fault.SteelReleaseFailed, fault.SteelWipeIncomplete, fault.SteelBadContext, fault.SteelNavigationFailed, fault.SteelNavigationTimeout,
		fault.SteelTabLost, fault.SteelTabStuck, fault.SteelTabCrashed, fault.SteelTimeout)...)
}

// Run prints the session.
func (c *startCmd) Run(s *cli.Session) error {
	var saved *steel.SavedContext
	if c.Context != "" {
		var err error
		if saved, err = readContext(s, c.Context); err != nil {
			return err
		}
	}
	d, err := open(s, c.LockWait, !c.DryRun)
	if err != nil {
		return err
	}
	defer d.Store.Close()
	o := &steel.StartOptions{
		Name: c.Name, Timeout: time.Duration(c.Timeout), Dimensions: c.Dimensions.value, UserAgent: c.UserAgent, Timezone: c.Timezone,
		BlockAds: c.BlockAds, Wait: time.Duration(c.Wait), Replace: c.Replace, KeepProfile: c.KeepProfile, Context: saved,
	}
	if c.ProxyFromEnv != "" {
		if o.ProxyURL = s.Getenv(c.ProxyFromEnv); o.ProxyURL == "" {
			return fault.New(fault.Usage, "the environment variable %s is not set", fault.Quote(c.ProxyFromEnv))
		}
		d.Secrets.Add(o.ProxyURL)
	}
	if c.DryRun {
		calls, err := d.PlanStart(o)
		if err != nil {
			return err
		}
		return emitAll(d, calls)
	}
	return interruptible(s, func(ctx context.Context) error {
		started, err := d.Start(ctx, o)
		if err != nil {
			return err
		}
		return d.emit(started)
	})
}

// dimensions is a flag's: WxH.
type dimensions struct{ value *steel.Dimensions }

var dimensionsForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([1-9][0-9]{0,4})x([1-9][0-9]{0,4})$`) })

// maxSide is the longest side of a window, in pixels: Chromium's largest texture.
const maxSide = 16384

// UnmarshalText reads it.
func (d *dimensions) UnmarshalText(text []byte) error {
	m := dimensionsForm().FindSubmatch(text)
	if m != nil {
		w, _ := strconv.Atoi(string(m[1])) // at most five digits
		h, _ := strconv.Atoi(string(m[2]))
		if w <= maxSide && h <= maxSide {
			d.value = &steel.Dimensions{Width: w, Height: h}
			return nil
		}
	}
	return fault.New(fault.Usage, "%s is no size: two numbers of pixels up to %d, such as 1280x800", fault.Quote(string(text)), maxSide)
}

// listCmd prints sessions.
type listCmd struct {
	All bool `help:"Also placeholders and sessions that are over."`
}

// Codes names what the command can end with.
func (*listCmd) Codes() []fault.Code { return askingCodes() }

// Run prints one session a line.
func (c *listCmd) Run(s *cli.Session) error {
	d, err := open(s, 0, false)
	if err != nil {
		return err
	}
	defer d.Store.Close()
	lines, broken, err := d.Merge(context.Background(), c.All)
	if err != nil {
		return err
	}
	d.warnBroken(broken)
	return emitAll(d, lines)
}

// named is the argument that names a session.
type named struct {
	ID string `arg:"" optional:"" name:"id" help:"The session's id or name; default: KXM_STEEL_SESSION, else the only open one."`
}

// showCmd prints one session.
type showCmd struct{ named }

// Codes names what the command can end with.
func (*showCmd) Codes() []fault.Code {
	return askingCodes(fault.SteelSessionNotFound, fault.SteelSessionAmbiguous, fault.SteelStateCorrupt)
}

// Run prints the session.
func (c *showCmd) Run(s *cli.Session) error {
	d, err := open(s, 0, false)
	if err != nil {
		return err
	}
	defer d.Store.Close()
	line, err := d.Show(context.Background(), d.named(c.ID))
	if err != nil {
		return err
	}
	return d.emit(line)
}

// adoptCmd records a session.
type adoptCmd struct {
	changing
	ID      string   `arg:"" name:"id" help:"The session's id."`
	Name    string   `placeholder:"N" help:"A name that commands may use instead of the id."`
	Timeout duration `placeholder:"D" help:"How long the session may last from now on."`
}

// Codes names what the command can end with.
func (*adoptCmd) Codes() []fault.Code {
	return changingCodes(browserCodes(fault.SteelUsage, fault.SteelSessionNotFound)...)
}

// Run prints the session.
func (c *adoptCmd) Run(s *cli.Session) error {
	d, err := open(s, c.LockWait, true)
	if err != nil {
		return err
	}
	defer d.Store.Close()
	return interruptible(s, func(ctx context.Context) error {
		adopted, err := d.Adopt(ctx, c.ID, c.Name, time.Duration(c.Timeout))
		if err != nil {
			return err
		}
		return d.emit(adopted)
	})
}

// releaseCmd ends a session.
type releaseCmd struct {
	changing
	named
	NoWipe bool `xor:"wipe" help:"Leave cookies, storage and tabs in the browser."`
	Wipe   bool `xor:"wipe" help:"Remove them also from a session in the cloud."`
	DryRun bool `short:"n" help:"Print the calls that would be made, and make none."`
}

func (c *releaseCmd) wiping() steel.Wiping {
	switch {
	case c.Wipe:
		return steel.Wipe
	case c.NoWipe:
		return steel.NoWipe
	}
	return steel.WipeByMode
}

// Help says what is no failure.
func (*releaseCmd) Help() string {
	return `A session that has ended already is no failure: "released" is false then, and nothing was sent that could end another one.`
}

// Codes names what the command can end with.
func (*releaseCmd) Codes() []fault.Code {
	return changingCodes(fault.SteelSessionNotFound, fault.SteelSessionAmbiguous, fault.SteelTakeoverInvalid, fault.SteelReleaseFailed, fault.SteelWipeIncomplete)
}

// Run prints what came of it.
func (c *releaseCmd) Run(s *cli.Session) error {
	d, err := open(s, c.LockWait, !c.DryRun)
	if err != nil {
		return err
	}
	defer d.Store.Close()
	r, err := d.find(c.ID)
	if err != nil {
		return err
	}
	if c.DryRun {
		return emitAll(d, d.PlanRelease(r))
	}
	return interruptible(s, func(ctx context.Context) error {
		done, err := d.Release(ctx, r, c.wiping())
		if done == nil {
			return err
		}
		return firstOf(err, d.emit(done))
	})
}

// sweepCmd looks for orphans.
type sweepCmd struct {
	changing
	OlderThan duration `placeholder:"D" help:"From which age on; default: KXM_STEEL_ORPHAN_AGE, else 10m."`
	Release   bool     `help:"Release them, and close records of sessions that are gone."`
	Untracked bool     `help:"With --release: also sessions that nobody here tracks."`
	DryRun    bool     `short:"n" help:"Only look."`
}

// Help says what each kind is.
func (*sweepCmd) Help() string {
	return `Kinds: untracked (live, no record, old), idle (nobody acted on it for long), expired (past its deadline), unfinished (a create or release that did not come to its end), gone (recorded, but not on the server), human (held by a person for longer than was said; never released here).`
}

// Codes names what the command can end with.
func (*sweepCmd) Codes() []fault.Code {
	return changingCodes(fault.SteelOrphansFound, fault.SteelReleaseFailed, fault.SteelWipeIncomplete)
}

// Run prints the orphans, and fails while some remain.
func (c *sweepCmd) Run(s *cli.Session) error {
	if c.Untracked && !c.Release {
		return fault.New(fault.Usage, "--untracked says what --release releases")
	}
	d, err := open(s, c.LockWait, c.Release && !c.DryRun)
	if err != nil {
		return err
	}
	defer d.Store.Close()
	return interruptible(s, func(ctx context.Context) error {
		found, err := d.Sweep(ctx, steel.SweepOptions{OlderThan: time.Duration(c.OlderThan), Release: c.Release, Untracked: c.Untracked, DryRun: c.DryRun})
		if found == nil {
			return err
		}
		d.warnBroken(found.Broken)
		if eerr := emitAll(d, found.Orphans); eerr != nil || err != nil {
			return firstOf(err, eerr)
		}
		switch n := found.Remaining(); n {
		case 0:
			return nil
		case 1:
			return fault.New(fault.SteelOrphansFound, "1 session remains that nobody looks after")
		default:
			return fault.New(fault.SteelOrphansFound, "%d sessions remain that nobody looks after", n)
		}
	})
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
