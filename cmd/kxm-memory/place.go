package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"kxm/lib/cli"
	"kxm/lib/config"
	"kxm/lib/fault"
	"kxm/lib/memory"
	"kxm/lib/redact"
	"kxm/lib/repo"
)

// place is where a command works: the repository around the session's folder, if
// there is one, and the folder in it that holds .kxm.
type place struct {
	s    *cli.Session
	repo *repo.Repo // nil outside a repository
	top  string     // the top of the worktree; outside a repository the session's folder; "" where there is no worktree
	cwd  string     // the session's folder from top, a slash path
	dir  string     // the folder that holds .kxm, from top, a slash path; "." for top itself
	has  bool       // dir holds a .kxm in the worktree
}

// findPlace finds the place. Outside a repository, only the session's folder counts.
func findPlace(ctx context.Context, s *cli.Session) (*place, error) {
	p := &place{s: s, top: s.Dir, cwd: ".", dir: "."}
	r, err := repo.Open(ctx, repo.Options{Dir: s.Dir, Explicit: s.Explicit(), Getenv: s.Getenv})
	switch {
	case err == nil:
		p.repo, p.top = r, r.WorkTree()
	case !fault.Is(err, fault.NotARepository):
		return nil, err
	}
	if p.top == "" {
		return p, nil
	}
	at, err := filepath.EvalSymlinks(s.Dir)
	if err != nil {
		return nil, fault.Wrap(err, fault.IOFailed, "cannot find the working directory")
	}
	if p.repo == nil {
		p.top = at
	}
	rel, err := filepath.Rel(p.top, at)
	if err != nil || rel == ".." || filepath.IsAbs(rel) || len(rel) > 2 && rel[:3] == ".."+string(filepath.Separator) {
		rel = "." // GIT_WORK_TREE is elsewhere: its top is where records are looked for
	}
	p.cwd = filepath.ToSlash(rel)
	parent, ok := config.FindFolder(filepath.Join(p.top, rel), p.top)
	if !ok {
		return p, nil
	}
	if rel, err = filepath.Rel(p.top, parent); err != nil {
		return nil, fault.Wrap(err, fault.IOFailed, "cannot find the folder of records")
	}
	p.dir, p.has = filepath.ToSlash(rel), true
	info, err := os.Lstat(p.kxmPath())
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, fault.New(fault.PathEscapes, "%s is a symbolic link", fault.Quote(p.folder())).WithHint("make it a folder of the repository")
	}
	return p, nil
}

// needRepo refuses to go on outside a repository.
func (p *place) needRepo(why string) error {
	if p.repo != nil {
		return nil
	}
	return fault.New(fault.NotARepository, "%s needs a Git repository", why)
}

// needFolder refuses to go on without a .kxm in the worktree.
func (p *place) needFolder() error {
	if p.top == "" {
		return fault.New(fault.Usage, "a repository without a worktree has no files to write")
	}
	if !p.has {
		return fault.New(fault.ProjectNotConfigured, "there is no %s folder here or above, up to the repository's root", config.Folder).
			WithHint("kxm-memory init")
	}
	return nil
}

// folder is the path of .kxm from the top of the repository.
func (p *place) folder() string { return path.Join(p.dir, config.Folder) }

