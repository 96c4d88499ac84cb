package main

import (
	"context"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"kxm/lib/cli"
	"kxm/lib/kxmtest"
	"kxm/lib/steel/steeltest"
)

func TestMain(m *testing.M) {
	audited := kxmtest.Audited(func(p kxmtest.Process) int {
		return cli.Run(program(), p.Args, cli.Streams{In: p.In, Out: p.Out, Err: p.Err, Getenv: os.Getenv, Dir: p.Dir, Now: p.Now})
	})
	maps.Copy(kxmtest.Commands, map[string]func(*testscript.TestScript, bool, []string){"fake": fake})
	// The second dies of the signals that it gets, as the program does.
	kxmtest.Main(m, map[string]func(){"kxm-steel": audited, "kxm-steel-alone": main, "driver": driver})
}

func TestScripts(t *testing.T) {
	kxmtest.RunScripts(t, "testdata/script")
}

// fakes are the servers of the scripts that run, by their working directory.
var fakes sync.Map

// double is a script's server, and its site if it has one.
type double struct {
	*steeltest.Server
	site   *steeltest.Site
	mark   int               // how many sockets there were at the last mark
	visits int               // how many requests the site had had then
	person *steeltest.Person // somebody who sits at a viewer
	ended  bool              // it was stopped
}

// fake is the scripts' command for a Steel server:
//
//	fake start [browser]      start one, with Chromium if asked, and set STEEL_API_URL, and SOCKETS to the same for sockets
//	fake site                 start the web site of steeltest, and set SITE and SITE2, its other name
//	fake set KNOB=VALUE…      turn knobs of steeltest.Server
//	fake foreign              start a session as somebody else, and set FOREIGN
//	fake live [ID…]           want exactly these sessions to be live
//	fake count METHOD PATH N  want so many requests
//	fake hides TEXT           want no address or body of a request to hold the text
//	fake frames METHOD N      want clients to have called a method so many times
//	fake mark                 count sockets, and requests of the site, from here
//	fake sockets N            want clients to have opened so many sockets since the last mark
//	fake person AT SCRIPT     run a script in the tab whose address holds AT, as a person at the viewer would act
//	fake view URL             let somebody sit at the viewer with this address, in a Chromium of their own
//	fake click CSS            let them click on an element, once it is there; without a viewer on the first page itself
//	fake type TEXT            let them press keys where the focus is
//	fake awaits EXPR          wait until an expression is true in their tab
//	fake visited METHOD PATH N  want the site to have had so many requests
//	fake unvisited            want the site to have had none since the last mark
//	fake tab URL              open a tab, as a person would
//	fake close AT             close the tab whose address holds AT, as a person would
//	fake stuck AT             wait until the tab whose address holds AT does not answer
//	fake crash AT             crash the renderer of the tab whose address holds AT
//	fake kill-browser         kill Chromium, and wait for what takes its place
//	fake stop                 end it; its address answers no more
func fake(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: fake VERB [ARGS…]")
	}
	if args[0] == "start" {
		start(ts, slices.Contains(args[1:], "browser"))
		return
	}
	v, ok := fakes.Load(ts.Getenv("WORK"))
	if !ok {
		ts.Fatalf("fake: no server was started")
	}
	s := v.(*double)
	switch args[0] {
	case "set":
		for _, kv := range args[1:] {
			knob, value, _ := strings.Cut(kv, "=")
			s.Set(knob, value)
		}
	case "foreign":
		ts.Setenv("FOREIGN", s.Foreign())
	case "live":
		if got := s.Live(); !slices.Equal(got, args[1:]) {
			ts.Fatalf("live are %v, want %v", got, args[1:])
		}
	case "count":
		if got := s.Count(args[1], args[2]); strconv.Itoa(got) != args[3] {
			ts.Fatalf("%d requests %s %s, want %s", got, args[1], args[2], args[3])
		}
	case "hides":
		for _, r := range s.Requests() {
			if r.Header.Get("Upgrade") != "" && r.Path == "/" {
				continue // the cloud's sockets take the key nowhere else
			}
			if strings.Contains(r.Path+"?"+r.Query+r.Body, args[1]) {
				ts.Fatalf("%s %s?%s holds the text", r.Method, r.Path, r.Query)
			}
		}
	case "site":
		s.site = steeltest.NewSite()
		ts.Setenv("SITE", s.site.URL)
		ts.Setenv("SITE2", s.site.Other)
	case "unvisited":
		if got := s.site.Requests()[s.visits:]; len(got) > 0 {
			ts.Fatalf("the site had %d requests, such as %s %s", len(got), got[0].Method, got[0].Path)
		}
	case "frames":
		if got := s.Calls(args[1]); strconv.Itoa(got) != args[2] {
			ts.Fatalf("%d calls of %s, want %s", got, args[1], args[2])
		}
	case "mark":
		s.mark = s.Sockets()
		if s.site != nil {
			s.visits = len(s.site.Requests())
		}
	case "sockets":
		if got := s.Sockets() - s.mark; strconv.Itoa(got) != args[1] {
			ts.Fatalf("%d sockets, want %s", got, args[1])
		}
	case "person":
		ts.Check(s.Person(context.Background(), args[1], args[2]))
	case "view", "click", "type", "awaits":
		s.act(ts, args[0], args[1])
	case "visited":
		if got := s.site.Count(args[1], args[2]); strconv.Itoa(got) != args[3] {
			ts.Fatalf("%d visits %s %s, want %s", got, args[1], args[2], args[3])
		}
	case "tab":
		ts.Check(s.OpenPage(context.Background(), args[1]))
	case "close":
		ts.Check(s.ClosePage(context.Background(), args[1]))
	case "stuck":
		ts.Check(s.AwaitStuck(context.Background(), args[1]))
	case "crash":
		ts.Check(s.CrashPage(context.Background(), args[1]))
	case "kill-browser":
		s.KillBrowser()
	case "stop":
		fakes.Delete(ts.Getenv("WORK"))
		s.ended = true
		s.Close()
	default:
		ts.Fatalf("fake: unknown verb %s", args[0])
	}
}

