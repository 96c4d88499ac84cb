package steel

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"kxm/lib/fault"
	"kxm/lib/steel/steeltest"
)

// verification holds of any page.
func verification(id string) *Verification {
	return &Verification{Access: Access{Session: id, Timeout: time.Minute}, Wanted: []Wanted{{Subject: TimeOver}}}
}

// verbs are one of each kind, as they are called from outside.
var verbs = map[string]func(context.Context, *Service, string) error{
	beginVerb: func(ctx context.Context, s *Service, id string) error {
		_, err := s.BeginTakeover(ctx, &Handover{Session: id, Reason: "mfa", Hold: time.Minute})
		return err
	},
	doneVerb: func(ctx context.Context, s *Service, id string) error {
		_, err := s.TakeoverDone(ctx, id, "ada")
		return err
	},
	verifyVerb: func(ctx context.Context, s *Service, id string) error {
		_, err := s.VerifyTakeover(ctx, verification(id))
		return err
	},
	abandonVerb: func(ctx context.Context, s *Service, id string) error {
		_, err := s.AbandonTakeover(ctx, id, "ada")
		return err
	},
	releaseVerb: func(ctx context.Context, s *Service, id string) error {
		r, err := s.Find(id)
		if err == nil {
			_, err = s.Release(ctx, r, WipeByMode)
		}
		return err
	},
	"acting": func(ctx context.Context, s *Service, id string) error {
		return s.OnPage(ctx, &Access{Session: id, Verb: "click", Timeout: time.Minute}, func(context.Context, *Page) error { return nil })
	},
	"tab use": func(ctx context.Context, s *Service, id string) error {
		return s.OnBrowser(ctx, &Access{Session: id, Verb: "tab use", Verifying: true, Timeout: time.Minute}, func(context.Context, *Browser) error { return nil })
	},
	"recover": func(ctx context.Context, s *Service, id string) error {
		_, err := s.Recover(ctx, RecoverOptions{Access: Access{Session: id, Timeout: time.Minute}})
		return err
	},
	"recover --operator": func(ctx context.Context, s *Service, id string) error {
		_, err := s.Recover(ctx, RecoverOptions{Access: Access{Session: id, Timeout: time.Minute}, Operator: true})
		return err
	},
	"reading": func(ctx context.Context, s *Service, id string) error {
		return s.OnPage(ctx, &Access{Session: id, Verb: "get", Reads: true, Timeout: time.Minute}, func(context.Context, *Page) error { return nil })
	},
}

// tableOf is what each verb does in each state: the state after it, or how it is refused.
var tableOf = map[State]map[string]any{
	AgentControl: {
		beginVerb: HumanControl, doneVerb: fault.SteelTakeoverInvalid, verifyVerb: fault.SteelTakeoverInvalid, abandonVerb: fault.SteelTakeoverInvalid,
		releaseVerb: ReleasedState, "acting": AgentControl, "reading": AgentControl, "tab use": AgentControl,
		"recover": AgentControl, "recover --operator": AgentControl,
	},
	HumanControl: {
		beginVerb: fault.SteelTakeoverInvalid, doneVerb: VerifyAuthentication, verifyVerb: fault.SteelTakeoverInvalid, abandonVerb: ReleasedState,
		releaseVerb: fault.SteelTakeoverInvalid, "acting": fault.SteelHumanInControl, "reading": fault.SteelHumanInControl, "tab use": fault.SteelHumanInControl,
		"recover": fault.SteelHumanInControl, "recover --operator": HumanControl,
	},
	VerifyAuthentication: {
		beginVerb: HumanControl, doneVerb: fault.SteelTakeoverInvalid, verifyVerb: AgentControl, abandonVerb: ReleasedState,
		releaseVerb: fault.SteelTakeoverInvalid, "acting": fault.SteelTakeoverInvalid, "reading": VerifyAuthentication, "tab use": VerifyAuthentication,
		"recover": VerifyAuthentication, "recover --operator": VerifyAuthentication,
	},
	ReleasedState: {
		beginVerb: fault.SteelTakeoverInvalid, doneVerb: fault.SteelTakeoverInvalid, verifyVerb: fault.SteelTakeoverInvalid, abandonVerb: fault.SteelTakeoverInvalid,
		releaseVerb: ReleasedState, "acting": fault.SteelSessionGone, "reading": fault.SteelSessionGone, "tab use": fault.SteelSessionGone,
		"recover": fault.SteelSessionGone, "recover --operator": fault.SteelSessionGone,
	},
}

