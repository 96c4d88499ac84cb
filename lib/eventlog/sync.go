package eventlog

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"kxm/lib/fault"
	"kxm/lib/lock"
	"kxm/lib/repo"
)

// SyncOptions says in which directions a sync goes; neither is both.
type SyncOptions struct {
	Pull bool // take in what the remote has
	Push bool // send what is here; what the remote has is taken in where it must be
}

// SyncResult says what a sync did.
type SyncResult struct {
	Remote   string
	Tip      repo.OID // where the log is now, "" when there is none
	Fetched  int      // events that were new here
	Merged   int      // commits that were made to join both
	Pushed   int      // events that were new on the remote
	Restored int      // events that the remote had once, had lost, and has again or would have with a push
}

// maxRounds is how often a sync begins again because the remote moved.
const maxRounds = 20

// Sync exchanges events with a remote, which must be configured; "" is origin, or the
// only one. It runs git fetch and git push, so that addresses, credentials and
// proxies are the user's; nothing is ever forced. Both sides then hold the union. It
// fails with StateSyncRejected when the remote moved each time before the push, with
// StateRefBroken when what the remote has cannot be read, and with GitFailed when git
// cannot reach it or it refuses the ref.
func (l *Log) Sync(ctx context.Context, remote string, o SyncOptions) (SyncResult, error) {
	result := SyncResult{}
	if err := l.prepare(); err != nil {
		return result, err
	}
	remote, err := l.remote(ctx, remote)
	if err != nil {
		return result, err
	}
	s := syncing{l: l, remote: remote, tracking: "refs/kxm/remotes/" + remote + "/state", result: &result}
	result.Remote = remote
	push := o.Push || !o.Pull
	looked := o.Push && !o.Pull // at the remote as it was last seen
	for round := 0; ; round++ {
		if looked {
			looked = false
			err = s.recall(ctx)
		} else {
			err = s.pull(ctx)
		}
		if err != nil {
			return result, err
		}
		if !push || result.Tip == "" || result.Tip == s.theirs {
			return result, l.Tidy(ctx)
		}
		rejected, err := s.push(ctx)
		if err != nil {
			return result, err
		}
		if rejected == "" {
			return result, l.Tidy(ctx)
		}
		if round == l.rounds {
			return result, fault.New(fault.StateSyncRejected, "remote %s rejected the log %d times: %s", fault.Quote(remote), round+1, fault.Printable(rejected))
		}
		if err := pause(ctx, round); err != nil {
			return result, err
		}
	}
}

// pause waits longer from round to round, and each clone for another time, so that
// not all come back at once.
func pause(ctx context.Context, round int) error {
	limit := min(20*time.Millisecond<<round, time.Second)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(limit/2 + rand.N(limit)):
		return nil
	}
}

// remote checks the name of a remote. Only a configured one is used: a text from
// elsewhere must not become an address, or an option of git.
func (l *Log) remote(ctx context.Context, name string) (string, error) {
	if name == "" {
		out, err := l.r.Git(ctx, nil, "remote")
		if err != nil {
			return "", err
		}
		names := strings.Fields(string(out))
		for _, n := range names {
			if n == "origin" {
				return n, nil
			}
		}
		switch len(names) {
		case 0:
			return "", fault.New(fault.Usage, "the repository has no remote").WithHint("git remote add origin URL")
		case 1:
			return names[0], nil
		}
		return "", fault.New(fault.Usage, "the repository has several remotes and none is called origin: name one")
	}
	if strings.HasPrefix(name, "-") || !repo.ValidRefName("refs/kxm/remotes/"+name+"/state") {
		return "", fault.New(fault.Usage, "%s is no name of a remote", fault.Quote(name))
	}
	if _, ok, err := l.r.ConfigValue(ctx, "remote."+name+".url"); err != nil {
		return "", err
	} else if !ok {
		return "", fault.New(fault.Usage, "the repository has no remote %s", fault.Quote(name)).WithHint("git remote lists them")
	}
	return name, nil
}

// syncing is one sync under way.
type syncing struct {
	l                *Log
	remote, tracking string
	theirs           repo.OID // what the remote has, as far as is known
	result           *SyncResult
}

// recall takes the remote for what it was at the last sync.
func (s *syncing) recall(ctx context.Context) (err error) {
	s.theirs, _, err = s.l.r.PlainRef(ctx, s.tracking)
	if fault.Is(err, fault.RefBroken) {
		return s.pull(ctx)
	}
	if err == nil {
		s.result.Tip, err = s.l.tip(ctx)
	}
	return err
}

