package main

import (
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
	"kxm/lib/memory"
	"kxm/lib/repo"
)

// initCmd sets a project up.
type initCmd struct {
	Project string `placeholder:"NAME" env:"KXM_PROJECT" help:"The project's name; default: the last part of the remote's address, else the folder's name."`
	DryRun  bool   `short:"n" help:"Say what would be written, and write nothing."`
}

// Help says where it works.
func (*initCmd) Help() string {
	return `It works in the nearest folder that holds .kxm; where there is none, at the top of the
repository. For a second project in a repository, make that project's .kxm first.`
}

// Codes names what the command can end with.
func (*initCmd) Codes() []fault.Code { return append(recordCodes(), fault.ProjectNotConfigured) }

// Run writes what is missing in the folder that holds .kxm; where there is none, at
// the top of the repository.
func (c *initCmd) Run(s *cli.Session) error {
	ctx := context.Background()
	p, err := findPlace(ctx, s)
	if err != nil {
		return err
	}
	if p.top == "" {
		return fault.New(fault.Usage, "a repository without a worktree has no files to write")
	}
	v, err := p.worktree(ctx)
	if err != nil {
		return err
	}
	name, err := c.name(ctx, p, v)
	if err != nil {
		return err
	}
	top, err := os.OpenRoot(p.top)
	if err != nil {
		return fault.Wrap(err, fault.IOFailed, "cannot open the top of the worktree")
	}
	written, err := c.write(top, p.dir, name)
	if err != nil {
		return err
	}
	return s.Emit(struct {
		Schema  string   `json:"schema"`
		Project string   `json:"project"`
		Written []string `json:"written"`
	}{"kxm.memory-init.v1", name, written})
}

// write makes the folders and the configuration that are not there, and returns
// their paths from the top.
func (c *initCmd) write(top *os.Root, dir, project string) ([]string, error) {
	written := []string{}
	// Git keeps no empty folder: a file in each holds its place until it has others.
	for _, name := range []string{
		path.Join(config.Folder, memory.CandidatesFolder, ".gitkeep"),
		path.Join(config.Folder, memory.SkillsFolder, ".gitkeep"),
		config.FileName,
	} {
		name = path.Join(dir, name)
		data := []byte{}
		if path.Base(name) == path.Base(config.FileName) {
			data = []byte("project = " + quoteTOML(project) + "\n")
		} else if _, err := top.Stat(path.Dir(name)); err == nil {
			continue
		}
		if _, err := top.Lstat(name); err == nil {
			continue
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, fault.Wrap(err, fault.IOFailed, "cannot look for %s", fault.Quote(name))
		}
		written = append(written, name)
		if c.DryRun {
			continue
		}
		if err := top.MkdirAll(path.Dir(name), 0o777); err != nil {
			return nil, fault.Wrap(err, fault.IOFailed, "cannot make the folder of %s", fault.Quote(name))
		}
		f, err := top.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if err != nil {
			return nil, fault.Wrap(err, fault.IOFailed, "cannot write %s", fault.Quote(name))
		}
		_, err = f.Write(data)
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, fault.Wrap(errors.Join(err, top.Remove(name)), fault.IOFailed, "cannot write %s", fault.Quote(name))
		}
	}
	return written, nil
}

// name decides the project's name once; afterwards it stands in the configuration,
// which is never changed here.
func (c *initCmd) name(ctx context.Context, p *place, v *view) (string, error) {
	file := path.Join(v.dir, config.FileName)
	if strings.HasPrefix(v.cfg.Origin("project"), file+":") {
		if c.Project != "" && c.Project != v.cfg.Project {
			p.s.Warn("the project is named %s already, in %s", fault.Quote(v.cfg.Project), fault.Quote(file))
		}
		return v.cfg.Project, nil
	}
	name, err := c.newName(ctx, p)
	if err != nil {
		return "", err
	}
	if _, err := fs.Stat(v.kxm, path.Base(config.FileName)); err == nil {
		return "", fault.New(fault.ProjectNotConfigured, "%s names no project, and a file that exists is not changed", fault.Quote(file)).
			WithHint("write at its top: project = %s", quoteTOML(name))
	}
	return name, nil
}

func (c *initCmd) newName(ctx context.Context, p *place) (string, error) {
	name := c.Project
	if name == "" && p.repo != nil {
		name = remoteName(ctx, p.repo)
	}
	if name == "" {
		name = filepath.Base(p.top)
	}
	if n := len([]rune(strings.TrimSpace(name))); n < 1 || n > 200 || name == item.SharedProject || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", fault.New(fault.Usage, "%s is no project name: it has 1 to 200 characters and is not %q", fault.Quote(name), item.SharedProject).WithHint("--project NAME")
	}
	return name, nil
}

// remoteName is the last part of the remote's address, without ".git".
func remoteName(ctx context.Context, r *repo.Repo) string {
	url, ok := r.RemoteURL(ctx)
	if !ok {
		return ""
	}
	url = strings.TrimSuffix(strings.TrimRight(url, "/"), ".git")
	if i := strings.LastIndexAny(url, "/:\\"); i >= 0 {
		url = url[i+1:]
	}
	return url
}

// quoteTOML writes a basic string; the name has no control characters.
func quoteTOML(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
