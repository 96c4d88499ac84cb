package eventlog

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"kxm/lib/fault"
	"kxm/lib/repo"
)

// crowded is how many files one of the 256 folders of loose objects holds before our
// own are packed: git would pack all of the user's at 27, in the middle of the user's
// next command.
const crowded = 20

// Compact packs the log's loose objects. It changes no event and removes nothing but
// the loose copies of what is in a pack. Objects that were packed at the last time
// are not looked at again.
func (l *Log) Compact(ctx context.Context) error {
	tip, err := l.tip(ctx)
	if err != nil || tip == "" {
		return err
	}
	if err := l.prepare(); err != nil {
		return err
	}
	args := []string{"rev-list", "--objects", "--unpacked", string(tip)}
	if last := l.lastCompacted(ctx); last != "" {
		args = append(args, "--not", string(last))
	}
	list, err := l.r.Git(ctx, nil, args...)
	if err != nil {
		return err
	}
	if len(list) > 0 {
		base := filepath.Join(l.r.ObjectsDir(), "pack", "pack")
		if _, err := l.r.Git(ctx, bytes.NewReader(list), "pack-objects", "-q", base); err != nil {
			return err
		}
		if _, err := l.r.Git(ctx, nil, "prune-packed", "-q"); err != nil {
			return err
		}
	}
	return l.noteCompacted(tip)
}

// fewCommits is how many commits are not worth a pack. With five objects each they
// make half of a crowd.
const fewCommits = crowded / 2 * 256 / 5

// Tidy is Compact where loose objects have piled up, which costs one look at a folder
// to find out. Writers should call it when they are done.
func (l *Log) Tidy(ctx context.Context) error {
	entries, err := os.ReadDir(filepath.Join(l.r.ObjectsDir(), "17"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.Wrap(err, fault.IOFailed, "cannot list loose objects")
	}
	if len(entries) <= crowded {
		return nil
	}
	// The crowd may be the user's own: then packing ours again and again does not help.
	tip, err := l.tip(ctx)
	if err != nil || tip == "" {
		return err
	}
	args := []string{"rev-list", "--max-count=" + strconv.Itoa(fewCommits), string(tip)}
	if last := l.lastCompacted(ctx); last != "" {
		args = append(args, "--not", string(last))
	}
	commits, err := l.r.Git(ctx, nil, args...)
	if err != nil || bytes.Count(commits, []byte("\n")) < fewCommits {
		return err
	}
	return l.Compact(ctx)
}

// lastCompacted returns the commit that was packed last, as long as it exists.
func (l *Log) lastCompacted(ctx context.Context) repo.OID {
	data, err := os.ReadFile(l.path("compacted"))
	if err != nil {
		return ""
	}
	id := repo.OID(strings.TrimSpace(string(data)))
	if typ, _, err := l.r.Header(ctx, id); err != nil || typ != "commit" {
		return ""
	}
	return id
}

func (l *Log) noteCompacted(tip repo.OID) error {
	if err := l.replace("compacted", []byte(string(tip)+"\n")); err != nil {
		return fault.Wrap(err, fault.IOFailed, "cannot note what is packed")
	}
	return nil
}