// pull fetches what the remote has and takes it in. The network is never used while
// the lock is held.
func (s *syncing) pull(ctx context.Context) error {
	before, _, err := s.l.r.PlainRef(ctx, s.tracking)
	if err != nil && !fault.Is(err, fault.RefBroken) {
		return err // a damaged one is written anew by the fetch
	}
	if s.theirs, err = s.fetch(ctx); err != nil {
		return err
	}
	if err := s.noteLost(ctx, before); err != nil {
		return err
	}
	lk, err := lock.Acquire(ctx, s.l.path(lockName), s.l.wait)
	if fault.Is(err, fault.LockHeld) {
		return busy(err)
	}
	if err != nil {
		return err
	}
	defer lk.Release()
	w, err := s.l.lead(ctx, lk)
	if err != nil {
		return err
	}
	if err := w.commitSpool(ctx, nil); err != nil {
		return err
	}
	now, ours, how, err := w.adopt(ctx, s.theirs)
	if err != nil {
		var f *fault.Error
		if errors.As(err, &f) && f.Code == fault.StateRefBroken {
			return f.WithHint("look at %s and %s with git fsck", Ref, fault.Printable(s.tracking))
		}
		return err
	}
	s.result.Tip = now
	if how == restacked || how == merged {
		s.result.Merged++
	}
	if how != unchanged {
		d, err := s.l.countCommits(ctx, now, ours)
		if err != nil {
			return err
		}
		s.result.Fetched += d.events
	}
	return nil
}

// noteLost counts what the remote once had and has no more, as the tracking ref
// shows. The union gives it back.
func (s *syncing) noteLost(ctx context.Context, before repo.OID) error {
	if before == "" || before == s.theirs {
		return nil
	}
	d, err := s.l.countCommits(ctx, before, s.theirs)
	switch fault.CodeOf(err) {
	case fault.StateRefBroken, fault.ObjectMissing:
		return nil // what it had before cannot be told any more
	}
	s.result.Restored += d.events
	return err
}

// countCommits is count over the trees of two commits, either of which may be "".
func (l *Log) countCommits(ctx context.Context, have, in repo.OID) (difference, error) {
	var trees [2]repo.OID
	for i, id := range []repo.OID{have, in} {
		if id == "" {
			continue
		}
		c, err := l.r.Commit(ctx, id)
		if err != nil {
			return difference{}, refBroken(err)
		}
		trees[i] = c.Tree
	}
	return l.count(ctx, trees[0], trees[1])
}

// quiet keeps git from tidying up in the user's repository because of us.
var quiet = []string{"-c", "gc.auto=0", "-c", "maintenance.auto=false"}

// fetch updates the tracking ref and returns what the remote has, "" when it has no
// log. The ref is named in full: with a pattern, a stranger's refs/kxm/state/x would
// make every fetch fail.
func (s *syncing) fetch(ctx context.Context) (repo.OID, error) {
	spec := "+" + s.l.remoteRef + ":" + s.tracking
	args := append(quiet, "fetch", "-q", "--no-tags", "--no-prune", "--no-write-fetch-head", "--no-recurse-submodules", "--no-filter", "--", s.remote, spec)
	for try := 0; ; try++ {
		_, err := s.l.r.Git(ctx, nil, args...)
		if err == nil {
			id, _, err := s.l.r.PlainRef(ctx, s.tracking)
			return id, err
		}
		if _, answered := repo.GitExitCode(err); !answered {
			return "", err
		}
		there, askErr := s.exists(ctx)
		if askErr != nil {
			return "", err // it cannot be reached, and the first error says why
		}
		if !there {
			return "", nil
		}
		if try == 3 {
			return "", err
		}
		// Another sync may have moved the tracking ref meanwhile.
		if err := pause(ctx, try); err != nil {
			return "", err
		}
	}
}

// exists asks whether the remote has the ref.
func (s *syncing) exists(ctx context.Context) (bool, error) {
	out, err := s.l.r.Git(ctx, nil, "ls-remote", "--exit-code", "--", s.remote, s.l.remoteRef)
	if code, _ := repo.GitExitCode(err); code == 2 {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	// The pattern also fits refs that end in this name.
	for line := range strings.Lines(string(out)) {
		if _, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t"); name == s.l.remoteRef {
			return true, nil
		}
	}
	return false, nil
}

