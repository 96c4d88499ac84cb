package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// ReplaceFile writes a file as a whole: into a temporary file beside it, flushed
// to the disk and then renamed, so that a reader or a crash sees the old bytes or
// the new ones. A file that exists keeps its mode, a symbolic link is followed (to
// a file that does not exist, too), and what is no regular file (a terminal, a pipe)
// is written directly.
func ReplaceFile(path string, data []byte) (err error) {
	path = followLinks(path)
	mode := fs.FileMode(0o666) // the umask takes its share
	info, err := os.Stat(path)
	switch {
	case err == nil && !info.Mode().IsRegular():
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = f.Write(data)
		return errors.Join(err, f.Close())
	case err == nil:
		mode = info.Mode().Perm()
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	tmp, name, err := createBeside(path, mode)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(name))
		}
	}()
	if _, err = tmp.Write(data); err == nil {
		err = tmp.Sync()
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	if info != nil { // the umask must not narrow what the file had
		if err = os.Chmod(name, mode); err != nil {
			return err
		}
	}
	return os.Rename(name, path)
}

// followLinks returns the path that the links at the end of a path lead to. A
// circle of links is left for the system to refuse.
func followLinks(path string) string {
	const most = 40 // as many as Linux follows
	for range most {
		target, err := os.Readlink(path)
		if err != nil {
			break
		}
		if !filepath.IsAbs(target) {
			// Not filepath.Join, which would resolve ".." before the links that stand
			// before it.
			dir, _ := filepath.Split(path)
			target = dir + target
		}
		path = target
	}
	return path
}

// createBeside is os.CreateTemp with a mode that the umask applies to.
func createBeside(path string, mode fs.FileMode) (*os.File, string, error) {
	dir, base := filepath.Split(path)
	for try := 0; ; try++ {
		name := filepath.Join(dir, "."+base+"."+suffix(try)+".tmp")
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if errors.Is(err, fs.ErrExist) && try < 1000 {
			continue
		}
		return f, name, err
	}
}
