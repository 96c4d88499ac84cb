package main

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"kxm/lib/project"
)

// preCommitFile is the configuration of the program pre-commit, at the top of a
// worktree; preCommitHooks are this project's hooks in .pre-commit-hooks.yaml.
const preCommitFile = ".pre-commit-config.yaml"

var preCommitHooks = []string{"kxm-memory-check", "kxm-memory-sync"}

// hook looks for the hook of hook install, or those that the program pre-commit runs.
func (d *doctor) hook(p *project.Place) {
	const name, fix = "hook", "kxm-memory hook install"
	if p.Top == "" {
		d.add(name, statusOff, "nothing is committed in a repository without a worktree", "")
		return
	}
	dir, err := p.Repo.HooksDir(d.ctx)
	if err != nil {
		d.add(name, statusMissing, err.Error(), fix)
		return
	}
	data, exists, ours, err := readHook(filepath.Join(dir, hookName))
	named := d.preCommit(p)
	switch {
	case err != nil:
		d.add(name, statusMissing, err.Error(), fix)
	case ours:
		d.add(name, statusOK, filepath.Join(dir, hookName), "")
	case named == len(preCommitHooks) && exists && bytes.Contains(data, []byte("pre-commit")):
		d.add(name, statusOK, filepath.Join(dir, hookName)+" runs those of "+preCommitFile, "")
	case named == len(preCommitHooks):
		d.add(name, statusOff, preCommitFile+" names the hooks, but nothing runs them here", "pre-commit install")
	case named > 0:
		d.add(name, statusOff, preCommitFile+" names one of the hooks only", "name both of "+strings.Join(preCommitHooks, ", "))
	case exists:
		d.add(name, statusOff, "the pre-commit hook is another one; install keeps it and runs it first", fix)
	default:
		d.add(name, statusOff, "no pre-commit hook", fix)
	}
}

// preCommit counts the hooks that the program pre-commit is told to run.
func (d *doctor) preCommit(p *project.Place) (named int) {
	text, err := os.ReadFile(filepath.Join(p.Top, preCommitFile))
	if err != nil {
		return 0 // absent, or not readable for pre-commit either
	}
	for _, id := range preCommitHooks {
		if bytes.Contains(text, []byte(id)) {
			named++
		}
	}
	return named
}

// mergeDriver looks for both lines that switch the driver on.
func (d *doctor) mergeDriver(p *project.Place, v *project.View) {
	const name = "merge-driver"
	const fix = "git config merge.kxm-memory.driver 'kxm-memory merge-block %O %A %B', and \"AGENTS.md merge=kxm-memory\" in .gitattributes"
	_, driver, err := p.Repo.ConfigValue(d.ctx, "merge.kxm-memory.driver")
	if err != nil {
		d.add(name, statusMissing, err.Error(), fix)
		return
	}
	var attributes []byte
	if v.Root != nil {
		attributes, _ = fs.ReadFile(v.Root, path.Join(v.Dir, ".gitattributes")) // absent is as good as empty
		if v.Dir != "." {
			top, _ := fs.ReadFile(v.Root, ".gitattributes")
			attributes = slices.Concat(attributes, []byte("\n"), top)
		}
	}
	named := strings.Contains(string(attributes), "merge=kxm-memory")
	switch {
	case driver && named:
		d.add(name, statusOK, "kxm-memory", "")
	case driver:
		d.add(name, statusOff, "configured, but no file uses it in .gitattributes", fix)
	case named:
		d.add(name, statusOff, ".gitattributes names it, but it is not configured", fix)
	default:
		d.add(name, statusOff, "not used", fix)
	}
}
