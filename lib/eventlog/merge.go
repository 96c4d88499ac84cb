package eventlog

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"kxm/lib/repo"
)

// maxDepth is how deep folders are merged, counted from the root. Ours have four
// levels; below it lies only what a stranger put there.
const maxDepth = 8

// union returns the tree that holds what either tree holds, and appends to objects
// the trees that are new. It does not depend on the order of its arguments, nor, over
// several unions, on which came first. Where two trees differ in one path, better
// decides.
func (l *Log) union(ctx context.Context, a, b repo.OID, objects *[]repo.NewObject) (repo.OID, error) {
	return l.unionAt(ctx, place{kind: top}, 0, a, b, objects)
}

func (l *Log) unionAt(ctx context.Context, p place, depth int, a, b repo.OID, objects *[]repo.NewObject) (repo.OID, error) {
	if a == b {
		return a, nil
	}
	if depth == maxDepth {
		return min(a, b), nil
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	left, err := l.entries(ctx, p, a)
	if err != nil {
		return "", err
	}
	right, err := l.entries(ctx, p, b)
	if err != nil {
		return "", err
	}
	merged := make([]repo.TreeEntry, 0, max(len(left), len(right))+1)
	for len(left) > 0 || len(right) > 0 {
		switch order := compareHeads(left, right); {
		case order < 0:
			merged, left = append(merged, left[0]), left[1:]
		case order > 0:
			merged, right = append(merged, right[0]), right[1:]
		default:
			x, y := left[0], right[0]
			left, right = left[1:], right[1:]
			switch {
			case x == y:
			case x.Mode == repo.ModeFolder && y.Mode == repo.ModeFolder:
				x.OID, err = l.unionAt(ctx, p.child(x.Name), depth+1, x.OID, y.OID, objects)
			default:
				x, err = l.better(ctx, p, x, y)
			}
			if err != nil {
				return "", err
			}
			merged = append(merged, x)
		}
	}
	data := repo.EncodeTree(merged)
	id := l.r.HashObject("tree", data)
	if id != a && id != b {
		*objects = append(*objects, repo.NewObject{Type: "tree", Data: data})
	}
	return id, nil
}

// compareHeads compares the names of the first entries; a list that has ended comes
// last.
func compareHeads(a, b []repo.TreeEntry) int {
	switch {
	case len(b) == 0:
		return -1
	case len(a) == 0:
		return 1
	}
	return cmp.Compare(a[0].Name, b[0].Name)
}

// missing calls fn with each file of ours that the tree have holds and the tree in
// does not, nor a better one under its name. A tree "" holds nothing. Only folders
// that differ are read.
func (l *Log) missing(ctx context.Context, have, in repo.OID, fn func(p place, e repo.TreeEntry)) error {
	return l.missingAt(ctx, place{kind: top}, have, in, fn)
}

func (l *Log) missingAt(ctx context.Context, p place, have, in repo.OID, fn func(p place, e repo.TreeEntry)) error {
	if have == in || have == "" {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	entries, err := l.entries(ctx, p, have)
	if err != nil {
		return err
	}
	var other []repo.TreeEntry
	if in != "" {
		if other, err = l.entries(ctx, p, in); err != nil {
			return err
		}
	}
	for _, e := range entries {
		o, found := find(other, e.Name)
		if o == e || !p.isOurs(e) {
			continue
		}
		if e.Mode != repo.ModeFolder {
			stays := e
			if found {
				if stays, err = l.better(ctx, p, e, o); err != nil {
					return err
				}
			}
			if stays == e {
				fn(p, e)
			}
			continue
		}
		if o.Mode != repo.ModeFolder {
			o.OID = ""
		}
		if err := l.missingAt(ctx, p.child(e.Name), e.OID, o.OID, fn); err != nil {
			return err
		}
	}
	return nil
}

// difference counts what one tree holds and another does not.
type difference struct {
	events, signatures int
	others             int // format-1
}

func (d difference) none() bool { return d == difference{} }

func (l *Log) count(ctx context.Context, have, in repo.OID) (d difference, err error) {
	err = l.missing(ctx, have, in, func(_ place, e repo.TreeEntry) {
		switch {
		case strings.HasSuffix(e.Name, ".json"):
			d.events++
		case strings.HasSuffix(e.Name, ".sig"):
			d.signatures++
		default:
			d.others++
		}
	})
	return d, err
}

// How a log that somebody else made is taken in.
type outcome byte

const (
	unchanged outcome = iota // it holds nothing that ours does not follow
	forwarded                // ours moved to it
	restacked                // our unpublished commits became one on top of it
	merged                   // a merge commit joins both
)

// adopt takes in the commit theirs and returns the commit that the log is at then,
// and at before. The tree of the log only grows by it. Our commits that no remote has
// become one on top of theirs, so that the history stays a line; where one has them,
// both are joined by a merge that every clone makes alike.
func (w *leader) adopt(ctx context.Context, theirs repo.OID) (now, before repo.OID, how outcome, err error) {
	l := w.l
	for try := 0; ; try++ {
		ours, err := l.tip(ctx)
		if err != nil {
			return "", "", unchanged, err
		}
		now, how, err := w.adoptInto(ctx, ours, theirs)
		if isMoved(err) && try < maxMoved {
			continue // git moved the ref
		}
		return now, ours, how, err
	}
}

func (w *leader) adoptInto(ctx context.Context, ours, theirs repo.OID) (repo.OID, outcome, error) {
	l := w.l
	if theirs == "" || theirs == ours {
		return ours, unchanged, nil
	}
	their, err := l.r.Commit(ctx, theirs)
	if err != nil {
		return "", unchanged, refBroken(err)
	}
	if ours == "" {
		if _, err := l.at(ctx, theirs); err != nil {
			return "", unchanged, err
		}
		return theirs, forwarded, w.set(ctx, "", theirs, repo.UpdateOptions{Message: "kxm: first sync"})
	}
	if ahead, err := l.isAncestor(ctx, theirs, ours); err != nil || ahead {
		return ours, unchanged, err
	}
	our, err := l.r.Commit(ctx, ours)
	if err != nil {
		return "", unchanged, refBroken(err)
	}
	var objects []repo.NewObject
	tree, err := l.union(ctx, our.Tree, their.Tree, &objects)
	if err != nil {
		return "", unchanged, err
	}
	// What theirs lacks of ours. Being behind it in history is no proof that it has
	// everything: its author may have dropped something.
	added, err := l.count(ctx, our.Tree, their.Tree)
	if err != nil {
		return "", unchanged, err
	}
	behind, err := l.isAncestor(ctx, ours, theirs)
	if err != nil {
		return "", unchanged, err
	}
	published := false
	if !behind {
		if published, err = l.isPublished(ctx, ours, theirs); err != nil {
			return "", unchanged, err
		}
	}
	if added.none() && !published {
		return theirs, forwarded, w.set(ctx, ours, theirs, repo.UpdateOptions{Message: "kxm: sync"})
	}
	when := our.Committer.When
	if their.Committer.When.After(when) {
		when = their.Committer.When
	}
	parents, message, how := []repo.OID{theirs}, messageOf(added), restacked
	if published {
		parents, message, how = []repo.OID{ours, theirs}, "kxm: merge", merged
		slices.Sort(parents)
	}
	commit := encodeCommit(tree, parents, when, message)
	return l.r.HashObject("commit", commit), how, w.move(ctx, ours, commit, message, objects)
}