// bring takes a session from the agent's control to a state.
func bring(t *testing.T, s *Service, r *Record, to State) {
	t.Helper()
	way := map[State][]string{HumanControl: {beginVerb}, VerifyAuthentication: {beginVerb, doneVerb}, ReleasedState: {releaseVerb}}[to]
	for _, verb := range way {
		if err := verbs[verb](t.Context(), s, r.ID); err != nil {
			t.Fatalf("%s: %v", verb, err)
		}
	}
}

func TestEveryVerbInEveryState(t *testing.T) {
	t.Parallel()
	s, server := newService(t)
	for state, row := range tableOf {
		for verb, want := range row {
			r := mustStart(t, s)
			bring(t, s, r, state)
			before, err := s.Store.Read(r.ID)
			if err != nil || before.State != state {
				t.Fatalf("%+v, %v", before, err)
			}
			asked := len(server.Requests())
			err = verbs[verb](t.Context(), s, r.ID)
			after, rerr := s.Store.Read(r.ID)
			if rerr != nil {
				t.Fatal(rerr)
			}
			switch want := want.(type) {
			case fault.Code:
				if !fault.Is(err, want) || !strings.Contains(err.Error(), r.ID) {
					t.Errorf("%s in %s: %v, want %s", verb, state, err, want)
				}
				if after.State != state || len(after.History) != len(before.History) || len(server.Requests()) != asked && verb != abandonVerb {
					t.Errorf("%s in %s: it was refused and did something: %+v", verb, state, after)
				}
			case State:
				if err != nil || after.State != want {
					t.Errorf("%s in %s: %v, and the state is %s, want %s", verb, state, err, after.State, want)
				}
				last := after.History[len(after.History)-1]
				if want != state && (last.From != state || last.To != want || last.Verb != verb || last.By == "") {
					t.Errorf("%s in %s: the last step is %+v", verb, state, last)
				}
			}
			if !after.Human() && after.Phase == Open {
				bring(t, s, after, ReleasedState)
			} else if after.Phase == Open {
				if err := verbs[abandonVerb](t.Context(), s, r.ID); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

func TestARefusalNamesTheLegalVerbs(t *testing.T) {
	for state, want := range map[State]string{
		AgentControl: "legal now: takeover begin, session release", HumanControl: "legal now: takeover done, takeover abandon",
		VerifyAuthentication: "legal now: takeover verify, takeover begin, takeover abandon", ReleasedState: "legal now: none, since it is over; kxm-steel session start begins another",
	} {
		var e *fault.Error
		if err := takeoverInvalid(&Record{ID: "a", State: state}, "x"); !errors.As(err, &e) || e.Hint != want || !strings.Contains(e.Message, string(state)+", which does not allow x") {
			t.Errorf("%v with the hint %q, want %q", err, e.Hint, want)
		}
	}
}

// The deadline stands still from the moment that a person is asked until what they did
// is verified, however often they are asked again.
func TestTheDeadlineStandsStill(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ before, left time.Duration }{{time.Minute, 4 * time.Minute}, {4*time.Minute + 30*time.Second, time.Minute}} {
		s, _ := newService(t)
		now := noon()
		s.Now = func() time.Time { return now }
		r := mustStart(t, s)
		now = now.Add(c.before)
		turn := []string{beginVerb, doneVerb, beginVerb, doneVerb}
		for _, verb := range turn {
			if err := verbs[verb](t.Context(), s, r.ID); err != nil {
				t.Fatal(err)
			}
			now = now.Add(time.Hour)
			if r, _ := s.Store.Read(r.ID); r.Expired(now) || r.Takeover.RemainingMs != (5*time.Minute-c.before).Milliseconds() {
				t.Fatalf("after %s: %+v", verb, r.Takeover)
			}
		}
		answer, err := s.VerifyTakeover(t.Context(), verification(r.ID))
		if err != nil {
			t.Fatal(err)
		}
		r, _ = s.Store.Read(r.ID)
		if !r.DeadlineAt.Equal(now.Add(c.left)) || !answer.DeadlineAt.Equal(r.DeadlineAt) || r.Takeover != nil || !r.LastActiveAt.Equal(now) {
			t.Errorf("the deadline is %v, want %v", r.DeadlineAt, now.Add(c.left))
		}
	}
}

// The first snapshot comes after the references of before have gone, and the session is
// the agent's again whatever comes of it.
func TestASnapshotAfterAVerification(t *testing.T) {
	t.Parallel()
	s, _ := newService(t)
	r := mustStart(t, s)
	for _, failure := range []error{nil, fault.New(fault.SteelBadResponse, "no tree")} {
		bring(t, s, r, VerifyAuthentication)
		if err := s.Store.WriteReferences(r.ID, &References{}); err != nil {
			t.Fatal(err)
		}
		v := verification(r.ID)
		v.Snapshot = func(_ context.Context, p *Page) (any, error) {
			if _, err := s.Store.root.Lstat(r.ID + refsSuffix); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("references of before are there: %v", err)
			}
			return map[string]string{"tab": p.tab.Tab}, failure
		}
		answer, err := s.VerifyTakeover(t.Context(), v)
		if err != nil || answer.State != AgentControl {
			t.Fatalf("%+v, %v", answer, err)
		}
		if (answer.Snapshot != nil) != (failure == nil) || failure != nil && !slices.Equal(answer.Warnings, []string{"no snapshot was taken: no tree"}) {
			t.Errorf("%+v", answer)
		}
	}
}

func TestASessionPastItsDeadlineIsNotHandedOver(t *testing.T) {
	t.Parallel()
	s, _ := newService(t)
	r := mustStart(t, s)
	s.Now = func() time.Time { return noon().Add(time.Hour) }
	if err := verbs[beginVerb](t.Context(), s, r.ID); !fault.Is(err, fault.SteelSessionExpired) {
		t.Errorf("%v", err)
	}
}

// Of several that say at once that the person is done one is believed.
func TestAStateChangesOnce(t *testing.T) {
	t.Parallel()
	s, _ := newService(t)
	r := mustStart(t, s)
	bring(t, s, r, HumanControl)
	var all sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		all.Go(func() { errs[i] = verbs[doneVerb](t.Context(), s, r.ID) })
	}
	all.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else if !fault.Is(err, fault.SteelTakeoverInvalid) {
			t.Errorf("%v", err)
		}
	}
	if r, _ := s.Store.Read(r.ID); won != 1 || len(r.History) != 3 {
		t.Errorf("%d won: %+v", won, r.History)
	}
}

