package steel

import (
	"context"
	"strings"
	"unicode/utf8"

	"kxm/lib/cdp"
	"kxm/lib/fault"
)

// Typed is a text that goes into a field.
type Typed struct {
	Text  string
	Shown bool // it came from an argument, which other programs can see
}

// typedField is what the script says of an element that is typed into.
type typedField struct {
	Kind     string `json:"kind"` // "field", "rich" or "": nothing is typed into it
	Secret   bool   `json:"secret"`
	Disabled bool   `json:"disabled"`
	Fixed    bool   `json:"fixed"` // it is read only
	Lines    bool   `json:"lines"` // it holds several
}

// filled is what a field holds after it was filled.
type filled struct {
	Length int  `json:"length"` // in characters
	Same   bool `json:"same"`   // it is what was put in
}

// Fill replaces what a field holds and reads it back. A field that made something else of
// it is a SteelValueDiffers, unless loose is true.
func (p *Page) Fill(ctx context.Context, a Aim, c Choice, typed Typed, loose bool) (*Action, error) {
	var f typedField
	e, h, err := p.inspect(ctx, a, c, "field", nil, &f)
	if err != nil {
		return nil, err
	}
	if err := f.takes(h, typed); err != nil {
		return nil, err
	}
	if f.Kind == "" {
		return nil, notEditable(h)
	}
	var is *filled
	readBack := "holds"
	if f.Kind == "rich" {
		readBack, err = "replaced", e.replace(ctx, h, typed.Text)
	} else {
		err = e.Ask(ctx, "fillIn", []any{typed.Text}, &is)
	}
	if err != nil {
		return nil, err
	}
	done := &Action{Action: "fill", Target: &h}
	if err := e.reportOn(ctx, done, readBack, []any{typed.Text}, &is); err != nil {
		return nil, err
	}
	if is == nil { // an editor's page went elsewhere before it could be read
		return done, nil
	}
	if !is.Same && !loose {
		return nil, fault.New(fault.SteelValueDiffers, "%s holds %s after it was filled, which are not the %d that were put in", h,
			count(is.Length, "character"), utf8.RuneCountInString(typed.Text)).
			WithHint("a field that puts what it is given into a form of its own is filled with --loose")
	}
	done.ValueLength, done.Verified = &is.Length, &is.Same
	return done, nil
}

// replace replaces what an editor holds as a person would: all of it is selected, and
// written over or deleted.
func (e *Element) replace(ctx context.Context, h Hit, text string) error {
	if err := e.takeFocus(ctx, h, "selectIn"); err != nil {
		return err
	}
	var sent []*cdp.Pending
	if text == "" {
		del, _ := namedKey("Delete")
		sent = e.strike(del)
	} else {
		sent = append(sent, e.Send("Input.insertText", map[string]string{"text": text}))
	}
	return e.page.met(ctx, sent)
}

// reportOn is report, with a question about the element once the page's own scripts have
// done what they do after an action. A page that has left has taken the element as it was:
// the result stays what it is.
func (e *Element) reportOn(ctx context.Context, done *Action, method string, args []any, result any) error {
	if err := e.page.settle(ctx); err != nil {
		return err
	}
	e.page.settled = true
	looking := e.asking(method, args)
	if err := e.page.report(ctx, done); err != nil {
		return err
	}
	if err := e.answered(ctx, looking, method, result); !e.wentOn(err) {
		return err
	}
	return nil
}

// inspect finds an element, asks about it and says what it is called.
func (p *Page) inspect(ctx context.Context, a Aim, c Choice, method string, args []any, result any) (*Element, Hit, error) {
	e, err := p.LocateAndAsk(ctx, a, c, method, args, result)
	if err != nil {
		return nil, Hit{}, err
	}
	if e.view.target != "" {
		p.ownerOf(ctx, e.view, e.view.root) // for takeFocus, which may come next
	}
	h, err := e.Hit(ctx)
	return e, h, err
}

// wentOn reports whether an error says no more than that the page has left because of
// what was done in it.
func (e *Element) wentOn(err error) bool {
	return fault.Is(err, fault.SteelTargetNotFound) || fault.Is(err, fault.SteelRefStale)
}

// takes refuses a field that nothing can be put into, and a secret that is none any more.
func (f *typedField) takes(h Hit, typed Typed) error {
	switch {
	case f.Secret && typed.Shown:
		return fault.New(fault.SteelSecretInArgv, "%s is for a secret, which other programs can see in an argument", h).
			WithHint("--stdin, or --from-env NAME")
	case f.Disabled:
		return fault.New(fault.SteelTargetDisabled, "%s is disabled", h)
	case f.Fixed:
		return fault.New(fault.SteelTargetReadOnly, "%s is read only", h)
	}
	return nil
}

// notEditable is the error of an element that holds no text, with the verb that it is for.
func notEditable(h Hit) error {
	err := fault.New(fault.SteelTargetReadOnly, "%s holds no text that can be changed", h)
	switch {
	case h.Role == "combobox" || h.Role == "listbox":
		return err.WithHint("kxm-steel select chooses an option")
	case strings.HasPrefix(h.Role, "checkbox") || h.Role == "radio" || h.Role == "switch":
		return err.WithHint("kxm-steel check turns it on")
	}
	return err
}
