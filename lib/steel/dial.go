package steel

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"kxm/lib/cdp"
	"kxm/lib/fault"
)

// dialTime is how long the handshake of a socket may take.
const dialTime = 10 * time.Second

// Where the key goes on a socket.
const (
	authAuto   = "auto"
	authHeader = "header"
	authQuery  = "query"
)

// hostRejected begins Chromium's answer to a Host header that it does not trust.
const hostRejected = "Host header is specified and is not an IP address"

// socketURL is the address of the browser, with the key if it goes there, which is
// escaped already. The order of the parameters is that of each server's documents.
func (s *Settings) socketURL(id, key string) string {
	address, session := s.CDP.String(), "sessionId="+url.QueryEscape(id)
	switch {
	case s.Mode == Cloud && key != "":
		return address + "?apiKey=" + key + "&" + session
	case s.Mode == Cloud:
		return address + "?" + session
	case key != "":
		return address + "/v1/devtools?" + session + "&apiKey=" + key
	}
	return address + "/v1/devtools?" + session
}

// Dial opens a connection to the browser of a session. The caller knows that it is the
// session that it wants: the open-source server takes any id. The key goes into the
// address, where logs see it, only if the server does not take it in a header.
func (s *Service) Dial(ctx context.Context, id string) (*cdp.Conn, error) {
	socket, err := s.DialSocket(ctx, id)
	if err != nil {
		return nil, err
	}
	return cdp.NewConn(socket), nil
}

// DialSocket is Dial for who relays the messages as they are.
func (s *Service) DialSocket(ctx context.Context, id string) (*cdp.Socket, error) {
	socket, _, err := s.dialAnyWay(ctx, id)
	return socket, err
}

// dialAnyWay tries the ways to send the key until the server does not refuse it, and
// returns which one that was.
func (s *Service) dialAnyWay(ctx context.Context, id string) (socket *cdp.Socket, way string, err error) {
	key, err := s.Key(ctx)
	if err != nil {
		return nil, "", err
	}
	for i, way := range s.authWays(key) {
		socket, err = s.dialOnce(ctx, id, key, way)
		if err == nil {
			if i > 0 {
				s.Store.rememberAuth(ctx, s.Settings, way)
			}
			return socket, way, nil
		}
		if !fault.Is(err, fault.SteelUnauthorized) {
			break
		}
	}
	return nil, "", err
}

// authWays are the ways to send the key, in the order in which they are tried.
func (s *Service) authWays(key string) []string {
	switch {
	case s.Settings.Mode == Cloud:
		return []string{authQuery}
	case key == "":
		return []string{authHeader}
	case s.Settings.CDPAuth != authAuto:
		return []string{s.Settings.CDPAuth}
	case s.Store.rememberedAuth() == authQuery:
		return []string{authQuery, authHeader}
	}
	return []string{authHeader, authQuery}
}

func (s *Service) dialOnce(ctx context.Context, id, key, way string) (*cdp.Socket, error) {
	o := cdp.Options{Client: s.HTTP, Header: http.Header{}}
	switch {
	case way == authQuery:
		o.URL = s.Settings.socketURL(id, url.QueryEscape(key))
	default:
		o.URL = s.Settings.socketURL(id, "")
		setKey(o.Header, key)
	}
	limited, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	socket, err := cdp.DialSocket(limited, o)
	if err != nil {
		return nil, s.undialled(ctx, limited, err)
	}
	return socket, nil
}

// undialled turns the error of a handshake into ours.
func (s *Service) undialled(ctx, limited context.Context, err error) error {
	c := call{method: "GET", path: "/v1/devtools", shown: "the browser's socket", limit: dialTime}
	host := s.Settings.CDP.Host()
	var refused *cdp.DialError
	if !errors.As(err, &refused) {
		return s.unreachable(ctx, limited, &c, host, err)
	}
	switch {
	case bytes.Contains(refused.Body, []byte(hostRejected)):
		return fault.New(fault.SteelHostRejected, "the browser behind %s refused the Host header that its proxy forwards", fault.Quote(host)).
			WithHint("let the proxy send an address or localhost, such as: proxy_set_header Host localhost")
	case refused.Status != 0:
		r := &reply{status: refused.Status, header: refused.Header, body: refused.Body}
		if err := s.refusal(&c, r); err != nil {
			return err
		}
		return fault.New(fault.SteelServerError, "%s answered %d to %s", fault.Quote(host), refused.Status, c.name())
	case limited.Err() == nil && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)):
		return noBrowser(host)
	}
	return s.unreachable(ctx, limited, &c, host, err)
}

func noBrowser(host string) error {
	return fault.New(fault.SteelNoBrowser, "%s runs and its browser does not: the socket was dropped without an answer", fault.Quote(host)).
		WithHint("release the session and start another one; if that fails too, restart the server")
}
