package steel

import (
	"context"
	"testing"
)

// Clicks and fills, in whatever frame, wait for the browser at most eight times after the
// handshake.
func TestWaitsOfActing(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.visit("/frames?cross=/frames")
	const button, inner, field = "button[onclick*=main]", "button[onclick*=inner]", "#field"
	for i, selector := range []string{button, field, "cross " + button, "cross " + field, "cross " + inner} {
		s.refer(refName(i+1), selector)
	}
	s.run("scrollTo(0, 0)")
	s.server.Set("frame-delay", "50ms")
	const most = 8
	for target, act := range map[string]func(context.Context, *Page, Aim) error{
		"text=Press main": clicks, "text=Press inner": clicks, "e1": clicks, "e3": clicks, "e5": clicks,
		"label=Inner field": fills, "e2": fills, "e4": fills,
	} {
		aim := s.aim(target)
		err := s.on(Access{Aim: aim}, func(ctx context.Context, p *Page) error { return act(ctx, p, aim) })
		if n := waits(s.server); err != nil || n > most {
			t.Errorf("%s waits %d times, at most %d are allowed (%v)", target, n, most, err)
		}
	}
}

// So do fills of editors, which are written by events.
func TestWaitsOfWritingEditors(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.visit("/frames?cross=/fields")
	s.refer("e1", "cross #model")
	s.server.Set("frame-delay", "50ms")
	aim := s.aim("e1")
	err := s.on(Access{Aim: aim}, func(ctx context.Context, p *Page) error { return fills(ctx, p, aim) })
	if n := waits(s.server); err != nil || n > 8 {
		t.Errorf("%d waits, at most 8 are allowed (%v)", n, err)
	}
}

func clicks(ctx context.Context, p *Page, a Aim) error {
	_, err := p.Click(ctx, a, Choice{}, Press{Button: "left", Count: 1})
	return err
}

func fills(ctx context.Context, p *Page, a Aim) error {
	_, err := p.Fill(ctx, a, Choice{}, Typed{Text: "a"}, false)
	return err
}
