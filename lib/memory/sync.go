package memory

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"kxm/lib/fault"
	"kxm/lib/textdiff"
)

// InstructionFiles are the files that a block is kept in, in the order in which
// they are looked at.
func InstructionFiles() []string { return []string{"AGENTS.md", "CLAUDE.md", "GEMINI.md"} }

// SyncStatus says what becomes of an instruction file.
type SyncStatus string

// The statuses.
const (
	SyncUpdated   SyncStatus = "updated"   // its block is replaced
	SyncAppended  SyncStatus = "appended"  // it gets a block
	SyncUnchanged SyncStatus = "unchanged" // its block is what it should be
	SyncImports   SyncStatus = "imports"   // it imports another of the files and needs no block
	SyncLinked    SyncStatus = "linked"    // it is a symbolic link to a file that is listed already
)

// SyncFile is one instruction file of a plan.
type SyncFile struct {
	Name   string // one of InstructionFiles
	Path   string // the file that holds the text, from the root of the file system, links followed
	Status SyncStatus
	Of     string // for imports and linked: the name of the file that has the block
	Before []byte
	After  []byte // equal to Before unless updated or appended
	mode   fs.FileMode
}

// Stale reports whether the file does not hold the block that it should.
func (f *SyncFile) Stale() bool { return f.Status == SyncUpdated || f.Status == SyncAppended }

// SyncPlan is what a sync would do: the files that exist, in the order of
// InstructionFiles.
type SyncPlan struct{ Files []SyncFile }

// Stale returns the files that do not hold the block that they should.
func (p *SyncPlan) Stale() []SyncFile {
	return slices.DeleteFunc(slices.Clone(p.Files), func(f SyncFile) bool { return !f.Stale() })
}

// PlanSync decides what each instruction file in dir, the folder that holds .kxm,
// must hold for the facts. fsys is the worktree, the index or a commit, from the
// top of the repository (outside one: from dir, which is then "."); links are
// followed inside it only. Nothing is written.
//
// The error is MemorySyncFailed: no file exists, or the message names every file
// that is faulty. There is no plan for some of the files: a reader of one of them
// would otherwise be told something else than a reader of another.
func PlanSync(fsys fs.FS, dir string, facts []Fact) (*SyncPlan, error) {
	files := planFiles(fsys, dir, facts)
	var faults []string
	for _, f := range files {
		if f.fault != "" {
			faults = append(faults, f.Name+" "+f.fault)
		}
	}
	if len(faults) > 0 {
		return nil, fault.New(fault.MemorySyncFailed, "memory sync failed: %s; wrote no file", strings.Join(faults, ", ")).
			WithHint("keep one pair of markers, or delete them all so that sync appends a block")
	}
	if len(files) == 0 {
		return nil, fault.New(fault.MemorySyncFailed, "memory sync failed: none of %s exists in %s",
			strings.Join(InstructionFiles(), ", "), fault.Quote(dir)).
			WithHint("create the file that your agent reads, then sync again")
	}
	plan := &SyncPlan{Files: make([]SyncFile, len(files))}
	for i := range files {
		plan.Files[i] = files[i].SyncFile
	}
	return plan, nil
}

// instructions is an instruction file as it is read.
type instructions struct {
	SyncFile
	markers markers
	fault   string // why it can have no block, as the end of a sentence
}

// planFiles plans each of the instruction files in dir that exist.
func planFiles(fsys fs.FS, dir string, facts []Fact) []instructions {
	var files []instructions
	for _, name := range InstructionFiles() {
		named := path.Join(dir, name)
		if _, err := fs.Lstat(fsys, named); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		f := readInstructions(fsys, named)
		if f.fault == "" {
			same := func(o instructions) bool { return o.Path == f.Path }
			if i := slices.IndexFunc(files, same); i >= 0 && f.Path == named { // the one before is the link
				files[i].link(name)
			} else if i >= 0 {
				f.link(files[i].Name)
			}
		}
		files = append(files, f)
	}
	block := Block(facts)
	for i := range files {
		f := &files[i]
		if f.fault != "" || f.Status == SyncLinked {
			continue
		}
		f.markers = scanMarkers(f.Before)
		f.fault = f.markers.problem()
	}
	for i := range files {
		f := &files[i]
		if f.fault != "" || f.Status == SyncLinked {
			continue
		}
		if f.Of = carrier(files, i); f.Of != "" {
			f.Status = SyncImports
		} else {
			f.plan(block)
		}
	}
	return files
}

