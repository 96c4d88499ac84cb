package steeltest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"kxm/lib/cdp"
	"kxm/lib/process"
)

// flags are what Chromium is started with, besides its folder and what a session asks
// for. Only this computer has an address for it.
var flags = []string{
	"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
	"--disable-component-update", "--disable-sync", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
	"--remote-debugging-port=0",
}

// Limits of Chromium, which are far above what it takes on a busy computer.
const (
	startLimit = time.Minute      // until it can be asked
	endLimit   = 10 * time.Second // between being asked to end and being killed
	pollTime   = 10 * time.Millisecond
)

// launcher notes its number, sees to it that the whole group ends with this process,
// and becomes Chromium. Its output goes to a file, since a pipe would be held open by
// whichever process of Chromium ends last.
const launcher = `echo $$ >"$0/pid"
{ read -r _ <"$0/alive"; kill -KILL 0; } </dev/null >/dev/null 2>&1 &
exec "$@" >"$0/log" 2>&1`

// Program is an installed Chromium.
type Program struct {
	Name string // a path, or a name to be found on Path
	Path string // the search path, which its wrapper script needs too
}

// ChromiumOf returns the program of the environment: KXM_TEST_CHROMIUM, or chromium.
func ChromiumOf(getenv func(string) string) Program {
	return Program{or(getenv("KXM_TEST_CHROMIUM"), "chromium"), getenv("PATH")}
}

// Chromium is a browser that runs.
type Chromium struct {
	Address string        // of its WebSocket; the browser's own, not a tab's
	Done    chan struct{} // closed when all of it has ended

	home   string
	alive  *os.File
	cancel context.CancelFunc
	own    *cdp.Conn // ours, by which nothing is counted
	err    error     // why it could not be started; read after Done
}

// Launch says how to start a browser.
type Launch struct {
	Home  string   // the folder of its profile, which may hold one from before
	Flags []string // besides those that each has
	Env   []string // besides PATH and HOME
}

// Start starts the browser, and waits until it answers and has one page, about:blank.
func (p Program) Start(ctx context.Context, l Launch) (*Chromium, error) {
	home := l.Home
	for _, old := range []string{"pid", "alive", "profile/DevToolsActivePort"} {
		if err := os.Remove(filepath.Join(home, old)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	alive, err := openAlive(filepath.Join(home, "alive"))
	if err != nil {
		return nil, err
	}
	running, cancel := context.WithCancel(context.Background())
	c := &Chromium{Done: make(chan struct{}), home: home, alive: alive, cancel: cancel}
	argv := append([]string{"sh", "-c", launcher, home, p.Name, "--user-data-dir=" + filepath.Join(home, "profile")}, flags...)
	argv = append(append(argv, l.Flags...), "about:blank")
	env := append([]string{"PATH=" + p.Path, "HOME=" + home}, l.Env...)
	go func() {
		defer close(c.Done)
		_, c.err = process.Run(running, process.Command{Argv: argv, Env: env, Grace: endLimit})
		alive.Close()
	}()
	ctx, stop := context.WithTimeout(ctx, startLimit)
	defer stop()
	if err := c.connect(ctx); err != nil {
		c.Kill()
		return nil, fmt.Errorf("%s did not start: %w", p.Name, err)
	}
	return c, nil
}

// connect waits for the browser's address and for its page.
func (c *Chromium) connect(ctx context.Context) error {
	for c.Address == "" {
		raw, _ := os.ReadFile(filepath.Join(c.home, "profile", "DevToolsActivePort")) // not there yet, or not whole
		if port, path, ok := strings.Cut(string(raw), "\n"); ok && path != "" {
			c.Address = "ws://127.0.0.1:" + port + strings.TrimSpace(path)
			break
		}
		if err := c.wait(ctx); err != nil {
			return err
		}
	}
	own, err := cdp.Dial(ctx, cdp.Options{URL: c.Address, Client: direct})
	if err != nil {
		return err
	}
	c.own = own
	for {
		if pages, err := c.Pages(ctx); err != nil || len(pages) > 0 {
			return err
		}
		if err := c.wait(ctx); err != nil {
			return err
		}
	}
}

// direct asks no proxy.
var direct = &http.Client{Transport: &http.Transport{}}

// wait waits a moment, or says what stands against waiting.
func (c *Chromium) wait(ctx context.Context) error {
	t := time.NewTimer(pollTime)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-c.Done:
		if c.err != nil {
			return c.err
		}
		log, _ := os.ReadFile(filepath.Join(c.home, "log"))
		return fmt.Errorf("it ended: %s", strings.TrimSpace(string(log[max(0, len(log)-500):])))
	}
}

// Page is a tab, by its target.
type Page struct {
	ID      string `json:"targetId"`
	Type    string `json:"type"`
	URL     string `json:"url"`
	Context string `json:"browserContextId"`
}

// Pages returns the tabs. Chromium lists them in an order that has to do neither with
// their age nor with which is in front, and that stays while they live; a new one can be
// anywhere in it.
func (c *Chromium) Pages(ctx context.Context) ([]Page, error) {
	var all struct {
		Infos []Page `json:"targetInfos"`
	}
	if err := c.own.Call(ctx, "", "Target.getTargets", nil, &all); err != nil {
		return nil, err
	}
	var pages []Page
	for _, p := range all.Infos {
		if p.Type == "page" {
			pages = append(pages, p)
		}
	}
	return pages, nil
}

func has(pages []Page, target string) bool {
	return slices.ContainsFunc(pages, func(p Page) bool { return p.ID == target })
}

// whileOpen waits until a tab is gone, or until done says that this is enough.
func (c *Chromium) whileOpen(ctx context.Context, target string, done func() bool) error {
	for {
		pages, err := c.Pages(ctx)
		if err != nil || !has(pages, target) || done() {
			return err
		}
		if err := c.wait(ctx); err != nil {
			return err
		}
	}
}

// End asks the browser to end, so that its profile is whole, and kills it if it does
// not.
func (c *Chromium) End() {
	c.own.Send("", "Browser.close", nil)
	t := time.NewTimer(endLimit)
	defer t.Stop()
	select {
	case <-c.Done:
	case <-t.C:
	}
	c.Kill()
}

// Kill ends the browser at once and waits until it is gone.
func (c *Chromium) Kill() {
	select {
	case <-c.Done:
	default:
		c.kill()
		c.cancel() // it may not have said its number yet
		<-c.Done
	}
	c.cancel()
	if c.own != nil {
		c.own.Close()
	}
}

// kill kills the first process; the rest of its group follows.
func (c *Chromium) kill() {
	raw, _ := os.ReadFile(filepath.Join(c.home, "pid"))
	if pid := atoi(string(raw)); pid > 0 {
		if p, err := os.FindProcess(pid); err == nil {
			_ = p.Kill() // one that has ended needs none
		}
	}
}
