package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"

	"kxm/lib/cli"
	"kxm/lib/config"
	"kxm/lib/fault"
	"kxm/lib/ndjson"
	"kxm/lib/steel"
)

// desk is what a command works with.
type desk struct {
	*steel.Service
	session *cli.Session
}

// settingCodes are how reading the settings can end.
func settingCodes(more ...fault.Code) []fault.Code {
	return append(more, fault.ConfigInvalid, fault.ConfigKeyUnknown, fault.ConfigKeyNotAllowed, fault.SteelNoEndpoint, fault.SteelBadEndpoint,
		fault.SteelInsecureEndpoint, fault.SteelNoKey, fault.SteelBadKey, fault.SteelTimeoutRange, fault.SteelStateUnsafe)
}

// askingCodes are how a question to the server can end.
func askingCodes(more ...fault.Code) []fault.Code {
	return settingCodes(append(more, fault.SteelUnauthorized, fault.SteelKeyCommandFailed, fault.SteelUnreachable, fault.SteelNotSteel, fault.SteelRedirected,
		fault.SteelServerError, fault.SteelServerBusy, fault.SteelRateLimited, fault.SteelBadResponse)...)
}

// browserCodes are how a command that also asks the browser can end, more than the
// others.
func browserCodes(more ...fault.Code) []fault.Code {
	return append(more, fault.SteelNoBrowser, fault.SteelHostRejected, fault.SteelConnectionLost, fault.SteelBrowserRestarted, fault.SteelSessionGone, fault.SteelTooLarge)
}

// changingCodes are how a change of the server's sessions can end.
func changingCodes(more ...fault.Code) []fault.Code {
	return askingCodes(append(more, fault.SteelEndpointBusy, fault.SteelSessionBusy, fault.SteelStateCorrupt)...)
}

// settings reads the configuration of the repository, the user and the environment.
func settings(s *cli.Session) (*steel.Settings, error) {
	o := config.Options{UserFile: config.UserFile(s.Getenv), RepositoryName: config.FileName}
	if parent, ok := config.FindFolder(s.Dir, ""); ok {
		// A root, since a link in a cloned repository must not lead out of it.
		root, err := os.OpenRoot(parent)
		if err != nil {
			return nil, fault.Wrap(err, fault.IOFailed, "cannot open the repository's folder")
		}
		defer root.Close()
		data, err := root.ReadFile(config.FileName)
		switch {
		case err == nil:
			o.Repository = data
		case !errors.Is(err, fs.ErrNotExist):
			return nil, fault.Wrap(err, fault.ConfigInvalid, "cannot read the repository's configuration")
		}
	}
	c, err := config.Load(o)
	if err != nil {
		return nil, err
	}
	return steel.Load(s.Getenv, c)
}

// open reads the settings and opens the state, whose folder is made only by what
// writes to it. From here on, nothing that is printed holds the key.
func open(s *cli.Session, lockWait duration, writes bool) (*desk, error) {
	d, err := openServer(s)
	if err != nil {
		return nil, err
	}
	d.LockWait = time.Duration(lockWait)
	d.Store, err = steel.OpenStore(d.Settings, writes)
	return d, err
}

func openServer(s *cli.Session) (*desk, error) {
	set, err := settings(s)
	if err != nil {
		return nil, err
	}
	secrets := &steel.Secrets{}
	s.Err = secrets.Writer(s.Err)
	return &desk{&steel.Service{
		Endpoint: steel.NewEndpoint(set, steel.NewClient(), os.Environ(), secrets), Now: s.Now, NewID: newUUID, LockWait: steel.DefaultLockWait,
	}, s}, nil
}

// emit adds one value to the answer, without secrets.
func (d *desk) emit(v any) error {
	line, err := ndjson.Marshal(v)
	if err != nil {
		return fmt.Errorf("encoding the answer: %w", err)
	}
	d.session.Print("%s\n", escapeFormat(d.Secrets.MaskLine(string(line))))
	return nil
}

// escapeFormat writes control and format characters, which stand in the texts of a JSON
// line alone, as escapes: what a page says must not steer a terminal.
func escapeFormat(line string) string {
	plain := func(r rune) bool { return r < 0x80 || !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }
	if !strings.ContainsFunc(line, func(r rune) bool { return !plain(r) }) {
		return line
	}
	var b strings.Builder
	for _, r := range line {
		if plain(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&b, "\\u%04x", unit)
		}
	}
	return b.String()
}

// emitAll adds values to the answer, one a line.
func emitAll[T any](d *desk, values []T) error {
	for i := range values {
		if err := d.emit(&values[i]); err != nil {
			return err
		}
	}
	return nil
}

// warnBroken names records that cannot be read; they hide no other.
func (d *desk) warnBroken(broken map[string]error) {
	for _, id := range sortedKeys(broken) {
		d.session.Warn("%s", broken[id])
	}
}

// find returns the session that a command means.
func (d *desk) find(name string) (*steel.Record, error) { return d.Find(d.named(name)) }

// named is the session named by argument or environment.
func (d *desk) named(argument string) string {
	if argument != "" {
		return argument
	}
	return d.session.Getenv("KXM_STEEL_SESSION")
}

// interruptible runs a command that cleans up when it is interrupted.
func interruptible(s *cli.Session, run func(context.Context) error) error {
	ctx, stop := s.Context()
	defer stop()
	return run(ctx)
}

// answer opens the state, asks for an answer and prints it; one may stand beside an
// error.
func answer[T any](s *cli.Session, lockWait duration, writes bool, ask func(context.Context, *desk) (*T, error)) error {
	d, err := open(s, lockWait, writes)
	if err != nil {
		return err
	}
	defer d.Store.Close()
	return interruptible(s, func(ctx context.Context) error {
		v, err := ask(ctx, d)
		if v == nil {
			return err
		}
		return firstOf(err, d.emit(v))
	})
}

// newUUID returns a random UUID (RFC 9562, version 4).
func newUUID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
