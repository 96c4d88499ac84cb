package steel

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"kxm/lib/fault"
	"kxm/lib/redact"
)

// unreachable turns an error of net/http into ours. The error's own text is never
// used: it holds the whole address.
func (e *Endpoint) unreachable(ctx, limited context.Context, c *call, host string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	class := "the request failed"
	var dns *net.DNSError
	var tlsRecord tls.RecordHeaderError
	var tlsCertificate *tls.CertificateVerificationError
	var tlsAlert tls.AlertError
	switch {
	case limited.Err() != nil:
		class = "no answer within " + short(c.limit)
	case errors.As(err, &dns):
		class = "the name does not resolve"
	case errors.Is(err, syscall.ECONNREFUSED):
		class = "connection refused"
	case errors.As(err, &tlsCertificate):
		class = "its TLS certificate is not trusted"
	case errors.As(err, &tlsRecord), errors.As(err, &tlsAlert), errors.Is(err, http.ErrSchemeMismatch):
		class = "the TLS handshake failed"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		class = "the connection closed before the answer was complete"
	}
	unreachable := fault.New(fault.SteelUnreachable, "cannot ask %s: %s", fault.Quote(host), class)
	unreachable.Err = err // for errors.Is; its text is not printed
	return unreachable
}

// refusal returns the error of an answer that is no success.
func (e *Endpoint) refusal(c *call, r *reply) error {
	host := fault.Quote(e.Settings.API.Host())
	switch {
	case r.status >= 300 && r.status < 400:
		to := "elsewhere"
		if u, err := url.Parse(r.header.Get("Location")); err == nil && u.Host != "" {
			to = "to " + fault.Quote(u.Host)
		}
		return fault.New(fault.SteelRedirected, "%s redirects %s", host, to).WithHint("set STEEL_API_URL to the address that answers itself")
	case r.status == 401 || r.status == 403:
		return e.unauthorized(host)
	case r.status == 429:
		busy := fault.New(fault.SteelRateLimited, "%s takes no more requests for now", host)
		if after := r.header.Get("Retry-After"); after != "" {
			busy = busy.WithHint("try again after %s", fault.Quote(after))
		}
		return busy
	case r.status >= 502 && r.status <= 504:
		return fault.New(fault.SteelServerBusy, "%s answered %d to %s", host, r.status, c.name())
	case isHTML(r) || r.status == 404 && strings.HasPrefix(c.path, sessionsPath):
		return notSteel(host, r)
	case r.status >= 400:
		return fault.New(fault.SteelServerError, "%s answered %d to %s%s", host, r.status, c.name(), e.said(r.body))
	}
	return nil
}

func (e *Endpoint) unauthorized(host string) error {
	if e.Settings.KeySource == "" {
		return fault.New(fault.SteelUnauthorized, "%s wants a key and no key was sent", host).
			WithHint("export STEEL_API_KEY from your secret manager")
	}
	return fault.New(fault.SteelUnauthorized, "%s refused the key from %s", host, e.Settings.KeySource).
		WithHint("check the secret manager; USE_PASS_CLI=false switches the key command off")
}

func notSteel(host string, r *reply) error {
	what := "with status 404"
	if isHTML(r) {
		what = "with a page"
		if title := htmlTitle(r.body); title != "" {
			what += " titled " + fault.Quote(clip(title))
		}
	}
	return fault.New(fault.SteelNotSteel, "%s answered %s", host, what).WithHint("is STEEL_API_URL the base address of a Steel server?")
}

func isHTML(r *reply) bool {
	if strings.HasPrefix(r.header.Get("Content-Type"), "text/html") {
		return true
	}
	head := bytes.ToLower(bytes.TrimSpace(r.body[:min(len(r.body), 512)]))
	return bytes.HasPrefix(head, []byte("<!doctype html")) || bytes.HasPrefix(head, []byte("<html"))
}

// quoted is how much of a server's message is repeated, in code points.
const quoted = 300

// said is what a server's error body says, as the end of a message.
func (e *Endpoint) said(body []byte) string {
	text := ServerMessage(body)
	if text == "" {
		return ""
	}
	return ": " + fault.Printable(clip(e.Secrets.Mask(text)))
}

// ServerMessage returns the message in an error's body: a field of JSON, a page's
// title, or the text itself.
func ServerMessage(body []byte) string {
	var fields struct {
		Message any `json:"message"`
		Error   any `json:"error"`
	}
	if json.Unmarshal(body, &fields) == nil {
		if text, ok := fields.Message.(string); ok {
			return text
		}
		text, _ := fields.Error.(string)
		return text
	}
	if title := htmlTitle(body); title != "" {
		return title
	}
	text := strings.ToValidUTF8(strings.TrimSpace(string(body)), "\uFFFD")
	if strings.HasPrefix(text, "<") {
		return ""
	}
	return text
}

// clip masks secrets and cuts a text, in this order: half a secret is known by no rule.
func clip(text string) string {
	clean, _ := redact.Redact(text)
	if runes := []rune(clean); len(runes) > quoted {
		return string(runes[:quoted]) + "…"
	}
	return clean
}

// htmlTitle returns the title of a page, white space folded.
func htmlTitle(body []byte) string {
	lower := bytes.ToLower(body) // as long as body where it matters: tags are ASCII
	if len(lower) != len(body) {
		return ""
	}
	start := bytes.Index(lower, []byte("<title"))
	if start < 0 {
		return ""
	}
	open := bytes.IndexByte(lower[start:], '>')
	if open < 0 {
		return ""
	}
	start += open + 1
	end := bytes.Index(lower[start:], []byte("</title"))
	if end < 0 {
		return ""
	}
	return strings.Join(strings.Fields(strings.ToValidUTF8(string(body[start:start+end]), "\uFFFD")), " ")
}
