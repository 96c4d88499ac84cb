package memory

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"kxm/lib/fault"
	"kxm/lib/item"
	"kxm/lib/redact"
)

// The folders of records, from .kxm.
const (
	Folder           = "memory"
	CandidatesFolder = "memory/candidates"
)

// MaxFileSize bounds a memory file, in bytes. A fact is at most 4,000 characters;
// what is larger by this much is no fact, and must not be read into every prompt.
const MaxFileSize = 1 << 20

// Set is the records of one folder.
type Set struct {
	Records    []*Record   // those that may be served, by id
	Duplicates []Duplicate // ids that several files claim, by id: none of them is served
	Problems   []Problem   // files that are no records, by name
}

// Duplicate is an id with the files that claim it, by name.
type Duplicate struct {
	ID      string
	Records []*Record
}

// Problem is a file that could not be read or is no record.
type Problem struct {
	File string // its name in its folder
	Data []byte // its bytes, nil when they could not be read
	Err  error  // a *fault.Error
}

// Load reads the authored facts of a .kxm folder: the files memory/*.md. A folder
// that does not exist is an empty set. Files are read and parsed in parallel; the
// result does not depend on it.
//
// A file that cannot be served is a problem of the set and never an error. Links
// are followed inside fsys only, which must implement fs.ReadLinkFS for them to be
// followed at all.
func Load(fsys fs.FS) (*Set, error) { return load(fsys, Folder) }

// LoadCandidates reads the candidates of a .kxm folder as Load reads its facts.
func LoadCandidates(fsys fs.FS) (*Set, error) { return load(fsys, CandidatesFolder) }

func load(fsys fs.FS, folder string) (*Set, error) {
	dir, entries, err := listFiles(fsys, folder)
	if err != nil {
		return nil, err
	}
	records := make([]*Record, len(entries))
	problems := make([]Problem, len(entries))
	parallel(len(entries), func(i int) {
		name := entries[i].Name()
		data, err := readFile(fsys, path.Join(dir, name), entries[i].Type())
		if err == nil {
			records[i], err = ParseRecord(name, data)
		}
		if err != nil {
			problems[i] = Problem{File: name, Data: data, Err: err}
		}
	})
	return newSet(records, problems), nil
}

// newSet sorts out what a folder's files gave: records[i] or problems[i].
func newSet(records []*Record, problems []Problem) *Set {
	s := &Set{}
	byID := make([]*Record, 0, len(records))
	for i, r := range records {
		if r != nil {
			byID = append(byID, r)
		} else {
			s.Problems = append(s.Problems, problems[i])
		}
	}
	slices.SortFunc(byID, func(a, b *Record) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.File, b.File))
	})
	for len(byID) > 0 {
		n := 1
		for n < len(byID) && byID[n].ID == byID[0].ID {
			n++
		}
		if n == 1 {
			s.Records = append(s.Records, byID[0])
		} else {
			s.Duplicates = append(s.Duplicates, Duplicate{byID[0].ID, byID[:n:n]})
		}
		byID = byID[n:]
	}
	return s
}

// listFiles returns the entries of a folder that are to be read as records, by
// name, and the folder's path with its links resolved. Folders are none.
func listFiles(fsys fs.FS, folder string) (dir string, entries []fs.DirEntry, err error) {
	dir, err = resolve(fsys, folder)
	if err == nil {
		entries, err = fs.ReadDir(fsys, dir)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return dir, nil, nil
	}
	if err != nil {
		return "", nil, readError(folder, err)
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		return e.IsDir() || !strings.HasSuffix(e.Name(), ".md")
	})
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return dir, entries, nil
}

