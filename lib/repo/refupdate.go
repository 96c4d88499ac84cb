package repo

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"kxm/lib/fault"
)

// UpdateOptions says how a ref is moved. The zero value is usable.
type UpdateOptions struct {
	// Wait is how long another program may hold the ref's lock; 0 is five seconds.
	Wait time.Duration
	// TempDir is a folder on the file system of the refs for the file that becomes
	// the lock; "" is the common Git directory. A process that dies may leave a file
	// "ref.*" there.
	TempDir string
	// Intend is called before the lock of the ref can come into being, with a note
	// that [Repo.RecoverRef] wants to see if the process dies before it removes the
	// lock. An error ends the update. It is not called where the git program moves the
	// ref, since git cleans up after itself.
	Intend func(note string) error
	// Locked is called under the lock, after the comparison. An error ends the update,
	// and nothing has changed.
	Locked func() error
	// Moved is called as soon as the ref has its new value, before that is durable.
	Moved func()
	// Damaged accepts a ref that cannot be read for one that has the old value.
	Damaged bool
	// Message and When go into the reflog, if the ref has one.
	Message string
	When    time.Time
}

// lockWait is how long the lock of a ref is waited for: Git holds one for
// milliseconds, or for as long as a hook of its takes.
const lockWait = 5 * time.Second

// UpdateRef moves a ref ("refs/…") from the value old to new, by Git's own protocol:
// it takes <ref>.lock, compares under it, and renames it. old "" means that the ref
// must be absent. The new value is durable when it returns nil, unless KXM_FSYNC is
// "none". It fails with RefMoved when the ref has another value, RefLocked when
// another program holds the lock for too long, RefConflict when the name cannot
// exist beside another ref, and RefBroken when the present value cannot be read or is
// symbolic. Hooks of Git (reference-transaction) do not run.
func (r *Repo) UpdateRef(ctx context.Context, name string, old, new OID, o UpdateOptions) error {
	if !strings.HasPrefix(name, "refs/") || !validRefName(name) {
		return fault.New(fault.Usage, "%s is no name of a ref", fault.Quote(name))
	}
	if err := r.checkID(new); err != nil {
		return err
	}
	if old != "" {
		if err := r.checkID(old); err != nil {
			return err
		}
	}
	if o.Wait == 0 {
		o.Wait = lockWait
	}
	w, err := r.writing()
	if err != nil {
		return err
	}
	if r.b == backend(r.native) {
		return r.native.updateRef(ctx, w, name, old, new, o)
	}
	u := refUpdate{r: r, w: w, name: name, old: old, new: new, o: o}
	return u.run(ctx)
}

// refUpdate is one update of a ref by its file.
type refUpdate struct {
	r        *Repo
	w        *writer
	name     string
	old, new OID
	o        UpdateOptions
	top      string   // the folder that holds refs/
	path     string   // the file of the ref
	changed  []string // folders with new entries on the way to it
}

func (u *refUpdate) content() string { return string(u.new) + "\n" }

func (u *refUpdate) run(ctx context.Context) error {
	u.top = u.r.commonDir
	if u.r.perWorktree(u.name) {
		u.top = u.r.gitDir
	}
	u.path = filepath.Join(u.top, filepath.FromSlash(u.name))
	if err := u.lock(ctx); err != nil {
		return err
	}
	moved := false
	defer func() {
		if !moved {
			_ = os.Remove(u.path + ".lock") // it is ours; should it stay, it says so by its content
		}
	}()
	if err := u.compare(); err != nil {
		return err
	}
	if u.o.Locked != nil {
		if err := u.o.Locked(); err != nil {
			return err
		}
	}
	if err := u.log(); err != nil {
		return err
	}
	if err := u.w.disk.rename(u.path+".lock", u.path); err != nil {
		return u.failed(err)
	}
	moved = true
	if u.o.Moved != nil {
		u.o.Moved()
	}
	for _, folder := range append(u.changed, filepath.Dir(u.path)) {
		if err := u.w.disk.syncFolder(folder, true); err != nil {
			return fault.Wrap(err, fault.IOFailed, "ref %s moved, but cannot be made durable", fault.Quote(u.name))
		}
	}
	return nil
}

func (u *refUpdate) failed(err error) error {
	return fault.Wrap(err, fault.IOFailed, "cannot change ref %s", fault.Quote(u.name))
}

// A note says which lock its writer was about to make: one that has its content from
// the first moment, or, where files cannot be linked, one that is made empty.
const noteCreated = " created"

// lock takes the lock. A file that is complete and durable becomes the lock by being
// linked to its name, so that a left-over lock always says whose it is.
func (u *refUpdate) lock(ctx context.Context) error {
	wait, cancel := context.WithTimeout(ctx, u.o.Wait)
	defer cancel()
	err := u.lockByLink(wait)
	if errors.Is(err, errNoLinks) {
		err = u.lockByCreating(wait)
	}
	if err != nil && wait.Err() != nil && ctx.Err() == nil {
		return fault.New(fault.RefLocked, "another program is changing ref %s", fault.Quote(u.name)).
			WithHint("if no Git command is running: remove %s", fault.Printable(u.path+".lock"))
	}
	return err
}

