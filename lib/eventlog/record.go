package eventlog

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"kxm/lib/fault"
	"kxm/lib/ndjson"
	"kxm/lib/repo"
)

// Record is one event as it lies in the log.
type Record struct {
	ID     string
	Folder string
	Path   string
	// Event is the file's bytes, and Project, Key and HLC what they say.
	Event             []byte
	Project, Key, HLC string
	// Signatures are the files beside it, sorted by name.
	Signatures []Signature
	// Err says why the event must not be used: its bytes do not fit its path, it is too
	// large, or it cannot be read. Then Event is nil.
	Err error
}

// Signature is a signature file. Err says why it must not be used; then Data is nil.
type Signature struct {
	Name string
	Data []byte
	Err  error
}

// fields are what the path of an event depends on.
type fields struct{ project, key, hlc string }

// errAllFields ends the look into an event once there is nothing more to find.
var errAllFields = errors.New("all fields are found")

// readFields takes them out of an event. Whether the event is right otherwise is for
// its reader to see, who has to look at all of it: only what stands in front of these
// fields is known to be JSON.
func readFields(event []byte) (f fields, err error) {
	found := 0
	err = ndjson.FieldsText(string(event), func(name, value string) error {
		var to *string
		switch name {
		case "project":
			to = &f.project
		case "key":
			to = &f.key
		case "hlc":
			to = &f.hlc
		default:
			return nil
		}
		text, ok := ndjson.Unquote(value)
		if !ok && value != "null" {
			return fault.New(fault.InvalidStateEvent, "field %s is no text", name)
		}
		*to = text
		if found++; found == 3 {
			return errAllFields
		}
		return nil
	})
	if err == errAllFields {
		err = nil
	}
	return f, err
}

// checkEvent proves that an event belongs under its id into its folder. known are the
// fields of another event that does: most events of a folder share project and key.
func checkEvent(folder, id string, event []byte, known fields) (fields, error) {
	var f fields
	if len(event) > MaxEvent {
		return f, invalid(id, "has %d bytes, more than the %d that an event may have", len(event), MaxEvent)
	}
	if !ValidID(id) {
		return f, invalid(id, "has an id that is none")
	}
	if digest(event) != id[hlcLen+1:] {
		return f, invalid(id, "does not have the content that its id names")
	}
	f, err := readFields(event)
	if err != nil {
		return f, fault.Wrap(err, fault.InvalidStateEvent, "event %s cannot be read", fault.Quote(id))
	}
	if f.hlc != id[:hlcLen] {
		return f, invalid(id, "has the stamp %s", fault.Quote(f.hlc))
	}
	if f.hlc != "" && known.hlc != "" && f.project == known.project && f.key == known.key && !strings.HasPrefix(folder, "j/") {
		return f, nil
	}
	switch p := placeOf(folder); {
	case p.kind != eventFolder:
		return f, invalid(id, "lies in %s, which is no folder of events", fault.Quote(folder))
	case strings.HasPrefix(folder, "j/"):
		// What is folded by its key would be missed here, and counted twice beside a copy.
		if f.key != "" {
			return f, invalid(id, "lies in the journal's folder %s and has a key", folder)
		}
		if want := DayFolder(f.hlc); folder != want {
			return f, invalid(id, "lies in %s, not in %s", folder, want)
		}
	case f.key == "":
		return f, invalid(id, "lies in %s, a folder of keys, and has no key", folder)
	case folder != KeyFolder(f.project, f.key):
		return f, invalid(id, "lies in %s, which is not the folder of its key", folder)
	}
	return f, nil
}

func invalid(id, format string, args ...any) error {
	return fault.New(fault.InvalidStateEvent, "event "+fault.Quote(id)+" "+format, args...)
}

// checkSignature proves that a signature belongs under its name.
func checkSignature(id, name string, sig []byte) error {
	switch {
	case len(sig) > MaxSignature:
		return invalid(id, "has a signature of %d bytes, more than the %d that one may have", len(sig), MaxSignature)
	case SignatureName(id, sig) != name:
		return invalid(id, "has a signature that does not have the content that its name names")
	}
	return nil
}

// readRecord returns the record of an event's entry.
func (l *Log) readRecord(ctx context.Context, p place, id string, e repo.TreeEntry, known fields) Record {
	rec := Record{ID: id, Folder: p.path, Path: p.path + "/" + e.Name}
	data, err := l.readBlob(ctx, e, MaxEvent)
	var f fields
	if err == nil {
		f, err = checkEvent(p.path, id, data, known)
	}
	if err != nil {
		rec.Err = err
		return rec
	}
	rec.Event, rec.Project, rec.Key, rec.HLC = data, f.project, f.key, f.hlc
	return rec
}

func (l *Log) readSignature(ctx context.Context, id string, e repo.TreeEntry) Signature {
	data, err := l.readBlob(ctx, e, MaxSignature)
	if err == nil {
		err = checkSignature(id, e.Name, data)
	}
	if err != nil {
		return Signature{Name: e.Name, Err: err}
	}
	return Signature{Name: e.Name, Data: data}
}

// readBlob reads a file. Its mode counts before its content, and its size before
// that: a link, a submodule and a huge file are never read.
func (l *Log) readBlob(ctx context.Context, e repo.TreeEntry, limit int64) ([]byte, error) {
	if e.Mode != repo.ModeFile {
		return nil, fault.New(fault.InvalidStateEvent, "file %s has the mode %o", fault.Quote(e.Name), uint32(e.Mode))
	}
	data, err := l.r.BlobUpTo(ctx, e.OID, limit)
	if fault.Is(err, fault.ObjectTooLarge) {
		return nil, fault.Wrap(err, fault.InvalidStateEvent, "file %s is too large", fault.Quote(e.Name))
	}
	return data, err
}

// Write is an event to be added to the log, with its signatures; without Event,
// signatures of an event that is there.
type Write struct {
	Folder     string
	ID         string
	Event      []byte
	Signatures [][]byte
}

// check holds a write to the same rules as reading, so that nothing is written that
// would not be read again.
func (w *Write) check() error {
	if w.Event != nil {
		if _, err := checkEvent(w.Folder, w.ID, w.Event, fields{}); err != nil {
			return err
		}
		if err := ndjson.Validate(w.Event); err != nil {
			return fault.Wrap(err, fault.InvalidStateEvent, "event %s cannot be read", fault.Quote(w.ID))
		}
	} else if placeOf(w.Folder).kind != eventFolder || !ValidID(w.ID) {
		return invalid(w.ID, "lies in %s, which is no folder of events", fault.Quote(w.Folder))
	}
	for _, sig := range w.Signatures {
		if err := checkSignature(w.ID, SignatureName(w.ID, sig), sig); err != nil {
			return err
		}
		if !utf8.Valid(sig) {
			return invalid(w.ID, "has a signature that is not armored text")
		}
	}
	return nil
}
