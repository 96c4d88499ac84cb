package eventlog

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"

	"kxm/lib/fault"
)

// Folders of batches that are handed over. A batch moves only one way: its writer
// puts it into the first; the leader moves it to the second, and removes it once it
// is committed. So a batch that is in neither has been committed, and as long as it is
// in the first its writer may withdraw it.
const (
	spoolDir = "spool/"
	takenDir = "spool/taken/"
)

// batch is what one call of Append wants to write.
type batch struct {
	name   string
	writes []Write
}

// spooledWrite is a Write in a batch's file.
type spooledWrite struct {
	Folder     string   `json:"folder"`
	ID         string   `json:"id"`
	Event      string   `json:"event"`
	Signatures []string `json:"signatures"`
}

// maxBatch bounds the file of a batch.
const maxBatch = 1 << 30

// spool hands events over and returns the batch's name. The file appears as a whole.
// It need not survive a crash: until it is committed nobody relies on it.
func (l *Log) spool(writes []Write) (string, error) {
	if _, err := l.r.Folder("kxm/spool/taken"); err != nil {
		return "", err
	}
	list := make([]spooledWrite, len(writes))
	for i, w := range writes {
		list[i] = spooledWrite{w.Folder, w.ID, string(w.Event), []string{}}
		for _, sig := range w.Signatures {
			list[i].Signatures = append(list[i].Signatures, string(sig))
		}
	}
	data, err := json.Marshal(list)
	if err != nil {
		return "", fault.Wrap(err, fault.IOFailed, "cannot encode the events")
	}
	name := strconv.FormatUint(rand.Uint64(), 36) + ".json"
	temp := l.path(spoolDir + "tmp." + name)
	err = os.WriteFile(temp, data, 0o666)
	if err == nil {
		err = l.r.Share(temp)
	}
	if err == nil {
		err = os.Rename(temp, l.path(spoolDir+name))
	}
	if err != nil {
		_ = os.Remove(temp)
		return "", fault.Wrap(err, fault.IOFailed, "cannot hand the events over")
	}
	return name, nil
}

// claim takes over all batches: those that are handed over, and those that a leader
// took that died. Only the holder of the lock does.
func (w *leader) claim() ([]batch, error) {
	names, err := batchNames(w.l.path(spoolDir))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		err := os.Rename(w.l.path(spoolDir+name), w.l.path(takenDir+name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // withdrawn
			return nil, fault.Wrap(err, fault.IOFailed, "cannot take over events")
		}
	}
	if names, err = batchNames(w.l.path(takenDir)); err != nil {
		return nil, err
	}
	var batches []batch
	for _, name := range names {
		b, err := w.l.readBatch(takenDir, name)
		if err != nil {
			// Cut off by a power failure, or never ours. Its writer, if there is one, must
			// not take it for committed, so it stays, and doctor names it.
			continue
		}
		batches = append(batches, b)
	}
	return batches, nil
}

// batchNames lists the batches of a folder, sorted.
func batchNames(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.Wrap(err, fault.IOFailed, "cannot list the events that were handed over")
	}
	var names []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".json") && !strings.HasPrefix(e.Name(), "tmp.") {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// readBatch reads a batch and checks it as Append does.
func (l *Log) readBatch(dir, name string) (batch, error) {
	b := batch{name: name}
	path := l.path(dir + name)
	st, err := os.Lstat(path)
	if err != nil {
		return b, err
	}
	if !st.Mode().IsRegular() || st.Size() > maxBatch {
		return b, fault.New(fault.InvalidStateEvent, "%s is no batch of events", fault.Quote(path))
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return b, err
	}
	var list []spooledWrite
	if err := json.Unmarshal(data, &list); err != nil {
		return b, err
	}
	for _, s := range list {
		w := Write{Folder: s.Folder, ID: s.ID, Event: []byte(s.Event)}
		for _, sig := range s.Signatures {
			w.Signatures = append(w.Signatures, []byte(sig))
		}
		if err := w.check(); err != nil {
			return b, err
		}
		b.writes = append(b.writes, w)
	}
	return b, nil
}

// gone reports whether a batch was committed. The order of the two looks follows the
// batch's way, so that one on its way is seen.
func (l *Log) gone(name string) (bool, error) {
	for _, dir := range []string{spoolDir, takenDir} {
		_, err := os.Lstat(l.path(dir + name))
		if err == nil {
			return false, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return false, fault.Wrap(err, fault.IOFailed, "cannot see whether the events were written")
		}
	}
	return true, nil
}

// withdraw takes a batch back. Only the holder of the lock, or of a batch that
// nobody claimed, may.
func (l *Log) withdraw(name string) error {
	for _, dir := range []string{spoolDir, takenDir} {
		if err := os.Remove(l.path(dir + name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fault.Wrap(err, fault.IOFailed, "cannot withdraw the events")
		}
	}
	return nil
}
