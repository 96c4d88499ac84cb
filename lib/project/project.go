// Package project owns where a project's records are: the repository around a
// folder, the .kxm folder in it, and the states in which that folder can be read.
//
// Start with [Find], which gives a [Place]; its methods give a [View]: the worktree,
// the index or a commit, each with the configuration that counts there. It reads no
// record; what stands in the folder is its callers' affair. A [Setup] is what the
// programs' doctors say alike.
package project

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"kxm/lib/config"
	"kxm/lib/fault"
	"kxm/lib/repo"
)

// Options say where to look.
type Options struct {
	Dir      string // absolute
	Explicit bool   // the user named the folder, so Git's environment does not count
	Getenv   func(string) string
}

// Place is the repository around a folder, if there is one, and the folder in it that
// holds .kxm.
type Place struct {
	Repo *repo.Repo // nil outside a repository
	Top  string     // the top of the worktree; outside a repository the folder itself; "" where there is no worktree
	Cwd  string     // the folder from Top, a slash path
	Dir  string     // the folder that holds .kxm, from Top, a slash path; "." for Top itself
	Has  bool       // Dir holds a .kxm in the worktree

	getenv func(string) string
}

// Find finds the place. Outside a repository, only the folder itself counts.
func Find(ctx context.Context, o Options) (*Place, error) {
	p := &Place{Top: o.Dir, Cwd: ".", Dir: ".", getenv: o.Getenv}
	r, err := repo.Open(ctx, repo.Options{Dir: o.Dir, Explicit: o.Explicit, Getenv: o.Getenv})
	switch {
	case err == nil:
		p.Repo, p.Top = r, r.WorkTree()
	case !fault.Is(err, fault.NotARepository):
		return nil, err
	}
	if p.Top == "" {
		return p, nil
	}
	at, err := filepath.EvalSymlinks(o.Dir)
	if err != nil {
		return nil, fault.Wrap(err, fault.IOFailed, "cannot find the working directory")
	}
	if p.Repo == nil {
		p.Top = at
	}
	rel, err := filepath.Rel(p.Top, at)
	if err != nil || rel == ".." || filepath.IsAbs(rel) || len(rel) > 2 && rel[:3] == ".."+string(filepath.Separator) {
		rel = "." // GIT_WORK_TREE is elsewhere: its top is where records are looked for
	}
	p.Cwd = filepath.ToSlash(rel)
	parent, ok := config.FindFolder(filepath.Join(p.Top, rel), p.Top)
	if !ok {
		return p, nil
	}
	if rel, err = filepath.Rel(p.Top, parent); err != nil {
		return nil, fault.Wrap(err, fault.IOFailed, "cannot find the folder of records")
	}
	p.Dir, p.Has = filepath.ToSlash(rel), true
	info, err := os.Lstat(p.kxmPath())
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, fault.New(fault.PathEscapes, "%s is a symbolic link", fault.Quote(p.Folder())).WithHint("make it a folder of the repository")
	}
	return p, nil
}

// NeedRepo refuses to go on outside a repository.
func (p *Place) NeedRepo(why string) error {
	if p.Repo != nil {
		return nil
	}
	return fault.New(fault.NotARepository, "%s needs a Git repository", why)
}

// NeedFolder refuses to go on without a .kxm in the worktree.
func (p *Place) NeedFolder() error {
	if p.Top == "" {
		return fault.New(fault.Usage, "a repository without a worktree has no files to write")
	}
	if !p.Has {
		return fault.New(fault.ProjectNotConfigured, "there is no %s folder here or above, up to the repository's root", config.Folder).
			WithHint("kxm-memory init")
	}
	return nil
}

// Folder is the path of .kxm from the top of the repository.
func (p *Place) Folder() string { return path.Join(p.Dir, config.Folder) }

// Below returns a path of the command line as one from the top of the repository.
func (p *Place) Below(name string) (string, error) {
	rel := path.Join(p.Cwd, filepath.ToSlash(name))
	if filepath.IsAbs(name) {
		// Its folder may be spelled through a link, as the working directory's may.
		folder, err := filepath.EvalSymlinks(filepath.Dir(name))
		if err == nil {
			rel, err = filepath.Rel(p.Top, filepath.Join(folder, filepath.Base(name)))
		}
		if err != nil {
			return "", fault.New(fault.Usage, "%s is not below the repository", fault.Quote(name))
		}
		rel = filepath.ToSlash(rel)
	}
	if !fs.ValidPath(rel) {
		return "", fault.New(fault.Usage, "%s is not below the repository", fault.Quote(name))
	}
	return rel, nil
}

// kxmPath is the path of .kxm in the worktree.
func (p *Place) kxmPath() string { return filepath.Join(p.Top, filepath.FromSlash(p.Folder())) }

