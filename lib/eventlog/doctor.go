package eventlog

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"kxm/lib/fault"
	"kxm/lib/lock"
	"kxm/lib/repo"
)

// Finding is something about the log that is not as it should be.
type Finding struct {
	Severity string // "error" or "warning"
	Rule     string // what kind of thing it is, such as "event_invalid"
	Path     string // in the log's tree, or a file; "" when it is about the whole
	Message  string
	Hint     string // what to do, if anything can be done
}

// Check looks at everything that can be wrong with the log as a store: the ref, the
// objects that it leads to, every path against its content, what does not belong
// there, and what dead writers left. It reads every event. Findings are sorted by path.
func (l *Log) Check(ctx context.Context) ([]Finding, error) {
	c := checker{l: l}
	c.locks()
	s, err := l.Snapshot(ctx, "")
	if err != nil {
		if fault.CodeOf(err) != fault.StateRefBroken {
			return nil, err
		}
		c.fail("ref_broken", Ref, err)
		return c.sorted(), nil
	}
	if s.tip == "" {
		return c.sorted(), nil
	}
	if _, err := l.r.Git(ctx, nil, "rev-list", "--objects", "--quiet", string(s.tip)); err != nil {
		if _, answered := repo.GitExitCode(err); !answered {
			return nil, err
		}
		c.fail("history_incomplete", Ref, err)
	}
	err = c.content(ctx, s)
	if fault.Is(err, fault.StateRefBroken) {
		c.fail("tree_broken", Ref, err)
		err = nil
	}
	return c.sorted(), err
}

type checker struct {
	l        *Log
	mu       sync.Mutex
	findings []Finding
}

func (c *checker) add(f Finding) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.findings = append(c.findings, f)
}

// fail adds an error with its hint.
func (c *checker) fail(rule, path string, err error) {
	f := Finding{Severity: "error", Rule: rule, Path: path, Message: err.Error()}
	var e *fault.Error
	if errors.As(err, &e) {
		f.Message, f.Hint = e.Message, e.Hint
	}
	c.add(f)
}

func (c *checker) warn(rule, path, message, hint string) {
	c.add(Finding{Severity: "warning", Rule: rule, Path: path, Message: message, Hint: hint})
}

func (c *checker) sorted() []Finding {
	slices.SortFunc(c.findings, func(a, b Finding) int { return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Rule, b.Rule)) })
	if c.findings == nil {
		return []Finding{}
	}
	return c.findings
}

