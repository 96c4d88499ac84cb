package steel

import (
	"context"
	"net/url"
	"strings"
	"time"

	"kxm/lib/fault"
)

// Verbs of a person's turn, as history and messages name them.
const (
	beginVerb   = "takeover begin"
	doneVerb    = "takeover done"
	verifyVerb  = "takeover verify"
	abandonVerb = "takeover abandon"
	releaseVerb = "session release"
)

// turn is a change of who controls a session.
type turn struct {
	verb string
	to   State
}

// turns are all that a state allows: everything else is refused. What leads to
// AGENT_CONTROL at first is the start of a session, or its adoption, and what proves a
// session gone ends it from any state.
var turns = map[State][]turn{
	AgentControl:         {{beginVerb, HumanControl}, {releaseVerb, ReleasedState}},
	HumanControl:         {{doneVerb, VerifyAuthentication}, {abandonVerb, ReleasedState}},
	VerifyAuthentication: {{verifyVerb, AgentControl}, {beginVerb, HumanControl}, {abandonVerb, ReleasedState}},
}

// mayTurn returns the state that a verb leads to, or refuses it. The caller holds the
// session's lock.
func (s *Service) mayTurn(r *Record, verb string) (State, error) {
	for _, t := range turns[r.State] {
		if t.verb != verb {
			continue
		}
		if verb == abandonVerb || verb == releaseVerb { // both end also what is half over
			return t.to, nil
		}
		return t.to, s.usable(r)
	}
	return r.State, takeoverInvalid(r, verb)
}

// takeoverInvalid refuses a verb that the state does not allow.
func takeoverInvalid(r *Record, verb string) error {
	var legal []string
	for _, t := range turns[r.State] {
		legal = append(legal, t.verb)
	}
	if legal == nil {
		legal = []string{"none, since it is over; kxm-steel session start begins another"}
	}
	return fault.New(fault.SteelTakeoverInvalid, "the session %s is in state %s, which does not allow %s", fault.Quote(r.ID), r.State, verb).
		WithHint("legal now: %s", strings.Join(legal, ", "))
}

// TakeoverSchema names the form of the answers about a person's turn.
const TakeoverSchema = "kxm.steel-takeover.v1"

// Limits of a turn.
const (
	DefaultHold = 15 * time.Minute
	// restTime is what a session has left at least, once the agent goes on.
	restTime = time.Minute
	// frontTime is how long the tab may take to come to the front.
	frontTime = 10 * time.Second
	// lookTime is the pause between two looks at the file of a session.
	lookTime = 250 * time.Millisecond
)

// operator is who ended a turn if nobody is named: it is done on a person's word.
const operator = "operator"

// Handover is a request for a person's turn.
type Handover struct {
	Session string        // its id or name; "" is the only open one
	Reason  string        // login, mfa, captcha, sso, consent or other
	Why     string        // for the person; kept and printed, so no place for a secret
	Hold    time.Duration // how long the person is expected to take
	By      string        // who asks; "" is the agent
}

// Turn is the answer about a person's turn: what to tell the operator when it begins,
// and state and times later. Fields with nothing to say are left out.
type Turn struct {
	Schema         string      `json:"schema"`
	ID             string      `json:"id"`
	State          State       `json:"state"`
	Controller     string      `json:"controller"` // agent, human or nobody
	Reason         string      `json:"reason,omitempty"`
	HoldUntil      *time.Time  `json:"holdUntil,omitempty"`
	ViewerURL      string      `json:"viewerUrl,omitempty"`
	InteractiveURL string      `json:"interactiveUrl,omitempty"`
	InspectorURL   string      `json:"inspectorUrl,omitempty"`
	Message        string      `json:"message,omitempty"`
	Why            string      `json:"why,omitempty"`
	By             string      `json:"by,omitempty"`
	BeganAt        *time.Time  `json:"beganAt,omitempty"`
	RemainingMs    *int64      `json:"remainingMs,omitempty"` // of the session's time, which stands still
	DoneAt         *time.Time  `json:"doneAt,omitempty"`
	DoneBy         string      `json:"doneBy,omitempty"`
	DeadlineAt     *time.Time  `json:"deadlineAt,omitempty"` // while it runs
	Tab            string      `json:"tab,omitempty"`
	TabChanged     bool        `json:"tabChanged,omitempty"` // the recorded tab was gone, and the only other one took its place
	Conditions     []Condition `json:"conditions,omitempty"`
	Snapshot       any         `json:"snapshot,omitempty"`
	Dialogs        []Dialog    `json:"dialogs,omitempty"`
	Warnings       []string    `json:"warnings"`
}

