package lock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"kxm/lib/fault"
)

// TestMain lets the tests start this binary as another process.
func TestMain(m *testing.M) {
	path := os.Getenv("KXM_LOCK_HELPER")
	if path == "" {
		os.Exit(m.Run())
	}
	if err := helper(path, os.Getenv("KXM_LOCK_TIMES")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// helper adds one to the number in the file, under its lock, as often as times
// says; without times it holds the lock until it is killed.
func helper(path, times string) error {
	l, err := Acquire(context.Background(), path, time.Minute)
	if err != nil {
		return err
	}
	if times == "" {
		fmt.Println("held")
		select {}
	}
	n, err := strconv.Atoi(times)
	if err != nil {
		return err
	}
	for i := range n {
		if i > 0 {
			if l, err = Acquire(context.Background(), path, time.Minute); err != nil {
				return err
			}
		}
		if err := increment(l.File()); err != nil {
			return err
		}
		if err := l.Release(); err != nil {
			return err
		}
	}
	return nil
}

func increment(f *os.File) error {
	buf := make([]byte, 32)
	n, _ := f.ReadAt(buf, 0)
	value := 0
	if n > 0 {
		var err error
		if value, err = strconv.Atoi(strings.TrimSpace(string(buf[:n]))); err != nil {
			return err
		}
	}
	_, err := f.WriteAt(fmt.Appendf(nil, "%d\n", value+1), 0)
	return err
}

func start(t *testing.T, path, times string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "KXM_LOCK_HELPER="+path, "KXM_LOCK_TIMES="+times)
	cmd.Stderr = os.Stderr
	return cmd
}

func TestOneProcessAtATimeHoldsTheLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	const processes, times = 6, 50
	var all sync.WaitGroup
	for range processes {
		cmd := start(t, path, strconv.Itoa(times))
		all.Go(func() {
			if err := cmd.Run(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	data, err := os.ReadFile(path)
	if err != nil || strings.TrimSpace(string(data)) != strconv.Itoa(processes*times) {
		t.Errorf("counted %q, %v; want %d", data, err, processes*times)
	}
}

func TestTheLockEndsWithTheProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	cmd := start(t, path, "")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 16)); err != nil {
		t.Fatal(err)
	}
	if _, err := Try(path); !fault.Is(err, fault.LockHeld) {
		t.Errorf("another process holds it, and Try says %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	l, err := Acquire(t.Context(), path, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Release(); err != nil {
		t.Error(err)
	}
}

func TestHeldInOneProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := Try(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Try(path); !fault.Is(err, fault.LockHeld) || fault.CodeOf(err).Exit() != fault.ExitRetry {
		t.Errorf("held by this process, and Try says %v", err)
	}
	if _, err := Acquire(t.Context(), path, 30*time.Millisecond); !fault.Is(err, fault.LockHeld) {
		t.Errorf("held for longer than the wait, and Acquire says %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := Acquire(ctx, path, time.Minute); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the context ended, and Acquire says %v", err)
	}
	waited := make(chan error)
	go func() {
		l, err := Acquire(context.Background(), path, time.Minute)
		if err == nil {
			err = l.Release()
		}
		waited <- err
	}()
	if err := errors.Join(first.Release(), first.Release()); err != nil {
		t.Error(err)
	}
	if err := <-waited; err != nil {
		t.Errorf("it was given back, and Acquire says %v", err)
	}
}

func TestAFolderThatIsMissing(t *testing.T) {
	_, err := Try(filepath.Join(t.TempDir(), "none", "lock"))
	if !fault.Is(err, fault.IOFailed) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
