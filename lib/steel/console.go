package steel

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ConsoleLevels are the levels of messages, the most severe first.
var ConsoleLevels = []string{"error", "warning", "info", "debug"}

// ConsoleEntry is a message of a page.
type ConsoleEntry struct {
	Schema string    `json:"schema"`
	At     time.Time `json:"at"`
	Level  string    `json:"level"`
	Text   string    `json:"text"`
	URL    string    `json:"url,omitempty"`
	Line   int       `json:"line,omitempty"` // from 1
}

// ConsoleOptions say which messages are wanted.
type ConsoleOptions struct {
	Since time.Duration // 0: since the session began
	Level string        // the least severe one
	Limit int           // the newest ones
}

// maxConsoleText is how much of a message is printed, in code points.
const maxConsoleText = 2000

// Console returns what the page said, oldest first: the current document from the browser,
// which tells it again to whoever asks, and documents before from the server's log.
func (p *Page) Console(ctx context.Context, o *ConsoleOptions) (entries []ConsoleEntry, warnings []string, err error) {
	from := p.since(o.Since)
	kept := &consoleRing{mask: p.service.Secrets.Mask, level: slices.Index(ConsoleLevels, o.Level), limit: o.Limit}
	if o.Since > 0 {
		kept.from = from
	}
	kept.listen(p)
	for _, enable := range []string{"Runtime.enable", "Log.enable"} {
		// What was said before comes before the answer.
		if err := p.Call(ctx, enable, nil, nil); err != nil {
			return nil, nil, err
		}
	}
	var began float64
	if err := p.ask(ctx, p.tab.TargetID, "began", nil, &began); err != nil {
		return nil, nil, err
	}
	log, err := p.serverLog(ctx, from)
	if err != nil {
		return nil, nil, err
	}
	if log.present && !log.whole {
		warnings = append(warnings, notWhole)
	}
	for _, e := range log.events {
		if e.At.Before(atMillisecond(began)) {
			kept.addEvent(&e)
		}
	}
	return kept.all(), warnings, nil
}

// atMillisecond is a time of the browser, in milliseconds since 1970.
func atMillisecond(ms float64) time.Time {
	return time.UnixMilli(int64(min(max(ms, 0), 1e15))).UTC()
}

// consoleRing keeps the newest messages of a level, oldest first: the browser tells calls
// before failed loads, whichever came first.
type consoleRing struct {
	mask  func(string) string
	from  time.Time
	level int
	limit int

	mu      sync.Mutex
	entries []ConsoleEntry
}

func (c *consoleRing) add(e ConsoleEntry) {
	if slices.Index(ConsoleLevels, e.Level) > c.level || e.At.Before(c.from) {
		return
	}
	e.Schema = "kxm.steel-console.v1"
	e.Text = clean(c.mask(e.Text[:min(len(e.Text), maxRedacted)]), maxConsoleText)
	e.URL = clean(PrintedURL(e.URL), maxConsoleText)
	c.mu.Lock()
	defer c.mu.Unlock()
	i := len(c.entries)
	for i > 0 && c.entries[i-1].At.After(e.At) {
		i--
	}
	if c.entries = slices.Insert(c.entries, i, e); len(c.entries) > c.limit {
		c.entries = slices.Delete(c.entries, 0, 1)
	}
}

func (c *consoleRing) all() []ConsoleEntry {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.entries)
}

// levelOf is one of ConsoleLevels for what the browser calls a level or a kind of call.
func levelOf(kind string) string {
	switch kind {
	case "error", "assert":
		return "error"
	case "warning":
		return "warning"
	case "debug", "verbose":
		return "debug"
	}
	return "info"
}

