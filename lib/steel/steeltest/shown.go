package steeltest

import (
	"context"
	_ "embed"
	"slices"
	"strings"
	"time"
)

// loadLimit is how long the real server waits for a page.
const loadLimit = 30 * time.Second

// shownScript is an expression whose value says of the document what a scrape answers.
//
//go:embed shown.js
var shownScript string

// show answers one of the calls: with an object or a file.
func (b *browser) show(ctx context.Context, path string, ask *oneShotAsk) (page map[string]any, file []byte, err error) {
	err = b.onFirst(ctx, ask, func(d *drive, doc document) error {
		switch path {
		case "/v1/scrape":
			page, err = d.scrape(ctx, doc, ask)
		case "/v1/screenshot":
			file, err = d.screenshot(ctx, ask.Full)
		default:
			file, err = d.data(ctx, "Page.printToPDF", map[string]any{"printBackground": false})
		}
		return err
	})
	return page, file, err
}

// onFirst does something with the first page, which an address navigates. If that fails,
// or what is done after it, the tab is closed and another one is the first.
func (b *browser) onFirst(ctx context.Context, ask *oneShotAsk, do func(*drive, document) error) error {
	d, err := b.firstPage(ctx)
	if err != nil {
		return err
	}
	defer d.detach()
	var doc document
	if ask.URL != "" {
		limit, _ := time.ParseDuration(b.server.knob("load-limit"))
		if limit <= 0 {
			limit = loadLimit
		}
		doc, err = d.visit(ctx, ask.URL, limit)
	}
	if err == nil && ask.Delay > 0 {
		sleep(ctx, time.Duration(ask.Delay)*time.Millisecond)
	}
	if err == nil {
		err = do(d, doc)
	}
	if err != nil && ask.URL != "" {
		if err := b.replaceFirst(d); err != nil {
			b.server.complainOf("another first page: " + err.Error())
		}
	}
	return err
}

// shown is what the script says of a document.
type shown struct {
	HTML        string           `json:"html"`
	CleanedHTML string           `json:"cleaned_html"`
	Markdown    string           `json:"markdown"`
	Readability string           `json:"readability"`
	Metadata    map[string]any   `json:"metadata"`
	Links       []map[string]any `json:"links"`
}

// scrape reads the document. Its status is told for JSON alone; HTML has 200.
func (d *drive) scrape(ctx context.Context, doc document, ask *oneShotAsk) (map[string]any, error) {
	var v shown
	var err error
	if strings.HasSuffix(doc.mime, "json") {
		v, err = d.json(ctx, doc, ask)
	} else {
		err = d.eval(ctx, shownScript, &v)
	}
	if err != nil {
		return nil, err
	}
	formats := ask.Format
	if len(formats) == 0 {
		formats = []string{"html"}
	}
	content := map[string]any{}
	for name, text := range map[string]string{"html": v.HTML, "cleaned_html": v.CleanedHTML, "markdown": v.Markdown, "readability": v.Readability} {
		if slices.Contains(formats, name) && (text != "" || doc.mime == "text/html") {
			content[name] = text
		}
	}
	return map[string]any{"content": content, "metadata": v.Metadata, "links": v.Links}, nil
}

// json is a document that is JSON, of which there is the text and markdown.
func (d *drive) json(ctx context.Context, doc document, ask *oneShotAsk) (shown, error) {
	var got struct {
		Body string `json:"body"`
	}
	err := d.call(ctx, "Network.getResponseBody", map[string]any{"requestId": doc.request}, &got)
	return shown{
		HTML: got.Body, Markdown: "```json\n" + strings.TrimSpace(got.Body) + "\n```",
		Metadata: map[string]any{"urlSource": ask.URL, "originalContentType": doc.mime, "statusCode": doc.status}, Links: []map[string]any{},
	}, err
}

// screenshot takes a picture, for which the tab comes to the front.
func (d *drive) screenshot(ctx context.Context, full bool) ([]byte, error) {
	ask := map[string]any{"format": "jpeg", "quality": 100}
	if full {
		var size struct {
			Content struct {
				Width  float64 `json:"width"`
				Height float64 `json:"height"`
			} `json:"cssContentSize"`
		}
		if err := d.call(ctx, "Page.getLayoutMetrics", nil, &size); err != nil {
			return nil, err
		}
		ask["captureBeyondViewport"] = true
		ask["clip"] = map[string]any{"x": 0, "y": 0, "width": size.Content.Width, "height": size.Content.Height, "scale": 1}
	}
	if err := d.call(ctx, "Page.bringToFront", nil, nil); err != nil {
		return nil, err
	}
	return d.data(ctx, "Page.captureScreenshot", ask)
}

// data is what a call answers with in base64.
func (d *drive) data(ctx context.Context, method string, params any) ([]byte, error) {
	var answer struct {
		Data []byte `json:"data"`
	}
	err := d.call(ctx, method, params, &answer)
	return answer.Data, err
}
