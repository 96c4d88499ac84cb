package main

import (
	"context"
	"strings"

	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/steel"
)

// cookiesCmd is the verbs about cookies.
type cookiesCmd struct {
	List  cookiesListCmd  `cmd:"" help:"Print the browser's cookies, one a line."`
	Clear cookiesClearCmd `cmd:"" help:"Remove cookies."`
}

// onCookies is the flags of the verbs about cookies.
type onCookies struct {
	onTab
	Domain *string `placeholder:"D" help:"Only cookies of this domain and of those below it."`
}

// Codes names what the commands can end with.
func (*onCookies) Codes() []fault.Code { return attachingCodes() }

// Help says whose cookies they are.
func (*onCookies) Help() string {
	return `Cookies are the browser's: those of every site, whatever the tab shows. A domain with a dot before it counts for those below it, too.`
}

// domain is the one that is named; "" is every one.
func (c *onCookies) domain() (string, error) {
	if c.Domain == nil {
		return "", nil
	}
	if strings.Trim(*c.Domain, ".") == "" || strings.ContainsAny(*c.Domain, "/ ") {
		return "", fault.New(fault.Usage, "%s is no domain", fault.Quote(*c.Domain)).WithHint("such as example.com")
	}
	return *c.Domain, nil
}

// cookiesListCmd prints cookies.
type cookiesListCmd struct {
	onCookies
	Reveal bool `help:"Print values in place of their lengths."`
}

// Run prints one cookie a line.
func (c *cookiesListCmd) Run(s *cli.Session) error {
	domain, err := c.domain()
	if err != nil {
		return err
	}
	return c.run(s, "cookies list", true, func(ctx context.Context, d *desk, p *steel.Page) error {
		lines, err := p.Cookies(ctx, domain, c.Reveal)
		if err != nil {
			return err
		}
		return emitAll(d, lines)
	})
}

// cookiesClearCmd removes cookies.
type cookiesClearCmd struct{ onCookies }

// Run prints how many there were.
func (c *cookiesClearCmd) Run(s *cli.Session) error {
	domain, err := c.domain()
	if err != nil {
		return err
	}
	return c.run(s, "cookies clear", false, func(ctx context.Context, d *desk, p *steel.Page) error {
		done, err := p.ClearCookies(ctx, domain)
		if err != nil {
			return err
		}
		return d.emit(done)
	})
}
