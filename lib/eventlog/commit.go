package eventlog

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"kxm/lib/fault"
	"kxm/lib/lock"
	"kxm/lib/repo"
)

// leader is the one writer of the repository: it holds the lock whose file carries
// the note about the ref's lock.
type leader struct {
	l     *Log
	lock  *lock.Lock
	noted string
}

// lead starts work under the lock: it clears away what a writer left that died.
func (l *Log) lead(ctx context.Context, lk *lock.Lock) (*leader, error) {
	w := &leader{l: l, lock: lk}
	note := make([]byte, 256)
	n, _ := lk.File().ReadAt(note, 0) // at most as long as a note; less is the end of the file
	if n == 0 {
		return w, nil
	}
	if _, err := l.r.RecoverRef(ctx, Ref, string(note[:n])); err != nil {
		return nil, err
	}
	rest, err := os.ReadDir(l.path(""))
	if err != nil {
		return nil, fault.Wrap(err, fault.IOFailed, "cannot read the folder of the log")
	}
	for _, e := range rest {
		if strings.HasPrefix(e.Name(), "ref.") {
			_ = os.Remove(l.path(e.Name())) // what stays does no harm
		}
	}
	return w, w.clear()
}

// note keeps what proves, should this process die, whose the ref's lock is.
func (w *leader) note(text string) error {
	if w.noted == text {
		return nil
	}
	if err := w.clear(); err != nil {
		return err
	}
	if _, err := w.lock.File().WriteAt([]byte(text), 0); err != nil {
		return fault.Wrap(err, fault.IOFailed, "cannot write to the lock of the log")
	}
	w.noted = text
	return nil
}

func (w *leader) clear() error {
	w.noted = ""
	if err := w.lock.File().Truncate(0); err != nil {
		return fault.Wrap(err, fault.IOFailed, "cannot write to the lock of the log")
	}
	return nil
}

// The identity of commits: who is behind an event stands in the event.
const (
	committer      = "kxm"
	committerEmail = "kxm@localhost"
)

// encodeCommit returns a commit of the log. The same arguments give the same bytes.
func encodeCommit(tree repo.OID, parents []repo.OID, when time.Time, message string) []byte {
	who := repo.Person{Name: committer, Email: committerEmail, When: when.UTC()}
	return repo.EncodeCommit(repo.Commit{Tree: tree, Parents: parents, Author: who, Committer: who, Message: message + "\n"})
}

// add commits writes on top of a snapshot, as one commit; when all of them are there
// already, nothing happens. RefMoved means that the log is no longer at the snapshot.
func (w *leader) add(ctx context.Context, s *Snapshot, writes []Write) error {
	root := &folder{l: w.l, place: place{kind: top}, entries: slices.Clone(s.top)} // the snapshot keeps its own
	var objects []repo.NewObject
	file := func(f *folder, name string, data []byte) bool {
		if !f.put(name, w.l.r.HashBlob(data)) {
			return false
		}
		objects = append(objects, repo.NewObject{Type: "blob", Data: data})
		return true
	}
	file(root, formatName, []byte(formatText))
	events, signatures := 0, 0
	for _, write := range writes {
		f, err := root.at(ctx, write.Folder)
		if err != nil {
			return err
		}
		if write.Event != nil && file(f, write.ID+".json", write.Event) {
			events++
		}
		for _, sig := range write.Signatures {
			if file(f, SignatureName(write.ID, sig), sig) {
				signatures++
			}
		}
	}
	if events+signatures == 0 {
		// Whoever wrote them may have died before they were durable.
		return w.l.r.FlushRef(Ref)
	}
	tree, _ := root.encode(&objects)
	message := messageOf(difference{events: events, signatures: signatures})
	var parents []repo.OID
	if s.tip != "" {
		parents = []repo.OID{s.tip}
	}
	return w.move(ctx, s.tip, encodeCommit(tree, parents, w.l.now(), message), message, objects)
}

// messageOf is the message of a commit that adds so much.
func messageOf(d difference) string {
	if d.events == 0 {
		return fmt.Sprintf("kxm: %d signatures", d.signatures)
	}
	return fmt.Sprintf("kxm: %d events", d.events)
}

func isMoved(err error) bool { return fault.Is(err, fault.RefMoved) }

// move writes objects and a commit, and moves the ref from the commit old to it.
func (w *leader) move(ctx context.Context, old repo.OID, commit []byte, message string, objects []repo.NewObject) error {
	id := w.l.r.HashObject("commit", commit)
	objects = append(objects, repo.NewObject{Type: "commit", Data: commit})
	flushed := make(chan error, 1)
	if w.l.r.Backend() == "files" {
		// The note that UpdateRef will ask for is made durable beside the objects, at no
		// cost: after a power failure the lock may be there, and the note must be too. git
		// needs none: a lock of its own with the same content must not look like ours.
		if err := w.note(string(id) + "\n"); err != nil {
			return err
		}
		go func() { flushed <- w.l.r.Flush(w.lock.File()) }()
	} else {
		flushed <- nil
	}
	_, err := w.l.r.WriteObjects(ctx, objects)
	if flushErr := <-flushed; flushErr != nil && err == nil {
		err = fault.Wrap(flushErr, fault.IOFailed, "cannot write to the lock of the log")
	}
	if err != nil {
		return err
	}
	w.l.step("written")
	return w.set(ctx, old, id, repo.UpdateOptions{Message: message})
}

// set moves the ref.
func (w *leader) set(ctx context.Context, old, id repo.OID, o repo.UpdateOptions) error {
	var clearing error
	o.TempDir, o.Wait = w.l.path(""), w.l.refWait
	o.When = w.l.now().UTC()
	o.Intend = func(note string) error {
		if note == w.noted {
			return nil
		}
		if err := w.note(note); err != nil {
			return err
		}
		if err := w.l.r.Flush(w.lock.File()); err != nil {
			return fault.Wrap(err, fault.IOFailed, "cannot write to the lock of the log")
		}
		return nil
	}
	o.Locked = func() error { w.l.step("locked"); return nil }
	o.Moved = func() {
		w.l.step("moved")
		// Before the flush of the folder, which takes long: the lock is gone, and one with
		// this content could only be Git's from now on.
		clearing = w.clear()
		w.l.step("cleared")
	}
	if err := w.l.r.UpdateRef(ctx, Ref, old, id, o); err != nil {
		return refBroken(err)
	}
	return clearing
}
