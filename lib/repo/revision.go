package repo

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"kxm/lib/fault"
)

// Resolve returns the commit that a revision names: a full id, a ref by its full
// or short name, "HEAD" or "@", each with any of ~N, ^N and ^{commit} behind it;
// annotated tags are peeled. Everything else that `git rev-parse` understands
// (abbreviated ids, reflogs, dates, searches) is answered by git. RevisionNotFound
// means that it names no commit; one that begins with "-" is refused, so that
// nobody's data becomes an option.
func (r *Repo) Resolve(ctx context.Context, rev string) (OID, error) {
	if rev == "" || rev[0] == '-' || strings.ContainsAny(rev, "\x00\n") {
		return "", fault.New(fault.RevisionNotFound, "%s is no revision", fault.Quote(rev))
	}
	return r.b.resolve(ctx, rev)
}

// errAskGit says that a revision is not of the simple kind.
var errAskGit = errors.New("ask git")

func (b *filesBackend) resolve(ctx context.Context, rev string) (OID, error) {
	id, err := b.resolveSimple(ctx, rev)
	if errors.Is(err, errAskGit) {
		return b.r.native.resolve(ctx, rev)
	}
	return id, err
}

func (b *filesBackend) resolveSimple(ctx context.Context, rev string) (OID, error) {
	name, steps := rev, ""
	if i := strings.IndexAny(rev, "~^"); i >= 0 {
		name, steps = rev[:i], rev[i:]
	}
	id, err := b.lookUp(ctx, name)
	if err != nil {
		return "", err
	}
	if id, err = b.peel(ctx, rev, id); err != nil {
		return "", err
	}
	for steps != "" {
		op := steps[0]
		steps = steps[1:]
		if rest, ok := strings.CutPrefix(steps, "{commit}"); ok && op == '^' {
			steps = rest
			continue
		}
		if strings.HasPrefix(steps, "{") || op != '~' && op != '^' {
			return "", errAskGit
		}
		end := 0
		for end < len(steps) && '0' <= steps[end] && steps[end] <= '9' {
			end++
		}
		n := 1
		if end > 0 {
			if n, err = strconv.Atoi(steps[:end]); err != nil || end > 9 {
				return "", errAskGit
			}
		}
		steps = steps[end:]
		if op == '^' {
			id, err = b.parent(ctx, rev, id, n)
		} else {
			for range n {
				if id, err = b.parent(ctx, rev, id, 1); err != nil {
					break
				}
			}
		}
		if err != nil {
			return "", err
		}
	}
	return id, nil
}

// lookUp finds what the name in front of ~ and ^ stands for, by the order of
// `git rev-parse`.
func (b *filesBackend) lookUp(ctx context.Context, name string) (OID, error) {
	if len(name) == b.r.idLength() && isHex(name) {
		return OID(name), nil
	}
	if name == "@" {
		name = "HEAD"
	}
	if !validRefName(name) {
		return "", errAskGit
	}
	for _, form := range []string{"", "refs/", "refs/tags/", "refs/heads/", "refs/remotes/", "refs/remotes//HEAD"} {
		full := form + name
		if form == "refs/remotes//HEAD" {
			full = "refs/remotes/" + name + "/HEAD"
		}
		id, ok, err := b.ref(ctx, full)
		if form == "" && name != "HEAD" && fault.Is(err, fault.RefBroken) && !strings.Contains(name, "/") {
			continue // a file of the Git directory that is no ref: a branch may be called "config"
		}
		if err != nil {
			return "", err
		}
		if ok {
			return id, nil
		}
		if full == "HEAD" {
			return "", fault.New(fault.RevisionNotFound, "HEAD names no commit: its branch has none yet")
		}
	}
	return "", errAskGit
}

// peel follows annotated tags to a commit.
func (b *filesBackend) peel(ctx context.Context, rev string, id OID) (OID, error) {
	for range 100 { // tags of tags are rare, and a damaged one must not loop
		typ, data, err := b.r.Object(ctx, id)
		if fault.Is(err, fault.ObjectMissing) && string(id) == rev {
			e := fault.New(fault.RevisionNotFound, "revision %s names no commit", fault.Quote(rev))
			e.Err = err
			return "", e
		}
		if err != nil {
			return "", err
		}
		switch typ {
		case "commit":
			return id, nil
		case "tag":
			target, _, ok := parseTag(data, b.r.idLength())
			if !ok {
				return "", corrupt(id, "does not decode as a tag")
			}
			id = target
		default:
			return "", fault.New(fault.RevisionNotFound, "revision %s names a %s, no commit", fault.Quote(rev), typ)
		}
	}
	return "", corrupt(id, "is a tag of a tag of more than 100 tags")
}

// parent returns the n-th parent of a commit; the 0th is the commit itself.
func (b *filesBackend) parent(ctx context.Context, rev string, id OID, n int) (OID, error) {
	if n == 0 {
		return id, nil
	}
	c, err := b.r.Commit(ctx, id)
	if err != nil {
		return "", err
	}
	if n > len(c.Parents) {
		return "", fault.New(fault.RevisionNotFound, "revision %s names no commit: %s has no parent %d", fault.Quote(rev), id, n)
	}
	return c.Parents[n-1], nil
}
