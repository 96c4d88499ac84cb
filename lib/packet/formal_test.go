package packet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"kxm/lib/fault"
	"kxm/lib/item"
	"kxm/lib/kxmtest"
	"kxm/lib/ndjson"
)

// fullPacket is the packet of the cases that has everything.
func fullPacket(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile("../kxmtest/testdata/cases/packet-prompts.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := bytes.Cut(data, []byte{'\n'})
	var c struct{ Packet json.RawMessage }
	if err := json.Unmarshal(line, &c); err != nil {
		t.Fatal(err)
	}
	return c.Packet
}

const fullStep = `{"project":"demo","targetRole":"critic","instructions":"Look twice.",
"task":{"taskId":"run_1","stepId":"review","stepAttempt":1,"objective":"Review the retry","allowedOutcomes":["passed"],"permissionCeiling":"read-only"},
"acceptanceCriteria":[{"id":"c1","description":"All tests pass","verificationKind":"gate","targetRef":"npm test","required":true}],
"plan":{"planHash":"abc","activeStepIndex":0,"totalSteps":2,"settledDecisions":["Back off"]},
"predecessors":[{"stepId":"plan","role":"planner","status":"settled","summary":"Agreed","settledAt":"2026-09-01T00:00:00Z",
"artifacts":[{"name":"p.md","kind":"plan","artifactRef":"art:1","contentSnippet":"x"}],"decisions":["Keep"]}],
"environment":{"sharedDefaults":[{"id":"d","summary":"Small commits"}]}}`

// altered returns an object with the value at a path (a.b[0].c) replaced; nil removes it.
func altered(t testing.TB, raw []byte, path string, value any) []byte {
	t.Helper()
	var root any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&root); err != nil {
		t.Fatal(err)
	}
	keys := strings.Split(strings.NewReplacer("[", ".#", "]", "").Replace(path), ".")
	at := root
	for i, key := range keys {
		last := i == len(keys)-1
		switch v := at.(type) {
		case map[string]any:
			switch {
			case last && value == nil:
				delete(v, key)
			case last:
				v[key] = value
			}
			at = v[key]
		case []any:
			n := 0
			if _, err := fmt.Sscanf(key, "#%d", &n); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			if last {
				v[n] = value
			}
			at = v[n]
		default:
			t.Fatalf("%s leads nowhere", path)
		}
	}
	return encoded(t, root)
}

// refuses wants an error with a code that names the field.
func refuses(t *testing.T, err error, code fault.Code, field string) {
	t.Helper()
	var e *fault.Error
	if !errors.As(err, &e) || e.Code != code || e.Field != field {
		t.Errorf("%s: got %v, want %s", field, err, code)
	} else if !strings.Contains(e.Message, field) {
		t.Errorf("%s: the message does not name it: %s", field, e.Message)
	}
}

