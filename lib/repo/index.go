package repo

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"kxm/lib/fault"
)

// IndexEntry is one entry of the index. Stage is 0 except during a conflict, where
// 1 to 3 are the base, our and their side. IntentToAdd marks what `git add -N`
// left: a name without content, which a commit leaves out.
type IndexEntry struct {
	Path        string // from the top of the worktree, with slashes
	Mode        Mode
	OID         OID
	Stage       int
	IntentToAdd bool
}

// Index returns the entries of the index in its order (by path bytes, then stage):
// all, or those that one of the prefixes names as a file or as a folder above it. A
// missing index is empty. GIT_INDEX_FILE is honoured, so that a hook of `git commit
// -a` sees what will be committed.
func (r *Repo) Index(ctx context.Context, prefixes ...string) ([]IndexEntry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return r.b.index(ctx, cleanPrefixes(prefixes))
}

// cleanPrefixes removes slashes at the ends; none means everything, as does one
// that is the top.
func cleanPrefixes(prefixes []string) []string {
	clean := make([]string, 0, len(prefixes))
	for _, p := range prefixes {
		if p = strings.Trim(p, "/"); p == "" || p == "." {
			return nil
		}
		clean = append(clean, p)
	}
	return clean
}

// indexLimit bounds the index: a million files take about 100 MB.
const indexLimit = 2 << 30

func (b *filesBackend) index(ctx context.Context, prefixes []string) ([]IndexEntry, error) {
	path := b.r.indexPath()
	if st, err := os.Stat(path); err == nil && st.Size() > indexLimit {
		return b.r.native.index(ctx, prefixes)
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return []IndexEntry{}, nil
	}
	if err != nil {
		return nil, fault.Wrap(err, fault.IOFailed, "cannot read the index")
	}
	entries, err := parseIndex(data, prefixes)
	if errors.Is(err, errIndexUnusual) {
		return b.r.native.index(ctx, prefixes)
	}
	if err != nil {
		return nil, fault.Wrap(err, fault.ObjectCorrupt, "cannot read the index %s", fault.Quote(path))
	}
	return entries, nil
}

// index asks `git ls-files`, which also expands split and sparse indexes.
func (n *nativeBackend) index(ctx context.Context, prefixes []string) ([]IndexEntry, error) {
	args := []string{"ls-files", "--stage", "-z", "--full-name", "--"}
	out, err := n.r.run(ctx, nil, append(args, prefixes...)...)
	if err != nil {
		return nil, err
	}
	entries := []IndexEntry{}
	empty := n.r.HashBlob(nil)
	var unsure []string
	for record := range bytes.SplitSeq(out, []byte{0}) {
		if len(record) == 0 {
			continue
		}
		e, ok := parseStaged(string(record), n.r.idLength())
		if !ok {
			return nil, fault.New(fault.GitFailed, "git ls-files answered %s", fault.Quote(string(record)))
		}
		if e.OID == empty && e.Stage == 0 {
			unsure = append(unsure, e.Path)
		}
		entries = append(entries, e)
	}
	if len(unsure) == 0 {
		return entries, nil
	}
	// An entry that is only intended looks like an empty file here, and the only
	// command that tells them apart without a look at the worktree prints flags.
	intended, err := n.intended(ctx, unsure)
	if err != nil {
		return nil, err
	}
	for i := range entries {
		e := &entries[i]
		e.IntentToAdd = e.OID == empty && e.Stage == 0 && intended[e.Path]
	}
	return entries, nil
}

// parseStaged decodes "<mode> <id> <stage>\t<path>".
func parseStaged(record string, idLen int) (IndexEntry, bool) {
	head, path, ok := strings.Cut(record, "\t")
	words := strings.Split(head, " ")
	if !ok || len(words) != 3 || len(words[1]) != idLen || !isHex(words[1]) {
		return IndexEntry{}, false
	}
	mode, err := strconv.ParseUint(words[0], 8, 32)
	stage, err2 := strconv.Atoi(words[2])
	return IndexEntry{Path: path, Mode: Mode(mode), OID: OID(words[1]), Stage: stage}, err == nil && err2 == nil
}

// intended returns which of the paths are only intended to be added.
func (n *nativeBackend) intended(ctx context.Context, paths []string) (map[string]bool, error) {
	out, err := n.r.run(ctx, nil, append([]string{"ls-files", "--debug", "-z", "--full-name", "--"}, paths...)...)
	if err != nil {
		return nil, err
	}
	return parseDebug(out), nil
}

