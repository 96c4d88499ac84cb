package steel

import (
	"context"
	"slices"

	"kxm/lib/cdp"
)

// target is something that a browser can be attached to.
type target struct {
	ID        string `json:"targetId"`
	Type      string `json:"type"`
	Title     string `json:"title"`
	URL       string `json:"url"`
	Opener    string `json:"openerId"`
	Parent    string `json:"parentFrameId"` // of a frame that is a target of its own
	ContextID string `json:"browserContextId"`
}

// targetsAnswer is that of Target.getTargets.
type targetsAnswer struct {
	Infos []target `json:"targetInfos"`
}

// pages returns the tabs: there are also frames, workers and the browser's own pages.
func (a *targetsAnswer) pages() []target {
	return slices.DeleteFunc(slices.Clone(a.Infos), func(t target) bool { return t.Type != "page" })
}

// others returns what is no tab.
func (a *targetsAnswer) others() []target {
	return slices.DeleteFunc(slices.Clone(a.Infos), func(t target) bool { return t.Type == "page" })
}

// listPages asks the browser for its tabs.
func listPages(ctx context.Context, conn *cdp.Conn) ([]target, error) {
	var a targetsAnswer
	if err := conn.Call(ctx, "", "Target.getTargets", nil, &a); err != nil {
		return nil, err
	}
	return a.pages(), nil
}

// attachTo is the call that attaches to a target, on the same socket.
func attachTo(conn *cdp.Conn, id string) *cdp.Pending {
	return conn.Send("", "Target.attachToTarget", map[string]any{"targetId": id, "flatten": true})
}

// attached is the answer to attachTo.
type attached struct {
	Session string `json:"sessionId"`
}

// probe is how a tab answered.
type probe string

// Answers to a probe.
const (
	alive   probe = "alive"
	crashed probe = "crashed"
	stuck   probe = "stuck" // by a dialog or an endless script, which look alike
)
