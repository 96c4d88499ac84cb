package steel

import (
	"bytes"
	"context"
	"encoding/json"
	"image"
	_ "image/jpeg" // what the open-source server sends
	_ "image/png"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"kxm/lib/fault"
	"kxm/lib/ndjson"
)

// ScrapeFormats are the forms of a page's text that the server makes.
var ScrapeFormats = []string{"markdown", "html", "cleaned_html", "readability"}

// DefaultScrapeBytes is how much of a page's text is printed.
const DefaultScrapeBytes = 256 << 10

// ScrapeOptions say what is wanted of a page.
type ScrapeOptions struct {
	URL      string
	Format   string
	Delay    time.Duration // before the page is read
	Links    bool
	MaxBytes int // of the content; 0 is no limit
	Force    bool
}

// Scrape is a page's text.
type Scrape struct {
	Schema    string            `json:"schema"`
	URL       string            `json:"url"`
	Title     string            `json:"title"`
	Format    string            `json:"format"`
	Content   string            `json:"content"`
	Truncated bool              `json:"truncated"`
	Links     []json.RawMessage `json:"links,omitempty"`
	Warnings  []string          `json:"warnings,omitempty"`
}

// Scrape reads one page on the server, without a session.
func (s *Service) Scrape(ctx context.Context, o *ScrapeOptions) (*Scrape, error) {
	body := struct {
		URL    string   `json:"url"`
		Format []string `json:"format"`
		Delay  int64    `json:"delay,omitempty"`
	}{o.URL, []string{o.Format}, o.Delay.Milliseconds()}
	r, warnings, err := s.oneShot(ctx, o.URL, o.Force, call{method: "POST", path: "/v1/scrape", body: body, most: maxJSON})
	if err != nil {
		return nil, err
	}
	var page struct {
		Content  map[string]json.RawMessage `json:"content"`
		Metadata struct {
			Title string `json:"title"`
		} `json:"metadata"`
		Links []json.RawMessage `json:"links"`
	}
	const name = "POST /v1/scrape"
	if err := decode(name, r.body, &page); err != nil {
		return nil, err
	}
	raw, ok := page.Content[o.Format]
	if !ok {
		return nil, badResponse(name, "content."+o.Format, "is missing")
	}
	a := &Scrape{Schema: "kxm.steel-scrape.v1", URL: PrintedURL(o.URL), Title: page.Metadata.Title, Format: o.Format, Warnings: warnings}
	// What readability makes is an object, which stands as the JSON that it is.
	if a.Content, ok = ndjson.Text(raw); !ok {
		a.Content = string(raw)
	}
	a.Content = withoutCursor(a.Content)
	a.Content, a.Truncated = cutText(a.Content, o.MaxBytes)
	if o.Links {
		a.Links = page.Links
	}
	return a, nil
}

// cutText cuts a text to at most n bytes, between two characters.
func cutText(text string, n int) (string, bool) {
	if n <= 0 || len(text) <= n {
		return text, false
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n], true
}

// withoutCursor removes the element that the server puts into each page to draw a
// pointer.
func withoutCursor(html string) string {
	const start, end = `<div id="__cursor__"`, `</div>`
	for {
		i := strings.Index(html, start)
		if i < 0 {
			return html
		}
		j := strings.Index(html[i:], end)
		if j < 0 {
			return html
		}
		html = html[:i] + html[i+j+len(end):]
	}
}

// Picture is an image of a page.
type Picture struct {
	Bytes         []byte
	Width, Height int
	Warnings      []string
}

// Screenshot takes a picture of one page on the server, without a session.
func (s *Service) Screenshot(ctx context.Context, page string, full, force bool) (*Picture, error) {
	body := struct {
		URL      string `json:"url"`
		FullPage bool   `json:"fullPage"`
	}{page, full}
	r, warnings, err := s.oneShot(ctx, page, force, call{method: "POST", path: "/v1/screenshot", body: body, most: maxImage})
	if err != nil {
		return nil, err
	}
	data := r.body
	if s.Settings.Mode == Cloud && ndjson.Kind(bytes.TrimSpace(data)) == '{' {
		if data, err = s.fetchResult(ctx, data); err != nil {
			return nil, err
		}
	}
	config, _, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil, badResponse("POST /v1/screenshot", "", "is no picture")
	}
	return &Picture{data, config.Width, config.Height, warnings}, nil
}

// oneShot sends a call that loads a page. On the open-source server it runs in the
// browser of whatever session is live, and navigates its page away.
func (s *Service) oneShot(ctx context.Context, page string, force bool, c call) (r *reply, warnings []string, err error) {
	if err := CheckPageURL(page); err != nil {
		return nil, nil, err
	}
	c.limit, c.changes = s.Limits.OneShot, true
	if s.Settings.Mode == Cloud {
		r, err = s.load(ctx, c)
		return r, nil, err
	}
	err = s.locked(ctx, func() error {
		list, err := s.List(ctx)
		if err != nil {
			return err
		}
		if live := list.Live(); len(live) > 0 {
			if !force {
				return fault.New(fault.SteelScrapeLive, "the session %s is live, and the call would navigate its page away", fault.Quote(live[0].ID)).
					WithHint("release it, or say --force")
			}
			warnings = append(warnings, "the page of the live session was navigated away")
		}
		r, err = s.load(ctx, c)
		return err
	})
	return r, warnings, err
}

// load sends a call that loads a page, and tells a page that cannot be loaded from a
// server that fails.
func (s *Service) load(ctx context.Context, c call) (*reply, error) {
	late, cancel := lingering(ctx)
	defer cancel()
	r, err := s.roundTrip(late, c)
	if err != nil {
		return nil, err
	}
	if r.status == http.StatusInternalServerError {
		if text := ServerMessage(r.body); strings.HasPrefix(text, "net::ERR_") {
			word, _, _ := strings.Cut(text, " ") // the address follows
			return nil, fault.New(fault.SteelNavigationFailed, "the page could not be loaded: %s", fault.Printable(clip(word)))
		}
	}
	if r.status >= 300 {
		return nil, s.refusal(&c, r)
	}
	return r, nil
}

// fetchResult fetches what the cloud keeps for us at another address. No key goes
// there.
func (s *Service) fetchResult(ctx context.Context, answer []byte) ([]byte, error) {
	const name = "POST /v1/screenshot"
	var at struct {
		URL string `json:"url"`
	}
	if err := decode(name, answer, &at); err != nil {
		return nil, err
	}
	u, err := url.Parse(at.URL)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && !(u.Scheme == "http" && isLoopback(u.Hostname())) {
		return nil, badResponse(name, "url", "is no address")
	}
	elsewhere := Settings{API: Base{u.Scheme, u.Host, u.EscapedPath()}}
	path := ""
	if u.RawQuery != "" {
		path = "?" + u.RawQuery
	}
	e := &Endpoint{Settings: &elsewhere, HTTP: s.HTTP, Secrets: s.Secrets, Limits: s.Limits}
	r, err := e.send(ctx, call{method: "GET", path: path, shown: "the result", limit: s.Limits.Read, most: maxImage, bare: true})
	if err != nil {
		return nil, err
	}
	return r.body, nil
}