// OpenRoot opens .kxm in the worktree; no path or link below it leads out.
func (p *Place) OpenRoot() (*os.Root, error) {
	root, err := os.OpenRoot(p.kxmPath())
	if err != nil {
		return nil, fault.Wrap(err, fault.IOFailed, "cannot open the folder of records")
	}
	return root, nil
}

// View is one state of the records: the worktree, the index or a commit.
type View struct {
	Kxm    fs.FS                    // the folder .kxm; an empty one where there is none
	Root   fs.FS                    // the top of the repository
	Dir    string                   // the folder that holds .kxm, from the top
	Blob   func(name string) string // the object id of a file of Kxm; nil in the worktree
	Commit repo.OID                 // the commit that is viewed; "" else
	Config *config.Config
	Exists bool // there is a .kxm
}

// Folder is the path of .kxm from the top of the repository, or "" outside one.
func (v *View) Folder() string { return path.Join(v.Dir, config.Folder) }

// Worktree views the files as they are. Without a worktree it views HEAD.
func (p *Place) Worktree(ctx context.Context) (*View, error) {
	if p.Top == "" {
		return p.Revision(ctx, "HEAD")
	}
	v := &View{Kxm: empty{}, Dir: p.Dir}
	top, err := repo.OpenFolder(p.Top)
	if err != nil {
		return nil, fault.Wrap(err, fault.IOFailed, "cannot open the top of the worktree")
	}
	v.Root = top
	if p.Has {
		if v.Kxm, err = repo.OpenFolder(p.kxmPath()); err != nil {
			return nil, fault.Wrap(err, fault.IOFailed, "cannot open the folder of records")
		}
		v.Exists = true
	}
	return v, v.configure(p)
}

// Revision views a commit. The folder is the nearest above the caller's that holds
// a .kxm there, whatever the worktree has.
func (p *Place) Revision(ctx context.Context, rev string) (*View, error) {
	if err := p.NeedRepo("reading a revision"); err != nil {
		return nil, err
	}
	commit, err := p.Repo.Resolve(ctx, rev)
	if fault.Is(err, fault.RevisionNotFound) && rev == "HEAD" {
		if _, ok, herr := p.Repo.Head(ctx); herr == nil && !ok { // before the first commit
			v := &View{Kxm: empty{}, Root: empty{}, Dir: p.Dir, Blob: func(string) string { return "" }}
			return v, v.configure(p)
		}
	}
	if err != nil {
		return nil, err
	}
	root, err := p.Repo.CommitFS(ctx, commit, "")
	if err != nil {
		return nil, err
	}
	v, err := p.snapshot(root, func(dir string) (repo.BlobFS, error) { return p.Repo.CommitFS(ctx, commit, dir) })
	if err != nil {
		return nil, err
	}
	v.Commit = commit
	return v, nil
}

// Index views the index.
func (p *Place) Index(ctx context.Context) (*View, error) {
	if err := p.NeedRepo("reading the index"); err != nil {
		return nil, err
	}
	root, err := p.Repo.IndexFS(ctx, "")
	if err != nil {
		return nil, err
	}
	return p.snapshot(root, func(dir string) (repo.BlobFS, error) { return p.Repo.IndexFS(ctx, dir) })
}

func (p *Place) snapshot(root fs.FS, open func(dir string) (repo.BlobFS, error)) (*View, error) {
	v := &View{Kxm: empty{}, Root: root, Dir: p.Dir}
	for at := p.Cwd; ; at = path.Dir(at) {
		info, err := fs.Stat(root, path.Join(at, config.Folder))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err // what cannot be read must not look like no records
		}
		if err == nil && info.IsDir() {
			kxm, err := open(path.Join(at, config.Folder))
			if err != nil {
				return nil, err
			}
			v.Kxm, v.Dir, v.Exists = kxm, at, true
			v.Blob = func(name string) string {
				id, _ := kxm.Blob(name)
				return string(id)
			}
			break
		}
		if at == "." {
			break
		}
	}
	return v, v.configure(p)
}

// configure reads the view's own configuration below the user's.
func (v *View) configure(p *Place) error {
	o := config.Options{UserFile: config.UserFile(p.getenv), RepositoryName: path.Join(v.Dir, config.FileName)}
	data, err := fs.ReadFile(v.Kxm, path.Base(config.FileName))
	switch {
	case err == nil:
		o.Repository = data
	case !errors.Is(err, fs.ErrNotExist):
		return fault.Wrap(err, fault.ConfigInvalid, "cannot read the configuration")
	}
	v.Config, err = config.Load(o)
	return err
}

// Project returns the name of the project: the flag's or environment's, else the
// configuration's.
func (v *View) Project(flag string) (string, error) {
	switch {
	case flag != "":
		return flag, nil
	case v.Config.Project != "":
		return v.Config.Project, nil
	}
	return "", fault.New(fault.ProjectNotConfigured, "there are records in %s, but no project name", fault.Quote(v.Folder())).WithHint("kxm-memory init")
}

// empty is a folder that is not there.
type empty struct{}

func (empty) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}
