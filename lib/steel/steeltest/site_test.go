package steeltest

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"time"
)

func newSite(t *testing.T) *Site {
	t.Helper()
	s := NewSite()
	t.Cleanup(s.Close)
	return s
}

// visitor returns a client with cookies of its own.
func visitor(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar}
}

// visit asks for a page, by POST if there is a form, and returns status, body and path.
func visit(t *testing.T, c *http.Client, address string, form url.Values) (int, string, string) {
	t.Helper()
	var r *http.Response
	var err error
	if form != nil {
		r, err = c.PostForm(address, form)
	} else {
		r, err = c.Get(address)
	}
	if err != nil {
		return 0, "", ""
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(body), r.Request.URL.Path
}

func TestSiteLogin(t *testing.T) {
	t.Parallel()
	s, c := newSite(t), visitor(t)
	right := url.Values{"email": {Email}, "password": {Password}, "role": {"seller"}}
	if _, body, path := visit(t, c, s.URL+"/home", nil); path != "/" || !strings.Contains(body, "<title>Shop login</title>") || strings.Contains(body, "$") {
		t.Errorf("a stranger is at %s: %s", path, body)
	}
	if status, body, _ := visit(t, c, s.URL+"/login", url.Values{"email": {Email}, "password": {"no"}}); status != 401 || !strings.Contains(body, "Wrong email or password.") {
		t.Errorf("a wrong password: %d %s", status, body)
	}
	if status, _, _ := visit(t, c, s.URL+"/report.csv", nil); status != 403 {
		t.Errorf("a stranger's report: %d", status)
	}
	if status, body, path := visit(t, c, s.URL+"/login", right); status != 200 || path != "/home" || !strings.Contains(body, "Welcome Ada") || !strings.Contains(body, ">seller<") {
		t.Errorf("%d at %s: %s", status, path, body)
	}
	if _, body, _ := visit(t, c, s.URL+"/report.csv", nil); body != "a,b\n1,2\n" {
		t.Errorf("the report is %q", body)
	}
	last := s.Requests()[len(s.Requests())-1]
	if last.Path != "/report.csv" || !strings.Contains(last.Header.Get("Cookie"), "sid=s1") {
		t.Errorf("recorded was %+v", last)
	}
	if _, _, path := visit(t, c, s.URL+"/logout", url.Values{}); path != "/" {
		t.Errorf("after the visit: %s", path)
	}
	if _, _, path := visit(t, c, s.URL+"/home", nil); path != "/" {
		t.Errorf("a visit that is over opens %s", path)
	}
	if _, body, path := visit(t, c, s.URL+"/login?mfa=1", right); path != "/code" || !strings.Contains(body, "one-time-code") {
		t.Errorf("with a code: at %s: %s", path, body)
	}
	if status, body, _ := visit(t, c, s.URL+"/code", url.Values{"code": {"1"}}); status != 401 || !strings.Contains(body, "Wrong code.") {
		t.Errorf("a wrong code: %d %s", status, body)
	}
	if _, _, path := visit(t, c, s.URL+"/code", url.Values{"code": {Code}}); path != "/home" {
		t.Errorf("the right code leads to %s", path)
	}
}

func TestSitePages(t *testing.T) {
	t.Parallel()
	s, c := newSite(t), visitor(t)
	names, err := fs.Glob(pages, "site/*.html")
	if err != nil || len(names) < 20 {
		t.Fatalf("%v, %v", names, err)
	}
	for _, name := range names {
		name = strings.TrimSuffix(strings.TrimPrefix(name, "site/"), ".html")
		switch name {
		case "login", "home", "code":
			continue
		}
		status, body, _ := visit(t, c, s.URL+"/"+name, nil)
		if status != 200 || !strings.Contains(body, "<title>") {
			t.Errorf("/%s: %d", name, status)
		}
		for _, left := range []string{"$OTHER", "$SAME", "$CROSS", "$ESCAPE", "$COOKIES"} {
			if strings.Contains(body, left) {
				t.Errorf("/%s holds %s", name, left)
			}
		}
	}
	for _, want := range []struct {
		path, text, end string
		status          int
	}{
		{"/login", "Not found", "/login", 404},
		{"/nowhere/at/all", "Not found", "/nowhere/at/all", 404},
		{"/status/500", "Status 500", "/status/500", 500},
		{"/status/x", "Status 404", "/status/x", 404},
		{"/redirect?n=3&to=/inner", "Press inner", "/inner", 200},
		{"/push/2", "Push state", "/push/2", 200},
		{"/slow?ms=1", "Slow", "/slow", 200},
		{"/slow-body?ms=1", "The rest", "/slow-body", 200},
		{"/slow-picture?ms=1", `ms=1"`, "/slow-picture", 200},
		{"/slow-picture?ms=1&picture=1", "\xff\xd8", "/slow-picture", 200},
		{"/table?rows=3", "Delete 3", "/table", 200},
		{"/nodes?n=20", "<button>Node 20<", "/nodes", 200},
		{"/text?bytes=1000", "Jack", "/text", 200},
		{"/api/ping", "true", "/api/ping", 200},
		{"/api/fail", "false", "/api/fail", 500},
		{"/frames?cross=/late-alert", `src="` + s.Other + `/late-alert"`, "/frames", 200},
		{"/api/drop", "", "", 0},
		{"/loop", "", "", 0},
	} {
		if status, body, end := visit(t, c, s.URL+want.path, nil); status != want.status || end != want.end || !strings.Contains(body, want.text) {
			t.Errorf("%s: %d at %s: %.200q", want.path, status, end, body)
		}
	}
	if _, body, _ := visit(t, c, s.Other+"/frames", nil); !strings.Contains(body, `src="`+s.URL+"/inner") {
		t.Error("the other site's other site is not the first one")
	}
}

func TestSiteUpload(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for _, name := range []string{"a.csv", "<b>"} {
		part, err := form.CreateFormFile("files", name)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(part, strings.Repeat("x", 100_000))
	}
	form.Close()
	r, err := http.Post(s.URL+"/upload", form.FormDataContentType(), &body)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	shown, err := io.ReadAll(r.Body)
	const digest = " 100000 d69e68988157833272305aaf21f453c800346e8a3640db6578e260215542e5d4"
	if err != nil || !strings.Contains(string(shown), "a.csv"+digest) || !strings.Contains(string(shown), "\n&lt;b&gt;"+digest) {
		t.Errorf("%v: %s", err, shown)
	}
}

// Whoever gives up waiting leaves nothing running, and neither does the end of the site.
func TestSiteEndsWhatHangs(t *testing.T) {
	t.Parallel()
	s := NewSite()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, "GET", s.URL+"/endless.bin", nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if n, err := io.CopyN(io.Discard, r.Body, 10<<20); err != nil {
		t.Errorf("it ended after %d bytes: %v", n, err)
	}
	slow := make(chan struct{})
	go func() {
		defer close(slow)
		visit(t, http.DefaultClient, s.URL+"/slow?ms=600000", nil)
	}()
	for s.Count("GET", "/slow") == 0 {
		time.Sleep(time.Millisecond)
	}
	s.Close()
	<-slow
	if _, err := io.Copy(io.Discard, r.Body); err == nil {
		t.Error("a file without end has one")
	}
}
