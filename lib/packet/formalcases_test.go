package packet

import (
	"encoding/json"
	"reflect"
	"testing"

	"kxm/lib/fault"
	"kxm/lib/kxmtest"
	"kxm/lib/ndjson"
)

// open are masks that hide nothing.
var open = Masks{Item: same, JSON: func(dst []byte, _ string, value []byte) []byte { return append(dst, value...) }}

func readFormal(t testing.TB, raw []byte) Formal {
	t.Helper()
	p, err := ReadFormal(raw, open)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// decoded is any JSON as Go values, for comparing.
func decoded(t testing.TB, raw []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	return v
}

func encoded(t testing.TB, v any) []byte {
	t.Helper()
	raw, err := ndjson.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestPacketBuildCases(t *testing.T) {
	kxmtest.Cases(t, "packet-build", func(t *testing.T, line int, c struct{ Input, Want json.RawMessage }) {
		var input struct {
			ArbitratedItems json.RawMessage
			UnresolvedGaps  []string
			TokenBudget     int
		}
		if err := json.Unmarshal(c.Input, &input); err != nil {
			t.Fatal(err)
		}
		step, err := ReadStep(c.Input, open) // the items and gaps in it are unknown fields of a step
		if err != nil {
			t.Fatal(err)
		}
		r := reader{subject: "case", code: fault.InvalidPacket, masks: open}
		o := r.object("", c.Input, "arbitratedItems")
		m := Material{Items: elements(o, "arbitratedItems", MaxEntries, r.entry), Gaps: input.UnresolvedGaps, Budget: DefaultFormalBudget}
		if r.err != nil {
			t.Fatal(r.err)
		}
		p, err := Build(step, m, kxmtest.Now())
		if err != nil {
			t.Fatal(err)
		}
		got := decoded(t, p.AppendJSON(nil)).(map[string]any)
		delete(got, "packetId")
		delete(got, "generatedAt")
		if want := decoded(t, c.Want); !reflect.DeepEqual(got, want) {
			t.Errorf("line %d:\n%v\nwant\n%v", line, got, want)
		}
		if p.GeneratedAt != "2026-09-01T12:00:00Z" {
			t.Errorf("generated at %s", p.GeneratedAt)
		}
	})
}

func TestPacketPromptCases(t *testing.T) {
	kxmtest.Cases(t, "packet-prompts", func(t *testing.T, line int, c struct {
		Name   string
		Packet json.RawMessage
		Want   string
	}) {
		p := readFormal(t, c.Packet)
		if got := p.Prompt(false); got != c.Want {
			t.Errorf("%s:\n%s\nwant\n%s", c.Name, got, c.Want)
		}
		if got, want := decoded(t, p.AppendJSON(nil)), decoded(t, c.Packet); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: written as\n%v\nread from\n%v", c.Name, got, want)
		}
	})
}

func TestPacketPruneCases(t *testing.T) {
	kxmtest.Cases(t, "packet-prune", func(t *testing.T, line int, c struct {
		Budget int
		Packet json.RawMessage
		Want   struct{ Packet, Audit json.RawMessage }
	}) {
		p := readFormal(t, c.Packet)
		pruned, audit := Prune(p, c.Budget)
		if got, want := decoded(t, pruned.AppendJSON(nil)), decoded(t, c.Want.Packet); !reflect.DeepEqual(got, want) {
			t.Errorf("budget %d: packet\n%v\nwant\n%v", c.Budget, got, want)
		}
		got := decoded(t, encoded(t, audit)).(map[string]any)
		delete(got, "removed") // ours
		if want := decoded(t, c.Want.Audit); !reflect.DeepEqual(got, want) {
			t.Errorf("budget %d: audit\n%v\nwant\n%v", c.Budget, got, want)
		}
		if got, want := decoded(t, p.AppendJSON(nil)), decoded(t, c.Packet); !reflect.DeepEqual(got, want) {
			t.Errorf("budget %d: the packet given was changed to\n%v", c.Budget, got)
		}
	})
}
