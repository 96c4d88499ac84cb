package steel

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"strings"

	"kxm/lib/fault"
)

// File is a file that was read through a tab.
type File struct {
	URL    string
	Status int // of HTTP; 0 for what is in the page
	MIME   string
	Bytes  int64
}

// pieceSize is how much of a file is asked for at a time, in bytes.
const pieceSize = 1 << 20

// CheckFileURL refuses what is not downloaded: http, https, blob and data are.
func CheckFileURL(text string) error {
	if isWebURL(text) || strings.HasPrefix(text, "blob:") || strings.HasPrefix(text, "data:") {
		return nil
	}
	return fault.New(fault.SteelURLRefused, "the address of the file is neither http, https, blob nor data").WithHint(webHint)
}

// Download reads a file with the tab's cookies into w, up to a number of bytes (0: no
// limit). Nothing of the file is left on the server.
func (p *Page) Download(ctx context.Context, address string, most int64, w io.Writer) (*File, error) {
	return p.download(ctx, p.session, p.tab.TargetID, address, most, w)
}

// download is Download of what a frame has: a blob: address is its own. The session is that
// of the frame's process.
func (p *Page) download(ctx context.Context, session, frame, address string, most int64, w io.Writer) (*File, error) {
	if err := CheckFileURL(address); err != nil {
		return nil, err
	}
	file := &File{URL: PrintedURL(address)}
	to := &limited{to: w, most: most}
	var err error
	if strings.HasPrefix(address, "blob:") || strings.HasPrefix(address, "data:") {
		file.URL, _, _ = strings.Cut(file.URL, ",") // what a data: address holds is the file
		err = p.readInPage(ctx, session, frame, address, file, to)
	} else {
		err = p.readOverNetwork(ctx, address, file, to)
	}
	file.Bytes = to.n
	return file, err
}

// DownloadFrom is Download of what an element leads to or shows.
func (p *Page) DownloadFrom(ctx context.Context, a Aim, c Choice, most int64, w io.Writer) (*File, error) {
	var source string
	e, err := p.LocateAndAsk(ctx, a, c, "source", nil, &source)
	if err != nil {
		return nil, err
	}
	if source == "" {
		h, err := e.Hit(ctx)
		if err != nil {
			return nil, err
		}
		return nil, fault.New(fault.SteelTargetKind, "%s leads to no file", h).WithHint("name a link or a picture, or the address with --url")
	}
	return p.download(ctx, e.view.session, e.frame.Frame.ID, source, most, w)
}

// limited writes up to a number of bytes.
type limited struct {
	to      io.Writer
	n, most int64
}

func (l *limited) Write(b []byte) (int, error) {
	if l.most > 0 && l.n+int64(len(b)) > l.most {
		return 0, fault.New(fault.SteelTooLarge, "the file is larger than %d bytes; nothing was written", l.most).WithHint("--max-bytes allows more")
	}
	n, err := l.to.Write(b)
	l.n += int64(n)
	return n, err
}

