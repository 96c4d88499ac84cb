package steel

import (
	"context"
	"fmt"
	"strings"
	"time"

	"kxm/lib/cdp"
	"kxm/lib/fault"
)

// Check is one line of a diagnosis.
type Check struct {
	Name   string `json:"name"`
	Status string `json:"status"` // ok, warn, fail or skip
	Detail string `json:"detail"`
	Fix    string `json:"fix,omitempty"`
}

// Statuses of a check.
const (
	OK   = "ok"
	Warn = "warn"
	Fail = "fail"
	Skip = "skip"
)

// checkNames are all checks, in order.
var checkNames = []string{"config", "state-dir", "reachable", "is-steel", "key", "cdp", "host-header", "browser", "viewer", "clock", "sessions"}

// maxSkew is by how much the server's clock may differ.
const maxSkew = 30 * time.Second

// diagnosis is the checks that are done so far.
type diagnosis struct{ checks []Check }

func (d *diagnosis) add(name, status, detail, fix string) {
	d.checks = append(d.checks, Check{name, status, fault.Printable(clip(detail)), fix})
}

// failed adds a check that an error fails.
func (d *diagnosis) failed(name string, err error) {
	fix := ""
	if e, ok := err.(*fault.Error); ok {
		fix = e.Hint
	}
	d.add(name, Fail, err.Error(), fix)
}

// finish adds the checks that were not come to as skipped.
func (d *diagnosis) finish(why string) []Check {
	done := map[string]bool{}
	for _, c := range d.checks {
		done[c.Name] = true
	}
	for _, name := range checkNames {
		if !done[name] {
			d.add(name, Skip, why, "")
		}
	}
	return d.checks
}

// DiagnoseSettings is the diagnosis of settings that do not load.
func DiagnoseSettings(err error) []Check {
	var d diagnosis
	d.failed("config", err)
	return d.finish("the configuration comes first")
}

// Diagnose looks at everything between here and a session. It changes nothing. The
// store may be nil, with the error that opening it gave.
func (s *Service) Diagnose(ctx context.Context, storeErr error) []Check {
	var d diagnosis
	d.add("config", OK, s.Settings.sources(), "")
	if storeErr != nil {
		d.failed("state-dir", storeErr)
	} else {
		d.add("state-dir", OK, s.Settings.StateDir, "")
	}
	list, err := s.List(ctx)
	if err != nil {
		return s.explain(&d, err)
	}
	d.add("reachable", OK, s.Settings.API.Host(), "")
	d.add("is-steel", OK, fmt.Sprintf("%s, %s", s.Settings.Mode, count(len(list.Sessions), "session")), "")
	s.checkKeyNeeded(ctx, &d)
	s.checkBrowser(ctx, list, &d)
	s.checkViewer(ctx, &d)
	s.checkClock(list, &d)
	if storeErr != nil {
		return d.finish("the state folder comes first")
	}
	s.checkSessions(ctx, list, &d)
	return d.checks
}

// explain tells from the error of a list which check it fails.
func (s *Service) explain(d *diagnosis, err error) []Check {
	switch code := fault.CodeOf(err); code {
	case fault.SteelNotSteel, fault.SteelBadResponse, fault.SteelServerError, fault.SteelRedirected:
		d.add("reachable", OK, s.Settings.API.Host(), "")
		d.failed("is-steel", err)
		return d.finish("what answers is no Steel server")
	case fault.SteelUnauthorized, fault.SteelKeyCommandFailed, fault.SteelBadKey:
		if code == fault.SteelUnauthorized {
			d.add("reachable", OK, s.Settings.API.Host(), "")
		}
		d.failed("key", err)
		return d.finish("the key comes first")
	}
	d.failed("reachable", err)
	return d.finish("the server cannot be asked")
}

