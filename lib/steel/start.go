package steel

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"kxm/lib/cdp"
	"kxm/lib/fault"
)

// StartOptions are what a new session is to be.
type StartOptions struct {
	Name       string
	Timeout    time.Duration // 0 is that of the settings
	Dimensions *Dimensions
	UserAgent  string
	Timezone   string
	BlockAds   bool
	ProxyURL   string        // a secret
	Wait       time.Duration // for the server to become free
	Replace    string        // the id of the live session that may be released for it

	KeepProfile bool          // what earlier sessions left in the browser stays
	Context     *SavedContext // is loaded; nil: none
}

// Started is the answer to a start and to an adoption.
type Started struct {
	Schema     string     `json:"schema"`
	ID         string     `json:"id"`
	Name       string     `json:"name,omitempty"`
	State      State      `json:"state"`
	Controller string     `json:"controller"`
	CreatedAt  time.Time  `json:"createdAt"`
	DeadlineAt time.Time  `json:"deadlineAt"`
	TimeoutMs  int64      `json:"timeoutMs"`
	Tab        string     `json:"tab,omitempty"`
	ViewerURL  string     `json:"viewerUrl,omitempty"`
	Leftovers  *Leftovers `json:"leftovers,omitempty"` // that were wiped; none if nothing was to be
	Warnings   []string   `json:"warnings"`
}

// SessionSchema names the form of a session in answers.
const SessionSchema = "kxm.steel-session.v1"

// What is said of the browser's profile, which the open-source server keeps.
const (
	keptProfile  = "the server keeps its browser's profile, which was not wiped: cookies and storage of this session are there in the next one"
	foundProfile = "the browser's profile was not wiped: cookies and storage of earlier sessions are in it"
	leftCookies  = "the previous session left cookies behind; they were wiped"
	leftTabs     = "the previous session left tabs open; they were closed"
)

// Start creates a session and records it. On the open-source server it refuses with
// SteelEndpointInUse while another one is live, which a second create would silently
// replace.
func (s *Service) Start(ctx context.Context, o *StartOptions) (*Started, error) {
	r, body, err := s.plan(o)
	if err != nil {
		return nil, err
	}
	for waited := time.Duration(0); ; waited += time.Second {
		started, err := s.startOnce(ctx, o, r, body)
		if !fault.Is(err, fault.SteelEndpointInUse) || waited >= o.Wait {
			return started, err
		}
		// The lock is free meanwhile, so that the other session can be released.
		if err := pause(ctx, min(time.Second, o.Wait-waited)); err != nil {
			return nil, err
		}
	}
}

// PlanStart returns the calls that Start would make.
func (s *Service) PlanStart(o *StartOptions) ([]Call, error) {
	_, body, err := s.plan(o)
	if err != nil {
		return nil, err
	}
	if body.ProxyURL != "" {
		body.ProxyURL = maskedValue
	}
	return []Call{s.call("GET", sessionsPath, nil), s.call("POST", sessionsPath, body)}, nil
}

// plan makes the record and the request of a session.
func (s *Service) plan(o *StartOptions) (*Record, *Creation, error) {
	timeout := o.Timeout
	if timeout == 0 {
		timeout = s.Settings.Timeout
	}
	if err := s.Settings.CheckTimeout(timeout); err != nil {
		return nil, nil, err
	}
	if err := checkName(o.Name); err != nil {
		return nil, nil, err
	}
	if s.Settings.Mode == Cloud && o.Replace != "" {
		return nil, nil, fault.New(fault.SteelUsage, "the cloud has room for many sessions: none is replaced").WithHint("kxm-steel session release ID")
	}
	r := s.record(s.NewID(), o.Name, timeout)
	r.Phase = Creating
	return r, &Creation{
		SessionID: r.ID, Timeout: r.TimeoutMs, Dimensions: o.Dimensions, UserAgent: o.UserAgent,
		Timezone: o.Timezone, BlockAds: o.BlockAds, ProxyURL: o.ProxyURL,
	}, nil
}