var errNoLinks = errors.New("files cannot be linked here")

func (u *refUpdate) intend(note string) error {
	if u.o.Intend == nil {
		return nil
	}
	return u.o.Intend(note)
}

func (u *refUpdate) lockByLink(ctx context.Context) error {
	if err := u.intend(u.content()); err != nil {
		return err
	}
	dir := u.o.TempDir
	if dir == "" {
		dir = u.r.commonDir
	}
	temp := filepath.Join(dir, "ref."+strconv.FormatUint(rand.Uint64(), 36))
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return u.failed(err)
	}
	// It goes before the lock becomes the ref: nothing may ever write into a file that
	// has the ref as a second name.
	defer os.Remove(temp)
	if err := errors.Join(u.w.disk.write(f, []byte(u.content())), u.w.disk.sync(f, true), f.Close(), u.w.share(temp)); err != nil {
		return u.failed(err)
	}
	return u.persist(ctx, func() error {
		err := u.w.disk.link(temp, u.path+".lock")
		if noLinks(err) {
			return errNoLinks
		}
		return err
	})
}

// noLinks reports whether link(2) says that it never works here: between two file
// systems, or on one without hard links.
func noLinks(err error) bool {
	for _, e := range []error{syscall.EXDEV, syscall.EPERM, syscall.ENOSYS, syscall.ENOTSUP, syscall.EMLINK, errors.ErrUnsupported} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

func (u *refUpdate) lockByCreating(ctx context.Context) error {
	if err := u.intend(string(u.new) + noteCreated + "\n"); err != nil {
		return err
	}
	lock := u.path + ".lock"
	var f *os.File
	err := u.persist(ctx, func() (err error) {
		f, err = os.OpenFile(lock, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		return err
	})
	if err != nil {
		return err
	}
	if err := errors.Join(u.w.disk.write(f, []byte(u.content())), u.w.disk.sync(f, true), f.Close(), u.w.share(lock)); err != nil {
		_ = os.Remove(lock) // it was made here
		return u.failed(err)
	}
	return nil
}

// persist calls take until it gets the lock: while somebody else has it, and while
// its folder is missing, since pack-refs removes empty ones.
func (u *refUpdate) persist(ctx context.Context, take func() error) error {
	vanished := 0
	for pause := time.Millisecond; ; {
		err := take()
		switch {
		case err == nil, errors.Is(err, errNoLinks):
			return err
		case errors.Is(err, fs.ErrExist):
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(pause):
			}
			pause = min(2*pause, 20*time.Millisecond)
		case errors.Is(err, fs.ErrNotExist) && vanished < maxVanished:
			vanished++
			changed, err := u.w.folders(u.top, filepath.Dir(u.path))
			u.changed = append(u.changed, changed...)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return u.blocked(err)
			}
		default:
			return u.blocked(err)
		}
	}
}

// blocked explains why the lock's folder cannot be there: a ref may have its name.
func (u *refUpdate) blocked(err error) error {
	if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, fs.ErrExist) {
		for parent := filepath.Dir(u.path); len(parent) > len(u.top); parent = filepath.Dir(parent) {
			if st, statErr := os.Stat(parent); statErr == nil && !st.IsDir() {
				return conflict(u.name, filepath.ToSlash(strings.TrimPrefix(parent, u.top+string(filepath.Separator))))
			}
		}
	}
	return u.failed(err)
}

func conflict(name, other string) error {
	return fault.New(fault.RefConflict, "ref %s cannot be made: %s exists", fault.Quote(name), fault.Quote(other))
}

// compare reads the ref again, now that nobody can change it.
func (u *refUpdate) compare() error {
	v, ok, err := u.r.readRef(u.name)
	switch {
	case err != nil && !(u.o.Damaged && fault.Is(err, fault.RefBroken)):
		return err
	case err == nil && v.symbolic != "" && !u.o.Damaged:
		return symbolicRef(u.name, v.symbolic)
	case err == nil && v.symbolic == "" && v.id != u.old:
		return refMoved(u.name, u.old, v.id)
	case ok:
		return nil
	}
	other, err := u.r.conflicting(u.name)
	if err != nil {
		return err
	}
	if other != "" {
		return conflict(u.name, other)
	}
	removeEmptyFolders(u.path)
	return nil
}

func refMoved(name string, old, now OID) error {
	describe := func(id OID) string {
		if id == "" {
			return "absent"
		}
		return string(id)
	}
	return fault.New(fault.RefMoved, "ref %s is %s, not %s", fault.Quote(name), describe(now), describe(old))
}

func symbolicRef(name, target string) error {
	return fault.New(fault.RefBroken, "ref %s is symbolic: it leads to %s", fault.Quote(name), fault.Quote(target)).
		WithHint("git symbolic-ref --delete %s", fault.Printable(name))
}