// intentToAdd is the in-memory flag that `git ls-files --debug` prints.
const intentToAdd = 1 << 29

// parseDebug decodes `git ls-files --debug -z`: per entry the path, NUL, then lines
// of "  name: value" of which the last ends in "flags: <hex>".
func parseDebug(out []byte) map[string]bool {
	intended := map[string]bool{}
	for len(out) > 0 {
		path, rest, ok := bytes.Cut(out, []byte{0})
		if !ok {
			break
		}
		out = rest
		for bytes.HasPrefix(out, []byte("  ")) {
			line, rest, _ := bytes.Cut(out, []byte("\n"))
			out = rest
			if _, hex, ok := bytes.Cut(line, []byte("\tflags: ")); ok {
				flags, err := strconv.ParseUint(string(bytes.TrimSpace(hex)), 16, 64)
				intended[string(path)] = err == nil && flags&intentToAdd != 0
				break
			}
		}
	}
	return intended
}

// StagedPaths returns the paths whose index entry differs from HEAD: added,
// modified, deleted or in conflict; all, or below the prefixes, sorted. Its cost
// is that of reading the index and the trees of the prefixes at HEAD.
func (r *Repo) StagedPaths(ctx context.Context, prefixes ...string) ([]string, error) {
	entries, err := r.Index(ctx, prefixes...)
	if err != nil {
		return nil, err
	}
	committed := map[string]TreeEntry{}
	head, ok, err := r.Head(ctx)
	if err != nil {
		return nil, err
	}
	if ok {
		if prefixes = cleanPrefixes(prefixes); len(prefixes) == 0 {
			prefixes = []string{""}
		}
		commit, err := r.Commit(ctx, head)
		if err != nil {
			return nil, err
		}
		for _, p := range prefixes {
			if err := r.flatten(ctx, commit.Tree, p, committed); err != nil {
				return nil, err
			}
		}
	}
	changed := map[string]bool{}
	for _, e := range entries {
		if e.IntentToAdd {
			continue
		}
		was, ok := committed[e.Path]
		if e.Stage != 0 || !ok || was.OID != e.OID || was.Mode.Kind() != e.Mode.Kind() {
			changed[e.Path] = true
		}
	}
	for _, e := range entries {
		if !e.IntentToAdd {
			delete(committed, e.Path)
		}
	}
	paths := make([]string, 0, len(changed)+len(committed))
	for p := range changed {
		paths = append(paths, p)
	}
	for p := range committed { // in no entry of the index
		paths = append(paths, p)
	}
	slices.Sort(paths)
	return slices.Compact(paths), nil
}

// flatten collects the files at or below a path of a tree by their full paths.
func (r *Repo) flatten(ctx context.Context, tree OID, path string, into map[string]TreeEntry) error {
	e, ok, err := r.find(ctx, tree, path)
	if err != nil || !ok {
		return err
	}
	return r.flattenEntry(ctx, e, path, into)
}

// maxDepth bounds how deep trees are walked; Git's own limit for a path is 4,096
// bytes, so 2,048 names.
const maxDepth = 2048

func (r *Repo) flattenEntry(ctx context.Context, e TreeEntry, path string, into map[string]TreeEntry) error {
	if e.Mode.Kind() != ModeFolder {
		into[path] = e
		return nil
	}
	if strings.Count(path, "/") > maxDepth {
		return corrupt(e.OID, "is a tree more than %d folders deep", maxDepth)
	}
	entries, err := r.Tree(ctx, e.OID)
	if err != nil {
		return err
	}
	for _, child := range entries {
		name := child.Name
		if path != "" {
			name = path + "/" + name
		}
		if err := r.flattenEntry(ctx, child, name, into); err != nil {
			return err
		}
	}
	return nil
}

// find walks from a tree to the entry at a slash path; "" is the tree itself.
func (r *Repo) find(ctx context.Context, tree OID, path string) (TreeEntry, bool, error) {
	at := TreeEntry{Mode: ModeFolder, OID: tree}
	if path == "" || path == "." {
		return at, true, nil
	}
	for name := range strings.SplitSeq(path, "/") {
		if at.Mode.Kind() != ModeFolder {
			return TreeEntry{}, false, nil
		}
		entries, err := r.Tree(ctx, at.OID)
		if err != nil {
			return TreeEntry{}, false, err
		}
		i := slices.IndexFunc(entries, func(e TreeEntry) bool { return e.Name == name })
		if i < 0 {
			return TreeEntry{}, false, nil
		}
		at = entries[i]
	}
	return at, true, nil
}
