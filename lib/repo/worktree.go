package repo

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"kxm/lib/fault"
)

// Dirty reports whether git sees any difference between HEAD, the index and the
// worktree at or below the paths (from the top of the worktree): modified, staged,
// deleted, untracked and ignored files count. Without a worktree nothing can be
// dirty. Filters, line endings and sparse checkouts are git's business, which is
// why git is asked.
func (r *Repo) Dirty(ctx context.Context, paths ...string) (bool, error) {
	if r.Bare() || len(paths) == 0 {
		return false, nil
	}
	args := []string{"status", "--porcelain=v1", "-z", "--untracked-files=all", "--ignored", "--"}
	out, err := r.run(ctx, nil, append(args, paths...)...)
	return len(out) > 0, err
}

// CommitInfo is one line of a history.
type CommitInfo struct {
	OID     OID
	Author  Person
	Subject string
}

// PathHistory returns the commits reachable from a commit ("": HEAD) that touch a
// path (from the top of the worktree), newest first, at most limit (0: all). An
// unborn HEAD has none.
func (r *Repo) PathHistory(ctx context.Context, from OID, path string, limit int) ([]CommitInfo, error) {
	if from == "" {
		head, ok, err := r.Head(ctx)
		if err != nil || !ok {
			return []CommitInfo{}, err
		}
		from = head
	}
	// In bytes that no name or subject holds; %aN would apply a .mailmap, which the
	// worktree can change.
	args := []string{"-c", "log.follow=false", "log", "-z", "--no-show-signature", "--no-color", "--encoding=UTF-8", "--format=%H%n%an%n%ae%n%aI%n%s"}
	if limit > 0 {
		args = append(args, "--max-count="+strconv.Itoa(limit))
	}
	out, err := r.run(ctx, nil, append(args, string(from), "--", path)...)
	if err != nil {
		return nil, err
	}
	history := []CommitInfo{}
	for record := range bytes.SplitSeq(out, []byte{0}) {
		if len(record) == 0 {
			continue
		}
		fields := strings.SplitN(string(record), "\n", 5)
		if len(fields) != 5 {
			return nil, fault.New(fault.GitFailed, "git log answered %s", fault.Quote(string(record)))
		}
		// A damaged date, which old tools wrote, is no reason to hide the commit.
		when, _ := time.Parse(time.RFC3339, fields[3])
		history = append(history, CommitInfo{
			OID:     OID(fields[0]),
			Author:  Person{Name: fields[1], Email: fields[2], When: when},
			Subject: strings.TrimSuffix(fields[4], "\n"),
		})
	}
	return history, nil
}

// MergeLabels name the three sides in the markers of a conflict.
type MergeLabels struct{ Ours, Base, Theirs string }

// MergeFile merges the changes from base to theirs into ours, as `git merge-file`
// does. conflict reports that merged holds conflict markers.
func (r *Repo) MergeFile(ctx context.Context, base, ours, theirs []byte, labels MergeLabels) (merged []byte, conflict bool, err error) {
	dir, err := os.MkdirTemp("", "kxm-merge-")
	if err != nil {
		return nil, false, fault.Wrap(err, fault.IOFailed, "cannot make a temporary folder")
	}
	defer os.RemoveAll(dir)
	args := []string{"merge-file", "-p", "-L", labels.Ours, "-L", labels.Base, "-L", labels.Theirs}
	for i, side := range [][]byte{ours, base, theirs} {
		path := filepath.Join(dir, fmt.Sprintf("side%d", i))
		if err := os.WriteFile(path, side, 0o600); err != nil {
			return nil, false, fault.Wrap(err, fault.IOFailed, "cannot write a temporary file")
		}
		args = append(args, path)
	}
	out, err := r.run(ctx, nil, args...)
	// The exit status is the number of conflicts, 127 for more; 255 is a failure.
	if code, ok := GitExitCode(err); ok && code > 0 && code < 128 {
		return out, true, nil
	}
	if err != nil {
		return nil, false, err
	}
	return out, false, nil
}
