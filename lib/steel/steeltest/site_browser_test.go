package steeltest

import (
	"encoding/json"
	"io/fs"
	"strings"
	"sync"
	"testing"
)

// The site's scripts run without an error, and its pages do what they are for.
func TestSiteInABrowser(t *testing.T) {
	t.Parallel()
	s, site := newBrowser(t), newSite(t)
	v := open(t, s)
	var mu sync.Mutex
	var thrown []string
	v.conn.On(v.session, "Runtime.exceptionThrown", func(params json.RawMessage) {
		mu.Lock()
		defer mu.Unlock()
		thrown = append(thrown, string(params))
	})
	v.conn.On(v.session, "Page.javascriptDialogOpening", func(json.RawMessage) {
		v.conn.Send(v.session, "Page.handleJavaScriptDialog", map[string]any{"accept": true, "promptText": "Ada"})
	})
	v.call("Runtime.enable", nil, nil)
	v.signIn(site)
	names, err := fs.Glob(pages, "site/*.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		name = strings.TrimSuffix(strings.TrimPrefix(name, "site/"), ".html")
		if name != "login" && name != "code" && name != "console" {
			v.visit(site.URL + "/" + name)
		}
	}
	mu.Lock()
	if len(thrown) > 0 {
		t.Errorf("exceptions: %s", thrown)
	}
	mu.Unlock()

	for _, c := range []struct{ path, act, until string }{
		{"/dialogs", `setTimeout(() => c.click())`, `out.textContent == "confirm true"`},
		{"/dialogs", `setTimeout(() => p.click())`, `out.textContent == "prompt Ada"`},
		{"/late-alert?ms=1", ``, `out.textContent == "late over"`},
		{"/shadow", `document.getElementById("open").shadowRoot.querySelector("button").click()`, `out.textContent == "pressed open, field "`},
		{"/list", `next.click(); document.querySelectorAll("li button")[2].click()`, `out.textContent == "bought 7"`},
		{"/push", `document.querySelector("button").click()`, `location.pathname == "/push/2" && step.textContent == "2"`},
		{"/push/9", ``, `step.textContent == "1"`},
		{"/fields", `phone.value = "5551234"; phone.dispatchEvent(new Event("input"))`, `phone.value == "555-1234"`},
		{"/choices", `box.click()`, `out.textContent == "box true" && box.ariaChecked == "true" && some.indeterminate`},
		{"/restless?n=3", `document.body.click()`, `location.search == "?n=4"`},
		{"/waits?ms=1", ``, `document.querySelector("button") && location.search == "?over=1"`},
		{"/fetch", ``, `out.textContent == "200 500 failed"`},
		{"/frames", ``, `frames[2].document.body.textContent == "Press inline"`},
		{"/frames", `frames[0].document.querySelector("button").click()`, `frames[0].out.textContent == "pressed inner, field "`},
		{"/downloads", ``, `blob.href.startsWith("blob:http://127.0.0.1:")`},
		{"/buttons", ``, `document.elementFromPoint(30, innerHeight - 50) != under`},
		{"/table", ``, `document.querySelectorAll("tr").length == 501`},
		{"/nodes?n=1000", ``, `document.querySelectorAll("div > *").length == 1000`},
		{"/escape", ``, `document.querySelector("h1").textContent.includes("\x1b[31mred") && document.title.includes("\u009b2J")`},
		{"/upload", `(() => { const d = new DataTransfer(); d.items.add(new File(["a,b\n1,2\n"], "a.csv")); files.files = d.files; files.dispatchEvent(new Event("change")); })()`,
			`out.textContent == "a.csv 8 492d5ea496056f1a6a6592241032fab764c321596317930b4fa0e1e8bc3b7470"`},
	} {
		v.visit(site.URL + c.path)
		v.eval(c.act)
		v.until(c.until)
	}
	v.visit(site.URL + "/frames")
	v.until(`document.readyState == "complete"`)
	var targets struct {
		Infos []struct{ Type, URL string } `json:"targetInfos"`
	}
	if err := v.conn.Call(t.Context(), "", "Target.getTargets", nil, &targets); err != nil {
		t.Fatal(err)
	}
	frames := 0
	for _, f := range targets.Infos {
		if f.Type == "iframe" && f.URL == site.Other+"/inner" {
			frames++
		}
	}
	if frames != 1 {
		t.Errorf("the frame of the other site is no target of its own: %+v", targets)
	}
}
