package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/wiki"
)

// target is the folder of the pages and what is in it.
type target struct {
	root   string // the folder that holds .kxm, or that of a site, in the file system
	folder string // of the files, from root, a slash path
	dir    string // root from the top of the repository; "" outside one
	files  map[string][]byte
}

// pageExtension is what pages of Markdown end with.
const pageExtension = ".md"

// target finds the folder that pages go to, or would go to.
func (c *compileCmd) target(ctx context.Context, s *cli.Session, pool *read) (*target, error) {
	out := c.Out
	if out == "" && c.Check {
		out = "."
	}
	if out == "" {
		return pageTarget(ctx, s, "", pool, false)
	}
	return pageTarget(ctx, s, out, pool, c.Staged)
}

// pageTarget reads the pages below a folder; "" is the one that holds the project's
// .kxm. With staged they are read from the index.
func pageTarget(ctx context.Context, s *cli.Session, out string, pool *read, staged bool) (*target, error) {
	p := pool.place
	t := &target{root: filepath.Join(p.Top, filepath.FromSlash(p.Dir)), folder: wiki.Folder, dir: p.Dir}
	if out != "" {
		t.root = s.Path(out)
		if err := t.locate(ctx, s); err != nil {
			return nil, err
		}
	}
	return t, t.load(pool, staged)
}

// load reads the pages.
func (t *target) load(pool *read, staged bool) (err error) {
	if staged {
		t.files, err = readPages(pool.view.Root, t.name(), pageExtension)
	} else {
		t.files, err = t.read(pageExtension)
	}
	return err
}

// locate finds where root is in the repository around it. A folder that is not made yet
// is where the nearest one above it says.
func (t *target) locate(ctx context.Context, s *cli.Session) error {
	at, rest := t.root, "."
	for {
		info, err := os.Stat(at)
		if err == nil && !info.IsDir() {
			return fault.New(fault.Usage, "%s is not a folder", fault.Quote(at))
		}
		if err == nil {
			break
		}
		rest = path.Join(filepath.Base(at), rest)
		at = filepath.Dir(at)
	}
	p, err := findPlace(ctx, s, at)
	if err != nil {
		return err
	}
	if t.dir = ""; p.Repo != nil && p.Top != "" {
		t.dir = path.Join(p.Cwd, rest)
	}
	return nil
}

// name is what the folder of the pages is called in messages: from the top of the
// repository, if it is in one.
func (t *target) name() string { return path.Join(t.dir, t.folder) }

// anyOurs reports whether the folder holds a page that was generated.
func (t *target) anyOurs() bool {
	for _, data := range t.files {
		if wiki.Owner(data) != wiki.NotOurs {
			return true
		}
	}
	return false
}

// existsBelow returns a function that looks for files below a folder.
func existsBelow(top string) func(name string) bool {
	return func(name string) bool {
		_, err := os.Stat(filepath.Join(top, filepath.FromSlash(name)))
		return err == nil
	}
}

// read reads the folder's files with an extension from the disk.
func (t *target) read(extension string) (map[string][]byte, error) {
	root, err := os.OpenRoot(t.root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.Wrap(err, fault.IOFailed, "cannot open the folder of the pages")
	}
	defer root.Close()
	return readPages(root.FS(), t.folder, extension)
}

// readPages reads the regular files of a folder; one that does not exist holds none.
// What is no regular file is somebody else's at that name.
func readPages(fsys fs.FS, folder, extension string) (map[string][]byte, error) {
	entries, err := fs.ReadDir(fsys, folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.Wrap(err, fault.IOFailed, "cannot read the folder of the pages")
	}
	files := map[string][]byte{}
	for _, e := range entries {
		if path.Ext(e.Name()) != extension {
			continue
		}
		if !e.Type().IsRegular() {
			files[e.Name()] = nil
			continue
		}
		data, err := fs.ReadFile(fsys, path.Join(folder, e.Name()))
		if err != nil {
			return nil, fault.Wrap(err, fault.IOFailed, "cannot read a page")
		}
		files[e.Name()] = data
	}
	return files, nil
}

// site is the folder of the site and what is in it; without one it is empty.
func (c *compileCmd) site(ctx context.Context, s *cli.Session) (*target, error) {
	if c.HTML == "" {
		return &target{}, nil
	}
	t := &target{root: s.Path(c.HTML), folder: "."}
	if err := t.locate(ctx, s); err != nil {
		return nil, err
	}
	var err error
	t.files, err = t.read(siteExtension)
	return t, err
}

// siteExtension is what pages of a site end with.
const siteExtension = ".html"

// records leads from the folder to the top of the repository, or is "" outside one.
func (t *target) records() string {
	if t.dir == "" {
		return ""
	}
	if t.name() == "." {
		return "./"
	}
	return strings.Repeat("../", 1+strings.Count(t.name(), "/"))
}

