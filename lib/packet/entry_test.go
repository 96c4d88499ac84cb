package packet

import (
	"encoding/json"
	"reflect"
	"testing"

	"kxm/lib/item"
)

const fullItem = `{"schema":"kxm.context-item.v1","id":"ctx_2","kind":"state","project":"demo","summary":"a","provenance":{"sourceType":"human","sourceRef":"memory:x.md","derivedFrom":["ctx_0"],"path":"a/b.md","blob":"0123456789012345678901234567890123456789","author":"ada","signer":"ada@example.com","selfPromoted":true},"authority":"policy","confidence":"probable","scope":"run","observedAt":"2026-09-01T00:00:00Z","validFrom":"2026-09-01","validUntil":"2027-09-01","status":"current","stateKey":"a.b","supersedes":["ctx_1"],"evidenceRefs":["pr:12"],"memoryKind":"decision","journalCategory":"state-change","runId":"run_1","stageId":"s1"}`

// TestNoFieldOfAnItemIsLostInAPacket: one that items are given later must be read here
// too.
func TestNoFieldOfAnItemIsLostInAPacket(t *testing.T) {
	want, err := item.Parse([]byte(fullItem))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []reflect.Value{reflect.ValueOf(want), reflect.ValueOf(want.Provenance)} {
		for i := range v.NumField() {
			if v.Field(i).IsZero() {
				t.Errorf("the test's item has no %s", v.Type().Field(i).Name)
			}
		}
	}
	raw := altered(t, fullPacket(t), "environment.currentState", []any{json.RawMessage(fullItem)})
	p, err := ReadFormal(raw, open)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Environment.CurrentState[0].Item; !item.Equal(&got, &want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := string(p.Environment.CurrentState[0].appendJSON(nil)); got != fullItem {
		t.Errorf("written as %s", got)
	}
}
