package steeltest

import (
	"bytes"
	"context"
	"encoding/json"
	"image"
	"image/jpeg"
	"net/http"
)

// Size of the picture that a screenshot of a server without a browser is, in pixels.
const (
	PictureWidth  = 16
	PictureHeight = 8
)

// oneShots are the calls that show a page without a connection to it.
var oneShots = []string{"/v1/scrape", "/v1/screenshot", "/v1/pdf"}

// oneShotAsk is what they are asked.
type oneShotAsk struct {
	URL    string   `json:"url"` // "" is the page as it is
	Format []string `json:"format"`
	Delay  int64    `json:"delay"` // milliseconds before the page is read
	Full   bool     `json:"fullPage"`
}

// oneShot answers them: with a browser as its page is, and else with the same for every
// page. They drive the page of the live session, and navigate it away.
func (s *Server) oneShot(w http.ResponseWriter, r *http.Request, path string, body []byte) {
	s.delay("delay-scrape")
	var ask oneShotAsk
	if json.Unmarshal(body, &ask) != nil {
		return
	}
	if message := s.knob("load"); message != "" {
		reply(w, 500, map[string]any{"message": message})
		return
	}
	var page map[string]any
	var file []byte
	var err error
	switch b := s.behind(); {
	case b == nil && path == "/v1/scrape":
		page = example(&ask)
	case b == nil && path == "/v1/screenshot":
		file = jpegPicture()
	case b == nil:
		file = []byte("%PDF-1.4\n%%EOF\n")
	default:
		ctx, cancel := s.until(r)
		defer cancel()
		page, file, err = b.show(ctx, path, &ask)
	}
	switch {
	case err != nil:
		reply(w, 500, map[string]any{"message": err.Error()})
	case page != nil:
		reply(w, 200, page)
	case s.knob("mode") == "cloud":
		s.mu.Lock()
		s.kept = file
		s.mu.Unlock()
		reply(w, 200, map[string]any{"url": s.URL + "/result?name=a"})
	default:
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Write(file)
	}
}

// until returns a context that ends when the client gives up, or the server ends.
func (s *Server) until(r *http.Request) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(r.Context())
	go func() {
		select {
		case <-s.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// example is a page that holds the pointer which the server puts into each, and says 200
// whatever the page said.
func example(ask *oneShotAsk) map[string]any {
	content := map[string]any{}
	for _, f := range ask.Format {
		switch f {
		case "markdown":
			content[f] = "# Example é\n\nHello.\n"
		case "readability":
			content[f] = map[string]any{"title": "Example", "length": 5}
		default:
			content[f] = `<h1>Example é</h1><div id="__cursor__" style="top:1px"></div><p>Hello.</p>`
		}
	}
	return map[string]any{
		"content": content, "metadata": map[string]any{"title": "Example", "statusCode": 200},
		"links": []any{map[string]any{"url": "https://example.com/a", "text": "A"}},
	}
}

// result is what the cloud's last answer points to.
func (s *Server) result(w http.ResponseWriter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", http.DetectContentType(s.kept))
	w.Write(s.kept)
}

func jpegPicture() []byte {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, image.NewGray(image.Rect(0, 0, PictureWidth, PictureHeight)), nil); err != nil {
		panic(err) // a picture in memory always encodes
	}
	return b.Bytes()
}