// wrong values of the parts that packets and steps share.
func sharedWrong() []struct {
	path  string
	value any
} {
	long := strings.Repeat("é", MaxText+1)
	return []struct {
		path  string
		value any
	}{
		{"task", nil}, {"task", "x"}, {"task.taskId", nil}, {"task.taskId", ""}, {"task.taskId", "a\nb"}, {"task.taskId", strings.Repeat("é", item.MaxLabel+1)},
		{"task.stepId", 1}, {"task.stepAttempt", -1}, {"task.stepAttempt", 1.5}, {"task.stepAttempt", "1"}, {"task.stepAttempt", 1e12}, {"task.stepAttempt", nil},
		{"task.objective", nil}, {"task.objective", 5}, {"task.objective", long}, {"task.allowedOutcomes", nil}, {"task.allowedOutcomes", "passed"},
		{"task.permissionCeiling", "write"}, {"task.permissionCeiling", "Edit"}, {"task.permissionCeiling", nil}, {"task.permissionCeiling", 1},
		{"acceptanceCriteria", map[string]any{}}, {"acceptanceCriteria[0].id", nil}, {"acceptanceCriteria[0].description", " "},
		{"acceptanceCriteria[0].description", long}, {"acceptanceCriteria[0].verificationKind", "test"}, {"acceptanceCriteria[0].targetRef", 1},
		{"acceptanceCriteria[0].required", nil}, {"acceptanceCriteria[0].required", "true"}, {"acceptanceCriteria[0]", "x"},
		{"plan", nil}, {"plan.planHash", nil}, {"plan.activeStepIndex", -1}, {"plan.activeStepIndex", 4}, {"plan.totalSteps", 0}, {"plan.settledDecisions", nil},
		{"predecessors", "x"}, {"predecessors[0].stepId", nil}, {"predecessors[0].role", nil}, {"predecessors[0].status", "ok"}, {"predecessors[0].summary", nil},
		{"predecessors[0].summary", long}, {"predecessors[0].settledAt", "yesterday"}, {"predecessors[0].settledAt", "2026-09-01T00:00:00"},
		{"predecessors[0].artifacts", nil}, {"predecessors[0].decisions", nil}, {"predecessors[0].artifacts[0].name", nil},
		{"predecessors[0].artifacts[0].kind", "file"}, {"predecessors[0].artifacts[0].artifactRef", nil}, {"predecessors[0].artifacts[0].contentSnippet", 1},
		{"predecessors[0].artifacts[0].contentSnippet", strings.Repeat("é", MaxSnippet+1)},
		{"environment", []any{}}, {"environment.sharedDefaults", "x"}, {"environment.sharedDefaults[0].id", nil}, {"environment.sharedDefaults[0].summary", ""},
	}
}

