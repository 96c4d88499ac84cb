package steel

import (
	"bytes"
	"context"
	"encoding/binary"
	"image"
	"math"

	"kxm/lib/cdp"
	"kxm/lib/fault"
)

// maxPictureHeight is how high a picture of a whole page is at most, in pixels:
// Chromium's largest texture.
const maxPictureHeight = 16384

// ShotOptions say what a picture shows.
type ShotOptions struct {
	Full    bool   // the whole page
	Within  Aim    // an element
	Choice  Choice // of it
	Image   string // png, jpeg or webp
	Quality int    // of jpeg and webp; 0 is the browser's own
}

// Shot is a picture of a page.
type Shot struct {
	Bytes         []byte
	Width, Height int
	Cut           bool // the page is higher than a picture can be
}

// Shot takes a picture of what the tab shows.
func (p *Page) Shot(ctx context.Context, o *ShotOptions) (*Shot, error) {
	// A tab in the background is not drawn.
	front := p.Send("Page.bringToFront", nil)
	params := map[string]any{"format": o.Image}
	if o.Quality > 0 {
		params["quality"] = o.Quality
	}
	shot := &Shot{}
	clip, err := p.clip(ctx, o)
	if err != nil {
		return nil, err
	}
	if clip != nil {
		if clip.Height > maxPictureHeight {
			clip.Height, shot.Cut = maxPictureHeight, true
		}
		clip.Width = min(clip.Width, maxPictureHeight)
		if clip.Width < 1 || clip.Height < 1 {
			return nil, fault.New(fault.SteelTargetHidden, "there is nothing to take a picture of")
		}
		params["captureBeyondViewport"] = true
		params["clip"] = map[string]any{
			"x": math.Floor(clip.X), "y": math.Floor(clip.Y), "width": math.Ceil(clip.Width), "height": math.Ceil(clip.Height), "scale": 1,
		}
	}
	if err := front.Wait(ctx, nil); err != nil {
		return nil, err
	}
	var taken struct {
		Data []byte `json:"data"` // base64
	}
	if err := p.Call(ctx, "Page.captureScreenshot", params, &taken); err != nil {
		return nil, unsupported(err, "pictures", "Unable to capture screenshot", "'Page.captureScreenshot' wasn't found")
	}
	shot.Bytes = taken.Data
	shot.Width, shot.Height = pictureSize(taken.Data)
	return shot, nil
}

// clip is the part of the document that a picture shows, or nil for what the window
// shows.
func (p *Page) clip(ctx context.Context, o *ShotOptions) (*Rect, error) {
	if !o.Full && o.Within == (Aim{}) {
		return nil, nil
	}
	var box *Rect
	metrics := p.Send("Page.getLayoutMetrics", nil)
	if o.Within != (Aim{}) {
		e, err := p.Locate(ctx, o.Within, o.Choice)
		if err != nil {
			return nil, err
		}
		// A picture is taken of what is drawn: a part that scrolls by itself, or a frame,
		// draws no more than it shows.
		if err := e.intoSight(ctx); err != nil {
			return nil, err
		}
		metrics = p.Send("Page.getLayoutMetrics", nil)
		r, err := e.Box(ctx)
		if err != nil {
			return nil, err
		}
		box = &r
	}
	var m struct {
		Content Rect `json:"cssContentSize"`
		Window  struct {
			X float64 `json:"pageX"`
			Y float64 `json:"pageY"`
		} `json:"cssVisualViewport"`
	}
	if err := metrics.Wait(ctx, &m); err != nil {
		return nil, err
	}
	if box == nil {
		return &m.Content, nil
	}
	box.X += m.Window.X
	box.Y += m.Window.Y
	return box, nil
}

// PDF prints the page as a document of A4 or what its style says.
func (p *Page) PDF(ctx context.Context) ([]byte, error) {
	var printed struct {
		Data []byte `json:"data"` // base64
	}
	err := p.Call(ctx, "Page.printToPDF", map[string]any{"printBackground": true, "preferCSSPageSize": true}, &printed)
	if err != nil {
		return nil, unsupported(err, "documents", "PrintToPDF is not", "Printing is not available", "Printing failed", "'Page.printToPDF' wasn't found")
	}
	return printed.Data, nil
}

// unsupported turns what a browser says of something that it cannot do into ours.
func unsupported(err error, what string, sayings ...string) error {
	for _, text := range sayings {
		if cdp.Says(err, text) {
			return fault.New(fault.SteelUnsupported, "the server's browser makes no %s: %s", what, clean(err.Error(), quoted))
		}
	}
	return err
}

// pictureSize returns the size of a picture, or zeros if it cannot be read.
func pictureSize(data []byte) (width, height int) {
	if c, _, err := image.DecodeConfig(bytes.NewReader(data)); err == nil {
		return c.Width, c.Height
	}
	return webpSize(data)
}

// webpSize reads the head of a WebP file: RFC 9649, sections 2.5 to 2.7.
func webpSize(data []byte) (width, height int) {
	if len(data) < 30 || string(data[:4]) != "RIFF" || string(data[8:12]) != "WEBP" {
		return 0, 0
	}
	chunk := data[20:]
	switch string(data[12:16]) {
	case "VP8 ":
		return int(binary.LittleEndian.Uint16(chunk[6:]) & 0x3fff), int(binary.LittleEndian.Uint16(chunk[8:]) & 0x3fff)
	case "VP8L":
		bits := binary.LittleEndian.Uint32(chunk[1:])
		return int(bits&0x3fff) + 1, int(bits>>14&0x3fff) + 1
	case "VP8X":
		at := func(i int) int { return int(chunk[i]) | int(chunk[i+1])<<8 | int(chunk[i+2])<<16 }
		return at(4) + 1, at(7) + 1
	}
	return 0, 0
}
