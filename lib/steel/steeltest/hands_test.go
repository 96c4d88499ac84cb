package steeltest

import (
	"context"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// busy is a context for a person, who may have to wait for a computer that is busy.
func busy(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// signsIn lets a person sign in with a password and a code. The tab shows the form.
func signsIn(t *testing.T, p *Person) {
	t.Helper()
	ctx := busy(t)
	must(t, p.Click(ctx, "#email"))
	must(t, p.Type(ctx, Email+"\t"+Password)) // the tab leads to the next field
	must(t, p.Until(ctx, `email.value == "`+Email+`" && password.value == "`+Password+`"`))
	must(t, p.Click(ctx, "form button"))
	must(t, p.Click(ctx, "#code"))
	must(t, p.Type(ctx, Code))
	must(t, p.Click(ctx, "form button"))
	must(t, p.Until(ctx, `location.pathname == "/home" && document.querySelector("h1").textContent == "Welcome Ada"`))
}

// goTo lets a tab go to a page without a client.
func goTo(t *testing.T, p *Person, address string) {
	t.Helper()
	ctx := busy(t)
	must(t, p.eyes.eval(ctx, "location.href = '"+address+"'", nil))
	must(t, p.Until(ctx, "location.href == '"+address+"' && document.readyState == 'complete'"))
}

// usesMore lets a person do what a login does not need.
func usesMore(t *testing.T, p *Person, site *Site) {
	t.Helper()
	ctx := busy(t)
	goTo(t, p, site.URL+"/fields")
	must(t, p.Click(ctx, "#search"))
	must(t, p.Type(ctx, "It's 100 % (a-z), é & 日本.\n"))
	must(t, p.Until(ctx, `search.value == "It's 100 % (a-z), é & 日本." && events.textContent.includes("keydown search Enter")`))
	goTo(t, p, site.URL+"/pointer")
	must(t, p.Scroll(ctx, "#pane", 200))
	must(t, p.Until(ctx, `pane.scrollTop > 0`))
}

func TestPersonBesideTheBrowser(t *testing.T) {
	t.Parallel()
	s, site := newBrowser(t), newSite(t)
	p, err := s.Beside(t.Context(), "")
	must(t, err)
	defer p.Close()
	goTo(t, p, site.URL+"/?mfa=1")
	signsIn(t, p)
	usesMore(t, p, site)
	if s.Sockets() != 0 || len(s.Frames()) != 0 {
		t.Errorf("%d sockets, %d frames", s.Sockets(), len(s.Frames()))
	}
	if _, err := s.Beside(t.Context(), "no-such-tab"); err == nil {
		t.Error("somebody uses a tab that is not there")
	}
	bare := New(time.Now)
	defer bare.Close()
	if _, err := bare.Beside(t.Context(), ""); err == nil {
		t.Error("somebody uses a browser that is not there")
	}
}

// view opens the viewer for a tab.
func view(t *testing.T, s *Server, target, interactive string) *Person {
	t.Helper()
	p, err := s.Viewer(busy(t), ChromiumOf(os.Getenv), s.URL+"/v1/sessions/debug?pageId="+target+"&showControls=true&interactive="+interactive)
	must(t, err)
	t.Cleanup(p.Close)
	return p
}

// stateIs waits for what the viewer says of itself.
func stateIs(t *testing.T, p *Person, want string) {
	t.Helper()
	must(t, p.hands.until(busy(t), "document.body.dataset.state == '"+want+"'"))
}

// A person signs in through the viewer while no client is there.
func TestPersonAtTheViewer(t *testing.T) {
	t.Parallel()
	s, site := newBrowser(t), newSite(t)
	create(t, s, `{"sessionId":"a"}`)
	v := open(t, s)
	v.visit(site.URL + "/?mfa=1")
	v.call("Target.createTarget", map[string]any{"url": "about:blank"}, nil) // in front of it
	v.conn.Close()
	s.Set("key", "k+y") // which the viewer does not need

	p := view(t, s, v.target, "true")
	stateIs(t, p, "live")
	must(t, p.Until(busy(t), "innerWidth == 1920 && innerHeight == 1080"))
	must(t, p.hands.until(busy(t), `address.textContent == "`+site.URL+`/?mfa=1"`))
	signsIn(t, p)
	usesMore(t, p, site)
	if s.Sockets() != 1 {
		t.Errorf("%d sockets", s.Sockets())
	}
	s.Set("key", "")
	c, err := dial(t, s, "/")
	must(t, err)
	must(t, c.Call(t.Context(), "", "Target.closeTarget", map[string]any{"targetId": v.target}, nil))
	stateIs(t, p, "closed")
}

func TestViewerOfOtherKinds(t *testing.T) {
	t.Parallel()
	s, site := newBrowser(t), newSite(t)
	create(t, s, `{"dimensions":{"width":700,"height":500}}`)
	v := open(t, s)
	v.visit(site.URL + "/fields")

	// Who may only look changes nothing; the size of the window is the session's.
	p := view(t, s, v.target, "false")
	stateIs(t, p, "live")
	must(t, p.Until(busy(t), "innerWidth == 700 && innerHeight == 500"))
	must(t, p.Click(busy(t), "#plain"))
	must(t, p.Type(busy(t), "x"))
	q, err := s.Beside(t.Context(), v.target)
	must(t, err)
	defer q.Close()
	must(t, q.Click(busy(t), "#area"))
	if got := v.eval(`plain.value + document.activeElement.id`); got != "oldarea" {
		t.Errorf("the field and the focus are %q", got)
	}

	// A window has its own size again when nobody looks any more.
	create(t, s, `{}`)
	v = open(t, s)
	was := v.eval("innerWidth")
	p = view(t, s, v.target, "true")
	v.until("innerWidth == 1920")
	p.Close()
	v.until("innerWidth == " + was)
}

func TestInspector(t *testing.T) {
	t.Parallel()
	s := newBrowser(t)
	v := open(t, s)
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for _, query := range []string{"?pageId=" + v.target, ""} {
		r, err := client.Get(s.URL + "/v1/devtools/inspector.html" + query)
		must(t, err)
		r.Body.Close()
		host, _, _ := strings.Cut(strings.TrimPrefix(s.chromium().Address, "ws:"), "/devtools/")
		if want := "http:" + host + "/devtools/devtools_app.html?ws=" + host + "/devtools/page/" + v.target; r.StatusCode != 302 || r.Header.Get("Location") != want {
			t.Errorf("%s: %d to %s, want %s", query, r.StatusCode, r.Header.Get("Location"), want)
		}
	}
	bare := New(time.Now)
	defer bare.Close()
	for path, want := range map[string]int{"/v1/devtools/inspector.html?pageId=T": 302, "/v1/sessions/debug?pageId=T": 200, "/prefix/v1/sessions/debug": 200} {
		r, err := client.Get(bare.URL + path)
		must(t, err)
		r.Body.Close()
		if r.StatusCode != want {
			t.Errorf("%s without a browser: %d", path, r.StatusCode)
		}
	}
	if _, err := dial(t, bare, castPath); !noAnswer(err) {
		t.Errorf("a viewer's socket without a browser: %v", err)
	}
	if _, err := dial(t, s, castPath+"?pageId=no-such-tab"); !noAnswer(err) {
		t.Errorf("a viewer's socket for no tab: %v", err)
	}
}

func TestTheViewerEndsWithTheServer(t *testing.T) {
	t.Parallel()
	s := New(time.Now)
	must(t, s.StartBrowser(t.Context(), ChromiumOf(os.Getenv)))
	p := view(t, s, open(t, s).target, "true")
	home := p.home
	s.KillBrowser()
	stateIs(t, p, "closed")
	p.Close()
	gone(t, home)
	p = view(t, s, open(t, s).target, "true")
	s.Close()
	stateIs(t, p, "closed")
}
