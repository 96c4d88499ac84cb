package main

import (
	"context"
	"io"
	"mime"
	"os"
	"path/filepath"
	"strings"

	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/steel"
)

// uploadCmd gives files to the page.
type uploadCmd struct {
	onElement
	Files    []string `arg:"" name:"file" help:"The files, in order."`
	MaxBytes size     `placeholder:"N" default:"50MiB" help:"Largest size of all files together; 0 is no limit."`
}

// Codes names what the command can end with.
func (*uploadCmd) Codes() []fault.Code {
	return locatingCodes(fault.SteelFileUnreadable, fault.SteelTargetKind, fault.SteelTargetDisabled, fault.SteelValueDiffers)
}

// Help says how files come into the page.
func (*uploadCmd) Help() string {
	return `The files are read here, and made anew in the page as if a person had chosen them; they take the place of those that were chosen before. The element is the page's own input for files, which may be hidden, or its label.

` + targetHelp
}

// Run prints the action.
func (c *uploadCmd) Run(s *cli.Session) error {
	choice, err := c.meant()
	if err != nil {
		return err
	}
	var files []steel.UploadFile
	c.before = func(*desk) (err error) {
		files, err = readFiles(s, c.Files, int64(c.MaxBytes))
		return err
	}
	return c.act(s, "upload", func(ctx context.Context, p *steel.Page) (*steel.Action, error) {
		return p.Upload(ctx, c.aim, choice, files)
	})
}

// readFiles reads files that together hold no more than most bytes; 0 is no limit.
func readFiles(s *cli.Session, names []string, most int64) ([]steel.UploadFile, error) {
	var files []steel.UploadFile
	total := int64(0)
	for _, name := range names {
		left := int64(-1)
		if most > 0 {
			left = most - total
		}
		data, err := readRegular(s.Path(name), left)
		if err != nil {
			return nil, fault.Wrap(err, fault.SteelFileUnreadable, "%s cannot be read", fault.Quote(name))
		}
		if total += int64(len(data)); most > 0 && total > most {
			return nil, fault.New(fault.SteelTooLarge, "the files hold more than %d bytes", most).WithHint("--max-bytes N")
		}
		kind, _, _ := strings.Cut(mime.TypeByExtension(filepath.Ext(name)), ";")
		files = append(files, steel.UploadFile{Name: strings.ToValidUTF8(filepath.Base(name), "\ufffd"), Type: kind, Data: data})
	}
	return files, nil
}

// readRegular reads a file, up to one byte more than most unless that is negative. What
// is no regular file, such as a pipe that nobody writes to, is not opened.
func readRegular(path string, most int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &os.PathError{Op: "read", Path: path, Err: os.ErrInvalid}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if most < 0 {
		return io.ReadAll(f)
	}
	return io.ReadAll(io.LimitReader(f, most+1))
}
