package steeltest

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// publicPaths need no key: what a person looks at, and what the cloud's answers point to.
var publicPaths = []string{"/ui", "/result", viewerPath, castPath, inspectorPath}

// refused answers for the knobs that concern every call.
func (s *Server) refused(w http.ResponseWriter, r *http.Request) bool {
	public := slices.Contains(publicPaths, strings.TrimPrefix(r.URL.Path, "/prefix"))
	if key := s.knob("key"); key != "" && !public {
		switch given := s.keyOf(r); given {
		case "":
			reply(w, 401, map[string]any{"message": "no key"})
			return true
		case key:
		default:
			reply(w, 403, map[string]any{"message": "wrong key " + given})
			return true
		}
	}
	if status := s.knob("status"); status != "" {
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(atoi(status))
		fmt.Fprint(w, or(s.knob("body"), `{"message":"out of order"}`))
		return true
	}
	switch s.knob("answer") {
	case "html":
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<html><head><title>Welcome to\n <b>nginx\x1b[1m</title></head></html>")
	case "broken":
		fmt.Fprint(w, `{"sessions":[{"id":"a",`)
	case "nolist":
		fmt.Fprint(w, `{"sessions":[{"id":7,"status":"live"}]}`)
	case "large":
		chunk := strings.Repeat(" ", 1<<20)
		for range 17 {
			fmt.Fprint(w, chunk)
		}
	case "hang":
		s.hang(r)
	case "drop":
		panic(http.ErrAbortHandler)
	case "redirect":
		w.Header().Set("Location", "https://elsewhere.example.com/v1?x="+url.QueryEscape(r.Header.Get("steel-api-key")))
		if to := s.knob("to"); to != "" {
			w.Header().Set("Location", to)
		}
		w.WriteHeader(302)
	default:
		return false
	}
	return true
}

// keyOf returns the key of a request: calls have it in a header, sockets there or in
// the query, and those of the cloud in the query.
func (s *Server) keyOf(r *http.Request) string {
	header, query := or(r.Header.Get("steel-api-key"), r.Header.Get("x-steel-api-key")), r.URL.Query().Get("apiKey")
	if !isSocket(r) {
		return header
	}
	switch where := s.knob("cdp"); {
	case where == "query" || s.knob("mode") == "cloud":
		return query
	case where == "header":
		return header
	}
	return or(header, query)
}

func (s *Server) hang(r *http.Request) {
	select {
	case <-s.done:
	case <-r.Context().Done():
	}
	panic(http.ErrAbortHandler)
}

// delay waits for as long as a knob says. Who asked may be gone by then: what they asked
// for is done all the same.
func (s *Server) delay(knob string) {
	d, _ := time.ParseDuration(s.knob(knob))
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.done:
	}
}
