package steel

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"kxm/lib/fault"
	"kxm/lib/lock"
	"kxm/lib/ndjson"
)

// How long locks are waited for.
const (
	DefaultLockWait = 10 * time.Second // of the endpoint
	sessionWait     = 5 * time.Second
)

// keepClosed is how long a closed record stays.
const keepClosed = 24 * time.Hour

// Names in a server's folder.
const (
	endpointLock = "lock"
	endpointFile = "endpoint.json"
	recordSuffix = ".json"
	lockSuffix   = ".lock"
)

// Store is the folder of one server's records. No path or link below it leads out.
type Store struct {
	dir  string
	root *os.Root // nil: there is no folder yet
}

// OpenStore opens the folder of a server, which it makes if make is set. A folder that
// is not there holds no record. It is the caller's to close.
func OpenStore(s *Settings, make bool) (*Store, error) {
	sum := sha256.Sum256([]byte(s.API.String()))
	st := &Store{dir: filepath.Join(s.StateDir, hex.EncodeToString(sum[:8]))}
	if make {
		if err := os.MkdirAll(st.dir, 0o700); err != nil {
			return nil, fault.Wrap(err, fault.IOFailed, "cannot make the state folder")
		}
	}
	for _, dir := range []string{s.StateDir, st.dir} {
		info, err := os.Lstat(dir)
		if errors.Is(err, fs.ErrNotExist) && !make {
			return st, nil
		}
		if err != nil {
			return nil, fault.Wrap(err, fault.IOFailed, "cannot open the state folder")
		}
		if err := safe(info, dir, true); err != nil {
			return nil, err
		}
	}
	root, err := os.OpenRoot(st.dir)
	if err != nil {
		return nil, fault.Wrap(err, fault.IOFailed, "cannot open the state folder")
	}
	st.root = root
	return st, nil
}

// endpointNote says which server a folder belongs to, and what was learnt of it.
type endpointNote struct {
	Schema  string `json:"schema"`
	APIURL  string `json:"apiUrl"`
	Mode    Mode   `json:"mode"`
	CDPAuth string `json:"cdpAuth,omitempty"` // how its socket takes the key
}

// describe writes down which server the folder belongs to. The caller holds the
// endpoint's lock.
func (st *Store) describe(s *Settings) error {
	if _, err := st.root.Lstat(endpointFile); err == nil {
		return nil
	}
	return st.note(s, "")
}

func (st *Store) note(s *Settings, auth string) error {
	raw, err := ndjson.Marshal(endpointNote{"kxm.steel-endpoint.v1", s.API.String(), s.Mode, auth})
	if err != nil {
		return err
	}
	return st.replace(endpointFile, append(raw, '\n'))
}

// rememberAuth notes how the server's socket takes the key. It is a hint, which saves a
// refused handshake: where it cannot be written now, a later command will.
func (st *Store) rememberAuth(ctx context.Context, s *Settings, auth string) {
	if st == nil || st.root == nil {
		return
	}
	if l, err := st.lockEndpoint(ctx, 0); err == nil {
		_ = st.note(s, auth)
		_ = l.Release()
	}
}

// rememberedAuth is what rememberAuth noted, or "".
func (st *Store) rememberedAuth() string {
	if st == nil || st.root == nil {
		return ""
	}
	var n endpointNote
	if raw, err := st.root.ReadFile(endpointFile); err != nil || json.Unmarshal(raw, &n) != nil {
		return ""
	}
	return n.CDPAuth
}

// Close closes the folder.
func (st *Store) Close() error {
	if st.root == nil {
		return nil
	}
	return st.root.Close()
}

// safe refuses a file or folder that others can read or have placed.
func safe(info fs.FileInfo, path string, folder bool) error {
	refuse := func(why string) error {
		return fault.New(fault.SteelStateUnsafe, "%s %s", fault.Quote(path), why).WithHint("it must be your own, with mode %s", map[bool]string{true: "0700", false: "0600"}[folder])
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return refuse("is a symbolic link")
	case folder && !info.IsDir():
		return refuse("is not a folder")
	case !folder && !info.Mode().IsRegular():
		return refuse("is not a file")
	case openToOthers(info):
		return refuse("is open to other users")
	case !owned(info):
		return refuse("belongs to another user")
	}
	return nil
}

// Read reads the record of an id; there may be none.
func (st *Store) Read(id string) (*Record, error) {
	if st.root == nil || !validID(id) {
		return nil, nil
	}
	data, path, err := st.readFile(id + recordSuffix)
	if data == nil || err != nil {
		return nil, err
	}
	r, err := ParseRecord(data)
	if err == nil && r.ID != id {
		err = fault.New(fault.SteelStateCorrupt, "the id is another one")
	}
	if err != nil {
		return nil, fault.Place(err, path)
	}
	return r, nil
}

// Records is what is remembered of a server's sessions.
type Records struct {
	All    []*Record        // oldest first
	Broken map[string]error // files that do not parse, by the id in their name
}

// ByID returns a record, or nil.
func (rs *Records) ByID(id string) *Record {
	for _, r := range rs.All {
		if r.ID == id {
			return r
		}
	}
	return nil
}

