package cdp

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/coder/websocket"
)

// Socket is a WebSocket: whole text messages, both ways. One goroutine may read while
// any number write.
type Socket struct{ ws *websocket.Conn }

// DialSocket opens a socket. The context bounds the handshake alone. An error is a
// *DialError or the context's.
func DialSocket(ctx context.Context, o Options) (*Socket, error) {
	ws, response, err := websocket.Dial(ctx, o.URL, &websocket.DialOptions{HTTPClient: handshakes(o.Client), HTTPHeader: o.Header})
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		refused := &DialError{cause: err}
		if response != nil {
			refused.Status, refused.Header = response.StatusCode, response.Header
			refused.Body, _ = io.ReadAll(response.Body) // the library keeps the first 1,024 bytes
		}
		return nil, refused
	}
	ws.SetReadLimit(MaxMessage)
	return &Socket{ws}, nil
}

// Accept makes a socket of a request. Who may ask is the caller's to have checked: the
// Origin header is not looked at. On an error the request has been answered.
func Accept(w http.ResponseWriter, r *http.Request) (*Socket, error) {
	ws, err := websocket.Accept(accepting{w}, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return nil, err
	}
	ws.SetReadLimit(MaxMessage)
	return &Socket{ws}, nil
}

// Read returns the next message. The end of the socket is ErrLost, or ErrTooLarge.
func (s *Socket) Read(ctx context.Context) ([]byte, error) {
	_, message, err := s.ws.Read(ctx)
	return message, ended(err)
}

// Reader returns the next message as it arrives. It must be read to its end before the
// next one is asked for.
func (s *Socket) Reader(ctx context.Context) (io.Reader, error) {
	_, r, err := s.ws.Reader(ctx)
	return r, ended(err)
}

// Write sends a message.
func (s *Socket) Write(ctx context.Context, message []byte) error {
	return ended(s.ws.Write(ctx, websocket.MessageText, message))
}

// Writer returns a writer of one message, which its Close ends.
func (s *Socket) Writer(ctx context.Context) (io.WriteCloser, error) {
	w, err := s.ws.Writer(ctx, websocket.MessageText)
	return w, ended(err)
}

// Close says goodbye and waits up to five seconds for the other side to do the same.
func (s *Socket) Close() error { return s.ws.Close(websocket.StatusNormalClosure, "") }

// Drop ends the socket at once.
func (s *Socket) Drop() { _ = s.ws.CloseNow() } // nothing is left to be saved

// ended tells how a socket ended.
func ended(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, websocket.ErrMessageTooBig), websocket.CloseStatus(err) == websocket.StatusMessageTooBig:
		return ErrTooLarge
	}
	return ErrLost
}
