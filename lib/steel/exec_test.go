//go:build unix

package steel

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"kxm/lib/fault"
	"kxm/lib/process"
)

// script is an execution of a shell script, and what it warns of.
func script(t *testing.T, text string, env ...string) (*Execution, func() []string) {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { null.Close() })
	var mu sync.Mutex
	var warned []string
	return &Execution{
			Access: Access{Timeout: 20 * time.Second}, Argv: append([]string{"sh", "-c", text, "sh"}, env...), Stdin: null, Stdout: null, Stderr: null,
			Begin: func() error { return nil },
			Warn: func(format string, args ...any) {
				mu.Lock()
				defer mu.Unlock()
				warned = append(warned, fmt.Sprintf(format, args...))
			},
		}, func() []string {
			mu.Lock()
			defer mu.Unlock()
			return warned
		}
}

// later is a clock that goes on by a second each time that it is read.
func later(from time.Time) func() time.Time {
	var mu sync.Mutex
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		from = from.Add(time.Second)
		return from
	}
}

// While a program runs, the record says again and again that the session is in use.
func TestASessionThatAProgramControlsIsNotIdle(t *testing.T) {
	t.Parallel()
	s, _ := newService(t)
	r := mustStart(t, s)
	s.Now = later(noon())
	path := filepath.Join(s.Store.dir, r.ID+".json")
	o, warned := script(t, `
		at() { sed 's/.*"lastActiveAt":"\([^"]*\)".*/\1/' "$1"; }
		first=$(at "$1")
		until [ "$(at "$1")" != "$first" ]; do sleep 0.05; done
		second=$(at "$1")
		until [ "$(at "$1")" != "$second" ]; do sleep 0.05; done`, path)
	ended, err := s.Exec(t.Context(), o)
	if err != nil || ended.ExitStatus() != 0 || len(warned()) > 0 {
		t.Fatalf("%+v, %v; warned %q", ended, err, warned())
	}
	during, err := s.Store.Read(r.ID)
	if err != nil || !during.LastActiveAt.After(r.LastActiveAt) {
		t.Errorf("%v, %v", during, err)
	}
}

// A deadline counts also for a computer whose timers stood still meanwhile.
func TestTheDeadlineIsAClocks(t *testing.T) {
	t.Parallel()
	s, _ := newService(t)
	r := mustStart(t, s)
	var mu sync.Mutex
	now := noon()
	s.Now = func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	o, _ := script(t, `sleep 60`)
	o.Begin = func() error {
		time.AfterFunc(200*time.Millisecond, func() { mu.Lock(); defer mu.Unlock(); now = r.DeadlineAt.Add(time.Second) })
		return nil
	}
	ended, err := s.Exec(t.Context(), o)
	if !fault.Is(err, fault.SteelSessionExpired) || ended == nil || ended.Ending != process.Cancelled {
		t.Errorf("%+v, %v", ended, err)
	}
}

// The deadline may pass while the tab is looked at; then nothing is started.
func TestNothingIsStartedAfterTheDeadline(t *testing.T) {
	t.Parallel()
	s, server := newService(t)
	r := mustStart(t, s)
	asked := server.Count("GET", "/v1/sessions")
	s.Now = func() time.Time {
		if server.Count("GET", "/v1/sessions") > asked {
			return r.DeadlineAt.Add(time.Millisecond)
		}
		return noon()
	}
	o, _ := script(t, `exit 0`)
	o.Begin = func() error { t.Error("it begins"); return nil }
	if ended, err := s.Exec(t.Context(), o); !fault.Is(err, fault.SteelSessionExpired) || ended != nil {
		t.Errorf("%+v, %v", ended, err)
	}
}

func TestAnExecutionThatDoesNotBegin(t *testing.T) {
	t.Parallel()
	s, _ := newService(t)
	mustStart(t, s)
	o, _ := script(t, `exit 0`)
	stop := errors.New("stop")
	o.Begin = func() error { return stop }
	if ended, err := s.Exec(t.Context(), o); err != stop || ended != nil {
		t.Errorf("%+v, %v", ended, err)
	}
}

// A record that cannot be written is no failure of the program.
func TestAStateThatCannotBeWrittenIsAWarning(t *testing.T) {
	t.Parallel()
	s, _ := newService(t)
	r := mustStart(t, s)
	// A folder stands where the file is to be written first.
	o, warned := script(t, `mkdir -p "$1/x"; exit 7`, filepath.Join(s.Store.dir, "."+r.ID+".json.tmp"))
	ended, err := s.Exec(t.Context(), o)
	if err != nil || ended.ExitStatus() != 7 || !slices.ContainsFunc(warned(), func(w string) bool { return strings.HasPrefix(w, "cannot write the state: ") }) {
		t.Errorf("%+v, %v; warned %q", ended, err, warned())
	}
}

func TestEnvironmentOfAProgram(t *testing.T) {
	t.Parallel()
	s := serviceFor(t, "STEEL_API_URL=http://127.0.0.1:9", "STEEL_API_KEY=a+key/of=its%own", "KXM_STEEL_STATE="+filepath.Join(t.TempDir(), "state"))
	s.Environ = []string{
		"STEEL_API_KEY=a+key/of=its%own", "KXM_STEEL_KEY_COMMAND=[]", "A=1", "COPY=a+key/of=its%own", "URL=wss://x?apiKey=a%2Bkey%2Fof%3Dits%25own",
		"BASIC=" + "YStrZXkvb2Y9aXRzJW93bg==", "KXM_STEEL_CDP_HTTP=old", "KXM_STEEL_SESSION=old", "KXM_STEEL_TARGET=old", "PWD=/old", "USE_PASS_CLI=false", "EMPTY=",
	}
	told := []string{"KXM_STEEL_SESSION=new"}
	for _, c := range []struct {
		direct bool
		dir    string
		want   string
	}{
		{false, "", "A=1 PWD=/old USE_PASS_CLI=false EMPTY= KXM_STEEL_SESSION=new"},
		{false, "/new", "A=1 USE_PASS_CLI=false EMPTY= KXM_STEEL_SESSION=new PWD=/new"},
		{true, "", "A=1 COPY=a+key/of=its%own URL=wss://x?apiKey=a%2Bkey%2Fof%3Dits%25own BASIC=YStrZXkvb2Y9aXRzJW93bg== PWD=/old USE_PASS_CLI=false EMPTY= KXM_STEEL_SESSION=new"},
	} {
		x := &execution{Execution: &Execution{Direct: c.direct, Dir: c.dir}, service: s}
		if got := strings.Join(x.environ(told), " "); got != c.want {
			t.Errorf("direct %v, dir %q:\n%s, want\n%s", c.direct, c.dir, got, c.want)
		}
	}
}
