package repo

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"kxm/lib/fault"
)

// place is where a repository was found.
type place struct {
	gitDir    string
	commonDir string
	top       string // the folder that holds .git; "" when a Git directory itself was met
	gitFile   string // the .git file that led here, if it is a file
	named     bool   // GIT_DIR names it
	linked    bool   // gitDir and commonDir differ
}

// startFolder returns the folder that dir names or, when it names a file, the one
// that holds it; absolute and without symbolic links, as a process that changed
// into it would see it.
func startFolder(dir string) (string, error) {
	if dir == "" {
		dir = "."
	}
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return "", fault.New(fault.NotARepository, "cannot look for a repository at %s: %s", fault.Quote(dir), cause(err))
	}
	st, err := os.Stat(abs)
	if err != nil {
		return "", fault.New(fault.NotARepository, "cannot look for a repository at %s: %s", fault.Quote(dir), cause(err))
	}
	if !st.IsDir() {
		abs = filepath.Dir(abs)
	}
	return abs, nil
}

// cause is the text of an I/O error without the path, which the message has.
func cause(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return fault.Printable(err.Error())
}

// under is path made absolute from base; "" stays "".
func under(base, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(base, path)
}

// physical is path without symbolic links where it exists, else path cleaned.
func physical(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return filepath.Clean(path)
}

