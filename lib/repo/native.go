package repo

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"sync"

	"kxm/lib/fault"
)

// nativeBackend asks the git program. Objects come from one `git cat-file --batch`
// that is started at the first question and answers one at a time.
type nativeBackend struct {
	r     *Repo
	mu    sync.Mutex
	batch *batch
}

// check makes sure that git is new enough and reads this repository. why is what
// kept the files from being read directly.
func (n *nativeBackend) check(ctx context.Context, why string) error {
	if err := checkVersion(ctx, n.r.childEnv); err != nil {
		return err
	}
	n.r.versionSeen.Store(true)
	out, err := n.r.run(ctx, nil, "rev-parse", "--show-object-format")
	if err != nil {
		if _, ok := GitExitCode(err); ok {
			return fault.Wrap(err, fault.RepositoryUnsupported, "the repository cannot be read (%s), and git refuses it too", fault.Printable(why))
		}
		return err
	}
	n.r.format = strings.TrimSpace(string(out))
	return nil
}

func (n *nativeBackend) object(ctx context.Context, id OID, limit int64) (string, []byte, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if ctx.Err() != nil {
		return "", nil, interrupted(ctx, []string{"cat-file"})
	}
	if n.batch == nil {
		b, err := startBatch(n.r)
		if err != nil {
			return "", nil, err
		}
		n.batch = b
	}
	b := n.batch
	// Killing the program ends the read below; it is not used again.
	killed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() { killGroup(b.cmd); close(killed) })
	typ, data, err := b.read(id, limit)
	if !stop() {
		<-killed
		n.batch = nil
		b.kill()
		return "", nil, interrupted(ctx, []string{"cat-file"})
	}
	if err != nil {
		if b.ended || !fault.Is(err, fault.ObjectMissing) {
			n.batch = nil
			b.kill()
		}
		return "", nil, err
	}
	return typ, data, nil
}

// header asks for the content as well: a second program that answers for sizes
// would cost more than reading the small objects that this package is used for.
func (n *nativeBackend) header(ctx context.Context, id OID) (string, int64, error) {
	typ, data, err := n.object(ctx, id, MaxObject)
	return typ, int64(len(data)), err
}

func (n *nativeBackend) close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.batch == nil {
		return nil
	}
	b := n.batch
	n.batch = nil
	b.stdin.Close()
	if err := b.cmd.Wait(); err != nil {
		return fault.Wrap(err, fault.GitFailed, "git cat-file failed")
	}
	return nil
}

// batch is a running `git cat-file --batch`.
type batch struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	stderr bytes.Buffer
	ended  bool
}

func startBatch(r *Repo) (*batch, error) {
	b := &batch{cmd: exec.Command("git", "cat-file", "--batch")}
	b.cmd.Dir, b.cmd.Env, b.cmd.Stderr = r.workDir(), r.childEnv, &b.stderr
	ownGroup(b.cmd)
	b.cmd.Cancel = nil // started without a context: each question has its own
	var err error
	if b.stdin, err = b.cmd.StdinPipe(); err != nil {
		return nil, notStarted(err, r.workDir())
	}
	out, err := b.cmd.StdoutPipe()
	if err != nil {
		return nil, notStarted(err, r.workDir())
	}
	b.stdout = bufio.NewReaderSize(out, 64<<10)
	if err := b.cmd.Start(); err != nil {
		return nil, notStarted(err, r.workDir())
	}
	return b, nil
}

func (b *batch) kill() {
	b.stdin.Close()
	killGroup(b.cmd)
	_ = b.cmd.Wait() // it was killed: its exit status says nothing
}

