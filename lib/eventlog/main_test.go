package eventlog

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"kxm/lib/fault"
	"kxm/lib/kxmtest"
	"kxm/lib/repo"
)

// long runs the long forms of the tests with many processes.
var long = flag.Bool("long", false, "run the long forms of the tests")

// count is how often a test does something: few times, or many with -long.
func count(short, many int) int {
	if *long {
		return many
	}
	return short
}

// TestMain lets the tests start this binary as a writer of its own.
func TestMain(m *testing.M) {
	if os.Getenv("KXM_LOG_DIR") == "" {
		os.Exit(m.Run())
	}
	if err := writer(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(fault.CodeOf(err).Exit())
	}
}

// writer appends KXM_LOG_TIMES events to the log at KXM_LOG_DIR and prints the id of
// each once it is acknowledged. With KXM_LOG_SLEEP it sleeps for up to so many
// milliseconds at each moment where a crash must do no harm.
func writer() error {
	ctx := context.Background()
	r, err := repo.Open(ctx, repo.Options{Dir: os.Getenv("KXM_LOG_DIR"), Explicit: os.Getenv("KXM_LOG_IMPLICIT") == "", Backend: os.Getenv("KXM_LOG_BACKEND")})
	if err != nil {
		return err
	}
	defer r.Close()
	l, err := Open(ctx, r, Options{Now: time.Now})
	if err != nil {
		return err
	}
	if limit, err := strconv.Atoi(os.Getenv("KXM_LOG_SLEEP")); err == nil {
		l.step = func(string) {
			if rand.IntN(3) == 0 {
				time.Sleep(rand.N(time.Duration(limit) * time.Millisecond))
			}
		}
	}
	times, err := strconv.Atoi(os.Getenv("KXM_LOG_TIMES"))
	if err != nil {
		return err
	}
	if os.Getenv("KXM_LOG_READ") != "" {
		s, err := l.Snapshot(ctx, "")
		if err != nil {
			return err
		}
		records, err := s.Key(ctx, "p", "a")
		if err != nil {
			return err
		}
		for _, r := range records {
			fmt.Println(r.ID)
		}
	}
	if !limitFileSize() {
		return fmt.Errorf("cannot limit the size of files")
	}
	for i := range times {
		ms := time.Now().UnixMilli()
		w := newEvent("p", fmt.Sprintf("key %d", i%3), stamp(ms, os.Getpid()%0x10000), fmt.Sprintf("%d %d %d", os.Getpid(), i, rand.Uint64()))
		if i%4 == 3 {
			w = newEntry("p", stamp(ms, i), fmt.Sprintf("%d %d %d", os.Getpid(), i, rand.Uint64()))
		}
		if i%5 == 4 {
			err = l.AppendIf(ctx, func(context.Context, *Snapshot) ([]Write, error) { return []Write{w}, nil })
		} else {
			err = l.Append(ctx, []Write{w})
		}
		if err != nil {
			return err
		}
		fmt.Println(w.ID)
	}
	return nil
}

func stamp(ms int64, counter int) string { return fmt.Sprintf("%012x%04x", ms, counter) }

// at is the stamp of the n-th moment of the tests.
func at(n int) string { return stamp(kxmtest.Now().UnixMilli()+int64(n)*1000, n%0x10000) }

// newEvent is a write of an event about a key.
func newEvent(project, key, hlc, text string, signatures ...string) Write {
	data := fmt.Appendf(nil, `{"schema":"kxm.state-event.v1","type":"propose","project":%q,"key":%q,"hlc":%q,"body":{"summary":%q}}`+"\n", project, key, hlc, text)
	w := Write{Folder: KeyFolder(project, key), ID: EventID(data, hlc), Event: data}
	for _, s := range signatures {
		w.Signatures = append(w.Signatures, []byte(s))
	}
	return w
}

// newEntry is a write of an entry of the journal.
func newEntry(project, hlc, text string) Write {
	data := fmt.Appendf(nil, `{"schema":"kxm.state-event.v1","type":"journal","project":%q,"hlc":%q,"body":{"summary":%q}}`+"\n", project, hlc, text)
	return Write{Folder: DayFolder(hlc), ID: EventID(data, hlc), Event: data}
}

