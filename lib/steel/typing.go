package steel

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"kxm/lib/cdp"
	"kxm/lib/fault"
)

// focusTime is how long a frame of another process is waited for until it has the focus.
const focusTime = time.Second

// typedAtOnce is how many characters are sent before their answers are waited for.
const typedAtOnce = 32

// Type gives an element the focus and types a text by keys. What no key writes is put in
// as an input method does.
func (p *Page) Type(ctx context.Context, a Aim, c Choice, typed Typed) (*Action, error) {
	var f typedField
	e, h, err := p.focus(ctx, a, c, typed, &f)
	if err != nil {
		return nil, err
	}
	if err := e.write(ctx, typed.Text, f.Lines); err != nil {
		return nil, err
	}
	done := &Action{Action: "type", Target: &h}
	return done, p.report(ctx, done)
}

// write types a text into what has the focus. Once the page goes elsewhere the rest is
// typed nowhere: another page must not get it. An Enter may send a form, but for a field of
// several lines.
func (e *Element) write(ctx context.Context, text string, lines bool) error {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	var sent []*cdp.Pending
	for i, r := range text {
		if k, ok := characterKey(r); ok {
			sent = append(sent, e.strike(k)...)
		} else {
			sent = append(sent, e.Send("Input.insertText", map[string]string{"text": string(r)}))
		}
		sends := !lines && (r == '\n' || r == '\r')
		if last := i+utf8.RuneLen(r) == len(text); last || !sends && len(sent) < 2*typedAtOnce {
			continue
		}
		if err := e.page.met(ctx, sent); err != nil {
			return err
		}
		sent = sent[:0]
		if err := e.page.stays(ctx, sends); err != nil {
			return err
		}
		if e.page.isElsewhere() {
			return e.left()
		}
	}
	return e.page.met(ctx, sent)
}

// stays waits until a navigation is over that has begun, or may begin soon.
func (p *Page) stays(ctx context.Context, soon bool) error {
	if seen, _ := p.watch.look(); !soon && seen.started == p.before.started {
		return nil
	}
	return p.settle(ctx)
}

// isElsewhere reports whether the tab shows another document than at first, or none.
func (p *Page) isElsewhere() bool {
	seen, _ := p.watch.look()
	return seen.closed || seen.loader != p.before.loader
}

// PressKey presses a key, in an element if one is meant and else wherever the focus is.
func (p *Page) PressKey(ctx context.Context, k KeyPress, a Aim, c Choice) (*Action, error) {
	done := &Action{Action: "press"}
	e := &Element{page: p, view: &view{session: p.session, root: p.main}}
	if a.kind != "" {
		in, h, err := p.focus(ctx, a, c, Typed{}, &typedField{})
		if err != nil {
			return nil, err
		}
		e, done.Target = in, &h
	}
	if err := p.met(ctx, e.strike(k.stroke)); err != nil {
		return nil, err
	}
	return done, p.report(ctx, done)
}

// strike sends the events of a key to the process of the element's frame.
func (e *Element) strike(k stroke) []*cdp.Pending {
	var sent []*cdp.Pending
	for _, event := range k.events() {
		sent = append(sent, e.Send("Input.dispatchKeyEvent", event))
	}
	return sent
}

// focus gives an element the focus. An element that cannot have it is a SteelTargetKind.
func (p *Page) focus(ctx context.Context, a Aim, c Choice, typed Typed, f *typedField) (*Element, Hit, error) {
	e, h, err := p.inspect(ctx, a, c, "field", nil, f)
	if err != nil {
		return nil, h, err
	}
	if typed.Text == "" {
		f.Fixed = false // a key may do something else there than write
	}
	if err := f.takes(h, typed); err != nil {
		return nil, h, err
	}
	return e, h, e.takeFocus(ctx, h, "focusOn")
}

// takeFocus gives the element the focus, by a question of keys.js that does.
func (e *Element) takeFocus(ctx context.Context, h Hit, method string) error {
	p := e.page
	// A tab that nobody looks at, and a frame of another process, have no focus to give.
	p.Send("Emulation.setFocusEmulationEnabled", map[string]bool{"enabled": true})
	if e.view.session != p.session {
		e.Send("Emulation.setFocusEmulationEnabled", map[string]bool{"enabled": true})
	}
	taking := e.asking(method, nil)
	e.askOwner(ctx) // which is asked about it next
	var has bool
	if err := e.answered(ctx, taking, method, &has); err != nil {
		return err
	}
	if !has {
		return fault.New(fault.SteelTargetKind, "%s does not take the focus", h)
	}
	return p.frameFocused(ctx, e)
}

// frameFocused waits until the frames around an element know that the focus is in them:
// they are told of it by another process.
func (p *Page) frameFocused(ctx context.Context, e *Element) error {
	for v := e.view; v.target != ""; {
		holder, err := p.owner(ctx, v, v.root)
		if err != nil {
			return err
		}
		var has bool
		if err := holder.Ask(ctx, "isFocused", []any{focusTime.Milliseconds()}, &has); err != nil {
			return err
		}
		if !has { // keys would go where the focus is
			return fault.New(fault.SteelTargetKind, "the page keeps the focus from the frame that the element is in")
		}
		v = holder.view
	}
	return nil
}
