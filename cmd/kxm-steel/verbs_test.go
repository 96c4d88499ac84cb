//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kxm/lib/cli"
	"kxm/lib/kxmtest"
	"kxm/lib/steel"
	"kxm/lib/steel/steeltest"
)

// stage is what has come of the server's session.
type stage string

const (
	none      stage = "none"      // no session
	open_     stage = "open"      // the agent's, with a page
	handed    stage = "handed"    // a person's
	returned  stage = "returned"  // what the person did is to be looked at
	unclaimed stage = "unclaimed" // one that something else created
)

// example is a call that succeeds. Those of a verb are what the tests about all verbs
// call, so that a verb without one fails them.
type example struct {
	verb  string // as the grammar has it
	args  string // behind it, separated by spaces; see world.expand
	stdin string
	from  stage  // where it is called; default: open
	to    stage  // what it leaves; default: as it was
	page  string // the site's pages that the tab has shown, the last one now; default: /about

	rest    int  // most questions to the server beside its socket; default: 1
	sockets int  // default: 1, a verb about a page; -1 is none
	reaches bool // it is about tabs other than the current one
	changes bool // it changes the sessions of the server, with as many calls and sockets as that takes
}

var examples = []example{
	{verb: "session start", from: none, to: open_, changes: true},
	{verb: "session list", sockets: -1},
	{verb: "session show", sockets: -1},
	{verb: "session adopt", args: "$ID", from: unclaimed, to: open_, changes: true},
	{verb: "session release", to: none, changes: true},
	{verb: "session sweep", sockets: -1},
	{verb: "goto", args: "$SITE/home"},
	{verb: "back", page: "/ /about"},
	{verb: "reload"},
	{verb: "eval", args: "document.title"},
	{verb: "get", args: "text css=h1"},
	{verb: "get", args: "url"},
	{verb: "wait", args: "--text About"},
	{verb: "click", args: "text=Plain", page: "/buttons"},
	{verb: "hover", args: "text=Menu", page: "/pointer"},
	{verb: "scroll", args: "--to bottom", page: "/pointer"},
	{verb: "fill", args: "label=Email ada@example.com", page: "/"},
	{verb: "fill", args: "label=Password --stdin", stdin: "s3cr+t\n", page: "/"},
	{verb: "type", args: "label=Email ada@example.com", page: "/"},
	{verb: "press", args: "Tab", page: "/"},
	{verb: "select", args: "label=Role seller", page: "/"},
	{verb: "check", args: "label=News --off", page: "/choices"},
	{verb: "upload", args: "label=Files $LOOK", page: "/upload"},
	{verb: "snapshot", page: "/"},
	{verb: "shot", args: "-o $OUT/page.png"},
	{verb: "pdf", args: "-o $OUT/page.pdf"},
	{verb: "download", args: "--url $SITE/report.csv?open=1 -o $OUT/report.csv"},
	{verb: "console", page: "/console", rest: 2},
	{verb: "network", page: "/console", rest: 2},
	{verb: "cookies list"},
	{verb: "cookies clear"},
	{verb: "context save", args: "--in-worktree -o $OUT/context.json"},
	{verb: "context load", args: "$OUT/context.json"},
	{verb: "tab list", reaches: true},
	{verb: "tab new", args: "$SITE/about", reaches: true},
	{verb: "tab use", args: "t1", reaches: true},
	{verb: "tab close", args: "t1", reaches: true},
	{verb: "dialog", sockets: -1},
	{verb: "dialog", args: "--policy accept", sockets: -1},
	{verb: "recover", reaches: true},
	{verb: "takeover begin", args: "--reason login", to: handed},
	{verb: "takeover status", from: handed, sockets: -1},
	{verb: "takeover done", from: handed, to: returned, sockets: -1},
	{verb: "takeover verify", args: "--eval true", from: returned, to: open_},
	{verb: "takeover abandon", from: handed, to: none, changes: true},
	{verb: "exec", args: "-- sh $LOOK", rest: 2, sockets: 2},
	{verb: "exec", args: "-- driver visit $SITE/about", rest: 4, sockets: 3},
	{verb: "cdp-url", sockets: -1},
	{verb: "scrape", args: "$SITE/about", from: none, sockets: -1, rest: 2},
	{verb: "screenshot", args: "$SITE/about -o $OUT/about.jpg", from: none, sockets: -1, rest: 2},
	{verb: "doctor", sockets: 1, rest: 20},
}

func TestEveryVerbHasAnExample(t *testing.T) {
	var all []string
	for _, e := range examples {
		all = append(all, e.verb)
	}
	slices.Sort(all)
	verbs := grammarOf(t)
	if want := slices.Sorted(slices.Values(sortedKeys(verbs))); !slices.Equal(slices.Compact(all), want) {
		t.Errorf("examples are of %q, verbs are %q", all, want)
	}
}

// grammarOf returns the verbs with the names of their flags.
func grammarOf(t *testing.T) map[string][]string {
	t.Helper()
	var out, errs bytes.Buffer
	streams := cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs, Getenv: func(string) string { return "" }, Now: kxmtest.Now, Dir: t.TempDir()}
	if status := cli.Run(program(), []string{"--generate=json"}, streams); status != 0 {
		t.Fatalf("status %d: %s", status, &errs)
	}
	var g struct {
		Commands []struct {
			Command string `json:"command"`
			Flags   []struct {
				Name string `json:"name"`
			} `json:"flags"`
		} `json:"commands"`
	}
	if err := json.Unmarshal(out.Bytes(), &g); err != nil {
		t.Fatal(err)
	}
	verbs := map[string][]string{}
	for _, c := range g.Commands {
		for _, f := range c.Flags {
			verbs[c.Command] = append(verbs[c.Command], f.Name)
		}
	}
	delete(verbs, "") // the program itself
	return verbs
}

