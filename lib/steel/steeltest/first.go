package steeltest

import (
	"context"
	"errors"
)

// errNoBrowser is what a server whose browser cannot be started answers.
var errNoBrowser = errors.New("Failed to launch the browser")

// firstPage attaches to the first page of what runs; one that was closed is opened anew.
func (b *browser) firstPage(ctx context.Context) (*drive, error) {
	running := b.server.chromium()
	if running == nil {
		return nil, errNoBrowser
	}
	pages, err := running.Pages(ctx)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	first := b.first
	b.mu.Unlock()
	if !has(pages, first) {
		if first, err = b.openFirst(ctx, running); err != nil {
			return nil, err
		}
	}
	return attach(ctx, running.own, first)
}

// openFirst opens a tab, which is the first page from then on.
func (b *browser) openFirst(ctx context.Context, running *Chromium) (string, error) {
	var made struct {
		ID string `json:"targetId"`
	}
	err := running.own.Call(ctx, "", "Target.createTarget", map[string]any{"url": "about:blank"}, &made)
	if err == nil {
		b.mu.Lock()
		b.first = made.ID
		b.mu.Unlock()
	}
	return made.ID, err
}

// replaceFirst opens another first page, closes the old one and waits until it is gone.
// Whoever asked need not be there any more.
func (b *browser) replaceFirst(old *drive) error {
	running := b.server.chromium()
	if running == nil || running.own != old.conn {
		return nil // it went with its browser
	}
	ctx, cancel := context.WithTimeout(b.ctx, endLimit)
	defer cancel()
	if _, err := b.openFirst(ctx, running); err != nil {
		return err
	}
	if err := old.conn.Call(ctx, "", "Target.closeTarget", map[string]any{"targetId": old.target}, nil); err != nil {
		return err
	}
	return running.whileOpen(ctx, old.target, func() bool { return false })
}
