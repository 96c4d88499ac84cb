package steel

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"strings"
	"unicode/utf8"

	"kxm/lib/cdp"
)

// CookieSchema names the form of a cookie in answers.
const CookieSchema = "kxm.steel-cookie.v1"

// CookieLine is a cookie, as answers show it.
type CookieLine struct {
	Schema      string  `json:"schema"`
	Name        string  `json:"name"`
	Domain      string  `json:"domain"` // with a dot before it where it counts for those below, too
	Path        string  `json:"path"`
	HTTPOnly    bool    `json:"httpOnly"`
	Secure      bool    `json:"secure"`
	Session     bool    `json:"session"`               // it ends with the browser
	ValueLength *int    `json:"valueLength,omitempty"` // in characters, in place of the value
	Value       *string `json:"value,omitempty"`
}

// SavedCookie is a cookie as the protocol takes it to set it: Network.CookieParam.
type SavedCookie struct {
	Name         string        `json:"name"`
	Value        string        `json:"value"`
	Domain       string        `json:"domain"`
	Path         string        `json:"path"`
	Expires      *float64      `json:"expires,omitempty"` // seconds since 1970; none ends with the browser
	HTTPOnly     bool          `json:"httpOnly"`
	Secure       bool          `json:"secure"`
	SameSite     string        `json:"sameSite,omitempty"`
	Priority     string        `json:"priority,omitempty"`
	SourceScheme string        `json:"sourceScheme,omitempty"`
	SourcePort   *int          `json:"sourcePort,omitempty"`
	Partition    *PartitionKey `json:"partitionKey,omitempty"`
}

// PartitionKey says beneath which site a cookie of another site counts.
type PartitionKey struct {
	TopLevelSite string `json:"topLevelSite"`
	CrossSite    bool   `json:"hasCrossSiteAncestor"`
}

// readCookies returns the browser's cookies, ordered by domain, path, name and
// partition.
func readCookies(ctx context.Context, conn *cdp.Conn) ([]SavedCookie, error) {
	var a struct {
		Cookies []struct {
			SavedCookie
			Session bool `json:"session"`
		} `json:"cookies"`
	}
	if err := conn.Call(ctx, "", "Storage.getCookies", nil, &a); err != nil {
		return nil, err
	}
	all := make([]SavedCookie, len(a.Cookies))
	for i, c := range a.Cookies {
		if c.Session {
			c.Expires = nil // it is -1, which is no time
		}
		all[i] = c.SavedCookie
	}
	slices.SortFunc(all, func(a, b SavedCookie) int {
		return cmp.Or(cmp.Compare(a.Domain, b.Domain), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Name, b.Name), cmp.Compare(a.site(), b.site()))
	})
	return all, nil
}

// site is the site beneath which the cookie counts, or "".
func (c *SavedCookie) site() string {
	if c.Partition == nil {
		return ""
	}
	return c.Partition.TopLevelSite
}

// inDomain reports whether a cookie is of a domain or of one below it; "" is above all.
// An address of numbers has none below it.
func inDomain(cookie, domain string) bool {
	cookie, domain = plainDomain(cookie), plainDomain(domain)
	if domain == "" || cookie == domain {
		return true
	}
	_, err := netip.ParseAddr(strings.Trim(cookie, "[]"))
	return err != nil && strings.HasSuffix(cookie, "."+domain)
}

func plainDomain(domain string) string { return strings.ToLower(strings.TrimPrefix(domain, ".")) }

// Cookies returns the cookies of a domain and those below it; "" is all. Values are
// left out unless they are to be revealed.
func (p *Page) Cookies(ctx context.Context, domain string, reveal bool) ([]CookieLine, error) {
	all, err := readCookies(ctx, p.conn)
	if err != nil {
		return nil, err
	}
	var lines []CookieLine
	for _, c := range all {
		if !inDomain(c.Domain, domain) {
			continue
		}
		l := CookieLine{
			Schema: CookieSchema, Name: clean(c.Name, maxMessage), Domain: clean(c.Domain, maxMessage), Path: clean(c.Path, maxMessage),
			HTTPOnly: c.HTTPOnly, Secure: c.Secure, Session: c.Expires == nil,
		}
		if reveal {
			l.Value = &c.Value
		} else {
			n := utf8.RuneCountInString(c.Value)
			l.ValueLength = &n
		}
		lines = append(lines, l)
	}
	return lines, nil
}

// ClearCookies removes the cookies of a domain and those below it; "" is all. The
// action tells how many there were.
func (p *Page) ClearCookies(ctx context.Context, domain string) (*Action, error) {
	all, err := readCookies(ctx, p.conn)
	if err != nil {
		return nil, err
	}
	var calls []*cdp.Pending
	n := 0
	for _, c := range all {
		if !inDomain(c.Domain, domain) {
			continue
		}
		n++
		if domain == "" {
			continue
		}
		named := map[string]any{"name": c.Name, "domain": c.Domain, "path": c.Path}
		if c.Partition != nil {
			named["partitionKey"] = c.Partition
		}
		calls = append(calls, p.Send("Network.deleteCookies", named))
	}
	if domain == "" {
		calls = append(calls, p.conn.Send("", "Storage.clearCookies", nil))
	}
	for _, c := range calls {
		if err := c.Wait(ctx, nil); err != nil {
			return nil, err
		}
	}
	done := &Action{Action: "cookies clear", Cookies: &n}
	return done, p.report(ctx, done)
}
