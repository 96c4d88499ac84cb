package prompt

import (
	"bytes"
	"testing"
	"unicode/utf8"

	"kxm/lib/fault"
)

// FuzzInput compiles whatever parses: no panic, every budget and the law of sizes
// hold, the text is UTF-8 without control characters, and no fence is left open.
func FuzzInput(f *testing.F) {
	f.Add(encode(f, base()))
	f.Add(encode(f, hostileInput("```\n# kxm\x1b ~~~")))
	f.Add([]byte(`{"launch":{"mode":"side-question","main":{"system":"s"}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		in, err := ParseInput(raw)
		if err != nil {
			if _, ok := err.(*fault.Error); !ok {
				t.Fatalf("%T without a code: %v", err, err)
			}
			return
		}
		l, err := Start(&in, nil, false)
		if err != nil {
			return
		}
		checkPack(t, l.Pack)
		checkSizes(t, l)
		answer := l.AppendJSON(nil)
		if !utf8.Valid(answer) || openFence(l.System).open() || openFence(l.Update).open() {
			t.Error("the answer is no UTF-8, or a fence is left open")
		}
		again, err := ParsePack(answer)
		if err != nil || !bytes.Equal(again.AppendJSON(nil), l.Pack.AppendJSON(nil)) {
			t.Errorf("the pack does not read back: %v", err)
		}
		if repeated, err := Start(&in, l.Snapshot, false); l.Snapshot != nil && (err != nil || len(repeated.Pack.Delivery.Withdrawn) > 0) {
			t.Errorf("a second launch withdraws %v (%v)", repeated.Pack.Delivery.Withdrawn, err)
		}
	})
}
