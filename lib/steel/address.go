package steel

import (
	"errors"
	"net/netip"
	"net/url"
	"strings"

	"kxm/lib/fault"
)

var (
	errNotText    = errors.New("not a text")
	errOutOfRange = errors.New("out of range")
)

// Base is an address that paths are added to: scheme, host and a path prefix.
type Base struct{ scheme, host, prefix string }

// parseBase reads an address. Errors name where it came from and not the address,
// which may hold a password.
func parseBase(text, from string, clearTextOK bool) (Base, error) {
	return parseAddress(text, from, clearTextOK, "http", "https")
}

func parseSocketBase(text, from string, clearTextOK bool) (Base, error) {
	return parseAddress(text, from, clearTextOK, "ws", "wss")
}

func parseAddress(text, from string, clearTextOK bool, plain, safe string) (Base, error) {
	refuse := func(why string) (Base, error) {
		return Base{}, fault.New(fault.SteelBadEndpoint, "the address from %s %s", from, why)
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return refuse("does not parse")
	case u.Scheme != plain && u.Scheme != safe:
		return refuse("does not begin with " + safe + ":// or " + plain + "://")
	case u.Hostname() == "":
		return refuse("has no host")
	case u.User != nil:
		return refuse("has user info")
	case u.RawQuery != "" || u.ForceQuery:
		return refuse("has a query")
	case u.Fragment != "" || strings.HasSuffix(text, "#"):
		return refuse("has a fragment")
	}
	b := Base{u.Scheme, u.Host, strings.TrimSuffix(u.EscapedPath(), "/")}
	if u.Scheme == plain && !clearTextOK && !b.loopback() {
		return Base{}, fault.New(fault.SteelInsecureEndpoint, "the address from %s is clear text", from).
			WithHint("use %s://, or KXM_STEEL_ALLOW_HTTP=true in a network that you trust", safe)
	}
	return b, nil
}

// String returns the address without a slash at its end.
func (b Base) String() string { return b.scheme + "://" + b.host + b.prefix }

// Host returns the host with its port, which is all that messages name.
func (b Base) Host() string { return b.host }

func (b Base) below(path string) Base { return Base{b.scheme, b.host, b.prefix + path} }

// withoutVersion removes one /v1 from the end, which every path here begins with.
func (b Base) withoutVersion() Base {
	b.prefix = strings.TrimSuffix(strings.TrimSuffix(b.prefix, "/v1"), "/")
	return b
}

// socket is the same place for WebSockets.
func (b Base) socket() Base {
	b.scheme = map[string]string{"http": "ws", "https": "wss"}[b.scheme]
	return b
}

func (b Base) hostname() string { return (&url.URL{Host: b.host}).Hostname() }

func (b Base) loopback() bool { return isLoopback(b.hostname()) }

func isLoopback(hostname string) bool {
	if strings.EqualFold(hostname, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(hostname)
	return err == nil && ip.Unmap().IsLoopback()
}

func (b Base) atSteel() bool { return isSteelDomain(b.hostname()) }

func isSteelDomain(hostname string) bool {
	name := strings.ToLower(hostname)
	return name == "steel.dev" || strings.HasSuffix(name, ".steel.dev")
}

// ViewerURL is where a person looks at a session. It carries no more than the id.
func (s *Settings) ViewerURL(id string) string {
	return s.UI.String() + "?sessionId=" + url.QueryEscape(id)
}

// CheckPageURL refuses what the server's browser must not be sent to: a file: address
// makes the server end its browser.
func CheckPageURL(text string) error {
	if text == "about:blank" || isWebURL(text) {
		return nil
	}
	return fault.New(fault.SteelURLRefused, "the address of the page is neither http, https nor about:blank").WithHint(webHint)
}

// webHint says what an address looks like: mostly its scheme is missing.
const webHint = "an address has a scheme and a host, as https://example.com/path"

func isWebURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// secretWords mark the parameters of an address whose values are not printed.
var secretWords = []string{"key", "token", "secret", "auth", "pass", "sig", "session"}

// maskedValue stands in place of a value that is not printed.
const maskedValue = "[redacted]"

// PrintedURL returns a page's address without user info and without the values of
// parameters, in query and fragment, that look like credentials.
func PrintedURL(text string) string {
	head, fragment, hasFragment := strings.Cut(text, "#")
	head, query, hasQuery := strings.Cut(head, "?")
	if scheme, rest, ok := strings.Cut(head, "://"); ok {
		authority, path := rest, ""
		if i := strings.IndexAny(rest, "/\\"); i >= 0 {
			authority, path = rest[:i], rest[i:]
		}
		if i := strings.LastIndexByte(authority, '@'); i >= 0 {
			head = scheme + "://" + maskedValue + authority[i:] + path
		}
	}
	if hasQuery {
		head += "?" + maskParameters(query)
	}
	if hasFragment {
		head += "#" + maskParameters(fragment)
	}
	return head
}

// maskParameters masks the values of name=value pairs; a route may stand before them,
// as in #/callback?code=1.
func maskParameters(text string) string {
	var b strings.Builder
	for text != "" {
		end := strings.IndexAny(text, "&;?")
		pair, separator := text, ""
		if end >= 0 {
			pair, separator = text[:end], text[end:end+1]
		}
		text = text[len(pair)+len(separator):]
		if name, value, ok := strings.Cut(pair, "="); ok && value != "" && isSecretName(name) {
			pair = name + "=" + maskedValue
		}
		b.WriteString(pair + separator)
	}
	return b.String()
}

func isSecretName(name string) bool {
	if plain, err := url.QueryUnescape(name); err == nil {
		name = plain
	}
	name = strings.ToLower(name)
	if name == "code" {
		return true
	}
	for _, word := range secretWords {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}
