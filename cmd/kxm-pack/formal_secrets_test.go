package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"kxm/lib/kxmtest"
)

// closedFields hold what is no text: a value that is not allowed there is refused.
var closedFields = []string{"schema", "packetId", "handoffId", "permissionCeiling", "permission", "verificationKind", "kind", "status", "settledAt", "generatedAt",
	"createdAt", "authority", "confidence", "sourceType", "blob", "intent", "verdict"}

// eachText calls visit with a JSON value in which every text in turn is replaced, or a
// field that is not known added to an object, and with the key that it stands behind.
func eachText(t *testing.T, raw string, text string, visit func(key, planted string)) {
	t.Helper()
	var root any
	if err := json.Unmarshal([]byte(raw), &root); err != nil {
		t.Fatal(err)
	}
	show := func(key string) { visit(key, marshalled(t, root)) }
	var walk func(key string, v any, set func(any))
	walk = func(key string, v any, set func(any)) {
		switch v := v.(type) {
		case string:
			set(text)
			show(key)
			set(v)
		case []any:
			for i := range v {
				walk(key, v[i], func(x any) { v[i] = x })
			}
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				walk(name, v[name], func(x any) { v[name] = x })
			}
			for name, value := range unknownFields(key, text) {
				v[name] = value
				show("unknown")
				delete(v, name)
			}
		}
	}
	walk("", root, func(any) {})
}

// everyText is what eachText visits, all at once but for the closed fields.
func everyText(t *testing.T, raw string, text string) string {
	t.Helper()
	var root any
	if err := json.Unmarshal([]byte(raw), &root); err != nil {
		t.Fatal(err)
	}
	var planted func(key string, v any) any
	planted = func(key string, v any) any {
		switch v := v.(type) {
		case string:
			if plantedStatus(key) == 0 && key != "project" {
				return text
			}
		case []any:
			for i := range v {
				v[i] = planted(key, v[i])
			}
		case map[string]any:
			for name := range v {
				v[name] = planted(name, v[name])
			}
			maps.Copy(v, unknownFields(key, text))
		}
		return v
	}
	return marshalled(t, planted("", root))
}

// unknownFields are fields that an object of the key does not have.
func unknownFields(key, text string) map[string]any {
	if key == "provenanceSummary" {
		return map[string]any{text: 1}
	}
	return map[string]any{"unknown": map[string]any{"deep": []any{text}}, text: "x"}
}