// turnOf tells of a record's state and times.
func turnOf(r *Record) *Turn {
	t := &Turn{Schema: TakeoverSchema, ID: r.ID, State: r.State, Controller: agent, Warnings: []string{}}
	switch r.State {
	case HumanControl:
		t.Controller = "human"
	case ReleasedState:
		t.Controller = "nobody"
	case AgentControl:
		t.DeadlineAt = &r.DeadlineAt
	}
	if k := r.Takeover; k != nil {
		t.Reason, t.Why, t.By, t.DoneAt, t.DoneBy = k.Reason, k.Why, k.By, k.DoneAt, k.DoneBy
		t.HoldUntil, t.BeganAt, t.RemainingMs = &k.HoldUntil, &k.BeganAt, &k.RemainingMs
	}
	return t
}

// links adds where a person sees and steers the tab. On the open-source server none
// carries more than ids; the cloud's steers by itself, and whoever has it controls the
// page.
func (t *Turn) links(s *Settings, r *Record) {
	t.ViewerURL = r.ViewerURL
	if r.Mode == Cloud {
		t.InteractiveURL = r.ViewerURL
		return
	}
	page := ""
	if tab := r.tab(r.Tab); tab != nil {
		page = "pageId=" + url.QueryEscape(tab.TargetID)
	}
	t.InteractiveURL = s.API.String() + "/v1/sessions/debug?" + page + "&interactive=true&showControls=true"
	t.InspectorURL = s.API.String() + "/v1/devtools/inspector.html?" + page
}

// message is what the operator is to do.
func message(r *Record, viewer string) string {
	what := r.Takeover.Reason
	if r.Takeover.Why != "" {
		what += " (" + r.Takeover.Why + ")"
	}
	how := "Open the viewer; if clicks do nothing use interactiveUrl, then inspectorUrl. Do not press Release."
	switch {
	case r.Mode == Cloud && viewer == "":
		how = "Open the session in the cloud's dashboard. Do not release it there."
	case r.Mode == Cloud:
		how = "Open the viewer. Do not release the session there."
	}
	return "Please complete: " + what + ". " + how + " Then run: kxm-steel takeover done --session " + r.handle()
}

// handle names the session in a command line: by its name if a shell takes that as it
// stands, else by its id.
func (r *Record) handle() string {
	plain := r.Name != "" && r.Name[0] != '-'
	for _, c := range []byte(r.Name) {
		plain = plain && (c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.IndexByte("._-", c) >= 0)
	}
	if plain {
		return r.Name
	}
	return r.ID
}

// BeginTakeover gives a session to a person: the tab comes to the front, the deadline
// stands still, and nothing of ours is connected from then on. The answer says what to
// tell the operator.
func (s *Service) BeginTakeover(ctx context.Context, o *Handover) (answer *Turn, err error) {
	r, err := s.Find(o.Session)
	if err != nil {
		return nil, err
	}
	err = s.holding(ctx, r.ID, func(r *Record) error {
		to, err := s.mayTurn(r, beginVerb)
		if err != nil {
			return err
		}
		warnings, err := s.bringToFront(ctx, r)
		if err != nil {
			return err
		}
		now := s.now()
		left := r.DeadlineAt.Sub(now).Milliseconds()
		if r.Takeover != nil {
			left = r.Takeover.RemainingMs // it has stood still since
		}
		r.Takeover = &Takeover{
			Reason: o.Reason, Why: clean(s.Secrets.Mask(o.Why), maxMessage), By: nameOf(o.By, agent),
			BeganAt: now, HoldUntil: now.Add(o.Hold), RemainingMs: left,
		}
		r.move(to, beginVerb, r.Takeover.By, now)
		r.LastActiveAt = now
		late, err := s.endsEarly(ctx, r)
		if err != nil {
			return err
		}
		if err := s.Store.Write(r); err != nil {
			return err
		}
		answer = s.handedOver(r, append(warnings, late...))
		return nil
	})
	return answer, err
}

