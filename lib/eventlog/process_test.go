package eventlog

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"kxm/lib/fault"
	"kxm/lib/kxmtest"
)

// TestManyProcesses: everything that was acknowledged is there once, whatever git
// does meanwhile.
func TestManyProcesses(t *testing.T) {
	dir := kxmtest.NewRepo(t, map[string]string{"a": "a"})
	processes, times := 16, count(3, 50)
	stop := disturb(t, dir)
	var running []*process
	for i := range processes {
		extra := ""
		if i%8 == 7 {
			extra = "native"
		}
		running = append(running, startWriter(t, dir, times, "KXM_LOG_BACKEND="+extra))
	}
	var acked []string
	for _, p := range running {
		ids, err := p.wait()
		if err != nil || len(ids) != times {
			t.Errorf("a writer acknowledged %d of %d events, %v", len(ids), times, err)
		}
		acked = append(acked, ids...)
	}
	stop()
	verifyAcked(t, dir, acked, true)
	commits := kxmtest.Git(t, dir, "rev-list", "--count", Ref)
	t.Logf("%d events in %s commits", len(acked), commits)
}

// disturb runs what git may do to a repository at any time, in loops, until the
// function that it returns is called.
func disturb(t *testing.T, dir string) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	home := t.TempDir()
	var loops sync.WaitGroup
	for _, args := range [][]string{
		{"pack-refs", "--all"},
		{"gc", "-q"},
		{"fetch", "-q", ".", "+" + Ref + ":refs/kxm/copy"},
		{"-c", "core.warnAmbiguousRefs=false", "update-ref", "refs/heads/other", "HEAD"},
		{"-c", "core.warnAmbiguousRefs=false", "update-ref", "-d", "refs/heads/other"},
	} {
		loops.Go(func() {
			for ctx.Err() == nil {
				cmd := exec.Command("git", args...) // a git that is killed leaves its locks behind
				cmd.Dir, cmd.Env = dir, kxmtest.GitEnv(home)
				out, _ := cmd.CombinedOutput() // locks of one another may make them fail
				if strings.Contains(string(out), "broken") {
					t.Errorf("git %s says %s", args[0], out)
				}
				time.Sleep(rand.N(20 * time.Millisecond))
			}
		})
	}
	return func() {
		cancel()
		loops.Wait()
	}
}

// verifyAcked checks that each id is in the log once, that the repository is sound
// and that nothing is left over. exactly: nothing else is in the log.
func verifyAcked(t *testing.T, dir string, acked []string, exactly bool) {
	t.Helper()
	l := openLog(t, dir, "")
	got := all(t, snapshot(t, l))
	slices.Sort(acked)
	for i, id := range acked {
		if _, ok := got[id]; !ok {
			t.Errorf("acknowledged event %s is lost", id)
		}
		if i > 0 && acked[i-1] == id {
			t.Errorf("event %s was acknowledged twice", id)
		}
	}
	if exactly && len(got) != len(acked) {
		t.Errorf("%d events, %d acknowledged", len(got), len(acked))
	}
	kxmtest.Git(t, dir, "fsck", "--strict")
	if rest := leftovers(t, dir); len(rest) > 0 {
		t.Errorf("left over: %v", rest)
	}
}

// TestKilledWriters: writers die at random moments, also between taking the lock of
// the ref, moving it and clearing the note.
func TestKilledWriters(t *testing.T) {
	dir := kxmtest.NewRepo(t, map[string]string{"a": "a"})
	stop := disturb(t, dir)
	var acked []string
	kills := 0
	for kills < count(40, 1000) {
		var running []*process
		for i := range 6 {
			extra := ""
			if i == 5 {
				extra = "native"
			}
			running = append(running, startWriter(t, dir, 1000, "KXM_LOG_SLEEP=15", "KXM_LOG_BACKEND="+extra))
		}
		for _, p := range running {
			for i := 0; p.count.Load() == 0 && i < 500; i++ {
				time.Sleep(time.Millisecond) // until it is at work
			}
			time.Sleep(rand.N(30 * time.Millisecond))
			if err := p.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			kills++
		}
		for _, p := range running {
			ids, _ := p.wait() // it was killed
			acked = append(acked, ids...)
		}
	}
	stop()
	// A git that a killed writer had started may still be at work, and its lock is Git's.
	waitForGit(t, dir)
	l := openLog(t, dir, "")
	appendAll(t, l, newEvent("p", "last", at(0), "the next append works"))
	for _, name := range []string{"kxm/spool"} {
		removeTemporary(t, filepath.Join(dir, ".git", filepath.FromSlash(name)))
	}
	verifyAcked(t, dir, acked, false)
	if len(acked) < kills/4 {
		t.Errorf("only %d events were acknowledged before %d kills", len(acked), kills)
	}
	t.Logf("%d kills, %d events acknowledged", kills, len(acked))
}

func waitForGit(t *testing.T, dir string) {
	t.Helper()
	path := filepath.Join(dir, ".git", filepath.FromSlash(Ref)+".lock")
	for range 500 {
		data, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			return
		}
		if note, _ := os.ReadFile(filepath.Join(dir, ".git", "kxm", lockName)); len(note) > 0 && string(note) == string(data) {
			return // ours
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// removeTemporary removes batches that were cut off before they were handed over.
func removeTemporary(t *testing.T, dir string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "tmp.*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		_ = os.Remove(name)
	}
}

// TestAFullDisk: writing fails in the middle, and nothing is half written.
func TestAFullDisk(t *testing.T) {
	for _, limit := range []string{"20", "60", "100"} {
		dir := newRepo(t)
		l := openLog(t, dir, "")
		appendAll(t, l, newEvent("p", "a", at(0), "start"))
		tip := snapshot(t, l).Tip()
		p := newWriter(t, dir, 1, "KXM_LOG_LIMIT="+limit)
		p.cmd.Stderr = nil
		p.start(t)
		if ids, err := p.wait(); len(ids) != 0 || p.cmd.ProcessState.ExitCode() != fault.ExitFailed {
			t.Errorf("with %s bytes %v were acknowledged, %v", limit, ids, err)
		}
		if got := snapshot(t, l).Tip(); got != tip {
			t.Errorf("with %s bytes the log moved to %s", limit, got)
		}
		kxmtest.Git(t, dir, "fsck", "--strict")
		appendAll(t, l, newEvent("p", "a", at(1), "next"))
		if rest := leftovers(t, dir); len(rest) > 0 {
			t.Errorf("left over: %v", rest)
		}
	}
}
