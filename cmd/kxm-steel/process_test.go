//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"kxm/lib/kxmtest"
	"kxm/lib/steel/steeltest"
)

// client is one person's programs: an environment with a state folder.
type client struct {
	server *steeltest.Server
	env    []string
	dir    string // where they run; default: here
	stdin  string
}

// with is the client whose programs have a variable more.
func (c *client) with(variable string) *client {
	other := *c
	other.env = append(slices.Clip(c.env), variable)
	return &other
}

// get returns a variable.
func (c *client) get(name string) string {
	for _, kv := range slices.Backward(c.env) {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}

func newClient(t *testing.T, env ...string) *client {
	t.Helper()
	server := steeltest.New(time.Now)
	t.Cleanup(func() {
		if c := server.Complaints(); len(c) > 0 {
			t.Errorf("calls overlapped: %v", c)
		}
		server.Close()
	})
	all := append(kxmtest.GitEnv(t.TempDir()), "STEEL_API_URL="+server.URL, "KXM_STEEL_STATE="+filepath.Join(t.TempDir(), "state"))
	return &client{server: server, env: append(all, env...)}
}

// ended is what came of a program.
type ended struct {
	status         int // -1 for a death by signal
	signal         syscall.Signal
	stdout, stderr string
}

// start starts the program; the function waits for its end.
func (c *client) start(t *testing.T, args ...string) (*exec.Cmd, func() ended) {
	t.Helper()
	cmd := exec.Command("kxm-steel-alone", args...)
	cmd.Env, cmd.Dir, cmd.Stdin = c.env, c.dir, strings.NewReader(c.stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, func() ended {
		err := cmd.Wait()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Error(err)
		}
		status := cmd.ProcessState.Sys().(syscall.WaitStatus)
		e := ended{status: cmd.ProcessState.ExitCode(), stdout: out.String(), stderr: errs.String()}
		if status.Signaled() {
			e.signal = status.Signal()
		}
		return e
	}
}

func (c *client) run(t *testing.T, args ...string) ended {
	t.Helper()
	_, wait := c.start(t, args...)
	return wait()
}

// Of two programs that start a session at once one wins, each time, and the server
// gets one create and no overlapping call.
func TestTwoStartsRaceForOneServer(t *testing.T) {
	c := newClient(t)
	const rounds = 50
	for round := range rounds {
		var results [2]ended
		var both sync.WaitGroup
		for i := range results {
			_, wait := c.start(t, "session", "start")
			both.Go(func() { results[i] = wait() })
		}
		both.Wait()
		won := results[0]
		if results[1].status == 0 {
			won, results[1] = results[1], results[0]
		}
		if lost := results[1]; won.status != 0 || lost.status != 5 || !strings.Contains(lost.stderr, "[steel_endpoint_in_use]") || lost.stdout != "" {
			t.Fatalf("round %d: %+v and %+v", round, won, lost)
		}
		if e := c.run(t, "session", "release"); e.status != 0 || !strings.Contains(e.stdout, `"released":true`) {
			t.Fatalf("round %d: %+v", round, e)
		}
	}
	if n := c.server.Count("POST", "/v1/sessions"); n != 2*rounds {
		t.Errorf("%d calls changed the server in %d rounds", n, rounds)
	}
}

func TestAnInterruptedStartDiesOfTheSignalAndLeavesNoSession(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		c := newClient(t)
		c.server.Set("delay", "500ms")
		cmd, wait := c.start(t, "session", "start")
		for c.server.Count("POST", "/v1/sessions") == 0 {
			time.Sleep(5 * time.Millisecond)
		}
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		if e := wait(); e.signal != sig || e.stdout != "" || e.stderr != "" {
			t.Errorf("%v: %+v", sig, e)
		}
		if live := c.server.Live(); len(live) != 0 {
			t.Errorf("%v: %v live on", sig, live)
		}
		if e := c.run(t, "session", "sweep"); e.status != 0 || e.stdout != "" {
			t.Errorf("%v: an orphan is left: %+v", sig, e)
		}
	}
}

