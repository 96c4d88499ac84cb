package eventlog

import (
	"bytes"
	"cmp"
	"context"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"kxm/lib/fault"
	"kxm/lib/repo"
)

// Snapshot is the log as it was at one commit. It does not change, whoever writes
// meanwhile, and is safe for concurrent use.
type Snapshot struct {
	l      *Log
	tip    repo.OID
	root   repo.OID
	top    []repo.TreeEntry
	newest bool // it is where the ref was, not at a revision that somebody named
}

// Snapshot returns the log at the revision rev, which must be a commit of a log; ""
// is where the log is now. Without a log it is empty.
func (l *Log) Snapshot(ctx context.Context, rev string) (*Snapshot, error) {
	if rev == "" {
		tip, err := l.tip(ctx)
		if err != nil {
			return nil, err
		}
		s, err := l.at(ctx, tip)
		if err == nil {
			s.newest = true
		}
		return s, err
	}
	id, err := l.r.Resolve(ctx, rev)
	if err != nil {
		return nil, err
	}
	s, err := l.at(ctx, id)
	if err != nil {
		return nil, err
	}
	if _, ok := s.entry(formatName); !ok {
		return nil, fault.New(fault.RevisionNotFound, "revision %s is no commit of the log", fault.Quote(rev))
	}
	return s, nil
}

// at returns the log at a commit.
func (l *Log) at(ctx context.Context, tip repo.OID) (*Snapshot, error) {
	s := &Snapshot{l: l, tip: tip}
	if tip == "" {
		return s, nil
	}
	c, err := l.r.Commit(ctx, tip)
	if err != nil {
		return nil, refBroken(err)
	}
	s.root = c.Tree
	if s.top, err = l.entries(ctx, place{kind: top}, c.Tree); err != nil {
		return nil, err
	}
	return s, nil
}

// Tip returns the commit, "" when there is no log.
func (s *Snapshot) Tip() repo.OID { return s.tip }

// Tree returns the tree of the commit, "" when there is no log. Two logs with one
// tree hold the same events.
func (s *Snapshot) Tree() repo.OID { return s.root }

func (s *Snapshot) entry(name string) (repo.TreeEntry, bool) { return find(s.top, name) }

// find returns the entry of that name. Entries are sorted by name here, not in Git's
// order.
func find(entries []repo.TreeEntry, name string) (repo.TreeEntry, bool) {
	i, ok := slices.BinarySearchFunc(entries, name, func(e repo.TreeEntry, name string) int { return cmp.Compare(e.Name, name) })
	if !ok {
		return repo.TreeEntry{}, false
	}
	return entries[i], true
}

// entries returns what a tree holds, sorted by name, each name once: in a tree that
// a stranger made one may stand there twice, and then the better entry counts.
func (l *Log) entries(ctx context.Context, p place, id repo.OID) ([]repo.TreeEntry, error) {
	entries, err := l.r.Tree(ctx, id)
	if err != nil {
		return nil, refBroken(err)
	}
	byName := func(a, b repo.TreeEntry) int { return cmp.Compare(a.Name, b.Name) }
	if !slices.IsSortedFunc(entries, byName) {
		slices.SortFunc(entries, byName)
	}
	kept := entries[:0]
	for _, e := range entries {
		if n := len(kept); n > 0 && kept[n-1].Name == e.Name {
			if kept[n-1], err = l.better(ctx, p, kept[n-1], e); err != nil {
				return nil, err
			}
			continue
		}
		kept = append(kept, e)
	}
	return kept, nil
}

// folder returns the entries of a folder; nil when there is none.
func (s *Snapshot) folder(ctx context.Context, path string) ([]repo.TreeEntry, error) {
	at, p := s.top, place{kind: top}
	for name := range strings.SplitSeq(path, "/") {
		e, ok := find(at, name)
		if !ok || e.Mode != repo.ModeFolder {
			return nil, nil
		}
		p = p.child(name)
		var err error
		if at, err = s.l.entries(ctx, p, e.OID); err != nil {
			return nil, err
		}
	}
	return at, nil
}

// Key returns the records of a key, sorted by id. Among them may be those of
// another key that was made to share the folder, and ones with Err.
func (s *Snapshot) Key(ctx context.Context, project, key string) ([]Record, error) {
	path := KeyFolder(project, key)
	entries, err := s.folder(ctx, path)
	if err != nil {
		return nil, err
	}
	return s.l.records(ctx, placeOf(path), entries)
}

// FolderRef is a folder of events at a snapshot. Its tree's id stands for all it
// holds, so that what was computed from it holds wherever the id is the same.
type FolderRef struct {
	Path string
	Tree repo.OID
}

// Folders returns the folders of events, sorted by path: those of keys, or those of
// the days of the journal.
func (s *Snapshot) Folders(ctx context.Context, ofJournal bool) ([]FolderRef, error) {
	return s.eachTop(ofJournal, func(p place, tree repo.OID) ([]FolderRef, error) { return s.l.foldersOf(ctx, p, tree) })
}

