package steel

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"kxm/lib/fault"
	"kxm/lib/ndjson"
)

// RecordSchema names the form of a session's file.
const RecordSchema = "kxm.steel-session-state.v1"

// Phase says how far a session has come. A record leaves creating and releasing only
// when it is known what the server did.
type Phase string

// Phases.
const (
	Creating  Phase = "creating" // written before the server is asked
	Open      Phase = "open"
	Releasing Phase = "releasing"
	Closed    Phase = "closed"
)

// State says who controls a session.
type State string

// States.
const (
	AgentControl         State = "AGENT_CONTROL"
	HumanControl         State = "HUMAN_CONTROL"
	VerifyAuthentication State = "VERIFY_AUTHENTICATION"
	ReleasedState        State = "RELEASED"
)

// Record is what is remembered of a session. It holds no key, no address of CDP, and
// of a page nothing but the messages of dialogs, masked and cut.
type Record struct {
	Schema       string    `json:"schema"`
	ID           string    `json:"id"`
	Name         string    `json:"name,omitempty"`
	APIURL       string    `json:"apiUrl"`
	Mode         Mode      `json:"mode"`
	Phase        Phase     `json:"phase"`
	State        State     `json:"state"`
	Reason       string    `json:"reason,omitempty"` // why it was closed, other than by a release
	ViewerURL    string    `json:"viewerUrl,omitempty"`
	CreatedAt    time.Time `json:"createdAt"`
	TimeoutMs    int64     `json:"timeoutMs"`
	DeadlineAt   time.Time `json:"deadlineAt"`
	LastActiveAt time.Time `json:"lastActiveAt"`

	BrowserContextID string   `json:"browserContextId,omitempty"` // tells a restarted browser
	Tab              string   `json:"tab,omitempty"`              // the current one
	Tabs             []Tab    `json:"tabs,omitempty"`
	NextTab          int      `json:"nextTab,omitempty"`
	NextRef          int      `json:"nextRef,omitempty"` // numbers of references are never used twice
	DialogPolicy     Policy   `json:"dialogPolicy,omitempty"`
	Dialogs          []Dialog `json:"dialogs,omitempty"` // the last ones

	Takeover *Takeover `json:"takeover,omitempty"`
	History  []Step    `json:"history"`
}

// Tab is a page of the browser that has a name here.
type Tab struct {
	Tab      string `json:"tab"` // t1, t2, …
	TargetID string `json:"targetId"`
}

// Takeover is a person's turn.
type Takeover struct {
	Reason      string     `json:"reason,omitempty"`
	Why         string     `json:"why,omitempty"`
	By          string     `json:"by,omitempty"`
	BeganAt     time.Time  `json:"beganAt"`
	HoldUntil   time.Time  `json:"holdUntil"`
	RemainingMs int64      `json:"remainingMs"`
	DoneAt      *time.Time `json:"doneAt,omitempty"`
	DoneBy      string     `json:"doneBy,omitempty"`
}

// Step is a change of state.
type Step struct {
	At   time.Time `json:"at"`
	From State     `json:"from,omitempty"`
	To   State     `json:"to"`
	Verb string    `json:"verb"`
	By   string    `json:"by"`
}

// Human reports whether a person holds the session, or what they did is being checked.
// Once it was given up and its release has begun, nobody does.
func (r *Record) Human() bool {
	return r.Phase != Releasing && (r.State == HumanControl || r.State == VerifyAuthentication)
}

// Expired reports whether the deadline is over. It stands still while a person holds
// the session.
func (r *Record) Expired(now time.Time) bool { return !r.Human() && now.After(r.DeadlineAt) }

// Unfinished reports whether a create or release did not come to its end.
func (r *Record) Unfinished() bool { return r.Phase == Creating || r.Phase == Releasing }

// tabOf returns the tab of a target, which gets a name if it has none yet.
func (r *Record) tabOf(target string) Tab {
	for _, t := range r.Tabs {
		if t.TargetID == target {
			return t
		}
	}
	r.NextTab = max(r.NextTab, 1)
	t := Tab{"t" + strconv.Itoa(r.NextTab), target}
	r.NextTab++
	r.Tabs = append(r.Tabs, t)
	return t
}

// tab returns the tab of a name, or nil.
func (r *Record) tab(name string) *Tab {
	for i := range r.Tabs {
		if r.Tabs[i].Tab == name {
			return &r.Tabs[i]
		}
	}
	return nil
}

// dropTab forgets a tab, but never its name.
func (r *Record) dropTab(name string) {
	r.Tabs = slices.DeleteFunc(r.Tabs, func(t Tab) bool { return t.Tab == name })
}

// agent is who acts where nobody is named.
const agent = "agent"

// move changes the state and notes who did it.
func (r *Record) move(to State, verb, by string, now time.Time) {
	if r.State == to {
		return
	}
	r.History = append(r.History, Step{At: now, From: r.State, To: to, Verb: verb, By: by})
	r.State = to
}

// close ends the record.
func (r *Record) close(verb, by, reason string, now time.Time) {
	r.move(ReleasedState, verb, by, now)
	r.Phase, r.Reason, r.Takeover = Closed, reason, nil
}

// closedAt is when the record was closed.
func (r *Record) closedAt() time.Time {
	if n := len(r.History); n > 0 {
		return r.History[n-1].At
	}
	return r.CreatedAt
}

// encode returns the file's bytes.
func (r *Record) encode() ([]byte, error) {
	raw, err := ndjson.Marshal(r)
	if err != nil {
		return nil, err
	}
	return append(raw, '\n'), nil
}

// ParseRecord reads a session's file. The error says what is wrong and not where.
func ParseRecord(data []byte) (*Record, error) {
	corrupt := func(what string) (*Record, error) { return nil, fault.New(fault.SteelStateCorrupt, "%s", what) }
	if err := ndjson.Validate(data); err != nil {
		return corrupt("not JSON")
	}
	r := &Record{}
	if err := json.Unmarshal(data, r); err != nil {
		return corrupt("a field has the wrong type")
	}
	switch {
	case r.Schema != RecordSchema:
		return corrupt("the schema is not " + RecordSchema)
	case !validID(r.ID):
		return corrupt("the id is none")
	case r.Mode != Self && r.Mode != Cloud:
		return corrupt("the mode is unknown")
	case !slices.Contains([]Phase{Creating, Open, Releasing, Closed}, r.Phase):
		return corrupt("the phase is unknown")
	case !slices.Contains([]State{AgentControl, HumanControl, VerifyAuthentication, ReleasedState}, r.State):
		return corrupt("the state is unknown")
	case (r.Phase == Closed) != (r.State == ReleasedState):
		return corrupt("phase and state contradict each other")
	case r.CreatedAt.IsZero() || r.DeadlineAt.IsZero() || r.LastActiveAt.IsZero():
		return corrupt("a time is missing")
	case r.TimeoutMs <= 0:
		return corrupt("the timeout is none")
	case !r.DialogPolicy.valid():
		return corrupt("the dialog policy is unknown")
	case r.NextTab < 0 || r.NextRef < 0:
		return corrupt("a number is negative")
	}
	if r.History == nil {
		r.History = []Step{}
	}
	return r, nil
}

// validID reports whether an id may name a file: what servers give are UUIDs.
func validID(id string) bool {
	if id == "" || len(id) > 64 {
		return false
	}
	for _, c := range []byte(id) {
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '-') {
			return false
		}
	}
	return id[0] != '-'
}