// read asks for one object. The answer is "<id> <type> <size>\n<content>\n" or
// "<id> missing\n".
func (b *batch) read(id OID, limit int64) (string, []byte, error) {
	if _, err := io.WriteString(b.stdin, string(id)+"\n"); err != nil {
		return "", nil, b.broken(id, err)
	}
	line, err := b.stdout.ReadString('\n')
	if err != nil {
		return "", nil, b.broken(id, err)
	}
	words := strings.Fields(line)
	if len(words) == 2 && words[1] == "missing" {
		return "", nil, missing(id)
	}
	if len(words) != 3 || words[0] != string(id) {
		return "", nil, fault.New(fault.GitFailed, "git cat-file answered %s for object %s", fault.Quote(strings.TrimSpace(line)), id)
	}
	size, err := strconv.ParseInt(words[2], 10, 64)
	if err != nil {
		return "", nil, fault.New(fault.GitFailed, "git cat-file answered %s for object %s", fault.Quote(strings.TrimSpace(line)), id)
	}
	if size > limit {
		return "", nil, tooLarge(id, size, limit)
	}
	data := make([]byte, size+1)
	if _, err := io.ReadFull(b.stdout, data); err != nil {
		return "", nil, b.broken(id, err)
	}
	return words[1], data[:size:size], nil
}

// broken explains that the program ended in the middle of an answer, as it does
// when an object does not decode.
func (b *batch) broken(id OID, err error) error {
	b.ended = true
	killGroup(b.cmd)
	_ = b.cmd.Wait() // also ends the copying of stderr, which is what is wanted
	// The last line is why it ended; before it may stand what it got over, such as
	// failed attempts to fetch other objects.
	said := strings.TrimSpace(b.stderr.String())
	said = firstLine(said[strings.LastIndexByte(said, '\n')+1:])
	code := fault.GitFailed
	for _, sign := range []struct {
		text string
		code fault.Code
	}{
		// A partial clone whose remote does not have it, or cannot be reached.
		{"could not fetch", fault.ObjectMissing},
		{"corrupt", fault.ObjectCorrupt}, {"unable to unpack", fault.ObjectCorrupt},
		{"inflate", fault.ObjectCorrupt}, {"mismatch", fault.ObjectCorrupt}, {"could not parse", fault.ObjectCorrupt},
	} {
		if strings.Contains(b.stderr.String(), sign.text) {
			code = sign.code
			break
		}
	}
	if said == "" {
		return fault.Wrap(err, code, "git cat-file ended while reading object %s", id)
	}
	return fault.New(code, "cannot read object %s: %s", id, fault.Printable(said))
}

func (n *nativeBackend) resolve(ctx context.Context, rev string) (OID, error) {
	out, err := n.r.run(ctx, nil, "rev-parse", "--verify", "--end-of-options", rev+"^{commit}")
	if err != nil {
		if _, ok := GitExitCode(err); ok {
			e := fault.New(fault.RevisionNotFound, "revision %s names no commit", fault.Quote(rev))
			e.Err = err
			return "", e
		}
		return "", err
	}
	return OID(bytes.TrimSpace(out)), nil
}

// ref looks one ref up. For show-ref a ref that is absent and one that is damaged
// are the same, and damage must never read as "no ref", or a store would start anew;
// symbolic-ref tells them apart: it says 1 for a ref that is not symbolic or absent,
// and dies of one that it cannot read.
func (n *nativeBackend) ref(ctx context.Context, name string) (OID, bool, error) {
	out, err := n.r.run(ctx, nil, "show-ref", "--verify", "--hash", "--", name)
	if err == nil {
		return OID(bytes.TrimSpace(out)), true, nil
	}
	if _, ok := GitExitCode(err); !ok {
		return "", false, err
	}
	// The first answer is the end of a chain of symbolic refs, the second is about it.
	for target := name; ; {
		out, err := n.r.run(ctx, nil, "symbolic-ref", "-q", target)
		code, failed := GitExitCode(err)
		switch {
		case failed && code == 1:
			return "", false, nil
		case failed:
			return "", false, brokenRef(name, "git cannot read it")
		case err != nil:
			return "", false, err
		case target != name:
			return "", false, brokenRef(name, "it leads over too many symbolic refs")
		}
		target = strings.TrimSpace(string(out))
	}
}
