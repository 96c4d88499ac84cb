package skill

import (
	"crypto/sha256"
	"io/fs"
	"path"
	"strings"
	"time"

	"kxm/lib/fault"
	"kxm/lib/redact"
	"kxm/lib/treehash"
)

// MaxSize is the most bytes that the files of a candidate may have together. A
// skill is text, scripts and small assets, and every byte is scanned and reviewed.
const MaxSize = 32 << 20

// Candidate is what [Store.Create] makes a candidate from: a folder, or nothing but
// the bytes of a SKILL.md.
type Candidate struct {
	Files    fs.FS  // the skill's folder; a metadata.json at its top is left out
	Document []byte // without Files: the SKILL.md
	Author   string
	Models   []string // 1 to 16: that the skill was made with or for
	Sources  Sources
	At       time.Time
}

// Create adds a candidate; its files are copied as they are. Refused are: no author
// (fault.ActorUnknown), no source (fault.SkillSourcesRequired), a list, text or
// folder out of its range (fault.Usage), a SKILL.md that breaks the rules (see
// [ParseDocument]), a secret in any text, file, file name or link
// (fault.SecretFound), a link that leads out of the folder (fault.PathEscapes), and
// files that are a skill already, whatever became of it
// (fault.SkillCandidateExists).
func (s *Store) Create(c Candidate) (*Skill, error) {
	skill := &Skill{Author: strings.TrimSpace(c.Author), Status: StatusCandidate, CreatedAt: timestamp(c.At)}
	if err := checkCandidate(c, skill); err != nil {
		return nil, err
	}
	files, err := c.load()
	if err != nil {
		return nil, err
	}
	entries := make([]treehash.Entry, len(files))
	var document *content
	for i := range files {
		entries[i] = files[i].Entry
		if files[i].Path == documentName && files[i].Type != treehash.Link {
			document = &files[i]
		}
	}
	skill.Digest = treehash.Sum(entries)

	// The paths under which secrets may be allowed hold the id, and that the name;
	// but what SKILL.md holds is in no error before it was scanned.
	invalid := noDocument()
	if document != nil {
		var doc Document
		if doc, invalid = ParseDocument(documentName, document.data); invalid == nil {
			skill.Name, skill.Description = doc.Name, doc.Description
			skill.ID = newID(doc.Name, skill.Digest)
		}
	}
	if err := s.scan(skill.ID, files); err != nil {
		return nil, err
	}
	if invalid != nil {
		return nil, invalid
	}

	if err := s.mkdir(StatusCandidate.folder()); err != nil {
		return nil, err
	}
	var created *Skill
	err = s.locked(func() (err error) {
		created, err = s.add(skill, files)
		return err
	})
	return created, err
}

// content is a file or link of a candidate; the data of a link is its target.
type content struct {
	treehash.Entry
	data []byte
}

// load reads the candidate, sorted by path bytes.
func (c Candidate) load() ([]content, error) {
	tooLarge := fault.New(fault.Usage, "the skill is larger than %d bytes", MaxSize)
	if c.Files == nil {
		if len(c.Document) > MaxSize {
			return nil, tooLarge
		}
		e := treehash.Entry{Path: documentName, Type: treehash.File, Size: int64(len(c.Document)), SHA256: sha256.Sum256(c.Document)}
		return []content{{e, c.Document}}, nil
	}
	entries, err := entriesOf(c.Files)
	if err != nil {
		return nil, err
	}
	total := int64(0)
	for _, e := range entries {
		if total += e.Size; total > MaxSize {
			return nil, tooLarge
		}
	}
	files := make([]content, len(entries))
	for i, e := range entries {
		data, err := readEntry(c.Files, e)
		if err != nil {
			return nil, err
		}
		files[i] = content{e, data}
	}
	return files, nil
}

// checkCandidate checks all but the files, and puts the lists into skill.
func checkCandidate(c Candidate, skill *Skill) (err error) {
	if err := checkActor("author", c.Author); err != nil {
		return err
	}
	if skill.Models, err = checkList("models", c.Models, MaxModels, MaxActor); err != nil {
		return err
	}
	if len(skill.Models) == 0 {
		return fault.New(fault.Usage, "models names no model").On("models")
	}
	for _, l := range []struct {
		name     string
		from, to *[]string
	}{
		{"runIds", &c.Sources.RunIDs, &skill.Sources.RunIDs},
		{"journalIds", &c.Sources.JournalIDs, &skill.Sources.JournalIDs},
		{"receipts", &c.Sources.Receipts, &skill.Sources.Receipts},
	} {
		if *l.to, err = checkList(l.name, *l.from, MaxRefs, MaxRef); err != nil {
			return err
		}
	}
	if skill.Sources.empty() {
		return fault.New(fault.SkillSourcesRequired, "a skill candidate needs a source").
			WithHint("name a run, a journal entry or a receipt that it comes from")
	}
	return nil
}

