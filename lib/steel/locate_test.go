package steel

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kxm/lib/fault"
	"kxm/lib/steel/steeltest"
)

// stage is a session with a browser and a site to visit.
type stage struct {
	*Service
	t      *testing.T
	server *steeltest.Server
	site   *steeltest.Site
	id     string
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s, server := newService(t)
	if err := server.StartBrowser(t.Context(), steeltest.ChromiumOf(os.Getenv)); err != nil {
		t.Fatal(err)
	}
	s.Limits = NewEndpoint(s.Settings, s.HTTP, nil, s.Secrets).Limits
	site := steeltest.NewSite()
	t.Cleanup(site.Close)
	return &stage{s, t, server, site, mustStart(t, s).ID}
}

// on attaches to the tab.
func (s *stage) on(a Access, act func(context.Context, *Page) error) error {
	s.t.Helper()
	a.Timeout, a.Verb = time.Minute, "test"
	return s.OnPage(s.t.Context(), &a, act)
}

// visit goes to a page of the site.
func (s *stage) visit(path string) {
	s.t.Helper()
	err := s.on(Access{}, func(ctx context.Context, p *Page) error {
		_, err := p.Goto(ctx, s.site.URL+path, Navigation{Until: UntilLoad})
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// run runs a script in the page.
func (s *stage) run(expression string) {
	s.t.Helper()
	err := s.on(Access{}, func(ctx context.Context, p *Page) error {
		_, err := p.Eval(ctx, expression)
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// refer makes a reference to what a selector matches, in the tab itself or, with the
// prefix "cross ", in its cross-site frame.
func (s *stage) refer(name, selector string) {
	s.t.Helper()
	err := s.on(Access{Reads: true}, func(ctx context.Context, p *Page) error {
		target := p.tab.TargetID
		inner, cross := strings.CutPrefix(selector, "cross ")
		if cross {
			for _, o := range p.others {
				if o.Type == "iframe" && o.Parent == p.tab.TargetID {
					target = o.ID
				}
			}
			v, err := p.viewOf(ctx, target, target)
			if err != nil {
				return err
			}
			p.session, p.main = v.session, v.root
			p.askWorld(target)
		}
		e, err := p.Locate(ctx, s.aim("css="+inner), Choice{})
		if err != nil {
			return err
		}
		h, err := e.Hit(ctx)
		if err != nil {
			return err
		}
		refs, err := s.Store.References(s.id)
		if err != nil {
			return err
		}
		refs.Refs[name] = Reference{p.tab.Tab, target, e.frame.Frame.ID, e.frame.Frame.LoaderID, e.node, h.Role, h.Name}
		return s.Store.WriteReferences(s.id, refs)
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// aim reads a target; "" is none.
func (s *stage) aim(target string) Aim {
	s.t.Helper()
	if target == "" {
		return Aim{}
	}
	aim, err := ParseAim(target)
	if err != nil {
		s.t.Fatal(err)
	}
	return aim
}

// read reads something of an element.
func (s *stage) read(what, target string) (string, error) {
	s.t.Helper()
	return s.wish(&Wish{What: what, Aim: s.aim(target)})
}

func (s *stage) wish(w *Wish) (string, error) {
	s.t.Helper()
	var v *Value
	err := s.on(Access{Reads: true, Aim: w.Aim}, func(ctx context.Context, p *Page) (err error) {
		v, err = p.Read(ctx, w)
		return err
	})
	if err != nil {
		return "", err
	}
	return string(v.Value), nil
}

func (s *stage) wantRead(what, target, want string) {
	s.t.Helper()
	if got, err := s.read(what, target); err != nil || got != want {
		s.t.Errorf("the %s of %s is %s (%v), want %s", what, target, got, err, want)
	}
}

func (s *stage) wantFault(what, target string, code fault.Code, message string) {
	s.t.Helper()
	if got, err := s.read(what, target); !fault.Is(err, code) || !strings.Contains(err.Error(), message) {
		s.t.Errorf("the %s of %s is %s (%v), want %s: %s", what, target, got, err, code, message)
	}
}

// waits returns how often the client of the last socket waited for the browser, one wait
// after the other: a call waits for every answer that came before it was sent. Each
// message has to be long on its way, so that what is sent without waiting comes before
// the answers to what was sent with it.
func waits(server *steeltest.Server) (most int) {
	depths, answered := map[int64]int{}, 0
	for _, f := range server.Frames() {
		switch {
		case f.Socket != server.Sockets() || f.ID == 0:
		case f.ToBrowser:
			depths[f.ID] = answered + 1
			most = max(most, answered+1)
		default:
			answered = max(answered, depths[f.ID])
		}
	}
	return most
}

func TestReferencesLeadWhereSelectorsDoNot(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.visit("/frames")
	s.refer("e1", "button[onclick*=main]")
	s.refer("e2", "cross #field")
	s.refer("e3", "cross button")
	s.refer("e4", "#field")
	s.run(`document.querySelector("iframe").contentDocument.querySelector("#field").value = "same"`)
	s.wantRead(ReadText, "e1", `"Press main"`)
	s.wantRead(ReadText, "@e3", `"Press inner"`)
	s.wantRead(ReadAttr, "e2", ``)
	s.wantRead(ReadValue, "e2", `""`)
	s.wantRead(ReadValue, "e4", `"same"`)
	s.wantRead(ReadCount, "e4", `1`)
	s.wantFault(ReadText, "e5", fault.SteelRefUnknown, "no reference e5")
	if err := s.on(Access{Reads: true}, func(ctx context.Context, p *Page) error {
		_, err := p.Locate(ctx, s.aim("e1"), Choice{Nth: 1})
		return err
	}); !fault.Is(err, fault.SteelUsage) {
		t.Errorf("%v", err)
	}
	// The box is where the window shows it, in whatever frame it is.
	same, cross := s.box("css=#field"), s.box("e2")
	frames := s.box("css=iframe[title='Cross site']")
	if other := s.box("css=iframe[title='Same site']"); math.Abs((cross.X-frames.X)-(same.X-other.X)) > 0.1 || cross.Y <= frames.Y || cross.Y+cross.Height >= frames.Y+frames.Height {
		t.Errorf("the field of the cross-site frame is at %+v, which is at %+v; that of the other at %+v", cross, frames, same)
	}
	s.run(`document.querySelectorAll("iframe")[1].src += "?again"`)
	s.wantFault(ReadText, "e3", fault.SteelRefStale, "the page changed since the snapshot")
	s.run(`document.querySelectorAll("iframe")[1].remove()`)
	s.wantFault(ReadText, "e3", fault.SteelRefStale, "the page changed since the snapshot")
	s.wantRead(ReadText, "e1", `"Press main"`)
	s.visit("/frames")
	s.wantFault(ReadText, "e1", fault.SteelRefStale, "the page changed since the snapshot")
	s.wantFault(ReadText, "e4", fault.SteelRefStale, "the page changed since the snapshot")
}

func (s *stage) box(target string) (r Rect) {
	s.t.Helper()
	aim := s.aim(target)
	err := s.on(Access{Reads: true, Aim: aim}, func(ctx context.Context, p *Page) error {
		e, err := p.Locate(ctx, aim, Choice{})
		if err == nil {
			r, err = e.Box(ctx)
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

func TestAReferenceIsToWhatItWas(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.visit("/list")
	s.refer("e1", "li:nth-child(3) button")
	s.refer("e2", "#next")
	s.wantRead(ReadText, "e1", `"Buy 3"`)
	s.run(`next.click()`)
	s.wantFault(ReadText, "e1", fault.SteelRefStale, `was button "Buy 3", is now button "Buy 7"`)
	s.run(`document.querySelector("li:nth-child(3) button").textContent = "  Buy\n 3 "`)
	s.wantRead(ReadText, "e1", `"Buy 3"`)
	s.run(`document.querySelector("li:nth-child(3) button").setAttribute("role", "link")`)
	s.wantFault(ReadText, "e1", fault.SteelRefStale, `was button "Buy 3", is now link "Buy 3"`)
	s.run(`next.style.display = "none"`)
	s.wantFault(ReadText, "e2", fault.SteelTargetHidden, "e2 is hidden")
	s.wantRead(ReadVisible, "e2", `false`)
	s.run(`window.kept = next; next.remove()`)
	s.wantFault(ReadVisible, "e2", fault.SteelRefStale, `was button "Next", is not in the page any more`)

	refs, err := s.Store.References(s.id)
	if err != nil {
		t.Fatal(err)
	}
	e1 := refs.Refs["e1"]
	for name, ref := range map[string]Reference{
		"e7": {e1.Tab, e1.TargetID, e1.FrameID, e1.LoaderID, 999999, "button", "Buy 3"},
		"e8": {"t9", e1.TargetID, e1.FrameID, e1.LoaderID, e1.Node, "button", "Buy 3"},
		"e9": {e1.Tab, "DEAD", "DEAD", e1.LoaderID, e1.Node, "button", "Buy 3"},
	} {
		refs.Refs[name] = ref
	}
	if err := s.Store.WriteReferences(s.id, refs); err != nil {
		t.Fatal(err)
	}
	s.wantFault(ReadText, "e7", fault.SteelRefStale, `was button "Buy 3", is not in the page any more`)
	s.wantFault(ReadText, "e8", fault.SteelRefUnknown, `to an element of the tab t9, and not of "t1"`)
	s.wantFault(ReadText, "e9", fault.SteelRefStale, `the page changed`)

	r, err := s.Store.Read(s.id)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Release(t.Context(), r, WipeByMode); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(s.Store.dir, s.id+refsSuffix)); !os.IsNotExist(err) {
		t.Errorf("the references outlive the session: %v", err)
	}
}

// Names that style sheets and rare sources make are the browser's to know.
func TestNamesAreTheBrowsers(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.visit("/about")
	s.run(`document.body.innerHTML = ` + "`" + `
<style>.needed::after { content: " *" }</style>
<label class="needed" for="a">Email</label><input id="a">
<label>Colour <select id="b"><option>Red</option></select></label>
<button id="c"><img alt="Cart"> 3 items</button>
<button id="d"><span>Sign <b>in</b></span></button>
<input id="e" type="submit"><input id="f" type="submit" value="Send">
<div id="g" role="button" aria-labelledby="h i">x</div><span id="h">Save</span> <span id="i">all</span>
<a id="j" href="/about" title="Home"><svg width="9" height="9"></svg></a>
<form id="k"><input name="querySelectorAll"><input name="getAttribute"><input name="matches"><input name="textContent" aria-label="Clobbered"></form>
<img name="body"><img name="querySelectorAll"><img name="documentElement">
<p id="l" style="text-transform: uppercase">shouted</p>
<div role="dialog" aria-labelledby="m"><h2 id="m">Title</h2></div>
<input id="n" aria-label="Two"><p>Two</p>
<iframe srcdoc="<input type=password value=hunter2 aria-label=Inside>"></iframe>` + "`")
	for target, id := range map[string]string{
		"label=Email": "a", "label=Email *": "a", "text=Email": "a", "label=Colour": "b", "text=Cart 3 items": "c", "text=3 items": "c", "text=Sign in": "d",
		"text=Submit": "e", "text=Send": "f", "text=Save all": "g", "text=Home": "j", "text=SHOUTED": "l", "text=Title": "m", "label=Two": "n",
	} {
		if got, err := s.wish(&Wish{What: ReadAttr, Name: "id", Aim: s.aim(target)}); err != nil || got != `"`+id+`"` {
			t.Errorf("%s is %s (%v), want %s", target, got, err, id)
		}
	}
	s.wantFault(ReadVisible, "text=Two", fault.SteelTargetAmbiguous, `matches 2 elements: textbox "Two", paragraph`)
	s.wantFault(ReadVisible, "label=Sign in", fault.SteelTargetNotFound, "no element")
}

func TestWaitsForTheBrowser(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.visit("/frames")
	s.refer("e1", "button[onclick*=main]")
	s.refer("e2", "#field")
	s.refer("e3", "cross #field")
	s.server.Set("frame-delay", "50ms")
	for _, c := range []struct {
		what, target string
		most         int
	}{
		{ReadTitle, "", 3}, {ReadText, "", 3}, {ReadText, "css=h1", 4}, {ReadText, "text=Press inline", 4}, {ReadValue, "label=Inner field", 4},
		{ReadCount, "css=button", 4}, {ReadText, "e1", 4}, {ReadValue, "e2", 4}, {ReadValue, "e3", 4},
	} {
		_, err := s.read(c.what, c.target)
		if n := waits(s.server); err != nil || n > c.most {
			t.Errorf("get %s %s waits %d times, at most %d are allowed (%v)", c.what, c.target, n, c.most, err)
		}
	}
}
