package main

import (
	"context"
	"errors"
	"io"

	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/steel"
)

// shotCmd writes a picture of the tab.
type shotCmd struct {
	onTab
	oneOf
	Full    bool   `help:"The whole page instead of what the window shows."`
	Within  string `placeholder:"TARGET" help:"Only this element."`
	Image   string `enum:"png,jpeg,webp" default:"png" placeholder:"FORM" help:"png, jpeg or webp."`
	Quality int    `placeholder:"N" help:"Of jpeg and webp: 1 to 100."`
}

// Codes names what the command can end with.
func (*shotCmd) Codes() []fault.Code {
	return locatingCodes(fault.SteelUnsupported)
}

// Help says where the picture goes.
func (*shotCmd) Help() string {
	return `The picture goes to the file that -o names, with mode 0600 and never through a symbolic link; standard output tells of it. With -o - the picture itself is printed. A page that is higher than 16384 pixels is cut. An element of --within is scrolled into the window first.

` + targetHelp
}

// Run writes the picture.
func (c *shotCmd) Run(s *cli.Session) error {
	switch {
	case c.Quality != 0 && c.Image == "png":
		return fault.New(fault.Usage, "--quality is of jpeg and webp")
	case c.Quality < 0 || c.Quality > 100:
		return fault.New(fault.Usage, "--quality lies between 1 and 100")
	case c.Full && c.Within != "":
		return fault.New(fault.Usage, "--full and --within both say what the picture shows")
	case c.Nth != 0 && c.Within == "":
		return fault.New(fault.Usage, "--nth is of --within")
	}
	choice, err := c.choice()
	if err == nil && c.Within != "" {
		c.aim, err = steel.ParseAim(c.Within)
	}
	if err != nil {
		return err
	}
	to, err := destination(s, "picture")
	if err != nil {
		return err
	}
	return c.run(s, "shot", true, func(ctx context.Context, d *desk, p *steel.Page) error {
		shot, err := p.Shot(ctx, &steel.ShotOptions{Full: c.Full, Within: c.aim, Choice: choice, Image: c.Image, Quality: c.Quality})
		if err != nil {
			return err
		}
		return d.save(to, shot.Bytes, &file{Width: shot.Width, Height: shot.Height, Cut: shot.Cut})
	})
}

// pdfCmd prints the tab as a document.
type pdfCmd struct{ onTab }

// Codes names what the command can end with.
func (*pdfCmd) Codes() []fault.Code { return attachingCodes(fault.SteelUnsupported) }

// Help says where the document goes.
func (*pdfCmd) Help() string {
	return `The document goes to the file that -o names, with mode 0600 and never through a symbolic link; standard output tells of it. With -o - the document itself is printed.`
}

// Run writes the document.
func (c *pdfCmd) Run(s *cli.Session) error {
	to, err := destination(s, "document")
	if err != nil {
		return err
	}
	return c.run(s, "pdf", true, func(ctx context.Context, d *desk, p *steel.Page) error {
		data, err := p.PDF(ctx)
		if err != nil {
			return err
		}
		return d.save(to, data, &file{})
	})
}

// size is a flag's number of bytes: 1048576, 1MiB or 1GiB.
type size int64

// UnmarshalText reads it.
func (n *size) UnmarshalText(text []byte) error {
	v, err := steel.ParseSize(string(text))
	if err != nil {
		return fault.New(fault.Usage, "%s is no size", fault.Quote(string(text))).WithHint("a number of bytes, or of KiB, MiB or GiB, such as 50MiB; 0 is no limit")
	}
	*n = size(v)
	return nil
}

// downloadCmd reads a file with the tab's cookies.
type downloadCmd struct {
	onTab
	oneOf
	Target   string `arg:"" optional:"" name:"target" help:"The link, or the picture."`
	URL      string `placeholder:"URL" help:"The file: http, https, blob or data."`
	MaxBytes size   `placeholder:"N" default:"100MiB" help:"Largest file; 0 is no limit."`
}

// Codes names what the command can end with.
func (*downloadCmd) Codes() []fault.Code {
	return locatingCodes(fault.SteelURLRefused, fault.SteelNavigationFailed, fault.SteelHTTPStatus, fault.SteelTargetKind)
}

// Help says how the file is read.
func (*downloadCmd) Help() string {
	return `The file is read with the tab's cookies, over the connection to the browser: nothing of it is left on the server. It goes to the file that -o names, with mode 0600, wholly or not at all, and never through a symbolic link.

` + targetHelp
}

// file reads which file is meant.
func (c *downloadCmd) file() (steel.Choice, error) {
	choice, err := c.choice()
	switch {
	case err != nil:
		return choice, err
	case (c.Target == "") == (c.URL == ""):
		return choice, fault.New(fault.Usage, "one file is needed").WithHint("kxm-steel download TARGET -o FILE, or --url URL")
	case c.URL != "":
		return choice, steel.CheckFileURL(c.URL)
	}
	c.aim, err = steel.ParseAim(c.Target)
	return choice, err
}

// read reads the file.
func (c *downloadCmd) read(ctx context.Context, p *steel.Page, choice steel.Choice, w io.Writer) (*steel.File, error) {
	if c.URL != "" {
		return p.Download(ctx, c.URL, int64(c.MaxBytes), w)
	}
	return p.DownloadFrom(ctx, c.aim, choice, int64(c.MaxBytes), w)
}

// Run writes the file.
func (c *downloadCmd) Run(s *cli.Session) error {
	to, err := destination(s, "file")
	if err != nil {
		return err
	}
	choice, err := c.file()
	if err != nil {
		return err
	}
	if c.Timeout == 0 {
		c.Timeout = duration(loadTime)
	}
	return c.run(s, "download", false, func(ctx context.Context, d *desk, p *steel.Page) error {
		if to == "-" {
			_, err := c.read(ctx, p, choice, s)
			return err
		}
		f, err := createPrivate(s.Path(to))
		if err != nil {
			return err
		}
		got, err := c.read(ctx, p, choice, f)
		if err != nil {
			return errors.Join(err, f.abandon())
		}
		return d.keep(f, to, &file{URL: got.URL, Status: got.Status, MIME: got.MIME})
	})
}
