package steel

import (
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"net/url"
	"slices"
	"strings"

	"kxm/lib/fault"
	"kxm/lib/ndjson"
)

// Schemas of a saved context and of what is told of one.
const (
	ContextSchema       = "kxm.steel-context.v1"
	ContextReportSchema = "kxm.steel-context-report.v1"
)

// Limits of a context. The browser itself keeps some 3,300 cookies, and 10 MiB of local
// storage for an origin.
const (
	MaxContext        = 64 << 20 // bytes of its file
	maxContextCookies = 10_000
	maxContextOrigins = 100 // each is a page that is loaded
	maxContextItems   = 100_000
)

// SavedContext is the signed-in state of a browser: cookies, and local storage by
// origin. All values are secrets.
type SavedContext struct {
	Schema  string          `json:"schema"`
	Cookies []SavedCookie   `json:"cookies"`
	Origins []OriginStorage `json:"origins"`
}

// OriginStorage is the local storage of an origin.
type OriginStorage struct {
	Origin string        `json:"origin"`
	Items  []StorageItem `json:"localStorage"`
}

// StorageItem is one item of it.
type StorageItem struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// ContextReport tells of a context in numbers alone.
type ContextReport struct {
	Schema  string `json:"schema"`
	Path    string `json:"path"`
	Cookies int    `json:"cookies"`
	Origins int    `json:"origins"`
	Items   int    `json:"items"`
}

// Report tells of a context that was written to a file or read from one.
func (c *SavedContext) Report(path string) *ContextReport {
	r := &ContextReport{Schema: ContextReportSchema, Path: path, Cookies: len(c.Cookies), Origins: len(c.Origins)}
	for _, o := range c.Origins {
		r.Items += len(o.Items)
	}
	return r
}

// Encode returns the file's bytes: one line.
func (c *SavedContext) Encode() ([]byte, error) {
	raw, err := ndjson.Marshal(c)
	if err != nil {
		return nil, err
	}
	return append(raw, '\n'), nil
}

// CheckContextFile refuses a file of a context that other users can read, or that is
// somebody else's. A pipe is as good as a file.
func CheckContextFile(info fs.FileInfo, path string) error {
	switch {
	case info.IsDir():
		return fault.New(fault.Usage, "%s is no file", fault.Quote(path))
	case openToOthers(info):
		return fault.New(fault.SteelStateUnsafe, "%s is open to other users", fault.Quote(path)).WithHint("it holds secrets: chmod 600, and take it that they are known")
	case !owned(info):
		return fault.New(fault.SteelStateUnsafe, "%s belongs to another user", fault.Quote(path))
	}
	return nil
}

// ParseContext reads a context. The error says what is wrong, by number and field, and
// holds nothing of the file.
func ParseContext(data []byte) (*SavedContext, error) {
	if len(data) > MaxContext {
		return nil, badContext("it is larger than %d MiB", MaxContext>>20)
	}
	if ndjson.Validate(data) != nil {
		return nil, badContext("it is not JSON")
	}
	c := &SavedContext{}
	from := json.NewDecoder(bytes.NewReader(data))
	from.DisallowUnknownFields()
	if err := from.Decode(c); err != nil && err != io.EOF {
		return nil, badContext("a field is unknown or has the wrong type")
	}
	switch {
	case c.Schema != ContextSchema:
		return nil, badContext("the schema is not %s", ContextSchema)
	case c.Cookies == nil || c.Origins == nil:
		return nil, badContext("cookies or origins are missing")
	case len(c.Cookies) > maxContextCookies:
		return nil, badContext("there are more than %d cookies", maxContextCookies)
	case len(c.Origins) > maxContextOrigins:
		return nil, badContext("there are more than %d origins", maxContextOrigins)
	}
	for i := range c.Cookies {
		if what := c.Cookies[i].wrong(); what != "" {
			return nil, badContext("cookie %d has a wrong %s", i+1, what)
		}
	}
	seen := map[string]bool{}
	for i, o := range c.Origins {
		switch {
		case !validOrigin(o.Origin):
			return nil, badContext("origin %d is none, such as https://example.com", i+1)
		case seen[o.Origin]:
			return nil, badContext("origin %d stands there twice", i+1)
		case o.Items == nil:
			return nil, badContext("origin %d has no localStorage", i+1)
		case len(o.Items) > maxContextItems:
			return nil, badContext("origin %d has more than %d items", i+1, maxContextItems)
		}
		seen[o.Origin] = true
	}
	return c, nil
}

func badContext(format string, args ...any) error {
	return fault.New(fault.SteelBadContext, "the context cannot be used: "+format, args...).WithHint("kxm-steel context save writes one")
}

// wrong names the first field that no cookie can have, or is "".
func (c *SavedCookie) wrong() string {
	control := func(r rune) bool { return r < ' ' || r == 0x7f }
	one := func(value string, of ...string) bool { return value == "" || slices.Contains(of, value) }
	switch {
	case c.Name == "" && c.Value == "" || strings.ContainsAny(c.Name, ";=") || strings.ContainsFunc(c.Name, control):
		return "name"
	case strings.Contains(c.Value, ";") || strings.ContainsFunc(c.Value, control):
		return "value"
	case plainDomain(c.Domain) == "" || strings.ContainsAny(c.Domain, "/?#@ \\") || strings.ContainsFunc(c.Domain, control):
		return "domain"
	case !strings.HasPrefix(c.Path, "/") || strings.ContainsFunc(c.Path, control):
		return "path"
	case c.Expires != nil && *c.Expires < 0:
		return "expires"
	case !one(c.SameSite, "Strict", "Lax", "None"):
		return "sameSite"
	case !one(c.Priority, "Low", "Medium", "High"):
		return "priority"
	case !one(c.SourceScheme, "Unset", "NonSecure", "Secure"):
		return "sourceScheme"
	case c.SourcePort != nil && (*c.SourcePort < -1 || *c.SourcePort > 65535):
		return "sourcePort"
	case c.Partition != nil && c.Partition.TopLevelSite == "":
		return "partitionKey"
	}
	return ""
}

// validOrigin reports whether a text is an origin of the web as browsers write it: no
// more than scheme, host in lower case, and port.
func validOrigin(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && text == u.Scheme+"://"+strings.ToLower(u.Host) && u.User == nil
}