// record returns a new record, open and in the agent's hands.
func (s *Service) record(id, name string, timeout time.Duration) *Record {
	r := &Record{
		Schema: RecordSchema, ID: id, Name: name, APIURL: s.Settings.API.String(), Mode: s.Settings.Mode,
		Phase: Open, TimeoutMs: timeout.Milliseconds(), History: []Step{},
	}
	if r.Mode == Self {
		r.ViewerURL = s.Settings.ViewerURL(id)
	}
	return r
}

// begin sets the times of a record, at the moment when its session begins.
func (s *Service) begin(r *Record, verb string) {
	now := s.now()
	r.CreatedAt, r.LastActiveAt, r.DeadlineAt = now, now, now.Add(time.Duration(r.TimeoutMs)*time.Millisecond)
	r.move(AgentControl, verb, agent, now)
}

// maxName is the longest name of a session, in code points.
const maxName = 100

func checkName(name string) error {
	if utf8.RuneCountInString(name) > maxName || fault.Printable(name) != name || strings.TrimSpace(name) != name || !utf8.ValidString(name) {
		return fault.New(fault.SteelUsage, "a session's name has at most %d characters, no control characters and no space around it", maxName)
	}
	return nil
}

// checkNameFree refuses a name that an open session has. An id may be no other
// session's name either, since both are looked up the same way.
func checkNameFree(rs *Records, name string) error {
	if name == "" {
		return nil
	}
	for _, r := range rs.Open() {
		if r.Name == name || r.ID == name {
			return fault.New(fault.SteelUsage, "the session %s has the name %s", fault.Quote(r.ID), fault.Quote(name)).WithHint("choose another --name, or release that session")
		}
	}
	return nil
}

// startOnce is one try under the endpoint's lock.
func (s *Service) startOnce(ctx context.Context, o *StartOptions, r *Record, body *Creation) (started *Started, err error) {
	err = s.locked(ctx, func() error {
		rs, err := s.Store.Records()
		if err != nil {
			return err
		}
		if err := checkNameFree(rs, o.Name); err != nil {
			return err
		}
		if s.Settings.Mode == Self {
			if err := s.makeRoom(ctx, rs, o.Replace); err != nil {
				return err
			}
			if err := s.awaitBrowser(ctx, r.ID); err != nil {
				return err
			}
		}
		if err := s.Store.forget(rs, s.now()); err != nil {
			return err
		}
		l, err := s.Store.lockSession(ctx, r.ID, sessionWait)
		if err != nil {
			return err
		}
		defer l.Release()
		started, err = s.create(ctx, r, body, o)
		return err
	})
	return started, err
}