// content checks every file of the tree.
func (c *checker) content(ctx context.Context, s *Snapshot) error {
	for _, ofJournal := range []bool{false, true} {
		folders, err := s.Folders(ctx, ofJournal)
		if err != nil {
			return err
		}
		err = s.EachRecords(ctx, folders, func(_ int, records []Record, _ bool) error {
			for _, r := range records {
				if r.Err != nil {
					c.fail("event_invalid", r.Path, r.Err)
				}
				for _, sig := range r.Signatures {
					if sig.Err != nil {
						c.fail("signature_invalid", r.Folder+"/"+sig.Name, sig.Err)
					}
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	foreign, err := s.Foreign(ctx)
	for _, path := range foreign {
		switch {
		case strings.HasPrefix(path, "format-") && path != formatName:
			c.warn("format_unknown", path, "a file names another format, which counts only where the configuration names it too", "")
		default:
			c.warn("path_foreign", path, "this does not belong to the log; it is carried along and never read", "")
		}
	}
	if err != nil {
		return err
	}
	if e, ok := s.entry(formatName); !ok || c.l.checkFile(ctx, place{kind: top}, e) != nil {
		c.warn("format_missing", formatName, "the log does not name its format; the next write does", "")
	}
	return nil
}

// locks looks for what dead writers left. While one is at work all of it may be its
// own.
func (c *checker) locks() {
	if st, err := os.Stat(c.l.path(lockName)); err != nil || !st.Mode().IsRegular() {
		return // nobody ever wrote
	}
	lk, err := lock.Try(c.l.path(lockName))
	if err != nil {
		return // somebody does, or it may not be opened for writing, and then nothing can be done
	}
	defer lk.Release()
	refLock := filepath.Join(c.l.r.CommonDir(), filepath.FromSlash(Ref)+".lock")
	if held, err := os.ReadFile(refLock); err == nil {
		note, _ := os.ReadFile(c.l.path(lockName)) // unreadable is as good as empty
		if len(note) > 0 && bytes.Equal(held, note) {
			c.warn("lock_left", refLock, "a writer died and left its lock; the next one removes it", "")
		} else {
			c.warn("lock_foreign", refLock, "a Git command holds the ref, or died and left its lock", "if no Git command is running, remove the file")
		}
	}
	for _, dir := range []string{spoolDir, takenDir} {
		names, err := batchNames(c.l.path(dir))
		if err != nil {
			continue // named when somebody writes
		}
		for _, name := range names {
			path := c.l.path(dir + name)
			if _, err := c.l.readBatch(dir, name); err != nil {
				c.warn("batch_damaged", path, "events that were handed over cannot be read: "+fault.Printable(err.Error()), "kxm-state doctor --repair")
			} else {
				c.warn("batch_left", path, "events were handed over and not written; the next writer writes them", "kxm-state doctor --repair")
			}
		}
	}
}

// Repair mends what Check finds where that loses nothing, and says what it did. A ref
// that cannot be read is set to the newest log that can be: what the ref held before,
// the tracking refs, what a writer noted that died, and commits of the log that no ref
// names any more. What the others of these hold beside it is added. Events that were
// handed over are written.
func (l *Log) Repair(ctx context.Context) (done []string, err error) {
	done = []string{}
	if err := l.prepare(); err != nil {
		return done, err
	}
	lk, err := lock.Acquire(ctx, l.path(lockName), l.wait)
	if fault.Is(err, fault.LockHeld) {
		return done, busy(err)
	}
	if err != nil {
		return done, err
	}
	defer lk.Release()
	note, _ := os.ReadFile(l.path(lockName)) // unreadable is as good as empty
	w, err := l.lead(ctx, lk)
	if err != nil {
		return done, err
	}
	_, err = l.readable(ctx, "")
	switch {
	case err == nil:
	case fault.Is(err, fault.StateRefBroken):
		said, err := w.restore(ctx, string(note))
		done = append(done, said...)
		if err != nil {
			return done, err
		}
	default:
		return done, err
	}
	said, err := w.mendSpool(ctx)
	return append(done, said...), err
}

// readable returns the log at a commit, or where it is now, if all that it leads to
// is there.
func (l *Log) readable(ctx context.Context, id repo.OID) (s *Snapshot, err error) {
	if id == "" {
		s, err = l.Snapshot(ctx, "")
	} else {
		s, err = l.at(ctx, id)
	}
	if err != nil || s.tip == "" {
		return s, err
	}
	if _, err := l.r.Git(ctx, nil, "rev-list", "--objects", "--quiet", string(s.tip)); err != nil {
		if _, answered := repo.GitExitCode(err); answered {
			return nil, fault.Wrap(err, fault.StateRefBroken, "the log is not complete")
		}
		return nil, err
	}
	return s, nil
}

// restore sets a ref that cannot be read.
func (w *leader) restore(ctx context.Context, note string) (done []string, err error) {
	l := w.l
	old, ok, readErr := l.r.PlainRef(ctx, Ref)
	if !ok && readErr == nil {
		_, err := l.tip(ctx) // another ref has its name
		return nil, err
	}
	candidates := l.candidates(ctx, note)
	var logs []*Snapshot
	when := map[repo.OID]int64{}
	for _, id := range candidates {
		s, err := l.readable(ctx, id)
		if err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			continue
		}
		c, err := l.r.Commit(ctx, id)
		if err != nil {
			continue
		}
		logs, when[id] = append(logs, s), c.Committer.When.Unix()
	}
	if len(logs) == 0 {
		return nil, fault.New(fault.StateRefBroken, "the log cannot be read, and no other copy of it is in the repository").
			WithHint("fetch it again: git update-ref -d %s, then kxm-state sync", Ref)
	}
	slices.SortFunc(logs, func(a, b *Snapshot) int {
		return cmp.Or(cmp.Compare(when[b.tip], when[a.tip]), cmp.Compare(a.tip, b.tip))
	})
	if readErr != nil {
		old = "" // it cannot be compared with anything
	}
	o := repo.UpdateOptions{Damaged: readErr != nil, Message: "kxm: repair"}
	if err := w.set(ctx, old, logs[0].tip, o); err != nil {
		return nil, err
	}
	done = append(done, "set "+Ref+" to "+string(logs[0].tip))
	for _, s := range logs[1:] {
		now, err := l.Snapshot(ctx, "")
		if err != nil {
			return done, err
		}
		d, err := l.count(ctx, s.root, now.root)
		if err != nil || d.none() {
			continue // nothing, or nothing that can be read
		}
		if _, _, _, err := w.adopt(ctx, s.tip); err != nil {
			return done, err
		}
		done = append(done, "added what "+string(s.tip)+" holds beside it")
	}
	return done, nil
}

// candidates are commits that may be the log's, from all places where one can be.
func (l *Log) candidates(ctx context.Context, note string) []repo.OID {
	var ids []repo.OID
	add := func(text string) {
		id := repo.OID(text)
		if typ, _, err := l.r.Header(ctx, id); err == nil && typ == "commit" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	// What packed-refs has may be hidden by a damaged file.
	if id, ok, err := l.r.PackedRef(ctx, Ref); err == nil && ok {
		add(string(id))
	}
	first, _, _ := strings.Cut(strings.TrimSpace(note), " ")
	add(first)
	if data, err := os.ReadFile(filepath.Join(l.r.CommonDir(), "logs", filepath.FromSlash(Ref))); err == nil {
		for line := range strings.Lines(string(data)) {
			if words := strings.Fields(line); len(words) > 1 {
				add(words[1])
			}
		}
	}
	// git warns about the damaged ref; what it lists is right.
	refs, _ := l.r.Git(ctx, nil, "for-each-ref", "--format=%(objectname)", "refs/kxm/remotes")
	for line := range strings.Lines(string(refs)) {
		add(strings.TrimSpace(line))
	}
	lost, _ := l.r.Git(ctx, nil, "fsck", "--connectivity-only", "--dangling", "--no-progress", "--no-reflogs")
	for line := range strings.Lines(string(lost)) {
		words := strings.Fields(line)
		if len(words) != 3 || words[0] != "dangling" || words[1] != "commit" {
			continue
		}
		if c, err := l.r.Commit(ctx, repo.OID(words[2])); err == nil && c.Committer.Email == committerEmail {
			add(words[2])
		}
	}
	return ids
}

// mendSpool writes what was handed over, and puts aside what cannot be read.
func (w *leader) mendSpool(ctx context.Context) (done []string, err error) {
	l := w.l
	before, err := w.claim()
	if err != nil {
		return nil, err
	}
	if err := w.commitSpool(ctx, nil); err != nil {
		return nil, err
	}
	if len(before) > 0 {
		done = append(done, "wrote events that were handed over")
	}
	names, err := batchNames(l.path(takenDir))
	if err != nil {
		return done, err
	}
	for _, name := range names {
		aside := l.path(takenDir + strings.TrimSuffix(name, ".json") + ".damaged")
		if err := os.Rename(l.path(takenDir+name), aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return done, fault.Wrap(err, fault.IOFailed, "cannot put events aside that cannot be read")
		}
		done = append(done, "put aside what cannot be read: "+aside)
	}
	return done, nil
}
