package steeltest

import (
	"bytes"
	"encoding/json"
	"image"
	"image/jpeg"
	"net/http"
)

// Size of the picture that a screenshot is, in pixels.
const (
	PictureWidth  = 16
	PictureHeight = 8
)

// scrape answers with a page that holds the pointer which the server puts into each,
// and says 200 whatever the page said.
func (s *Server) scrape(w http.ResponseWriter, body []byte) {
	var ask struct {
		URL    string   `json:"url"`
		Format []string `json:"format"`
	}
	if json.Unmarshal(body, &ask) != nil || s.failsToLoad(w) {
		return
	}
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
	reply(w, 200, map[string]any{
		"content": content, "metadata": map[string]any{"title": "Example", "statusCode": 200},
		"links": []any{map[string]any{"url": "https://example.com/a", "text": "A"}},
	})
}

func (s *Server) screenshot(w http.ResponseWriter, body []byte) {
	if s.failsToLoad(w) {
		return
	}
	if s.knob("mode") == "cloud" {
		reply(w, 200, map[string]any{"url": s.URL + "/result?name=a"})
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Write(jpegPicture())
}

// failsToLoad answers as a page that cannot be loaded does.
func (s *Server) failsToLoad(w http.ResponseWriter) bool {
	message := s.knob("load")
	if message != "" {
		reply(w, 500, map[string]any{"message": message})
	}
	return message != ""
}

func jpegPicture() []byte {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, image.NewGray(image.Rect(0, 0, PictureWidth, PictureHeight)), nil); err != nil {
		panic(err) // a picture in memory always encodes
	}
	return b.Bytes()
}
