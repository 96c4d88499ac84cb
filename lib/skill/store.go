package skill

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"kxm/lib/fault"
	"kxm/lib/redact"
)

// Store changes the skills below a .kxm folder. Its methods hold a lock for as
// long as they write, so of two that decide on one skill the second sees what the
// first did. A method that refuses has changed nothing.
type Store struct {
	// Kxm is the .kxm folder. Nothing outside of it is ever read or written.
	Kxm *os.Root

	// Path is the slash path of that folder from the repository's root, and Allow
	// the secrets that reviewers let through in files at such paths.
	Path  string
	Allow []redact.Allow
}

// Limits of the texts that come with a verb, in code points, and of lists.
const (
	MaxActor   = 200  // an author, a decider, an evaluator, a model
	MaxRef     = 512  // an id or a reference
	MaxText    = 4000 // notes, a reason
	MaxModels  = 16
	MaxRefs    = 64 // entries of every other list
	stageFile  = folder + "/.staged.json"
	stagedTree = folder + "/.staged"
)

func (s *Store) fsys() fs.FS { return s.Kxm.FS() }

// locked runs change while no other process or goroutine changes skills. The
// folder of skills must exist.
func (s *Store) locked(change func() error) error {
	unlock, err := lock(s.Kxm, folder)
	if err != nil {
		return err
	}
	defer unlock()
	return change()
}

// decide runs change on the skill with an id, verified, under the lock.
func (s *Store) decide(id string, change func(*Skill) error) error {
	if _, err := Find(s.fsys(), id); err != nil {
		return err // before the lock, which needs the folder
	}
	return s.locked(func() error {
		found, err := Find(s.fsys(), id)
		if err != nil {
			return err
		}
		return change(found)
	})
}

// write replaces the metadata of a skill and, when its status changes, moves its
// folder; then it adds a line to the history.
//
// The rename of the folder is what decides. Before it the metadata of a candidate
// may say promoted already, which no reader believes and the next call writes
// again; the history comes last, so that it never tells what did not happen. A
// program that dies in between leaves at most a line missing there.
func (s *Store) write(skill *Skill, status Status, r record, event []byte) (*Skill, error) {
	target := status.path(skill.ID)
	if status != skill.Status {
		if _, err := s.Kxm.Lstat(target); !errors.Is(err, fs.ErrNotExist) {
			return nil, fault.New(fault.SkillIntegrityViolation, "%s exists already", quoted(target))
		}
		if err := s.mkdir(status.folder()); err != nil {
			return nil, err
		}
	}
	history, err := s.openHistory(skill.ID)
	if err != nil {
		return nil, err
	}
	defer history.Close()

	// The new file is staged outside of the skill's folder, all of which the
	// digest covers.
	if err := s.writeFile(stageFile, r.file(), 0o644); err != nil {
		return nil, err
	}
	if err := s.rename(stageFile, path.Join(skill.path(), metadataName)); err != nil {
		return nil, err
	}
	if status != skill.Status {
		if err := s.rename(skill.path(), target); err != nil {
			return nil, err
		}
	}
	if err := appendLine(history, event); err != nil {
		return nil, writeFailed(historyFile(skill.ID), err)
	}
	return read(s.fsys(), status, skill.ID, fs.ModeDir)
}

// openHistory opens the history of a skill for appending.
func (s *Store) openHistory(id string) (*os.File, error) {
	if err := s.mkdir(historyPath); err != nil {
		return nil, err
	}
	f, err := s.Kxm.OpenFile(historyFile(id), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, writeFailed(historyFile(id), err)
	}
	return f, nil
}

// appendLine appends a line, on a line of its own even behind one that a crash cut.
func appendLine(f *os.File, line []byte) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	line = append(slices.Clone(line), '\n')
	if size := info.Size(); size > 0 {
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, size-1); err != nil {
			return err
		}
		if last[0] != '\n' {
			line = append([]byte{'\n'}, line...)
		}
	}
	if _, err := f.Write(line); err != nil {
		return err
	}
	return f.Sync()
}

func (s *Store) mkdir(name string) error {
	if err := s.Kxm.MkdirAll(name, 0o755); err != nil {
		return writeFailed(name, err)
	}
	return nil
}

func (s *Store) rename(from, to string) error {
	if err := s.Kxm.Rename(from, to); err != nil {
		return writeFailed(to, err)
	}
	return nil
}

// writeFile writes a whole file and brings it to the disk.
func (s *Store) writeFile(name string, data []byte, mode fs.FileMode) error {
	f, err := s.Kxm.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return writeFailed(name, err)
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return writeFailed(name, err)
	}
	return nil
}

func writeFailed(name string, err error) error {
	return fault.Wrap(err, fault.IOFailed, "cannot write %s", quoted(name))
}

// quoted is fault.Quote for what may come from a file: an error must not repeat a
// secret.
func quoted(s string) string {
	s, _ = redact.Redact(s)
	return fault.Quote(s)
}

// timestamp writes a time as every stored one is written.
func timestamp(at time.Time) string { return at.UTC().Format(time.RFC3339) }

// checkText refuses a text of a verb that is empty, too long, not UTF-8 or holds a
// secret.
func checkText(name, text string, longest int) error {
	switch n := utf8.RuneCountInString(text); {
	case !utf8.ValidString(text):
		return fault.New(fault.Usage, "the %s is not UTF-8", name).On(name)
	case strings.TrimSpace(text) == "":
		return fault.New(fault.Usage, "the %s is empty", name).On(name)
	case n > longest:
		return fault.New(fault.Usage, "the %s has %d characters, more than %d", name, n, longest).On(name)
	}
	if found := redact.Find(text); len(found) > 0 {
		return fault.New(fault.SecretFound, "the %s holds a secret (%s at byte %d)", name, found[0].Rule, found[0].Start+1).On(name)
	}
	return nil
}

// checkActor is checkText for who acts.
func checkActor(name, actor string) error {
	if strings.TrimSpace(actor) == "" {
		return fault.New(fault.ActorUnknown, "the %s is not named", name).On(name)
	}
	return checkText(name, actor, MaxActor)
}

// checkList checks each entry of a list and refuses duplicates. It returns a copy,
// never nil.
func checkList(name string, list []string, most int, longest int) ([]string, error) {
	if len(list) > most {
		return nil, fault.New(fault.Usage, "%s has %d entries, more than %d", name, len(list), most).On(name)
	}
	out := make([]string, 0, len(list))
	for _, entry := range list {
		entry = strings.TrimSpace(entry)
		if err := checkText(name, entry, longest); err != nil {
			return nil, err
		}
		if slices.Contains(out, entry) {
			return nil, fault.New(fault.Usage, "%s names %s twice", name, quoted(entry)).On(name)
		}
		out = append(out, entry)
	}
	return out, nil
}
