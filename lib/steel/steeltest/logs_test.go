package steeltest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// logged is what the log is answered with.
type logged struct {
	Events  []loggedEvent
	Total   int
	HasMore bool
	Message string
}

type loggedEvent struct {
	Type, Timestamp, PageID, TargetType string
	Console                             *consoleBody
	Request                             *requestBody
	Response                            *responseBody
	Error                               *errorBody
	Data                                any
}

func logs(t *testing.T, s *Server, query string) (int, logged) {
	t.Helper()
	status, body := ask(t, "GET", s.URL+"/v1/logs/query?"+query, "")
	var l logged
	if err := json.Unmarshal([]byte(body), &l); err != nil {
		t.Fatalf("%d %s: %v", status, body, err)
	}
	return status, l
}

func TestLogQuery(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 9, 1, 12, 0, 0, 999_000, time.UTC)
	s := New(func() time.Time { return now })
	defer s.Close()
	if _, l := logs(t, s, ""); l.Events == nil || l.Total != 0 || l.HasMore {
		t.Errorf("an empty log is %+v", l)
	}
	for i, page := range []string{"A", "A", "B", "A", "B"} {
		if i != 1 { // the first two are of the same millisecond
			now = now.Add(time.Second)
		}
		kind := []string{"Console", "Request"}[i%2]
		s.log.add(event{kind: kind, at: s.time(), page: page, key: "console", body: consoleBody{Text: string(rune('a' + i))}})
	}
	for _, c := range []struct{ query, want string }{
		{"", "e d c a b"},
		{"limit=2", "e d more"},
		{"limit=2&offset=2", "c a more"},
		{"limit=2&offset=4", "b"},
		{"offset=9", ""},
		{"pageId=B", "e c"},
		{"pageId=none", ""},
		{"eventTypes=Console", "e c a"},
		{"eventTypes=Console,Request,Other&pageId=A", "d a b"},
		{"startTime=2026-09-01T12:00:03Z", "e d"},
		{"startTime=2026-09-01T12:00:02.000Z&endTime=2026-09-01T12:00:03.000Z", "d c"},
		{"targetType=page&limit=1000", "e d c a b"},
		{"targetType=service_worker", ""},
	} {
		status, l := logs(t, s, c.query)
		var got []string
		for _, e := range l.Events {
			got = append(got, e.Console.Text)
		}
		if l.HasMore {
			got = append(got, "more")
		}
		if status != 200 || strings.Join(got, " ") != c.want {
			t.Errorf("%s: %d %v, want %s", c.query, status, got, c.want)
		}
	}
	if _, l := logs(t, s, "limit=1"); l.Total != 5 || l.Events[0].Timestamp != "2026-09-01T12:00:04.000Z" || l.Events[0].TargetType != "page" {
		t.Errorf("%+v", l)
	}
	for query, want := range map[string]string{
		"limit=0": "limit must be >= 1", "limit=1001": "limit must be <= 1000", "limit=x": "limit must be integer", "limit=1.5": "limit must be integer",
		"offset=-1": "offset must be >= 0", "startTime=yesterday": `startTime must match format "date-time"`, "startTime=2026-09-01T12:00:00%2B02:00": "startTime must match",
	} {
		if status, l := logs(t, s, query); status != 400 || !strings.Contains(l.Message, want) {
			t.Errorf("%s: %d %s", query, status, l.Message)
		}
	}
	// Recording events take others' room.
	s.Set("recording", "997")
	if _, l := logs(t, s, "eventTypes=Console,Request"); l.Total != 3 {
		t.Errorf("%d are left", l.Total)
	}
	s.Set("recording", "5000")
	if _, l := logs(t, s, "limit=1"); l.Total != ringSize || l.Events[0].Type != "Recording" || l.Events[0].PageID != "" || l.Events[0].Data == nil {
		t.Errorf("%+v", l)
	}
	s.Set("mode", "cloud")
	if status, _ := logs(t, s, ""); status != 404 {
		t.Errorf("the cloud's log: %d", status)
	}
}

