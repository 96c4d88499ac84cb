package memory

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"io/fs"
	"path"
	"slices"
	"time"

	"kxm/lib/fault"
	"kxm/lib/item"
	"kxm/lib/repo"
)

// GitTimeout bounds how long dispatch waits for Git.
const GitTimeout = 5 * time.Second

// The gaps of withheld content.
const (
	WithheldUncommitted    = "dispatch_context_withheld:uncommitted"
	WithheldGitUnavailable = "dispatch_context_withheld:git_unavailable"
	WithheldRevisionDrift  = "dispatch_context_withheld:memory_revision_drift"
)

// CommittedInput says what ReadCommitted reads.
type CommittedInput struct {
	Repo   *repo.Repo
	Folder string // the .kxm folder from the top of the repository
	// Worktree is the .kxm folder in the worktree; nil is an empty one. It is not
	// looked at where the repository has no worktree.
	Worktree fs.FS
	Pin      string        // the revision that is expected; "" is any
	Timeout  time.Duration // 0 is GitTimeout

	// Also reads what else is dispatched from the .kxm folder at HEAD; it may be nil.
	// Its error is returned as it is.
	Also func(kxm repo.BlobFS) error
}

// Committed is what may be dispatched.
type Committed struct {
	Commit   repo.OID // "" while HEAD is unborn
	Facts    *Set     // empty when withheld
	Revision string   // "" when it could not be told

	kxm repo.BlobFS
}

// Blob returns the object id of a file, named from .kxm.
func (c *Committed) Blob(name string) string {
	if c.kxm == nil {
		return ""
	}
	id, _ := c.kxm.Blob(name)
	return string(id)
}

// ReadCommitted reads the facts at HEAD, if nothing that dispatch reads is
// uncommitted. Otherwise it returns the gap that says why all of it is withheld:
// files that are modified, deleted, untracked or ignored, staged or not; a Git that
// fails or takes longer than the timeout; a revision, before or after reading, that
// is not the pinned one. Whether content is withheld is an answer, not an error.
//
// Files are compared with HEAD by their bytes, and git is asked only about those
// that differ: filters, line endings and sparse checkouts make different bytes
// clean. The cost depends on these files alone, not on the repository.
func ReadCommitted(ctx context.Context, in CommittedInput) (*Committed, *item.Gap, error) {
	if in.Timeout == 0 {
		in.Timeout = GitTimeout
	}
	git, cancel := context.WithTimeout(ctx, in.Timeout)
	defer cancel()
	c, withheld, err := in.read(git)
	if withheld == nil && err == nil && in.Also != nil {
		err = in.Also(c.kxm)
	}
	if withheld == nil && err == nil {
		withheld, err = in.drift(git, c)
	}
	if err := ctx.Err(); err != nil { // the caller gave up: that is no answer
		return nil, nil, err
	}
	if err != nil {
		return nil, nil, err
	}
	if withheld != nil {
		c.Facts = &Set{}
	}
	return c, withheld, nil
}

func unavailable(err error) *item.Gap {
	return &item.Gap{Gap: WithheldGitUnavailable, Detail: place(err)}
}

func (in *CommittedInput) read(ctx context.Context) (*Committed, *item.Gap, error) {
	c := &Committed{Facts: &Set{}}
	var err error
	if c.Commit, c.kxm, err = in.head(ctx); err != nil {
		return c, unavailable(err), nil
	}
	if in.Repo.WorkTree() != "" {
		paths, known, err := in.differing(c.kxm)
		if ctx.Err() != nil {
			return c, unavailable(ctx.Err()), nil
		}
		if err != nil {
			return c, nil, err
		}
		c.kxm = proven{c.kxm, known}
		if len(paths) > 0 {
			dirty, err := in.Repo.Dirty(ctx, paths...)
			if err != nil {
				return c, unavailable(err), nil
			}
			if dirty {
				return c, &item.Gap{Gap: WithheldUncommitted, Detail: "for example " + fault.Quote(redacted(paths[0]))}, nil
			}
		}
	}
	// A commit may hold a file that cannot be read, a link out of .kxm say. The good
	// ones are served all the same, unless a revision was promised: there is none.
	revision, err := Revision(c.kxm)
	if err == nil {
		c.Revision = revision
	}
	if in.Pin != "" && c.Revision != in.Pin && ctx.Err() == nil {
		return c, &item.Gap{Gap: WithheldRevisionDrift, Detail: "the revision at HEAD is " + cmp.Or(c.Revision, "unknown")}, nil
	}
	facts, err := Load(c.kxm)
	if ctx.Err() != nil {
		return c, unavailable(ctx.Err()), nil
	}
	if err == nil {
		c.Facts = facts
	}
	return c, nil, err
}

// head returns the commit at HEAD and the .kxm folder in it.
func (in *CommittedInput) head(ctx context.Context) (repo.OID, repo.BlobFS, error) {
	id, ok, err := in.Repo.Head(ctx)
	if err != nil {
		return "", nil, err
	}
	if !ok {
		return "", noFolder{}, nil
	}
	kxm, err := in.Repo.CommitFS(ctx, id, in.Folder)
	return id, kxm, err
}

