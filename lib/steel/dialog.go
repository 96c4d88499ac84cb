package steel

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"kxm/lib/cdp"
	"kxm/lib/fault"
	"kxm/lib/redact"
)

// Policy says how the dialogs of pages are answered.
type Policy string

// Policies.
const (
	DefaultPolicy Policy = "default" // alert and beforeunload accepted, confirm and prompt dismissed
	AcceptPolicy  Policy = "accept"
	DismissPolicy Policy = "dismiss"
)

func (p Policy) valid() bool {
	return slices.Contains([]Policy{"", DefaultPolicy, AcceptPolicy, DismissPolicy}, p)
}

// DialogAnswer overrides a session's policy for one command.
type DialogAnswer struct {
	Policy Policy  // "" is the session's
	Text   *string // the answer to a prompt, which is then accepted; never printed or kept
}

// Dialog is a dialog that was answered.
type Dialog struct {
	At      time.Time `json:"at"`
	Tab     string    `json:"tab"`
	Type    string    `json:"type"` // alert, confirm, prompt or beforeunload
	Message string    `json:"message"`
	Answer  string    `json:"answer"` // accept or dismiss
}

// Limits of what is kept of dialogs.
const (
	maxDialogs = 10  // of a session
	maxMessage = 200 // code points
	// maxRedacted is how much of a text is searched for secrets, in bytes, before it is
	// cut to a few code points.
	maxRedacted = 64 << 10
)

// dialogs answers the dialogs of a tab while a connection is open. A dialog that opens
// while nobody listens blocks its tab for good.
type dialogs struct {
	conn    *cdp.Conn
	session string
	tab     string
	policy  Policy
	text    *string
	now     func() time.Time
	mask    func(string) string // of values that were given to this command

	mu     sync.Mutex
	seen   []Dialog
	last   *cdp.Pending  // the answer to the last one
	opened chan struct{} // holds one while a dialog has opened of which settle does not know
}

// listen answers from now on; Page must be enabled after.
func (d *dialogs) listen() {
	d.opened = make(chan struct{}, 1)
	d.conn.On(d.session, "Page.javascriptDialogOpening", d.opening)
}

func (d *dialogs) opening(params json.RawMessage) {
	var o struct{ Type, Message, DefaultPrompt string }
	if json.Unmarshal(params, &o) != nil {
		return
	}
	accept := d.policy == AcceptPolicy || o.Type == "alert" || o.Type == "beforeunload"
	if d.policy == DismissPolicy {
		accept = false
	}
	answer := map[string]any{"accept": accept}
	if accept && o.Type == "prompt" {
		answer["promptText"] = o.DefaultPrompt // as a person who only presses the button
	}
	if d.text != nil && o.Type == "prompt" {
		accept = true
		answer = map[string]any{"accept": true, "promptText": *d.text}
	}
	pending := d.conn.Send(d.session, "Page.handleJavaScriptDialog", answer)
	said := map[bool]string{true: "accept", false: "dismiss"}[accept]
	d.mu.Lock()
	d.seen = append(d.seen, Dialog{d.now(), d.tab, clean(o.Type, maxMessage), clean(d.mask(o.Message[:min(len(o.Message), maxRedacted)]), maxMessage), said})
	d.seen = d.seen[max(0, len(d.seen)-maxDialogs):]
	d.last = pending
	d.mu.Unlock()
	select {
	case d.opened <- struct{}{}:
	default:
	}
}

// all returns the last dialogs.
func (d *dialogs) all() []Dialog {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.seen)
}

// settle waits until no dialog has opened for a while, and the last one is answered.
// Unless one may still come, the while has passed already if none has opened so far.
func (d *dialogs) settle(ctx context.Context, calm time.Duration, mayCome bool) error {
	for opened := mayCome || len(d.opened) > 0; opened; {
		t := time.NewTimer(calm)
		select {
		case <-d.opened:
		case <-t.C:
			opened = false
		case <-ctx.Done():
		}
		t.Stop()
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	d.mu.Lock()
	last := d.last
	d.last = nil
	d.mu.Unlock()
	if last != nil {
		_ = last.Wait(ctx, nil) // it may be gone by itself
	}
	return ctx.Err()
}

// noteDialogs adds dialogs to the last ones of a session.
func (r *Record) noteDialogs(seen []Dialog) {
	all := append(r.Dialogs, seen...)
	r.Dialogs = all[max(0, len(all)-maxDialogs):]
}

// clean masks secrets and control characters of a page's text and cuts it to a number
// of code points.
func clean(text string, most int) string {
	masked, _ := redact.Redact(text)
	runes := []rune(fault.Printable(masked))
	if len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return string(runes)
}

// DialogSchema names the form of what is told of dialogs.
const DialogSchema = "kxm.steel-dialog.v1"

// DialogReport is a session's policy and the last dialogs of its tabs.
type DialogReport struct {
	Schema  string   `json:"schema"`
	Policy  Policy   `json:"policy"`
	Dialogs []Dialog `json:"dialogs"`
}

// Policy tells of a session's dialogs, after setting its policy; "" leaves it as it is.
// Nothing is sent.
func (s *Service) Policy(ctx context.Context, session string, p Policy) (answer *DialogReport, err error) {
	r, err := s.Find(session)
	if err != nil {
		return nil, err
	}
	err = s.holding(ctx, r.ID, func(r *Record) error {
		if err := s.allowed(r, &Access{Verb: "dialog", Reads: p == ""}); err != nil {
			return err
		}
		if p != "" {
			r.DialogPolicy = p
			if err := s.Store.Write(r); err != nil {
				return err
			}
		}
		answer = &DialogReport{DialogSchema, r.DialogPolicy, append([]Dialog{}, r.Dialogs...)}
		if answer.Policy == "" {
			answer.Policy = DefaultPolicy
		}
		return nil
	})
	return answer, err
}