// listen keeps what the browser tells from now on.
func (c *consoleRing) listen(p *Page) {
	p.conn.On(p.session, "Runtime.consoleAPICalled", func(params json.RawMessage) {
		var e struct {
			Type  string         `json:"type"`
			Args  []remoteObject `json:"args"`
			At    float64        `json:"timestamp"`
			Stack struct {
				Frames []struct {
					URL  string `json:"url"`
					Line int    `json:"lineNumber"` // from 0
				} `json:"callFrames"`
			} `json:"stackTrace"`
		}
		if json.Unmarshal(params, &e) != nil {
			return
		}
		var words []string
		for _, a := range e.Args {
			words = append(words, a.text())
		}
		entry := ConsoleEntry{At: atMillisecond(e.At), Level: levelOf(e.Type), Text: strings.Join(words, " ")}
		if len(e.Stack.Frames) > 0 {
			entry.URL, entry.Line = e.Stack.Frames[0].URL, e.Stack.Frames[0].Line+1
		}
		c.add(entry)
	})
	p.conn.On(p.session, "Runtime.exceptionThrown", func(params json.RawMessage) {
		var e struct {
			At     float64 `json:"timestamp"`
			Thrown struct {
				Text      string       `json:"text"`
				URL       string       `json:"url"`
				Line      int          `json:"lineNumber"` // from 0
				Exception remoteObject `json:"exception"`
			} `json:"exceptionDetails"`
		}
		if json.Unmarshal(params, &e) != nil {
			return
		}
		text := firstLine(e.Thrown.Exception.text())
		if text == "" {
			text = e.Thrown.Text
		}
		c.add(ConsoleEntry{At: atMillisecond(e.At), Level: "error", Text: text, URL: e.Thrown.URL, Line: e.Thrown.Line + 1})
	})
	p.conn.On(p.session, "Log.entryAdded", func(params json.RawMessage) {
		var e struct {
			Entry struct {
				Level string  `json:"level"`
				Text  string  `json:"text"`
				At    float64 `json:"timestamp"`
				URL   string  `json:"url"`
				Line  *int    `json:"lineNumber"` // from 0
			} `json:"entry"`
		}
		if json.Unmarshal(params, &e) != nil {
			return
		}
		entry := ConsoleEntry{At: atMillisecond(e.Entry.At), Level: levelOf(e.Entry.Level), Text: e.Entry.Text, URL: e.Entry.URL}
		if e.Entry.Line != nil {
			entry.Line = *e.Entry.Line + 1
		}
		c.add(entry)
	})
}

// addEvent adds what the server remembers. It has each exception twice: the one with a
// stack of its own is left out.
func (c *consoleRing) addEvent(e *logEvent) {
	switch {
	case e.Type == "Console":
		entry := ConsoleEntry{At: e.At, Level: levelOf(e.Console.Level), Text: e.Console.Text}
		entry.URL, entry.Line = splitPlace(e.Console.Where)
		c.add(entry)
	case e.Type == "PageError" && e.Error.Stack == nil && e.Error.Message != "", e.Type == "Error" && e.Error.Message != "":
		c.add(ConsoleEntry{At: e.At, Level: "error", Text: firstLine(e.Error.Message)})
	}
}

// splitPlace reads URL:LINE:COLUMN.
func splitPlace(place string) (url string, line int) {
	for range 2 {
		i := strings.LastIndexByte(place, ':')
		n, err := strconv.Atoi(place[i+1:])
		if i < 0 || err != nil {
			return place, line
		}
		place, line = place[:i], n
	}
	return place, line
}

func firstLine(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	return text
}

// remoteObject is a value in a page, as events carry it.
type remoteObject struct {
	Type        string          `json:"type"`
	Value       json.RawMessage `json:"value"`
	Unserial    string          `json:"unserializableValue"`
	Description string          `json:"description"`
}

// text is what a console would print of it.
func (o *remoteObject) text() string {
	var s string
	switch {
	case json.Unmarshal(o.Value, &s) == nil && o.Type == "string":
		return s
	case o.Unserial != "":
		return o.Unserial
	case o.Description != "":
		return o.Description
	case len(o.Value) > 0:
		return string(o.Value)
	}
	return o.Type
}