// Killed between the create and its answer, the record says what is going on, and the
// lock dies with its holder.
func TestAKilledStartIsSweptUp(t *testing.T) {
	c := newClient(t)
	c.server.Set("delay", "300ms")
	cmd, wait := c.start(t, "session", "start")
	for c.server.Count("POST", "/v1/sessions") == 0 {
		time.Sleep(5 * time.Millisecond)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	wait()
	for len(c.server.Live()) == 0 { // the server goes on without its client
		time.Sleep(5 * time.Millisecond)
	}
	if e := c.run(t, "session", "sweep"); e.status != 1 || !strings.Contains(e.stdout, `"kind":"unfinished"`) {
		t.Errorf("%+v", e)
	}
	if e := c.run(t, "session", "sweep", "--release"); e.status != 0 || len(c.server.Live()) != 0 {
		t.Errorf("%+v; live %v", e, c.server.Live())
	}
}

// Killed between the check and the write, a handover has not happened: the agent still
// controls the session, whose lock died with its holder.
func TestAKilledHandoverHasNotHappened(t *testing.T) {
	c := newClient(t)
	if e := c.run(t, "session", "start"); e.status != 0 {
		t.Fatalf("%+v", e)
	}
	c.server.Set("answer", "hang")
	asked := c.server.Count("GET", "/v1/sessions")
	cmd, wait := c.start(t, "takeover", "begin", "--reason", "login")
	for c.server.Count("GET", "/v1/sessions") == asked {
		time.Sleep(5 * time.Millisecond)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	wait()
	c.server.Set("answer", "")
	if e := c.run(t, "takeover", "status"); e.status != 0 || !strings.Contains(e.stdout, `"state":"AGENT_CONTROL"`) {
		t.Errorf("%+v", e)
	}
	if e := c.run(t, "takeover", "begin", "--reason", "login"); e.status != 0 || !strings.Contains(e.stdout, `"state":"HUMAN_CONTROL"`) {
		t.Errorf("%+v", e)
	}
}

// The browser dies under a command, which says so; then the next one is told what to do.
func TestABrowserThatDiesUnderACommand(t *testing.T) {
	c := newClient(t)
	if err := c.server.StartBrowser(t.Context(), steeltest.ChromiumOf(os.Getenv)); err != nil {
		t.Fatal(err)
	}
	if e := c.run(t, "session", "start"); e.status != 0 {
		t.Fatalf("%+v", e)
	}
	asked := c.server.Calls("Runtime.evaluate")
	_, wait := c.start(t, "eval", "new Promise(() => {})", "--timeout", "1m")
	for c.server.Calls("Runtime.evaluate") < asked+2 { // the probe, and the script
		time.Sleep(5 * time.Millisecond)
	}
	c.server.KillBrowser()
	if e := wait(); e.status != 3 || !strings.Contains(e.stderr, "[steel_browser_restarted]") && !strings.Contains(e.stderr, "[steel_connection_lost]") && !strings.Contains(e.stderr, "[steel_no_browser]") {
		t.Errorf("%+v", e)
	}
	if e := c.run(t, "recover"); e.status != 0 || !strings.Contains(e.stdout, `"browser":"restarted"`) {
		t.Errorf("%+v", e)
	}
	if e := c.run(t, "goto", "about:blank"); e.status != 0 {
		t.Errorf("%+v", e)
	}
	if e := c.run(t, "session", "release"); e.status != 0 {
		t.Errorf("%+v", e)
	}
}

// A key that a command prints stands in no argument and no environment of the program.
func TestTheKeyIsInNoArgument(t *testing.T) {
	if _, err := os.Stat("/proc/self/cmdline"); err != nil {
		t.Skip("needs /proc")
	}
	const key = "the-key-of-the-test"
	mark := filepath.Join(t.TempDir(), "mark")
	command, err := json.Marshal([]string{"sh", "-c", "printf " + key[:8] + "; printf '%s\n' " + key[8:] + "; touch " + mark})
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(t, "KXM_STEEL_KEY_COMMAND="+string(command))
	c.server.Set("key", key)
	c.server.Set("delay", "500ms")
	cmd, wait := c.start(t, "session", "start")
	for c.server.Count("POST", "/v1/sessions") == 0 {
		time.Sleep(5 * time.Millisecond)
	}
	line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(cmd.Process.Pid), "cmdline"))
	if err != nil || bytes.Contains(line, []byte(key)) || !bytes.Contains(line, []byte("start")) {
		t.Errorf("the arguments are %q, %v", line, err)
	}
	environ, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(cmd.Process.Pid), "environ"))
	if err != nil || bytes.Contains(environ, []byte(key)) {
		t.Errorf("the key is in the environment: %v", err)
	}
	if e := wait(); e.status != 0 || strings.Contains(e.stdout+e.stderr, key) {
		t.Errorf("%+v", e)
	}
	if _, err := os.Stat(mark); err != nil {
		t.Error("the key command did not run")
	}
}

// Of two programs that press a button at once each presses it, one after the other, or
// says that the session is in use.
func TestTwoClicksOnOneSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bring(t, &example{page: "/buttons"})
	w.must(t, "eval presses=0,document.addEventListener('click',()=>presses++),1")
	pressed := 0
	for range 10 {
		var results [2]ended
		var both sync.WaitGroup
		for i := range results {
			_, wait := w.start(t, "click", "text=Plain")
			both.Go(func() { results[i] = wait() })
		}
		both.Wait()
		for _, e := range results {
			switch {
			case e.status == 0 && strings.Contains(e.stdout, `"action":"click"`):
				pressed++
			case e.status == 5 && strings.Contains(e.stderr, "[steel_session_busy]"):
			default:
				t.Fatalf("%+v", e)
			}
		}
	}
	if e := w.must(t, "eval presses"); !strings.Contains(e.stdout, fmt.Sprintf(`"value":%d}`, pressed)) || pressed < 10 {
		t.Errorf("%d presses, and the page says %s", pressed, e.stdout)
	}
	// No two sockets at a time: each is silent once the next one speaks.
	last := 0
	for _, f := range w.server.Frames() {
		if f.ToBrowser && f.Socket < last {
			t.Fatalf("socket %d goes on after socket %d has begun", f.Socket, last)
		}
		last = max(last, f.Socket)
	}
	w.end(t)
}
