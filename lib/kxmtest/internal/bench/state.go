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

// nativeLoop is what sixteen writers would do without kxm-state: each appends by
// itself, and begins again when another was faster.
const nativeLoop = `for n in $(seq 16); do (
  for i in $(seq 4); do until sh "$NATIVE" >/dev/null 2>&1; do :; done; done
) & done; wait`

const ownLoop = `for n in $(seq 16); do (
  for i in $(seq 4); do kxm-state propose "key-$n" "Releases are cut from the main branch" --evidence pr:12 --quiet >/dev/null; done
) & done; wait`

// state measures the event log.
func (b *bench) state() {
	kxm := func(dir string, args ...string) command {
		return command{argv: append([]string{filepath.Join(b.bin, "kxm-state")}, args...), dir: dir}
	}
	propose := []string{"propose", "key-{n}", "Releases are cut from the main branch", "--evidence", "pr:12", "--quiet"}
	small := b.log("log-small", 100)
	b.ratio("kxm-state propose / the same by Git's plumbing", 0.6, kxm(small, propose...), shell(small, nativeAppend))
	const crowded = "kxm-state propose beside 100,000 objects / the same by Git's plumbing"
	if b.wanted(crowded) {
		large := b.log("log-crowded", 100)
		b.objects(large, 100_000)
		b.ratio(crowded, 0.6, kxm(large, propose...), shell(large, nativeAppend))
	}
	const get = "kxm-state get KEY with 100,000 events in the log / with 100"
	if b.wanted(get) {
		ask := []string{"get", "key-{n}", "--quiet"}
		b.ratio(get, 1.5, kxm(b.log("log-large", 100_000), ask...), kxm(b.log("log-fresh", 100), ask...))
	}
	const writers = "sixteen writers of kxm-state propose / of Git's plumbing with retry"
	if b.wanted(writers) {
		native := filepath.Join(b.dir, "native-append.sh")
		write(native, nativeAppend)
		b.ratio(writers, 0.5, shell(b.log("log-writers", 100), ownLoop), shell(b.log("log-native", 100), "NATIVE='"+native+"'\n"+nativeLoop))
	}
	b.lists(kxm)
}

// lists measures kxm-state list on 100,000 events, with and without its cache.
func (b *bench) lists(kxm func(dir string, args ...string) command) {
	const (
		warm    = "kxm-state list of 100,000 events, warm / cat, or --version"
		cold    = "kxm-state list of 100,000 events, cold / git cat-file --batch"
		size    = "kxm-state list --all of 100,000 events, resident size / output"
		journal = "kxm-state journal list of 100,000 entries, resident size / output"
	)
	if b.wanted(journal) {
		dir := b.log("log-journal", 100_000)
		list := kxm(dir, "journal", "list", "--quiet")
		list.without = filepath.Join(dir, ".git", "kxm", "cache")
		b.memory(journal, 6, list, b.printed(list))
	}
	if !b.wanted(warm) && !b.wanted(cold) && !b.wanted(size) {
		return
	}
	dir := b.keys("log-keys", 10_000)
	list := kxm(dir, "list", "--quiet")
	b.printed(list) // and makes the cache
	b.either(warm, list, 2, shell(b.dir, "cat printed"), 3, kxm(dir, "--version"))
	list.without = filepath.Join(dir, ".git", "kxm", "cache")
	blobs := filepath.Join(b.dir, "blobs")
	b.output(shell(dir, "git ls-tree -r refs/kxm/state | cut -f1 | cut -d' ' -f3"), blobs)
	b.ratio(cold, 3, list, command{argv: []string{"git", "cat-file", "--batch"}, dir: dir, stdin: blobs})
	list.argv = append(list.argv, "--all")
	b.memory(size, 6, list, b.printed(list))
}

// printed returns how many bytes a command prints, and leaves them in the file printed.
func (b *bench) printed(c command) int64 {
	name := filepath.Join(b.dir, "printed")
	b.output(c, name)
	info, err := os.Stat(name)
	if err != nil {
		fail(err)
	}
	return info.Size()
}

// objects adds so many objects that no commit of ours knows, in a pack.
func (b *bench) objects(dir string, n int) {
	var stream strings.Builder
	for i := range n {
		text := fmt.Sprintf("object %d\n", i)
		fmt.Fprintf(&stream, "blob\ndata %d\n%s\n", len(text), text)
	}
	b.prepare(dir, stream.String(), "git", "fast-import", "--quiet")
}

// prepare runs a command outside any measure.
func (b *bench) prepare(dir, stdin string, argv ...string) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(stdin)
	cmd.Env = append(os.Environ(), "KXM_FSYNC=none", "XDG_CONFIG_HOME="+filepath.Join(b.dir, "config"))
	if out, err := cmd.CombinedOutput(); err != nil {
		fail(fmt.Errorf("%v: %v\n%.400s", argv, err, out))
	}
}

// project makes an empty repository with a project in it.
func (b *bench) project(name string) string {
	dir := filepath.Join(b.dir, name)
	write(filepath.Join(dir, ".kxm", "config.toml"), "project = \"demo\"\n")
	b.prepare(dir, "", "git", "init", "-q", "-b", "main")
	b.prepare(dir, "", "git", "config", "user.email", "ada@example.com")
	b.prepare(dir, "", "git", "config", "user.name", "Ada")
	return dir
}

// keys makes a repository with ten events under each of so many keys, one of them
// signed, in a pack: five proposals, four of them withdrawn and one promoted.
func (b *bench) keys(name string, n int) string {
	dir := b.project(name)
	state := filepath.Join(b.bin, "kxm-state")
	b.prepare(dir, "", state, "init", "--principal", "ada@example.com", "--quiet")
	b.prepare(dir, "", "git", "add", "-A")
	b.prepare(dir, "", "git", "commit", "-q", "-m", "project")
	var batch strings.Builder
	line := 0
	for i := range n {
		for j := range 5 {
			fmt.Fprintf(&batch, `{"type":"propose","key":"part.%d","summary":"Value %d of part %d","evidenceRefs":["pr:%d"],"as":"agent"}`+"\n", i, j, i, j)
		}
		for j := range 4 {
			fmt.Fprintf(&batch, `{"type":"withdraw","proposal":"@%d","as":"agent"}`+"\n", line+1+j)
		}
		fmt.Fprintf(&batch, `{"type":"promote","proposal":"@%d","evidenceRefs":["review:%d"]}`+"\n", line+5, i)
		line += 10
	}
	b.prepare(dir, batch.String(), state, "batch", "--quiet")
	b.prepare(dir, "", state, "compact", "--quiet")
	return dir
}

// log makes a repository with so many journal entries, and ten proposals for each of
// some keys.
func (b *bench) log(name string, entries int) string {
	dir := b.project(name)
	var journal, proposals strings.Builder
	for i := range entries {
		fmt.Fprintf(&journal, `{"category":"observation","summary":"Entry %d of a long journal"}`+"\n", i)
	}
	for key := range turns {
		for i := range 10 {
			fmt.Fprintf(&proposals, `{"type":"propose","key":"key-%d","summary":"Value %d","evidenceRefs":["pr:%d"]}`+"\n", key, i, i)
		}
	}
	state := filepath.Join(b.bin, "kxm-state")
	b.prepare(dir, journal.String(), state, "journal", "add", "--quiet")
	b.prepare(dir, proposals.String(), state, "batch", "--quiet")
	return dir
}
