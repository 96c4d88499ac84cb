package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// nativeAppend is what a person would write instead of kxm-state propose: the same
// objects by Git's plumbing, each its process, and a compare-and-set of a ref. Git is
// told to bring them to the disk, as kxm-state does.
const nativeAppend = `set -e
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.fsync GIT_CONFIG_VALUE_0=objects,reference
ref=refs/native/state
old=$(git rev-parse -q --verify $ref || true)
event=$(printf '{"schema":"kxm.state-event.v1","type":"propose","key":"key","body":{"summary":"Releases are cut from the main branch","evidenceRefs":["pr:12"]},"nonce":"%s"}\n' $$ | git hash-object -w --stdin)
folder=$( { [ -z "$old" ] || git ls-tree $old:aa/bbbbbbbbbbbbbb; printf '100644 blob %s\t%s.json\n' $event $event; } | git mktree)
shard=$(printf '040000 tree %s\tbbbbbbbbbbbbbb\n' $folder | git mktree)
root=$(printf '040000 tree %s\taa\n' $shard | git mktree)
commit=$(git commit-tree ${old:+-p $old} -m event $root)
git update-ref $ref $commit ${old:-0000000000000000000000000000000000000000}
`

// state measures the event log.
func (b *bench) state() {
	small := b.log("log-small", 100)
	b.ratio("kxm-state propose / the same by Git's plumbing", 0.6,
		command{argv: []string{filepath.Join(b.bin, "kxm-state"), "propose", "key", "Releases are cut from the main branch", "--evidence", "pr:12", "--quiet"}, dir: small},
		shell(small, nativeAppend))
	const get = "kxm-state get KEY with 100,000 events in the log / with 100"
	if !strings.Contains(get, b.only) {
		return
	}
	ask := []string{filepath.Join(b.bin, "kxm-state"), "get", "key", "--quiet"}
	b.ratio(get, 1.5, command{argv: ask, dir: b.log("log-large", 100_000)}, command{argv: ask, dir: b.log("log-fresh", 100)})
}

// log makes a repository with so many journal entries, and ten proposals for one key.
func (b *bench) log(name string, entries int) string {
	dir := filepath.Join(b.dir, name)
	write(filepath.Join(dir, ".kxm", "config.toml"), "project = \"demo\"\n")
	run := func(stdin string, argv ...string) {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(stdin)
		cmd.Env = append(os.Environ(), "KXM_FSYNC=none")
		if out, err := cmd.CombinedOutput(); err != nil {
			fail(fmt.Errorf("%v: %v\n%.400s", argv, err, out))
		}
	}
	run("", "git", "init", "-q", "-b", "main")
	run("", "git", "config", "user.email", "ada@example.com")
	run("", "git", "config", "user.name", "Ada")
	var journal, proposals strings.Builder
	for i := range entries {
		fmt.Fprintf(&journal, `{"category":"observation","summary":"Entry %d of a long journal"}`+"\n", i)
	}
	for i := range 10 {
		fmt.Fprintf(&proposals, `{"type":"propose","key":"key","summary":"Value %d","evidenceRefs":["pr:%d"]}`+"\n", i, i)
	}
	state := filepath.Join(b.bin, "kxm-state")
	run(journal.String(), state, "journal", "add", "--quiet")
	run(proposals.String(), state, "batch", "--quiet")
	return dir
}