// handTime is how long anything that a person does may take on a busy computer.
const handTime = time.Minute

// act lets somebody use mouse and keys: at their viewer if they have one, else beside the
// browser, where each time is another one.
func (s *double) act(ts *testscript.TestScript, verb, what string) {
	ctx, cancel := context.WithTimeout(context.Background(), handTime)
	defer cancel()
	if verb == "view" {
		p, err := s.Viewer(ctx, steeltest.ChromiumOf(os.Getenv), what)
		ts.Check(err)
		s.person = p
		ts.Defer(p.Close)
		return
	}
	p := s.person
	if p == nil {
		var err error
		p, err = s.Beside(ctx, "")
		ts.Check(err)
		defer p.Close()
	}
	do := map[string]func(context.Context, string) error{"click": p.Click, "type": p.Type, "awaits": p.Until}
	ts.Check(do[verb](ctx, what))
}

// start starts a script's server, which ends with the script.
func start(ts *testscript.TestScript, browser bool) {
	s := &double{Server: steeltest.New(kxmtest.Now)}
	fakes.Store(ts.Getenv("WORK"), s)
	ts.Setenv("STEEL_API_URL", s.URL)
	ts.Setenv("SOCKETS", "ws"+strings.TrimPrefix(s.URL, "http"))
	ts.Defer(func() {
		if s.site != nil {
			defer s.site.Close()
		}
		if !s.ended { // also one in whose place another was started
			defer s.Close()
		}
		fakes.Delete(ts.Getenv("WORK"))
		if c := s.Complaints(); len(c) > 0 {
			ts.Logf("complaints are %v", c)
			ts.Fatalf("calls that change the server overlapped, or its browser failed")
		}
	})
	if browser {
		ts.Check(s.StartBrowser(context.Background(), steeltest.ChromiumOf(os.Getenv)))
	}
}