// What holds the session, as exec does, keeps it from being handed over.
func TestASessionInUseIsNotHandedOver(t *testing.T) {
	t.Parallel()
	s, _ := newService(t)
	r := mustStart(t, s)
	l, err := s.Store.lockSession(t.Context(), r.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := verbs[beginVerb](t.Context(), s, r.ID); !fault.Is(err, fault.SteelSessionBusy) {
		t.Errorf("%v", err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	if err := verbs[beginVerb](t.Context(), s, r.ID); err != nil {
		t.Errorf("%v", err)
	}
}

func TestWaitingForAPerson(t *testing.T) {
	t.Parallel()
	s, server := newService(t)
	r := mustStart(t, s)
	if a, err := s.TakeoverStatus(t.Context(), r.ID, time.Hour); err != nil || a.State != AgentControl || a.DeadlineAt == nil {
		t.Errorf("%+v, %v", a, err)
	}
	bring(t, s, r, HumanControl)
	asked := len(server.Requests())
	if a, err := s.TakeoverStatus(t.Context(), r.ID, time.Millisecond); !fault.Is(err, fault.SteelTakeoverPending) || a.State != HumanControl || a.Controller != "human" {
		t.Errorf("%+v, %v", a, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	if a, err := s.TakeoverStatus(ended, r.ID, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", a, err)
	}
	if len(server.Requests()) != asked {
		t.Error("looking asked the server")
	}
	for verb, want := range map[string]State{doneVerb: VerifyAuthentication, abandonVerb: ReleasedState} {
		waited := make(chan *Turn)
		go func() {
			a, err := s.TakeoverStatus(t.Context(), r.ID, time.Hour)
			if (want == ReleasedState) != fault.Is(err, fault.SteelSessionGone) {
				t.Errorf("after %s: %v", verb, err)
			}
			waited <- a
		}()
		if err := verbs[verb](t.Context(), s, r.ID); err != nil {
			t.Fatal(err)
		}
		if a := <-waited; a == nil || a.State != want {
			t.Errorf("after %s: %+v, want %s", verb, a, want)
		}
		if verb == abandonVerb {
			r = mustStart(t, s)
		} else if err := verbs[abandonVerb](t.Context(), s, r.ID); err != nil {
			t.Fatal(err)
		} else {
			r = mustStart(t, s)
		}
		bring(t, s, r, HumanControl)
	}
}

// An abandonment whose release did not come to its end can be taken up again, by
// whatever releases.
func TestAnAbandonedSessionThatLivesOn(t *testing.T) {
	t.Parallel()
	for _, again := range []string{abandonVerb, releaseVerb, "session sweep", "session start"} {
		s, server := newService(t)
		r := mustStart(t, s)
		bring(t, s, r, HumanControl)
		server.Set("release", "stuck")
		if err := verbs[abandonVerb](t.Context(), s, r.ID); !fault.Is(err, fault.SteelReleaseFailed) {
			t.Fatalf("%v", err)
		}
		wantPhase(t, s, r.ID, Releasing)
		server.Set("release", "")
		if err := verbs[doneVerb](t.Context(), s, r.ID); !fault.Is(err, fault.SteelSessionGone) {
			t.Errorf("%v", err)
		}
		var err error
		switch again {
		case "session sweep":
			_, err = s.Sweep(t.Context(), SweepOptions{Release: true})
		case "session start":
			mustStart(t, s)
		default:
			err = verbs[again](t.Context(), s, r.ID)
		}
		if err != nil {
			t.Errorf("%s: %v", again, err)
		}
		wantPhase(t, s, r.ID, Closed)
	}
}

// In the cloud a session has an end that nothing moves, and its link steers.
func TestAHandoverInTheCloud(t *testing.T) {
	t.Parallel()
	server := steeltest.New(noon)
	t.Cleanup(server.Close)
	server.Set("mode", "cloud")
	server.Set("key", "0123456789")
	s := serviceFor(t, "STEEL_API_URL="+server.URL, "KXM_STEEL_CDP_BASE=ws"+strings.TrimPrefix(server.URL, "http"), "KXM_STEEL_MODE=cloud",
		"STEEL_API_KEY=0123456789", "KXM_STEEL_STATE="+filepath.Join(t.TempDir(), "state"))
	started, err := s.Start(t.Context(), &StartOptions{Timeout: 5 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := s.BeginTakeover(t.Context(), &Handover{Session: started.ID, Reason: "sso", Hold: 15 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	const early, power = "the server ends the session at 2026-09-01T12:05:00Z, before holdUntil", "whoever holds the viewer's link controls the page"
	if !slices.Equal(answer.Warnings, []string{early, power}) {
		t.Errorf("the warnings are %q", answer.Warnings)
	}
	link := "https://api.steel.dev/v1/sessions/" + started.ID + "/player?interactive=true&showControls=true"
	if answer.ViewerURL != link || answer.InteractiveURL != link || answer.InspectorURL != "" || strings.Contains(answer.Message, "inspectorUrl") {
		t.Errorf("%+v", answer)
	}
	if err := verbs[doneVerb](t.Context(), s, started.ID); err != nil {
		t.Fatal(err)
	}
	if answer, err = s.BeginTakeover(t.Context(), &Handover{Session: started.ID, Reason: "sso", Hold: time.Minute}); err != nil || len(answer.Warnings) != 1 {
		t.Errorf("%+v, %v", answer, err)
	}
	released, err := s.AbandonTakeover(t.Context(), started.ID, "")
	if err != nil || !released.Wiped {
		t.Errorf("%+v, %v", released, err)
	}
}

func TestHandles(t *testing.T) {
	for name, want := range map[string]string{"": "ID", "checkout": "checkout", "a.b_c-1": "a.b_c-1", "-n": "ID", "a b": "ID", "$(x)": "ID", "é": "ID", "a'b": "ID"} {
		if got := (&Record{ID: "ID", Name: name}).handle(); got != want {
			t.Errorf("%q is called %q, want %q", name, got, want)
		}
	}
}

func TestTabsArePutInOrder(t *testing.T) {
	r := &Record{NextTab: 9, Tabs: []Tab{{"t10", "J"}, {"t2", "B"}}}
	r.NextTab = 11
	var pages []target
	for _, id := range []string{"A", "J", "B"} {
		pages = append(pages, target{ID: id, URL: "https://u:p@example.com/" + id + "?token=1"})
	}
	if got, want := r.listed(pages), "are t2 at https://[redacted]@example.com/B?token=[redacted], t10 at https://[redacted]@example.com/J?token=[redacted], t11 at https://[redacted]@example.com/A?token=[redacted]"; got != want {
		t.Errorf("there %s, want %s", got, want)
	}
	for range 20 {
		pages = append(pages, target{ID: "X" + strings.Repeat("x", len(pages))})
	}
	if got := r.listed(pages); !strings.HasSuffix(got, ", 13 others") || len(r.Tabs) != 23 {
		t.Errorf("there %s", got)
	}
	if got := r.listed(nil); got != "is none" {
		t.Errorf("there %s", got)
	}
}