// eachTop returns what list finds below the folders at the top: the shards of keys, or
// the journal.
func (s *Snapshot) eachTop(ofJournal bool, list func(p place, tree repo.OID) ([]FolderRef, error)) ([]FolderRef, error) {
	var refs []FolderRef
	for _, e := range s.top {
		p := place{kind: top}.child(e.Name)
		if e.Mode != repo.ModeFolder || p.kind != shard && p.kind != journal || (p.kind == journal) != ofJournal {
			continue
		}
		below, err := list(p, e.OID)
		if err != nil {
			return nil, err
		}
		refs = append(refs, below...)
	}
	return refs, nil
}

// foldersOf returns the folders of events below a place.
func (l *Log) foldersOf(ctx context.Context, p place, tree repo.OID) ([]FolderRef, error) {
	entries, err := l.entries(ctx, p, tree)
	if err != nil {
		return nil, err
	}
	refs := make([]FolderRef, 0, len(entries))
	for _, e := range entries {
		c := p.child(e.Name)
		switch {
		case e.Mode != repo.ModeFolder || c.kind == elsewhere:
		case c.kind == eventFolder:
			refs = append(refs, FolderRef{c.path, e.OID})
		default:
			below, err := l.foldersOf(ctx, c, e.OID)
			if err != nil {
				return nil, err
			}
			refs = append(refs, below...)
		}
	}
	return refs, nil
}

// Records returns the records of a folder, sorted by id.
func (s *Snapshot) Records(ctx context.Context, f FolderRef) ([]Record, error) {
	p := placeOf(f.Path)
	if p.kind != eventFolder {
		return nil, fault.New(fault.Usage, "%s is no folder of events", fault.Quote(f.Path))
	}
	entries, err := s.l.entries(ctx, p, f.Tree)
	if err != nil {
		return nil, err
	}
	return s.l.records(ctx, p, entries)
}

// EachRecords reads folders on all processors and calls fn with the records of each
// and the folder's place in the list, from several goroutines and in no order. Of the
// journal, whose days can be large and whose events say nothing of one another until
// all are known, fn gets a folder's records piece by piece, in order; more says that
// another piece follows. The first error ends it.
func (s *Snapshot) EachRecords(ctx context.Context, folders []FolderRef, fn func(i int, records []Record, more bool) error) error {
	return parallel(ctx, len(folders), func(ctx context.Context, i int) error {
		p := placeOf(folders[i].Path)
		if !strings.HasPrefix(folders[i].Path, "j/") {
			records, err := s.Records(ctx, folders[i])
			if err != nil {
				return err
			}
			return fn(i, records, false)
		}
		entries, err := s.l.entries(ctx, p, folders[i].Tree)
		if err != nil {
			return err
		}
		for more := true; more; {
			n := eventsEnd(entries, pieceSize)
			more = n < len(entries)
			records, err := s.l.records(ctx, p, entries[:n])
			if err != nil {
				return err
			}
			if err := fn(i, records, more); err != nil {
				return err
			}
			clear(entries[:n]) // they are nobody else's, and their names are as long as an event
			entries = entries[n:]
		}
		return nil
	})
}

// Sizes, in entries, of what is folded at once of a day of the journal, and of what one
// processor reads of a folder before another one helps.
const (
	pieceSize = 4096
	rangeSize = 256
)

// eventsEnd returns a place at or behind n where the files of one event end and those of
// another begin.
func eventsEnd(entries []repo.TreeEntry, n int) int {
	if n >= len(entries) {
		return len(entries)
	}
	event := func(i int) string {
		id, _, _ := strings.Cut(entries[i].Name, ".")
		return id
	}
	for n > 0 && n < len(entries) && event(n-1) == event(n) {
		n++
	}
	return n
}