// handedOver is the answer that begins a turn.
func (s *Service) handedOver(r *Record, warnings []string) *Turn {
	t := &Turn{Schema: TakeoverSchema, ID: r.ID, State: r.State, Controller: "human", Reason: r.Takeover.Reason, HoldUntil: &r.Takeover.HoldUntil}
	t.links(s.Settings, r)
	t.Message = message(r, t.ViewerURL)
	if r.Mode == Cloud {
		warnings = append(warnings, "whoever holds the viewer's link controls the page")
	}
	t.Warnings = append([]string{}, warnings...)
	return t
}

// nameOf is the name of whoever does something, as it is kept.
func nameOf(name, otherwise string) string {
	if name = strings.TrimSpace(name); name == "" {
		return otherwise
	}
	return clean(name, maxName)
}

// bringToFront shows the tab in front of the others. One that does not answer can be
// handed over all the same, since it may be what the person is asked to look at.
func (s *Service) bringToFront(ctx context.Context, r *Record) (warnings []string, err error) {
	a := &Access{Verb: beginVerb, Timeout: frontTime}
	ctx, cancel := context.WithTimeout(ctx, a.Timeout)
	defer cancel()
	p, err := s.attach(ctx, r, a) // a verb that acts begins with it
	switch {
	case fault.Is(err, fault.SteelTabStuck), fault.Is(err, fault.SteelTabCrashed):
		return []string{fault.Detail(err) + ": kxm-steel recover --operator closes it"}, nil
	case err != nil:
		return nil, s.timedOut(ctx, a, err)
	}
	p.close()
	r.noteDialogs(p.Dialogs())
	return nil, nil
}

// endsEarly warns if the server ends the session before the person's time is over. Only
// the cloud does, and its end cannot be moved.
func (s *Service) endsEarly(ctx context.Context, r *Record) ([]string, error) {
	if r.Mode == Self {
		return nil, nil
	}
	list, err := s.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, v := range list.Live() {
		left, known := v.left(s.serverTime(list))
		if v.ID == r.ID && known && s.now().Add(left).Before(r.Takeover.HoldUntil) {
			return []string{"the server ends the session at " + s.now().Add(left).Format(time.RFC3339) + ", before holdUntil"}, nil
		}
	}
	return nil, s.isCurrent(r, list)
}

// TakeoverDone notes that the person has done their part, on the operator's word. by is
// whose word it is; "" is the operator's.
func (s *Service) TakeoverDone(ctx context.Context, session, by string) (answer *Turn, err error) {
	r, err := s.Find(session)
	if err != nil {
		return nil, err
	}
	err = s.holding(ctx, r.ID, func(r *Record) error {
		to, err := s.mayTurn(r, doneVerb)
		if err != nil {
			return err
		}
		now := s.now()
		if r.Takeover == nil { // a record that something else wrote
			r.Takeover = &Takeover{BeganAt: now, HoldUntil: now}
		}
		r.Takeover.DoneAt, r.Takeover.DoneBy = &now, nameOf(by, operator)
		r.move(to, doneVerb, r.Takeover.DoneBy, now)
		if err := s.Store.Write(r); err != nil {
			return err
		}
		answer = turnOf(r)
		return nil
	})
	return answer, err
}

