package repo

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"kxm/lib/fault"
)

type tristate int8

const (
	unset tristate = iota
	no
	yes
)

// format is what a repository's own configuration says about how to read it.
type format struct {
	objectFormat string
	bare         tristate
	workTree     string
	perWorktree  bool   // config.worktree counts
	reason       string // why the files may not be read directly, or ""
}

// configLimit bounds a configuration file; Git itself reads any size, but none is
// near this.
const configLimit = 8 << 20

// readFormat reads the format from <common Git directory>/config alone, without
// includes, as Git does. The list of known extensions is closed: whatever it does
// not name could change where refs or objects are, and a ref that is looked for in
// the wrong place reads as absent. In format version 0 Git ignores extensions that
// it did not honour before version 1 existed.
func readFormat(gitDir, commonDir string) (format, error) {
	f := format{objectFormat: "sha1"}
	entries, err := readConfigFile(filepath.Join(commonDir, "config"))
	if err != nil {
		return f, err
	}
	version, versionText := 0, ""
	var extensions []configEntry
	worktreeConfig := false
	for _, e := range entries {
		switch e.key {
		case "core.repositoryformatversion":
			n, err := strconv.Atoi(e.value)
			if err != nil {
				return f, fault.New(fault.ConfigInvalid, "core.repositoryformatversion is no number: %s", fault.Quote(e.value)).At(e.source, e.line, 0)
			}
			version, versionText = n, e.value
		case "extensions.worktreeconfig":
			worktreeConfig = isTrueEntry(e)
		}
		if strings.HasPrefix(e.key, "extensions.") {
			extensions = append(extensions, e)
		}
	}
	if version != 0 && version != 1 {
		f.reason = "repository format version " + versionText
	}
	for _, e := range extensions {
		name := strings.TrimPrefix(e.key, "extensions.")
		value := strings.ToLower(e.value)
		switch name {
		case "noop", "preciousobjects", "worktreeconfig":
			continue
		case "partialclone":
			f.because("it is a partial clone")
		case "noop-v1", "relativeworktrees":
			if version == 0 {
				f.because("extension " + name + " in format version 0")
			}
		case "objectformat":
			if value == "sha256" {
				f.objectFormat = value
			}
			if value != "sha1" || version == 0 {
				f.because("object format " + value)
			}
		case "refstorage":
			if value != "files" || version == 0 {
				f.because("ref storage " + value)
			}
		default:
			if version != 0 {
				f.because("unknown extension " + name)
			}
		}
	}

	// With a worktree's own configuration, core.bare and core.worktree are read
	// there too; without it they are the main worktree's and say nothing about a
	// linked one.
	f.perWorktree = worktreeConfig
	if worktreeConfig {
		own, err := readConfigFile(filepath.Join(gitDir, "config.worktree"))
		if err != nil {
			return f, err
		}
		entries = append(entries, own...)
	} else if gitDir != commonDir {
		return f, nil
	}
	for _, e := range entries {
		switch e.key {
		case "core.bare":
			f.bare = no
			if isTrueEntry(e) {
				f.bare = yes
			}
		case "core.worktree":
			f.workTree = e.value
		}
	}
	return f, nil
}

// because keeps the first reason.
func (f *format) because(reason string) {
	if f.reason == "" {
		f.reason = reason
	}
}

// readConfigFile parses a configuration file; one that is absent is empty.
func readConfigFile(path string) ([]configEntry, error) {
	data, err := readBounded(path, configLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.Wrap(err, fault.IOFailed, "cannot read Git configuration")
	}
	return parseConfig(path, data)
}
