package repo

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"
)

// Folder is a folder of a worktree as an [fs.FS] that no path or link leads out of.
// It is what [os.Root] gives, and a third of the system calls: os.Root opens every
// folder on the way to every file, while the usual file here lies in a folder that
// was looked at before and is no link. A folder that is replaced by a link while a
// Folder is in use may be followed: whoever can do that can change the records too.
type Folder struct {
	dir   string
	root  *os.Root
	links fs.FS    // the same folder through root, for whatever is unusual
	plain sync.Map // slash path of a folder → whether no part of it is a link
}

var _ interface {
	fs.ReadDirFS
	fs.ReadFileFS
	fs.StatFS
	fs.ReadLinkFS
} = (*Folder)(nil)

// OpenFolder opens a folder.
func OpenFolder(dir string) (*Folder, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &Folder{dir: dir, root: root, links: root.FS()}, nil
}

// Root returns the folder for writing.
func (f *Folder) Root() *os.Root { return f.root }

// isPlain reports whether a folder is one, reached without a link.
func (f *Folder) isPlain(name string) bool {
	if known, ok := f.plain.Load(name); ok {
		return known.(bool)
	}
	ok := name == "." || f.isPlain(path.Dir(name))
	if ok && name != "." {
		info, err := os.Lstat(f.join(name))
		ok = err == nil && info.IsDir()
	}
	f.plain.Store(name, ok)
	return ok
}

func (f *Folder) join(name string) string { return filepath.Join(f.dir, filepath.FromSlash(name)) }

// Open implements [fs.FS].
func (f *Folder) Open(name string) (fs.File, error) {
	if fs.ValidPath(name) && name != "." && f.isPlain(path.Dir(name)) {
		if file, ok := openRegular(f.join(name), path.Base(name)); ok {
			return file, nil
		}
	}
	return f.links.Open(name)
}

// ReadFile implements [fs.ReadFileFS].
func (f *Folder) ReadFile(name string) ([]byte, error) { return fs.ReadFile(openOnly{f}, name) }

// openOnly hides ReadFile from fs.ReadFile.
type openOnly struct{ f *Folder }

func (o openOnly) Open(name string) (fs.File, error) { return o.f.Open(name) }

// ReadDir implements [fs.ReadDirFS].
func (f *Folder) ReadDir(name string) ([]fs.DirEntry, error) {
	if fs.ValidPath(name) && f.isPlain(name) {
		return os.ReadDir(f.join(name))
	}
	return fs.ReadDir(f.links, name)
}

// Stat implements [fs.StatFS].
func (f *Folder) Stat(name string) (fs.FileInfo, error) { return fs.Stat(f.links, name) }

// Lstat implements [fs.ReadLinkFS].
func (f *Folder) Lstat(name string) (fs.FileInfo, error) {
	if fs.ValidPath(name) && f.isPlain(path.Dir(name)) {
		return os.Lstat(f.join(name))
	}
	return fs.Lstat(f.links, name)
}

// ReadLink implements [fs.ReadLinkFS].
func (f *Folder) ReadLink(name string) (string, error) { return fs.ReadLink(f.links, name) }
