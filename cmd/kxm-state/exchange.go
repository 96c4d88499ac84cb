package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"

	"kxm/lib/cli"
	"kxm/lib/eventlog"
	"kxm/lib/fault"
	"kxm/lib/ndjson"
	"kxm/lib/state"
)

// recordsAt reads every event of the log, whichever project's, as it is stored; by id.
func (d *desk) recordsAt(ctx context.Context, rev string) ([]state.Record, error) {
	snapshot, err := d.Log.Snapshot(ctx, rev)
	if err != nil {
		return nil, err
	}
	return d.Records(ctx, snapshot)
}

// logCmd prints events as they are stored.
type logCmd struct {
	reading
	Since string `placeholder:"REV" help:"Only events that a commit of the ref does not hold."`
}

// Codes names what the command can end with.
func (*logCmd) Codes() []fault.Code { return storeCodes() }

// Run prints one line an event, in the order of ids: {"id","path","event"}. Texts are
// masked; export keeps the bytes.
func (c *logCmd) Run(s *cli.Session) error {
	ctx := context.Background()
	d, err := c.open(ctx, s)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	if c.Since != "" {
		before, err := d.recordsAt(ctx, c.Since)
		if err != nil {
			return err
		}
		for i := range before {
			known[before[i].ID] = true
		}
	}
	records, err := d.recordsAt(ctx, "")
	if err != nil {
		return err
	}
	var out []byte
	for _, r := range records {
		if known[r.ID] {
			continue
		}
		if r.Err != nil {
			s.Warn("left out %s: %v", r.Path, r.Err)
			continue
		}
		out = append(out, `{"schema":"kxm.state-log.v1","id":`...)
		out = ndjson.AppendString(out, r.ID)
		out = append(out, `,"path":`...)
		out = ndjson.AppendString(out, r.Path)
		out = append(out, `,"event":`...)
		out = ndjson.MapText(out, bytes.TrimSpace(r.Event), maskText)
		out = append(out, "}\n"...)
	}
	s.Write(out)
	return nil
}

// exportCmd prints everything.
type exportCmd struct{ reading }

// Codes names what the command can end with.
func (*exportCmd) Codes() []fault.Code { return storeCodes() }

// Run prints one line an event, in the order of ids: the exact bytes of its file and
// of its signatures. Nothing is masked, or no signature would fit any more.
func (c *exportCmd) Run(s *cli.Session) error {
	ctx := context.Background()
	d, err := c.open(ctx, s)
	if err != nil {
		return err
	}
	records, err := d.recordsAt(ctx, "")
	if err != nil {
		return err
	}
	for i := range records {
		line, err := state.AppendRecord(nil, &records[i])
		if err != nil {
			s.Warn("left out %s: %v", fault.Printable(records[i].Path), err)
			continue
		}
		s.Write(append(line, '\n'))
	}
	return nil
}

// importCmd reads what export printed.
type importCmd struct{ reading }

// Codes names what the command can end with.
func (*importCmd) Codes() []fault.Code {
	return writeCodes(fault.InvalidJSON)
}

// Run adds every event and signature that is not there, all in one commit or none, and
// prints how many events were read and how many of them are new. Importing twice is
// importing once. What an event counts for is said when it is read.
func (c *importCmd) Run(s *cli.Session) error {
	ctx := context.Background()
	d, err := c.open(ctx, s)
	if err != nil {
		return err
	}
	if err := d.Trust.Writable(); err != nil {
		return err
	}
	writes, err := readRecords(s)
	if err != nil {
		return err
	}
	added := 0
	err = d.Log.AppendIf(ctx, func(ctx context.Context, now *eventlog.Snapshot) ([]eventlog.Write, error) {
		added, err = countNew(ctx, now, writes)
		return writes, err
	})
	if err != nil {
		return err
	}
	return s.Emit(struct {
		Schema string `json:"schema"`
		Events int    `json:"events"`
		New    int    `json:"new"`
	}{"kxm.state-import.v1", len(writes), added})
}

// countNew counts the events that are not in the log yet.
func countNew(ctx context.Context, now *eventlog.Snapshot, writes []eventlog.Write) (int, error) {
	here := map[string][]string{} // the ids of each folder, sorted
	added := map[string]bool{}
	for i := range writes {
		ids, known := here[writes[i].Folder]
		if !known {
			var err error
			if ids, err = now.IDs(ctx, writes[i].Folder); err != nil {
				return 0, err
			}
			here[writes[i].Folder] = ids
		}
		if _, found := slices.BinarySearch(ids, writes[i].ID); !found {
			added[writes[i].ID] = true
		}
	}
	return len(added), nil
}

// readRecords reads lines of export and proves that the bytes of each event give its
// id: an event under another's name could take its place.
func readRecords(s *cli.Session) ([]eventlog.Write, error) {
	if cli.Terminal(s.In) {
		return nil, fault.New(fault.Usage, "no records on standard input, which is a terminal").WithHint("kxm-state export | kxm-state -C OTHER import")
	}
	var writes []eventlog.Write
	for v, err := range ndjson.NewDecoder(s.In, "stdin").Values() {
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		r, err := state.ParseRecord(v.Raw)
		if err != nil {
			return nil, onLine(err, v.Line)
		}
		w, err := imported(&r)
		if err != nil {
			return nil, onLine(err, v.Line)
		}
		writes = append(writes, w)
	}
	return writes, nil
}

func imported(r *state.Record) (eventlog.Write, error) {
	e, err := state.Parse(r.Event)
	if err != nil {
		return eventlog.Write{}, err
	}
	if id := state.ID(r.Event, e.Clock); id != r.ID {
		return eventlog.Write{}, fault.New(fault.InvalidStateEvent, "the record's id is %s, and its event gives %s", r.ID, id).On("id")
	}
	w := eventlog.Write{Folder: folderOf(&e), ID: r.ID, Event: r.Event}
	for _, sig := range r.Signatures {
		if len(sig.Data) > eventlog.MaxSignature {
			return w, fault.New(fault.InvalidStateEvent, "a signature has %d bytes; at most %d are allowed", len(sig.Data), eventlog.MaxSignature).On("signatures")
		}
		w.Signatures = append(w.Signatures, sig.Data)
	}
	return w, nil
}