func TestWrongFieldOfAPacketIsNamed(t *testing.T) {
	raw := fullPacket(t)
	readFormal(t, raw)
	cases := sharedWrong()
	add := func(path string, values ...any) {
		for _, v := range values {
			cases = append(cases, struct {
				path  string
				value any
			}{path, v})
		}
	}
	add("schema", nil, "kxm.context-packet.v1", "kxm.context-packet.v3", 2)
	add("packetId", nil, "ctxpkt_", "ctxpkt_0123456789ABCDEF", "ctxpkt_0123456789abcde", "hnd_0123456789abcdef", 1)
	add("project", nil, "")
	add("generatedAt", nil, "now", "2026-09-01T00:00:00")
	add("targetRole", nil, "a\x1bb")
	add("acceptanceCriteria", nil)
	add("predecessors", nil)
	add("environment", nil)
	for _, section := range []string{"sharedDefaults", "projectKnowledge", "currentState", "contradictions", "activeSkills"} {
		add("environment."+section, nil, 7)
	}
	for _, path := range []string{"id", "kind", "project", "summary", "provenance", "authority", "confidence"} {
		add("environment.projectKnowledge[1]."+path, nil)
	}
	at := "environment.projectKnowledge[1]."
	add(at+"schema", "kxm.context-item.v2")
	add(at+"kind", "fact")
	add(at+"summary", 3, strings.Repeat("é", MaxText+1))
	add(at+"authority", "law")
	add(at+"confidence", "sure")
	add(at+"scope", "team")
	add(at+"status", "new")
	add(at+"journalCategory", "note")
	add(at+"supersedes", "x")
	add(at+"provenance.sourceType", nil, "web")
	add(at+"provenance.selfPromoted", "yes")
	add(at+"provenance.blob", "0123", strings.Repeat("G", 40))
	add(at+"observedAt", "soon")
	add(at+"validFrom", "2026-13-01")
	add(at+"validUntil", 5)
	add("budget", nil)
	add("budget.allocatedTokens", nil, 0, -5, MaxFormalBudget+1)
	add("budget.estimatedTokens", nil, -1)
	add("budget.unresolvedGaps", nil, "g")
	add("budget.provenanceSummary", nil, []any{}, map[string]any{"knowledge": -1})
	for _, c := range cases {
		_, err := ReadFormal(altered(t, raw, c.path, c.value), open)
		refuses(t, err, fault.InvalidPacket, c.path)
	}
	for _, text := range []string{`7`, `"x"`, `[]`, `{}`, `{"packet":7}`, `{"packet":{}}`} {
		if _, err := ReadFormal([]byte(text), open); !fault.Is(err, fault.InvalidPacket) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestWrongFieldOfAStepIsNamed(t *testing.T) {
	cases := sharedWrong()
	for path, value := range map[string]any{
		"project": 1, "targetRole": "a\nb", "instructions": strings.Repeat("x", MaxText+1), "environment.activeSkills": 1,
	} {
		cases = append(cases, struct {
			path  string
			value any
		}{path, value})
	}
	for _, c := range cases {
		_, err := ReadStep(altered(t, []byte(fullStep), c.path, c.value), open)
		refuses(t, err, fault.InvalidStep, c.path)
	}
}

func TestOptionalFieldsMayBeAbsent(t *testing.T) {
	raw := []byte(fullStep)
	for _, path := range []string{"project", "targetRole", "instructions", "acceptanceCriteria", "predecessors", "environment"} {
		raw = altered(t, raw, path, nil)
	}
	if _, err := ReadStep(raw, open); err != nil {
		t.Error(err)
	}
	if _, err := ReadStep([]byte(strings.NewReplacer(`"Look twice."`, `null`, `"npm test"`, `null`, `"Review the retry"`, `""`).Replace(fullStep)), open); err != nil {
		t.Error(err)
	}
}

func TestHostileNumbersOfPartsAreBounded(t *testing.T) {
	many := func(n int, of string) json.RawMessage {
		return json.RawMessage("[" + strings.TrimSuffix(strings.Repeat(of+",", n), ",") + "]")
	}
	raw := fullPacket(t)
	entry := string(encoded(t, decoded(t, raw).(map[string]any)["environment"].(map[string]any)["activeSkills"].([]any)[0]))
	for path, c := range map[string]struct {
		most int
		of   string
	}{
		"task.allowedOutcomes":         {MaxParts, `"x"`},
		"plan.settledDecisions":        {MaxParts, `"x"`},
		"acceptanceCriteria":           {MaxParts, `{"id":"c","description":"d","verificationKind":"gate","required":false}`},
		"predecessors[0].artifacts":    {MaxParts, `{"name":"n","kind":"doc","artifactRef":"r"}`},
		"predecessors[0].decisions":    {MaxParts, `"x"`},
		"environment.sharedDefaults":   {MaxEntries, `{"id":"d","summary":"s"}`},
		"environment.activeSkills":     {MaxEntries, entry},
		"environment.contradictions":   {MaxEntries, entry},
		"budget.unresolvedGaps":        {MaxEntries, `"g"`},
		"environment.currentState":     {MaxEntries, entry},
		"environment.projectKnowledge": {MaxEntries, entry},
	} {
		if _, err := ReadFormal(altered(t, raw, path, many(c.most, c.of)), open); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		_, err := ReadFormal(altered(t, raw, path, many(c.most+1, c.of)), open)
		refuses(t, err, fault.InvalidPacket, path)
	}
	counts := map[string]any{}
	for i := range MaxParts + 1 {
		counts[fmt.Sprint(i)] = i
	}
	_, err := ReadFormal(altered(t, raw, "budget.provenanceSummary", counts), open)
	refuses(t, err, fault.InvalidPacket, "budget.provenanceSummary")
	_, err = ReadFormal(altered(t, raw, "task.x", strings.Repeat("x", MaxUnknown)), open)
	refuses(t, err, fault.InvalidPacket, "task")
}

// Unknown fields of every object are kept, behind the known ones and by name; those of
// items are dropped.
func TestUnknownFieldsArePassedThrough(t *testing.T) {
	raw := fullPacket(t)
	paths := []string{"", "task.", "acceptanceCriteria[0].", "plan.", "predecessors[0].", "predecessors[0].artifacts[1].", "environment.",
		"environment.sharedDefaults[0].", "budget."}
	for _, path := range paths {
		raw = altered(t, raw, path+"zz", map[string]any{"n": json.Number("12345678901234567890")})
		raw = altered(t, raw, path+"aa", []any{nil, "x"})
	}
	raw = altered(t, raw, "environment.activeSkills[0].zz", 1)
	raw = altered(t, raw, "environment.activeSkills[0].provenance.zz", 1)
	out := string(encoded(t, readFormal(t, raw)))
	const kept = `"aa":[null,"x"],"zz":{"n":12345678901234567890}}`
	if n := strings.Count(out, ","+kept); n != len(paths) {
		t.Errorf("%d of %d objects keep their fields: %s", n, len(paths), out)
	}
	if strings.Contains(out, `"zz":1`) {
		t.Errorf("an item keeps its own: %s", out)
	}
	if again := string(encoded(t, readFormal(t, []byte(out)))); again != out {
		t.Errorf("read and written again:\n%s\nwas\n%s", again, out)
	}
	pruned, _ := Prune(readFormal(t, []byte(out)), 1)
	if n := strings.Count(string(encoded(t, pruned)), kept); n != len(paths)-2 { // the artifact and the default are gone
		t.Errorf("pruned, %d objects keep their fields", n)
	}
	if strings.Contains(pruned.Prompt(true), "12345678901234567890") {
		t.Error("an unknown field is rendered")
	}
}

func TestControlPlaneFieldsAreRefused(t *testing.T) {
	for _, path := range []string{"Permissions", "task.tools", "plan.token", "predecessors[0].artifacts[0].apikey", "environment.sharedDefaults[0].allow", "budget.grants"} {
		_, err := ReadFormal(altered(t, fullPacket(t), path, true), open)
		var e *fault.Error
		if !errors.As(err, &e) || e.Code != fault.ContextAuthorityViolation || e.Field != path {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := ReadStep(altered(t, []byte(fullStep), "tools", true), open); err != nil {
		t.Errorf("a step's own fields are dropped: %v", err)
	}
	if _, err := ReadStep(altered(t, []byte(fullStep), "task.tools", true), open); !fault.Is(err, fault.ContextAuthorityViolation) {
		t.Errorf("%v", err)
	}
}

// A mask may make a text longer than the next reader takes.
func TestLimitsHoldForWhatIsWritten(t *testing.T) {
	longer := open
	longer.JSON = func(dst []byte, _ string, value []byte) []byte {
		return append(dst, bytes.ReplaceAll(value, []byte("key"), []byte("[redacted:some-rule]"))...)
	}
	raw := altered(t, fullPacket(t), "task.objective", strings.Repeat("key", MaxText/3))
	readFormal(t, raw)
	_, err := ReadFormal(raw, longer)
	refuses(t, err, fault.InvalidPacket, "task.objective")

	raw = altered(t, fullPacket(t), "task.zz", strings.Repeat("key", MaxUnknown/4))
	readFormal(t, raw)
	_, err = ReadFormal(raw, longer)
	refuses(t, err, fault.InvalidPacket, "task")

	// Masked keys are in their order too, so that reading again changes nothing.
	raw = altered(t, altered(t, fullPacket(t), "task.zz", 1), "task.key", 2)
	p, err := ReadFormal(raw, longer)
	if err != nil {
		t.Fatal(err)
	}
	if out := string(encoded(t, p)); !strings.Contains(out, `"[redacted:some-rule]":2,"zz":1}`) || string(encoded(t, readFormal(t, []byte(out)))) != out {
		t.Errorf("%s", out)
	}
}

func TestBuildRoutesEachItemOnce(t *testing.T) {
	step, err := ReadStep([]byte(fullStep), open)
	if err != nil {
		t.Fatal(err)
	}
	eachPool(t, func(t *testing.T, g generator, pool item.Pool, r Request) {
		m, err := FromPool(pool, "demo", nil, same)
		if err != nil {
			t.Fatal(err)
		}
		m.Budget = 100
		p, err := Build(step, m, kxmtest.Now())
		if err != nil {
			t.Fatal(err)
		}
		e := &p.Environment
		n := len(e.SharedDefaults) - 1 // one is the step's
		counts := 0
		for _, c := range p.Budget.ProvenanceSummary {
			counts += c
		}
		open := openContradictions(pool.Items, nil)
		for want, section := range map[item.Kind][]Entry{"": e.Contradictions, item.KindKnowledge: e.ProjectKnowledge, item.KindState: e.CurrentState, item.KindSkill: e.ActiveSkills} {
			n += len(section)
			for _, it := range section {
				kind := map[item.Kind]item.Kind{item.KindEvidence: item.KindKnowledge, item.KindEpisode: item.KindState}[it.Kind]
				if kind == "" {
					kind = it.Kind
				}
				if open[it.ID] != (want == "") || want != "" && (kind != want || it.Project == item.SharedProject || !it.Live() || inert(&it.Item)) {
					t.Errorf("%s of kind %s stands in %q", it.ID, it.Kind, want)
				}
			}
		}
		left := 0
		if len(p.Budget.UnresolvedGaps) > 0 {
			_, _ = fmt.Sscanf(p.Budget.UnresolvedGaps[0], "%d items left out", &left)
		}
		if n != counts || n+left != len(pool.Items) {
			t.Errorf("%d items in sections, %d counted, %d left out of %d", n, counts, left, len(pool.Items))
		}
		if raw := encoded(t, p); string(encoded(t, readFormal(t, raw))) != string(raw) {
			t.Error("what was built does not read as it was written")
		}
	})
}

func TestFormalIDIsOfTheContentAlone(t *testing.T) {
	step, err := ReadStep([]byte(fullStep), open)
	if err != nil {
		t.Fatal(err)
	}
	build := func(s Step, now int) Formal {
		p, err := Build(s, Material{Budget: 100}, kxmtest.Now().AddDate(0, 0, now))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	a, b := build(step, 0), build(step, 1)
	if a.PacketID != b.PacketID || a.GeneratedAt == b.GeneratedAt {
		t.Errorf("%s at %s, %s at %s", a.PacketID, a.GeneratedAt, b.PacketID, b.GeneratedAt)
	}
	object := decoded(t, encoded(t, a)).(map[string]any)
	delete(object, "packetId")
	delete(object, "generatedAt")
	if want := digestOf(canonical(object)); a.PacketID != "ctxpkt_"+want {
		t.Errorf("%s, want %s", a.PacketID, want)
	}
	step.Task.Objective += "."
	if c := build(step, 0); c.PacketID == a.PacketID {
		t.Error("another objective, the same id")
	}
}

func TestBuildRefusesMoreThanAPacketHolds(t *testing.T) {
	step, err := ReadStep([]byte(fullStep), open)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Build(step, Material{Budget: 1, Gaps: make([]string, MaxEntries+1)}, kxmtest.Now())
	if !fault.Is(err, fault.ContextLimitsExceeded) {
		t.Errorf("%v", err)
	}
}

func TestForeignItemOfAStepRefusesTheBuild(t *testing.T) {
	raw := altered(t, []byte(fullStep), "environment", decoded(t, fullPacket(t)).(map[string]any)["environment"])
	for _, section := range []string{"projectKnowledge", "currentState", "contradictions", "activeSkills"} {
		for project, refused := range map[string]bool{"other": true, "demo": false, item.SharedProject: false} {
			step, err := ReadStep(altered(t, raw, "environment."+section+"[0].project", project), open)
			if err != nil {
				t.Fatal(err)
			}
			_, err = Build(step, Material{Budget: 1}, kxmtest.Now())
			if fault.Is(err, fault.ContextIsolationViolation) != refused {
				t.Errorf("%s of %s: %v", section, project, err)
			}
		}
	}
}

func TestSelectedPacketBecomesMaterial(t *testing.T) {
	eachPool(t, func(t *testing.T, g generator, pool item.Pool, r Request) {
		selected, _ := build(t, pool, r, same, nil)
		raw := encoded(t, map[string]any{"packet": selected, "audit": nil})
		if !Holds(raw) {
			t.Fatal("it holds no packet")
		}
		got, open, err := ReadSelected(raw)
		if err != nil {
			t.Fatal(err)
		}
		m, err := FromPool(got, "demo", open, same)
		if err != nil {
			t.Fatal(err)
		}
		var contradictions int
		for _, e := range m.Items {
			if e.open {
				contradictions++
			}
		}
		if contradictions != len(selected.Contradictions) || len(got.Gaps) != len(selected.UnresolvedGaps) {
			t.Errorf("%d contradictions of %d, %d gaps of %d", contradictions, len(selected.Contradictions), len(got.Gaps), len(selected.UnresolvedGaps))
		}
		if n := size(selected.CurrentState...) + size(selected.Knowledge...) + size(selected.Evidence...) + size(selected.Episodes...) +
			size(selected.Skills...) + size(selected.Contradictions...); n != size(got.Items...) {
			t.Errorf("%d characters became %d", n, size(got.Items...))
		}
	})
	p := encoded(t, Packet{Schema: Schema, WorkingState: json.RawMessage("{}"), CurrentState: []item.Item{}, Knowledge: []item.Item{}, Evidence: []item.Item{},
		Episodes: []item.Item{}, Skills: []item.Item{}, Contradictions: []item.Item{}, UnresolvedGaps: []string{}})
	it := json.RawMessage(`{"id":"a","kind":"knowledge","project":"demo","summary":"s","provenance":{"sourceType":"git"},"authority":"evidence","confidence":"verified"}`)
	for path, c := range map[string]struct {
		code  fault.Code
		value any
	}{
		"schema": {fault.InvalidPacket, FormalSchema}, "knowledge": {fault.InvalidPacket, "x"}, "evidence": {fault.InvalidContextItem, []any{it, it}},
		"episodes": {fault.InvalidContextItem, []any{1}}, "skills": {fault.ContextAuthorityViolation, []any{json.RawMessage(strings.Replace(string(it), `"evidence"`, `"policy"`, 1))}},
		"unresolvedGaps": {fault.InvalidPacket, []any{1}},
	} {
		if _, _, err := ReadSelected(altered(t, p, path, c.value)); !fault.Is(err, c.code) {
			t.Errorf("%s: %v, want %s", path, err, c.code)
		}
	}
	if _, _, err := ReadSelected(p); err != nil || Holds(p) || ndjson.Validate(p) != nil {
		t.Errorf("%v", err)
	}
}

func TestOnlyAnswersHoldPackets(t *testing.T) {
	for text, want := range map[string]bool{
		`{"packet":{},"audit":{}}`: true, `{"packet":{}}`: true, `{"packet":7}`: false, `{"schema":"x","packet":{}}`: false, `{"id":"a","packet":{}}`: false, `[]`: false, `{}`: false,
	} {
		if Holds([]byte(text)) != want {
			t.Errorf("%s: %v", text, !want)
		}
	}
}

// FuzzSelected makes a packet of whatever can be read as one that was selected.
func FuzzSelected(f *testing.F) {
	g := newGenerator(3)
	var pool item.Pool
	for i := range 12 {
		pool.Items = append(pool.Items, g.item(i, 12))
	}
	p, _ := build(f, pool, Request{Project: "demo", Role: FindRole(Roles(nil), "implementer"), Share: DefaultShare}, same, nil)
	f.Add(encoded(f, p))
	f.Add([]byte(`{"packet":{"schema":"kxm.context-packet.v1","knowledge":[{"id":"a"}]}}`))
	step, err := ReadStep([]byte(fullStep), open)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if ndjson.Validate(raw) != nil {
			return
		}
		pool, open, err := ReadSelected(raw)
		if err != nil {
			return
		}
		m, err := FromPool(pool, "demo", open, same)
		if err != nil {
			return // of another project
		}
		m.Budget = 1
		if p, err := Build(step, m, kxmtest.Now()); err == nil {
			readFormal(t, p.AppendJSON(nil))
		} else if !fault.Is(err, fault.ContextLimitsExceeded) {
			t.Error(err)
		}
	})
}
