package cdp

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
)

// The WebSocket library tells the end of a message by io.EOF, and takes one that comes
// from the connection for the same: a message that breaks off would be a whole one. So
// connections here end with another error.

var errWireEnded = errors.New("the connection ended")

// onWire turns the end of a connection into an error that is no end of a message.
func onWire(n int, err error) (int, error) {
	if err == io.EOF {
		err = errWireEnded
	}
	return n, err
}

// dialing makes handshakes whose connections end so.
type dialing struct{ http.RoundTripper }

func (d dialing) RoundTrip(q *http.Request) (*http.Response, error) {
	response, err := d.RoundTripper.RoundTrip(q)
	if err != nil || response.StatusCode != http.StatusSwitchingProtocols {
		return response, err
	}
	if body, ok := response.Body.(io.ReadWriteCloser); ok {
		response.Body = dialed{body}
	}
	return response, nil
}

type dialed struct{ io.ReadWriteCloser }

func (d dialed) Read(p []byte) (int, error) { return onWire(d.ReadWriteCloser.Read(p)) }

// handshakes returns the client with connections that end so.
func handshakes(client *http.Client) *http.Client {
	own := http.Client{}
	if client != nil {
		own = *client
	}
	if own.Transport == nil {
		own.Transport = http.DefaultTransport
	}
	own.Transport = dialing{own.Transport}
	return &own
}

// accepting gives away a connection that ends so.
type accepting struct{ http.ResponseWriter }

func (a accepting) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(a.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	return accepted{conn}, buffered, nil
}

type accepted struct{ net.Conn }

func (a accepted) Read(p []byte) (int, error) { return onWire(a.Conn.Read(p)) }
