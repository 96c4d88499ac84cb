package main

import (
	"cmp"
	"context"
	"errors"
	"io"

	"kxm/lib/cli"
	"kxm/lib/eventlog"
	"kxm/lib/fault"
	"kxm/lib/item"
	"kxm/lib/ndjson"
	"kxm/lib/state"
)

// writing is what every command that writes an event takes besides.
type writing struct {
	reading
	As     string `placeholder:"LABEL" env:"KXM_ACTOR" help:"Who does this: a label, no credential; default: Git's user.email."`
	Redact bool   `help:"Mask secrets in texts and references instead of refusing them."`
}

// command is something to be done, and the line of standard input that says so; 0 is
// the command line.
type command struct {
	state.Command
	line int
}

// readCommands reads a command from each object on standard input; see
// state.ParseCommand for verb.
func readCommands(s *cli.Session, verb state.Type) ([]command, error) {
	if cli.Terminal(s.In) {
		return nil, fault.New(fault.Usage, "no arguments, and standard input is a terminal: it would be read for objects")
	}
	var all []command
	for v, err := range ndjson.NewDecoder(s.In, "stdin").Values() {
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		c, err := state.ParseCommand(v.Raw, verb)
		if err != nil {
			return nil, onLine(err, v.Line)
		}
		all = append(all, command{c, v.Line})
	}
	if len(all) == 0 {
		return nil, fault.New(fault.InvalidStateEvent, "standard input holds no object").At("stdin", 1, 0)
	}
	return all, nil
}

// onLine says on which line of standard input stands what was refused; on line 0 it
// is the command line's.
func onLine(err error, line int) error {
	var coded *fault.Error
	if line > 0 && errors.As(err, &coded) {
		return coded.At("stdin", line, 0)
	}
	return err
}

// act carries out commands and writes their events, in one commit or not at all. The
// events come back in the order of the commands.
func (w writing) act(ctx context.Context, d *desk, commands ...command) ([]*state.Draft, error) {
	writer, err := w.writer(ctx, d)
	if err != nil {
		return nil, err
	}
	snapshot, err := d.Log.Snapshot(ctx, "")
	if err != nil {
		return nil, err
	}
	pen := &pen{d: d}
	b := state.Batch{Writer: *writer, Source: d.Source(ctx, snapshot), Signing: func(origin item.Origin) (state.Signing, error) {
		return pen.take(ctx, origin)
	}}
	decided := false
	for _, c := range commands {
		c.Redact = c.Redact || w.Redact
		draft, err := b.Do(c.Command, c.line)
		if err != nil {
			return nil, onLine(pen.waiting(ctx, err), c.line)
		}
		kind := draft.Event.Type()
		decided = decided || kind.Keyed() && kind != state.TypePropose
	}
	// An agent may ask a person before it signs, so the store's lock is taken later.
	writes, err := pen.sign(ctx, b.Drafts)
	if err != nil {
		return nil, err
	}
	if decided { // somebody else may have decided since
		err = d.Log.AppendIf(ctx, func(ctx context.Context, newest *eventlog.Snapshot) ([]eventlog.Write, error) {
			return writes, b.Recheck(d.Source(ctx, newest))
		})
	} else {
		err = d.Log.Append(ctx, writes)
	}
	if err != nil {
		return nil, err
	}
	if err := d.Log.Tidy(ctx); err != nil {
		d.s.Warn("the events are written, but their objects could not be packed: %s", err)
	}
	return b.Drafts, nil
}

// writer is who acts. Where nobody is named it says so only when it must.
func (w writing) writer(ctx context.Context, d *desk) (*state.Writer, error) {
	if err := d.named(); err != nil {
		return nil, err
	}
	out := &state.Writer{Project: d.Project, Actor: w.As, Now: d.now, Trust: d.Trust, Unattended: unattended(d.s)}
	var err error
	if out.Actor == "" {
		if out.Actor, _, err = d.Repo.ConfigValue(ctx, "user.email"); err != nil {
			return nil, err
		}
	}
	head, ok, err := d.Repo.Head(ctx)
	if err != nil {
		return nil, err
	}
	if ok {
		out.Head = string(head)
	}
	out.Clone, err = d.Log.CloneID(ctx)
	return out, err
}

// unattended reports whether no person stands behind the call.
func unattended(s *cli.Session) bool { return s.Getenv("KXM_UNATTENDED") == "1" }

// folderOf is where an event lies in the log.
func folderOf(e *state.Event) string {
	if e.Key != "" {
		return eventlog.KeyFolder(e.Project, e.Key)
	}
	return eventlog.DayFolder(e.Clock.String())
}

// fill takes from the flags what the object on standard input does not say. Who acts
// and who signs stands in the flags alone: data never decides it.
func (c *command) fill(flags state.Command) {
	c.Authority, c.Confidence = cmp.Or(c.Authority, flags.Authority), cmp.Or(c.Confidence, flags.Confidence)
	c.ProposedBy, c.Origin = cmp.Or(c.ProposedBy, flags.ProposedBy), flags.Origin
	c.Run, c.Stage = cmp.Or(c.Run, flags.Run), cmp.Or(c.Stage, flags.Stage)
	c.Severity, c.Area = cmp.Or(c.Severity, flags.Severity), cmp.Or(c.Area, flags.Area)
	if c.Evidence == nil {
		c.Evidence = flags.Evidence
	}
}
