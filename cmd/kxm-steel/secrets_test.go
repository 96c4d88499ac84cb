//go:build unix

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// Keys with what has another spelling in addresses, in JSON and in base64. What is between
// is long enough to be found in any of them.
const (
	rightKey = `k+/=%"&` + "PlantedRightKey7351" + `&"%=/+k`
	wrongKey = `w+/=%"&` + "PlantedWrongKey9264" + `&"%=/+w`
)

// spelled are ways in which a text stands in another one that tells of it whole.
func spelled(secret string) []string {
	html, _ := json.Marshal(secret) // a text always encodes
	plain := strings.ReplaceAll(string(html), `\u0026`, "&")
	all := []string{
		secret, url.QueryEscape(secret), url.PathEscape(secret), lowerHex(url.QueryEscape(secret)),
		strings.Trim(string(html), `"`), strings.Trim(plain, `"`), strings.ReplaceAll(strings.Trim(plain, `"`), "/", `\/`),
	}
	for before := range 3 {
		text := []byte(strings.Repeat("x", before) + secret)
		all = append(all, base64.StdEncoding.EncodeToString(text), base64.URLEncoding.EncodeToString(text))
	}
	return all
}

// lowerHex writes the escapes of an address in small letters.
func lowerHex(text string) string {
	b := []byte(text)
	for i := range b {
		if i > 0 && b[i-1] == '%' || i > 1 && b[i-2] == '%' {
			b[i] = bytes.ToLower(b[i : i+1])[0]
		}
	}
	return string(b)
}

// traces are what is looked for: texts that stand in one of the ways to spell a secret,
// or of half of it, and in nothing else.
func traces(secret string) []string {
	_, core, _ := strings.Cut(secret, "Planted")
	all := []string{"Planted" + core[:8], strings.ToUpper("Planted" + core[:8])}
	for _, text := range spelled(secret) {
		if !strings.Contains(text, all[0]) {
			all = append(all, text[6:len(text)-12]) // without what its neighbours have a part in
		}
	}
	return all
}

// found returns the first trace of a secret in a text, or "".
func found(text string, secrets ...string) string {
	for _, secret := range secrets {
		for _, s := range traces(secret) {
			if strings.Contains(text, s) {
				return s
			}
		}
	}
	return ""
}

// wantNoSecret searches what a call said and everything that was written.
func (w *world) wantNoSecret(t *testing.T, e ended, secrets ...string) {
	t.Helper()
	for name, text := range map[string]string{"stdout": e.stdout, "stderr": e.stderr} {
		if s := found(text, secrets...); s != "" {
			t.Errorf("%s holds %s:\n%s", name, s, text)
		}
	}
	for _, root := range w.searched {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(path)
			if s := found(string(data), secrets...); s != "" {
				t.Errorf("%s holds %s", path, s)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// wantNoSecretSent searches what the server was asked, but for the headers.
func (w *world) wantNoSecretSent(t *testing.T, secrets ...string) {
	t.Helper()
	for _, r := range w.server.Requests() {
		if s := found(r.Path+"?"+r.Query+"\n"+r.Body, secrets...); s != "" {
			t.Errorf("%s %s?%s holds %s", r.Method, r.Path, r.Query, s)
		}
	}
}

// keyCommand is a command that prints what stands in a file, and writes down what it sees
// of the program that runs it and of itself.
func keyCommand(t *testing.T, key string) string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "key")
	script := filepath.Join(dir, "key.sh")
	for name, text := range map[string]string{file: key + "\n", script: lookAround + "cat " + file + "\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	argv, err := json.Marshal([]string{"sh", script})
	if err != nil {
		t.Fatal(err)
	}
	return "KXM_STEEL_KEY_COMMAND=" + string(argv)
}

// forms are the flags under which each call is made.
var forms = [][]string{{"-v"}, {"-v", "--errors", "json"}}

// wantChildren wants children to have written down what they saw.
func (w *world) wantChildren(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Log("there is no /proc")
		return
	}
	seen, err := os.ReadFile(filepath.Join(w.dumps, "seen"))
	if err != nil || !strings.Contains(string(seen), "kxm-steel-alone\n-v\nexec\n") {
		t.Errorf("children saw %d bytes, %v", len(seen), err)
	}
}

// A key of the environment is not passed on to the one child that there is then.
func TestTheKeyOfTheEnvironmentIsNotPassedOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.server.Set("key", rightKey)
	w.client = w.client.with("STEEL_API_KEY=" + rightKey)
	for _, e := range examples {
		if e.verb == "exec" {
			w.bring(t, &e)
			got := w.call(t, &e, "-v")
			if got.status != 0 {
				t.Errorf("%+v", got)
			}
			w.wantNoSecret(t, got, rightKey)
		}
	}
	w.end(t)
	w.wantChildren(t)
}

// failing is a way in which calls fail.
type failing struct {
	name   string
	knobs  string // of the server, separated by spaces
	body   string // with status
	env    []string
	socket bool // it is the socket alone that fails
	slow   bool // some wait long before they believe it
}