// world is a server with Chromium, a site, and one person's programs, who work in a
// repository.
type world struct {
	*client
	site  *steeltest.Site
	stage stage
	id    string // of the session that something else created

	out, dumps string // where files go, and where children tell what they see
	searched   []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	repository, dumps := kxmtest.NewRepo(t, map[string]string{"README.md": "# A project\n"}), t.TempDir()
	w := &world{client: newClient(t), site: steeltest.NewSite(), stage: none, out: filepath.Join(repository, "out"), dumps: dumps}
	t.Cleanup(w.site.Close)
	if err := os.Mkdir(w.out, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := w.server.StartBrowser(t.Context(), steeltest.ChromiumOf(os.Getenv)); err != nil {
		t.Fatal(err)
	}
	look := filepath.Join(t.TempDir(), "look.sh")
	if err := os.WriteFile(look, []byte(lookAround), 0o600); err != nil {
		t.Fatal(err)
	}
	w.dir = repository
	w.env = append(w.env, "DUMPS="+dumps, "LOOK="+look)
	w.searched = []string{repository, dumps, w.get("KXM_STEEL_STATE"), w.get("HOME")}
	return w
}

// lookAround writes down what a child of the program sees of it and of itself.
const lookAround = `
for what in $$/environ $$/cmdline $PPID/cmdline; do
	test ! -r /proc/$what || tr '\0' '\n' </proc/$what >>"$DUMPS/seen"
done
`

// expand replaces names of a call: SITE, OUT, LOOK and ID.
func (w *world) expand(text string) string {
	return os.Expand(text, func(name string) string {
		switch name {
		case "SITE":
			return w.site.URL
		case "OUT":
			return w.out
		case "ID":
			return w.id
		}
		return w.get(name)
	})
}

// line is an example's command line.
func (w *world) line(e *example, flags ...string) []string {
	return append(append(flags, strings.Fields(e.verb)...), strings.Fields(w.expand(e.args))...)
}

// call runs an example.
func (w *world) call(t *testing.T, e *example, flags ...string) ended {
	t.Helper()
	c := *w.client
	c.stdin = e.stdin
	return c.run(t, w.line(e, flags...)...)
}

// must runs a command that has to succeed.
func (w *world) must(t *testing.T, line string) ended {
	t.Helper()
	e := w.run(t, strings.Fields(line)...)
	if e.status != 0 {
		t.Fatalf("%s: %+v", line, e)
	}
	return e
}

// bring brings the session to where an example is called.
func (w *world) bring(t *testing.T, e *example) {
	t.Helper()
	from := stage(or(string(e.from), string(open_)))
	if w.stage == from && from != open_ {
		return
	}
	if w.stage != open_ || from == none || from == unclaimed {
		w.end(t)
	}
	switch {
	case from == none:
		return
	case from == unclaimed:
		w.id, w.stage = w.server.Foreign(), unclaimed
		return
	case w.stage == none:
		w.must(t, "session start --timeout 30m") // a session of five minutes ends before a slow run does
		w.stage = open_
	}
	for _, page := range strings.Fields(or(e.page, "/about")) {
		w.must(t, "goto "+w.site.URL+page)
	}
	if from != open_ {
		w.must(t, "takeover begin --reason login")
	}
	if from == returned {
		w.must(t, "takeover done")
	}
	w.stage = from
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// end ends the session, whatever state it is in.
func (w *world) end(t *testing.T) {
	t.Helper()
	switch w.stage {
	case none:
	case handed, returned:
		w.must(t, "takeover abandon")
	case unclaimed:
		w.must(t, "session adopt "+w.id)
		fallthrough
	default:
		w.must(t, "session release")
	}
	w.stage = none
}

// left notes what an example that succeeded has left.
func (w *world) left(e *example) {
	if e.to != "" {
		w.stage = e.to
	}
}

// every calls do for each example, brought to where it is called.
func (w *world) every(t *testing.T, do func(t *testing.T, e *example)) {
	for i := range examples {
		e := &examples[i]
		if !t.Run(strings.TrimSpace(e.verb+" "+e.args), func(t *testing.T) {
			w.bring(t, e)
			do(t, e)
		}) {
			w.recoverFrom(t)
		}
	}
	w.end(t)
}

// recoverFrom begins anew after a test that failed, so that the others say something.
func (w *world) recoverFrom(t *testing.T) {
	t.Helper()
	w.take(t)
	w.end(t)
}

// take notes what calls have left that may have come to their end or not.
func (w *world) take(t *testing.T) {
	t.Helper()
	w.run(t, "session", "sweep", "--release") // what was half done
	w.stage = none
	for _, r := range w.records(t) {
		switch {
		case r.Phase != steel.Open:
		case r.State == steel.AgentControl:
			w.stage = open_
		case r.State == steel.HumanControl:
			w.stage = handed
		case r.State == steel.VerifyAuthentication:
			w.stage = returned
		}
	}
	if live := w.server.Live(); w.stage == none && len(live) > 0 {
		w.id, w.stage = live[0], unclaimed
	}
}

// records returns what is recorded of sessions.
func (w *world) records(t *testing.T) []*steel.Record {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(w.get("KXM_STEEL_STATE"), "*", "*-*.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []*steel.Record
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if r, err := steel.ParseRecord(text); err == nil { // the others are references
			all = append(all, r)
		}
	}
	return all
}
