package config

import (
	"os"
	"path/filepath"
)

// Folder is the name of the folder that holds a project's records.
const Folder = ".kxm"

// FindFolder returns the folder that holds the project's .kxm: the nearest one on
// the way from dir up to top, the root of the repository; ok tells whether there
// is any. With top "" the root is looked for by its .git entry, without asking Git;
// outside a repository only dir itself counts, so that a stray .kxm in a home
// folder serves no other folder.
func FindFolder(dir, top string) (parent string, ok bool) {
	if top == "" {
		top = repositoryRoot(dir)
	}
	for at := dir; ; at = filepath.Dir(at) {
		if info, err := os.Stat(filepath.Join(at, Folder)); err == nil && info.IsDir() {
			return at, true
		}
		if at == top || at == filepath.Dir(at) {
			return "", false
		}
	}
}

// repositoryRoot returns the nearest folder upward that has a .git, else dir.
func repositoryRoot(dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			return dir
		}
	}
}
