package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"kxm/lib/cli"
	"kxm/lib/fault"
)

// hookScript is the pre-commit hook; PROGRAM stands for the quoted path of this
// binary, which is used where kxm-memory is not on the path.
//
//go:embed pre-commit.sh
var hookScript string

const (
	hookName = "pre-commit"
	// chainedName is where a hook that was there before is kept. It runs first.
	chainedName = "pre-commit.before-kxm"
	// hookMark stands in every version of the script.
	hookMark = "# kxm-memory pre-commit hook"
)

// hookCmd groups the verbs of the pre-commit hook.
type hookCmd struct {
	Install   hookInstallCmd   `cmd:"" help:"Install the hook; one that is there is kept and runs first."`
	Uninstall hookUninstallCmd `cmd:"" help:"Remove the hook and put back the one that was there before."`
	Print     hookPrintCmd     `cmd:"" help:"Print the hook, for those who keep hooks elsewhere."`
}

type hookAnswer struct {
	Schema  string `json:"schema"`
	Hook    string `json:"hook"`
	Changed bool   `json:"changed"`
	Chained string `json:"chained,omitempty"`
}

func script() (string, error) {
	program, err := os.Executable()
	if err != nil {
		return "", fault.Wrap(err, fault.IOFailed, "cannot find this program's own file")
	}
	return strings.Replace(hookScript, "PROGRAM", "'"+strings.ReplaceAll(program, "'", `'\''`)+"'", 1), nil
}

// hooksFolder finds the folder of hooks, which core.hooksPath may have moved.
func hooksFolder(s *cli.Session) (string, error) {
	ctx := context.Background()
	p, err := findPlace(ctx, s)
	if err != nil {
		return "", err
	}
	if err := p.NeedRepo("a hook"); err != nil {
		return "", err
	}
	if p.Top == "" {
		return "", fault.New(fault.Usage, "nothing is committed in a repository without a worktree")
	}
	return p.Repo.HooksDir(ctx)
}

// readHook reads a hook; ours tells whether it is one of this tool's.
func readHook(name string) (data []byte, exists, ours bool, err error) {
	data, err = os.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, false, false, nil
	case err != nil:
		return nil, false, false, fault.Wrap(err, fault.IOFailed, "cannot read the hook")
	}
	return data, true, bytes.Contains(data, []byte(hookMark)), nil
}

type hookInstallCmd struct {
	DryRun bool `short:"n" help:"Say what would be done, and do nothing."`
}

// Codes names what the command can end with.
func (*hookInstallCmd) Codes() []fault.Code { return append(recordCodes(), fault.HookNotOurs) }

// Run installs the hook, or renews it.
func (c *hookInstallCmd) Run(s *cli.Session) error {
	dir, err := hooksFolder(s)
	if err != nil {
		return err
	}
	text, err := script()
	if err != nil {
		return err
	}
	hook, chained := filepath.Join(dir, hookName), filepath.Join(dir, chainedName)
	old, exists, ours, err := readHook(hook)
	if err != nil {
		return err
	}
	_, before, _, err := readHook(chained)
	if err != nil {
		return err
	}
	out := hookAnswer{Schema: "kxm.memory-hook.v1", Hook: hook, Changed: string(old) != text}
	if exists && !ours || before {
		out.Chained = chained
	}
	if exists && !ours && before {
		return fault.New(fault.HookNotOurs, "there is a hook of somebody else's at %s, and an older one kept at %s", fault.Quote(hook), fault.Quote(chained)).
			WithHint("merge the two into %s and remove the other", chainedName)
	}
	if c.DryRun || !out.Changed {
		return s.Emit(out)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fault.Wrap(err, fault.IOFailed, "cannot make the folder of hooks")
	}
	// Our script is complete before the other's is moved, and takes its name at once
	// afterwards: a commit in between meets one of the two, or none for a moment, never
	// half a script.
	staged := hook + ".kxm-new"
	if err := os.WriteFile(staged, []byte(text), 0o777); err != nil {
		return fault.Wrap(err, fault.IOFailed, "cannot write the hook")
	}
	defer os.Remove(staged)
	if exists && !ours {
		if err := os.Rename(hook, chained); err != nil {
			return fault.Wrap(err, fault.IOFailed, "cannot keep the hook that is there")
		}
	}
	if err := os.Rename(staged, hook); err != nil {
		err = fault.Wrap(err, fault.IOFailed, "cannot install the hook")
		if exists && !ours {
			err = errors.Join(err, os.Rename(chained, hook))
		}
		return err
	}
	return s.Emit(out)
}

type hookUninstallCmd struct {
	DryRun bool `short:"n" help:"Say what would be done, and do nothing."`
}

// Codes names what the command can end with.
func (*hookUninstallCmd) Codes() []fault.Code { return append(recordCodes(), fault.HookNotOurs) }

// Run removes the hook. A hook of somebody else's stays.
func (c *hookUninstallCmd) Run(s *cli.Session) error {
	dir, err := hooksFolder(s)
	if err != nil {
		return err
	}
	hook, chained := filepath.Join(dir, hookName), filepath.Join(dir, chainedName)
	_, exists, ours, err := readHook(hook)
	if err != nil {
		return err
	}
	if exists && !ours {
		return fault.New(fault.HookNotOurs, "the hook at %s is not this tool's", fault.Quote(hook))
	}
	_, before, _, err := readHook(chained)
	if err != nil {
		return err
	}
	out := hookAnswer{Schema: "kxm.memory-hook.v1", Hook: hook, Changed: exists || before}
	if before {
		out.Chained = chained
	}
	if c.DryRun || !out.Changed {
		return s.Emit(out)
	}
	if before { // the rename takes our script away
		err = os.Rename(chained, hook)
	} else {
		err = os.Remove(hook)
	}
	if err != nil {
		return fault.Wrap(err, fault.IOFailed, "cannot remove the hook")
	}
	return s.Emit(out)
}

type hookPrintCmd struct{}

// Run prints the script.
func (*hookPrintCmd) Run(s *cli.Session) error {
	text, err := script()
	if err != nil {
		return err
	}
	s.Print("%s", text)
	return nil
}
