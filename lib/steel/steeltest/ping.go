package steeltest

import (
	"context"
	"time"
)

// pingTime is how long a tab may take to answer, on a busy computer.
const pingTime = 500 * time.Millisecond

// ping waits until every tab answers, as the server does before it ends a session: for
// ever, while one is stuck, also when nobody waits for the answer any more.
func (s *Server) ping() {
	c := s.chromium()
	if c == nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-s.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	for {
		pages, err := c.Pages(ctx)
		if err != nil {
			return // it died
		}
		silent := false
		for _, p := range pages {
			silent = silent || !c.answers(ctx, p.ID)
		}
		if !silent || c.wait(ctx) != nil {
			return
		}
	}
}

// AwaitStuck waits until a tab, whose address holds at, does not answer any more.
func (s *Server) AwaitStuck(ctx context.Context, at string) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	c, id, err := s.pageAt(ctx, at)
	if err != nil {
		return err
	}
	for c.answers(ctx, id) || c.answers(ctx, id) { // twice: a busy computer is slow once
		if err := c.wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// answers reports whether a tab evaluates a constant.
func (c *Chromium) answers(ctx context.Context, id string) bool {
	ctx, cancel := context.WithTimeout(ctx, pingTime)
	defer cancel()
	return c.inTab(ctx, id, "Runtime.evaluate", map[string]string{"expression": "1"}, nil) == nil
}

// inTab calls a method of a tab.
func (c *Chromium) inTab(ctx context.Context, id, method string, params, result any) error {
	d, err := attach(ctx, c.own, id)
	if err != nil {
		return err
	}
	defer d.detach()
	return d.call(ctx, method, params, result)
}