// Every tab is in the log, from its first request on, and a release clears nothing.
func TestLogOfABrowser(t *testing.T) {
	t.Parallel()
	s, site := newBrowser(t), newSite(t)
	create(t, s, `{"sessionId":"a"}`)
	v := open(t, s)
	v.visit(site.URL + "/console")
	v.visit(site.URL + "/fetch")
	v.until(`out.textContent == "200 500 failed"`)
	v.visit(site.URL + "/redirect")
	v.eval(`console.log("last", {a: 1}, [2], null, undefined, 1.5, "two"); setTimeout(() => { throw "thrown" }); window.open("/inner") != null`)
	for site.Count("GET", "/inner") == 0 {
		time.Sleep(pollTime)
	}
	_, before := logs(t, s, "limit=1000")
	if status, _ := ask(t, "POST", s.URL+"/v1/sessions/a/release", "{}"); status != 200 {
		t.Errorf("release: %d", status)
	}
	_, after := logs(t, s, "limit=1000")
	if before.Total < 20 || after.Total < before.Total {
		t.Errorf("%d events before a release, %d after it", before.Total, after.Total)
	}

	said := told(t, s, "eventTypes=Console,PageError&pageId="+v.target, site)
	want := []string{
		"log: a log Object Array(1) @/console:10:9", "debug: a debug @/console:11:9", "info: an info @/console:12:9", "warning: a warning @/console:13:9",
		"error: an error @/console:14:9", "log: with a key AKIA" + "Z3MSKLQ7ZQ2V5J4D @/console:15:9",
		"Error: boom|    at /console:19:26", "boom+", "Error: a rejection|    at /console:18:16", "a rejection+",
		"log: last Object Array(1) null <unknown> 1.5 two @:1:9", "Uncaught", "",
	}
	slices.Sort(said)
	slices.Sort(want)
	if !slices.Equal(said, want) {
		t.Errorf("said was\n%s\nwant\n%s", strings.Join(said, "\n"), strings.Join(want, "\n"))
	}
	traffic := told(t, s, "limit=1000&eventTypes=Request,Response,RequestFailed", site)
	for _, line := range []string{
		"GET /console Document", "200 /console text/html", "GET /status/404 Image", "404 /status/404 text/html",
		"GET /api/ping Fetch", "200 /api/ping application/json", "POST /api/fail Fetch", "500 /api/fail application/json",
		"GET /api/drop Fetch", "net::ERR_EMPTY_RESPONSE /api/drop", "GET /redirect Document", "GET /about Document", "200 /about text/html", "GET /inner Document",
	} {
		if !slices.Contains(traffic, line) {
			t.Errorf("no %s in\n%s", line, strings.Join(traffic, "\n"))
		}
	}
	if i := slices.Index(traffic, "GET /console Document"); i != 0 || slices.Contains(traffic, "302 /redirect ") {
		t.Errorf("the traffic is\n%s", strings.Join(traffic, "\n"))
	}
	if err := s.CrashPage(t.Context(), "about:blank"); err != nil {
		t.Fatal(err)
	}
	for len(told(t, s, "eventTypes=Error", site)) == 0 {
		time.Sleep(pollTime)
	}
	if errors := told(t, s, "eventTypes=Error", site); len(errors) != 1 || errors[0] != "Page crashed!" {
		t.Errorf("errors are %q", errors)
	}
}

// told is what the log says, oldest first, in short: without the site's address, line ends as |,
// and a + for a stack of its own.
func told(t *testing.T, s *Server, query string, site *Site) []string {
	t.Helper()
	_, l := logs(t, s, query)
	slices.SortStableFunc(l.Events, func(a, b loggedEvent) int { return strings.Compare(a.Timestamp, b.Timestamp) })
	var told []string
	for _, e := range l.Events {
		if e.PageID == "" || e.TargetType != "page" {
			t.Errorf("%+v is of no page", e)
		}
		line := ""
		switch {
		case e.Console != nil:
			line = e.Console.Level + ": " + e.Console.Text + " @" + e.Console.Loc
		case e.Request != nil:
			line = e.Request.Method + " " + e.Request.URL + " " + e.Request.Type
		case e.Response != nil:
			line = fmt.Sprint(e.Response.Status) + " " + e.Response.URL + " " + e.Response.MIME
		case e.Error != nil:
			line = e.Error.Message
			if e.Error.URL != "" {
				line += " " + e.Error.URL
			}
			if e.Error.Stack != "" {
				line += "+"
			}
		}
		told = append(told, strings.NewReplacer(site.URL, "", "\n", "|").Replace(line))
	}
	return told
}
