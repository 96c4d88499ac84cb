package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"kxm/lib/cli"
	"kxm/lib/kxmtest"
)

// browser is a headless Chromium with one tab, driven over its debugging pipe.
type browser struct {
	t       *testing.T
	out     *os.File
	answers chan message
	session string
	next    int
	// What the page asked for and complained about.
	requests, complaints []string
}

// message is an answer or an event of the DevTools protocol.
type message struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct{ Message string }
}

// openBrowser starts Chromium.
func openBrowser(t *testing.T) *browser {
	t.Helper()
	path := kxmtest.Need(t, "chromium")
	in, toBrowser, err1 := os.Pipe()
	fromBrowser, out, err2 := os.Pipe()
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	args := []string{"--headless", "--remote-debugging-pipe", "--disable-gpu", "--no-first-run", "--lang=en-US", "--user-data-dir=" + t.TempDir(), "about:blank"}
	if os.Getuid() == 0 { // its sandbox does not work for root
		args = append([]string{"--no-sandbox"}, args...)
	}
	cmd := exec.Command(path, args...)
	cmd.ExtraFiles = []*os.File{in, out} // 3 and 4
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	out.Close()
	b := &browser{t: t, out: toBrowser, answers: make(chan message, 1000)}
	go func() {
		defer close(b.answers)
		for r := bufio.NewReader(fromBrowser); ; {
			data, err := r.ReadBytes(0)
			if err != nil {
				return
			}
			var m message
			if json.Unmarshal(data[:len(data)-1], &m) == nil {
				b.answers <- m
			}
		}
	}()
	t.Cleanup(func() {
		b.session = ""
		b.call("Browser.close", nil, nil)
		toBrowser.Close()
		_ = cmd.Wait() // how it ends does not matter
	})
	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var session struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &session)
	b.session = session.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		b.call(domain+".enable", nil, nil)
	}
	return b
}

// call sends a command and waits for its answer.
func (b *browser) call(method string, params map[string]any, result any) {
	b.t.Helper()
	b.next++
	request := map[string]any{"id": b.next, "method": method}
	if params != nil {
		request["params"] = params
	}
	if b.session != "" {
		request["sessionId"] = b.session
	}
	data, err := json.Marshal(request)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.out.Write(append(data, 0)); err != nil {
		b.t.Fatal(err)
	}
	id := b.next
	answer := b.until(func(m message) bool { return m.ID == id })
	if answer.Error != nil {
		b.t.Fatalf("%s: %s", method, answer.Error.Message)
	}
	if result != nil {
		if err := json.Unmarshal(answer.Result, result); err != nil {
			b.t.Fatal(err)
		}
	}
}

// until waits for a message and notes the events before it.
func (b *browser) until(is func(message) bool) message {
	b.t.Helper()
	limit := time.After(60 * time.Second)
	for {
		select {
		case m, ok := <-b.answers:
			if !ok {
				b.t.Fatal("the browser ended")
			}
			b.note(m)
			if is(m) {
				return m
			}
		case <-limit:
			b.t.Fatal("the browser did not answer")
		}
	}
}

func (b *browser) note(m message) {
	switch m.Method {
	case "Network.requestWillBeSent":
		var p struct{ Request struct{ URL string } }
		if json.Unmarshal(m.Params, &p) == nil {
			b.requests = append(b.requests, p.Request.URL)
		}
	case "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded", "Page.javascriptDialogOpening":
		b.complaints = append(b.complaints, m.Method+" "+string(m.Params))
	}
}

func (b *browser) open(address string) {
	b.t.Helper()
	for _, to := range []string{"about:blank", address} { // so that a page is loaded anew
		b.call("Page.navigate", map[string]any{"url": to}, nil)
		b.arrive(to)
	}
}

// arrive waits until a page is there.
func (b *browser) arrive(address string) {
	b.t.Helper()
	for range 1000 {
		if b.eval("location.href + ' ' + document.readyState") == address+" complete" {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	b.t.Fatalf("the browser does not arrive at %s", address)
}

// eval returns what an expression gives, as text.
func (b *browser) eval(expression string) string {
	b.t.Helper()
	var answer struct {
		Result           struct{ Value any }
		ExceptionDetails json.RawMessage
	}
	b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &answer)
	if answer.ExceptionDetails != nil {
		b.t.Fatalf("%s: %s", expression, answer.ExceptionDetails)
	}
	return fmt.Sprint(answer.Result.Value)
}

// want compares what an expression gives.
func (b *browser) want(expression, want string) {
	b.t.Helper()
	if got := b.eval(expression); got != want {
		b.t.Errorf("%s is %q, want %q", expression, got, want)
	}
}

// key presses a key. text is what it types, if anything.
func (b *browser) key(name, text string) {
	b.t.Helper()
	codes := map[string]int{"Tab": 9, "Enter": 13, " ": 32, "/": 191}
	params := map[string]any{"type": "keyDown", "key": name, "text": text, "windowsVirtualKeyCode": codes[name]}
	if text == "" {
		delete(params, "text")
	}
	b.call("Input.dispatchKeyEvent", params, nil)
	b.call("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": name, "windowsVirtualKeyCode": codes[name]}, nil)
}

// tabTo presses Tab until an element that fits has the focus.
func (b *browser) tabTo(selector string) {
	b.t.Helper()
	for range 100 {
		b.key("Tab", "")
		if b.eval("document.activeElement.matches("+quote(selector)+")") == "true" {
			return
		}
	}
	b.t.Fatalf("Tab does not reach %s", selector)
}

