package repo

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"kxm/lib/fault"
)

// store reads objects from the object directory and its alternates: loose ones
// and those in packs. Packs are listed at the first object that is not loose, and
// again whenever an object is in none of them, because another process may have
// packed it meanwhile.
type store struct {
	dirs    []string // object directories, the repository's own first
	missing []string // alternates that are named but not there

	cache baseCache
	last  atomic.Pointer[pack] // had the last object that was found in one

	mu     sync.Mutex
	listed int // how often the packs were found to be others than before
	packs  []*pack
	askGit bool // some object may be reachable for git alone
}

// maxAlternates is how deep alternates may name further ones, as in Git.
const maxAlternates = 5

// newStore lists the object directories: own, those of
// GIT_ALTERNATE_OBJECT_DIRECTORIES (relative to base), and what their
// info/alternates name.
func newStore(own, base, environment string) *store {
	s := &store{}
	s.add(own, 0)
	for _, path := range splitAlternates(environment, string(filepath.ListSeparator)) {
		s.add(under(base, path), 1)
	}
	return s
}

func (s *store) add(dir string, depth int) {
	dir = physical(dir)
	if slices.Contains(s.dirs, dir) || depth > maxAlternates {
		return
	}
	if depth > 0 && !isFolder(dir) {
		s.missing = append(s.missing, dir)
		return
	}
	s.dirs = append(s.dirs, dir)
	data, err := readBounded(filepath.Join(dir, "info", "alternates"), 1<<20)
	if err != nil {
		return // there are none, or they cannot be read: then objects are missing, which is said
	}
	for _, path := range splitAlternates(string(data), "\n") {
		s.add(under(dir, path), depth+1)
	}
}

// splitAlternates splits a list of object directories. An entry may be in double
// quotes with C escapes; lines that begin with # are comments.
func splitAlternates(list, separator string) []string {
	var paths []string
	for list != "" {
		if list[0] == '"' {
			if path, rest, ok := unquote(list); ok {
				paths = append(paths, path)
				list = strings.TrimPrefix(rest, separator)
				continue
			}
		}
		var entry string
		entry, list, _ = strings.Cut(list, separator)
		if entry != "" && entry[0] != '#' {
			paths = append(paths, entry)
		}
	}
	return paths
}

// unquote undoes Git's C-style quotes at the start of s.
func unquote(s string) (text, rest string, ok bool) {
	const letters, meanings = `abfnrtv\"`, "\a\b\f\n\r\t\v\\\""
	var b []byte
	for i := 1; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '"':
			return string(b), s[i+1:], true
		case c != '\\':
			b = append(b, c)
			continue
		}
		if i++; i == len(s) {
			break
		}
		if k := strings.IndexByte(letters, s[i]); k >= 0 {
			b = append(b, meanings[k])
			continue
		}
		if i+2 >= len(s) || s[i] < '0' || s[i] > '3' || s[i+1]&^7 != '0' || s[i+2]&^7 != '0' {
			return "", "", false
		}
		b = append(b, (s[i]-'0')<<6|(s[i+1]-'0')<<3|(s[i+2]-'0'))
		i += 2
	}
	return "", "", false
}

// scan lists the packs that have an index; one without is still being written, or
// was left by an interrupted fetch. Known packs keep their open files.
func (s *store) scan() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := make(map[string]*pack, len(s.packs))
	for _, p := range s.packs {
		known[p.base] = p
	}
	present := map[string]bool{}
	var fresh []*pack
	s.askGit = false
	for _, dir := range s.dirs {
		folder := filepath.Join(dir, "pack")
		entries, err := os.ReadDir(folder)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fault.Wrap(err, fault.IOFailed, "cannot list the packs")
		}
		names := make(map[string]bool, len(entries))
		for _, e := range entries {
			names[e.Name()] = true
		}
		for _, e := range entries {
			base, ok := strings.CutSuffix(e.Name(), ".pack")
			switch {
			case strings.HasSuffix(e.Name(), ".promisor"):
				s.askGit = true // git fetches what a promisor remote still has
			case !ok:
			case names[base+".idx"]:
				path := filepath.Join(folder, base)
				present[path] = true
				if known[path] == nil {
					fresh = append(fresh, &pack{base: path})
				}
			case names["multi-pack-index"]:
				s.askGit = true // only the multi-pack index may cover it
			}
		}
	}
	// Others may be walking along the old list.
	kept := slices.DeleteFunc(slices.Clone(s.packs), func(p *pack) bool { return !present[p.base] })
	if s.listed == 0 || len(fresh) > 0 || len(kept) < len(s.packs) {
		s.listed++
	}
	s.packs = append(fresh, kept...)
	return nil
}

// seen returns how often the packs changed, as far as is known.
func (s *store) seen() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listed
}

