package eventlog

import (
	"context"
	"slices"
	"strings"

	"kxm/lib/repo"
)

// folder is a folder of a tree that is being changed. Only the folders on the way to
// a change are read.
type folder struct {
	l       *Log
	place   place
	entries []repo.TreeEntry // sorted by name
	open    map[string]*folder
	changed bool
}

// openFolder reads a folder; id "" is one that does not exist yet.
func (l *Log) openFolder(ctx context.Context, p place, id repo.OID) (*folder, error) {
	f := &folder{l: l, place: p}
	if id == "" {
		return f, nil
	}
	var err error
	f.entries, err = l.entries(ctx, p, id)
	return f, err
}

// at returns the folder at a path below f, and makes it. What else has its name goes:
// it belongs to nobody.
func (f *folder) at(ctx context.Context, path string) (*folder, error) {
	for name := range strings.SplitSeq(path, "/") {
		next := f.open[name]
		if next == nil {
			e, ok := find(f.entries, name)
			if !ok || e.Mode != repo.ModeFolder {
				e.OID = ""
			}
			var err error
			if next, err = f.l.openFolder(ctx, f.place.child(name), e.OID); err != nil {
				return nil, err
			}
			if f.open == nil {
				f.open = map[string]*folder{}
			}
			f.open[name] = next
		}
		f = next
	}
	return f, nil
}

// put sets a file whose content fits its name; added is false when it is there.
func (f *folder) put(name string, id repo.OID) (added bool) {
	e := repo.TreeEntry{Name: name, Mode: repo.ModeFile, OID: id}
	if old, ok := find(f.entries, name); ok && old == e {
		return false
	}
	f.set(e)
	return true
}

func (f *folder) set(e repo.TreeEntry) {
	f.changed = true
	i, ok := slices.BinarySearchFunc(f.entries, e.Name, func(e repo.TreeEntry, name string) int { return strings.Compare(e.Name, name) })
	if ok {
		f.entries[i] = e
		return
	}
	f.entries = slices.Insert(f.entries, i, e)
}

// encode returns the id of the folder and appends to objects the trees that changed.
func (f *folder) encode(objects *[]repo.NewObject) (id repo.OID, changed bool) {
	names := make([]string, 0, len(f.open))
	for name := range f.open {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if id, changed := f.open[name].encode(objects); changed {
			f.set(repo.TreeEntry{Name: name, Mode: repo.ModeFolder, OID: id})
		}
	}
	if !f.changed {
		return "", false
	}
	return addTree(f.l.r, f.entries, objects), true
}

func addTree(r *repo.Repo, entries []repo.TreeEntry, objects *[]repo.NewObject) repo.OID {
	data := repo.EncodeTree(entries)
	*objects = append(*objects, repo.NewObject{Type: "tree", Data: data})
	return r.HashObject("tree", data)
}
