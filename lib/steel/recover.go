package steel

import (
	"cmp"
	"context"
	"slices"

	"kxm/lib/cdp"
	"kxm/lib/fault"
)

// RecoverySchema names the form of what a recovery found and did.
const RecoverySchema = "kxm.steel-recovery.v1"

// Recovery is what was found and done. It may stand beside a SteelRecoverFailed.
type Recovery struct {
	Schema   string     `json:"schema"`
	ID       string     `json:"id"`
	Browser  string     `json:"browser"` // same, restarted or none
	Found    []FoundTab `json:"found"`
	Done     []string   `json:"done"`
	Would    []string   `json:"would,omitempty"` // of a dry run, in place of done
	Tab      string     `json:"tab,omitempty"`   // the current one
	Warnings []string   `json:"warnings,omitempty"`
}

// FoundTab is how a tab answered.
type FoundTab struct {
	Tab   string `json:"tab"`
	State string `json:"state"` // alive, crashed or stuck
}

// What became of the browser.
const (
	browserSame      = "same"
	browserRestarts  = "restarted"
	browserNone      = "none"
	stateLost        = "the browser was started anew: the signed-in state is probably gone"
	nothingRecovered = "no tab of the session %s works: %s"
)

// RecoverOptions say how a recovery goes about its work.
type RecoverOptions struct {
	Access        // Session and Timeout
	Operator bool // also while a person holds the session
	DryRun   bool // look, and change nothing
}

// Recover makes a session's tabs work again, and never releases it: it closes those
// that are stuck, then revives those whose renderer crashed, then opens one if none is
// left, and sees to it that there is a current one.
func (s *Service) Recover(ctx context.Context, o RecoverOptions) (answer *Recovery, err error) {
	a := o.Access
	a.Verb, a.Verifying, a.operator = "recover", true, o.Operator
	run := func() error {
		return s.during(ctx, &a, func(ctx, late context.Context, r *Record) error {
			if o.DryRun {
				kept := *r
				kept.Tabs = slices.Clone(r.Tabs)
				r = &kept
			}
			answer, err = s.recoverTabs(ctx, r, o.DryRun)
			return s.transport(late, r, err)
		})
	}
	if o.DryRun {
		err = run()
	} else {
		err = s.locked(ctx, run)
	}
	return answer, err
}

// recoverTabs is Recover under both locks.
func (s *Service) recoverTabs(ctx context.Context, r *Record, dryRun bool) (*Recovery, error) {
	answer := &Recovery{Schema: RecoverySchema, ID: r.ID, Browser: browserSame, Found: []FoundTab{}, Done: []string{}}
	conn, err := s.insist(ctx, func() (*cdp.Conn, error) { return s.connect(ctx, r) })
	if fault.Is(err, fault.SteelNoBrowser) {
		answer.Browser = browserNone
		return answer, fault.New(fault.SteelRecoverFailed, nothingRecovered, fault.Quote(r.ID), "the server's browser does not run").WithHint("look after the server; kxm-steel session release ends the session")
	}
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	states, err := s.probeTabs(ctx, conn)
	if err != nil {
		return nil, err
	}
	w := &recovery{service: s, conn: conn, record: r, answer: answer}
	w.name(states)
	if dryRun {
		w.plan()
		return answer, nil
	}
	r.LastActiveAt = s.now()
	return answer, w.run(ctx)
}

// recovery is the work on the tabs.
type recovery struct {
	service *Service
	conn    *cdp.Conn
	record  *Record
	answer  *Recovery
	tabs    []foundTab // by their numbers
}

// foundTab is a tab that was found, with its name.
type foundTab struct {
	tabState
	name string
}

