package repo

import (
	"cmp"
	"context"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"kxm/lib/fault"
)

// BlobFS is a read-only view of a folder at a commit or in the index. Symbolic
// links inside the folder are followed; one that leads out of it is an error with
// the code PathEscapes. A submodule is an empty folder. It is safe for concurrent
// use. Modification times are zero: Git does not store them.
type BlobFS interface {
	fs.FS
	fs.ReadDirFS
	fs.ReadFileFS
	fs.StatFS
	fs.ReadLinkFS
	// Blob returns the id of the file's content; ok is false when name is no file.
	Blob(name string) (id OID, ok bool)
	// Mode returns the file's mode. Unlike Stat it need not look for the size, so it
	// reads no object.
	Mode(name string) (mode fs.FileMode, ok bool)
}

// CommitFS returns the folder prefix ("" is the top) at a commit. A folder that is
// not there is empty; one that is a symbolic link is refused with PathEscapes, and
// a file is not a folder either: it reads as empty. Trees are read when they are
// first needed and kept, so that the cost depends on what is read alone. ctx bounds
// every later read.
func (r *Repo) CommitFS(ctx context.Context, commit OID, prefix string) (BlobFS, error) {
	c, err := r.Commit(ctx, commit)
	if err != nil {
		return nil, err
	}
	prefix, err = cleanPrefix(prefix)
	if err != nil {
		return nil, err
	}
	at := TreeEntry{Mode: ModeFolder, OID: c.Tree}
	if prefix != "" {
		walked := ""
		for name := range strings.SplitSeq(prefix, "/") {
			walked = path.Join(walked, name)
			var ok bool
			if at, ok, err = r.find(ctx, at.OID, name); err != nil {
				return nil, err
			}
			if ok && at.Mode.Kind() == ModeSymlink {
				return nil, fault.New(fault.PathEscapes, "folder %s is a symbolic link", fault.Quote(walked))
			}
			if !ok || at.Mode.Kind() != ModeFolder {
				return &snapshot{ctx: ctx, r: r, root: newFolder("")}, nil
			}
		}
	}
	return &snapshot{ctx: ctx, r: r, root: &node{mode: ModeFolder, id: at.OID, pending: true}}, nil
}

// IndexFS returns the folder prefix ("" is the top) as the index has it: what a
// commit made now would hold. Entries in conflict and those that are only intended
// to be added are left out. The rules of CommitFS hold.
func (r *Repo) IndexFS(ctx context.Context, prefix string) (BlobFS, error) {
	prefix, err := cleanPrefix(prefix)
	if err != nil {
		return nil, err
	}
	entries, err := r.Index(ctx, prefix)
	if err != nil {
		return nil, err
	}
	if len(entries) == 0 && prefix != "" {
		// Nothing lies below a link, so a parent that is one shows only now.
		first, _, _ := strings.Cut(prefix, "/")
		if entries, err = r.Index(ctx, first); err != nil {
			return nil, err
		}
	}
	root := newFolder("")
	for _, e := range entries {
		if e.Stage != 0 || e.IntentToAdd {
			continue
		}
		if prefix == "" {
			root.insert(e.Path, e)
		} else if rest, ok := strings.CutPrefix(e.Path, prefix+"/"); ok {
			root.insert(rest, e)
		} else if e.Mode.Kind() == ModeSymlink && strings.HasPrefix(prefix+"/", e.Path+"/") {
			return nil, fault.New(fault.PathEscapes, "folder %s is a symbolic link", fault.Quote(e.Path))
		}
	}
	root.sort()
	return &snapshot{ctx: ctx, r: r, root: root}, nil
}

func cleanPrefix(prefix string) (string, error) {
	if prefix == "" || prefix == "." {
		return "", nil
	}
	if !fs.ValidPath(prefix) {
		return "", fault.New(fault.PathEscapes, "%s is no folder of the repository", fault.Quote(prefix))
	}
	return prefix, nil
}

// node is a file or folder of a snapshot. The children of a folder of a commit are
// read when they are first needed.
type node struct {
	name string
	mode Mode // one of the constants
	id   OID

	mu       sync.Mutex
	pending  bool
	children []*node // sorted by name
}

func newFolder(name string) *node { return &node{name: name, mode: ModeFolder} }

// insert adds an entry of the index, which come sorted by path, to a folder.
func (n *node) insert(path string, e IndexEntry) {
	name, rest, deeper := strings.Cut(path, "/")
	kind := e.Mode.Kind()
	if !deeper {
		n.children = append(n.children, &node{name: name, mode: kind, id: e.OID})
		return
	}
	// What lies in one folder stands together, so the last child is the one that is
	// being filled, if any is.
	if last := len(n.children) - 1; last >= 0 && n.children[last].name == name && n.children[last].mode == ModeFolder {
		n.children[last].insert(rest, e)
		return
	}
	c := newFolder(name)
	n.children = append(n.children, c)
	c.insert(rest, e)
}

// sort orders the children by name; the index has "a.b" before "a/b".
func (n *node) sort() {
	slices.SortFunc(n.children, func(a, b *node) int { return cmp.Compare(a.name, b.name) })
	for _, c := range n.children {
		c.sort()
	}
}

// list returns the children of a folder.
func (n *node) list(ctx context.Context, r *Repo) ([]*node, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.pending {
		return n.children, nil
	}
	entries, err := r.Tree(ctx, n.id)
	if err != nil {
		return nil, err
	}
	children := make([]*node, len(entries))
	nodes := make([]node, len(entries))
	for i, e := range entries {
		if e.Name == "." || e.Name == ".." || strings.Contains(e.Name, "/") {
			return nil, corrupt(n.id, "is a tree with the name %s", fault.Quote(e.Name))
		}
		kind := e.Mode.Kind()
		children[i] = &nodes[i]
		children[i].name, children[i].mode, children[i].id, children[i].pending = e.Name, kind, e.OID, kind == ModeFolder
	}
	slices.SortStableFunc(children, func(a, b *node) int { return cmp.Compare(a.name, b.name) })
	children = slices.CompactFunc(children, func(a, b *node) bool { return a.name == b.name })
	n.children, n.pending = children, false
	return children, nil
}

// child returns the child of that name.
func (n *node) child(ctx context.Context, r *Repo, name string) (*node, error) {
	children, err := n.list(ctx, r)
	if err != nil {
		return nil, err
	}
	i, ok := slices.BinarySearchFunc(children, name, func(c *node, name string) int { return cmp.Compare(c.name, name) })
	if !ok {
		return nil, fs.ErrNotExist
	}
	return children[i], nil
}

// isFolder reports whether the node reads as a folder; a submodule does, an empty one.
func (n *node) isFolder() bool { return n.mode == ModeFolder || n.mode == ModeSubmodule }
