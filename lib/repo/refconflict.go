package repo

import (
	"context"
	"io/fs"
	"path/filepath"
	"strings"

	"kxm/lib/fault"
)

// PlainRef is [Repo.Ref] for a ref that must hold an object id itself: one that is
// symbolic is RefBroken.
func (r *Repo) PlainRef(ctx context.Context, name string) (id OID, ok bool, err error) {
	if !validRefName(name) {
		return "", false, nil
	}
	return r.b.plainRef(ctx, name)
}

func (b *filesBackend) plainRef(ctx context.Context, name string) (OID, bool, error) {
	if err := ctx.Err(); err != nil {
		return "", false, err
	}
	v, ok, err := b.r.readRef(name)
	if err == nil && v.symbolic != "" {
		return "", false, symbolicRef(name, v.symbolic)
	}
	return v.id, ok, err
}

// PackedRef returns what the file packed-refs says about a ref, which a file of the
// ref's own hides, also a damaged one.
func (r *Repo) PackedRef(ctx context.Context, name string) (id OID, ok bool, err error) {
	if err := ctx.Err(); err != nil {
		return "", false, err
	}
	return findPackedRef(filepath.Join(r.commonDir, "packed-refs"), name, r.idLength())
}

// ConflictingRef returns a ref that keeps this absent one from being made: one whose
// name is a folder in this name, or one below it; "" if there is none.
func (r *Repo) ConflictingRef(ctx context.Context, name string) (string, error) {
	if !validRefName(name) {
		return "", nil
	}
	return r.b.conflicting(ctx, name)
}

func (b *filesBackend) conflicting(ctx context.Context, name string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	return b.r.conflicting(name)
}

func (r *Repo) conflicting(name string) (string, error) {
	for parent := name; ; {
		i := strings.LastIndexByte(parent, '/')
		if parent = parent[:max(i, 0)]; !strings.Contains(parent, "/") {
			break // "refs" is a folder
		}
		if _, ok, err := r.readRef(parent); ok || fault.Is(err, fault.RefBroken) {
			return parent, nil
		} else if err != nil {
			return "", err
		}
	}
	top := r.commonDir
	if r.perWorktree(name) {
		top = r.gitDir
	}
	if below := firstRefBelow(top, filepath.Join(top, filepath.FromSlash(name))); below != "" {
		return below, nil
	}
	return findPackedBelow(filepath.Join(r.commonDir, "packed-refs"), name, r.idLength())
}

// firstRefBelow returns the first file in a folder of refs that is no lock.
func firstRefBelow(top, folder string) (name string) {
	// What cannot be read is not known to be a ref; then making one fails by itself.
	_ = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && path != folder && !strings.HasSuffix(path, ".lock") {
			name = filepath.ToSlash(strings.TrimPrefix(path, top+string(filepath.Separator)))
			return fs.SkipAll
		}
		return nil
	})
	return name
}