func quote(s string) string {
	data, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// shown counts the rows of the search that are visible.
const shown = `[...document.querySelectorAll("#claims > li")].filter(row => row.offsetHeight > 0).map(row => row.querySelector("code").textContent).join(" ")`

// TestSiteInABrowser uses a site as a person does who has no mouse, with records that
// would run if they could.
func TestSiteInABrowser(t *testing.T) {
	b := openBrowser(t)
	dir := t.TempDir()
	pool := filepath.Join("testdata", "hostile.ndjson")
	in, err := os.Open(pool)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var errs strings.Builder
	status := cli.Run(program(), []string{"compile", "--project", "demo", "--include", "proposals,journal", "--html", dir}, cli.Streams{
		In: in, Out: &strings.Builder{}, Err: &errs, Getenv: func(string) string { return "" }, Now: kxmtest.Now, Dir: dir,
	})
	if status != 0 {
		t.Fatalf("status %d: %s", status, &errs)
	}
	page := func(name string) string {
		return "file://" + filepath.ToSlash(filepath.Join(dir, name))
	}

	b.open(page("index.html"))
	b.want(`document.querySelectorAll("#claims > li").length`, "9")
	b.key("/", "/")
	b.want(`document.activeElement.id`, "q")
	b.call("Input.insertText", map[string]any{"text": "PNPM npm"}, nil)
	b.want(shown, "mem_pnpm")
	b.want(`document.querySelector("#found").textContent`, "1 of 9 claims")
	b.tabTo(`#claims a`)
	b.key("Enter", "\r")
	b.arrive(page("patterns.html") + "#claim-mem_pnpm")
	b.want(`document.querySelector(":target details").open`, "true")
	b.want(`document.querySelector(":target dl").innerText.includes("memory:pnpm.md")`, "true")
	b.open(page("index.html?q=ctx_2"))
	b.want(shown, "ctx_2")
	b.open(page("index.html?q=nothing+like+it"))
	b.want(shown, "")

	// The way past the navigation, a claim's provenance, and the colours, by keys alone.
	b.open(page("state.html"))
	b.key("Tab", "")
	b.want(`document.activeElement.className`, "skip")
	b.key("Enter", "\r")
	b.want(`document.activeElement.id`, "content")
	b.tabTo("details > summary")
	b.want(`document.activeElement.parentNode.open`, "false")
	b.key("Enter", "\r")
	b.want(`document.activeElement.parentNode.open`, "true")
	back := `getComputedStyle(document.body).backgroundColor`
	b.want(back, "rgb(255, 255, 255)")
	b.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": "dark"}}}, nil)
	b.want(back, "rgb(18, 22, 27)")
	b.open(page("state.html"))
	b.tabTo("#theme")
	b.key("Enter", "\r")
	b.want(back, "rgb(255, 255, 255)")
	b.want(`document.querySelector("#theme").textContent`, "Dark colours")

	// The value as of a date: before the first, in the first's time, at the very change,
	// and now.
	answer := `document.querySelector("section.key .answer").textContent`
	for date, want := range map[string]string{
		"2026-06-30": "As of 2026-06-30: no value", "2026-07-15": "As of 2026-07-15: develop",
		"2026-08-01": "As of 2026-08-01: main", "2030-01-01": "As of 2030-01-01: main",
	} {
		b.open(page("state.html?as-of=" + date))
		b.want(answer, want)
	}
	b.open(page("state.html"))
	b.tabTo("#date")
	for _, digit := range "07152026" {
		b.key(string(digit), string(digit))
	}
	b.want(`document.querySelector("#date").value`, "2026-07-15")
	b.want(answer, "As of 2026-07-15: develop")
	b.want(`[...document.querySelectorAll(".holds")].map(e => e.id).join()`, "claim-ctx_1")
	b.tabTo("button[type=reset]")
	b.key("Enter", "\r")
	b.want(`new Promise(done => setTimeout(() => done(document.querySelector("section.key .answer").hidden), 50))`, "true")

	// Sides of a contradiction stand beside one another.
	b.open(page("contradictions.html"))
	b.want(`(sides => sides.length + " " + (sides[0].getBoundingClientRect().top === sides[1].getBoundingClientRect().top))(document.querySelectorAll(".contradiction .claim"))`, "2 true")

	// Nothing that a record says ran, loaded or became an element.
	files, err := filepath.Glob(filepath.Join(dir, "*.html"))
	if err != nil || len(files) < 6 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		b.open(page(filepath.Base(file)))
		b.want(`typeof window.pwned + document.querySelectorAll("img, iframe, script[src], link, object, [onclick], [onerror]").length + document.scripts.length`, "undefined01")
		b.want(`[...document.querySelectorAll("a")].filter(a => a.protocol !== "file:").length`, "0")
	}

	// Without the script the pages are whole.
	b.call("Emulation.setScriptExecutionDisabled", map[string]any{"value": true}, nil)
	b.open(page("index.html?q=pnpm"))
	b.want(`document.querySelector("#search").offsetHeight + " " + [...document.querySelectorAll("#claims > li")].filter(row => row.offsetHeight > 0).length`, "0 9")

	for _, r := range b.requests {
		u, err := url.Parse(r)
		if err == nil && (r == "about:blank" || u.Scheme == "data") { // the picture in the browser's own date field
			continue
		}
		if err != nil || u.Scheme != "file" || !strings.HasPrefix(u.Path, filepath.ToSlash(dir)+"/") || !slices.Contains(files, filepath.FromSlash(u.Path)) {
			t.Errorf("a request left the site: %s", r)
		}
	}
	if len(b.requests) < 10 {
		t.Errorf("requests are not seen: %q", b.requests)
	}
	for _, c := range b.complaints {
		t.Errorf("the page complained: %s", c)
	}
}