// discover finds the Git directory for a start folder: GIT_DIR, else the first
// folder on the way up that has a .git or is a Git directory. It stops, as Git
// does, below GIT_CEILING_DIRECTORIES and where another file system begins.
func discover(start string, getenv func(string) string) (place, error) {
	if named := getenv("GIT_DIR"); named != "" {
		dir := under(start, named)
		if st, err := os.Stat(dir); err == nil && st.Mode().IsRegular() {
			target, err := readGitFile(dir)
			if err != nil {
				return place{}, err
			}
			dir = target
		}
		p, ok := gitDirectory(dir, start, getenv)
		if !ok {
			return place{}, fault.New(fault.NotARepository, "GIT_DIR names no repository: %s", fault.Quote(named))
		}
		p.named = true
		return p, nil
	}

	ceiling := ceilingOf(start, getenv("GIT_CEILING_DIRECTORIES"))
	across := isTrue(getenv("GIT_DISCOVERY_ACROSS_FILESYSTEM"))
	device, known := deviceOf(start)
	for dir := start; ; {
		dotGit := filepath.Join(dir, ".git")
		if st, err := os.Stat(dotGit); err == nil && st.Mode().IsRegular() {
			target, err := readGitFile(dotGit)
			if err != nil {
				return place{}, err
			}
			p, ok := gitDirectory(target, start, getenv)
			if !ok {
				return place{}, fault.New(fault.NotARepository, "%s leads to %s, which is no repository", fault.Quote(dotGit), fault.Quote(target))
			}
			p.top, p.gitFile = dir, dotGit
			return p, nil
		} else if err == nil && st.IsDir() {
			if p, ok := gitDirectory(dotGit, start, getenv); ok {
				p.top = dir
				return p, nil
			}
		}
		if p, ok := gitDirectory(dir, start, getenv); ok {
			return p, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir || parent == ceiling {
			break
		}
		if d, ok := deviceOf(parent); !across && ok && known && d != device {
			break
		}
		dir = parent
	}
	return place{}, fault.New(fault.NotARepository, "no Git repository at or above %s", fault.Quote(start))
}

// ceilingOf returns the longest proper ancestor of start that the list names:
// discovery does not look there or higher. Entries after an empty one are taken
// as they are, others without symbolic links.
func ceilingOf(start, list string) string {
	best, resolve := "", true
	for _, entry := range filepath.SplitList(list) {
		if entry == "" {
			resolve = false
			continue
		}
		if !filepath.IsAbs(entry) {
			continue
		}
		entry = filepath.Clean(entry)
		if resolve {
			entry = physical(entry)
		}
		prefix := strings.TrimSuffix(entry, string(filepath.Separator)) + string(filepath.Separator)
		if entry != start && strings.HasPrefix(start, prefix) && len(entry) > len(best) {
			best = entry
		}
	}
	return best
}

// readGitFile returns where a .git file leads ("gitdir: PATH").
func readGitFile(path string) (string, error) {
	data, err := readBounded(path, 1<<16)
	if err != nil {
		return "", fault.New(fault.NotARepository, "cannot read %s: %s", fault.Quote(path), cause(err))
	}
	target, ok := bytes.CutPrefix(data, []byte("gitdir: "))
	target = bytes.TrimRight(target, "\r\n")
	if !ok || len(target) == 0 {
		return "", fault.New(fault.NotARepository, "%s is a file but names no Git directory", fault.Quote(path))
	}
	return under(filepath.Dir(path), string(target)), nil
}

// gitDirectory reports whether dir is a Git directory by Git's own three signs: a
// HEAD that names something, objects and refs.
func gitDirectory(dir, start string, getenv func(string) string) (place, bool) {
	if !validHead(filepath.Join(dir, "HEAD")) {
		return place{}, false
	}
	dir = physical(dir)
	p := place{gitDir: dir, commonDir: dir}
	if common := getenv("GIT_COMMON_DIR"); common != "" {
		p.commonDir = physical(under(start, common))
	} else if data, err := readBounded(filepath.Join(dir, "commondir"), 1<<16); err == nil {
		p.commonDir = physical(under(dir, strings.TrimRight(string(data), "\r\n")))
	}
	p.linked = p.commonDir != p.gitDir
	if getenv("GIT_OBJECT_DIRECTORY") == "" && !isFolder(filepath.Join(p.commonDir, "objects")) {
		return place{}, false
	}
	return p, isFolder(filepath.Join(p.commonDir, "refs"))
}

// validHead reports whether a HEAD file names a ref or an object. Whether that
// exists is another question: HEAD may be unborn.
func validHead(path string) bool {
	if target, err := os.Readlink(path); err == nil {
		return strings.HasPrefix(target, "refs/")
	}
	data, err := readBounded(path, 4096)
	if err != nil {
		return false
	}
	text := string(data)
	if target, ok := strings.CutPrefix(text, "ref:"); ok {
		return strings.HasPrefix(strings.TrimLeft(target, " \t"), "refs/")
	}
	return len(text) >= 40 && isHex(text[:40])
}

func isFolder(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// readBounded reads a small file: at most limit bytes, and only a regular file,
// so that a pipe put in its place cannot hang the reader.
func readBounded(path string, limit int64) ([]byte, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: path, Err: errNotRegular}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data := make([]byte, 0, min(limit, st.Size())+1)
	for int64(len(data)) < limit {
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
		n, err := f.Read(data[len(data):min(int64(cap(data)), limit)])
		data = data[:len(data)+n]
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return data, nil
}

var errNotRegular = errors.New("not a regular file")

// workTree applies Git's rules: GIT_WORK_TREE, then core.worktree, then the folder
// that holds .git (with GIT_DIR: the start folder), unless core.bare says that
// there is none. pinned reports that git, started in that folder, would not find
// this Git directory by itself.
func workTree(start string, p place, f format, getenv func(string) string) (tree string, pinned bool) {
	pinned = p.named || getenv("GIT_COMMON_DIR") != ""
	if named := getenv("GIT_WORK_TREE"); named != "" {
		return physical(under(start, named)), true
	}
	if f.workTree != "" {
		if f.bare == yes {
			return "", pinned
		}
		tree = physical(under(p.gitDir, f.workTree))
		return tree, pinned || tree != p.top
	}
	switch {
	case f.bare == yes:
		return "", pinned
	case p.named:
		if v := getenv("GIT_IMPLICIT_WORK_TREE"); v != "" && !isTrue(v) {
			return "", true
		}
		return start, true
	}
	return p.top, pinned
}
