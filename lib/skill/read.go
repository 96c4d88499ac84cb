package skill

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"kxm/lib/fault"
	"kxm/lib/ndjson"
	"kxm/lib/redact"
	"kxm/lib/treehash"
)

// Problem is a skill that could not be read or verified, or a folder that could
// not be listed. It hides nothing else.
type Problem struct {
	ID     string // the name of its folder; empty for the folder of all of a status
	Status Status // of the folder
	Err    error  // a *fault.Error
}

// Gap returns the name under which a pool says that something is missing:
// skill_unverified:<id>, or skills_unreadable when a folder could not be listed.
// A name that is not plain is not repeated, since gaps reach prompts.
func (p Problem) Gap() string {
	const longest = 128
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-'
	}
	switch {
	case p.ID == "":
		return "skills_unreadable"
	case len(p.ID) > longest || strings.ContainsFunc(p.ID, func(r rune) bool { return !plain(r) }):
		return "skill_unverified:invalid"
	}
	return "skill_unverified:" + p.ID
}

// List returns the skills of the statuses given (none: of all), by status and id,
// without verifying them, and what could not be read. fsys is the .kxm folder: on
// disk or at a commit. A folder that is not there holds no skills.
func List(fsys fs.FS, which ...Status) ([]Skill, []Problem) {
	if len(which) == 0 {
		which = statuses
	}
	var skills []Skill
	var problems []Problem
	for _, status := range which {
		entries, err := fs.ReadDir(fsys, status.folder())
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			problems = append(problems, Problem{Status: status, Err: unreadable(status.folder(), err)})
			continue
		}
		slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
		for _, e := range entries {
			if e.Type().IsRegular() {
				continue // a .gitkeep or a note is no skill
			}
			s, err := read(fsys, status, e.Name(), e.Type())
			if err != nil {
				problems = append(problems, Problem{ID: e.Name(), Status: status, Err: err})
				continue
			}
			skills = append(skills, *s)
		}
	}
	return skills, problems
}

// Verified returns the skills of the statuses given (none: of all) whose files are
// what their metadata says, and a problem for every other one.
func Verified(fsys fs.FS, which ...Status) ([]Skill, []Problem) {
	skills, problems := List(fsys, which...)
	verified := skills[:0]
	for _, s := range skills {
		if err := s.Verify(fsys); err != nil {
			problems = append(problems, Problem{ID: s.ID, Status: s.Status, Err: err})
			continue
		}
		verified = append(verified, s)
	}
	slices.SortStableFunc(problems, func(a, b Problem) int { return strings.Compare(a.ID, b.ID) })
	return verified, problems
}

// Promoted is [Verified] for promoted skills: those that agents may be given.
func Promoted(fsys fs.FS) ([]Skill, []Problem) { return Verified(fsys, StatusPromoted) }

// Find returns the skill with an id, wherever it is; fault.SkillNotFound if it is
// nowhere. An id in two folders, as merged branches can leave it, is
// fault.SkillIntegrityViolation: which decision counts is for a person to say.
func Find(fsys fs.FS, id string) (*Skill, error) {
	status, err := locate(fsys, id)
	if err != nil {
		return nil, err
	}
	return read(fsys, status, id, fs.ModeDir)
}

// locate returns the status of the skill with an id.
func locate(fsys fs.FS, id string) (Status, error) {
	notFound := fault.New(fault.SkillNotFound, "no skill has the id %s", quoted(id))
	if !validID(id) {
		return "", notFound
	}
	var found []Status
	for _, status := range statuses {
		info, err := fs.Lstat(fsys, status.path(id))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", unreadable(status.path(id), err)
		}
		if !info.IsDir() {
			return "", notAFolder(status.path(id))
		}
		found = append(found, status)
	}
	switch len(found) {
	case 0:
		return "", notFound
	case 1:
		return found[0], nil
	}
	return "", fault.New(fault.SkillIntegrityViolation, "the skill %s is both %s and %s", quoted(id), found[0], found[1]).
		WithHint("keep one of %s and %s", found[0].path(id), found[1].path(id))
}

// read reads the metadata of a skill's folder.
func read(fsys fs.FS, status Status, id string, mode fs.FileMode) (*Skill, error) {
	name := status.path(id)
	if !mode.IsDir() {
		return nil, notAFolder(name) // a link could show a candidate among the promoted
	}
	if !validID(id) {
		return nil, fault.New(fault.SkillIntegrityViolation, "the folder name %s is no skill id", quoted(id))
	}
	name = path.Join(name, metadataName)
	info, err := fs.Lstat(fsys, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fault.New(fault.InvalidSkillMetadata, "the skill %s has no %s", quoted(id), metadataName)
	case err != nil:
		return nil, unreadable(name, err)
	case !info.Mode().IsRegular() || info.Size() > ndjson.MaxValue:
		return nil, fault.New(fault.InvalidSkillMetadata, "%s is no file of at most %d bytes", quoted(name), ndjson.MaxValue)
	}
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, unreadable(name, err)
	}
	return parseMetadata(name, data, status, id)
}

