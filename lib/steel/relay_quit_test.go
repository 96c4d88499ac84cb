package steel

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
)

func TestQuitAnswer(t *testing.T) {
	const one = `{"id":1,"result":{}}`
	for message, want := range map[string]string{
		`{"id":1,"method":"Browser.close"}`:                                             one,
		" {\n\t\"method\" : \"Browser.close\" ,\r\n\"id\" : 1 } \n":                     one,
		`{"id":1,"method":"\u0042rowser\u002Eclose","params":{}}`:                       one,
		`{"\u0069d":1,"m\u0065thod":"Browser.close"}`:                                   one,
		`{"id":-7,"method":"Browser.close","sessionId":"S\u0022"}`:                      `{"id":-7,"result":{},"sessionId":"S\""}`,
		`{"id":1,"method":"Browser.close","sessionId":""}`:                              one,
		`{"id":1.0,"method":"Browser.close"}`:                                           one,
		`{"id":1e0,"method":"Browser.close"}`:                                           one,
		`{"id":2147483647,"method":"Browser.close"}`:                                    `{"id":2147483647,"result":{}}`,
		"\v{\f\"id\":/**/1,/* , */\"method\"://x\n\"Browser.close\"}// y":               one,
		`{"params":{"a":[{"b":"}\\\"]"},/*}*/1,true]},"id":1,"method":"Browser.close"}`: one,
		`{"id":1,"method":"Page.close","method":"Browser.close"}`:                       one,

		``:   "",
		`{}`: "",
		`{"id":1,"method":"Browser.close","method":"Page.close"}`:                                               "",
		`{"id":1,"method":"Browser.getVersion"}`:                                                                "",
		`{"id":1,"method":"Browser.closed"}`:                                                                    "",
		`{"id":1,"method":"Runtime.evaluate","params":{"expression":"Browser.close","method":"Browser.close"}}`: "",
		`{"id":1,"method":"A.b","params":{"method":"\u0042rowser.close"}}`:                                      "",
		`{"id":1,"method":["Browser.close"]}`:                                                                   "",
		`{"id":1,"Method":"Browser.close"}`:                                                                     "",
		`["Browser.close"]`:                                                                                     "",
		`"Browser.close"`:                                                                                       "",
		// What Chromium refuses is its to refuse.
		`{"method":"Browser.close"}`:                         "",
		`{"id":"1","method":"Browser.close"}`:                "",
		`{"id":1.5,"method":"Browser.close"}`:                "",
		`{"id":2147483648,"method":"Browser.close"}`:         "",
		`{"id":NaN,"method":"Browser.close"}`:                "",
		`{"id":1,"method":"Browser.close","sessionId":7}`:    "",
		`{"id":1,"method":"Browser.close",}`:                 "",
		`{"id":1,"method":"Browser.close"} x`:                "",
		`{"id":1,"method":"Browser.close"`:                   "",
		`{"id":1,"method":"Browser.close`:                    "",
		`{"id":1,"method":"Browser.close"/*}`:                "",
		`{"id":1,"method":"Browser.close","params":{"a":1}`:  "",
		`{"id":1,,"method":"Browser.close"}`:                 "",
		`{"id":1 "method":"Browser.close"}`:                  "",
		`{"id" 1,"method":"Browser.close"}`:                  "",
		`{"id":,"method":"Browser.close"}`:                   "",
		`{id:1,"method":"Browser.close"}`:                    "",
		"\xef\xbb\xbf" + `{"id":1,"method":"Browser.close"}`: "",
	} {
		if got := quitAnswer([]byte(message)); string(got) != want {
			t.Errorf("%s\ngave %q, want %q", message, got, want)
		}
	}
}

// Whatever is around it, a large message takes time that grows with its size alone.
func TestQuitAnswerOfLargeMessages(t *testing.T) {
	for _, filler := range []string{`\u0041`, `\\`, `"`, `\"`, `[`, `{"a":`, `/*`, `/*x`, `//`, "//\n", `/`, `,`} {
		large := strings.Repeat(filler, 4<<20/len(filler))
		for _, message := range []string{
			`{"id":1,"params":{"a":"` + large + `"},"method":"Browser.close"}`,
			`{"id":1,"params":[` + large + `,"method":"Browser.close"}`,
		} {
			start := time.Now()
			quitAnswer([]byte(message))
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("4 MiB of %q took %v", filler, took)
			}
		}
	}
	padded := `{"id":1,` + strings.Repeat(" ", 4<<20) + `"method":"Browser.close"}`
	if quitAnswer([]byte(padded)) == nil {
		t.Error("white space hides the call")
	}
}

// FuzzQuitAnswer compares with the strict reading of JSON.
func FuzzQuitAnswer(f *testing.F) {
	for _, seed := range []string{
		`{"id":1,"method":"Browser.close","sessionId":"S"}`, `{"id":1e0,"method":"\u0042rowser.close"}`,
		`{"id":1,/**/"method":"Browser.close"}`, `{"params":[{"a":"\\"}],"id":1,"method":"Browser.close"}`, `\u`,
		`{"id":1,"method":"Browser.close","method":"x"}`, `{"id":2147483648,"method":"Browser.close"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		got := quitAnswer(message)
		if got != nil && !json.Valid(got) {
			t.Fatalf("%q gave %q", message, got)
		}
		var members map[string]json.RawMessage
		if json.Unmarshal(message, &members) != nil {
			return // Chromium reads more than this does
		}
		var method string
		var id float64
		var session *string
		asks := json.Unmarshal(members["method"], &method) == nil && method == "Browser.close" &&
			len(members["id"]) > 0 && members["id"][0] != 'n' && json.Unmarshal(members["id"], &id) == nil &&
			id == math.Trunc(id) && math.Abs(id) <= math.MaxInt32
		if raw, ok := members["sessionId"]; ok && (raw[0] != '"' || json.Unmarshal(raw, &session) != nil) {
			asks = false
		}
		if asks != (got != nil) && id != math.MinInt32 {
			t.Errorf("%q: asks %v, gave %q", message, asks, got)
		}
	})
}

func BenchmarkQuitAnswer(b *testing.B) {
	for name, message := range map[string]string{
		"small":   `{"id":17,"method":"Runtime.callFunctionOn","params":{"functionDeclaration":"() => document.title","objectId":"1.2.3"},"sessionId":"0123456789ABCDEF"}`,
		"large":   `{"id":17,"method":"Runtime.evaluate","params":{"expression":"` + strings.Repeat("QUFB", 1<<20) + `"}}`,
		"escapes": `{"id":17,"method":"Runtime.evaluate","params":{"expression":"` + strings.Repeat(`\u0041`, 1<<20) + `"}}`,
	} {
		raw := []byte(message)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(message)))
			b.ReportAllocs()
			for b.Loop() {
				quitAnswer(raw)
			}
		})
	}
}