func marshalled(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// oneByOne is the secret that is planted in each place alone; the others stand in all
// of them at once, which costs less.
const oneByOne = "GitHub token"

// plantedStatus is the exit status of a document with a text where key stands.
func plantedStatus(key string) int {
	if slices.Contains(closedFields, key) {
		return 4
	}
	return 0
}

var secretsStep = `{"project":"demo","targetRole":"critic","instructions":"Look.",
"task":{"taskId":"run_1","stepId":"review","stepAttempt":1,"objective":"Review","allowedOutcomes":["passed"],"permissionCeiling":"read-only"},
"acceptanceCriteria":[{"id":"c1","description":"Tests pass","verificationKind":"gate","targetRef":"npm test","required":true}],
"plan":{"planHash":"abc","activeStepIndex":0,"totalSteps":2,"settledDecisions":["Back off"]},
"predecessors":[{"stepId":"plan","role":"planner","status":"settled","summary":"Agreed","settledAt":"2026-09-01T00:00:00Z",
"artifacts":[{"name":"p.md","kind":"plan","artifactRef":"art:1","contentSnippet":"x"}],"decisions":["Keep"]}],"environment":{"sharedDefaults":[{"id":"d","summary":"Small commits"}],
"projectKnowledge":[{"schema":"kxm.context-item.v1","id":"k","kind":"knowledge","project":"demo","summary":"s","provenance":{"sourceType":"git","sourceRef":"r","derivedFrom":["a"],"path":"p","blob":"` + strings.Repeat("a", 40) + `","author":"a","signer":"s"},"authority":"evidence","confidence":"verified","stateKey":"k","supersedes":["x"],"evidenceRefs":["y"],"runId":"r","stageId":"s"}]}}`

// through runs a formal packet through the verbs that read one.
func (p *pack) through(status int, document string) {
	p.t.Helper()
	p.run(status, document, "prune")
	p.run(status, document, "prune", "--budget", "1")
	p.run(status, document, "render", "--state")
}

func TestSecretsOfStepsNeverComeOut(t *testing.T) {
	for _, s := range plantedSecrets() {
		t.Run(s.name, func(t *testing.T) {
			p := newPack(t, s.secret)
			try := func(status int, step string) {
				kxmtest.WriteFiles(t, p.dir, map[string]string{"step.json": step})
				p.run(status, "", "dispatch", "--agent", "critic-1", "--step", "step.json")
				p.run(status, "", "formal", "--step", "step.json")
				if p.stdout.Len() > 0 {
					p.through(0, p.stdout.String())
				}
			}
			try(0, everyText(t, secretsStep, s.text))
			p.masked("everywhere")
			if s.name == oneByOne {
				eachText(t, secretsStep, s.text, func(key, step string) {
					if key == "project" { // then an item belongs to another one
						try(1, step)
					} else {
						try(plantedStatus(key), step)
					}
				})
			}
			kxmtest.WriteFiles(t, p.dir, map[string]string{"step.json": secretsStep})
			pool := line(t, map[string]any{"summary": "deploy with " + s.text}) + gapLine(t, s.text) + gapLine(t, "dispatch_context_memory_rejected:"+s.text)
			for _, args := range [][]string{{"formal"}, {"dispatch", "--agent", "critic"}, {"dispatch", "--agent", "critic", "--render"}} {
				p.run(0, pool, append(args, "--step", "step.json")...)
				p.masked(args...)
			}
			p.run(0, pool, "formal", "--step", "step.json")
			p.through(0, p.stdout.String())
			bare, _, _ := strings.Cut(secretsStep, `,"environment"`)
			kxmtest.WriteFiles(t, p.dir, map[string]string{"bare.json": bare + "}"})
			p.run(0, "", "dispatch", "--step", "bare.json", "--agent="+s.text, "--project="+s.text)
			p.masked("--agent")
			p.run(1, "", "dispatch", "--step", "step.json", "--agent="+s.text, "--project="+s.text)
			if len([]rune(s.text)) <= 64 {
				p.run(0, "", "formal", "--step", "bare.json", "--role="+s.text, "--project="+s.text)
				p.masked("--role")
			}
			p.run(2, "", "formal", "--step="+s.text)
			p.run(2, "", "formal", "--step", "step.json", "--now="+s.text)
			p.run(2, "", "prune", "--budget="+s.text)
		})
	}
}

func TestSecretsOfFormalPacketsNeverComeOut(t *testing.T) {
	p := newPack(t, "no secret is planted")
	kxmtest.WriteFiles(t, p.dir, map[string]string{"step.json": secretsStep})
	p.run(0, line(t, nil)+line(t, map[string]any{"id": "s", "kind": "state", "stateKey": "key", "status": "current"})+gapLine(t, "a gap"), "formal", "--step", "step.json")
	packet := p.stdout.String()
	for _, s := range plantedSecrets() {
		t.Run(s.name, func(t *testing.T) {
			p := newPack(t, s.secret)
			p.through(0, everyText(t, packet, s.text))
			if s.name == oneByOne {
				eachText(t, packet, s.text, func(key, planted string) { p.through(plantedStatus(key), planted) })
			}
			// Behind a name that tells, the value alone is one.
			name := map[string]string{"generic key": "api_key", "hub token": "KXM_AUTH_TOKEN"}[s.name]
			if name != "" {
				p.through(0, strings.Replace(packet, `"task":{`, fmt.Sprintf(`"task":{"deep":{"%s":["%s"]},`, name, s.secret), 1))
			}
		})
	}
}

const secretsHandoff = `{"taskId":"t","workflowRunId":"run_1","reworkOf":"hnd_x",
"source":{"role":"implementer","agentId":"impl-1","harness":"cli","model":"m","stepId":"implement","attemptId":"a1"},
"target":{"role":"critic","permission":"read-only"},"intent":"request_review","status":"accepted","baseCommit":"abc123","candidateTreeHash":"def",
"deliverables":{"patches":["art:1"],"reports":["art:2"],"artifacts":[{"name":"log","artifactRef":"art:3"}]},
"verificationEvidence":{"witnessExitCode":0,"witnessPassed":true,"criticVerdicts":[{"critic":"c","verdict":"WARN","summary":"Slow"}]},
"openQuestions":["Why?"],"suggestedNextStep":{"stepId":"review","action":"look"}}`

func TestSecretsOfManifestsNeverComeOut(t *testing.T) {
	p := newPack(t, "no secret is planted")
	p.run(0, secretsHandoff, "handoff", "--from", "-")
	manifest := p.stdout.String()
	for _, s := range plantedSecrets() {
		t.Run(s.name, func(t *testing.T) {
			p := newPack(t, s.secret)
			p.run(0, everyText(t, secretsHandoff, s.text), "handoff", "--from", "-")
			p.masked("--from")
			p.run(0, everyText(t, manifest, s.text), "handoff", "check")
			p.masked("check")
			if s.name == oneByOne {
				eachText(t, secretsHandoff, s.text, func(key, planted string) { p.run(plantedStatus(key), planted, "handoff", "--from", "-") })
				eachText(t, manifest, s.text, func(key, planted string) { p.run(plantedStatus(key), planted, "handoff", "check") })
			}
			p.run(2, "", "handoff", "--from="+s.text)
			p.run(2, "", "handoff", "check", "--", s.text)
			p.run(2, manifest, "handoff", "--from", "-", "--now="+s.text)
		})
	}
}

// gapLine is a gap record as a line of JSON.
func gapLine(t *testing.T, text string) string {
	t.Helper()
	return marshalled(t, map[string]string{"schema": "kxm.gap.v1", "gap": text, "detail": text}) + "\n"
}
