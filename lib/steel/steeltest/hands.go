package steeltest

import (
	"context"
	"encoding/json"
	"net/url"
	"os"
	"unicode"

	"kxm/lib/cdp"
)

// Person is somebody who uses a tab with mouse and keys, without any client of the
// server: beside the browser, or through the viewer in a browser of their own. What they
// do passes no socket that the server counts.
type Person struct {
	eyes   *drive // the tab, in which they find what they look for
	hands  *drive // where their mouse and keys are: the tab, or the viewer
	viewer bool

	own  *Chromium // the viewer's; nil without one
	home string
}

// Beside lets somebody use a tab beside the server's browser, by its target; "" is the
// first page. Close ends it.
func (s *Server) Beside(ctx context.Context, target string) (*Person, error) {
	running := s.chromium()
	if running == nil {
		return nil, errNoBrowser
	}
	if target == "" {
		first, err := s.behind().firstPage(ctx)
		if err != nil {
			return nil, err
		}
		first.detach()
		target = first.target
	}
	conn, err := cdp.Dial(ctx, cdp.Options{URL: running.Address, Client: direct})
	if err != nil {
		return nil, err
	}
	tab, err := attach(ctx, conn, target)
	if err == nil {
		err = tab.call(ctx, "Page.bringToFront", nil, nil)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return &Person{eyes: tab, hands: tab}, nil
}

// Viewer lets somebody use the tab that a viewer's address names through that viewer,
// which they open in a browser of their own. Close ends both.
func (s *Server) Viewer(ctx context.Context, program Program, address string) (*Person, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	p, err := s.Beside(ctx, u.Query().Get("pageId"))
	if err != nil {
		return nil, err
	}
	if err := p.openViewer(ctx, program, address); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// openViewer starts the person's browser and waits until the viewer shows the tab.
func (p *Person) openViewer(ctx context.Context, program Program, address string) error {
	var err error
	if p.home, err = os.MkdirTemp("", "kxm-chromium-"); err != nil {
		return err
	}
	if p.own, err = program.Start(ctx, Launch{Home: p.home}); err != nil {
		return err
	}
	pages, err := p.own.Pages(ctx)
	if err != nil {
		return err
	}
	if p.hands, err = attach(ctx, p.own.own, pages[0].ID); err != nil {
		return err
	}
	p.viewer = true
	if _, err = p.hands.visit(ctx, address, startLimit); err != nil {
		return err
	}
	return p.hands.until(ctx, `document.body.dataset.state != "connecting"`)
}

// Close ends what the person has opened.
func (p *Person) Close() {
	p.eyes.conn.Close()
	if p.own != nil {
		p.own.Kill()
	}
	removeHome(p.home)
}

// State is what the viewer is: "live" or "closed".
func (p *Person) State(ctx context.Context) (state string, err error) {
	return state, p.hands.eval(ctx, "document.body.dataset.state", &state)
}

// Until waits for an expression to be true in the tab.
func (p *Person) Until(ctx context.Context, expression string) error {
	return p.eyes.until(ctx, expression)
}

// point is a place in a window, in its pixels.
type point struct{ X, Y float64 }

// painted is true of a page that is loaded and can be seen. Chromium drops what is done
// to a page that it has not painted; one without anything to paint is ready after a while.
const painted = "document.readyState == 'complete' && (performance.getEntriesByName('first-contentful-paint').length || performance.now() > 10000)"

// find waits for an element that a selector finds and that can be seen, and returns its
// middle.
func (p *Person) find(ctx context.Context, selector string) (at point, err error) {
	name, err := json.Marshal(selector)
	if err != nil {
		return at, err
	}
	found := "document.querySelector(" + string(name) + ")"
	if err := p.Until(ctx, painted+" && "+found); err != nil {
		return at, err
	}
	err = p.eyes.eval(ctx, "(e => { e.scrollIntoViewIfNeeded(); const r = e.getBoundingClientRect(); return {x: r.x + r.width/2, y: r.y + r.height/2}; })("+found+")", &at)
	return at, err
}

// Click waits for an element of the tab's document and clicks on its middle.
func (p *Person) Click(ctx context.Context, selector string) error {
	at, err := p.find(ctx, selector)
	if err != nil {
		return err
	}
	return p.ClickAt(ctx, at.X, at.Y)
}

// ClickAt clicks on a point of the tab.
func (p *Person) ClickAt(ctx context.Context, x, y float64) error {
	for _, what := range []string{"mouseMoved", "mousePressed", "mouseReleased"} {
		params := map[string]any{"type": what}
		if what != "mouseMoved" {
			params["button"], params["clickCount"] = "left", 1
		}
		if what == "mousePressed" {
			params["buttons"] = 1
		}
		if err := p.mouse(ctx, point{x, y}, params); err != nil {
			return err
		}
	}
	return nil
}

// Scroll turns the wheel by so many pixels, down or up, over an element.
func (p *Person) Scroll(ctx context.Context, selector string, by float64) error {
	at, err := p.find(ctx, selector)
	if err != nil {
		return err
	}
	return p.mouse(ctx, at, map[string]any{"type": "mouseWheel", "deltaX": 0, "deltaY": by})
}

// mouse does something at a point of the tab, which the hands may see elsewhere.
func (p *Person) mouse(ctx context.Context, at point, params map[string]any) error {
	if p.viewer {
		text, err := json.Marshal(at)
		if err != nil {
			return err
		}
		if err := p.hands.eval(ctx, "(at => inWindow(at.X, at.Y))("+string(text)+")", &at); err != nil {
			return err
		}
	}
	params["x"], params["y"] = at.X, at.Y
	return p.hands.call(ctx, "Input.dispatchMouseEvent", params, nil)
}

// Type presses the key of each character where the focus is; "\n" is Enter and "\t" is
// Tab. What has no key on a plain keyboard is put in as it is.
func (p *Person) Type(ctx context.Context, text string) error {
	for _, c := range text {
		if c != '\n' && c != '\t' && (c < ' ' || c > '~') {
			if err := p.hands.call(ctx, "Input.insertText", map[string]any{"text": string(c)}, nil); err != nil {
				return err
			}
			continue
		}
		key := keyOf(c)
		for _, key["type"] = range []string{"keyDown", "keyUp"} {
			if err := p.hands.call(ctx, "Input.dispatchKeyEvent", key, nil); err != nil {
				return err
			}
			delete(key, "text") // only a key that goes down has one
		}
	}
	return nil
}

// keyOf is the key of a character. Only letters and digits have the number of their key:
// those of other characters are, by number, keys such as Delete.
func keyOf(c rune) map[string]any {
	switch {
	case c == '\n':
		return map[string]any{"key": "Enter", "code": "Enter", "text": "\r", "windowsVirtualKeyCode": 13}
	case c == '\t':
		return map[string]any{"key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9}
	}
	key := map[string]any{"key": string(c), "text": string(c)}
	if unicode.IsLetter(c) || unicode.IsDigit(c) {
		key["windowsVirtualKeyCode"] = unicode.ToUpper(c)
	}
	return key
}
