package main

import (
	"context"

	"kxm/lib/cli"
	"kxm/lib/eventlog"
	"kxm/lib/fault"
	"kxm/lib/item"
	"kxm/lib/state"
)

// signCmd countersigns.
type signCmd struct {
	writing
	Origin string   `placeholder:"O" enum:"human,workflow,peer" default:"human" help:"Sign as human, workflow or peer."`
	Events []string `arg:"" name:"event" sep:"none" help:"Ids of events."`
}

// Codes names what the command can end with.
func (*signCmd) Codes() []fault.Code {
	return signCodes(fault.StateEventNotFound, fault.StatePromotionInvalid, fault.ContextAuthorityViolation)
}

// Run adds a signature to each event, all in one commit or none.
func (c *signCmd) Run(s *cli.Session) error {
	ctx := context.Background()
	d, err := c.open(ctx, s)
	if err != nil {
		return err
	}
	w, err := c.writer(ctx, d)
	if err != nil {
		return err
	}
	pen := &pen{d: d}
	origin := item.Origin(c.Origin)
	if err := d.Trust.MaySign(origin, w.Unattended); err != nil {
		return pen.waiting(ctx, err)
	}
	signing, err := pen.take(ctx, origin)
	if err != nil {
		return err
	}
	w.Signing = &signing
	snapshot, err := d.Log.Snapshot(ctx, "")
	if err != nil {
		return err
	}
	var writes []eventlog.Write
	signed := []string{}
	for _, id := range c.Events {
		write, err := d.countersign(ctx, snapshot, w, pen, state.BareID(id))
		if err != nil {
			return pen.waiting(ctx, err)
		}
		writes = append(writes, write)
		signed = append(signed, write.ID)
	}
	if err := d.Log.Append(ctx, writes); err != nil {
		return err
	}
	return s.Emit(struct {
		Schema string   `json:"schema"`
		Signed []string `json:"signed"`
		Key    string   `json:"key"`
		Origin string   `json:"origin"`
	}{"kxm.state-sign.v1", signed, signing.Key.Fingerprint(), c.Origin})
}

// countersign makes a signature for an event that is in the log.
func (d *desk) countersign(ctx context.Context, snapshot *eventlog.Snapshot, w *state.Writer, pen *pen, id string) (eventlog.Write, error) {
	record, ok, err := snapshot.Find(ctx, id)
	if err != nil {
		return eventlog.Write{}, err
	}
	e, err := d.Event(ctx, snapshot, id)
	if err != nil {
		return eventlog.Write{}, err
	}
	if !ok || e == nil {
		return eventlog.Write{}, fault.New(fault.StateEventNotFound, "no event has the id %s", fault.Quote(maskText(id)))
	}
	var about *state.Checked
	if promotion, ok := e.Body.(*state.Promotion); ok {
		if about, err = d.Event(ctx, snapshot, promotion.Proposal); err != nil {
			return eventlog.Write{}, err
		}
	}
	if _, err := w.Countersign(e, about); err != nil {
		return eventlog.Write{}, err
	}
	sig, err := pen.signBytes(ctx, record.Event, w.Signing.Origin)
	return eventlog.Write{Folder: record.Folder, ID: id, Signatures: [][]byte{sig}}, err
}
