package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"

	"kxm/lib/cli"
	"kxm/lib/config"
	"kxm/lib/fault"
	"kxm/lib/memory"
	"kxm/lib/project"
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
	if p.Top == "" {
		return fault.New(fault.Usage, "a repository without a worktree has no files to write")
	}
	v, err := p.Worktree(ctx)
	if err != nil {
		return err
	}
	name, err := c.name(ctx, s, p, v)
	if err != nil {
		return err
	}
	top, err := os.OpenRoot(p.Top)
	if err != nil {
		return fault.Wrap(err, fault.IOFailed, "cannot open the top of the worktree")
	}
	written, err := c.write(top, p.Dir, name)
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
func (c *initCmd) write(top *os.Root, dir, projectName string) ([]string, error) {
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
			data = project.Configuration(projectName)
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
func (c *initCmd) name(ctx context.Context, s *cli.Session, p *project.Place, v *project.View) (string, error) {
	file := path.Join(v.Dir, config.FileName)
	if strings.HasPrefix(v.Config.Origin("project"), file+":") {
		if c.Project != "" && c.Project != v.Config.Project {
			s.Warn("the project is named %s already, in %s", fault.Quote(v.Config.Project), fault.Quote(file))
		}
		return v.Config.Project, nil
	}
	name, err := p.NewName(ctx, c.Project)
	if err != nil {
		return "", err
	}
	if _, err := fs.Stat(v.Kxm, path.Base(config.FileName)); err == nil {
		return "", fault.New(fault.ProjectNotConfigured, "%s names no project, and a file that exists is not changed", fault.Quote(file)).
			WithHint("write at its top: %s", strings.TrimSpace(string(project.Configuration(name))))
	}
	return name, nil
}
