package eventlog

import (
	"cmp"
	"context"

	"kxm/lib/fault"
	"kxm/lib/repo"
)

// better returns which of two entries of one name stays. Honest clones never differ
// in one; where a stranger's tip does, every clone must come to the same choice and
// no event may be lost to it: first comes what fits its name and place, then a folder
// before a file, then the smaller id and mode. Two folders are not for it to choose
// between: they are merged.
func (l *Log) better(ctx context.Context, p place, a, b repo.TreeEntry) (repo.TreeEntry, error) {
	if a == b {
		return a, nil
	}
	fitsA, err := l.fits(ctx, p, a)
	if err != nil {
		return a, err
	}
	fitsB, err := l.fits(ctx, p, b)
	if err != nil {
		return a, err
	}
	order := cmp.Or(
		compareBool(fitsA, fitsB),
		compareBool(a.Mode == repo.ModeFolder, b.Mode == repo.ModeFolder),
		cmp.Compare(a.OID, b.OID),
		cmp.Compare(a.Mode, b.Mode))
	if order <= 0 {
		return a, nil
	}
	return b, nil
}

// compareBool puts true first.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// fits reports whether an entry is what its name says in its place. What cannot be
// read although it should be there is an error: the answer would differ from clone to
// clone.
func (l *Log) fits(ctx context.Context, p place, e repo.TreeEntry) (bool, error) {
	if !p.isOurs(e) {
		return false, nil
	}
	if e.Mode == repo.ModeFolder {
		return true, nil
	}
	err := l.checkFile(ctx, p, e)
	switch fault.CodeOf(err) {
	case "":
		return err == nil, err
	case fault.InvalidStateEvent:
		return false, nil
	case fault.ObjectCorrupt:
		// It may be a tree under a file's mode, which every clone sees alike.
		if typ, _, headErr := l.r.Header(ctx, e.OID); headErr == nil && typ != "blob" {
			return false, nil
		}
	}
	return false, refBroken(err)
}

// checkFile proves that the content of a file of ours fits its name.
func (l *Log) checkFile(ctx context.Context, p place, e repo.TreeEntry) error {
	if id, ok := eventName(e.Name); ok {
		data, err := l.readBlob(ctx, e, MaxEvent)
		if err == nil {
			_, err = checkEvent(p.path, id, data, fields{})
		}
		return err
	}
	if id, ok := signatureName(e.Name); ok {
		data, err := l.readBlob(ctx, e, MaxSignature)
		if err == nil {
			err = checkSignature(id, e.Name, data)
		}
		return err
	}
	data, err := l.readBlob(ctx, e, int64(len(formatText)))
	if err == nil && string(data) != formatText {
		err = fault.New(fault.InvalidStateEvent, "file %s does not say %q", fault.Quote(e.Name), formatText)
	}
	return err
}