// parallel calls fn for 0 to n-1 on all processors and returns the first error,
// which ends the context of the others.
func parallel(ctx context.Context, n int, fn func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		all.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := fn(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// records reads the entries of a folder of events, which are sorted by name and so by
// id; of a large folder on all processors.
func (l *Log) records(ctx context.Context, p place, entries []repo.TreeEntry) ([]Record, error) {
	if len(entries) <= rangeSize {
		return l.readRange(ctx, p, entries)
	}
	var ranges [][]repo.TreeEntry
	for len(entries) > 0 {
		n := eventsEnd(entries, rangeSize)
		ranges = append(ranges, entries[:n])
		entries = entries[n:]
	}
	parts := make([][]Record, len(ranges))
	err := parallel(ctx, len(ranges), func(ctx context.Context, i int) (err error) {
		parts[i], err = l.readRange(ctx, p, ranges[i])
		return err
	})
	return slices.Concat(parts...), err
}

func (l *Log) readRange(ctx context.Context, p place, entries []repo.TreeEntry) ([]Record, error) {
	records := make([]Record, 0, len(entries))
	var known fields
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if id, ok := eventName(e.Name); ok && e.Mode != repo.ModeFolder {
			r := l.readRecord(ctx, p, id, e, known)
			if r.Err == nil {
				known = fields{r.Project, r.Key, r.HLC}
			}
			records = append(records, r)
		}
	}
	for _, e := range entries {
		if id, ok := signatureName(e.Name); ok && e.Mode != repo.ModeFolder {
			i, ok := slices.BinarySearchFunc(records, id, func(r Record, id string) int { return cmp.Compare(r.ID, id) })
			if ok {
				records[i].Signatures = append(records[i].Signatures, l.readSignature(ctx, id, e))
			}
		}
	}
	return records, ctx.Err()
}

// IDs returns the ids of the events in a folder, sorted, by their names alone: with
// them the stamp of a new event is found without reading a file.
func (s *Snapshot) IDs(ctx context.Context, folder string) ([]string, error) {
	entries, err := s.folder(ctx, folder)
	if err != nil {
		return nil, err
	}
	ids := make([]string, 0, len(entries))
	for _, e := range entries {
		if id, ok := eventName(e.Name); ok && e.Mode == repo.ModeFile {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// Record returns one event of a folder; ok is false when it is not there.
func (s *Snapshot) Record(ctx context.Context, folder, id string) (rec Record, ok bool, err error) {
	entries, err := s.folder(ctx, folder)
	if err != nil {
		return Record{}, false, err
	}
	return s.l.record(ctx, placeOf(folder), entries, id)
}

func (l *Log) record(ctx context.Context, p place, entries []repo.TreeEntry, id string) (Record, bool, error) {
	if !ValidID(id) || p.kind != eventFolder {
		return Record{}, false, nil
	}
	var its []repo.TreeEntry
	for _, e := range entries {
		if strings.HasPrefix(e.Name, id) {
			its = append(its, e)
		}
	}
	records, err := l.records(ctx, p, its)
	if err != nil || len(records) == 0 {
		return Record{}, false, err
	}
	return records[0], true, nil
}

// Find returns an event wherever it is; ok is false when it is nowhere. An entry of
// the journal is found by its day; for another, the names in all folders are
// searched, on all processors.
func (s *Snapshot) Find(ctx context.Context, id string) (rec Record, ok bool, err error) {
	if !ValidID(id) {
		return Record{}, false, nil
	}
	if rec, ok, err = s.Record(ctx, DayFolder(id[:hlcLen]), id); ok || err != nil {
		return rec, ok, err
	}
	var shards []repo.TreeEntry
	for _, e := range s.top {
		if e.Mode == repo.ModeFolder && (place{kind: top}).child(e.Name).kind == shard {
			shards = append(shards, e)
		}
	}
	var mu sync.Mutex
	var found []FolderRef
	name := []byte(" " + id + ".json\x00")
	err = parallel(ctx, len(shards), func(ctx context.Context, i int) error {
		folders, err := s.l.foldersOf(ctx, place{kind: top}.child(shards[i].Name), shards[i].OID)
		if err != nil {
			return err
		}
		for _, f := range folders {
			_, data, err := s.l.r.Object(ctx, f.Tree)
			if err != nil {
				return refBroken(err)
			}
			if bytes.Contains(data, name) {
				mu.Lock()
				found = append(found, f)
				mu.Unlock()
			}
		}
		return nil
	})
	if err != nil {
		return Record{}, false, err
	}
	// A stranger may have put a copy into another folder, where it does not fit.
	slices.SortFunc(found, func(a, b FolderRef) int { return cmp.Compare(a.Path, b.Path) })
	for _, f := range found {
		entries, err := s.l.entries(ctx, placeOf(f.Path), f.Tree)
		if err != nil {
			return Record{}, false, err
		}
		got, here, err := s.l.record(ctx, placeOf(f.Path), entries, id)
		if err != nil {
			return Record{}, false, err
		}
		if here && (!ok || got.Err == nil) {
			rec, ok = got, true
			if got.Err == nil {
				break
			}
		}
	}
	return rec, ok, nil
}

// Foreign returns the paths that do not belong to the log, sorted: unknown names,
// other modes, signatures without their event. They are carried along and never
// read.
func (s *Snapshot) Foreign(ctx context.Context) ([]string, error) {
	paths, err := s.l.foreign(ctx, place{kind: top}, s.top)
	slices.Sort(paths)
	return paths, err
}

func (l *Log) foreign(ctx context.Context, p place, entries []repo.TreeEntry) ([]string, error) {
	var paths []string
	events := map[string]bool{}
	for _, e := range entries {
		if id, ok := eventName(e.Name); ok {
			events[id] = true
		}
	}
	for _, e := range entries {
		c := p.child(e.Name)
		id, isSignature := signatureName(e.Name)
		switch {
		case !p.isOurs(e), e.Mode == repo.ModeFile && isSignature && !events[id]:
			paths = append(paths, c.path)
		case e.Mode == repo.ModeFolder:
			below, err := l.entries(ctx, c, e.OID)
			if err != nil {
				return nil, err
			}
			more, err := l.foreign(ctx, c, below)
			if err != nil {
				return nil, err
			}
			paths = append(paths, more...)
		}
	}
	return paths, nil
}
