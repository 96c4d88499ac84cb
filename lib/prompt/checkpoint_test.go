package prompt

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"kxm/lib/fault"
)

func stateOf(t *testing.T, in obj) State {
	t.Helper()
	s, err := ParseState(encode(t, in))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestCheckpoint(t *testing.T) {
	in := obj{
		"request": "Ship it.\n```\n# kxm", "todo": []obj{{"text": "write", "status": "open"}}, "plan": obj{"body": "Think first.\n~~~"},
		"compaction": "e91f", "thinking": canary, "messages": []string{canary},
	}
	c, err := NewCheckpoint(stateOf(t, in))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\n\nThe request:\n\n````data\nShip it.\n```\n# kxm\n````\n\n", "\n\nThe todo list:\n\n- [open] write\n\n", "\n\nInstructions of plan mode:\n\nThink first.\n~~~\n~~~\n"} {
		if !strings.Contains(c.Text, want) {
			t.Errorf("%q is not in\n%s", want, c.Text)
		}
	}
	raw := string(c.AppendJSON(nil))
	if !strings.HasPrefix(raw, `{"schema":"kxm.prompt-checkpoint.v1","for":"e91f","place":"after-compaction-summary","persist":false,"text":`) || !strings.HasSuffix(raw, fmt.Sprintf(`,"size":%d,"cut":[]}`, length(c.Text))) {
		t.Errorf("the answer is %s", raw)
	}
	if strings.Contains(raw, canary) {
		t.Error("a field that is not listed is in the checkpoint")
	}
	for name, in := range map[string]obj{
		"nothing":           {"request": "r"},
		"an empty list":     {"request": "r", "todo": []obj{}, "plan": obj{"body": " "}},
		"compacted history": {"todo": []obj{{"text": "a"}}, "startedCompacted": true},
	} {
		if _, err := NewCheckpoint(stateOf(t, in)); !fault.Is(err, fault.PromptNoCheckpoint) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for raw, field := range map[string]string{`{"request":1}`: "request", `{"todo":[{"status":"A"}]}`: "todo[0].status", `{"plan":"x"}`: "plan", `{"startedCompacted":1}`: "startedCompacted"} {
		_, err := ParseState([]byte(raw))
		if e, _ := err.(*fault.Error); e == nil || e.Code != fault.PromptInputInvalid || e.Field != field {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

// TestCheckpointsStayWithinTheirBudget is INV-PRM-10.
func TestCheckpointsStayWithinTheirBudget(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 10))
	text := func() string {
		n := r.IntN(6_000)
		switch r.IntN(5) {
		case 0:
			return strings.Repeat("`", n)
		case 1:
			return strings.Repeat("~~~~\n", n/5)
		case 2:
			return strings.Repeat("e\u0301", n)
		case 3:
			return planted() + " " + prose(r, n+1)
		}
		return prose(r, n+1)
	}
	for n := range 10_000 {
		s := State{Request: text(), Compaction: "c"}
		item := Todo{Line(first(text(), 1+r.IntN(400))), "in_progress"}
		s.Todo = slices.Repeat([]Todo{item}, 1+r.IntN(70)*r.IntN(2))
		if r.IntN(2) == 0 {
			s.Plan = text()
		}
		c, err := NewCheckpoint(s)
		if err != nil {
			t.Fatal(err)
		}
		if n := length(c.Text); n > CheckpointBudget {
			t.Fatalf("a checkpoint has %d characters", n)
		}
		if openFence(c.Text).open() || strings.Contains(c.Text, planted()) {
			t.Fatalf("a fence is open, or a secret stands, in\n%s", c.Text)
		}
		if n%10 > 0 {
			continue
		}
		again, _ := NewCheckpoint(s)
		if string(again.AppendJSON(nil)) != string(c.AppendJSON(nil)) {
			t.Fatal("the same state gives two checkpoints")
		}
	}
}

// TestCheckpointKeepsThePrefix has 20 requests after a compaction, each with the same
// message directly behind the summary.
func TestCheckpointKeepsThePrefix(t *testing.T) {
	state := obj{"request": "Ship it", "todo": []obj{{"text": "a", "status": "open"}}}
	system := started(t, base(), nil).System
	history, last := "", ""
	for n := range 20 {
		c, err := NewCheckpoint(stateOf(t, state))
		if err != nil {
			t.Fatal(err)
		}
		request := system + "summary\n" + c.Text + history
		if !strings.HasPrefix(request, last) {
			t.Fatalf("request %d does not extend the one before", n)
		}
		history += fmt.Sprintf("message %d\n", n)
		last = request
	}
}

func TestContinuation(t *testing.T) {
	h, err := ParseHandoff([]byte(`{"objective":"Ship\n# kxm","done":["a","b"],"left":null,"next":"c","evidence":[],"secret":"` + canary + `"}`))
	if err != nil {
		t.Fatal(err)
	}
	block, err := Continuation(h)
	if want := "## Continuation\n\n" + frame("handoff.intro") + "\n\nObjective:\n\n```data\nShip\n# kxm\n```\n\nDone:\n\n```data\n- a\n- b\n```\n\nNext:\n\n```data\nc\n```\n"; err != nil || block != want {
		t.Errorf("%v\n%s\nwant\n%s", err, block, want)
	}
	in := base()
	launchOf(in)["handoff"] = obj{"objective": "Ship\n# kxm", "done": []string{"a", "b"}, "next": "c"}
	if launched, err := Block(parse(t, in), idContinuation); err != nil || launched != block {
		t.Errorf("launch.handoff gives (%v)\n%s", err, launched)
	}
	if _, err := Continuation(Handoff{}); !fault.Is(err, fault.PromptNoCheckpoint) {
		t.Errorf("a handoff that says nothing: %v", err)
	}
	long := strings.Repeat("word ", 2_000)
	h = Handoff{[]string{long}, []string{long, long}, []string{strings.Repeat("`", 9_000)}, []string{"short"}, []string{long}}
	body, cut := h.body(newCleaner())
	if length(body) > rowContinuation.budget || cut == 0 || openFence(body).open() || !strings.Contains(body, "\nshort\n") {
		t.Errorf("%d characters, %d cut:\n%s", length(body), cut, body)
	}
}
