package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"kxm/lib/cdp"
)

// driver is what people run with kxm-steel exec, as scripts run it: a program with a
// library that takes a browser over as Playwright's connectOverCDP does, with the methods
// that no verb of ours ever sends. It knows of the browser what its environment says.
//
//	driver visit URL   attach to everything, open URL in the current tab, try a tab and a context of its own, close the browser
//	driver found URL   the same, with the address that /json/version tells
//	driver outside     see that nothing but the relay's own path is answered
//	driver close       close the current tab
//	driver alone       close every tab
//	driver usurp       create a session as somebody else would, which ends this one
func driver() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	verb, arg := os.Args[1], ""
	if len(os.Args) > 2 {
		arg = os.Args[2]
	}
	address := os.Getenv("KXM_STEEL_CDP_URL")
	var err error
	switch verb {
	case "found":
		if address, err = discovered(os.Getenv("KXM_STEEL_CDP_HTTP")); err == nil {
			err = visit(ctx, address, arg)
		}
	case "visit":
		err = visit(ctx, address, arg)
	case "outside":
		err = outside(ctx, address)
	case "usurp":
		_, err = http.Post(os.Getenv("STEEL_API_URL")+"/v1/sessions", "application/json", strings.NewReader("{}"))
	case "close", "alone":
		err = closeTabs(ctx, address, verb == "alone")
	default:
		err = errors.New("no such verb")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "driver:", err)
		os.Exit(9)
	}
}

// discovered asks for the address of the browser as Chromium tells it.
func discovered(at string) (string, error) {
	answer, err := http.Get(at + "/json/version")
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	var v struct {
		URL string `json:"webSocketDebuggerUrl"`
	}
	err = json.NewDecoder(answer.Body).Decode(&v)
	return v.URL, err
}

// taken is a browser that was taken over.
type taken struct {
	*cdp.Conn
	pages chan [2]string // targets that were attached to, and their sessions
}

func take(ctx context.Context, address string) (*taken, error) {
	conn, err := cdp.Dial(ctx, cdp.Options{URL: address})
	if err != nil {
		return nil, err
	}
	b := &taken{conn, make(chan [2]string, 100)}
	conn.On("", "Target.attachedToTarget", func(params json.RawMessage) {
		var at struct {
			Session string `json:"sessionId"`
			Info    struct {
				ID   string `json:"targetId"`
				Type string `json:"type"`
			} `json:"targetInfo"`
		}
		if json.Unmarshal(params, &at) == nil {
			conn.Send(at.Session, "Runtime.runIfWaitingForDebugger", nil)
			if at.Info.Type == "page" {
				b.pages <- [2]string{at.Info.ID, at.Session}
			}
		}
	})
	var version struct{ Product string }
	if err := conn.Call(ctx, "", "Browser.getVersion", nil, &version); err != nil {
		return nil, err
	}
	if !strings.Contains(version.Product, "Chrome/") {
		return nil, fmt.Errorf("the browser is %q", version.Product)
	}
	return b, conn.Call(ctx, "", "Target.setAutoAttach", map[string]any{"autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true}, nil)
}

// session waits for the session of a target.
func (b *taken) session(ctx context.Context, target string) (string, error) {
	for {
		select {
		case p := <-b.pages:
			if p[0] == target {
				return p[1], nil
			}
		case <-ctx.Done():
			return "", fmt.Errorf("target %s: %w", target, ctx.Err())
		}
	}
}

// evaluate returns the text that an expression has.
func (b *taken) evaluate(ctx context.Context, session, expression string) (string, error) {
	var v struct {
		Result struct{ Value string }
	}
	err := b.Call(ctx, session, "Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true}, &v)
	return v.Result.Value, err
}

func visit(ctx context.Context, address, url string) error {
	b, err := take(ctx, address)
	if err != nil {
		return err
	}
	defer b.Close()
	session, err := b.session(ctx, os.Getenv("KXM_STEEL_TARGET"))
	if err != nil {
		return err
	}
	loaded := make(chan struct{}, 10)
	b.On(session, "Page.loadEventFired", func(json.RawMessage) { loaded <- struct{}{} })
	b.Send(session, "Page.enable", nil)
	b.Send(session, "Runtime.enable", nil)
	if err := b.Call(ctx, session, "Page.navigate", map[string]string{"url": url}, nil); err != nil {
		return err
	}
	<-loaded
	title, err := b.evaluate(ctx, session, "document.title")
	if err != nil {
		return err
	}
	fmt.Println("title:", title)
	// A tab beside the session's own, and one of a context that ends with the connection.
	var context struct{ BrowserContextID string }
	if err := b.Call(ctx, "", "Target.createBrowserContext", map[string]bool{"disposeOnDetach": true}, &context); err != nil {
		return err
	}
	for _, params := range []map[string]string{{"url": "about:blank"}, {"url": "about:blank", "browserContextId": context.BrowserContextID}} {
		var made struct{ TargetID string }
		if err := b.Call(ctx, "", "Target.createTarget", params, &made); err != nil {
			return err
		}
		if _, err := b.session(ctx, made.TargetID); err != nil {
			return err
		}
	}
	if err := b.Call(ctx, "", "Browser.close", nil, nil); err != nil {
		return err
	}
	select {
	case <-b.Done():
		fmt.Println("closed")
		return nil
	case <-ctx.Done():
		return errors.New("Browser.close was answered and the connection goes on")
	}
}

// outside tries addresses that are not the relay's.
func outside(ctx context.Context, address string) error {
	host := strings.TrimPrefix(address, "ws://")
	host, path, _ := strings.Cut(host, "/")
	for _, wrong := range []string{"/", "/devtools/browser/", "/devtools/browser/x", "/" + path + "x", "/" + path[:len(path)-1]} {
		if conn, err := cdp.Dial(ctx, cdp.Options{URL: "ws://" + host + wrong}); err == nil {
			conn.Close()
			return fmt.Errorf("%s leads to the browser", wrong)
		} else if refused := (*cdp.DialError)(nil); !errors.As(err, &refused) || refused.Status != http.StatusNotFound {
			return fmt.Errorf("%s: %w", wrong, err)
		}
	}
	for _, wrong := range []string{"/json/version", "/x/json/version"} {
		answer, err := http.Get("http://" + host + wrong)
		if err != nil {
			return err
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusNotFound {
			return fmt.Errorf("%s: status %d", wrong, answer.StatusCode)
		}
	}
	return nil
}

// closeTabs closes the current tab, or all.
func closeTabs(ctx context.Context, address string, all bool) error {
	conn, err := cdp.Dial(ctx, cdp.Options{URL: address})
	if err != nil {
		return err
	}
	defer conn.Close()
	pages := func() (ids []string, err error) {
		var list struct {
			Infos []struct {
				ID   string `json:"targetId"`
				Type string `json:"type"`
			} `json:"targetInfos"`
		}
		err = conn.Call(ctx, "", "Target.getTargets", nil, &list)
		for _, t := range list.Infos {
			if t.Type == "page" && (all || t.ID == os.Getenv("KXM_STEEL_TARGET")) {
				ids = append(ids, t.ID)
			}
		}
		return ids, err
	}
	for {
		ids, err := pages()
		if err != nil || len(ids) == 0 {
			return err
		}
		for _, id := range ids {
			conn.Send("", "Target.closeTarget", map[string]string{"targetId": id})
		}
		time.Sleep(20 * time.Millisecond)
	}
}
