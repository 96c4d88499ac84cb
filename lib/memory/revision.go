package memory

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"

	"kxm/lib/fault"
)

// SkillsFolder holds the promoted skills, from .kxm.
const SkillsFolder = "skills/promoted"

// tracked is a file that dispatch reads.
type tracked struct {
	name  string // from .kxm, as it is listed
	path  string // where it is once the links of its folder are followed
	skill bool
	typ   fs.FileMode
}

// trackedFiles returns the files of a .kxm folder that dispatch reads: the memory
// files by path, then every file below the promoted skills by path.
func trackedFiles(fsys fs.FS) ([]tracked, error) {
	dir, entries, err := listFiles(fsys, Folder)
	if err != nil {
		return nil, err
	}
	files := make([]tracked, 0, len(entries))
	for _, e := range entries {
		files = append(files, tracked{path.Join(Folder, e.Name()), path.Join(dir, e.Name()), false, e.Type()})
	}
	memory := len(files)
	root, err := resolve(fsys, SkillsFolder)
	if errors.Is(err, fs.ErrNotExist) {
		return files, nil
	}
	if err != nil {
		return nil, readError(SkillsFolder, err)
	}
	err = fs.WalkDir(fsys, root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files = append(files, tracked{SkillsFolder + p[len(root):], p, true, d.Type()})
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, readError(SkillsFolder, err)
	}
	// The walk goes by names in each folder: "a/b" stands before "a.b" there.
	slices.SortFunc(files[memory:], func(a, b tracked) int { return cmp.Compare(a.name, b.name) })
	return files, nil
}

// Revision returns the name of a state of a .kxm folder's dispatched content:
// "ctxrev_" and the SHA-256 over, for each memory file and then for each file of a
// promoted skill, "memory:" or "skill:", its path from .kxm, NUL, its size in
// decimal, NUL, its bytes and NUL. Candidates do not count.
//
// A memory file that is a symbolic link counts with the bytes that it leads to,
// since those are read as the fact; one inside a skill counts with its target's
// name, as it does in the digest of a skill. A file that cannot be read has no
// revision; whether it is a record does not matter here.
func Revision(fsys fs.FS) (string, error) {
	files, err := trackedFiles(fsys)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	// In batches, so that files are read in parallel but not all held at once.
	const batch = 128
	for part := range slices.Chunk(files, batch) {
		contents := make([][]byte, len(part))
		errs := make([]error, len(part))
		parallel(len(part), func(i int) { contents[i], errs[i] = part[i].read(fsys) })
		for i, f := range part {
			if errs[i] == errLarge {
				errs[i] = f.stream(sum, fsys)
			} else if errs[i] == nil {
				f.header(sum, int64(len(contents[i])))
				sum.Write(contents[i])
			}
			if errs[i] != nil {
				return "", readError(path.Base(f.name), errs[i])
			}
			sum.Write([]byte{0})
		}
	}
	return "ctxrev_" + hex.EncodeToString(sum.Sum(nil)), nil
}

func (f *tracked) header(w hash.Hash, size int64) {
	label := "memory:"
	if f.skill {
		label = "skill:"
	}
	io.WriteString(w, label+f.name+"\x00"+strconv.FormatInt(size, 10)+"\x00") // a hash returns no error
}

// errLarge says that a skill's file is too large to be held.
var errLarge = errors.New("large file")

// read returns the bytes that count for a file, or errLarge.
func (f *tracked) read(fsys fs.FS) ([]byte, error) {
	if !f.skill {
		return readFile(fsys, f.path, f.typ)
	}
	if f.typ&fs.ModeSymlink != 0 {
		target, err := fs.ReadLink(fsys, f.path)
		return []byte(target), err
	}
	if f.typ != 0 {
		return nil, fault.New(fault.MemoryUnreadable, "%s is no regular file", fault.Quote(redacted(f.name)))
	}
	file, err := fsys.Open(f.path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := readSmall(file)
	if err == nil && len(data) > MaxFileSize {
		err = errLarge
	}
	return data, err
}

// stream hashes a large file without holding it.
func (f *tracked) stream(w hash.Hash, fsys fs.FS) error {
	file, err := fsys.Open(f.path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	f.header(w, info.Size())
	n, err := io.Copy(w, file)
	if err == nil && n != info.Size() {
		err = fmt.Errorf("its size changed while it was read")
	}
	return err
}
