package steel

import (
	"context"
	_ "embed"
	"errors"
	"slices"
	"strings"
	"time"

	"kxm/lib/cdp"
	"kxm/lib/fault"
)

// Subject says what a condition is about.
type Subject string

// Subjects of conditions.
const (
	TextShown    Subject = "text"   // a text that the page shows, white space folded
	TextGone     Subject = "gone"   // one that it does not show
	TargetShown  Subject = "target" // one visible element matches
	TargetHidden Subject = "hidden" // no visible element matches
	URLMatches   Subject = "url"    // the whole address; * is any text
	Loaded       Subject = "load"   // LoadDone or LoadIdle
	CookieSet    Subject = "cookie" // present for the tab's address; its value is not read
	EvalTrue     Subject = "eval"   // an expression in the page's own world
	TimeOver     Subject = "for"    // a time has passed
)

// What Loaded waits for.
const (
	LoadDone = "load"
	LoadIdle = "idle" // half a second without a request
)

// Wanted is a condition that is to come true.
type Wanted struct {
	Subject Subject
	Value   string
	Aim     Aim           // of TargetShown and TargetHidden, beside its text
	For     time.Duration // of TimeOver
}

// CheckWanted refuses conditions that hold of any page: none at all, and empty ones,
// which a variable that is not set leaves behind.
func CheckWanted(all []Wanted) error {
	if len(all) == 0 {
		return fault.New(fault.Usage, "no condition is named")
	}
	for _, c := range all {
		if c.Subject != TimeOver && strings.TrimSpace(c.Value) == "" {
			return fault.New(fault.Usage, "the condition %s is empty", c.Subject)
		}
	}
	return nil
}

// Times of looking.
const (
	roundPause = 100 * time.Millisecond // between two looks at a page
	scriptTime = 2 * time.Second        // that an expression may run in one look, before it is ended
)

// conditionsScript is an expression whose value looks at a document once.
//
//go:embed conditions.js
var conditionsScript string

// seen is what one look at a document found.
type seen struct {
	URL      string `json:"url"`
	Complete bool   `json:"complete"`
	Shown    []bool `json:"shown"` // of the texts, in their order

	cookies map[string]bool // by name
}

// waiting is conditions that are waited for in a tab.
type waiting struct {
	page   *Page
	wanted []Wanted
	texts  []string
	over   map[int]chan struct{} // of TimeOver, by condition; closed when the time has passed
	looker string                // the script's function in the document; "" is not there yet

	held []bool   // when it was last looked at
	why  []string // what is known of why one does not hold
}

// await looks at the page until all conditions hold at one look, or its time is up. It
// returns how each stood at the last look, and what did not hold, in words; "" is all
// did.
func (p *Page) await(ctx context.Context, wanted []Wanted) (stood []Condition, unmet string, err error) {
	w := &waiting{page: p, wanted: wanted, texts: []string{}, over: map[int]chan struct{}{}, held: make([]bool, len(wanted)), why: make([]string, len(wanted))}
	for i, c := range wanted {
		switch c.Subject {
		case TextShown, TextGone:
			w.texts = append(w.texts, c.Value)
		case TimeOver:
			over := make(chan struct{})
			w.over[i] = over
			time.AfterFunc(c.For, func() { close(over) })
		}
	}
	for {
		err := w.look(ctx)
		switch {
		case ctx.Err() != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
			return w.stood(), w.unmet(), nil
		case ctx.Err() != nil:
			return nil, "", ctx.Err()
		case err != nil && !gone(err):
			return nil, "", p.crashedOr(err)
		case err == nil && w.all():
			return w.stood(), "", nil
		}
		_ = pause(ctx, roundPause) // its end is seen above
	}
}

// crashedOr is the error of a tab whose renderer crashed under a question.
func (p *Page) crashedOr(err error) error {
	if now, _ := p.watch.look(); now.crashed {
		return p.unanswering()
	}
	return err
}

func (w *waiting) all() bool {
	for _, ok := range w.held {
		if !ok {
			return false
		}
	}
	return true
}

func (w *waiting) stood() []Condition {
	all := make([]Condition, len(w.wanted))
	for i, c := range w.wanted {
		all[i] = Condition{string(c.Subject), w.held[i]}
	}
	return all
}