// list returns the packs, after a first look at the disk.
func (s *store) list() ([]*pack, error) {
	if s.seen() == 0 {
		if err := s.scan(); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.packs, nil
}

// maxScans bounds how often the packs are listed again for one object. Each time
// but the last, somebody had just replaced them.
const maxScans = 10

// search calls loose for each object directory and packed for each pack that
// holds id, until one of them has it. A copy that is damaged is passed over for
// another one, and reported if there is none.
func (s *store) search(id OID, loose func(dir string) error, packed func(p *pack, at int64) error) error {
	var damage error
	note := func(err error) {
		if damage == nil {
			damage = err
		}
	}
	raw := rawID(id)
	// try looks into one pack; done ends the search.
	try := func(p *pack) (done bool, err error) {
		x, err := p.index()
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil // a repack removed it: a scan finds the new one
		}
		if err != nil {
			note(damaged(id, p, err))
			return false, nil
		}
		at, ok, err := x.find(raw)
		if err != nil {
			note(damaged(id, p, err))
		}
		if !ok {
			return false, nil
		}
		if err = p.open(); err == nil {
			err = packed(p, at)
		}
		var large errLarge
		switch {
		case err == nil:
			s.last.Store(p)
			return true, nil
		case errors.As(err, &large):
			return true, tooLarge(id, large.size, large.limit)
		case !errors.Is(err, fs.ErrNotExist):
			note(damaged(id, p, err))
		}
		return false, nil
	}
	for range maxScans {
		seen := s.seen()
		// The pack that had the last object is likely to have this one.
		last := s.last.Load()
		if last != nil {
			if done, err := try(last); done {
				return err
			}
		}
		for _, dir := range s.dirs {
			err := loose(dir)
			if err == nil || fault.Is(err, fault.ObjectTooLarge) {
				return err
			}
			if !errors.Is(err, fs.ErrNotExist) {
				note(err)
			}
		}
		packs, err := s.list()
		if err != nil {
			return err
		}
		for _, p := range packs {
			if p == last {
				continue
			}
			if done, err := try(p); done {
				return err
			}
		}
		if err := s.scan(); err != nil {
			return err
		}
		// When packs came or went since this round began, by whichever reader that was
		// noticed, the object may have moved behind its back, also out of a pack.
		if s.seen() == seen {
			break
		}
		damage = nil
	}
	if damage != nil {
		return damage
	}
	e := fault.New(fault.ObjectMissing, "object %s is not in the repository", id)
	if len(s.missing) > 0 {
		e = e.WithHint("the object directory %s, which objects/info/alternates names, does not exist", fault.Quote(s.missing[0]))
	}
	return e
}

func damaged(id OID, p *pack, err error) error {
	var f *fault.Error
	if errors.As(err, &f) {
		return err
	}
	return corrupt(id, "cannot be read from %s.pack: %v", fault.Printable(filepath.Base(p.base)), err)
}

// maxElsewhere bounds how often the base of a delta may lie in another pack. Git
// writes none such to disk.
const maxElsewhere = 8

// read returns an object of at most limit bytes that was proved to match its id.
func (s *store) read(id OID, limit int64, depth int) (typ string, data []byte, err error) {
	if depth > maxElsewhere {
		return "", nil, errDelta
	}
	verify := func() error {
		if got := hashObject("sha1", typ, data); got != id {
			return corrupt(id, "holds the content of %s", got)
		}
		return nil
	}
	err = s.search(id,
		func(dir string) error {
			if typ, _, data, err = readLoose(dir, id, limit, false); err != nil {
				return err
			}
			return verify()
		},
		func(p *pack, at int64) error {
			typ, data, err = p.read(at, limit, &s.cache, func(base OID, limit int64) (string, []byte, error) { return s.read(base, limit, depth+1) })
			if err != nil {
				return err
			}
			return verify()
		})
	if err != nil {
		return "", nil, err
	}
	return typ, data, nil
}

// header returns an object's type and size.
func (s *store) header(id OID, depth int) (typ string, size int64, err error) {
	if depth > maxElsewhere {
		return "", 0, errDelta
	}
	err = s.search(id,
		func(dir string) error {
			typ, size, _, err = readLoose(dir, id, MaxObject, true)
			return err
		},
		func(p *pack, at int64) error {
			typ, size, err = p.header(at, func(base OID) (string, int64, error) { return s.header(base, depth+1) })
			return err
		})
	return typ, size, err
}

// mayHaveMore reports whether git could find an object that the store does not.
func (s *store) mayHaveMore() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.askGit
}

// shallowList holds the commits at which a shallow clone's history ends.
type shallowList struct {
	once sync.Once
	ids  map[OID]bool
	err  error
}

func (l *shallowList) contains(r *Repo, id OID) (bool, error) {
	l.once.Do(func() {
		path := under(r.workDir(), r.getenv("GIT_SHALLOW_FILE"))
		if path == "" {
			path = filepath.Join(r.commonDir, "shallow")
		}
		data, err := readBounded(path, 64<<20)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				l.err = fault.Wrap(err, fault.IOFailed, "cannot read the boundary of the shallow clone")
			}
			return
		}
		l.ids = map[OID]bool{}
		for line := range bytes.Lines(data) {
			l.ids[OID(bytes.TrimSpace(line))] = true
		}
	})
	return l.ids[id], l.err
}
