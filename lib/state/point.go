package state

import (
	"kxm/lib/fault"
)

// Point is the trust point: the commit whose reviewed files say who may sign.
type Point struct {
	Resolved bool
	Commit   string // "" with Resolved: HEAD is unborn, so nothing is reviewed yet
	Name     string // the revision that was resolved, such as refs/remotes/origin/HEAD
	Why      string // why it is this one, or why there is none: a clause in lower case
}

// Lookups are what the trust point depends on.
type Lookups struct {
	TrustRef string // --trust-ref; "" when it was not given
	// ConfigValue reads Git's configuration.
	ConfigValue func(key string) (value string, ok bool, err error)
	// Resolve returns the commit that a revision names; ok is false if there is none.
	Resolve func(revision string) (commit string, ok bool, err error)
	// HasRemote reports whether the repository has any remote.
	HasRemote func() (bool, error)
}

const (
	trustKey   = "kxm.trustRef"
	originHead = "refs/remotes/origin/HEAD"
	trustHint  = "git remote set-head origin -a, or git config kxm.trustRef REF"
)

// FindPoint decides the trust point: --trust-ref, else kxm.trustRef, else
// refs/remotes/origin/HEAD, else, in a repository without any remote, HEAD. With a
// remote, HEAD may be a stranger's pull request, so then there is none. What is named
// and does not exist is never replaced by the next of these, which could be one that
// an attacker controls: a flag is refused (RevisionNotFound), a configured name
// leaves no trust point.
func FindPoint(l Lookups) (Point, error) {
	if l.TrustRef != "" {
		commit, ok, err := l.Resolve(l.TrustRef)
		switch {
		case err != nil:
			return Point{}, err
		case !ok:
			return Point{}, fault.New(fault.RevisionNotFound, "the trust point %s names no commit", fault.Quote(l.TrustRef))
		}
		return Point{Resolved: true, Commit: commit, Name: l.TrustRef, Why: "--trust-ref names it"}, nil
	}
	name, ok, err := l.ConfigValue(trustKey)
	if err != nil {
		return Point{}, err
	}
	if ok {
		commit, found, err := l.Resolve(name)
		switch {
		case err != nil:
			return Point{}, err
		case name == "" || !found:
			return Point{Name: name, Why: trustKey + " names " + fault.Quote(name) + ", which is no commit here"}, nil
		}
		return Point{Resolved: true, Commit: commit, Name: name, Why: trustKey + " in Git's configuration names it"}, nil
	}
	commit, ok, err := l.Resolve(originHead)
	if err != nil {
		return Point{}, err
	}
	if ok {
		return Point{Resolved: true, Commit: commit, Name: originHead, Why: "it is the remote's default branch"}, nil
	}
	remote, err := l.HasRemote()
	if err != nil {
		return Point{}, err
	}
	if remote {
		return Point{Why: "the repository has a remote but no " + originHead + ", and " + trustKey + " is not set"}, nil
	}
	commit, ok, err = l.Resolve("HEAD")
	if err != nil {
		return Point{}, err
	}
	if !ok {
		return Point{Resolved: true, Name: "HEAD", Why: "the repository has no remote, and no commit yet"}, nil
	}
	return Point{Resolved: true, Commit: commit, Name: "HEAD", Why: "the repository has no remote"}, nil
}