// removeEmptyFolders removes a folder that holds nothing but folders, which Git
// leaves behind when it deletes refs. What holds anything stays, and is met again.
func removeEmptyFolders(path string) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return
	}
	for _, e := range entries {
		if e.IsDir() {
			removeEmptyFolders(filepath.Join(path, e.Name()))
		}
	}
	_ = os.Remove(path)
}

// log appends to the ref's reflog: where there is one, and where Git is told to keep
// one for every ref. Whether it is told so in a file that an includeIf names is not
// asked, since that would start git for every update.
func (u *refUpdate) log() error {
	path := filepath.Join(u.top, "logs", filepath.FromSlash(u.name))
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		if !u.r.logsAllRefs() {
			return nil
		}
		if _, err := u.w.folders(u.top, filepath.Dir(path)); err != nil {
			return u.failed(err)
		}
		if f, err = os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666); err == nil {
			err = u.w.share(path)
		}
	}
	if err != nil {
		return u.failed(err)
	}
	old := u.old
	if old == "" {
		old = OID(strings.Repeat("0", len(u.new)))
	}
	line := append([]byte(old), ' ')
	line = append(append(line, u.new...), ' ')
	line = appendPerson(line, Person{Name: logName, Email: logEmail, When: u.o.When})
	line = append(append(append(line, '\t'), strings.ReplaceAll(u.o.Message, "\n", " ")...), '\n')
	_, err = f.Write(line)
	if err := errors.Join(err, f.Close()); err != nil {
		return u.failed(err)
	}
	return nil
}

// Who moves a ref is this program; for whom, its commits and events say.
const (
	logName  = "kxm"
	logEmail = "kxm@localhost"
)

// logsAllRefs reports whether core.logAllRefUpdates is "always".
func (r *Repo) logsAllRefs() bool {
	l := configLoader{home: r.getenv("HOME"), unconditional: true}
	for _, path := range r.configFiles() {
		if l.file(path, 0) != nil {
			return false // what is broken is reported where a value matters
		}
	}
	always := false
	for _, e := range l.entries {
		if e.key == "core.logallrefupdates" {
			always = strings.EqualFold(e.value, "always")
		}
	}
	return always
}

// createdPause is how long a lock that need not be ours must have been unchanged.
const createdPause = 10 * time.Second

// RecoverRef removes the lock that a writer left on a ref when it died, as the note
// proves that UpdateRef gave to its Intend: only a lock with the noted content is
// removed, never one of Git's. The caller must know that this writer is gone. Where
// files cannot be linked a writer may have left an empty lock, which could be Git's as
// well; that one is removed only after it did not change for ten seconds.
func (r *Repo) RecoverRef(ctx context.Context, name, note string) (removed bool, err error) {
	if !validRefName(name) {
		return false, nil
	}
	id, created := strings.CutSuffix(strings.TrimSuffix(note, "\n"), noteCreated)
	if r.checkID(OID(id)) != nil {
		return false, nil // cut off by a crash: then the lock was not made yet
	}
	top := r.commonDir
	if r.perWorktree(name) {
		top = r.gitDir
	}
	lock := filepath.Join(top, filepath.FromSlash(name)) + ".lock"
	read := func() (string, time.Time, error) {
		st, err := os.Lstat(lock)
		if err != nil {
			return "", time.Time{}, err
		}
		data, err := readBounded(lock, refLimit)
		return string(data), st.ModTime(), err
	}
	content, since, err := read()
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		// It died before it made the lock, or after it moved the ref: then the new value
		// may not be durable yet, and whoever finds it must be able to rely on it.
		return false, r.FlushRef(name)
	}
	if err != nil {
		return false, fault.Wrap(err, fault.IOFailed, "cannot read the lock of ref %s", fault.Quote(name))
	}
	if content != id+"\n" {
		if !created || !strings.HasPrefix(id, content) {
			return false, nil
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(r.pauseCreated()):
		}
		if again, now, err := read(); err != nil || again != content || !now.Equal(since) {
			return false, nil // somebody is at work
		}
	}
	if err := os.Remove(lock); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fault.Wrap(err, fault.IOFailed, "cannot remove the lock of ref %s", fault.Quote(name))
	}
	return true, nil
}

// FlushRef makes the present value of a ref durable, whoever moved it: a process that
// was killed may have left that out. What git packed or keeps elsewhere it flushed.
func (r *Repo) FlushRef(name string) error {
	w, err := r.writing()
	if err != nil {
		return err
	}
	top := r.commonDir
	if r.perWorktree(name) {
		top = r.gitDir
	}
	folder := filepath.Dir(filepath.Join(top, filepath.FromSlash(name)))
	if err := w.disk.syncFolder(folder, true); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.Wrap(err, fault.IOFailed, "cannot make ref %s durable", fault.Quote(name))
	}
	return nil
}

// pauseCreated is createdPause; tests cannot wait for that long.
func (r *Repo) pauseCreated() time.Duration {
	if r.shortPause > 0 {
		return r.shortPause
	}
	return createdPause
}