// failings are all of them, but for a server that is not there.
func failings(t *testing.T, elsewhere string) []failing {
	t.Helper()
	nobody := "KXM_STEEL_CDP_BASE=ws://" + closedAddress(t)
	repeats := strings.Join(spelled(rightKey), " | ")
	message, err := json.Marshal(map[string]string{"message": "you sent " + repeats})
	if err != nil {
		t.Fatal(err)
	}
	return []failing{
		{name: "wrong key", env: []string{"STEEL_API_KEY=" + wrongKey}},
		{name: "wrong key of a command", env: []string{"STEEL_API_KEY=", keyCommand(t, wrongKey)}},
		{name: "500 that repeats the key", knobs: "status=500", body: string(message)},
		{name: "400 that repeats the key as a text", knobs: "status=400", body: "you sent " + repeats},
		{name: "page", knobs: "answer=html"},
		{name: "broken", knobs: "answer=broken"},
		{name: "dropped", knobs: "answer=drop"},
		{name: "redirect", knobs: "answer=redirect"},
		{name: "redirect to another host", knobs: "answer=redirect to=" + elsewhere},
		{name: "wrong place of the key", env: []string{"KXM_STEEL_CDP_AUTH=query"}, socket: true},
		{name: "host rejected", knobs: "host=forwarded", socket: true},
		{name: "no browser", knobs: "browser=none", socket: true, slow: true},
		{name: "dial refused", env: []string{nobody}, socket: true, slow: true},
		{name: "dial refused, key in the address", env: []string{nobody, "KXM_STEEL_CDP_AUTH=query"}, socket: true, slow: true},
	}
}

// closedAddress is one at which nobody listens.
func closedAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// patient are verbs that wait for a browser that may be starting, or have more than one
// way to go on without it.
var patient = []string{"session start", "session adopt", "session release", "takeover abandon", "recover"}

// quiet are verbs that ask nobody here, and so do not fail.
var quiet = []string{"dialog", "takeover status", "takeover done", "cdp-url"}

// After every verb that failed, in every way that a server has to fail, the key is nowhere.
func TestTheKeyIsNowhereAfterFailure(t *testing.T) {
	t.Parallel()
	var astray atomic.Int32 // requests that followed a redirect
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { astray.Add(1) }))
	t.Cleanup(elsewhere.Close)
	w := newWorld(t)
	w.server.Set("key", rightKey)
	w.server.Set("cdp", "header")
	w.client = w.client.with("STEEL_API_KEY=" + rightKey)
	ways := failings(t, elsewhere.URL)
	calls := 0
	w.every(t, func(t *testing.T, e *example) {
		failed := 0
		asks := !slices.Contains(quiet, e.verb)
		for i, way := range ways {
			if !asks && i > 0 || way.socket && e.sockets < 0 || way.slow && slices.Contains(patient, e.verb) {
				continue
			}
			calls++
			got := w.failing(t, e, &way, forms[calls%len(forms)])
			w.wantNoSecret(t, got, rightKey, wrongKey)
			if got.status != 0 {
				failed++
			}
			if got.status == 0 || e.to != "" || e.changes {
				w.take(t)
				w.bring(t, e)
			}
		}
		if failed == 0 && asks {
			t.Error("it never fails")
		}
	})
	if n := astray.Load(); n > 0 {
		t.Errorf("%d requests followed a redirect", n)
	}
}

// failing runs an example while the server fails.
func (w *world) failing(t *testing.T, e *example, way *failing, form []string) ended {
	t.Helper()
	healthy := w.client
	defer func() { w.client = healthy }()
	for _, variable := range way.env {
		w.client = w.client.with(variable)
	}
	w.server.Set("body", way.body)
	for _, knob := range strings.Fields(way.knobs) {
		name, value, _ := strings.Cut(knob, "=")
		w.server.Set(name, value)
		defer w.server.Set(name, "")
	}
	return w.call(t, e, form...)
}

// A server that is not there.
func TestTheKeyIsNowhereWithoutAServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.server.Set("key", rightKey)
	w.client = w.client.with("STEEL_API_KEY=" + rightKey)
	gone := "http://" + closedAddress(t)
	var calls sync.WaitGroup
	room := make(chan struct{}, 8)
	for i := range examples {
		e := &examples[i]
		w.bring(t, e)
		// A copy of the state, as that of the server that is gone: so all can wait at once for
		// it to come back.
		other := *w
		other.client = w.client.with("STEEL_API_URL=" + gone).with("KXM_STEEL_STATE=" + w.copyState(t, gone))
		other.searched = append(slices.Clip(w.searched), other.get("KXM_STEEL_STATE"))
		room <- struct{}{}
		calls.Go(func() {
			defer func() { <-room }()
			got := other.call(t, e, forms[i%len(forms)]...)
			other.wantNoSecret(t, got, rightKey)
			if got.status == 0 && !slices.Contains(quiet, e.verb) {
				t.Errorf("%s: %+v", e.verb, got)
			}
		})
	}
	calls.Wait()
	w.end(t)
}