// readInstructions reads an instruction file; named is its path from the root of
// fsys, where something of that name exists.
func readInstructions(fsys fs.FS, named string) instructions {
	f := instructions{SyncFile: SyncFile{Name: path.Base(named)}}
	target, err := resolve(fsys, named)
	var info fs.FileInfo
	if err == nil {
		info, err = fs.Lstat(fsys, target)
	}
	if err == nil && info.Mode().IsRegular() {
		f.Before, err = fs.ReadFile(fsys, target)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.fault = "is a symbolic link to nothing"
	case fault.Is(err, fault.PathEscapes):
		f.fault = "is a symbolic link that leads out of the repository"
	case err != nil:
		f.fault = "cannot be read (" + reason(readError(f.Name, err)) + ")"
	case !info.Mode().IsRegular():
		f.fault = "is no regular file"
	default:
		f.Path, f.mode, f.After = target, info.Mode(), f.Before
	}
	return f
}

// link marks the file as a link to another, which is looked at in its place.
func (f *instructions) link(to string) {
	f.Status, f.Of = SyncLinked, to
}

// carrier returns the name of the file through which a reader of files[i] sees the
// block, or "" where files[i] carries one itself. A file with markers does, and so
// does the first of files that import one another in a circle.
func carrier(files []instructions, i int) string {
	name := ""
	for at, seen := i, []int{i}; ; {
		next := imported(files, at)
		if next < 0 {
			return name
		}
		if k := slices.Index(seen, next); k >= 0 {
			first := slices.Min(seen[k:])
			if first == i {
				return ""
			}
			return files[first].Name
		}
		seen = append(seen, next)
		at, name = next, files[next].Name
	}
}

// imported returns the index of the file that files[i] has in place of a block, or
// -1.
func imported(files []instructions, i int) int {
	if len(files[i].markers.starts) > 0 || files[i].Status == SyncLinked {
		return -1
	}
	for j := range files {
		if files[j].Path != files[i].Path && Imports(files[i].Before, files[j].Name) {
			return j
		}
	}
	return -1
}

// plan decides the file's new content.
func (f *instructions) plan(block string) {
	_, _, has := f.markers.block()
	if !has && f.markers.openFence {
		f.fault = "ends inside a code fence that is never closed, where a block would not count"
		return
	}
	f.After = withBlock(f.Before, &f.markers, block)
	switch {
	case bytes.Equal(f.After, f.Before):
		f.Status = SyncUnchanged
	case has:
		f.Status = SyncUpdated
	default:
		f.Status = SyncAppended
	}
	// What was written must be found again, or the next sync would append another.
	after := scanMarkers(f.After)
	if start, end, ok := after.block(); !ok || !bytes.Contains(f.After[start:end], []byte(blockHeading)) {
		f.fault = "would not hold the block as one"
	}
}

// Write replaces the stale files of the plan below root, which must be the folder
// that the plan was made from.
func (p *SyncPlan) Write(root *os.Root) error {
	var files []replacement
	for _, f := range p.Stale() {
		files = append(files, replacement{f.Path, f.Before, f.After, f.mode})
	}
	return replaceFiles(root, files)
}

// Diff returns what Write would change, in the unified form.
func (p *SyncPlan) Diff() []byte {
	var out []byte
	for _, f := range p.Stale() {
		out = append(out, textdiff.Unified("a/"+f.Path, "b/"+f.Path, f.Before, f.After, 3)...)
	}
	return out
}
