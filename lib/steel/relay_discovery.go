package steel

import (
	"context"
	"net/http"

	"kxm/lib/cdp"
	"kxm/lib/ndjson"
)

// discover answers what Chromium answers over HTTP on its debugging port. The browser is
// asked each time: what it is and which targets it has.
func (r *Relay) discover(w http.ResponseWriter, q *http.Request, path string) {
	var answer any
	var err error
	switch path {
	case "json/version":
		answer, err = r.version(q)
	case "json", "json/list":
		answer, err = r.targets(q)
	default:
		http.NotFound(w, q)
		return
	}
	if err != nil {
		r.unavailable(w, err)
		return
	}
	body, err := ndjson.Marshal(answer)
	if err != nil {
		r.unavailable(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(body) // a client that is gone needs no answer
}

// browserVersion is the answer of /json/version; its names are Chromium's.
type browserVersion struct {
	Browser   string `json:"Browser"`
	Protocol  string `json:"Protocol-Version"`
	UserAgent string `json:"User-Agent"`
	V8        string `json:"V8-Version"`
	WebKit    string `json:"WebKit-Version"`
	SocketURL string `json:"webSocketDebuggerUrl"`
}

func (r *Relay) version(q *http.Request) (*browserVersion, error) {
	var v struct {
		Protocol  string `json:"protocolVersion"`
		Product   string `json:"product"`
		Revision  string `json:"revision"`
		UserAgent string `json:"userAgent"`
		JS        string `json:"jsVersion"`
	}
	err := r.ask(q, "Browser.getVersion", &v)
	// WebKit's version has been this one ever since Chromium left WebKit.
	return &browserVersion{v.Product, v.Protocol, v.UserAgent, v.JS, "537.36 (" + v.Revision + ")", r.SocketURL()}, err
}

// listedTarget is a line of /json/list. It has no WebSocket of its own, as Chromium says
// of a target that somebody debugs already: there is one connection, the browser's, and
// targets are attached to over it.
type listedTarget struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Type  string `json:"type"`
	URL   string `json:"url"`
}

func (r *Relay) targets(q *http.Request) ([]listedTarget, error) {
	var v struct {
		Targets []struct {
			ID    string `json:"targetId"`
			Title string `json:"title"`
			Type  string `json:"type"`
			URL   string `json:"url"`
		} `json:"targetInfos"`
	}
	err := r.ask(q, "Target.getTargets", &v)
	all := []listedTarget{}
	for _, t := range v.Targets {
		all = append(all, listedTarget{t.ID, t.Title, t.Type, t.URL})
	}
	return all, err
}

// ask makes one call over a connection of its own.
func (r *Relay) ask(q *http.Request, method string, result any) error {
	socket, err := r.dial(q)
	if err != nil {
		return err
	}
	conn := cdp.NewConn(socket)
	defer conn.Close()
	ctx, cancel := context.WithTimeout(q.Context(), discoveryTime)
	defer cancel()
	defer context.AfterFunc(r.ctx, cancel)()
	return conn.Call(ctx, "", method, nil, result)
}
