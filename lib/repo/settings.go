package repo

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"kxm/lib/fault"
)

// systemConfig is where packages of Git for Linux read the configuration of the
// machine. Elsewhere its place is built into the git program, which is asked then.
const systemConfig = "/etc/gitconfig"

// maxIncludes is how deep files may include further ones, as in Git.
const maxIncludes = 10

// errAskConfig says that only git can tell what the configuration is.
var errAskConfig = errors.New("ask git config")

// ConfigValue returns the last value of a key ("user.email") in Git's
// configuration: of the machine, the user, the repository, the worktree and the
// environment, with the files that they include; ok is false when it is in none. A
// name without a value is "". git is asked only where an includeIf is met, and for
// what `git -c` passes on.
func (r *Repo) ConfigValue(ctx context.Context, key string) (value string, ok bool, err error) {
	canonical, valid := canonicalKey(key)
	if !valid {
		return "", false, fault.New(fault.Usage, "%s is no key of Git's configuration", fault.Quote(key))
	}
	entries, err := r.settings(ctx)
	if err != nil {
		return "", false, err
	}
	for _, e := range entries {
		if e.key == canonical {
			value, ok = e.value, true
		}
	}
	return value, ok, nil
}

// settings returns all assignments that hold for the repository, in order: the
// last one counts.
func (r *Repo) settings(ctx context.Context) ([]configEntry, error) {
	if r.getenv("GIT_CONFIG_PARAMETERS") == "" && r.getenv("GIT_CONFIG_SYSTEM") == "" && runtime.GOOS != "linux" && !isTrue(r.getenv("GIT_CONFIG_NOSYSTEM")) {
		return r.askSettings(ctx)
	}
	if r.getenv("GIT_CONFIG_PARAMETERS") != "" {
		return r.askSettings(ctx) // quoted for a shell: only git reads it as it wrote it
	}
	l := configLoader{home: r.getenv("HOME")}
	for _, path := range r.configFiles() {
		if err := l.file(path, 0); err != nil {
			if errors.Is(err, errAskConfig) {
				return r.askSettings(ctx)
			}
			return nil, err
		}
	}
	if count := r.getenv("GIT_CONFIG_COUNT"); count != "" {
		n, err := strconv.Atoi(count)
		if err != nil || n < 0 || n > 100_000 {
			return nil, fault.New(fault.ConfigInvalid, "GIT_CONFIG_COUNT is no count: %s", fault.Quote(count))
		}
		for i := range n {
			key, ok := canonicalKey(r.getenv("GIT_CONFIG_KEY_" + strconv.Itoa(i)))
			if !ok {
				return nil, fault.New(fault.ConfigInvalid, "GIT_CONFIG_KEY_%d names no key", i)
			}
			if strings.HasPrefix(key, "include.") || strings.HasPrefix(key, "includeif.") {
				return r.askSettings(ctx)
			}
			l.entries = append(l.entries, configEntry{key: key, value: r.getenv("GIT_CONFIG_VALUE_" + strconv.Itoa(i))})
		}
	}
	return l.entries, nil
}

// configFiles returns the files of the configuration in the order in which Git
// reads them.
func (r *Repo) configFiles() []string {
	var files []string
	if !isTrue(r.getenv("GIT_CONFIG_NOSYSTEM")) {
		if named := r.getenv("GIT_CONFIG_SYSTEM"); named != "" {
			files = append(files, named)
		} else {
			files = append(files, systemConfig)
		}
	}
	if named := r.getenv("GIT_CONFIG_GLOBAL"); named != "" {
		files = append(files, named)
	} else {
		home, xdg := r.getenv("HOME"), r.getenv("XDG_CONFIG_HOME")
		if xdg == "" && home != "" {
			xdg = filepath.Join(home, ".config")
		}
		if xdg != "" {
			files = append(files, filepath.Join(xdg, "git", "config"))
		}
		if home != "" {
			files = append(files, filepath.Join(home, ".gitconfig"))
		}
	}
	files = append(files, filepath.Join(r.commonDir, "config"))
	if r.worktreeConfig {
		files = append(files, filepath.Join(r.gitDir, "config.worktree"))
	}
	return files
}

// configLoader reads files and what they include, in order.
type configLoader struct {
	home          string
	unconditional bool // pass over files that an includeIf names
	entries       []configEntry
}

func (l *configLoader) file(path string, depth int) error {
	if depth > maxIncludes {
		return fault.New(fault.ConfigInvalid, "%s is included more than %d deep", fault.Quote(path), maxIncludes)
	}
	entries, err := readConfigFile(path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		l.entries = append(l.entries, e)
		if strings.HasPrefix(e.key, "includeif.") && !l.unconditional {
			return errAskConfig
		}
		if e.key != "include.path" || e.value == "" {
			continue
		}
		target := e.value
		switch {
		case strings.HasPrefix(target, "~/") && l.home != "":
			target = filepath.Join(l.home, target[2:])
		case strings.HasPrefix(target, "~"), strings.HasPrefix(target, "%(prefix)/"):
			return errAskConfig // another user's home, or where git is installed
		default:
			// Relative to the file that includes, behind symbolic links as Git does.
			target = under(filepath.Dir(physical(path)), target)
		}
		if err := l.file(target, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// askSettings asks git for all assignments.
func (r *Repo) askSettings(ctx context.Context) ([]configEntry, error) {
	out, err := r.run(ctx, nil, "config", "--list", "-z", "--includes")
	if err != nil {
		return nil, err
	}
	var entries []configEntry
	for record := range bytes.SplitSeq(out, []byte{0}) {
		if len(record) == 0 {
			continue
		}
		key, value, ok := strings.Cut(string(record), "\n")
		entries = append(entries, configEntry{key: key, value: value, bare: !ok})
	}
	return entries, nil
}

// RemoteURL returns the address of the remote "origin", else that of the only
// remote there is, as it is configured (insteadOf is not applied).
func (r *Repo) RemoteURL(ctx context.Context) (string, bool) {
	entries, err := r.settings(ctx)
	if err != nil {
		return "", false
	}
	urls := map[string]string{}
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.key, "remote.")
		if name, isURL := strings.CutSuffix(rest, ".url"); ok && isURL && urls[name] == "" {
			urls[name] = e.value // fetching uses the first of several
		}
	}
	if url := urls["origin"]; url != "" {
		return url, true
	}
	if len(urls) == 1 {
		for _, url := range urls {
			return url, url != ""
		}
	}
	return "", false
}

// HasRemote reports whether any remote is configured.
func (r *Repo) HasRemote(ctx context.Context) (bool, error) {
	entries, err := r.settings(ctx)
	return slices.ContainsFunc(entries, func(e configEntry) bool {
		return strings.HasPrefix(e.key, "remote.") && strings.HasSuffix(e.key, ".url")
	}), err
}

// HooksDir returns the absolute path of the folder of hooks, which core.hooksPath
// may set; it need not exist.
func (r *Repo) HooksDir(ctx context.Context) (string, error) {
	named, ok, err := r.ConfigValue(ctx, "core.hooksPath")
	if err != nil {
		return "", err
	}
	if !ok || named == "" {
		return filepath.Join(r.commonDir, "hooks"), nil
	}
	if strings.HasPrefix(named, "~") || strings.HasPrefix(named, "%(prefix)") {
		out, err := r.run(ctx, nil, "config", "--type=path", "core.hooksPath")
		if err != nil {
			return "", err
		}
		named = strings.TrimSuffix(string(out), "\n")
	}
	// Hooks run in the top of the worktree, and a relative path is meant from there.
	return under(r.workDir(), named), nil
}
