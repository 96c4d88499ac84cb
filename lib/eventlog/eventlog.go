// Package eventlog owns the append-only log of events that a repository keeps in a
// ref of its own: where an event lies, how it is written beside other writers and
// through a crash, how two logs are merged, and how clones exchange them.
//
// Start with [Open], then [Log.Snapshot] to read and [Log.Append] or [Log.AppendIf]
// to write. One event is one file of the ref's tree, and its path follows from its
// content, so that merging is the union of trees and writing twice is writing once.
//
// The package reads of an event only what its path depends on: project, key and
// clock. It knows no types of events, verifies no signature and folds nothing; what
// it returns is what is stored, checked against its path and limits. The stamp of a
// new event (see [Snapshot.IDs]) is the caller's. Reading never writes.
package eventlog

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"kxm/lib/fault"
	"kxm/lib/repo"
)

// Ref is the ref that holds the log.
const Ref = "refs/kxm/state"

// Sizes in bytes. Larger files are reported and never read.
const (
	MaxEvent     = 256 << 10
	MaxSignature = 16 << 10
)

// Options says where the log is exchanged and what the time is.
type Options struct {
	// RemoteRef is the name of the log on a remote, "" is [Ref]. Some hosts take
	// branches only, so it may be refs/kxm/… or refs/heads/kxm….
	RemoteRef string
	// Now is the clock that commits are dated by.
	Now func() time.Time
}

// Log is the log of one repository. It is safe for concurrent use.
type Log struct {
	r         *repo.Repo
	remoteRef string
	now       func() time.Time
	wait      time.Duration     // for other writers
	refWait   time.Duration     // for git's lock on the ref; 0 is the usual one
	rounds    int               // of a sync
	step      func(name string) // of tests: called where a crash must do no harm
}

// Open prepares the log of a repository. It reads and makes nothing.
func Open(_ context.Context, r *repo.Repo, o Options) (*Log, error) {
	if o.Now == nil {
		return nil, fault.New(fault.Usage, "the log needs a clock")
	}
	if o.RemoteRef == "" {
		o.RemoteRef = Ref
	}
	if !strings.HasPrefix(o.RemoteRef, "refs/kxm/") && !strings.HasPrefix(o.RemoteRef, "refs/heads/kxm") || !repo.ValidRefName(o.RemoteRef) {
		return nil, fault.New(fault.ConfigInvalid, "state.remoteRef is %s: it must begin with refs/kxm/ or refs/heads/kxm", fault.Quote(o.RemoteRef))
	}
	return &Log{r: r, remoteRef: o.RemoteRef, now: o.Now, wait: busyWait, rounds: maxRounds, step: func(string) {}}, nil
}

// tip returns the commit that the ref names, "" when there is no log. What cannot be
// read is StateRefBroken: were it taken for absent, the history would begin anew.
func (l *Log) tip(ctx context.Context) (repo.OID, error) {
	id, ok, err := l.r.PlainRef(ctx, Ref)
	if err != nil {
		return "", refBroken(err)
	}
	if ok {
		return id, nil
	}
	other, err := l.r.ConflictingRef(ctx, Ref)
	if err != nil {
		return "", refBroken(err)
	}
	if other != "" {
		return "", fault.New(fault.StateRefBroken, "ref %s cannot exist beside %s", fault.Quote(Ref), fault.Quote(other)).
			WithHint("git update-ref -d %s", fault.Printable(other))
	}
	return "", nil
}

// refBroken gives an error about the ref, or about the objects that the log needs in
// order to be read at all, the code that callers look for. Others stay as they are.
func refBroken(err error) error {
	switch fault.CodeOf(err) {
	case fault.RefBroken, fault.RefConflict, fault.ObjectMissing, fault.ObjectCorrupt, fault.ObjectTooLarge:
		return fault.Wrap(err, fault.StateRefBroken, "the log cannot be read").WithHint("kxm-state doctor --repair")
	}
	return err
}

// path is where a file lies that belongs to the clone and not to the log.
func (l *Log) path(name string) string {
	return filepath.Join(l.r.CommonDir(), "kxm", filepath.FromSlash(name))
}
