package steeltest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// Person runs a script in a tab, whose address holds at, as somebody acts there who is
// no client of the server. Nothing of it is counted.
func (s *Server) Person(ctx context.Context, at, script string) error {
	var a struct {
		Threw *struct {
			Exception struct {
				Description string `json:"description"`
			} `json:"exception"`
		} `json:"exceptionDetails"`
	}
	ask := map[string]any{"expression": script, "userGesture": true, "awaitPromise": true}
	if err := s.inPage(ctx, at, "Runtime.evaluate", ask, &a); err != nil {
		return err
	}
	if a.Threw != nil {
		return fmt.Errorf("the script threw: %s", a.Threw.Exception.Description)
	}
	return nil
}

// OpenPage opens a tab, as a person would.
func (s *Server) OpenPage(ctx context.Context, url string) error {
	c := s.chromium()
	if c == nil {
		return fmt.Errorf("there is no browser")
	}
	return c.own.Call(ctx, "", "Target.createTarget", map[string]string{"url": url}, nil)
}

// ClosePage closes a tab, whose address holds at, and returns when it is gone.
func (s *Server) ClosePage(ctx context.Context, at string) error {
	c, id, err := s.pageAt(ctx, at)
	if err != nil {
		return err
	}
	if err := c.own.Call(ctx, "", "Target.closeTarget", map[string]string{"targetId": id}, nil); err != nil {
		return err
	}
	return c.whileOpen(ctx, id, func() bool { return false })
}

// CrashPage crashes the renderer of a tab whose address holds at.
func (s *Server) CrashPage(ctx context.Context, at string) error {
	ctx, cancel := context.WithTimeout(ctx, endLimit)
	defer cancel()
	c, id, err := s.pageAt(ctx, at)
	if err != nil {
		return err
	}
	d, err := attach(ctx, c.own, id)
	if err != nil {
		return err
	}
	defer d.detach()
	crashed := make(chan struct{})
	defer c.own.On(d.session, "Inspector.targetCrashed", func(json.RawMessage) { close(crashed) })()
	d.send("Inspector.enable", nil)
	d.send("Page.crash", nil) // which gives no answer
	select {
	case <-crashed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// inPage calls a method of a tab whose address holds at.
func (s *Server) inPage(ctx context.Context, at, method string, params, result any) error {
	c, id, err := s.pageAt(ctx, at)
	if err != nil {
		return err
	}
	return c.inTab(ctx, id, method, params, result)
}

// pageAt returns the browser and the target of a tab whose address holds at. A tab that
// has just been opened may not have its address yet.
func (s *Server) pageAt(ctx context.Context, at string) (*Chromium, string, error) {
	c := s.chromium()
	if c == nil {
		return nil, "", fmt.Errorf("there is no browser")
	}
	ctx, cancel := context.WithTimeout(ctx, endLimit)
	defer cancel()
	for {
		pages, err := c.Pages(ctx)
		if err != nil {
			return nil, "", err
		}
		for _, p := range pages {
			if strings.Contains(p.URL, at) {
				return c, p.ID, nil
			}
		}
		if err := c.wait(ctx); err != nil {
			return nil, "", fmt.Errorf("there is no tab at %s: %w", at, err)
		}
	}
}
