package repo

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// localVariables is what `git rev-parse --local-env-vars` lists: variables that
// belong to one repository and must not reach another.
var localVariables = []string{
	"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_CONFIG", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT",
	"GIT_OBJECT_DIRECTORY", "GIT_DIR", "GIT_WORK_TREE", "GIT_IMPLICIT_WORK_TREE", "GIT_GRAFT_FILE",
	"GIT_INDEX_FILE", "GIT_NO_REPLACE_OBJECTS", "GIT_REPLACE_REF_BASE", "GIT_PREFIX",
	"GIT_INTERNAL_SUPER_PREFIX", "GIT_SHALLOW_FILE", "GIT_COMMON_DIR", "GIT_REF_URI",
}

// isLocal reports whether a variable belongs to one repository; the numbered
// assignments that GIT_CONFIG_COUNT counts go with it.
func isLocal(name string) bool {
	return slices.Contains(localVariables, name) ||
		strings.HasPrefix(name, "GIT_CONFIG_KEY_") || strings.HasPrefix(name, "GIT_CONFIG_VALUE_")
}

// environment is how a Repo reads the environment.
func environment(o Options) func(string) string {
	getenv := o.Getenv
	if getenv == nil {
		getenv = os.Getenv
	}
	if !o.Explicit {
		return getenv
	}
	return func(name string) string {
		if isLocal(name) || name == quarantine {
			return ""
		}
		return getenv(name)
	}
}

// passedOn are variables that git needs from Options.Getenv even where the
// process does not have them.
var passedOn = []string{
	"HOME", "XDG_CONFIG_HOME", "PATH", "SUDO_UID",
	"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM",
	"GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_TEST_ASSUME_DIFFERENT_OWNER",
	"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_DATE",
	"GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "GIT_COMMITTER_DATE",
	quarantine, "GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS", "GIT_ALLOW_PROTOCOL", "GIT_EXEC_PATH",
}

// environ is the environment of the git programs that r starts: the caller's
// without what would change the meaning of an answer, and pointing at this
// repository even where git would not find it from its folder.
func (r *Repo) environ(o Options) []string {
	ours := func(name string) bool {
		switch name {
		case "GIT_OPTIONAL_LOCKS", "GIT_TERMINAL_PROMPT", "GIT_NO_REPLACE_OBJECTS", "GIT_LITERAL_PATHSPECS",
			"GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS", "GIT_FLUSH", "LC_ALL", "LANGUAGE",
			"GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_CONFIG", "GIT_PREFIX", "GIT_EXTERNAL_DIFF":
			return true
		}
		return false
	}
	var env []string
	seen := map[string]bool{}
	add := func(name, value string) {
		if !seen[name] && !ours(name) && !(o.Explicit && (isLocal(name) || name == quarantine)) {
			seen[name] = true
			env = append(env, name+"="+value)
		}
	}
	for _, kv := range os.Environ() {
		name, value, ok := strings.Cut(kv, "=")
		if !ok || name == "" {
			continue
		}
		// What the caller's Getenv does not have is not passed on where Git would read it.
		if o.Getenv != nil && (strings.HasPrefix(name, "GIT_") || slices.Contains(passedOn, name)) {
			value = o.Getenv(name)
			if value == "" {
				continue
			}
		}
		add(name, value)
	}
	if o.Getenv != nil {
		names := append(slices.Clone(passedOn), localVariables...)
		if n, err := strconv.Atoi(o.Getenv("GIT_CONFIG_COUNT")); err == nil {
			for i := range min(n, 1000) {
				names = append(names, "GIT_CONFIG_KEY_"+strconv.Itoa(i), "GIT_CONFIG_VALUE_"+strconv.Itoa(i))
			}
		}
		for _, name := range names {
			// A numbered value may be empty, and its absence would be an error.
			if value := o.Getenv(name); value != "" || strings.HasPrefix(name, "GIT_CONFIG_VALUE_") {
				add(name, value)
			}
		}
	}
	env = append(env,
		"GIT_OPTIONAL_LOCKS=0",     // never refresh a person's index in passing
		"GIT_TERMINAL_PROMPT=0",    // a hook has nobody to ask
		"GIT_NO_REPLACE_OBJECTS=1", // both backends see what was committed
		"GIT_LITERAL_PATHSPECS=1",  // a path is a path
		"LC_ALL=C",                 // messages that this package recognizes
	)
	if r.pinned {
		env = append(env, "GIT_DIR="+r.gitDir)
		if r.workTree != "" {
			env = append(env, "GIT_WORK_TREE="+r.workTree)
		}
		if common := r.getenv("GIT_COMMON_DIR"); common != "" {
			env = append(env, "GIT_COMMON_DIR="+under(r.start, common))
		}
	}
	return env
}

// indexPath returns the file of the index. A relative GIT_INDEX_FILE is meant from
// the top of the worktree, which is where Git changes to before it opens it.
func (r *Repo) indexPath() string {
	if named := r.getenv("GIT_INDEX_FILE"); named != "" {
		return under(r.workDir(), named)
	}
	return filepath.Join(r.gitDir, "index")
}