// pausedRequest is a request of the tab that waits for what is done with its response.
type pausedRequest struct {
	ID      string `json:"requestId"`
	Network string `json:"networkId"` // the same for a request and where it is redirected to
	Frame   string `json:"frameId"`
	Error   string `json:"responseErrorReason"`
	Status  int    `json:"responseStatusCode"`
	Request struct {
		URL string `json:"url"`
	} `json:"request"`
	Headers []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"responseHeaders"`
}

// header returns a header of the response.
func (r *pausedRequest) header(name string) string {
	for _, h := range r.Headers {
		if strings.EqualFold(h.Name, name) {
			return h.Value
		}
	}
	return ""
}

func (r *pausedRequest) redirects() bool {
	return r.Status >= 300 && r.Status < 400 && r.header("Location") != ""
}

// readOverNetwork reads what the tab would get if it were sent to an address, and leaves
// the tab where it is: the navigation is held at its response, whose body is read from
// there, and given up. Network.loadNetworkResource would do the same in one call, but
// keeps all of the body in the browser's memory before it answers; a file without end
// ends the browser.
func (p *Page) readOverNetwork(ctx context.Context, address string, file *File, to io.Writer) error {
	address, _, _ = strings.Cut(address, "#") // which would be a move within the document
	paused := make(chan *pausedRequest, 64)
	defer p.conn.On(p.session, "Fetch.requestPaused", func(params json.RawMessage) {
		r := &pausedRequest{}
		if json.Unmarshal(params, r) != nil {
			return
		}
		select {
		case paused <- r:
		default: // a page that floods; what waits is let go when Fetch is disabled
		}
	})()
	p.Send("Fetch.enable", map[string]any{"patterns": []any{map[string]string{"urlPattern": "*", "resourceType": "Document", "requestStage": "Response"}}})
	defer func() { _ = p.Call(p.late, "Fetch.disable", nil, nil) }() // it ends with the socket, too
	var answer struct {
		Error string `json:"errorText"`
	}
	over := make(chan error, 1)
	navigation := p.Send("Page.navigate", map[string]string{"url": address})
	go func() { over <- navigation.Wait(ctx, &answer) }()
	ours := ""
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-over: // without a response
			if err != nil {
				return err
			}
			return navigationFailed(answer.Error)
		case r := <-paused:
			if ours == "" && r.Frame == p.tab.TargetID && r.Request.URL == address {
				ours = r.Network
			}
			if r.Network != ours || r.redirects() {
				p.Send("Fetch.continueRequest", map[string]string{"requestId": r.ID})
				continue
			}
			err := p.readResponse(ctx, r, file, to)
			p.Send("Fetch.failRequest", map[string]string{"requestId": r.ID, "errorReason": "Aborted"})
			if err == nil {
				err = <-over
			}
			return err
		}
	}
}

// readResponse reads the body of a response that is held.
func (p *Page) readResponse(ctx context.Context, r *pausedRequest, file *File, to io.Writer) error {
	file.URL, file.Status, file.MIME = PrintedURL(r.Request.URL), r.Status, clean(r.header("Content-Type"), maxMessage)
	switch {
	case r.Error != "":
		return navigationFailed(r.Error)
	case r.Status >= 400:
		return fault.New(fault.SteelHTTPStatus, "the file was answered with status %d", r.Status)
	}
	var body struct {
		Stream string `json:"stream"`
	}
	if err := p.Call(ctx, "Fetch.takeResponseBodyAsStream", map[string]string{"requestId": r.ID}, &body); err != nil {
		return err
	}
	defer p.Send("IO.close", map[string]string{"handle": body.Stream})
	for {
		var piece struct {
			Data   string `json:"data"`
			Base64 bool   `json:"base64Encoded"`
			EOF    bool   `json:"eof"`
		}
		if err := p.Call(ctx, "IO.read", map[string]any{"handle": body.Stream, "size": pieceSize}, &piece); err != nil {
			return err
		}
		if err := writePiece(to, piece.Data, piece.Base64); err != nil || piece.EOF {
			return err
		}
	}
}

func writePiece(to io.Writer, data string, encoded bool) error {
	raw := []byte(data)
	if encoded {
		var err error
		if raw, err = base64.StdEncoding.DecodeString(data); err != nil {
			return badAnswer("IO.read", "data")
		}
	}
	_, err := to.Write(raw)
	return err
}

// readInPage reads an address that only a frame of the page itself can open.
func (p *Page) readInPage(ctx context.Context, session, frame, address string, file *File, to io.Writer) error {
	if p.worlds[frame] == nil {
		p.askWorldIn(session, frame)
	}
	id, err := p.world(ctx, frame)
	if err != nil {
		return err
	}
	var opened asked
	err = p.conn.Call(ctx, session, "Runtime.evaluate", map[string]any{
		"expression": "(" + pageScript + ").open(" + arguments([]any{address}) + ")", "contextId": id, "awaitPromise": true,
	}, &opened)
	if err != nil {
		return err
	}
	if opened.Threw != nil || opened.Result.ObjectID == "" {
		return navigationFailed("the page does not have it any more")
	}
	var blob struct {
		Size int64  `json:"size"`
		Type string `json:"type"`
	}
	if err := p.askObject(ctx, session, opened.Result.ObjectID, "describe", nil, &blob); err != nil {
		return err
	}
	file.MIME = clean(blob.Type, maxMessage)
	for from := int64(0); from < blob.Size; from += pieceSize {
		var piece string
		if err := p.askObject(ctx, session, opened.Result.ObjectID, "piece", []any{from, from + pieceSize}, &piece); err != nil {
			return err
		}
		if err := writePiece(to, piece, true); err != nil {
			return err
		}
	}
	return nil
}