// Verify recomputes the digest of the skill's files in fsys, the .kxm folder. It
// returns fault.SkillIntegrityViolation when it is not the one in the metadata;
// when the folder holds what a digest does not cover; when SKILL.md has another
// name or description than the metadata; and when a promoted skill's metadata says
// that it was never promoted, or the id is in another folder too.
func (s *Skill) Verify(fsys fs.FS) error {
	if _, err := locate(fsys, s.ID); err != nil {
		return err
	}
	if s.Status == StatusPromoted && s.recorded != StatusPromoted {
		return fault.New(fault.SkillIntegrityViolation, "the skill %s is in the folder of promoted skills, and its metadata says %s", quoted(s.ID), s.recorded).
			WithHint("promote it from %s", StatusCandidate.folder())
	}
	return s.verifyFiles(fsys)
}

// verifyFiles is Verify without a look at the status.
func (s *Skill) verifyFiles(fsys fs.FS) error {
	files, err := fs.Sub(fsys, s.path())
	if err != nil {
		return unreadable(s.path(), err)
	}
	entries, err := entriesOf(files)
	if err != nil {
		return violation(s.ID, err)
	}
	if got := treehash.Sum(entries); got != s.Digest {
		return fault.New(fault.SkillIntegrityViolation, "the files of the skill %s are not what its metadata names", quoted(s.ID)).
			WithHint("expected %s, found %s", s.Digest, got)
	}
	doc, err := readDocument(files, entries)
	if err != nil {
		return violation(s.ID, err)
	}
	if doc.Name != s.Name || doc.Description != s.Description {
		return fault.New(fault.SkillIntegrityViolation, "the metadata of the skill %s has another name or description than its %s", quoted(s.ID), documentName)
	}
	return nil
}

// violation turns what is wrong with the files of a recorded skill into an
// integrity violation. What could not be read stays what it is.
func violation(id string, err error) error {
	if fault.Is(err, fault.IOFailed) {
		return err
	}
	message := err.Error()
	var f *fault.Error
	if errors.As(err, &f) {
		message = f.Message
	}
	message, _ = redact.Redact(message)
	e := fault.New(fault.SkillIntegrityViolation, "the files of the skill %s cannot be verified: %s", quoted(id), message)
	e.Err = err
	return e
}

// entriesOf returns what the digest of a skill's folder covers. What it would
// silently leave out (treehash skips .git and node_modules) is refused, since code
// in it would run unseen.
func entriesOf(files fs.FS) ([]treehash.Entry, error) {
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if base := path.Base(name); base == ".git" || base == "node_modules" {
			return fault.New(fault.SkillIntegrityViolation, "a skill may not hold %s", quoted(name)).
				WithHint("the digest does not cover it")
		}
		return nil // what cannot be read is reported by treehash
	})
	if err != nil {
		return nil, err
	}
	return treehash.Entries(files, func(name string) bool { return name == metadataName })
}

// readDocument reads the SKILL.md at the top of a skill's folder.
func readDocument(files fs.FS, entries []treehash.Entry) (Document, error) {
	i := slices.IndexFunc(entries, func(e treehash.Entry) bool { return e.Path == documentName })
	if i < 0 || entries[i].Type == treehash.Link {
		return Document{}, noDocument()
	}
	data, err := readEntry(files, entries[i])
	if err != nil {
		return Document{}, err
	}
	return ParseDocument(documentName, data)
}

func noDocument() error {
	return fault.New(fault.InvalidSkillFrontmatter, "the skill has no file %s", documentName)
}

// History returns the lines of a skill's history, oldest first, each one JSON
// object; none when there is no history.
func History(fsys fs.FS, id string) ([][]byte, error) {
	if !validID(id) {
		return nil, fault.New(fault.SkillNotFound, "no skill has the id %s", quoted(id))
	}
	name := historyFile(id)
	f, err := fsys.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, unreadable(name, err)
	}
	defer f.Close()
	var lines [][]byte
	for v, err := range ndjson.NewDecoder(f, name).Values() {
		if err != nil {
			return nil, err
		}
		lines = append(lines, v.Raw)
	}
	return lines, nil
}

func historyFile(id string) string { return path.Join(historyPath, id+".jsonl") }

func unreadable(name string, err error) error {
	return fault.Wrap(err, fault.IOFailed, "cannot read %s", quoted(name))
}

func notAFolder(name string) error {
	return fault.New(fault.SkillIntegrityViolation, "%s is no folder", quoted(name))
}
