package steel

import (
	"context"
	"strings"
	"time"

	"kxm/lib/fault"
)

// NetworkEntry is a request of a page.
type NetworkEntry struct {
	Schema string    `json:"schema"`
	At     time.Time `json:"at"`
	Method string    `json:"method,omitempty"` // "" where the browser does not tell
	URL    string    `json:"url"`
	Status int       `json:"status,omitempty"` // 0: none came, or it is not told
	Type   string    `json:"type,omitempty"`
	Failed bool      `json:"failed"` // there was no answer, or one of 400 or above
}

// maxRequests is how many requests are printed, the newest.
const maxRequests = 1000

// Network returns the requests of the tab, oldest first: from the server's log, or where
// there is none from what the current document remembers. Headers and bodies are in
// neither.
func (p *Page) Network(ctx context.Context, since time.Duration, failed bool) (entries []NetworkEntry, warnings []string, err error) {
	from := p.since(since)
	log, err := p.serverLog(ctx, from)
	if err != nil {
		return nil, nil, err
	}
	if log.present {
		if !log.whole {
			warnings = append(warnings, notWhole)
		}
		entries = requestsOf(log.events)
	} else {
		warnings = append(warnings, "the server keeps no log: these are the requests of the current document alone")
		if entries, err = p.timedRequests(ctx); err != nil {
			return nil, nil, err
		}
	}
	var wanted []NetworkEntry
	for _, e := range entries {
		if failed && !e.Failed || since > 0 && e.At.Before(from) {
			continue
		}
		e.Schema, e.URL = "kxm.steel-request.v1", clean(p.service.Secrets.Mask(PrintedURL(e.URL)), maxConsoleText)
		e.Method, e.Type = clean(e.Method, maxMessage), strings.ToLower(clean(e.Type, maxMessage))
		wanted = append(wanted, e)
	}
	return wanted[max(0, len(wanted)-maxRequests):], warnings, nil
}

// requestsOf puts requests and their answers together, which nothing but the address
// connects: the first answer is that of the first request.
func requestsOf(events []logEvent) []NetworkEntry {
	var all []NetworkEntry
	open := map[string][]int{}
	answer := func(url string, set func(*NetworkEntry)) {
		if waiting := open[url]; len(waiting) > 0 {
			set(&all[waiting[0]])
			open[url] = waiting[1:]
		}
	}
	for _, e := range events {
		switch e.Type {
		case "Request":
			open[e.Request.URL] = append(open[e.Request.URL], len(all))
			all = append(all, NetworkEntry{At: e.At, Method: e.Request.Method, URL: e.Request.URL, Type: e.Request.Type})
		case "Response":
			answer(e.Response.URL, func(n *NetworkEntry) { n.Status, n.Failed = e.Response.Status, e.Response.Status >= 400 })
		case "RequestFailed":
			answer(e.Error.URL, func(n *NetworkEntry) { n.Failed = true })
		}
	}
	return all
}

// timedRequests are those that the document remembers for measuring.
func (p *Page) timedRequests(ctx context.Context) ([]NetworkEntry, error) {
	var told struct {
		Supported bool `json:"supported"`
		Requests  []struct {
			At     float64 `json:"at"`
			URL    string  `json:"url"`
			Type   string  `json:"type"`
			Status int     `json:"status"`
		} `json:"requests"`
	}
	if err := p.ask(ctx, p.tab.TargetID, "requests", []any{maxRequests}, &told); err != nil {
		return nil, err
	}
	if !told.Supported {
		return nil, fault.New(fault.SteelUnsupported, "neither the server nor its browser remembers requests")
	}
	var all []NetworkEntry
	for _, r := range told.Requests {
		all = append(all, NetworkEntry{At: atMillisecond(r.At), URL: r.URL, Type: r.Type, Status: r.Status, Failed: r.Status >= 400})
	}
	return all, nil
}
