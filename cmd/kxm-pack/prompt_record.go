package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/ndjson"
	"kxm/lib/prompt"
)

// packFile is the file beside a run that holds its pack.
const packFile = "context.json"

// recordCmd records a pack.
type recordCmd struct {
	RunDir string `name:"run" placeholder:"DIR" required:"" help:"The folder of the run, which must be there; the pack is DIR/context.json, replaced as a whole."`
}

// Codes names what the command can end with.
func (*recordCmd) Codes() []fault.Code { return packCodes(fault.PromptRecordFailed) }

// Run records the pack and says where.
func (c *recordCmd) Run(s *cli.Session) error {
	p, raw, err := readPack(s)
	if err != nil {
		return err
	}
	path, err := record(s, c.RunDir, raw)
	if err != nil {
		return err
	}
	o := ndjson.NewObject(nil)
	o.Text("schema", prompt.RecordSchema)
	o.Text("path", maskText(path))
	o.Text("packId", p.ID)
	emit(s, o.End())
	return nil
}

// record writes a pack beside a run, with the time unless it has one, and returns the
// file's name. A recorded pack says nothing about what was delivered.
func record(s *cli.Session, dir string, pack []byte) (path string, err error) {
	path = filepath.Join(dir, packFile)
	line := append(prompt.RecordJSON(pack, s.Now().Format(time.RFC3339)), '\n')
	if err := cli.ReplaceFile(s.Path(path), line); err != nil {
		return path, fault.Wrap(pathCause(err), fault.PromptRecordFailed, "cannot record the pack in %s", fault.Quote(path))
	}
	return path, nil
}

// showCmd prints a recorded pack.
type showCmd struct {
	RunDir string `name:"run" placeholder:"DIR" required:"" help:"The folder of the run."`
}

// Codes names what the command can end with.
func (*showCmd) Codes() []fault.Code { return packCodes(fault.PromptNotRecorded) }

// Run prints the pack.
func (c *showCmd) Run(s *cli.Session) error {
	path := filepath.Join(c.RunDir, packFile)
	raw, err := os.ReadFile(s.Path(path))
	if errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.PromptNotRecorded, "no pack is recorded in %s", fault.Quote(c.RunDir))
	}
	if err != nil {
		return fault.Wrap(pathCause(err), fault.IOFailed, "cannot read %s", fault.Quote(path))
	}
	if _, err := prompt.ParsePack(raw); err != nil {
		return fault.Place(err, path)
	}
	emit(s, prompt.RecordJSON(raw, ""))
	return nil
}
