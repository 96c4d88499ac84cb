package eventlog

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"strings"

	"kxm/lib/fault"
	"kxm/lib/lock"
)

// CloneID returns eight hexadecimal digits that stand for this clone, made at the
// first call. All worktrees of a repository share them; they are in no commit, so a
// clone has its own, and a copy of the folder has the same.
func (l *Log) CloneID(ctx context.Context) (string, error) {
	if id, err := l.readCloneID(); id != "" || err != nil {
		return id, err
	}
	if err := l.prepare(); err != nil {
		return "", err
	}
	lk, err := lock.Acquire(ctx, l.path(lockName), l.wait)
	if fault.Is(err, fault.LockHeld) {
		return "", busy(err)
	}
	if err != nil {
		return "", err
	}
	defer lk.Release()
	if id, err := l.readCloneID(); id != "" || err != nil {
		return id, err
	}
	var raw [4]byte
	rand.Read(raw[:]) // never fails
	id := hex.EncodeToString(raw[:])
	if err := l.replace("clone", []byte(id+"\n")); err != nil {
		return "", fault.Wrap(err, fault.IOFailed, "cannot write the id of the clone")
	}
	return id, nil
}

// readCloneID returns "" when there is none, or one that is damaged: a power failure
// may have emptied the file, and any other id does as well.
func (l *Log) readCloneID() (string, error) {
	data, err := os.ReadFile(l.path("clone"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fault.Wrap(err, fault.IOFailed, "cannot read the id of the clone")
	}
	id := strings.TrimSuffix(string(data), "\n")
	if len(id) != 8 || !isHex(id) {
		return "", nil
	}
	return id, nil
}
