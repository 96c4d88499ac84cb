package eventlog

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"

	"kxm/lib/fault"
	"kxm/lib/lock"
)

// How long a writer waits for others.
const (
	busyWait    = 10 * time.Second // until it is its turn, or somebody wrote its events
	claimedWait = 30 * time.Second // more, when somebody has begun to
	maxMoved    = 50               // times that the ref moved under the lock, by git's hand
)

// Append adds events to the log, all in one commit or none. When it returns nil they
// are durable. They must need no look at the log: while another process writes, the
// events are handed to it, and it commits them with its own. Writing what is there
// changes nothing. It fails with InvalidStateEvent when an event does not fit its
// path, StateBusy when others wrote for ten seconds, StateQuarantine inside
// pre-receive, and StateRefBroken when the log cannot be read; then nothing was
// written.
func (l *Log) Append(ctx context.Context, writes []Write) error {
	if len(writes) == 0 {
		return nil
	}
	if slices.ContainsFunc(writes, func(w Write) bool { return w.Event == nil }) {
		// Whether the event is there must be seen under the lock.
		return l.AppendIf(ctx, func(context.Context, *Snapshot) ([]Write, error) { return writes, nil })
	}
	for i := range writes {
		if err := writes[i].check(); err != nil {
			return err
		}
	}
	if err := l.prepare(); err != nil {
		return err
	}
	lk, err := lock.Try(l.path(lockName))
	if err == nil {
		return l.commitAll(ctx, lk, writes, "")
	}
	if !fault.Is(err, fault.LockHeld) {
		return err
	}
	name, err := l.spool(writes)
	if err != nil {
		return err
	}
	return l.await(ctx, name)
}

// AppendIf adds what decide returns after it looked at the newest state of the log,
// in one commit or not at all: nobody writes between. decide may be called again when
// git moved the ref meanwhile; its error ends the call, and without writes nothing is
// done. A write without Event needs its event in the log. The errors of Append apply.
func (l *Log) AppendIf(ctx context.Context, decide func(ctx context.Context, s *Snapshot) ([]Write, error)) error {
	if err := l.prepare(); err != nil {
		return err
	}
	lk, err := lock.Acquire(ctx, l.path(lockName), l.wait)
	if fault.Is(err, fault.LockHeld) {
		return busy(err)
	}
	if err != nil {
		return err
	}
	defer lk.Release()
	w, err := l.lead(ctx, lk)
	if err != nil {
		return err
	}
	// What others handed over came first.
	if err := w.commitSpool(ctx, nil); err != nil {
		return err
	}
	return w.retry(ctx, func(s *Snapshot) ([]Write, error) {
		writes, err := decide(ctx, s)
		if err != nil {
			return nil, err
		}
		for i := range writes {
			if err := writes[i].check(); err != nil {
				return nil, err
			}
			if writes[i].Event != nil {
				continue
			}
			rec, ok, err := s.Record(ctx, writes[i].Folder, writes[i].ID)
			if err != nil {
				return nil, err
			}
			if !ok || rec.Err != nil {
				return nil, invalid(writes[i].ID, "is not in the log, or does not fit its path")
			}
		}
		return writes, nil
	})
}

func busy(err error) error {
	return fault.Wrap(err, fault.StateBusy, "the log is busy")
}

// lockName is the file whose lock the one writer holds. It is never removed.
const lockName = "lock"

// prepare makes what writing needs, and refuses where nothing may be written.
func (l *Log) prepare() error {
	if l.r.Quarantined() {
		return fault.New(fault.StateQuarantine, "the log cannot be written inside pre-receive: what is written now is lost if the push is refused").
			WithHint("use post-receive")
	}
	if _, err := l.r.Folder("kxm"); err != nil {
		return err
	}
	path := l.path(lockName)
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return fault.Wrap(err, fault.IOFailed, "cannot make the lock of the log")
	}
	if err := f.Close(); err != nil {
		return fault.Wrap(err, fault.IOFailed, "cannot make the lock of the log")
	}
	return l.r.Share(path)
}

// commitAll commits own events and what others handed over, and releases the lock.
// mine is the name under which this process handed over its own.
func (l *Log) commitAll(ctx context.Context, lk *lock.Lock, own []Write, mine string) error {
	defer lk.Release()
	w, err := l.lead(ctx, lk)
	if err == nil {
		err = w.commitSpool(ctx, own)
	}
	if err == nil && mine != "" {
		var gone bool
		if gone, err = l.gone(mine); err == nil && !gone {
			err = fault.New(fault.IOFailed, "the events that were handed over cannot be read back")
		}
	}
	if err != nil && mine != "" {
		// Nobody else works on it while we hold the lock, so it can still be withdrawn.
		err = errors.Join(err, l.withdraw(mine))
	}
	return err
}

// commitSpool commits what was handed over together with own writes.
func (w *leader) commitSpool(ctx context.Context, own []Write) error {
	batches, err := w.claim()
	if err != nil {
		return err
	}
	all := slices.Clip(own)
	for _, b := range batches {
		all = append(all, b.writes...)
	}
	if len(all) > 0 {
		w.l.step("claimed")
		if err := w.retry(ctx, func(*Snapshot) ([]Write, error) { return all, nil }); err != nil {
			return err
		}
		w.l.step("committed")
	}
	for _, b := range batches {
		// Should it stay, it is committed once more, which changes nothing.
		_ = os.Remove(w.l.path(takenDir + b.name))
	}
	return nil
}

// retry commits what decide returns for the newest tip. Others of us are kept out by
// the lock; git is not.
func (w *leader) retry(ctx context.Context, decide func(s *Snapshot) ([]Write, error)) error {
	for try := 0; ; try++ {
		s, err := w.l.Snapshot(ctx, "")
		if err != nil {
			return err
		}
		writes, err := decide(s)
		if err != nil || len(writes) == 0 {
			return err
		}
		err = w.add(ctx, s, writes)
		if isMoved(err) && try < maxMoved {
			continue
		}
		if isMoved(err) {
			return busy(err)
		}
		return err
	}
}

// await waits until somebody has committed the batch of that name, or does it.
func (l *Log) await(ctx context.Context, name string) error {
	limit := time.NewTimer(l.wait)
	defer limit.Stop()
	done := ctx.Done()
	var giveUp error
	for pause := time.Millisecond; ; pause = min(2*pause, 8*time.Millisecond) {
		if gone, err := l.gone(name); gone || err != nil {
			return err
		}
		lk, err := lock.Try(l.path(lockName))
		switch {
		case err == nil:
			if gone, err := l.gone(name); gone || err != nil {
				return errors.Join(err, lk.Release())
			}
			// Whoever claimed it died, or nobody did.
			return l.commitAll(ctx, lk, nil, name)
		case !fault.Is(err, fault.LockHeld):
			return errors.Join(err, l.withdraw(name))
		}
		select {
		case <-time.After(pause):
			continue
		case <-done:
			giveUp, done = ctx.Err(), nil
		case <-limit.C:
			if giveUp != nil {
				return fault.Wrap(giveUp, fault.IOFailed, "another program has taken the events and does not finish; they may still be written")
			}
			giveUp = busy(err)
		}
		if err := os.Remove(l.path(spoolDir + name)); err == nil {
			return giveUp // nobody had begun
		}
		limit.Reset(claimedWait)
	}
}