// name gives names to the tabs that were found, in a browser that may be another one.
func (w *recovery) name(states []tabState) {
	var pages []target
	for _, t := range states {
		pages = append(pages, t.target)
	}
	if restarted(w.record, pages) {
		w.anew()
	}
	w.record.forgetTabs(pages)
	for _, t := range states {
		w.tabs = append(w.tabs, foundTab{t, w.record.tabOf(t.target.ID).Tab})
	}
	slices.SortFunc(w.tabs, func(a, b foundTab) int { return cmp.Compare(number(a.name), number(b.name)) })
	for _, t := range w.tabs {
		w.answer.Found = append(w.answer.Found, FoundTab{t.name, string(t.state)})
	}
}

// anew notes that the browser is another one than before: no tab of before is there.
func (w *recovery) anew() {
	w.answer.Browser, w.answer.Warnings = browserRestarts, []string{stateLost}
	w.record.Tab, w.record.Tabs = "", nil
}

// plan says what would be done.
func (w *recovery) plan() {
	living := 0
	for _, how := range []struct {
		state probe
		verb  string
	}{{stuck, "close "}, {crashed, "revive "}} {
		for _, t := range w.tabs {
			if t.state == how.state {
				w.answer.Would = append(w.answer.Would, how.verb+t.name)
			}
		}
	}
	for _, t := range w.tabs {
		if t.state != stuck {
			living++
		}
	}
	if living == 0 {
		w.answer.Would = append(w.answer.Would, "open a tab")
	}
}

// run does what is to be done, in an order in which no tab that works shares a renderer
// with one that does not.
func (w *recovery) run(ctx context.Context) error {
	if err := w.closeAll(ctx, stuck); err != nil {
		return err
	}
	for i := range w.tabs {
		if t := &w.tabs[i]; t.state == crashed && w.revive(ctx, t) {
			t.state = alive
			w.did("revived " + t.name)
		}
	}
	if err := w.closeAll(ctx, crashed); err != nil { // that did not come back
		return err
	}
	if len(w.tabs) == 0 {
		if err := w.open(ctx); err != nil {
			return err
		}
	}
	current := max(0, slices.IndexFunc(w.tabs, func(t foundTab) bool { return t.name == w.record.Tab }))
	w.record.take(w.tabs[current].target)
	w.answer.Tab = w.record.Tab
	return nil
}

func (w *recovery) did(what string) { w.answer.Done = append(w.answer.Done, what) }

// closeAll closes the tabs of a state.
func (w *recovery) closeAll(ctx context.Context, state probe) error {
	var ids []string
	for _, t := range w.tabs {
		if t.state == state {
			ids = append(ids, t.target.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	if err := closeTabs(ctx, w.conn, ids); err != nil {
		return err
	}
	w.tabs = slices.DeleteFunc(w.tabs, func(t foundTab) bool {
		if t.state == state {
			w.record.dropTab(t.name)
			w.did("closed " + t.name)
		}
		return t.state == state
	})
	return nil
}

// revive gives a tab whose renderer crashed another one, and reports whether it answers
// then.
func (w *recovery) revive(ctx context.Context, t *foundTab) bool {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	return w.conn.Call(ctx, t.session, "Page.navigate", map[string]string{"url": blank}, nil) == nil &&
		w.conn.Call(ctx, t.session, "Runtime.evaluate", map[string]any{"expression": "1", "returnByValue": true}, nil) == nil
}

// open opens a tab, as the last one.
func (w *recovery) open(ctx context.Context) error {
	first, err := firstPage(ctx, w.conn)
	if err != nil {
		return err
	}
	t, err := w.service.probeTab(ctx, w.conn, first)
	if err != nil {
		return err
	}
	if w.record.BrowserContextID != "" && first.ContextID != w.record.BrowserContextID && w.answer.Browser == browserSame {
		w.anew() // no tab was left to tell it by
	}
	name := w.record.tabOf(first.ID).Tab
	w.did("opened " + name)
	if t.state != alive {
		return fault.New(fault.SteelRecoverFailed, nothingRecovered, fault.Quote(w.record.ID), "one that was just opened does not answer").WithHint("kxm-steel session release ends the session")
	}
	w.tabs = append(w.tabs, foundTab{t, name})
	return nil
}
