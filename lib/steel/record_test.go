package steel

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"kxm/lib/fault"
)

const goodRecord = `{"schema":"kxm.steel-session-state.v1","id":"6f0c8b9e-1","name":"checkout","apiUrl":"https://steel.example.com","mode":"self","phase":"open","state":"HUMAN_CONTROL","createdAt":"2026-09-01T12:00:00Z","timeoutMs":300000,"deadlineAt":"2026-09-01T12:05:00Z","lastActiveAt":"2026-09-01T12:00:00Z","takeover":{"reason":"mfa","beganAt":"2026-09-01T12:00:00Z","holdUntil":"2026-09-01T12:15:00Z","remainingMs":181000},"history":[{"at":"2026-09-01T12:00:00Z","from":"AGENT_CONTROL","to":"HUMAN_CONTROL","verb":"takeover begin","by":"agent"}]}` + "\n"

func TestRecordsKeepTheirBytes(t *testing.T) {
	r, err := ParseRecord([]byte(goodRecord))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.encode(); err != nil || string(got) != goodRecord {
		t.Errorf("%s, want\n%s (%v)", got, goodRecord, err)
	}
	at := r.DeadlineAt.Add(time.Second)
	if r.Expired(at) {
		t.Error("the deadline runs on while a person holds the session")
	}
	r.move(AgentControl, "x", agent, at)
	if !r.Expired(at) || r.Expired(r.DeadlineAt) || len(r.History) != 2 {
		t.Errorf("%+v", r)
	}
	r.close("session release", agent, "", at)
	if r.Phase != Closed || r.State != ReleasedState || !r.closedAt().Equal(at) || r.Takeover != nil {
		t.Errorf("%+v", r)
	}
}

func TestCorruptRecords(t *testing.T) {
	for _, change := range [][2]string{
		{goodRecord, ""}, {goodRecord, "{"}, {goodRecord, "[]"}, {goodRecord, "null"}, {`"id":"`, `"id":"../`}, {`"id":"6`, `"id":"-6`}, {`"id":"6f0c8b9e-1"`, `"id":""`},
		{"state.v1", "state.v2"}, {`"self"`, `"both"`}, {`"open"`, `"half"`}, {`"open"`, `"closed"`}, {"HUMAN_CONTROL", "NOBODY"}, {"300000", "0"}, {"300000", `"5m"`},
		{`"createdAt":"2026-09-01T12:00:00Z",`, ""}, {`"deadlineAt":"2026-09-01T12:05:00Z",`, ""}, {`"createdAt":"2026-09-01T12:00:00Z"`, `"createdAt":"yesterday"`},
		{`"name":"checkout"`, `"name":"checkout","name":"x"`},
	} {
		text := strings.Replace(goodRecord, change[0], change[1], 1)
		if _, err := ParseRecord([]byte(text)); !fault.Is(err, fault.SteelStateCorrupt) {
			t.Errorf("%q for %q: %v", change[1], change[0], err)
		}
	}
}

func FuzzParseRecord(f *testing.F) {
	f.Add([]byte(goodRecord))
	f.Add([]byte(`{"schema":"kxm.steel-session-state.v1","id":"a","mode":"cloud","phase":"closed","state":"RELEASED","createdAt":"0001-01-01T00:00:00.1Z","deadlineAt":"9999-12-31T23:59:59+14:00","lastActiveAt":"2026-09-01T12:00:00Z","timeoutMs":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := ParseRecord(data)
		if err != nil {
			return
		}
		once, err := r.encode()
		if err != nil {
			t.Fatalf("a record that was read is not written: %v", err)
		}
		again, err := ParseRecord(once)
		if err != nil {
			t.Fatalf("%s: %v", once, err)
		}
		if twice, _ := again.encode(); !bytes.Equal(once, twice) {
			t.Errorf("%s becomes %s", once, twice)
		}
	})
}
