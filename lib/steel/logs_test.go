package steel

import (
	"testing"
	"time"
)

func TestRequestsOf(t *testing.T) {
	at := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	event := func(kind, url string, status int) logEvent {
		e := logEvent{Type: kind, At: at}
		e.Request.URL, e.Request.Method, e.Response.URL, e.Response.Status, e.Error.URL = url, "GET", url, status, url
		return e
	}
	got := requestsOf([]logEvent{
		event("Response", "early", 200), // its request is older than the log
		event("Request", "a", 0), event("Request", "a", 0), event("Request", "b", 0), event("Request", "never", 0),
		event("Response", "a", 200), event("RequestFailed", "b", 0), event("Response", "a", 404), event("Response", "a", 500), event("Recording", "", 0),
	})
	want := []NetworkEntry{
		{At: at, Method: "GET", URL: "a", Status: 200}, {At: at, Method: "GET", URL: "a", Status: 404, Failed: true},
		{At: at, Method: "GET", URL: "b", Failed: true}, {At: at, Method: "GET", URL: "never"},
	}
	if len(got) != len(want) {
		t.Fatalf("%d requests, want %d", len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%d: %+v, want %+v", i, got[i], want[i])
		}
	}
}

func TestSplitPlace(t *testing.T) {
	for _, c := range []struct {
		place, url string
		line       int
	}{
		{"http://h:80/p:7:12", "http://h:80/p", 7}, {"", "", 0}, {"x", "x", 0}, {"http://h/p", "http://h/p", 0}, {"a:1", "a", 1},
	} {
		if url, line := splitPlace(c.place); url != c.url || line != c.line {
			t.Errorf("%q: %q, %d", c.place, url, line)
		}
	}
}

func TestConsoleRingKeepsTheLast(t *testing.T) {
	c := &consoleRing{mask: func(s string) string { return s }, level: 1, limit: 2}
	for _, e := range []ConsoleEntry{{Level: "error", Text: "1"}, {Level: "info", Text: "no"}, {Level: "warning", Text: "2\x1b[31m"}, {Level: "error", Text: "3"}} {
		c.add(e)
	}
	if all := c.all(); len(all) != 2 || all[0].Text != "2\uFFFD[31m" || all[1].Text != "3" {
		t.Errorf("%+v", all)
	}
}

func TestConsoleRingIsInOrderOfTime(t *testing.T) {
	c := &consoleRing{mask: func(s string) string { return s }, level: 1, limit: 3}
	for _, e := range []struct {
		ms   float64
		text string
	}{{10, "a"}, {30, "c"}, {30, "d"}, {20, "b"}, {5, "old"}} {
		c.add(ConsoleEntry{At: atMillisecond(e.ms), Level: "error", Text: e.text})
	}
	if all := c.all(); len(all) != 3 || all[0].Text != "b" || all[1].Text != "c" || all[2].Text != "d" {
		t.Errorf("%+v", all)
	}
}

func TestPictureSizes(t *testing.T) {
	for _, c := range []struct {
		head          string
		width, height int
	}{
		{"RIFF\x00\x00\x00\x00WEBPVP8 \x00\x00\x00\x00\x00\x00\x00\x9d\x01\x2a\x0a\x00\x14\x00", 10, 20},
		{"RIFF\x00\x00\x00\x00WEBPVP8L\x00\x00\x00\x00\x2f\x09\xc0\x04\x00\x00\x00\x00\x00\x00", 10, 20},
		{"RIFF\x00\x00\x00\x00WEBPVP8X\x00\x00\x00\x00\x00\x00\x00\x00\x09\x00\x00\x13\x00\x00", 10, 20},
		{"RIFF\x00\x00\x00\x00WEBPVP9 \x00\x00\x00\x00\x00\x00\x00\x00\x09\x00\x00\x13\x00\x00", 0, 0},
		{"no picture", 0, 0}, {"", 0, 0},
	} {
		if w, h := pictureSize([]byte(c.head)); w != c.width || h != c.height {
			t.Errorf("%.20q: %d x %d, want %d x %d", c.head, w, h, c.width, c.height)
		}
	}
}