// closedEnv is the environment of the tests, as a function.
func closedEnv(t testing.TB, extra ...string) func(string) string {
	t.Helper()
	vars := map[string]string{"KXM_FSYNC": "none"}
	for _, kv := range append(kxmtest.GitEnv(t.TempDir()), extra...) {
		name, value, _ := strings.Cut(kv, "=")
		vars[name] = value
	}
	return func(name string) string { return vars[name] }
}

// openLog opens the log of the repository at dir.
func openLog(t testing.TB, dir, backend string, extra ...string) *Log {
	t.Helper()
	r, err := repo.Open(t.Context(), repo.Options{Dir: dir, Getenv: closedEnv(t, extra...), Backend: backend})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	l, err := Open(t.Context(), r, Options{Now: kxmtest.Now})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// newRepo makes an empty repository.
func newRepo(t testing.TB, args ...string) string {
	t.Helper()
	dir := t.TempDir()
	kxmtest.Git(t, dir, append([]string{"init", "-q"}, args...)...)
	return dir
}

func appendAll(t testing.TB, l *Log, writes ...Write) {
	t.Helper()
	if err := l.Append(t.Context(), writes); err != nil {
		t.Fatal(err)
	}
}

func snapshot(t testing.TB, l *Log) *Snapshot {
	t.Helper()
	s, err := l.Snapshot(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// all returns the records of a snapshot by id, and fails where one is there twice or
// cannot be used.
func all(t testing.TB, s *Snapshot) map[string]Record {
	t.Helper()
	found := map[string]Record{}
	for _, ofJournal := range []bool{false, true} {
		folders, err := s.Folders(t.Context(), ofJournal)
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		err = s.EachRecords(t.Context(), folders, func(_ int, records []Record, _ bool) error {
			mu.Lock()
			defer mu.Unlock()
			for _, r := range records {
				if _, twice := found[r.ID]; twice || r.Err != nil {
					t.Errorf("event %s: twice %v, %v", r.ID, twice, r.Err)
				}
				found[r.ID] = r
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// leftovers are files that writers must clean up in the end.
func leftovers(t testing.TB, dir string) (found []string) {
	t.Helper()
	git := filepath.Join(dir, ".git")
	if _, err := os.Stat(git); err != nil {
		git = dir
	}
	err := filepath.WalkDir(git, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if !d.IsDir() && (strings.HasSuffix(name, ".lock") || strings.HasPrefix(name, "ref.") || strings.Contains(path, filepath.Join("kxm", "spool")+string(filepath.Separator))) {
			found = append(found, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// process is a writer in a process of its own.
type process struct {
	cmd   *exec.Cmd
	acked []string
	count atomic.Int64 // of acked
	done  chan struct{}
}

// startWriter starts a writer; extra are variables of its environment.
func startWriter(t testing.TB, dir string, times int, extra ...string) *process {
	t.Helper()
	p := newWriter(t, dir, times, extra...)
	p.start(t)
	return p
}

func newWriter(t testing.TB, dir string, times int, extra ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(os.Args[0]), done: make(chan struct{})}
	p.cmd.Env = append(kxmtest.GitEnv(t.TempDir()), "KXM_FSYNC=none", "KXM_LOG_DIR="+dir, "KXM_LOG_TIMES="+strconv.Itoa(times))
	p.cmd.Env = append(p.cmd.Env, extra...)
	p.cmd.Stderr = os.Stderr
	return p
}

func (p *process) start(t testing.TB) {
	t.Helper()
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.done)
		lines := bufio.NewReader(out)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return // a line that a kill cut off is no acknowledgement
			}
			p.acked = append(p.acked, strings.TrimSpace(line))
			p.count.Add(1)
		}
	}()
}

// wait returns what the writer had acknowledged when it ended.
func (p *process) wait() ([]string, error) {
	<-p.done
	return p.acked, p.cmd.Wait()
}
