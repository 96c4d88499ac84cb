package repo

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"kxm/lib/fault"
)

// maxSymbolic is how many symbolic refs in a row are followed, as in Git.
const maxSymbolic = 5

// refLimit bounds the file of a ref: a name is a path, so it has at most 4096 bytes.
const refLimit = 8192

func brokenRef(name, why string) error {
	return fault.New(fault.RefBroken, "ref %s is damaged: %s", fault.Quote(name), fault.Printable(why)).
		WithHint("git fsck names what is wrong; the ref is not treated as absent")
}

// Head returns the commit that HEAD stands for, also when it is detached; ok is
// false when HEAD is unborn: it names a branch that has no commit yet.
func (r *Repo) Head(ctx context.Context) (id OID, ok bool, err error) { return r.Ref(ctx, "HEAD") }

// Ref returns the object that a ref ("HEAD", "refs/…") names, through symbolic
// refs and without peeling tags; ok is false when there is no such ref. A ref whose
// file is empty, holds something else or leads in a circle is RefBroken, never
// absent: a store that took one for the other would lose its history.
func (r *Repo) Ref(ctx context.Context, name string) (id OID, ok bool, err error) {
	if !validRefName(name) {
		return "", false, nil
	}
	return r.b.ref(ctx, name)
}

func (b *filesBackend) ref(ctx context.Context, name string) (OID, bool, error) {
	target := name
	for range maxSymbolic + 1 {
		if err := ctx.Err(); err != nil {
			return "", false, err
		}
		v, ok, err := b.r.readRef(target)
		if err != nil || !ok {
			return "", false, err
		}
		if v.symbolic == "" {
			return v.id, true, nil
		}
		if !strings.HasPrefix(v.symbolic, "refs/") || !validRefName(v.symbolic) {
			return "", false, brokenRef(name, "it leads to "+fault.Quote(v.symbolic))
		}
		target = v.symbolic
	}
	return "", false, brokenRef(name, "it leads in a circle, or over more than 5 symbolic refs")
}

// refValue is what one ref holds.
type refValue struct {
	id       OID
	symbolic string
}

// readRef reads one ref: its file, which counts before an entry in packed-refs.
// pack-refs writes packed-refs before it removes files, so a ref that is only being
// moved is seen in one of them; one that is created while we read packed-refs is
// seen by looking at the file again.
func (r *Repo) readRef(name string) (refValue, bool, error) {
	v, ok, err := r.readLooseRef(name)
	if ok || err != nil || !strings.HasPrefix(name, "refs/") || r.perWorktree(name) {
		return v, ok, err
	}
	id, ok, err := findPackedRef(filepath.Join(r.commonDir, "packed-refs"), name, r.idLength())
	if ok || err != nil {
		return refValue{id: id}, ok, err
	}
	return r.readLooseRef(name)
}

// perWorktree reports whether each worktree has its own ref of this name.
func (r *Repo) perWorktree(name string) bool {
	for _, prefix := range []string{"refs/bisect/", "refs/worktree/", "refs/rewritten/"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return !strings.HasPrefix(name, "refs/")
}

func (r *Repo) readLooseRef(name string) (refValue, bool, error) {
	dir := r.commonDir
	if r.perWorktree(name) {
		dir = r.gitDir
	}
	path := filepath.Join(dir, filepath.FromSlash(name))
	if target, err := os.Readlink(path); err == nil && strings.HasPrefix(target, "refs/") {
		return refValue{symbolic: target}, true, nil // how old versions wrote a symbolic ref
	}
	data, err := readBounded(path, refLimit)
	switch {
	case err == nil:
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return refValue{}, false, nil
	case errors.Is(err, errNotRegular) && isFolder(path):
		return refValue{}, false, nil // refs/heads/a exists, so refs/heads is a folder
	case errors.Is(err, errNotRegular):
		return refValue{}, false, brokenRef(name, "it is not a regular file")
	default:
		return refValue{}, false, fault.Wrap(err, fault.IOFailed, "cannot read ref %s", fault.Quote(name))
	}
	v, ok := parseRef(string(data), r.idLength())
	if !ok {
		why := "it holds neither an object id nor the name of a ref"
		if len(data) == 0 {
			why = "it is empty"
		}
		return refValue{}, false, brokenRef(name, why)
	}
	return v, true, nil
}

// parseRef decodes a ref's file: "ref: <name>" or an id, both with trailing white
// space.
func parseRef(text string, idLen int) (refValue, bool) {
	if target, ok := strings.CutPrefix(text, "ref:"); ok {
		target = strings.Trim(target, " \t\r\n")
		return refValue{symbolic: target}, target != ""
	}
	if len(text) < idLen || len(text) > idLen && !isSpace(text[idLen]) {
		return refValue{}, false
	}
	id := strings.ToLower(text[:idLen])
	return refValue{id: OID(id)}, isHex(id)
}

// ValidRefName reports whether a ref may have this name, by the rules of
// `git check-ref-format`.
func ValidRefName(name string) bool { return validRefName(name) }

// validRefName applies the rules of `git check-ref-format`, so that a name may be
// joined into a path; one level is enough ("HEAD").
func validRefName(name string) bool {
	if name == "" || name == "@" || name[0] == '/' || strings.HasSuffix(name, "/") || strings.HasSuffix(name, ".") {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part[0] == '.' || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	for i := range len(name) {
		c := name[i]
		if c < ' ' || c == 0x7f || strings.IndexByte(` ~^:?*[\`, c) >= 0 {
			return false
		}
	}
	return !strings.Contains(name, "..") && !strings.Contains(name, "@{")
}