// readFile reads one file of at most MaxFileSize bytes; typ is what its folder
// says it is. What is no regular file is not opened: a named pipe would block.
func readFile(fsys fs.FS, name string, typ fs.FileMode) ([]byte, error) {
	base := path.Base(name)
	if typ&fs.ModeSymlink != 0 {
		target, err := resolve(fsys, name)
		if err != nil {
			return nil, readError(base, err)
		}
		info, err := fs.Lstat(fsys, target)
		if err != nil {
			return nil, readError(base, err)
		}
		name, typ = target, info.Mode().Type()
	}
	if typ != 0 {
		return nil, fault.New(fault.MemoryUnreadable, "memory file %s is no regular file", fault.Quote(redacted(base))).At(redacted(base), 0, 0)
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, readError(base, err)
	}
	defer f.Close()
	data, err := readSmall(f)
	if err != nil {
		return nil, readError(base, err)
	}
	if len(data) > MaxFileSize {
		return nil, fault.New(fault.MemoryUnreadable, "memory file %s is larger than %d bytes", fault.Quote(redacted(base)), MaxFileSize).At(redacted(base), 0, 0)
	}
	return data, nil
}

// buffers spare each small file the growing of its own.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// readSmall reads a file until it is more than MaxFileSize bytes.
func readSmall(r io.Reader) ([]byte, error) {
	b := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(b)
	b.Reset()
	if _, err := b.ReadFrom(io.LimitReader(r, MaxFileSize+1)); err != nil {
		return nil, err
	}
	return bytes.Clone(b.Bytes()), nil
}

// readError places the failure to read a file; a reason without a code gets one.
func readError(file string, err error) error {
	var f *fault.Error
	if errors.As(err, &f) {
		return f.At(redacted(file), 0, 0)
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err // its path repeats the file's, from another root
	}
	return fault.Wrap(err, fault.MemoryUnreadable, "cannot read %s", fault.Quote(redacted(file))).At(redacted(file), 0, 0)
}

// parallel calls fn for each number below n, on as many goroutines as there are
// processors. Few calls are not worth a goroutine.
func parallel(n int, fn func(i int)) {
	const chunk = 16
	workers := min(runtime.GOMAXPROCS(0), (n+chunk-1)/chunk)
	if workers < 2 {
		for i := range n {
			fn(i)
		}
		return
	}
	var next atomic.Int64
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for {
				start := int(next.Add(chunk)) - chunk
				if start >= n {
					return
				}
				for i := start; i < min(start+chunk, n); i++ {
					fn(i)
				}
			}
		})
	}
	group.Wait()
}

// Err returns why the set is not whole, or nil: an unreadable file
// (MemoryUnreadable) or an id that several files claim (MemoryDuplicate). Commands
// that must not leave a fact out call it before anything else.
func (s *Set) Err() error {
	if len(s.Problems) > 0 {
		p := s.Problems[0]
		e := fault.New(fault.MemoryUnreadable, "%s", reason(p.Err))
		if more := len(s.Problems) - 1; more > 0 {
			e.Message += " (and " + strconv.Itoa(more) + " more unreadable)"
		}
		e.Err = p.Err
		var f *fault.Error
		if errors.As(p.Err, &f) {
			e.Hint = f.Hint
			e = e.At(f.Source, f.Line, f.Column).On(f.Field)
		}
		return e
	}
	if len(s.Duplicates) > 0 {
		d := s.Duplicates[0]
		return fault.New(fault.MemoryDuplicate, "id %s is claimed by %s", fault.Quote(d.ID), fileNames(d.Records)).
			WithHint("give each record an id of its own, the name of its file")
	}
	return nil
}

func fileNames(records []*Record) string {
	names := make([]string, len(records))
	for i, r := range records {
		names[i] = fault.Quote(redacted(r.File))
	}
	return strings.Join(names, " and ")
}

// reason returns an error's message without its place and code.
func reason(err error) string {
	var f *fault.Error
	if errors.As(err, &f) {
		return f.Message
	}
	return err.Error()
}

// Find returns the record with an id. The error is MemoryNotFound, or
// MemoryDuplicate where several files claim the id.
func (s *Set) Find(id string) (*Record, error) {
	i, ok := slices.BinarySearchFunc(s.Records, id, func(r *Record, id string) int { return cmp.Compare(r.ID, id) })
	if ok {
		return s.Records[i], nil
	}
	for _, d := range s.Duplicates {
		if d.ID == id {
			return nil, fault.New(fault.MemoryDuplicate, "id %s is claimed by %s", fault.Quote(id), fileNames(d.Records))
		}
	}
	return nil, fault.New(fault.MemoryNotFound, "no record %s", fault.Quote(redacted(id)))
}