// unmet names what does not hold.
func (w *waiting) unmet() string {
	var all []string
	for i, c := range w.wanted {
		if w.held[i] {
			continue
		}
		text := string(c.Subject) + " " + fault.Quote(c.Value)
		if c.Subject == TimeOver {
			text = string(c.Subject) + " " + short(c.For)
		}
		if w.why[i] != "" {
			text += " (" + w.why[i] + ")"
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

// look looks at the page once. What does not depend on one another is asked at once, and
// expressions, which may take long, are judged last.
func (w *waiting) look(ctx context.Context) (err error) {
	evaluations := map[int]*cdp.Pending{}
	for i, c := range w.wanted {
		if c.Subject == EvalTrue {
			evaluations[i] = w.page.evaluate(c.Value, min(scriptTime, w.page.access.Timeout))
		}
	}
	at := &seen{}
	if w.reads() {
		if at, err = w.document(ctx); err != nil {
			return err
		}
	}
	if at.cookies, err = w.cookies(ctx, at.URL); err != nil {
		return err
	}
	for _, evaluated := range []bool{false, true} {
		for i := range w.wanted {
			if (evaluations[i] != nil) != evaluated {
				continue
			}
			ok, why, err := w.judge(ctx, i, at, evaluations[i])
			if err != nil {
				return err
			}
			w.held[i], w.why[i] = ok, why
		}
	}
	return nil
}

// judge reports whether a condition holds.
func (w *waiting) judge(ctx context.Context, i int, at *seen, evaluation *cdp.Pending) (ok bool, why string, err error) {
	c := w.wanted[i]
	switch c.Subject {
	case TextShown, TextGone:
		return at.Shown[slices.Index(w.texts, c.Value)] == (c.Subject == TextShown), "", nil
	case URLMatches:
		return globMatches(c.Value, at.URL), "", nil
	case Loaded:
		now, _ := w.page.watch.look()
		return at.Complete && (c.Value != LoadIdle || now.idle), "", nil
	case CookieSet:
		return at.cookies[c.Value], "", nil
	case TargetShown, TargetHidden:
		return w.page.targeted(ctx, c)
	case EvalTrue:
		return w.page.truth(ctx, evaluation)
	}
	select { // TimeOver
	case <-w.over[i]:
		return true, "", nil
	default:
		return false, "", nil
	}
}

// reads reports whether a condition is about the document.
func (w *waiting) reads() bool {
	elsewhere := []Subject{TimeOver, EvalTrue, TargetShown, TargetHidden}
	return slices.ContainsFunc(w.wanted, func(c Wanted) bool { return !slices.Contains(elsewhere, c.Subject) })
}

// document asks the script's function, which is put into each new document once.
func (w *waiting) document(ctx context.Context) (at *seen, err error) {
	at = &seen{}
	if w.looker == "" {
		id, err := w.page.world(ctx, w.page.tab.TargetID)
		if err != nil {
			return nil, err
		}
		var made asked
		if err := w.page.Call(ctx, "Runtime.evaluate", map[string]any{"expression": conditionsScript, "contextId": id}, &made); err != nil {
			return nil, err
		}
		if made.Threw != nil || made.Result.ObjectID == "" {
			return nil, badAnswer("Runtime.evaluate", "objectId")
		}
		w.looker = made.Result.ObjectID
	}
	var a asked
	err = w.page.Call(ctx, "Runtime.callFunctionOn", map[string]any{
		"objectId": w.looker, "functionDeclaration": "function (texts) { return this(texts) }", "arguments": []any{map[string]any{"value": w.texts}},
		"returnByValue": true,
	}, &a)
	if err != nil {
		w.looker = ""
		return nil, err
	}
	if err := a.read("conditions", at); err != nil {
		return nil, err
	}
	if len(at.Shown) != len(w.texts) {
		return nil, badAnswer("Runtime.callFunctionOn", "shown")
	}
	return at, nil
}

// cookies returns the names of the cookies that the tab's address gets, if one is waited
// for.
func (w *waiting) cookies(ctx context.Context, url string) (map[string]bool, error) {
	names := map[string]bool{}
	for _, c := range w.wanted {
		if c.Subject == CookieSet {
			var a struct {
				Cookies []struct {
					Name string `json:"name"`
				} `json:"cookies"`
			}
			err := w.page.Call(ctx, "Network.getCookies", map[string]any{"urls": []string{url}}, &a)
			for _, k := range a.Cookies {
				names[k.Name] = true
			}
			return names, err
		}
	}
	return names, nil
}

// targeted reports whether a condition about an element holds. A reference that leads
// nowhere any more is hidden.
func (p *Page) targeted(ctx context.Context, c Wanted) (ok bool, why string, err error) {
	n := 1
	if c.Aim.IsReference() {
		_, err = p.referenced(ctx, c.Aim.wanted, Choice{})
	} else {
		n, err = p.countNow(ctx, c.Aim)
	}
	if code := fault.CodeOf(err); code == fault.SteelRefStale || code == fault.SteelTargetHidden {
		n, why, err = 0, fault.Detail(err), nil
	}
	switch {
	case err != nil:
		return false, "", err
	case c.Subject == TargetHidden:
		return n == 0, "", nil
	case n > 1:
		why = count(n, "element") + " match"
	}
	return n == 1, why, nil
}

// countNow is Count in the frames that there are now, and keeps nothing in them.
func (p *Page) countNow(ctx context.Context, a Aim) (int, error) {
	tree, err := waitTree(ctx, p.Send("Page.getFrameTree", nil))
	if err != nil {
		return 0, err
	}
	p.main = tree
	n, err := p.Count(ctx, a)
	p.Send("Runtime.releaseObjectGroup", map[string]string{"objectGroup": foundGroup})
	return n, err
}

// truth reports whether an expression's value is one that JavaScript takes for true. An
// expression that throws is not true yet; why says so.
func (p *Page) truth(ctx context.Context, evaluation *cdp.Pending) (ok bool, why string, err error) {
	limited, cancel := context.WithTimeout(ctx, scriptTime)
	defer cancel()
	var a asked
	if err := evaluation.Wait(limited, &a); err != nil {
		// Of a script that it ended at an unlucky moment Chromium says no more than this.
		unlucky := cdp.Says(err, "Internal error")
		if ctx.Err() == nil && (terminated(err) || unlucky || limited.Err() != nil) {
			return false, "it did not come to its end within " + short(scriptTime), nil
		}
		if cdp.Says(err, "Promise was collected") {
			return false, "its promise came to nothing", nil
		}
		return false, "", err
	}
	if a.Threw != nil {
		return false, "it threw: " + clean(p.service.Secrets.Mask(a.thrown()), quoted), nil
	}
	r := a.Result
	switch r.Type {
	case "undefined":
		return false, "", nil
	case "boolean":
		return string(r.Value) == "true", "", nil
	case "string":
		return string(r.Value) != `""`, "", nil
	case "number":
		return r.Unserial != "NaN" && r.Unserial != "-0" && string(r.Value) != "0", "", nil
	case "bigint":
		return r.Unserial != "0n", "", nil
	}
	return r.Subtype != "null", "", nil
}

// globMatches reports whether an address is as a pattern says, in which * is any text and
// everything else itself.
func globMatches(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	last := len(parts) - 1
	if last == 0 {
		return pattern == text
	}
	rest, ok := strings.CutPrefix(text, parts[0])
	if !ok {
		return false
	}
	for _, part := range parts[1:last] {
		_, after, found := strings.Cut(rest, part)
		if !found {
			return false
		}
		rest = after
	}
	return strings.HasSuffix(rest, parts[last])
}

// Wait waits until all conditions hold at once.
func (p *Page) Wait(ctx context.Context, wanted []Wanted) (*Action, error) {
	stood, unmet, err := p.await(ctx, wanted)
	if err != nil {
		return nil, err
	}
	if unmet != "" {
		return nil, fault.New(fault.SteelWaitUnmet, "within %s this did not come true: %s", short(p.access.Timeout), unmet).WithHint("give it longer with --timeout")
	}
	at, err := p.where(p.late)
	if err != nil {
		return nil, err
	}
	return &Action{
		Schema: ActionSchema, Action: "wait", URL: PrintedURL(at.URL), Title: clean(at.Title, maxMessage), Conditions: stood, Dialogs: p.Dialogs(),
	}, nil
}
