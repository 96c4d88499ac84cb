package memory

import (
	"io/fs"
	"path"
	"strings"

	"kxm/lib/fault"
)

// maxLinks bounds the links on the way to one file, as operating systems do.
const maxLinks = 40

// resolve returns the path in fsys that name leads to once its symbolic links are
// followed. A link that leads out of fsys, an absolute one included, is refused
// with PathEscapes: its target is no part of what was reviewed. In a file system
// that does not implement fs.ReadLinkFS the name is returned as it is.
func resolve(fsys fs.FS, name string) (string, error) {
	links, ok := fsys.(fs.ReadLinkFS)
	if !ok {
		return name, nil
	}
	done, rest := ".", name
	for count := 0; rest != "" && rest != "."; {
		part, more, _ := strings.Cut(rest, "/")
		if part == "" || part == "." {
			rest = more
			continue
		}
		if part == ".." {
			if done == "." {
				return "", escapes(name)
			}
			done, rest = path.Dir(done), more
			continue
		}
		next := path.Join(done, part)
		info, err := links.Lstat(next)
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			done, rest = next, more
			continue
		}
		if count++; count > maxLinks {
			return "", fault.New(fault.MemoryUnreadable, "%s is behind too many symbolic links", fault.Quote(redacted(name)))
		}
		target, err := links.ReadLink(next)
		if err != nil {
			return "", err
		}
		if path.IsAbs(target) {
			return "", escapes(name)
		}
		rest = target + "/" + more
	}
	return done, nil
}

func escapes(name string) error {
	return fault.New(fault.PathEscapes, "symbolic link %s leads out of its folder", fault.Quote(redacted(name))).
		WithHint("replace the link by the file, or by a link to a place inside")
}
