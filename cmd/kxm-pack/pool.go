package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kxm/lib/cli"
	"kxm/lib/config"
	"kxm/lib/fault"
	"kxm/lib/item"
)

// input is what the commands that read a pool share.
type input struct {
	Project string `placeholder:"NAME" env:"KXM_PROJECT" help:"The project that is asked for; default: the configuration's, else the only one in the pool."`
}

// loadConfig reads the configuration that counts in the session's folder. A filter
// asks no Git: the repository's root is where .git is.
func loadConfig(s *cli.Session) (*config.Config, error) {
	o := config.Options{UserFile: config.UserFile(s.Getenv)}
	if parent, ok := config.FindFolder(s.Dir, ""); ok {
		name := filepath.Join(parent, filepath.FromSlash(config.FileName))
		data, err := os.ReadFile(name)
		switch {
		case err == nil:
			o.Repository, o.RepositoryName = data, config.FileName
		case !errors.Is(err, fs.ErrNotExist):
			return nil, fault.Wrap(err, fault.ConfigInvalid, "cannot read the configuration")
		}
	}
	return config.Load(o)
}

// readPool reads standard input.
func readPool(s *cli.Session) (item.Pool, error) {
	if cli.Terminal(s.In) {
		return item.Pool{}, fault.New(fault.Usage, "no items on standard input, which is a terminal").
			WithHint("kxm-memory list | %s …", s.Program)
	}
	return item.ReadPool(s.In, "stdin")
}

// pool reads the configuration and the pool and finds the project asked for.
func (in input) pool(s *cli.Session) (pool item.Pool, project string, err error) {
	cfg, err := loadConfig(s)
	if err != nil {
		return pool, "", err
	}
	if pool, err = readPool(s); err != nil {
		return pool, "", err
	}
	project, err = in.project(cfg, pool)
	return pool, project, err
}

// project returns the project asked for: the flag's or environment's, the
// configuration's, else the only one in the pool besides the shared one. A pool
// without any item of a project leaves it empty.
func (in input) project(cfg *config.Config, pool item.Pool) (string, error) {
	if in.Project != "" {
		if in.Project == item.SharedProject {
			return "", fault.New(fault.Usage, "--project cannot be %s, which every project reads", fault.Quote(item.SharedProject))
		}
		return in.Project, nil
	}
	if cfg.Project != "" {
		return cfg.Project, nil
	}
	return pool.OnlyProject()
}

// parseKinds reads --kinds: one to five kinds, separated by commas, each once.
func parseKinds(text string) ([]item.Kind, error) {
	if text == "" {
		return nil, nil
	}
	var kinds []item.Kind
	for _, word := range strings.Split(text, ",") {
		k := item.Kind(strings.TrimSpace(word))
		if !k.Valid() {
			return nil, fault.New(fault.Usage, "--kinds: %s is not one of evidence, state, episode, knowledge, skill", fault.Quote(string(k)))
		}
		if slices.Contains(kinds, k) {
			return nil, fault.New(fault.Usage, "--kinds: %s is given twice", fault.Quote(string(k)))
		}
		kinds = append(kinds, k)
	}
	return kinds, nil
}

// length checks a text flag's length in code points.
func length(flag, text string, most int) error {
	if n := len([]rune(text)); n > most {
		return fault.New(fault.Usage, "%s has %d characters, at most %d are read", flag, n, most)
	}
	return nil
}
