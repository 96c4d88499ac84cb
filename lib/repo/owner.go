package repo

import (
	"context"
	"strconv"
	"strings"

	"kxm/lib/fault"
)

// checkOwner refuses a repository that another user owns, because its
// configuration and hooks could run that user's programs, unless Git's
// safe.directory names it. Git checks the .git file, the top of the worktree and
// the Git directory, and nothing when GIT_DIR names the repository. Only when one
// of them is foreign is git asked, since the answer stands in configuration that
// only git may interpret.
func (r *Repo) checkOwner(ctx context.Context, p place) error {
	if p.named || r.ownedByUser(p) {
		return nil
	}
	_, err := r.run(ctx, nil, "rev-parse", "--git-dir")
	if err == nil || fault.CodeOf(err) == fault.GitUnavailable {
		return err
	}
	if text := gitStderr(err); !strings.Contains(text, "dubious ownership") && !strings.Contains(text, "unsafe repository") {
		return err
	}
	shown := p.top
	if shown == "" {
		shown = p.gitDir
	}
	return fault.New(fault.RepositoryNotOwned, "repository %s belongs to another user", fault.Quote(shown)).
		WithHint("if you trust it: git config --global --add safe.directory %s", fault.Printable(shown))
}

func (r *Repo) ownedByUser(p place) bool {
	// Git's own tests pretend with this variable that everything is foreign.
	if isTrue(r.getenv("GIT_TEST_ASSUME_DIFFERENT_OWNER")) {
		return false
	}
	// Under sudo the files of the user who called it count as root's.
	also, err := strconv.ParseUint(r.getenv("SUDO_UID"), 10, 32)
	hasAlso := err == nil
	for _, path := range []string{p.gitFile, p.top, p.gitDir} {
		if path != "" && !ownedBy(path, uint32(also), hasAlso) {
			return false
		}
	}
	return true
}