// writing is a plan that is being carried out.
type writing struct {
	*target
	plan  *wiki.Plan
	root  *os.Root
	temps map[string]string // by name
	done  []string          // names that were replaced or removed
}

// writeAll carries plans out, wholly or not at all: all new files are complete beside
// the old ones before the first takes its place, and what was done is undone when a
// later step fails. A file that changed since it was read refuses all.
func writeAll(jobs []*writing) error { return carryOut(jobs, writeSteps) }

// writeSteps are taken by all jobs one after the other. Only the last changes what was
// there.
var writeSteps = []func(*writing) error{(*writing).open, (*writing).prepare, (*writing).checkUnchanged, (*writing).replace}

func carryOut(jobs []*writing, steps []func(*writing) error) (err error) {
	defer func() {
		for _, w := range jobs {
			if err != nil {
				err = errors.Join(err, w.undo())
			}
			w.close()
		}
	}()
	for _, step := range steps {
		for _, w := range jobs {
			if len(w.plan.Write)+len(w.plan.Remove) == 0 {
				continue
			}
			if err := step(w); err != nil {
				return err
			}
		}
	}
	return nil
}

// open makes the folder, if it is not there.
func (w *writing) open() error {
	if err := os.MkdirAll(w.target.root, 0o777); err != nil {
		return writeFailed(w.target.root, err)
	}
	var err error
	if w.root, err = os.OpenRoot(w.target.root); err != nil {
		return writeFailed(w.target.root, err)
	}
	if err := w.root.MkdirAll(w.folder, 0o777); err != nil {
		return writeFailed(w.folder, err)
	}
	return nil
}

// prepare writes the new files beside the old ones, all at once: each waits for the
// disk.
func (w *writing) prepare() error {
	w.temps = map[string]string{}
	failed := make([]error, len(w.plan.Write))
	var wg sync.WaitGroup
	for i, p := range w.plan.Write {
		temp := path.Join(w.folder, "."+p.Name+"."+strconv.Itoa(os.Getpid())+".tmp")
		w.temps[p.Name] = temp
		wg.Go(func() {
			if err := writeFile(w.root, temp, p.Content); err != nil {
				failed[i] = writeFailed(p.Name, err)
			}
		})
	}
	wg.Wait()
	return errors.Join(failed...)
}

func writeFile(root *os.Root, name string, data []byte) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// names are those of all files that the plan changes.
func (w *writing) names() []string {
	names := slices.Clone(w.plan.Remove)
	for _, p := range w.plan.Write {
		names = append(names, p.Name)
	}
	return names
}

func (w *writing) checkUnchanged() error {
	for _, name := range w.names() {
		if err := w.unchanged(name); err != nil {
			return err
		}
	}
	return nil
}

// replace puts the new files into place and removes those that are no longer made.
func (w *writing) replace() error {
	for _, name := range w.names() {
		var err error
		if temp, ok := w.temps[name]; ok {
			err = w.root.Rename(temp, path.Join(w.folder, name))
		} else {
			err = w.root.Remove(path.Join(w.folder, name))
		}
		if err != nil {
			return writeFailed(name, err)
		}
		w.done = append(w.done, name)
	}
	return nil
}

// unchanged refuses a file that is not as it was read.
func (w *writing) unchanged(name string) error {
	before, existed := w.files[name]
	if existed && before == nil {
		return fault.New(fault.WikiPageNotOurs, "%s is no regular file", fault.Quote(name))
	}
	now, err := w.root.ReadFile(path.Join(w.folder, name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return writeFailed(name, err)
	}
	if existed != (err == nil) || !bytes.Equal(now, before) {
		return fault.New(fault.FileChanged, "%s was changed by someone else in the meantime", fault.Quote(name)).
			WithHint("nothing was written; run the command again")
	}
	return nil
}

// undo gives the files that were replaced their old content.
func (w *writing) undo() error {
	var failed error
	for _, name := range w.done {
		before, existed := w.files[name]
		var err error
		if existed {
			err = writeFile(w.root, path.Join(w.folder, name), before)
		} else {
			err = w.root.Remove(path.Join(w.folder, name))
		}
		failed = errors.Join(failed, err)
	}
	return failed
}

// close removes temporary files that are left.
func (w *writing) close() {
	for _, temp := range w.temps {
		_ = w.root.Remove(temp) // gone already unless something failed, and that is reported
	}
	if w.root != nil {
		_ = w.root.Close()
	}
}

func writeFailed(name string, err error) error {
	return fault.Wrap(plainCause(err), fault.IOFailed, "cannot write %s", fault.Quote(name))
}

// plainCause strips the operation and path of a system error, which the message names.
func plainCause(err error) error {
	var e *fs.PathError
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}
