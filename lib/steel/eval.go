package steel

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"kxm/lib/cdp"
	"kxm/lib/fault"
	"kxm/lib/ndjson"
)

// ValueSchema names the form of a value that was read from a page.
const ValueSchema = "kxm.steel-value.v1"

// Evaluated is the answer of eval.
type Evaluated struct {
	Schema      string          `json:"schema"`
	What        string          `json:"what"`
	Type        string          `json:"type"`
	Value       json.RawMessage `json:"value,omitempty"`
	Description string          `json:"description,omitempty"` // in place of a value that JSON cannot hold
	Dialogs     []Dialog        `json:"dialogs,omitempty"`
}

// maxDescription is how much of a description is printed, in code points.
const maxDescription = 2000

// Eval runs an expression in the page's own world and awaits a promise. A script that
// does not end is ended.
func (p *Page) Eval(ctx context.Context, expression string) (*Evaluated, error) {
	var a asked
	if err := p.evaluate(expression, p.access.Timeout).Wait(ctx, &a); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			_ = p.Call(p.late, "Runtime.terminateExecution", nil, nil) // the command fails all the same
		}
		if terminated(err) {
			return nil, context.DeadlineExceeded
		}
		return nil, err
	}
	if a.Threw != nil {
		return nil, fault.New(fault.SteelEvalThrew, "the script threw: %s", clean(p.service.Secrets.Mask(a.thrown()), quoted))
	}
	if err := p.settle(ctx); err != nil {
		return nil, err
	}
	v := &Evaluated{Schema: ValueSchema, What: "eval", Type: a.kind(), Dialogs: p.Dialogs()}
	switch {
	case a.Result.ObjectID != "" && !a.plain():
		v.Description = a.Result.Description // by value, they would all be {}
	case a.Result.ObjectID != "":
		v.Value, v.Description = p.byValue(ctx, a.Result.ObjectID, a.Result.Description)
	case a.Result.Unserial != "":
		v.Description = a.Result.Unserial
	case a.Result.Type == "undefined":
		v.Description = "undefined"
	default:
		v.Value, v.Description = plainValue(a.Result.Value, a.Result.Description)
	}
	v.Description = clean(v.Description, maxDescription)
	return v, nil
}

// evaluate begins to run an expression in the page's own world, which is ended after
// limit. A promise is awaited.
func (p *Page) evaluate(expression string, limit time.Duration) *cdp.Pending {
	return p.Send("Runtime.evaluate", map[string]any{
		"expression": expression, "awaitPromise": true, "userGesture": true, "timeout": limit.Milliseconds(),
	})
}

// terminated reports whether a script was ended.
func terminated(err error) bool {
	return cdp.Says(err, "Execution was terminated") || cdp.Says(err, "Script execution was terminated")
}

// kind is the type of a value, as JavaScript calls it but for null, arrays and the like.
func (a *asked) kind() string {
	if a.Result.Subtype != "" {
		return a.Result.Subtype
	}
	return a.Result.Type
}

// plain reports whether a value is an object or array of the kind that JSON has, rather
// than a function, an element, a date or the like.
func (a *asked) plain() bool {
	return a.Result.Type == "object" && (a.Result.Subtype == "" || a.Result.Subtype == "array")
}

// byValue returns an object's value, or its description if it has none that JSON holds.
func (p *Page) byValue(ctx context.Context, object, description string) (json.RawMessage, string) {
	var a asked
	err := p.Call(ctx, "Runtime.callFunctionOn", map[string]any{
		"objectId": object, "functionDeclaration": "function () { return this }", "returnByValue": true,
	}, &a)
	if err != nil || a.Threw != nil || len(a.Result.Value) == 0 {
		return nil, description
	}
	return plainValue(a.Result.Value, description)
}

// plainValue writes a value's texts as the answers here do: the browser escapes what is
// not ASCII. One that strict JSON does not take, such as one nested too deep, is only
// described.
func plainValue(raw json.RawMessage, description string) (json.RawMessage, string) {
	if ndjson.Validate(raw) != nil {
		return nil, description
	}
	return ndjson.MapText(nil, raw, func(text string) string { return text }), ""
}
