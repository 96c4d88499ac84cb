package main

import (
	"context"

	"kxm/lib/cli"
	"kxm/lib/eventlog"
	"kxm/lib/fault"
)

// syncCmd exchanges events with a remote.
type syncCmd struct {
	reading
	Remote string `arg:"" optional:"" name:"remote" help:"A configured remote; default: origin, or the only one."`
	Pull   bool   `xor:"way" help:"Only take in what the remote has."`
	Push   bool   `xor:"way" help:"Only send what is here."`
}

// Codes names what the command can end with.
func (*syncCmd) Codes() []fault.Code {
	return storeCodes(fault.StateSyncRejected, fault.StateBusy, fault.StateQuarantine, fault.RefLocked)
}

// Help says how.
func (*syncCmd) Help() string {
	return `It runs git fetch and git push, so that addresses, credentials and proxies are yours. Nothing is
ever forced: afterwards both sides hold the union, and a remote that lost events gets them back.`
}

// Run exchanges and prints what was moved.
func (c *syncCmd) Run(s *cli.Session) error {
	ctx, stop := s.Context() // git may wait for a network, and must end with us
	defer stop()
	d, err := c.open(ctx, s)
	if err != nil {
		return err
	}
	done, err := d.Log.Sync(ctx, c.Remote, eventlog.SyncOptions{Pull: !c.Push, Push: !c.Pull})
	if err != nil {
		return err
	}
	if done.Restored > 0 {
		s.Warn("%s has lost %s that it had before; they are kept here, and sent again with a push", fault.Quote(done.Remote), count(done.Restored, "event"))
	}
	return s.Emit(struct {
		Schema   string `json:"schema"`
		Remote   string `json:"remote"`
		Tip      string `json:"tip,omitempty"`
		Fetched  int    `json:"fetched"`
		Merged   int    `json:"merged"`
		Pushed   int    `json:"pushed"`
		Restored int    `json:"restored"`
	}{"kxm.state-sync.v1", done.Remote, string(done.Tip), done.Fetched, done.Merged, done.Pushed, done.Restored})
}

// compactCmd packs the log's objects.
type compactCmd struct{ reading }

// Codes names what the command can end with.
func (*compactCmd) Codes() []fault.Code {
	return storeCodes(fault.StateBusy, fault.StateQuarantine, fault.RefLocked)
}

// Run packs, and prints where the log is, which is where it was.
func (c *compactCmd) Run(s *cli.Session) error {
	ctx := context.Background()
	d, err := c.open(ctx, s)
	if err != nil {
		return err
	}
	if err := d.Log.Compact(ctx); err != nil {
		return err
	}
	snapshot, err := d.Log.Snapshot(ctx, "")
	if err != nil {
		return err
	}
	return s.Emit(struct {
		Schema string `json:"schema"`
		Tip    string `json:"tip,omitempty"`
	}{"kxm.state-compact.v1", string(snapshot.Tip())})
}
