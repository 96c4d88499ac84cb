package main

import (
	"bytes"
	"io"
	"os"

	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/prompt"
)

// snapshotCmd finds what a history last delivered.
type snapshotCmd struct {
	History string `placeholder:"FILE" required:"" help:"The session's history: NDJSON entries, read from the end and no further than the answer."`
	Leaf    string `placeholder:"ID" help:"The entry that the active branch ends with; default: the last."`
}

// Codes names what the command can end with.
func (*snapshotCmd) Codes() []fault.Code {
	return []fault.Code{fault.PromptHistoryInvalid, fault.PromptNoSnapshot}
}

// Run prints the snapshot.
func (c *snapshotCmd) Run(s *cli.Session) error {
	snapshot, err := delivered(s, c.History, c.Leaf)
	if err != nil {
		return err
	}
	if snapshot == nil {
		return fault.New(fault.PromptNoSnapshot, "no update on the branch of %s still counts", fault.Quote(c.History))
	}
	emit(s, snapshot.AppendJSON(nil))
	return nil
}

// delivered finds the newest snapshot that counts, nil if none does.
func delivered(s *cli.Session, name, leaf string) (*prompt.Snapshot, error) {
	r, size, closeFile, err := openHistory(s, name)
	if err != nil {
		return nil, err
	}
	defer closeFile()
	found, err := prompt.Delivered(r, size, leaf)
	if err != nil {
		return nil, fault.Place(err, sourceName(name))
	}
	if found.Malformed != nil {
		s.Warn("the newest update in %s carries no snapshot that parses, which counts as none: %v", fault.Quote(name), found.Malformed)
	}
	return found.Snapshot, nil
}

// openHistory opens a history for reading from its end. What is no regular file, such
// as a pipe, has to be read whole.
func openHistory(s *cli.Session, name string) (r io.ReaderAt, size int64, closeFile func(), err error) {
	f, isFile := s.In.(*os.File)
	closeFile = func() {}
	if name != "-" {
		if f, err = os.Open(s.Path(name)); err != nil {
			_, err = s.ReadFile(name) // the error in the words of every command
			return nil, 0, nil, err
		}
		isFile = true
		closeFile = func() { _ = f.Close() } // it was only read
	}
	if isFile {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			return f, info.Size(), closeFile, nil
		}
	}
	data, err := s.ReadFile(name)
	closeFile()
	return bytes.NewReader(data), int64(len(data)), func() {}, err
}