// makeRoom looks whether the server is free, and frees it of what is ours and over.
// Records of sessions that the list no longer shows are closed.
func (s *Service) makeRoom(ctx context.Context, rs *Records, replace string) error {
	list, err := s.List(ctx)
	if err != nil {
		return err
	}
	for _, r := range rs.Open() {
		if !list.IsLive(r.ID) {
			if err := s.closeGone(ctx, r, "session start"); err != nil && !fault.Is(err, fault.SteelSessionBusy) {
				return err
			}
		}
	}
	for _, v := range list.Live() {
		r := rs.ByID(v.ID)
		if r != nil && r.Phase == Closed {
			r = nil // the server has it all the same
		}
		ours := r != nil && !r.Human() && (r.Expired(s.now()) || r.Unfinished())
		switch {
		case v.ID == replace && r != nil && r.Human():
			return fault.New(fault.SteelHumanInControl, "a person holds the session %s", fault.Quote(v.ID))
		case v.ID == replace && r == nil:
			err = s.releaseUntracked(ctx, v.ID)
		case v.ID == replace || ours:
			_, err = s.releaseLocked(ctx, r, "session start", NoWipe) // the start wipes
		default:
			return s.inUse(&v, r, rs.Broken[v.ID] != nil, list)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) inUse(v *ServerSession, r *Record, broken bool, list *Listing) error {
	whose := "which nobody here tracks"
	if r != nil || broken {
		whose = "which is tracked here"
	}
	if r != nil && r.Name != "" {
		whose = "which is tracked here as " + fault.Quote(r.Name)
	}
	return fault.New(fault.SteelEndpointInUse, "the session %s is live, %s old, %s", fault.Quote(v.ID), short(v.age(s.serverTime(list)).Round(time.Second)), whose).
		WithHint("wait for it with --wait, release it if it is yours, or --replace ID")
}

// serverTime is the server's clock, or ours if it told none.
func (s *Service) serverTime(list *Listing) time.Time {
	if list.Date.IsZero() {
		return s.now()
	}
	return list.Date
}

// create asks for the session; its record is on the disk before. The caller holds both
// locks.
func (s *Service) create(ctx context.Context, r *Record, body *Creation, o *StartOptions) (*Started, error) {
	if err := ctx.Err(); err != nil { // making room may have taken long
		return nil, err
	}
	s.begin(r, "session start")
	if err := s.Store.Write(r); err != nil {
		return nil, err
	}
	late, cancel := lingering(ctx)
	defer cancel()
	answer, err := s.Create(late, body)
	switch {
	case err == nil && answer.ID != r.ID:
		err = s.mismatch(late, r, answer.ID)
	case err != nil:
		answer, err = s.lostCreate(late, r, err)
	}
	if err != nil && ctx.Err() == nil {
		return nil, err
	}
	var started *Started
	if err == nil && ctx.Err() == nil {
		if r.Mode == Cloud {
			r.ViewerURL = cloudViewer(answer.DebugURL)
		}
		started, err = s.furnish(late, r, o)
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if err == nil {
		return started, nil
	}
	// A start that fails gives nobody an id to release.
	if uerr := s.undo(late, r); uerr != nil {
		return nil, uerr
	}
	return nil, err
}

// furnish makes a session that has just begun ready: it looks for the browser, wipes
// what earlier sessions left there, records the first tab, and loads a context.
func (s *Service) furnish(ctx context.Context, r *Record, o *StartOptions) (*Started, error) {
	conn, err := s.reach(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	var left Leftovers
	var first target
	wipes := r.Mode == Self && !o.KeepProfile
	if wipes {
		first, left, err = s.wipe(ctx, conn, "")
	} else {
		first, err = firstPage(ctx, conn)
	}
	if err != nil {
		return nil, s.transport(ctx, r, err)
	}
	r.take(first)
	if o.Context != nil {
		if err := s.loadInto(ctx, conn, r, o.Context); err != nil {
			return nil, s.transport(ctx, r, err)
		}
	}
	r.Phase = Open
	if err := s.Store.Write(r); err != nil {
		return nil, err
	}
	started := s.started(r)
	if wipes {
		started.Leftovers = &left
	}
	for _, w := range []struct {
		said bool
		text string
	}{{left.Cookies > 0, leftCookies}, {left.Tabs > 0, leftTabs}, {r.Mode == Self && o.KeepProfile, foundProfile}} {
		if w.said {
			started.Warnings = append(started.Warnings, w.text)
		}
	}
	return started, nil
}

// firstPage returns the first tab, which it opens if there is none.
func firstPage(ctx context.Context, conn *cdp.Conn) (target, error) {
	pages, err := listPages(ctx, conn)
	if err != nil || len(pages) > 0 {
		return append(pages, target{})[0], err
	}
	id, err := openTab(ctx, conn, blank)
	if err != nil {
		return target{}, err
	}
	pages, err = listPages(ctx, conn)
	return append(pages, target{ID: id})[0], err
}

// take makes a page the current tab.
func (r *Record) take(t target) {
	r.Tab = r.tabOf(t.ID).Tab
	r.BrowserContextID = t.ContextID
}

func (s *Service) started(r *Record) *Started {
	return &Started{
		Schema: SessionSchema, ID: r.ID, Name: r.Name, State: r.State, Controller: "agent", CreatedAt: r.CreatedAt,
		DeadlineAt: r.DeadlineAt, TimeoutMs: r.TimeoutMs, Tab: r.Tab, ViewerURL: r.ViewerURL, Warnings: []string{},
	}
}

// mismatch is a create that was answered with another session. Ours is closed if the
// list shows that it does not live; the other is not touched.
func (s *Service) mismatch(ctx context.Context, r *Record, other string) error {
	err := fault.New(fault.SteelIDMismatch, "the server answered with the session %s instead of %s; neither was touched", fault.Quote(other), fault.Quote(r.ID))
	if list, lerr := s.List(ctx); lerr == nil && !list.IsLive(r.ID) {
		r.close("session start", agent, "mismatch", s.now())
		return errors.Join(err, s.Store.Write(r))
	}
	return err
}

// lookAgain are the pauses between looks for a session whose create got no answer: a
// create takes up to 2.6 s.
var lookAgain = []time.Duration{0, time.Second, 2 * time.Second}

// lostCreate decides what a create that failed did. If the list shows our id it
// succeeded. Where the server has said no, or never got the call, the record is closed;
// else the session may still come, and the record stays for a sweep.
func (s *Service) lostCreate(ctx context.Context, r *Record, cause error) (*ServerSession, error) {
	if neverSent(cause) {
		r.close("session start", agent, "refused", s.now())
		return nil, errors.Join(cause, s.Store.Write(r))
	}
	pauses := lookAgain
	decided := fault.Is(cause, fault.SteelServerError)
	if decided {
		pauses = pauses[:1]
	}
	var list *Listing
	for _, d := range pauses {
		err := pause(ctx, d)
		if err == nil {
			list, err = s.List(ctx)
		}
		if err != nil {
			return nil, createFailed(cause, r, "kxm-steel session sweep shows what became of it")
		}
		for _, v := range list.Live() {
			if v.ID == r.ID {
				return &v, nil
			}
		}
	}
	if !decided {
		return nil, createFailed(cause, r, "kxm-steel session sweep shows what became of it")
	}
	r.close("session start", agent, "failed", s.now())
	hint := ""
	if len(list.Live()) > 0 {
		hint = "a failed launch left a session behind: kxm-steel session sweep --untracked --release"
	}
	return nil, errors.Join(createFailed(cause, r, hint), s.Store.Write(r))
}

// neverSent reports whether a call that changes the server cannot have done so.
func neverSent(err error) bool {
	switch fault.CodeOf(err) {
	case fault.SteelUnauthorized, fault.SteelRateLimited, fault.SteelRedirected, fault.SteelNotSteel, fault.SteelKeyCommandFailed, fault.SteelBadKey:
		return true
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

func createFailed(cause error, r *Record, hint string) error {
	e := fault.New(fault.SteelCreateFailed, "the session %s was not created: %s", fault.Quote(r.ID), fault.Detail(cause))
	if hint != "" {
		e = e.WithHint("%s", hint)
	}
	return e
}

// undo ends a session whose start was interrupted.
func (s *Service) undo(ctx context.Context, r *Record) error {
	if r.Phase == Closed {
		return nil
	}
	list, err := s.List(ctx)
	if err != nil {
		return err
	}
	if list.IsLive(r.ID) {
		ended, err := s.releaseHeld(ctx, r, "session start", WipeByMode)
		if ended != nil { // what was not wiped is, at the next start
			return nil
		}
		return err
	}
	return nil // it may still come: the record stays for a sweep
}

// cloudViewer is the cloud's link to watch and steer a session, if it leads there.
func cloudViewer(debug string) string {
	u, err := url.Parse(debug)
	if err != nil || u.Scheme != "https" || u.User != nil || !isSteelDomain(u.Hostname()) {
		return ""
	}
	q := u.Query()
	q.Set("interactive", "true")
	q.Set("showControls", "true")
	u.RawQuery = q.Encode()
	return u.String()
}