// Open returns the records of sessions that have not ended.
func (rs *Records) Open() []*Record {
	return slices.DeleteFunc(slices.Clone(rs.All), func(r *Record) bool { return r.Phase == Closed })
}

// Tracks reports whether there is any record of the id.
func (rs *Records) Tracks(id string) bool {
	_, broken := rs.Broken[id]
	r := rs.ByID(id)
	return broken || r != nil && r.Phase != Closed
}

// Records reads all records. A file that does not parse hides no other.
func (st *Store) Records() (*Records, error) {
	rs := &Records{Broken: map[string]error{}}
	if st.root == nil {
		return rs, nil
	}
	entries, err := fs.ReadDir(st.root.FS(), ".")
	if err != nil {
		return nil, fault.Wrap(err, fault.IOFailed, "cannot read the state folder")
	}
	for _, entry := range entries {
		id, ok := strings.CutSuffix(entry.Name(), recordSuffix)
		if !ok || entry.Name() == endpointFile || !validID(id) {
			continue
		}
		r, err := st.Read(id)
		switch {
		case fault.Is(err, fault.SteelStateCorrupt):
			rs.Broken[id] = err
		case err != nil:
			return nil, err
		case r != nil:
			rs.All = append(rs.All, r)
		}
	}
	slices.SortFunc(rs.All, func(a, b *Record) int {
		if c := a.CreatedAt.Compare(b.CreatedAt); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return rs, nil
}

// readFile reads a file of the folder that nobody else can read or has placed; nil: it
// is not there.
func (st *Store) readFile(name string) (data []byte, path string, err error) {
	path = filepath.Join(st.dir, name)
	info, err := st.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, path, nil
	}
	if err == nil {
		if err := safe(info, path, false); err != nil {
			return nil, path, err
		}
		data, err = st.root.ReadFile(name)
	}
	if err != nil {
		return nil, path, fault.Wrap(err, fault.IOFailed, "cannot read the state")
	}
	return append([]byte{}, data...), path, nil
}

// Write writes a record. One that is closed has no references any more.
func (st *Store) Write(r *Record) error {
	data, err := r.encode()
	if err != nil {
		return err
	}
	if err := st.replace(r.ID+recordSuffix, data); err != nil || r.Phase != Closed {
		return err
	}
	return st.DropReferences(r.ID)
}

// replace writes a file as a whole.
func (st *Store) replace(name string, data []byte) error {
	failed := func(err error) error { return fault.Wrap(err, fault.IOFailed, "cannot write the state") }
	tmp := "." + name + ".tmp" // one writer at a time: its caller holds the lock
	if err := st.root.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return failed(err)
	}
	f, err := st.root.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return failed(err)
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = st.root.Rename(tmp, name)
	}
	if err != nil {
		return failed(err)
	}
	return nil
}

// forget removes closed records that are older than keepClosed. The caller holds the
// endpoint's lock.
func (st *Store) forget(rs *Records, now time.Time) error {
	for _, r := range rs.All {
		if r.Phase != Closed || now.Sub(r.closedAt()) < keepClosed {
			continue
		}
		for _, name := range []string{r.ID + lockSuffix, r.ID + refsSuffix, r.ID + recordSuffix} {
			if err := st.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fault.Wrap(err, fault.IOFailed, "cannot remove an old record")
			}
		}
	}
	return nil
}

// lockEndpoint takes the lock that is held over every call that changes the server.
func (st *Store) lockEndpoint(ctx context.Context, wait time.Duration) (*lock.Lock, error) {
	l, err := st.lock(ctx, endpointLock, wait)
	if fault.Is(err, fault.LockHeld) {
		return nil, fault.New(fault.SteelEndpointBusy, "another program is changing the server's sessions").WithHint("try again, or wait longer with --lock-wait")
	}
	return l, err
}

// lockSession takes the lock of a session. The endpoint's comes before it.
func (st *Store) lockSession(ctx context.Context, id string, wait time.Duration) (*lock.Lock, error) {
	l, err := st.lock(ctx, id+lockSuffix, wait)
	if fault.Is(err, fault.LockHeld) {
		return nil, fault.New(fault.SteelSessionBusy, "another program is using the session %s", fault.Quote(id)).
			WithHint("try again; kxm-steel exec uses a session for as long as its command runs")
	}
	return l, err
}

// inUse reports whether a program holds the lock of a session.
func (st *Store) inUse(ctx context.Context, id string) (bool, error) {
	if _, err := st.root.Lstat(id + lockSuffix); errors.Is(err, fs.ErrNotExist) {
		return false, nil // looking makes no file
	}
	l, err := st.lockSession(ctx, id, 0)
	if fault.Is(err, fault.SteelSessionBusy) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return false, l.Release()
}

// lock makes the file itself, so that nobody else can open it.
func (st *Store) lock(ctx context.Context, name string, wait time.Duration) (*lock.Lock, error) {
	f, err := st.root.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fault.Wrap(err, fault.IOFailed, "cannot open a lock")
	}
	path := filepath.Join(st.dir, name)
	info, err := f.Stat()
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fault.Wrap(err, fault.IOFailed, "cannot open a lock")
	}
	if err := safe(info, path, false); err != nil {
		return nil, err
	}
	return lock.Acquire(ctx, path, wait)
}
