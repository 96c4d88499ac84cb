package steeltest

import (
	"bytes"
	"encoding/json"
	"errors"
	"image/jpeg"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// scraped is what a scrape is answered with.
type scraped struct {
	Content  map[string]string
	Metadata struct {
		Title      string
		URLSource  string
		StatusCode int
	}
	Links   []struct{ URL, Text string }
	Message string
}

func scrape(t *testing.T, s *Server, body string) (int, scraped) {
	t.Helper()
	status, text := ask(t, "POST", s.URL+"/v1/scrape", body)
	var v scraped
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%d %s: %v", status, text, err)
	}
	return status, v
}

func TestScrapeDrivesTheFirstPage(t *testing.T) {
	t.Parallel()
	s, site := newBrowser(t), newSite(t)
	create(t, s, `{"sessionId":"a"}`)
	v := open(t, s)
	v.signIn(site)

	status, page := scrape(t, s, `{"url":"`+site.URL+`/status/404","format":["html"]}`)
	if status != 200 || page.Metadata.StatusCode != 200 || page.Metadata.Title != "Status 404" || len(page.Content) != 1 {
		t.Errorf("%d %+v", status, page)
	}
	if html := page.Content["html"]; !strings.HasPrefix(html, "<html") || strings.Count(html, `<div id="__cursor__" style=`) != 1 {
		t.Errorf("html is %s", html)
	}
	if got := v.eval("location.pathname + Boolean(document.querySelector('#__cursor__'))"); got != "/status/404false" {
		t.Errorf("the session's page is at %s", got)
	}

	_, page = scrape(t, s, `{"url":"`+site.URL+`/table?rows=2","format":["markdown","cleaned_html","readability"],"delay":1}`)
	if page.Content["markdown"] != "# Table\n\n| Number | Name | Price | Action |\n| 1 | Item 1 | 3.50 | Delete 1 |\n| 2 | Item 2 | 6.50 | Delete 2 |\n\nnothing" {
		t.Errorf("markdown is %q", page.Content["markdown"])
	}
	if clean := page.Content["cleaned_html"]; strings.Contains(clean, "<script") || !strings.Contains(clean, `<a href="/about?row=1">`) || !strings.HasPrefix(page.Content["readability"], "<h1>Table") {
		t.Errorf("content is %q", page.Content)
	}
	if len(page.Links) != 2 || page.Links[0].URL != site.URL+"/about?row=1" || page.Links[0].Text != "Item 1" {
		t.Errorf("links are %v", page.Links)
	}
	_, page = scrape(t, s, `{"format":["markdown"]}`)
	if !strings.HasPrefix(page.Content["markdown"], "# Table") || page.Metadata.URLSource != site.URL+"/table?rows=2" {
		t.Errorf("the page as it is: %+v", page)
	}
	_, page = scrape(t, s, `{"url":"`+site.URL+`/api/fail","format":["html","markdown","cleaned_html"]}`)
	if page.Metadata.StatusCode != 500 || strings.TrimSpace(page.Content["html"]) != `{"pong":false}` || page.Content["markdown"] != "```json\n{\"pong\":false}\n```" || len(page.Content) != 2 {
		t.Errorf("JSON is %+v", page)
	}
	if got := v.eval("location.pathname"); got != "/api/fail" || s.Sockets() != 1 {
		t.Errorf("the session's page is at %s, %d sockets", got, s.Sockets())
	}
}

func TestScrapeThatFails(t *testing.T) {
	t.Parallel()
	s, site := newBrowser(t), newSite(t)
	v := open(t, s)
	only := func(what string) string {
		t.Helper()
		pages, err := s.chromium().Pages(t.Context())
		if err != nil || len(pages) != 1 {
			t.Fatalf("%s: %v, %v", what, pages, err)
		}
		return pages[0].ID
	}
	last := v.target
	for _, c := range []struct{ call, path, limit, want string }{
		{"scrape", "/drop", "", "net::ERR_EMPTY_RESPONSE at " + site.URL + "/drop"},
		{"screenshot", "/report.csv?open=1", "", "net::ERR_ABORTED at " + site.URL + "/report.csv?open=1"},
		{"pdf", "/loop", "", "net::ERR_TOO_MANY_REDIRECTS at " + site.URL + "/loop"},
		{"scrape", "/slow?ms=600000", "300ms", "Navigation timeout of 300 ms exceeded"},
	} {
		s.Set("load-limit", c.limit)
		status, body := ask(t, "POST", s.URL+"/v1/"+c.call, `{"url":"`+site.URL+c.path+`"}`)
		var answer scraped
		if err := json.Unmarshal([]byte(body), &answer); err != nil || status != 500 || answer.Message != c.want {
			t.Errorf("%s %s: %d %s", c.call, c.path, status, body)
		}
		now := only(c.path)
		if now == last {
			t.Errorf("%s: the tab still lives", c.path)
		}
		last = now
	}
	if status, page := scrape(t, s, `{"url":"`+site.URL+`/about"}`); status != 200 || page.Content["html"] == "" || only("/about") != last {
		t.Errorf("after that: %d %+v", status, page)
	}
	// A page that is closed is opened anew, and the other one is left alone.
	v = open(t, s)
	v.call("Target.createTarget", map[string]any{"url": site.URL + "/inner"}, nil)
	must(t, s.ClosePage(t.Context(), "/about"))
	if status, page := scrape(t, s, `{}`); status != 200 || page.Metadata.URLSource != "about:blank" {
		t.Errorf("a page that was closed: %d %+v", status, page)
	}
	if pages, err := s.chromium().Pages(t.Context()); err != nil || len(pages) != 2 {
		t.Errorf("%v, %v", pages, err)
	}
	s.Set("browser", "none")
	if status, page := scrape(t, s, `{}`); status != 500 || page.Message != "Failed to launch the browser" {
		t.Errorf("no browser: %d %+v", status, page)
	}
}

