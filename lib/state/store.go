package state

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"kxm/lib/eventlog"
	"kxm/lib/fault"
	"kxm/lib/repo"
)

// Store is the log of one repository as one project reads it, under the trust of its
// own trust point.
type Store struct {
	Repo    *repo.Repo
	Log     *eventlog.Log
	Trust   *Trust
	Project string // "" where the project has no name: then every event is foreign

	version string
}

// StoreOptions say whose state is read, and whom to trust.
type StoreOptions struct {
	Project   string
	Folder    string // the folder that holds .kxm, from the top of the repository; "" or "." is the top
	TrustRef  string // --trust-ref; "" when it was not given
	RemoteRef string // [state] remoteRef of the worktree's configuration
	Version   string // the program's: a cache of another one is not read
	Now       func() time.Time
}

// OpenStore finds the trust point, reads what stands there, and prepares the log. It
// writes nothing.
func OpenStore(ctx context.Context, r *repo.Repo, o StoreOptions) (*Store, error) {
	log, err := eventlog.Open(ctx, r, eventlog.Options{RemoteRef: o.RemoteRef, Now: o.Now})
	if err != nil {
		return nil, err
	}
	point, err := FindPoint(Lookups{
		TrustRef:    o.TrustRef,
		ConfigValue: func(key string) (string, bool, error) { return r.ConfigValue(ctx, key) },
		Resolve: func(revision string) (string, bool, error) {
			if strings.HasPrefix(revision, "refs/") { // looking for a ref that is absent must not cost a process
				if _, ok, err := r.Ref(ctx, revision); err != nil || !ok {
					return "", false, err
				}
			}
			id, err := r.Resolve(ctx, revision)
			if fault.Is(err, fault.RevisionNotFound) {
				return "", false, nil
			}
			return string(id), err == nil, err
		},
		HasRemote: func() (bool, error) { return r.HasRemote(ctx) },
	})
	if err != nil {
		return nil, err
	}
	s := &Store{Repo: r, Log: log, Project: o.Project, version: o.Version}
	var signers, configuration []byte
	if point.Commit != "" {
		files, err := r.CommitFS(ctx, repo.OID(point.Commit), strings.TrimPrefix(path.Clean("/"+o.Folder), "/"))
		if err != nil {
			return nil, err
		}
		if signers, err = readOptional(files, AllowedSignersFile); err != nil {
			return nil, err
		}
		if configuration, err = readOptional(files, ConfigFile); err != nil {
			return nil, err
		}
	}
	s.Trust, err = NewTrust(point, signers, configuration)
	return s, err
}

// readOptional reads a file; one that does not exist is nil.
func readOptional(fsys fs.FS, name string) ([]byte, error) {
	data, err := fs.ReadFile(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.Wrap(err, fault.IOFailed, "cannot read %s at the trust point", path.Base(name))
	}
	return data, nil
}

// When says which state of the log is read: as of a time, as it was at a commit of
// the log, or (both zero) now.
type When struct {
	AsOf time.Time
	At   string
}

// Key folds one key.
func (s *Store) Key(ctx context.Context, key string, w When) (Key, error) {
	snapshot, err := s.Log.Snapshot(ctx, w.At)
	if err != nil {
		return Key{}, err
	}
	return s.KeyAt(ctx, snapshot, key, w.AsOf)
}

// KeyAt folds one key of a snapshot.
func (s *Store) KeyAt(ctx context.Context, snapshot *eventlog.Snapshot, key string, asOf time.Time) (Key, error) {
	key = NormalKey(key)
	events, err := s.Source(ctx, snapshot).Key(key)
	if err != nil {
		return Key{}, err
	}
	k := FoldKey(key, events, s.Trust, asOf)
	k.Project = s.Project
	return k, nil
}

// Source is what the commands of a [Batch] look things up in: a snapshot, for as long
// as the context lives.
func (s *Store) Source(ctx context.Context, snapshot *eventlog.Snapshot) Source {
	return source{ctx, s, snapshot}
}

type source struct {
	ctx      context.Context
	store    *Store
	snapshot *eventlog.Snapshot
}

// Key implements Source.
func (s source) Key(name string) ([]Checked, error) {
	records, err := s.snapshot.Key(s.ctx, s.store.Project, name)
	if err != nil {
		return nil, err
	}
	return Check(recordsOf(records), s.store.Trust, s.store.Project).Events, nil
}

// Find implements Source.
func (s source) Find(id string) (*Checked, error) { return s.store.Event(s.ctx, s.snapshot, id) }

// Reviews implements Source. A review comes after its entry, so older days of the
// journal are not read.
func (s source) Reviews(entry *Checked) ([]Checked, error) {
	days, err := s.snapshot.Folders(s.ctx, true)
	if err != nil {
		return nil, err
	}
	first := eventlog.DayFolder(entry.Clock.String())
	days = slices.DeleteFunc(days, func(day eventlog.FolderRef) bool { return day.Path < first })
	records, err := s.store.records(s.ctx, s.snapshot, days)
	if err != nil {
		return nil, err
	}
	return Check(records, s.store.Trust, s.store.Project).Events, nil
}

// Event returns one event of the project with what its signatures prove, wherever it
// lies; nil when it is not there, or is another project's.
func (s *Store) Event(ctx context.Context, snapshot *eventlog.Snapshot, id string) (*Checked, error) {
	record, ok, err := snapshot.Find(ctx, BareID(id))
	if err != nil || !ok {
		return nil, err
	}
	set := Check(recordsOf([]eventlog.Record{record}), s.Trust, s.Project)
	if len(set.Events) == 0 {
		return nil, nil
	}
	return &set.Events[0], nil
}

// Records reads every event of a snapshot, by id. All cores read.
func (s *Store) Records(ctx context.Context, snapshot *eventlog.Snapshot) ([]Record, error) {
	keys, err := snapshot.Folders(ctx, false)
	if err != nil {
		return nil, err
	}
	days, err := snapshot.Folders(ctx, true)
	if err != nil {
		return nil, err
	}
	return s.records(ctx, snapshot, append(keys, days...))
}

func (s *Store) records(ctx context.Context, snapshot *eventlog.Snapshot, folders []eventlog.FolderRef) ([]Record, error) {
	var mu sync.Mutex
	var all []Record
	err := snapshot.EachRecords(ctx, folders, func(_ int, records []eventlog.Record, _ bool) error {
		converted := recordsOf(records)
		mu.Lock()
		defer mu.Unlock()
		all = append(all, converted...)
		return nil
	})
	slices.SortFunc(all, func(a, b Record) int { return cmp.Or(strings.Compare(a.ID, b.ID), strings.Compare(a.Path, b.Path)) })
	return all, err
}

// recordsOf gives the log's records the form that Check reads.
func recordsOf(stored []eventlog.Record) []Record {
	records := make([]Record, len(stored))
	for i, r := range stored {
		records[i] = Record{ID: r.ID, Path: r.Path, Event: r.Event, Err: r.Err}
		for _, sig := range r.Signatures {
			records[i].Signatures = append(records[i].Signatures, SignatureFile{Name: sig.Name, Data: sig.Data, Err: sig.Err})
		}
	}
	return records
}

// Empty reports whether the repository has no log at all.
func (s *Store) Empty(ctx context.Context) (bool, error) {
	_, ok, err := s.Repo.Ref(ctx, eventlog.Ref)
	return !ok, err
}
