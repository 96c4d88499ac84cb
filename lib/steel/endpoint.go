package steel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"syscall"
	"time"

	"kxm/lib/fault"
	"kxm/lib/ndjson"
)

// Endpoint asks one server. It is used by one goroutine.
type Endpoint struct {
	Settings *Settings
	HTTP     *http.Client // follows no redirects
	Environ  []string     // of the key command
	Secrets  *Secrets
	Limits   Limits

	key    string
	keyErr error
}

// Limits are how long each kind of call may take.
type Limits struct {
	Read    time.Duration // a question
	Create  time.Duration // Steel starts a browser in up to three attempts
	Release time.Duration // Steel restarts its browser
	OneShot time.Duration // a page is loaded, for which Steel has 30 s, and rendered
}

// StandardLimits are those of the program.
var StandardLimits = Limits{Read: 10 * time.Second, Create: 90 * time.Second, Release: 30 * time.Second, OneShot: 75 * time.Second}

// Sizes of answers, in bytes.
const (
	maxJSON  = 16 << 20
	maxImage = 64 << 20
)

// repeats are the pauses before a question is asked again.
var repeats = []time.Duration{250 * time.Millisecond, time.Second}

// NewEndpoint returns the endpoint of the settings.
func NewEndpoint(s *Settings, client *http.Client, environ []string, secrets *Secrets) *Endpoint {
	secrets.Add(s.key)
	return &Endpoint{Settings: s, HTTP: client, Environ: environ, Secrets: secrets, Limits: StandardLimits, key: s.key}
}

// NewClient returns the HTTP client of the program: no redirect is followed, since it
// would carry the key elsewhere, and the usual proxy variables count, but never for
// this computer.
func NewClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			ForceAttemptHTTP2:      true,
			TLSHandshakeTimeout:    10 * time.Second,
			MaxResponseHeaderBytes: 1 << 20,
			DisableKeepAlives:      true, // a command makes few calls, and leaves no socket behind
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// call is one request.
type call struct {
	method, path string // the path with its query, below the base
	body         any    // nil is none
	limit        time.Duration
	most         int64
	changes      bool // it changes the server, and is never repeated
	bare         bool // without the key
	// what it is called in messages, where the path holds an id
	shown string
}

func (c *call) name() string {
	if c.shown != "" {
		return c.method + " " + c.shown
	}
	return c.method + " " + c.path
}

// reply is a complete answer.
type reply struct {
	status int
	header http.Header
	body   []byte
	date   time.Time // of the server's clock; zero if it said none
}

// send sends a call and returns a successful answer. A question is repeated on a
// refused connection and on 502 to 504.
func (e *Endpoint) send(ctx context.Context, c call) (*reply, error) {
	for try := 0; ; try++ {
		r, err := e.sendOnce(ctx, c)
		if c.changes || try == len(repeats) || !passing(err) {
			return r, err
		}
		if perr := pause(ctx, repeats[try]); perr != nil {
			return nil, perr
		}
	}
}

// passing reports whether the same question may be answered in a moment.
func passing(err error) bool {
	return fault.Is(err, fault.SteelServerBusy) || errors.Is(err, syscall.ECONNREFUSED)
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (e *Endpoint) sendOnce(ctx context.Context, c call) (*reply, error) {
	r, err := e.roundTrip(ctx, c)
	if err != nil {
		return nil, err
	}
	return r, e.refusal(&c, r)
}

// roundTrip sends a call and returns whatever the answer is.
func (e *Endpoint) roundTrip(ctx context.Context, c call) (*reply, error) {
	key := ""
	if !c.bare {
		var err error
		if key, err = e.Key(ctx); err != nil { // its command has a limit of its own
			return nil, err
		}
	}
	limited, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	request, err := e.request(limited, &c, key)
	if err != nil {
		return nil, err
	}
	response, err := e.HTTP.Do(request)
	if err != nil {
		return nil, e.unreachable(ctx, limited, &c, request.URL.Host, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, c.most+1))
	if err != nil {
		return nil, e.unreachable(ctx, limited, &c, request.URL.Host, err)
	}
	if int64(len(body)) > c.most {
		return nil, badResponse(c.name(), "", fmt.Sprintf("is larger than %d bytes", c.most))
	}
	r := &reply{status: response.StatusCode, header: response.Header, body: body}
	if date, err := http.ParseTime(response.Header.Get("Date")); err == nil {
		r.date = date
	}
	return r, nil
}

func (e *Endpoint) request(ctx context.Context, c *call, key string) (*http.Request, error) {
	var body io.Reader
	if c.body != nil {
		raw, err := ndjson.Marshal(c.body)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(raw)
	}
	request, err := http.NewRequestWithContext(ctx, c.method, e.Settings.API.String()+c.path, body)
	if err != nil {
		return nil, fault.New(fault.SteelBadEndpoint, "the address of %s cannot be built", c.name())
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	setKey(request.Header, key)
	return request, nil
}

// setKey puts the key, if there is one, into the headers of a request. The open-source
// server's documents name the first, the cloud reads the second.
func setKey(h http.Header, key string) {
	if key != "" {
		h.Set("x-steel-api-key", key)
		h.Set("steel-api-key", key)
	}
}