// A tab that closes leaves nobody waiting for what it was asked.
func TestATabThatClosesWhileItIsAsked(t *testing.T) {
	t.Parallel()
	s := newBrowser(t)
	d, err := s.behind().firstPage(t.Context())
	must(t, err)
	defer d.detach()
	asked := make(chan error)
	go func() { asked <- d.eval(t.Context(), "document.title = 'asked', new Promise(() => {})", nil) }()
	must(t, d.until(t.Context(), "document.title == 'asked'"))
	must(t, s.ClosePage(t.Context(), "about:blank"))
	if err := <-asked; !errors.Is(err, errTabClosed) {
		t.Errorf("%v", err)
	}
	if err := d.until(t.Context(), "true"); !errors.Is(err, errTabClosed) {
		t.Errorf("later: %v", err)
	}
	if _, err := attach(t.Context(), s.chromium().own, d.target); err == nil {
		t.Error("a tab that is closed can be attached to")
	}
}

// file posts a call whose answer is a file, and returns its type too.
func file(t *testing.T, address, body string) (mime string, data []byte) {
	t.Helper()
	r, err := http.Post(address, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	data, err = io.ReadAll(r.Body)
	if err != nil || r.StatusCode != 200 {
		t.Fatalf("%s: %d %v", address, r.StatusCode, err)
	}
	return r.Header.Get("Content-Type"), data
}

func TestPictures(t *testing.T) {
	t.Parallel()
	s, site := newBrowser(t), newSite(t)
	open(t, s) // a client that has the tab as well
	mime, data := file(t, s.URL+"/v1/screenshot", `{"url":"`+site.URL+`/pointer"}`)
	part, err := jpeg.DecodeConfig(bytes.NewReader(data))
	if err != nil || mime != "application/octet-stream" {
		t.Fatalf("%s, %v", mime, err)
	}
	_, data = file(t, s.URL+"/v1/screenshot", `{"fullPage":true}`)
	full, err := jpeg.DecodeConfig(bytes.NewReader(data))
	if err != nil || full.Height < 4000 || full.Height <= part.Height || full.Width < 300 {
		t.Errorf("all of the page is %dx%d, the window %dx%d, %v", full.Width, full.Height, part.Width, part.Height, err)
	}
	if mime, data = file(t, s.URL+"/v1/pdf", `{"url":"`+site.URL+`/about"}`); mime != "application/octet-stream" || !bytes.HasPrefix(data, []byte("%PDF-")) {
		t.Errorf("pdf: %s %.20q", mime, data)
	}
	s.Set("mode", "cloud")
	for _, call := range []string{"screenshot", "pdf"} {
		var at struct{ URL string }
		_, answer := file(t, s.URL+"/v1/"+call, `{}`)
		if err := json.Unmarshal(answer, &at); err != nil {
			t.Fatal(err)
		}
		r, err := http.Get(at.URL)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if want := map[string]string{"screenshot": "image/jpeg", "pdf": "application/pdf"}[call]; r.Header.Get("Content-Type") != want {
			t.Errorf("cloud, %s: %s", call, r.Header.Get("Content-Type"))
		}
	}
}

func TestPicturesWithoutABrowser(t *testing.T) {
	t.Parallel()
	s := New(time.Now)
	defer s.Close()
	if _, page := scrape(t, s, `{"url":"https://example.com","format":["markdown","html"]}`); page.Content["markdown"] != "# Example é\n\nHello.\n" || !strings.Contains(page.Content["html"], "__cursor__") {
		t.Errorf("%+v", page)
	}
	for call, want := range map[string]string{"screenshot": "\xff\xd8", "pdf": "%PDF-"} {
		if _, data := file(t, s.URL+"/v1/"+call, `{"url":"https://example.com"}`); !bytes.HasPrefix(data, []byte(want)) {
			t.Errorf("%s: %.20q", call, data)
		}
	}
	s.Set("load", "net::ERR_NAME_NOT_RESOLVED at https://example.com")
	for _, call := range oneShots {
		if status, body := ask(t, "POST", s.URL+call, `{"url":"https://example.com"}`); status != 500 || !strings.Contains(body, "net::ERR_NAME_NOT_RESOLVED") {
			t.Errorf("%s: %d %s", call, status, body)
		}
	}
}