// drift looks whether HEAD moved to another revision while it was read.
func (in *CommittedInput) drift(ctx context.Context, c *Committed) (*item.Gap, error) {
	if in.Pin == "" {
		return nil, nil
	}
	id, kxm, err := in.head(ctx)
	if err != nil {
		return unavailable(err), nil
	}
	if id == c.Commit {
		return nil, nil
	}
	now, err := Revision(kxm)
	if err == nil && now == in.Pin {
		return nil, nil
	}
	return &item.Gap{Gap: WithheldRevisionDrift, Detail: "HEAD moved while it was read"}, nil
}

// differing returns the paths, from the top of the repository, of the files that
// are not in the worktree what they are at HEAD, sorted, and the bytes of those
// small ones that are, by their path from .kxm.
func (in *CommittedInput) differing(head repo.BlobFS) (paths []string, known map[string][]byte, err error) {
	worktree := in.Worktree
	if worktree == nil {
		worktree = noFolder{}
	}
	committed, err := trackedFiles(head)
	if err != nil {
		return nil, nil, err
	}
	present, err := trackedFiles(worktree)
	if err != nil {
		return nil, nil, err
	}
	here := make(map[string]tracked, len(present))
	for _, f := range present {
		here[f.name] = f
	}
	differs := make([]string, len(committed))
	contents := make([][]byte, len(committed))
	parallel(len(committed), func(i int) {
		if f, ok := here[committed[i].name]; ok {
			differs[i], contents[i] = in.differs(head, worktree, committed[i], f)
		} else {
			differs[i] = committed[i].name
		}
	})
	known = make(map[string][]byte, len(committed))
	for i, f := range committed {
		delete(here, f.name)
		if f.typ.IsRegular() && contents[i] != nil {
			known[f.path] = contents[i]
		}
	}
	for name := range here {
		differs = append(differs, name)
	}
	for _, name := range differs {
		if name != "" {
			paths = append(paths, path.Join(in.Folder, name))
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths), known, nil
}

// differs returns the path, from .kxm, of what is not the same in the worktree as
// at HEAD: the file, or what it leads to if it is a link; "" if both are, with the
// bytes if they are few. Only object ids are compared, so no blob is read.
func (in *CommittedInput) differs(head repo.BlobFS, worktree fs.FS, a, b tracked) (string, []byte) {
	if a.path != b.path || a.typ != b.typ {
		return a.name, nil
	}
	name := a.path
	if a.typ&fs.ModeSymlink != 0 {
		target, err := fs.ReadLink(head, name)
		if now, err2 := fs.ReadLink(worktree, name); err != nil || err2 != nil || now != target {
			return a.name, nil
		}
		if a.skill {
			return "", nil // not followed: see Revision
		}
		if name, err = resolve(head, name); err != nil {
			return "", nil // it leads nowhere, here as there
		}
	}
	committed, ok := head.Mode(name)
	id, isFile := head.Blob(name)
	mode, data, err := readWhole(worktree, name)
	if !ok || !isFile || err != nil || (committed^mode)&0o100 != 0 || id != in.Repo.HashBlob(data) {
		return name, nil
	}
	if len(data) > MaxFileSize {
		data = nil
	}
	return "", data
}

// readWhole reads a file and its mode through one opening.
func readWhole(fsys fs.FS, name string) (fs.FileMode, []byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return 0, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, nil, err
	}
	data := make([]byte, info.Size())
	n, err := io.ReadFull(f, data)
	if err == io.ErrUnexpectedEOF || err == io.EOF { // it shrank: then it is not what was committed
		err = nil
	}
	return info.Mode(), data[:n], err
}

// proven is the .kxm folder at HEAD with the bytes of files that the worktree was
// found to hold too: they hash to the same object, so the object need not be read.
type proven struct {
	repo.BlobFS
	known map[string][]byte
}

func (p proven) Open(name string) (fs.File, error) {
	if data, ok := p.known[name]; ok {
		return &provenFile{bytes.NewReader(data), p.BlobFS, name}, nil
	}
	return p.BlobFS.Open(name)
}

func (p proven) ReadFile(name string) ([]byte, error) {
	if data, ok := p.known[name]; ok {
		return bytes.Clone(data), nil
	}
	return p.BlobFS.ReadFile(name)
}

type provenFile struct {
	*bytes.Reader
	at   repo.BlobFS
	name string
}

func (f *provenFile) Stat() (fs.FileInfo, error) { return fs.Lstat(f.at, f.name) }
func (f *provenFile) Close() error               { return nil }

// noFolder is a .kxm folder that does not exist: before the first commit, or in the
// worktree.
type noFolder struct{}

func (noFolder) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

func (u noFolder) ReadDir(name string) ([]fs.DirEntry, error) {
	_, err := u.Open(name)
	return nil, err
}
func (u noFolder) ReadFile(name string) ([]byte, error)   { _, err := u.Open(name); return nil, err }
func (u noFolder) ReadLink(name string) (string, error)   { _, err := u.Open(name); return "", err }
func (u noFolder) Lstat(name string) (fs.FileInfo, error) { _, err := u.Open(name); return nil, err }
func (u noFolder) Stat(name string) (fs.FileInfo, error)  { return u.Lstat(name) }
func (noFolder) Blob(string) (repo.OID, bool)             { return "", false }
func (noFolder) Mode(string) (fs.FileMode, bool)          { return 0, false }
