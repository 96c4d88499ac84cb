package steeltest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"kxm/lib/cdp"
)

// pretended are the answers of the browser that a server without Chromium pretends to
// have: one empty tab, which does what it is told and shows nothing of it. It is enough
// for sessions to begin and end.
var pretended = map[string]string{
	"Browser.getVersion":          `{"product":"Pretended/1"}`,
	"Target.getTargets":           `{"targetInfos":[{"targetId":"T1","type":"page","title":"","url":"about:blank","browserContextId":"C1"}]}`,
	"Target.attachToTarget":       `{"sessionId":"S1"}`,
	"Storage.getCookies":          `{"cookies":[]}`,
	"Page.navigate":               `{"frameId":"T1","loaderId":"L1"}`,
	"Page.getFrameTree":           `{"frameTree":{"frame":{"id":"T1","loaderId":"L1","url":"about:blank"}}}`,
	"Page.createIsolatedWorld":    `{"executionContextId":1}`,
	"Runtime.evaluate":            `{"result":{"type":"number","value":1}}`,
	"Page.handleJavaScriptDialog": `{}`,
}

// pretend serves a socket as that browser.
func (s *Server) pretend(w http.ResponseWriter, r *http.Request) {
	socket, err := cdp.Accept(w, r)
	if err != nil {
		return
	}
	defer socket.Drop()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { // a socket does not end with its request
		select {
		case <-s.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	for {
		message, err := socket.Read(ctx)
		if err != nil {
			return
		}
		var call struct {
			ID        int64  `json:"id"`
			SessionID string `json:"sessionId"`
			Method    string `json:"method"`
		}
		if json.Unmarshal(message, &call) != nil {
			return
		}
		result := pretended[call.Method]
		if result == "" {
			result = "{}"
		}
		answer := fmt.Sprintf(`{"id":%d,"sessionId":%q,"result":%s}`, call.ID, call.SessionID, result)
		if socket.Write(context.Background(), []byte(answer)) != nil {
			return
		}
	}
}