// TakeoverStatus tells of state and times, after waiting for as long as a person holds
// the session, up to wait (0: not at all). The answer stands also beside an error, which
// is SteelSessionGone if the session was released meanwhile, or SteelTakeoverPending if
// time is up.
func (s *Service) TakeoverStatus(ctx context.Context, session string, wait time.Duration) (*Turn, error) {
	r, err := s.Find(session)
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for {
		answer := turnOf(r)
		switch {
		case r.State == HumanControl:
			answer.links(s.Settings, r)
		case r.State == ReleasedState && wait > 0:
			return answer, fault.New(fault.SteelSessionGone, "the session %s was released", fault.Quote(r.ID)).WithHint("kxm-steel session start, and ask for the person's part again")
		}
		if r.State != HumanControl || wait == 0 {
			return answer, nil
		}
		if pause(limited, lookTime) != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return answer, fault.New(fault.SteelTakeoverPending, "a person still holds the session %s", fault.Quote(r.ID)).WithHint("wait again, or ask the operator")
		}
		now, err := s.Store.Read(r.ID)
		if err != nil {
			return nil, err
		}
		if now == nil {
			return nil, notFound(r.ID)
		}
		r = now
	}
}

// AbandonTakeover gives up a person's turn: what the session leaves in the browser is
// wiped, and the session released. by is who gives it up; "" is the agent.
func (s *Service) AbandonTakeover(ctx context.Context, session, by string) (answer *Released, err error) {
	r, err := s.Find(session)
	if err != nil {
		return nil, err
	}
	err = s.locked(ctx, func() error {
		return s.holding(ctx, r.ID, func(r *Record) error {
			if _, err := s.mayTurn(r, abandonVerb); err != nil {
				return err
			}
			answer, err = s.releaseWhoever(ctx, r, abandonVerb, nameOf(by, agent), Wipe)
			return err
		})
	})
	return answer, err
}

// Verification is a look whether a person has done their part.
type Verification struct {
	Access // Session, Tab, Timeout and Dialog
	Wanted []Wanted
	// Snapshot takes the first snapshot of what the person left, once the references of
	// before are dropped; nil takes none.
	Snapshot func(context.Context, *Page) (any, error)
}

// VerifyTakeover gives the session back to the agent if all conditions hold within its
// time: references of before are dropped, and the deadline runs on with at least
// restTime left. If one does not the state stays, and SteelNotAuthenticated names it.
func (s *Service) VerifyTakeover(ctx context.Context, v *Verification) (answer *Turn, err error) {
	a := v.Access
	a.Verb, a.Reads, a.turns, a.standsIn = verifyVerb, true, true, true
	err = s.OnPage(ctx, &a, func(ctx context.Context, p *Page) error {
		stood, unmet, err := p.await(ctx, v.Wanted)
		if err != nil {
			return err
		}
		if unmet != "" {
			return fault.New(fault.SteelNotAuthenticated, "within %s this did not come true: %s", short(a.Timeout), unmet).
				WithHint("kxm-steel takeover begin asks the person again; kxm-steel takeover abandon gives up")
		}
		r, now := p.record, s.now()
		to, err := s.mayTurn(r, verifyVerb)
		if err != nil {
			return err
		}
		if err := s.Store.DropReferences(r.ID); err != nil {
			return err
		}
		answer = turnOf(r)
		r.goOn(to, now)
		answer.State, answer.RemainingMs, answer.DeadlineAt = r.State, nil, &r.DeadlineAt
		answer.Conditions, answer.Tab, answer.TabChanged = stood, p.tab.Tab, p.stoodIn
		if v.Snapshot != nil {
			// The person's part is verified whatever comes of this.
			if answer.Snapshot, err = v.Snapshot(p.late, p); err != nil {
				answer.Snapshot, answer.Warnings = nil, append(answer.Warnings, "no snapshot was taken: "+fault.Detail(err))
			}
		}
		answer.Dialogs = p.Dialogs()
		return nil
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// goOn ends a person's turn: the deadline runs again.
func (r *Record) goOn(to State, now time.Time) {
	left := restTime
	if r.Takeover != nil {
		left = max(left, time.Duration(r.Takeover.RemainingMs)*time.Millisecond)
	}
	r.DeadlineAt, r.Takeover = now.Add(left), nil
	r.move(to, verifyVerb, agent, now)
}