// sources says where each setting came from that is not a default.
func (s *Settings) sources() string {
	var set []string
	for _, o := range s.Provenance {
		if o.Source != "default" {
			set = append(set, o.Name+" from "+o.Source)
		}
	}
	return strings.Join(set, ", ")
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// checkKeyNeeded asks once without the key.
func (s *Service) checkKeyNeeded(ctx context.Context, d *diagnosis) {
	_, err := s.send(ctx, call{method: "GET", path: sessionsPath, limit: s.Limits.Read, most: maxJSON, bare: true})
	from := s.Settings.KeySource
	switch {
	case fault.Is(err, fault.SteelUnauthorized):
		d.add("key", OK, "from "+from, "")
	case err != nil:
		d.failed("key", err)
	case from == "":
		d.add("key", Warn, "no key is configured and none is asked for: anyone who reaches this host can drive its browser", "put a proxy that asks for a key before the server")
	default:
		d.add("key", Warn, "the server takes requests without the key from "+from+": anyone who reaches this host can drive its browser", "put a proxy that asks for a key before the server")
	}
}

// checkBrowser opens a socket and asks the browser for its version. In the cloud there
// is a browser only where there is a session.
func (s *Service) checkBrowser(ctx context.Context, list *Listing, d *diagnosis) {
	skip := func(why string, names ...string) {
		for _, name := range names {
			d.add(name, Skip, why, "")
		}
	}
	id := s.NewID() // the open-source server takes any
	if live := list.Live(); len(live) > 0 {
		id = live[0].ID
	} else if s.Settings.Mode == Cloud {
		skip("no session is live", "cdp", "host-header", "browser")
		return
	}
	quiet := *s
	quiet.Store = nil // what is found out is not written down
	socket, way, err := quiet.dialAnyWay(ctx, id)
	switch fault.CodeOf(err) {
	case fault.SteelHostRejected:
		d.add("cdp", OK, "the socket reaches the browser", "")
		d.failed("host-header", err)
		skip("the Host header comes first", "browser")
		return
	case fault.SteelNoBrowser:
		skip("no browser answers", "cdp", "host-header")
		d.failed("browser", err)
		return
	}
	if err != nil {
		d.failed("cdp", err)
		skip("the socket comes first", "host-header", "browser")
		return
	}
	conn := cdp.NewConn(socket)
	defer conn.Close()
	how := "without a key"
	if s.Settings.KeySource != "" {
		how = "the key is taken in the " + map[string]string{authHeader: "header", authQuery: "address"}[way]
	}
	d.add("cdp", OK, how, "")
	d.add("host-header", OK, "accepted", "")
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	var v struct {
		Product  string `json:"product"`
		Protocol string `json:"protocolVersion"`
	}
	if err := conn.Call(ctx, "", "Browser.getVersion", nil, &v); err != nil {
		d.add("browser", Fail, "the browser does not answer", "release the session and start another one; if that fails too, restart the server")
		return
	}
	d.add("browser", OK, strings.TrimSuffix(v.Product+", protocol "+v.Protocol, ", protocol "), "")
}

// checkViewer asks for the viewer's page, without the key.
func (s *Service) checkViewer(ctx context.Context, d *diagnosis) {
	if s.Settings.Mode == Cloud {
		d.add("viewer", Skip, "the cloud gives each session a link of its own", "")
		return
	}
	ui := *s.Settings
	ui.API = s.Settings.UI
	e := &Endpoint{Settings: &ui, HTTP: s.HTTP, Secrets: s.Secrets, Limits: s.Limits}
	r, err := e.roundTrip(ctx, call{method: "GET", path: "", shown: "the viewer", limit: s.Limits.Read, most: maxJSON, bare: true})
	switch {
	case err != nil:
		d.failed("viewer", err)
	case r.status >= 400:
		d.add("viewer", Fail, fmt.Sprintf("the viewer's page answers %d", r.status), "set STEEL_UI_URL")
	default:
		d.add("viewer", OK, fmt.Sprintf("status %d", r.status), "")
	}
}

func (s *Service) checkClock(list *Listing, d *diagnosis) {
	if list.Date.IsZero() {
		d.add("clock", Warn, "the server does not tell its time", "")
		return
	}
	skew := list.Date.Sub(s.now()).Round(time.Second)
	if skew.Abs() > maxSkew {
		d.add("clock", Warn, fmt.Sprintf("the server's clock differs by %s", skew), "set both clocks: ages of sessions are off by as much")
		return
	}
	d.add("clock", OK, fmt.Sprintf("differs by %s", skew), "")
}

func (s *Service) checkSessions(ctx context.Context, list *Listing, d *diagnosis) {
	w, err := s.findOrphans(ctx, list, s.Settings.OrphanAge)
	switch {
	case err != nil:
		d.failed("sessions", err)
	case len(w.Broken) > 0:
		d.add("sessions", Fail, count(len(w.Broken), "record")+" cannot be read", "kxm-steel session list names them")
	case len(w.Orphans) > 0:
		d.add("sessions", Warn, count(len(w.Orphans), "orphan"), "kxm-steel session sweep")
	default:
		d.add("sessions", OK, "no orphans", "")
	}
}