// copyState makes the records of this world's server those of another.
func (w *world) copyState(t *testing.T, server string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "state")
	folder := func(state, server string) string {
		sum := sha256.Sum256([]byte(server))
		return filepath.Join(state, hex.EncodeToString(sum[:8]))
	}
	to := folder(dir, server)
	if err := os.MkdirAll(to, 0o700); err != nil {
		t.Fatal(err)
	}
	from := folder(w.get("KXM_STEEL_STATE"), w.server.URL)
	entries, err := os.ReadDir(from)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // the first command of all makes it
		t.Fatal(err)
	}
	for _, entry := range entries {
		data, err := os.ReadFile(filepath.Join(from, entry.Name()))
		if err == nil {
			err = os.WriteFile(filepath.Join(to, entry.Name()), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// sitePassword is what a person would not want to see again anywhere.
const sitePassword = `p+/=%"&` + "PlantedPassword5820" + `&"%=/+p`

// passwords are calls that are given a secret of a site, by each way that each verb has,
// and what is called after it.
var passwords = []struct {
	example
	status int
	after  []string
}{
	{example{verb: "fill", args: "label=Password --from-env SECRET", page: "/"}, 0, []string{"snapshot", "get value label=Password", "get text", "eval 1", "shot -o $OUT/shot.png"}},
	{example{verb: "fill", args: "label=Password --stdin", stdin: sitePassword + "\n", page: "/"}, 0, []string{"snapshot", "snapshot --find Password", "console", "network"}},
	{example{verb: "type", args: "label=Password --from-env SECRET", page: "/"}, 0, []string{"snapshot", "wait --for 10ms"}},
	{example{verb: "type", args: "label=Password --stdin", stdin: sitePassword, page: "/"}, 0, []string{"click text=Nobody", "press Tab"}},
	{example{verb: "fill", args: "label=Plain --from-env SECRET", page: "/fields"}, 0, nil},
	{example{verb: "type", args: "label=Plain --stdin", stdin: sitePassword, page: "/fields"}, 0, nil},
	{example{verb: "fill", args: "css=#rich --from-env SECRET", page: "/fields"}, 0, nil},
	{example{verb: "fill", args: "label=Upper --from-env SECRET", page: "/fields"}, 1, nil},
	{example{verb: "fill", args: "label=Short --from-env SECRET", page: "/fields"}, 1, nil},
	{example{verb: "fill", args: "label=Number --stdin", stdin: sitePassword, page: "/fields"}, 1, nil},
	{example{verb: "fill", args: "label=Fixed --from-env SECRET", page: "/fields"}, 1, nil},
	{example{verb: "fill", args: "label=Nobody --from-env SECRET", page: "/fields"}, 1, nil},
	{example{verb: "type", args: "label=Off --stdin", stdin: sitePassword, page: "/fields"}, 1, nil},
	{example{verb: "click", args: "text=Prompt --on-dialog text-from-env=SECRET", page: "/dialogs"}, 0, []string{"dialog"}},
	{example{verb: "click", args: "text=Prompt --on-dialog text-from-stdin", stdin: sitePassword, page: "/dialogs"}, 0, []string{"dialog", "session show"}},
	{example{verb: "session start", args: "--proxy-from-env PROXY", from: none, to: open_, changes: true}, 0, []string{"session show", "session list"}},
	{example{verb: "session start", args: "-n --proxy-from-env PROXY", from: none}, 0, nil},
}

// A secret of a site is in nothing that the verb which is given it says or keeps, whether
// it succeeds or not, and shows in no later look at a field that hides it.
func TestASitePasswordIsNowhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.client = w.client.with("SECRET=" + sitePassword).with("PROXY=http://ada:" + url.QueryEscape(sitePassword) + "@127.0.0.1:9")
	for i := range passwords {
		p := &passwords[i]
		for j, form := range forms {
			w.bring(t, &p.example)
			got := w.call(t, &p.example, form...)
			if got.status != p.status {
				t.Errorf("%s %s: %+v, want status %d", p.verb, p.args, got, p.status)
			}
			w.wantNoSecret(t, got, sitePassword)
			if got.status == 0 {
				w.left(&p.example)
			}
			if j > 0 {
				continue
			}
			for _, line := range p.after {
				w.wantNoSecret(t, w.run(t, strings.Fields(w.expand(line))...), sitePassword)
			}
			// Where it does not come that far, it is not told either.
			w.server.Set("host", "forwarded")
			w.wantNoSecret(t, w.call(t, &p.example, form...), sitePassword)
			w.server.Set("host", "")
		}
	}
	w.end(t)
}

// Every way into a verb for a secret is tried.
func TestEveryWayForASecretIsTried(t *testing.T) {
	tried := map[string]bool{}
	for _, p := range passwords {
		for _, word := range strings.Fields(p.args) {
			if flag, ok := strings.CutPrefix(word, "--"); ok {
				tried[p.verb+" "+flag] = true
			}
		}
	}
	for verb, flags := range grammarOf(t) {
		for _, flag := range flags {
			if (flag == "stdin" || strings.HasSuffix(flag, "from-env")) && !tried[verb+" "+flag] {
				t.Errorf("%s --%s is not tried", verb, flag)
			}
		}
	}
}