// push sends the log. rejected is why the remote did not take it, when that may be
// different after another look at it. --no-verify keeps a pre-push hook that syncs
// from calling itself.
func (s *syncing) push(ctx context.Context) (rejected string, err error) {
	tip := s.result.Tip
	out, err := s.l.r.Git(ctx, nil, "push", "--no-verify", "--porcelain", "--no-follow-tags", "--recurse-submodules=no", "--", s.remote, string(tip)+":"+s.l.remoteRef)
	if err != nil {
		why, ok := rejection(string(out), s.l.remoteRef)
		if !ok {
			return "", err
		}
		if !isRace(why) {
			return "", fault.Wrap(err, fault.GitFailed, "remote %s refuses %s: %s", fault.Quote(s.remote), fault.Quote(s.l.remoteRef), fault.Printable(why)).
				WithHint("if the host takes branches only: set remoteRef in [state] to refs/heads/kxm-state")
		}
		if s.theirs == "" {
			return why, s.obstructed(ctx)
		}
		return why, nil
	}
	d, err := s.l.countCommits(ctx, tip, s.theirs)
	if err != nil {
		return "", err
	}
	s.result.Pushed += d.events
	old, _, err := s.l.r.PlainRef(ctx, s.tracking)
	if err == nil && old != tip {
		err = s.l.r.UpdateRef(ctx, s.tracking, old, tip, repo.UpdateOptions{Message: "kxm: push", When: s.l.now().UTC()})
	}
	switch fault.CodeOf(err) {
	case fault.RefMoved, fault.RefLocked:
		return "", nil // another sync is at it; the next fetch sets it right
	}
	return "", err
}

// obstructed refuses a remote that cannot take the ref because it has refs below it,
// which looks like a race to git.
func (s *syncing) obstructed(ctx context.Context) error {
	out, err := s.l.r.Git(ctx, nil, "ls-remote", "--", s.remote, s.l.remoteRef+"/*")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(out)) {
		if _, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t"); strings.HasPrefix(name, s.l.remoteRef+"/") {
			return fault.New(fault.GitFailed, "remote %s cannot take %s: it has %s, which stands in its way", fault.Quote(s.remote), s.l.remoteRef, fault.Quote(name)).
				WithHint("if nobody needs that: git push %s :%s", fault.Printable(s.remote), fault.Printable(name))
		}
	}
	return nil
}

// rejection finds in the output of `git push --porcelain` why a ref was not taken:
// "!<tab>from:to<tab>[rejected] (why)".
func rejection(out, ref string) (why string, ok bool) {
	for line := range strings.Lines(out) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 3)
		if len(parts) == 3 && parts[0] == "!" && strings.HasSuffix(parts[1], ":"+ref) {
			return parts[2], true
		}
	}
	return "", false
}

// isRace reports whether a rejection means that somebody else was faster.
func isRace(why string) bool {
	if strings.HasPrefix(why, "[rejected]") {
		return true // by our own git: theirs is not an ancestor
	}
	for _, text := range []string{"failed to update ref", "cannot lock ref", "incorrect old value", "fetch first", "non-fast-forward", "reference already exists"} {
		if strings.Contains(why, text) {
			return true
		}
	}
	return false
}

// isAncestor reports whether commit a is in the history of b.
func (l *Log) isAncestor(ctx context.Context, a, b repo.OID) (bool, error) {
	_, err := l.r.Git(ctx, nil, "merge-base", "--is-ancestor", string(a), string(b))
	if code, ok := repo.GitExitCode(err); ok && code == 1 {
		return false, nil
	}
	return err == nil, err
}

// isPublished reports whether some remote has a commit of ours that theirs has not:
// these must stay what they are.
func (l *Log) isPublished(ctx context.Context, ours, theirs repo.OID) (bool, error) {
	count := func(not ...string) (string, error) {
		args := append([]string{"rev-list", "--count", string(ours), "--not"}, not...)
		out, err := l.r.Git(ctx, nil, args...)
		return strings.TrimSpace(string(out)), err
	}
	all, err := count(string(theirs))
	if err != nil {
		return false, err
	}
	unpublished, err := count(string(theirs), "--glob=refs/kxm/remotes")
	return all != unpublished, err
}
