package packet

import (
	"strings"
	"testing"

	"kxm/lib/fault"
	"kxm/lib/item"
	"kxm/lib/kxmtest"
	"kxm/lib/ndjson"
)

const fullHandoff = `{"schema":"kxm.handoff-manifest.v1","handoffId":"hnd_0123456789abcdef","taskId":"t","workflowRunId":"run_1","reworkOf":"hnd_x",
"source":{"role":"implementer","agentId":"impl-1","harness":"cli","model":"m","stepId":"implement","attemptId":"a1"},
"target":{"role":"critic","permission":"read-only"},"intent":"request_review","status":"accepted","baseCommit":"abc123","candidateTreeHash":"def",
"deliverables":{"patches":["art:1"],"reports":["art:2"],"artifacts":[{"name":"log","artifactRef":"art:3"}]},
"verificationEvidence":{"witnessExitCode":-1,"witnessPassed":false,"criticVerdicts":[{"critic":"c","verdict":"WARN","summary":"Slow"}]},
"openQuestions":["Why?"],"suggestedNextStep":{"stepId":"review","action":"look"},"createdAt":"2026-09-01T00:00:00.000Z"}`

func TestWrongFieldOfAManifestIsNamed(t *testing.T) {
	// What a draft may leave out too is listed apart.
	both := map[string][]any{
		"taskId": {nil, "", 1, "a\nb", strings.Repeat("x", item.MaxLabel+1)}, "workflowRunId": {nil}, "reworkOf": {1, " "},
		"source": {nil, "x"}, "source.role": {nil}, "source.agentId": {nil}, "source.harness": {nil}, "source.model": {1}, "source.stepId": {nil}, "source.attemptId": {nil},
		"target": {nil}, "target.role": {nil}, "target.permission": {nil, "write", "Admin"}, "intent": {nil, "review", 1}, "baseCommit": {nil, ""},
		"candidateTreeHash": {1}, "deliverables": {nil, []any{}}, "deliverables.patches": {nil, "x"}, "deliverables.reports": {nil}, "deliverables.artifacts": {nil},
		"deliverables.patches[0]": {1, ""}, "deliverables.artifacts[0].name": {nil}, "deliverables.artifacts[0].artifactRef": {nil},
		"verificationEvidence": {nil}, "verificationEvidence.witnessExitCode": {nil, "0", 1.5, 1e10}, "verificationEvidence.witnessPassed": {nil, 1},
		"verificationEvidence.criticVerdicts": {nil}, "verificationEvidence.criticVerdicts[0].critic": {nil},
		"verificationEvidence.criticVerdicts[0].verdict": {nil, "pass", "OK"}, "verificationEvidence.criticVerdicts[0].summary": {strings.Repeat("x", MaxText+1)},
		"openQuestions": {"x"}, "openQuestions[0]": {""}, "suggestedNextStep": {"x"}, "suggestedNextStep.stepId": {1}, "suggestedNextStep.action": {1},
		"schema": {"kxm.handoff-manifest.v2"}, "handoffId": {"hnd_1", "ctxpkt_0123456789abcdef"}, "status": {"open"}, "createdAt": {"today"},
	}
	for path, values := range both {
		for _, value := range values {
			raw := altered(t, []byte(fullHandoff), path, value)
			_, err := ReadHandoff(raw, open)
			refuses(t, err, fault.InvalidHandoff, path)
			_, err = ReadHandoffDraft(raw, open)
			refuses(t, err, fault.InvalidHandoff, path)
		}
	}
	draft := []byte(fullHandoff)
	for _, path := range []string{"schema", "handoffId", "status", "createdAt"} {
		_, err := ReadHandoff(altered(t, []byte(fullHandoff), path, nil), open)
		refuses(t, err, fault.InvalidHandoff, path)
		draft = altered(t, draft, path, nil)
	}
	for _, path := range []string{"reworkOf", "source.model", "candidateTreeHash", "openQuestions", "suggestedNextStep"} {
		draft = altered(t, draft, path, nil)
	}
	if _, err := ReadHandoffDraft(draft, open); err != nil {
		t.Error(err)
	}
	for _, path := range []string{"scopes", "source.Password", "target.permissions", "verificationEvidence.approval"} {
		if _, err := ReadHandoff(altered(t, []byte(fullHandoff), path, true), open); !fault.Is(err, fault.ContextAuthorityViolation) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestManifestIsWrittenInOrder(t *testing.T) {
	h, err := ReadHandoff([]byte(fullHandoff), open)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(encoded(t, h)), strings.ReplaceAll(fullHandoff, "\n", ""); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestBuiltManifestIsPendingAndNew(t *testing.T) {
	draft, err := ReadHandoffDraft([]byte(fullHandoff), open)
	if err != nil {
		t.Fatal(err)
	}
	h, err := BuildHandoff(draft, kxmtest.Now())
	if err != nil {
		t.Fatal(err)
	}
	object := decoded(t, encoded(t, h)).(map[string]any)
	delete(object, "handoffId")
	delete(object, "createdAt")
	if h.HandoffID != "hnd_"+digestOf(canonical(object)) || h.Status != "pending" || h.CreatedAt != "2026-09-01T12:00:00Z" || draft.Status != "accepted" {
		t.Errorf("%+v", h)
	}
	later, err := BuildHandoff(draft, kxmtest.Now().AddDate(1, 0, 0))
	if err != nil || later.HandoffID != h.HandoffID {
		t.Errorf("%s at another time, %v", later.HandoffID, err)
	}
	draft.BaseCommit = "other"
	if other, err := BuildHandoff(draft, kxmtest.Now()); err != nil || other.HandoffID == h.HandoffID {
		t.Errorf("%s of other content, %v", other.HandoffID, err)
	}
}

func TestNumberWithoutADigestRefusesABuild(t *testing.T) {
	draft, err := ReadHandoffDraft([]byte(strings.Replace(fullHandoff, `"taskId"`, `"x":1e999,"taskId"`, 1)), open)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := BuildHandoff(draft, kxmtest.Now()); !fault.Is(err, fault.InvalidJSON) {
		t.Errorf("%v", err)
	}
	step, err := ReadStep([]byte(strings.Replace(fullStep, `"stepAttempt":1`, `"stepAttempt":1,"x":1e999`, 1)), open)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Build(step, Material{Budget: 1}, kxmtest.Now()); !fault.Is(err, fault.InvalidJSON) {
		t.Errorf("%v", err)
	}
}

// FuzzHandoff reads what it can as a manifest: written and read again it is the same.
func FuzzHandoff(f *testing.F) {
	f.Add([]byte(fullHandoff))
	f.Add([]byte(`{"schema":"kxm.handoff-manifest.v1","source":[],"zz":{"a":[1e400]}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if ndjson.Validate(raw) != nil {
			return
		}
		draft, err := ReadHandoffDraft(raw, open)
		if err != nil {
			return
		}
		h, err := BuildHandoff(draft, kxmtest.Now())
		if err != nil {
			return // a number that has no digest
		}
		out := h.AppendJSON(nil)
		again, err := ReadHandoff(out, open)
		if err != nil || string(again.AppendJSON(nil)) != string(out) {
			t.Errorf("%v: read and written again:\n%s\nwas\n%s", err, again.AppendJSON(nil), out)
		}
	})
}