// below returns a path of the command line as one from the top of the repository.
func (p *place) below(name string) (string, error) {
	rel := path.Join(p.cwd, filepath.ToSlash(name))
	if filepath.IsAbs(name) {
		// Its folder may be spelled through a link, as the working directory's may.
		folder, err := filepath.EvalSymlinks(filepath.Dir(name))
		if err == nil {
			rel, err = filepath.Rel(p.top, filepath.Join(folder, filepath.Base(name)))
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
func (p *place) kxmPath() string { return filepath.Join(p.top, filepath.FromSlash(p.folder())) }

// kxmRoot opens .kxm in the worktree; no path or link below it leads out.
func (p *place) kxmRoot() (*os.Root, error) {
	root, err := os.OpenRoot(p.kxmPath())
	if err != nil {
		return nil, fault.Wrap(err, fault.IOFailed, "cannot open the folder of records")
	}
	return root, nil
}

// view is one state of the records: the worktree, the index or a commit.
type view struct {
	kxm    fs.FS                    // the folder .kxm
	root   fs.FS                    // the top of the repository
	dir    string                   // the folder that holds .kxm, from the top
	blob   func(name string) string // the object id of a file of kxm; nil in the worktree
	commit repo.OID                 // of a commit; "" else
	cfg    *config.Config
	exists bool // there is a .kxm
}

// folder is the path of .kxm from the top of the repository, or "" outside one.
func (v *view) folder() string { return path.Join(v.dir, config.Folder) }

// worktree views the files as they are. Without a worktree it views HEAD.
func (p *place) worktree(ctx context.Context) (*view, error) {
	if p.top == "" {
		return p.revision(ctx, "HEAD")
	}
	v := &view{kxm: empty{}, dir: p.dir}
	top, err := repo.OpenFolder(p.top)
	if err != nil {
		return nil, fault.Wrap(err, fault.IOFailed, "cannot open the top of the worktree")
	}
	v.root = top
	if p.has {
		if v.kxm, err = repo.OpenFolder(p.kxmPath()); err != nil {
			return nil, fault.Wrap(err, fault.IOFailed, "cannot open the folder of records")
		}
		v.exists = true
	}
	return v, v.configure(p)
}

// revision views a commit. The folder is the nearest above the session's that holds
// a .kxm there, whatever the worktree has.
func (p *place) revision(ctx context.Context, rev string) (*view, error) {
	if err := p.needRepo("reading a revision"); err != nil {
		return nil, err
	}
	commit, err := p.repo.Resolve(ctx, rev)
	if fault.Is(err, fault.RevisionNotFound) && rev == "HEAD" {
		if _, ok, herr := p.repo.Head(ctx); herr == nil && !ok { // before the first commit
			v := &view{kxm: empty{}, root: empty{}, dir: p.dir, blob: func(string) string { return "" }}
			return v, v.configure(p)
		}
	}
	if err != nil {
		return nil, err
	}
	root, err := p.repo.CommitFS(ctx, commit, "")
	if err != nil {
		return nil, err
	}
	v, err := p.snapshot(root, func(dir string) (repo.BlobFS, error) { return p.repo.CommitFS(ctx, commit, dir) })
	if err != nil {
		return nil, err
	}
	v.commit = commit
	return v, nil
}

// staged views the index.
func (p *place) staged(ctx context.Context) (*view, error) {
	if err := p.needRepo("reading the index"); err != nil {
		return nil, err
	}
	root, err := p.repo.IndexFS(ctx, "")
	if err != nil {
		return nil, err
	}
	return p.snapshot(root, func(dir string) (repo.BlobFS, error) { return p.repo.IndexFS(ctx, dir) })
}

// projects returns the nearest project as it is in the worktree, and nil. With
// staged it returns what the next commit holds of it and of every other project in
// which that commit changes a record or an instruction file, by folder, and the set
// of those files: a hook runs at the top of a repository that may hold several.
//
// Of the commit at HEAD only the trees of projects are read, so that the cost does
// not grow with the repository beyond that of its index.
func (p *place) projects(ctx context.Context, staged bool) ([]*view, map[string]bool, error) {
	if !staged {
		v, err := p.worktree(ctx)
		return []*view{v}, nil, err
	}
	nearest, err := p.staged(ctx)
	if err != nil {
		return nil, nil, err
	}
	entries, err := p.repo.Index(ctx)
	if err != nil {
		return nil, nil, err
	}
	known, changed, touched := map[string]bool{}, map[string]bool{}, map[string]bool{}
	var below []string // what the records and instruction files of all projects lie below
	for _, e := range entries {
		dir, ok := projectOf(e.Path)
		if !ok || known[dir] {
			continue
		}
		known[dir] = true
		for _, name := range append(memory.InstructionFiles(), config.Folder) {
			below = append(below, path.Join(dir, name))
		}
	}
	if len(below) > 0 {
		paths, err := p.repo.StagedPaths(ctx, below...)
		if err != nil {
			return nil, nil, err
		}
		for _, name := range paths {
			changed[name] = true
			if dir, ok := projectOf(name); ok {
				touched[dir] = true
			} else {
				touched[path.Dir(name)] = true
			}
		}
	}
	views := []*view{nearest}
	for dir := range touched {
		if dir == nearest.dir {
			continue
		}
		other := *p
		other.cwd = dir
		v, err := other.staged(ctx)
		if err != nil {
			return nil, nil, err
		}
		views = append(views, v)
	}
	slices.SortFunc(views, func(a, b *view) int { return strings.Compare(a.dir, b.dir) })
	return views, changed, nil
}

// projectOf returns the folder that holds the .kxm which a path of the repository
// lies in.
func projectOf(name string) (dir string, ok bool) {
	dir, _, ok = strings.Cut("/"+name, "/"+config.Folder+"/")
	return path.Join(".", strings.TrimPrefix(dir, "/")), ok
}

func (p *place) snapshot(root fs.FS, open func(dir string) (repo.BlobFS, error)) (*view, error) {
	v := &view{kxm: empty{}, root: root, dir: p.dir}
	for at := p.cwd; ; at = path.Dir(at) {
		info, err := fs.Stat(root, path.Join(at, config.Folder))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err // what cannot be read must not look like no records
		}
		if err == nil && info.IsDir() {
			kxm, err := open(path.Join(at, config.Folder))
			if err != nil {
				return nil, err
			}
			v.kxm, v.dir, v.exists = kxm, at, true
			v.blob = func(name string) string {
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
func (v *view) configure(p *place) error {
	o := config.Options{UserFile: config.UserFile(p.s.Getenv), RepositoryName: path.Join(v.dir, config.FileName)}
	data, err := fs.ReadFile(v.kxm, path.Base(config.FileName))
	switch {
	case err == nil:
		o.Repository = data
	case !errors.Is(err, fs.ErrNotExist):
		return fault.Wrap(err, fault.ConfigInvalid, "cannot read the configuration")
	}
	v.cfg, err = config.Load(o)
	return err
}

// project returns the name of the project: the flag's or environment's, else the
// configuration's.
func (v *view) project(flag string) (string, error) {
	switch {
	case flag != "":
		return flag, nil
	case v.cfg.Project != "":
		return v.cfg.Project, nil
	}
	return "", fault.New(fault.ProjectNotConfigured, "there are records in %s, but no project name", fault.Quote(v.folder())).WithHint("kxm-memory init")
}

// allow returns the places where reviewers let a secret through.
func (v *view) allow() []redact.Allow {
	var all []redact.Allow
	for _, a := range v.cfg.Secrets.Allow {
		all = append(all, redact.Allow{Path: a.Path, Rule: a.Rule})
	}
	return all
}

// empty is a folder that is not there.
type empty struct{}

func (empty) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// recordCodes are those of finding a place and reading its configuration.
func recordCodes() []fault.Code {
	return []fault.Code{
		fault.NotARepository, fault.RepositoryUnsupported, fault.RepositoryNotOwned, fault.GitFailed, fault.GitUnavailable,
		fault.ObjectMissing, fault.ObjectCorrupt, fault.ConfigInvalid, fault.ConfigKeyUnknown, fault.ConfigKeyNotAllowed,
		fault.PathEscapes, fault.RedactionUnavailable,
	}
}
