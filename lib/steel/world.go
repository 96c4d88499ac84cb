package steel

import (
	"context"
	_ "embed"
	"encoding/json"
	"strings"

	"kxm/lib/cdp"
	"kxm/lib/fault"
	"kxm/lib/ndjson"
)

// pageScript is an expression whose value has a method for each question that is asked
// in a page. It runs in an isolated world: it sees the document, and the page's own
// scripts cannot reach it.
//
//go:embed page.js
var pageScript string

// locateScript is the same for questions about elements.
//
//go:embed locate.js
var locateScript string

// reachScript adds questions about where an element can be pressed.
//
//go:embed reach.js
var reachScript string

// keysScript adds questions about what is put into fields.
//
//go:embed keys.js
var keysScript string

// elementScript is an expression whose value has a method about elements.
func elementScript(method string) string {
	switch method {
	case "reach", "through", "still", "cover", "isFocused", "scroll":
		return "(" + locateScript + ").extended(" + reachScript + ")"
	case "field", "fillIn", "holds", "focusOn", "selectIn", "replaced", "list", "choose", "chosenNow", "box", "becomes", "labels", "picker", "addPiece", "giveFiles":
		return "(" + locateScript + ").extended(" + keysScript + ")"
	}
	return "(" + locateScript + ")"
}

// worldName names the isolated worlds.
const worldName = "kxm"

// askWorld asks for the isolated world of a frame of the tab's process without waiting.
func (p *Page) askWorld(frame string) *cdp.Pending { return p.askWorldIn(p.session, frame) }

// askWorldIn is askWorld for a frame of another process, which has a session of its own.
func (p *Page) askWorldIn(session, frame string) *cdp.Pending {
	w := p.conn.Send(session, "Page.createIsolatedWorld", map[string]string{"frameId": frame, "worldName": worldName})
	p.worlds[frame] = w
	return w
}

// world returns the execution context of a frame's isolated world. A navigation ends
// it; so each question that comes after one makes a new world.
func (p *Page) world(ctx context.Context, frame string) (int, error) {
	w := p.worlds[frame]
	if w == nil {
		w = p.askWorld(frame)
	}
	delete(p.worlds, frame)
	var made struct {
		ID int `json:"executionContextId"`
	}
	err := w.Wait(ctx, &made)
	return made.ID, err
}

// ask calls a method of the script in a frame of the tab's process and reads what it
// returns. A document that was navigated away while it was asked is asked again.
func (p *Page) ask(ctx context.Context, frame, method string, args []any, result any) error {
	return p.askIn(ctx, pageScript, frame, method, args, result)
}

// askIn is ask for a method of another script.
func (p *Page) askIn(ctx context.Context, script, frame, method string, args []any, result any) error {
	for try := 0; ; try++ {
		id, err := p.world(ctx, frame)
		var a asked
		if err == nil {
			err = p.Call(ctx, "Runtime.evaluate", map[string]any{
				"expression": "(" + script + ")." + method + "(" + arguments(args) + ")", "contextId": id,
				"returnByValue": true, "awaitPromise": true,
			}, &a)
		}
		if err != nil {
			if try < 3 && gone(err) {
				continue
			}
			return err
		}
		return a.read(method, result)
	}
}

// askObject calls a method of the script with an object of a world, which stands first among
// its arguments.
func (p *Page) askObject(ctx context.Context, session, object, method string, args []any, result any) error {
	var a asked
	all := arguments(args)
	if all != "" {
		all = ", " + all
	}
	err := p.conn.Call(ctx, session, "Runtime.callFunctionOn", map[string]any{
		"objectId": object, "functionDeclaration": "function () { return (" + pageScript + ")." + method + "(this" + all + ") }",
		"returnByValue": true, "awaitPromise": true,
	}, &a)
	if err != nil {
		return err
	}
	return a.read(method, result)
}

// gone reports whether a question failed because its document is not there any more.
func gone(err error) bool {
	for _, prefix := range []string{"Cannot find context", "Execution context was destroyed", "Inspected target navigated", "No frame"} {
		if cdp.Says(err, prefix) {
			return true
		}
	}
	return false
}

// arguments writes values as the arguments of a call. JSON is JavaScript, but for two
// line separators that old engines refuse.
func arguments(args []any) string {
	var parts []string
	for _, a := range args {
		raw, err := ndjson.Marshal(a)
		if err != nil {
			raw = []byte("null") // only texts, numbers and structures of them are passed
		}
		parts = append(parts, string(raw))
	}
	return strings.Join(parts, ", ")
}

// read reads the value of an answer. A script of ours that threw met a page that it
// does not expect.
func (a *asked) read(method string, result any) error {
	if a.Threw != nil {
		return fault.New(fault.SteelBadResponse, "the page could not be asked for %s: %s", method, clean(a.thrown(), quoted))
	}
	if result == nil {
		return nil
	}
	if len(a.Result.Value) == 0 || json.Unmarshal(a.Result.Value, result) != nil {
		return badAnswer("Runtime.evaluate", "value")
	}
	return nil
}

// thrown is the first line of what was thrown.
func (a *asked) thrown() string {
	text := a.Threw.Exception.Description
	if text == "" {
		if v, ok := a.Threw.Exception.Value.(string); ok {
			text = v
		}
	}
	if text == "" {
		text = a.Threw.Text
	}
	text, _, _ = strings.Cut(text, "\n")
	return text
}