// add writes the candidate, under the lock. Its folder appears complete or not at
// all.
func (s *Store) add(skill *Skill, files []content) (*Skill, error) {
	status, err := locate(s.fsys(), skill.ID)
	switch {
	case err == nil:
		return nil, fault.New(fault.SkillCandidateExists, "the skill %s exists already and is %s", quoted(skill.ID), status)
	case !fault.Is(err, fault.SkillNotFound):
		return nil, err
	}
	// A folder that is left over is from a call that died.
	if err := s.Kxm.RemoveAll(stagedTree); err != nil {
		return nil, writeFailed(stagedTree, err)
	}
	defer s.Kxm.RemoveAll(stagedTree) // gone by its rename unless something failed, which is reported
	if err := s.stage(skill, files); err != nil {
		return nil, err
	}
	history, err := s.openHistory(skill.ID)
	if err != nil {
		return nil, err
	}
	defer history.Close()
	if err := s.rename(stagedTree, skill.path()); err != nil {
		return nil, err
	}
	event := newEvent("created", skill.Author, skill.CreatedAt, StatusCandidate).text("digest", skill.Digest)
	if err := appendLine(history, event.end()); err != nil {
		return nil, writeFailed(historyFile(skill.ID), err)
	}
	return read(s.fsys(), StatusCandidate, skill.ID, fs.ModeDir)
}

// stage writes the whole candidate into the staged folder, and reads it again: a
// file system without links or execute bits, or that takes two names for one,
// cannot hold every skill.
func (s *Store) stage(skill *Skill, files []content) error {
	for _, f := range files {
		to := path.Join(stagedTree, f.Path)
		if err := s.mkdir(path.Dir(to)); err != nil {
			return err
		}
		switch f.Type {
		case treehash.Link:
			if err := s.Kxm.Symlink(string(f.data), to); err != nil {
				return writeFailed(to, err)
			}
		case treehash.Executable:
			if err := s.writeFile(to, f.data, 0o755); err != nil {
				return err
			}
		default:
			if err := s.writeFile(to, f.data, 0o644); err != nil {
				return err
			}
		}
	}
	staged, err := fs.Sub(s.fsys(), stagedTree)
	if err != nil {
		return unreadable(stagedTree, err)
	}
	entries, err := entriesOf(staged)
	if err != nil {
		return err
	}
	if treehash.Sum(entries) != skill.Digest {
		return fault.New(fault.IOFailed, "the file system of %s does not keep the files as they are", quoted(folder))
	}
	return s.writeFile(path.Join(stagedTree, metadataName), newRecord(skill).file(), 0o644)
}

// readEntry returns the content of an entry, which must still be what was hashed.
func readEntry(files fs.FS, e treehash.Entry) (data []byte, err error) {
	if e.Type == treehash.Link {
		var target string
		target, err = fs.ReadLink(files, e.Path)
		data = []byte(target)
	} else {
		data, err = fs.ReadFile(files, e.Path)
	}
	if err != nil {
		return nil, unreadable(e.Path, err)
	}
	if sha256.Sum256(data) != e.SHA256 {
		return nil, fault.New(fault.IOFailed, "the file %s changed while it was read", quoted(e.Path))
	}
	return data, nil
}

// scan refuses secrets in a candidate. A path that is one is not repeated.
func (s *Store) scan(id string, files []content) error {
	for i, f := range files {
		texts := []string{f.Path}
		if f.Type == treehash.Link {
			texts = append(texts, string(f.data))
		}
		for _, text := range texts {
			if found := redact.FindPath(text); len(found) > 0 {
				return fault.New(fault.SecretFound, "the path of file %d of %d holds a secret or is that of one (%s)", i+1, len(files), found[0].Rule)
			}
		}
	}
	for _, f := range files {
		if f.Type == treehash.Link {
			continue
		}
		found, _ := redact.ScanFile(path.Join(s.Path, StatusCandidate.path(id), f.Path), f.data, s.Allow)
		if len(found) > 0 {
			return fault.New(fault.SecretFound, "a file of the skill holds a secret (%s)", found[0].Rule).
				At(f.Path, found[0].Line, found[0].Column)
		}
	}
	return nil
}
