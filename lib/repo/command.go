package repo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"kxm/lib/fault"
)

// oldest is the oldest git program that is used: the first that reads
// configuration from GIT_CONFIG_COUNT, without which one that a caller passes that
// way would be dropped silently.
var oldest = [2]int{2, 31}

// failure is the exit of a git program that said no.
type failure struct {
	code   int
	stderr string
}

func (f *failure) Error() string {
	if line := firstLine(f.stderr); line != "" {
		return line
	}
	return fmt.Sprintf("exit status %d", f.code)
}

// firstLine is what git says first that is an error, without its "fatal: "; what
// comes before may be a warning or a hint.
func firstLine(stderr string) string {
	first := ""
	for line := range strings.Lines(stderr) {
		line = strings.TrimSpace(line)
		for _, prefix := range []string{"fatal: ", "error: "} {
			if text, ok := strings.CutPrefix(line, prefix); ok {
				return text
			}
		}
		if first == "" {
			first = line
		}
	}
	return first
}

// GitExitCode returns the exit status of the git program whose failure err
// reports; ok is false when err is something else.
func GitExitCode(err error) (code int, ok bool) {
	var f *failure
	if errors.As(err, &f) {
		return f.code, true
	}
	return 0, false
}

// gitStderr returns everything that the failed git program wrote to stderr.
func gitStderr(err error) string {
	var f *failure
	if errors.As(err, &f) {
		return f.stderr
	}
	return ""
}

// Git runs the git program with args in the top of the worktree (without one: in
// the Git directory), under the environment that the repository was opened with,
// and returns its standard output. Paths among the arguments are taken literally.
// When ctx ends, the whole process group ends. The error is GitFailed with the
// first line that git wrote to stderr (see [GitExitCode]), or GitUnavailable when
// git is missing, too old or did not answer in time.
func (r *Repo) Git(ctx context.Context, stdin io.Reader, args ...string) ([]byte, error) {
	return r.run(ctx, stdin, args...)
}

func (r *Repo) run(ctx context.Context, stdin io.Reader, args ...string) ([]byte, error) {
	out, _, err := r.runBoth(ctx, stdin, args...)
	return out, err
}

// runBoth is run that also returns what git wrote to stderr while it succeeded.
func (r *Repo) runBoth(ctx context.Context, stdin io.Reader, args ...string) ([]byte, string, error) {
	out, stderr, err := runGit(ctx, r.workDir(), r.childEnv, stdin, args...)
	if _, ok := GitExitCode(err); ok && !r.versionSeen.Load() {
		// An option that an old git does not know is not the caller's mistake.
		if old := checkVersion(ctx, r.childEnv); old != nil {
			return nil, "", old
		}
		r.versionSeen.Store(true)
	}
	return out, stderr, err
}

// runGit runs git once. env nil is the environment of the process.
func runGit(ctx context.Context, dir string, env []string, stdin io.Reader, args ...string) ([]byte, string, error) {
	// Git looks a 40-digit name up as a ref too, only to warn; that is a needless
	// read of packed-refs, and with it update-ref was seen to lose an update.
	cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "core.warnAmbiguousRefs=false"}, args...)...)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, env, stdin
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	ownGroup(cmd)
	err := cmd.Run()
	if err == nil {
		return stdout.Bytes(), stderr.String(), nil
	}
	if ctx.Err() != nil {
		killGroup(cmd)
		return nil, "", interrupted(ctx, args)
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		// What was written counts for the few commands whose status is an answer.
		return stdout.Bytes(), stderr.String(), fault.Wrap(&failure{exit.ExitCode(), stderr.String()}, fault.GitFailed, "git %s failed", subcommand(args))
	}
	return nil, "", notStarted(err, dir)
}

// subcommand is the first argument that is no option, which names what failed.
func subcommand(args []string) string {
	for i := 0; i < len(args); i++ {
		if args[i] == "-c" || args[i] == "-C" {
			i++
		} else if !strings.HasPrefix(args[i], "-") {
			return args[i]
		}
	}
	return "command"
}

func interrupted(ctx context.Context, args []string) error {
	why := "was interrupted"
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		why = "did not answer in time"
	}
	e := fault.New(fault.GitUnavailable, "git %s %s", subcommand(args), why)
	e.Err = ctx.Err()
	return e
}

func notStarted(err error, dir string) error {
	if errors.Is(err, exec.ErrNotFound) {
		return fault.New(fault.GitUnavailable, "the git program is not on the PATH")
	}
	if !isFolder(dir) {
		return fault.New(fault.IOFailed, "cannot run git in %s: no such folder", fault.Quote(dir))
	}
	return fault.Wrap(err, fault.GitUnavailable, "cannot run git")
}

// GitVersion returns the version of the git program on the PATH, such as
// "2.39.5". It is GitUnavailable when there is none or it is too old to be used; an
// old one's version is returned all the same.
func GitVersion(ctx context.Context) (string, error) {
	version, err := gitVersion(ctx, nil)
	if err == nil {
		err = tooOld(version)
	}
	return version, err
}

func gitVersion(ctx context.Context, env []string) (string, error) {
	out, _, err := runGit(ctx, os.TempDir(), env, nil, "version")
	if err != nil {
		return "", err
	}
	words := strings.Fields(string(out))
	if len(words) < 3 || words[0] != "git" || words[1] != "version" {
		return "", fault.New(fault.GitUnavailable, "git version answered %s", fault.Quote(strings.TrimSpace(string(out))))
	}
	return words[2], nil
}

// checkVersion refuses a git program older than [oldest].
func checkVersion(ctx context.Context, env []string) error {
	version, err := gitVersion(ctx, env)
	if err != nil {
		return err
	}
	return tooOld(version)
}

func tooOld(version string) error {
	if !atLeast(version, oldest) {
		return fault.New(fault.GitUnavailable, "git %s is too old: %d.%d or newer is needed", fault.Printable(version), oldest[0], oldest[1])
	}
	return nil
}

// atLeast compares the first two numbers of a version ("2.39.5", "2.45.GIT").
func atLeast(version string, want [2]int) bool {
	parts := strings.SplitN(version, ".", 3)
	var have [2]int
	for i := range have {
		if i < len(parts) {
			n, err := strconv.Atoi(parts[i])
			if err != nil {
				break
			}
			have[i] = n
		}
	}
	return have[0] > want[0] || have[0] == want[0] && have[1] >= want[1]
}
