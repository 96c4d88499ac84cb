package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"kxm/lib/cli"
	"kxm/lib/config"
	"kxm/lib/fault"
	"kxm/lib/item"
	"kxm/lib/project"
	"kxm/lib/signature"
	"kxm/lib/state"
)

// initCmd sets an operator up.
type initCmd struct {
	Project   string `placeholder:"NAME" env:"KXM_PROJECT" help:"The project's name, where no configuration names it; default: the last part of the remote's address, else the folder's name."`
	Key       string `placeholder:"FILE" help:"The key to allow, or to make; default: the configured one, else id_ed25519 in the user's configuration."`
	Principal string `placeholder:"NAME" help:"The name that signatures show; default: Git's user.email."`
	DryRun    bool   `short:"n" help:"Say what would be written, and write nothing."`
}

// Codes names what the command can end with.
func (*initCmd) Codes() []fault.Code {
	return storeCodes(fault.ActorUnknown, fault.StatePersonRequired, fault.SigningKeyEncrypted, fault.SigningKeyInvalid, fault.SigningKeyMissing)
}

// Help says what follows.
func (*initCmd) Help() string {
	return `What it writes into the repository counts once it is committed, reviewed and merged: the list of
signers is read at the trust point, never from the worktree. The key that it makes has no passphrase, so
that it can be read by whatever runs as the same user; a security key or an agent that asks is better.`
}

// Run makes what is missing and prints what was written.
func (c *initCmd) Run(s *cli.Session) error {
	ctx := context.Background()
	p, err := project.Find(ctx, project.Options{Dir: s.Dir, Explicit: s.Explicit(), Getenv: s.Getenv})
	if err != nil {
		return err
	}
	if err := p.NeedRepo("state"); err != nil {
		return err
	}
	if p.Top == "" {
		return fault.New(fault.Usage, "a repository without a worktree has no files to write")
	}
	if unattended(s) {
		return fault.New(fault.StatePersonRequired, "init lets a person's key sign, and KXM_UNATTENDED says that no person is there")
	}
	v, err := p.Worktree(ctx)
	if err != nil {
		return err
	}
	principal, err := c.principal(ctx, p)
	if err != nil {
		return err
	}
	key, made, err := c.key(ctx, s, p)
	if err != nil {
		return err
	}
	written := []string{}
	if made != "" {
		written = append(written, made)
	}
	files, err := c.files(ctx, p, v, principal, key)
	if err != nil {
		return err
	}
	for _, f := range files {
		written = append(written, f.name)
	}
	if !c.DryRun {
		if err := writeFiles(p.Top, files); err != nil {
			return err
		}
	}
	fingerprint := ""
	if key != (signature.Key{}) {
		fingerprint = key.Fingerprint()
	}
	return s.Emit(struct {
		Schema    string   `json:"schema"`
		Principal string   `json:"principal"`
		Key       string   `json:"key,omitempty"` // none where -n makes none
		Written   []string `json:"written"`
	}{"kxm.state-init.v1", principal, fingerprint, written})
}

// principal is the name that the line gives to the key: one plain word.
func (c *initCmd) principal(ctx context.Context, p *project.Place) (string, error) {
	name := c.Principal
	if name == "" {
		email, ok, err := p.Repo.ConfigValue(ctx, "user.email")
		if err != nil {
			return "", err
		}
		if !ok || email == "" {
			return "", fault.New(fault.ActorUnknown, "nobody is named as the signer").WithHint("--principal NAME, or git config user.email")
		}
		name = email
	}
	if name != fault.Printable(name) || strings.ContainsAny(name, " \"#,*?!") {
		return "", fault.New(fault.Usage, "%s cannot be a principal: it must be one plain word", fault.Quote(name)).WithHint("--principal NAME")
	}
	return name, nil
}

// key finds the key to allow, or makes it; made is its file then. With --dry-run a
// key that would be made is the zero key.
func (c *initCmd) key(ctx context.Context, s *cli.Session, p *project.Place) (key signature.Key, made string, err error) {
	source := project.KeySource(ctx, p.Repo, s.Dir, s.Getenv)
	configured, err := signature.FindKey(ctx, source)
	if c.Key == "" {
		if !fault.Is(err, fault.SigningKeyMissing) || s.Getenv("KXM_SIGNING_KEY") != "" || source.ConfigDir == "" {
			return configured.Key(), "", err // one that is configured and cannot be used is not replaced
		}
		return c.make(filepath.Join(source.ConfigDir, "id_ed25519"))
	}
	file := s.Path(c.Key)
	if _, serr := os.Lstat(file); errors.Is(serr, fs.ErrNotExist) {
		key, made, err = c.make(file)
	} else {
		getenv := source.Getenv
		source.Getenv = func(name string) string {
			if name == "KXM_SIGNING_KEY" {
				return file
			}
			return getenv(name)
		}
		var given signature.PrivateKey
		given, err = signature.FindKey(ctx, source)
		key = given.Key()
	}
	if err == nil && key != configured.Key() {
		s.Warn("this key is not the one that is configured: set KXM_SIGNING_KEY to sign with it")
	}
	return key, made, err
}

// make makes a key.
func (c *initCmd) make(file string) (signature.Key, string, error) {
	if c.DryRun {
		return signature.Key{}, file, nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return signature.Key{}, "", fault.Wrap(err, fault.IOFailed, "cannot make the folder of the key")
	}
	key, err := signature.GenerateKey(file)
	return key.Key(), file, err
}

type newFile struct {
	name string // from the top of the repository
	data []byte
}

// files returns the files that are to be written: the list of signers with a line for
// the key, unless it has one, and a configuration, unless there is one.
func (c *initCmd) files(ctx context.Context, p *project.Place, v *project.View, principal string, key signature.Key) ([]newFile, error) {
	var files []newFile
	name := path.Join(p.Dir, config.FileName)
	if _, err := fs.Stat(v.Root, name); errors.Is(err, fs.ErrNotExist) {
		called, err := p.NewName(ctx, c.Project)
		if err != nil {
			return nil, err
		}
		files = append(files, newFile{name, project.Configuration(called)})
	}
	name = path.Join(p.Dir, state.AllowedSignersFile)
	list, err := fs.ReadFile(v.Root, name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fault.Wrap(err, fault.IOFailed, "cannot read the list of signers")
	}
	signers, _ := signature.ParseAllowedSigners(list)
	if key == (signature.Key{}) {
		return append(files, newFile{name: name}), nil
	}
	if signers.PersonOf(key) != 0 {
		return files, nil
	}
	line := principal + ` namespaces="` + state.Namespace(item.OriginHuman) + `" ` + key.Authorized() + "\n"
	if len(list) > 0 && !bytes.HasSuffix(list, []byte("\n")) {
		list = append(list, '\n')
	}
	return append(files, newFile{name, append(list, line...)}), nil
}

// writeFiles writes files below the top of the worktree.
func writeFiles(top string, files []newFile) error {
	root, err := os.OpenRoot(top)
	if err != nil {
		return fault.Wrap(err, fault.IOFailed, "cannot open the top of the worktree")
	}
	defer root.Close()
	for _, f := range files {
		if err := root.MkdirAll(path.Dir(f.name), 0o777); err != nil {
			return fault.Wrap(err, fault.IOFailed, "cannot make the folder of %s", fault.Quote(f.name))
		}
		if err := cli.ReplaceFile(filepath.Join(top, filepath.FromSlash(f.name)), f.data); err != nil {
			return fault.Wrap(err, fault.IOFailed, "cannot write %s", fault.Quote(f.name))
		}
	}
	return nil
}
