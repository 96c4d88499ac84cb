package steel

import (
	"fmt"
	"os"
	"testing"
	"time"

	"kxm/lib/fault"
	"kxm/lib/steel/steeltest"
)

// A release hangs on a tab that is stuck. It is freed of it, and not asked for twice
// while the first may still go on.
func TestAReleaseThatHangsOnAStuckTab(t *testing.T) {
	t.Parallel()
	s, server := newService(t)
	s.Limits.Release = 3 * time.Second
	if err := server.StartBrowser(t.Context(), steeltest.ChromiumOf(os.Getenv)); err != nil {
		t.Fatal(err)
	}
	r := mustStart(t, s)
	if err := server.Person(t.Context(), "", `setTimeout(() => alert("late")), 1`); err != nil {
		t.Fatal(err)
	}
	if err := server.AwaitStuck(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	done, err := s.Release(t.Context(), r, NoWipe)
	if err != nil || !done.Released || len(server.Live()) != 0 {
		t.Errorf("%+v, %v; live %v", done, err, server.Live())
	}
	if n := server.Count("POST", "/v1/sessions/"+r.ID+"/release"); n != 1 {
		t.Errorf("%d releases", n)
	}
}

// A recovery changes the server, so that it waits for its lock.
func TestARecoveryTakesTheServersLock(t *testing.T) {
	t.Parallel()
	s, _ := newService(t)
	r := mustStart(t, s)
	l, err := s.Store.lockEndpoint(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	o := RecoverOptions{Access: Access{Session: r.ID, Timeout: time.Minute}}
	if _, err := s.Recover(t.Context(), o); !fault.Is(err, fault.SteelEndpointBusy) {
		t.Errorf("%v", err)
	}
	o.DryRun = true
	if found, err := s.Recover(t.Context(), o); err != nil || len(found.Found) != 1 || found.Would != nil {
		t.Errorf("%+v, %v", found, err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	o.DryRun = false
	if found, err := s.Recover(t.Context(), o); err != nil || found.Tab != "t1" || len(found.Done) != 0 {
		t.Errorf("%+v, %v", found, err)
	}
}

func TestPlansOfARecovery(t *testing.T) {
	for _, c := range []struct {
		states []probe
		would  string
	}{
		{nil, "[open a tab]"}, {[]probe{alive}, "[]"}, {[]probe{stuck}, "[close t1 open a tab]"}, {[]probe{crashed}, "[revive t1]"},
		{[]probe{crashed, stuck, alive, stuck}, "[close t2 close t4 revive t1]"},
	} {
		w := &recovery{record: &Record{}, answer: &Recovery{}}
		var all []tabState
		for i, state := range c.states {
			all = append(all, tabState{target: target{ID: string(rune('A' + i))}, state: state})
		}
		w.name(all)
		w.plan()
		if got := fmt.Sprint(w.answer.Would); got != c.would || len(w.answer.Found) != len(c.states) {
			t.Errorf("of %v: %s, want %s", c.states, got, c.would)
		}
	}
}