// ItemOptions says which records become items, and how.
type ItemOptions struct {
	Project   string
	Folder    string                   // the path of .kxm from the top of the repository, "" outside one
	Blob      func(name string) string // the object id of a file named from .kxm, for committed content; nil else
	Scopes    []item.Scope             // empty: all
	All       bool                     // records that are not active, too
	Committed bool                     // name gaps as dispatch does
}

// Items returns the set's records as items, by id, and a gap for each record that
// could not be served, in the order unreadable, duplicate, rejected. Making an
// item redacts it, which is done in parallel.
func (s *Set) Items(o ItemOptions) ([]item.Item, []item.Gap) {
	gaps := make([]item.Gap, 0, len(s.Problems)+len(s.Duplicates))
	for _, p := range s.Problems {
		g := item.Gap{Gap: "memory_unreadable:" + plain(p.File), Detail: place(p.Err)}
		if o.Committed {
			g.Gap = "dispatch_context_memory_unreadable"
		}
		gaps = append(gaps, g)
	}
	for _, d := range s.Duplicates {
		gaps = append(gaps, item.Gap{Gap: "memory_duplicate:" + plain(d.ID), Detail: "claimed by " + fileNames(d.Records)})
	}
	wanted := s.selected(o.Scopes, o.All)
	items := make([]item.Item, len(wanted))
	errs := make([]error, len(wanted))
	parallel(len(wanted), func(i int) {
		blob := ""
		if o.Blob != nil {
			blob = o.Blob(path.Join(Folder, wanted[i].File))
		}
		items[i], errs[i] = wanted[i].Item(o.Project, o.Folder, blob)
	})
	served := items[:0]
	for i, err := range errs {
		if err == nil {
			served = append(served, items[i])
			continue
		}
		g := item.Gap{Gap: "memory_rejected:" + plain(wanted[i].ID), Detail: place(err)}
		if o.Committed {
			g.Gap = "dispatch_context_" + g.Gap
		}
		gaps = append(gaps, g)
	}
	return served, gaps
}

func (s *Set) selected(only []item.Scope, all bool) []*Record {
	wanted := make([]*Record, 0, len(s.Records))
	for _, r := range s.Records {
		if (all || r.Active()) && (len(only) == 0 || slices.Contains(only, r.Scope)) {
			wanted = append(wanted, r)
		}
	}
	return wanted
}

// ProjectedScopes are the scopes of the facts that stand in instruction files:
// nothing binds an agent's or a run's facts to the reader of a file.
func ProjectedScopes() []item.Scope { return []item.Scope{item.ScopeProject, item.ScopeOperator} }

// Facts returns the active facts of the scopes (none: all), by id, redacted.
// Records that no item can be made of are left out, as they are from Items: a
// brief or a block must not say what the pool refuses.
func (s *Set) Facts(scopes ...item.Scope) []Fact {
	wanted := s.selected(scopes, false)
	facts := make([]Fact, len(wanted))
	parallel(len(wanted), func(i int) {
		r := wanted[i]
		it, err := r.Item(item.SharedProject, "", "") // the project of the items does not matter here
		if err != nil {
			return
		}
		facts[i] = Fact{r.ID, r.Scope, redacted(r.Kind), it.Summary, it.Authority, it.Confidence}
	})
	return slices.DeleteFunc(facts, func(f Fact) bool { return f.ID == "" })
}

// maxPlain bounds what a gap echoes, in characters.
const maxPlain = 128

// plain returns an id or file name if a gap may echo it (letters, digits, ".",
// "_" and "-"), else "invalid": gaps reach logs and packets unquoted.
func plain(s string) string {
	if s == "" || len(s) > maxPlain || strings.ContainsFunc(s, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '.' || r == '_' || r == '-')
	}) || len(redact.Find(s)) > 0 {
		return "invalid"
	}
	return s
}

// place returns an error's message behind its place, for the detail of a gap.
func place(err error) string {
	var f *fault.Error
	if !errors.As(err, &f) {
		return fault.Printable(err.Error())
	}
	where := f.Source
	if where != "" && f.Line > 0 {
		where += ":" + strconv.Itoa(f.Line)
	}
	if where != "" {
		where += ": "
	}
	return fault.Printable(where + f.Message)
}
