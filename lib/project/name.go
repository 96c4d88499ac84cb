package project

import (
	"context"
	"path/filepath"
	"strings"

	"kxm/lib/fault"
	"kxm/lib/item"
)

// NewName decides the name of a project that has none yet: the one given, else the
// last part of the remote's address, else the folder's name. It is written down once
// and never guessed again, since a folder's name differs between clones.
func (p *Place) NewName(ctx context.Context, given string) (string, error) {
	name := given
	if name == "" {
		name = p.remoteName(ctx)
	}
	if name == "" {
		name = filepath.Base(p.Top)
	}
	n := len([]rune(strings.TrimSpace(name)))
	if n < 1 || n > item.MaxProject || name == item.SharedProject || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", fault.New(fault.Usage, "%s is no project name: it has 1 to %d characters and is not %q", fault.Quote(name), item.MaxProject, item.SharedProject).
			WithHint("--project NAME")
	}
	return name, nil
}

// remoteName is the last part of the remote's address, without ".git".
func (p *Place) remoteName(ctx context.Context) string {
	if p.Repo == nil {
		return ""
	}
	url, ok := p.Repo.RemoteURL(ctx)
	if !ok {
		return ""
	}
	url = strings.TrimSuffix(strings.TrimRight(url, "/"), ".git")
	if i := strings.LastIndexAny(url, "/:\\"); i >= 0 {
		url = url[i+1:]
	}
	return url
}

// Configuration is the text of a new configuration file. The name is one that NewName
// returned, so it holds no control characters.
func Configuration(name string) []byte {
	return []byte(`project = "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name) + "\"\n")
}
