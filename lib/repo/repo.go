// Package repo owns everything that touches a Git repository: finding it,
// reading its objects, refs, index and configuration, views of a commit or of
// the index as an [io/fs.FS], and running the git program.
//
// Start with [Open]. In the usual case nothing here starts a process: discovery,
// loose and packed objects, refs and the index are read directly, at a cost that
// does not grow with the repository. What is unusual (SHA-256, reftable, partial
// clones, unknown extensions) is answered by the git program, version 2.31 or
// newer, behind the same interface; [Repo.Reason] says why.
//
// Writing is for logs that are kept in refs of their own: [Repo.WriteObjects] and
// [Repo.UpdateRef] make objects durable before a ref names them, and move refs by
// Git's own protocol. The package never changes an index, a branch that is checked
// out or a file of a worktree. Replacement objects (refs/replace) and grafts are not applied,
// because evidence is what was committed and both are local views of it; the
// boundary of a shallow clone is. Environment variables of Git are read through
// [Options].
package repo

import (
	"context"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"kxm/lib/fault"
)

// Options says where a repository is looked for and under which environment.
type Options struct {
	// Dir is a folder or a file in the repository; "" is the working directory.
	Dir string
	// Explicit says that a person chose Dir: Git's own variables (those that
	// `git rev-parse --local-env-vars` lists) are then ignored, for this package
	// and for every git program it starts, so that a tool that runs inside a hook
	// and is pointed elsewhere does not end up in the hook's repository.
	Explicit bool
	// Getenv reads the environment; nil is the environment of the process.
	Getenv func(string) string
	// Backend is "" for the fast one where it can read the repository, or "native"
	// for the git program in any case.
	Backend string
}

// Repo is one repository as seen from one folder. It is safe for concurrent use.
type Repo struct {
	start          string // the folder that discovery started from, without symbolic links
	gitDir         string
	commonDir      string
	workTree       string
	objectsDir     string
	format         string // "sha1" or "sha256"
	worktreeConfig bool   // <gitDir>/config.worktree is read too
	reason         string
	getenv         func(string) string // the environment, without Git's own when Explicit
	childEnv       []string
	pinned         bool // a child finds this repository only through GIT_DIR
	b              backend
	native         *nativeBackend
	shallow        shallowList
	versionSeen    atomic.Bool // the git program is new enough
	writerOnce     sync.Once
	writer         *writer
	writerErr      error
	shortPause     time.Duration // of tests: see pauseCreated
}

// backend is what differs between reading a repository's files and asking git.
// Names of refs are full ("HEAD", "refs/…"); ids are full.
type backend interface {
	object(ctx context.Context, id OID, limit int64) (typ string, data []byte, err error)
	header(ctx context.Context, id OID) (typ string, size int64, err error)
	ref(ctx context.Context, name string) (id OID, ok bool, err error)
	plainRef(ctx context.Context, name string) (id OID, ok bool, err error)
	conflicting(ctx context.Context, name string) (other string, err error)
	resolve(ctx context.Context, rev string) (OID, error)
	index(ctx context.Context, prefixes []string) ([]IndexEntry, error)
}

// Open finds the repository that o.Dir lies in, as Git would: upwards from there,
// unless the environment names one. It fails with NotARepository when there is
// none, RepositoryNotOwned when it belongs to another user whom Git's
// safe.directory does not name, and RepositoryUnsupported when neither this
// package nor the git program reads its format.
func Open(ctx context.Context, o Options) (*Repo, error) {
	if o.Backend != "" && o.Backend != "native" {
		return nil, fault.New(fault.Usage, "unknown repository backend %s", fault.Quote(o.Backend))
	}
	r := &Repo{getenv: environment(o)}
	start, err := startFolder(o.Dir)
	if err != nil {
		return nil, err
	}
	r.start = start
	found, err := discover(start, r.getenv)
	if err != nil {
		return nil, err
	}
	r.gitDir, r.commonDir = found.gitDir, found.commonDir
	f, err := readFormat(found.gitDir, found.commonDir)
	if err != nil {
		return nil, err
	}
	r.format, r.worktreeConfig = f.objectFormat, f.perWorktree
	r.workTree, r.pinned = workTree(start, found, f, r.getenv)
	r.childEnv = r.environ(o)
	if err := r.checkOwner(ctx, found); err != nil {
		return nil, err
	}
	base := r.workDir()
	r.objectsDir = under(base, r.getenv("GIT_OBJECT_DIRECTORY"))
	if r.objectsDir == "" {
		r.objectsDir = under(r.commonDir, "objects")
	}
	r.native = &nativeBackend{r: r}
	r.reason = f.reason
	if r.reason == "" && o.Backend == "native" {
		r.reason = "asked for"
	}
	if r.reason == "" {
		r.b = newFilesBackend(r, base)
		return r, nil
	}
	if err := r.native.check(ctx, f.reason); err != nil {
		return nil, err
	}
	r.b = r.native
	return r, nil
}

// Close ends the git program that answers for objects, if one was started. A
// process that exits may leave it out: the program ends with its input.
func (r *Repo) Close() error { return r.native.close() }

// GitDir returns the absolute path of this worktree's Git directory, without
// symbolic links.
func (r *Repo) GitDir() string { return r.gitDir }

// CommonDir returns the absolute path of the Git directory that all worktrees
// share; it is GitDir except in a linked worktree.
func (r *Repo) CommonDir() string { return r.commonDir }

// ObjectsDir returns the absolute path of the folder that new objects go to.
func (r *Repo) ObjectsDir() string { return r.objectsDir }

// WorkTree returns the absolute path of the top of the worktree, without symbolic
// links, or "" when there is none: in a bare repository, and inside a Git
// directory.
func (r *Repo) WorkTree() string { return r.workTree }

// Bare reports whether there is no worktree.
func (r *Repo) Bare() bool { return r.workTree == "" }

// ObjectFormat returns the hash of object ids, "sha1" or "sha256".
func (r *Repo) ObjectFormat() string { return r.format }

// Backend returns "files" when the repository's files are read directly, and
// "native" when the git program answers.
func (r *Repo) Backend() string {
	if r.reason == "" {
		return "files"
	}
	return "native"
}

// Reason returns why the git program answers, or "".
func (r *Repo) Reason() string { return r.reason }

// workDir is where git programs run: the top of the worktree, since a relative
// address of a remote is meant from there, else the Git directory.
func (r *Repo) workDir() string {
	if r.workTree != "" {
		if st, err := os.Stat(r.workTree); err == nil && st.IsDir() {
			return r.workTree
		}
	}
	return r.gitDir
}

// idLength is the length of an id in hexadecimal digits.
func (r *Repo) idLength() int {
	if r.format == "sha256" {
		return 64
	}
	return 40
}
