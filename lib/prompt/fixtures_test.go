package prompt

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"kxm/lib/capability"
)

// allTools are the tools of the built-in descriptors that a group describes, and
// ask_user, which none does.
var allTools = []string{
	"ask_user", "bash", "checkpoint_write", "edit", "find", "grep", "ls", "plugin_propose", "read", "session_name", "todo_write",
	"update_goal", "web_read", "web_search", "write",
}

// obj is a JSON object of an input.
type obj = map[string]any

func capabilities(tools ...string) obj {
	list := append([]string{}, tools...)
	slices.Sort(list)
	return obj{"schema": capability.Schema, "version": 1, "tools": list, "connectors": []string{}, "contributions": []string{}}
}

// base is an input of a person's own session with every tool and some of everything.
func base() obj {
	return obj{
		"schema": InputSchema,
		"launch": obj{
			"model": "acme/large-2", "dataRoot": "/d", "standard": obj{"cwd": "/home/ada/app", "project": obj{"name": "app"}},
			"sessionState":   obj{"name": "release", "firstTurn": true, "todo": []obj{{"text": "write the test", "status": "done"}}},
			"references":     []obj{{"title": "Issue 12", "source": "https://git.example/12", "text": "It breaks on ``` fences."}},
			"requiredSkills": []string{"deploy"},
			"spawn":          obj{"profiles": []obj{{"name": "scout", "description": "Looks, never writes", "planEligible": true}, {"name": "smith", "description": "Writes"}}},
			"wiki":           obj{"text": "12 pages; read them with the wiki tool."},
			"plan":           obj{"body": "Research, then write the plan."},
			"handoff":        obj{"objective": "Ship it", "done": []string{"a", "b"}, "left": "c", "next": "d", "evidence": []string{"run-1"}},
			"at":             "2026-05-04T10:00:00Z",
		},
		"variant": obj{
			"scope": "demo", "fingerprint": "kxt1:" + strings.Repeat("0f", 32),
			"sections": []obj{
				{"id": "system", "body": "Answer in English."}, {"id": "guardrails", "body": "Never push."}, {"id": "memory", "body": "Releases come from main."},
				{"id": "subagents", "body": "- own: of the variant"}, {"id": "scripts", "body": "- build"},
			},
			"skills": obj{"deploy": "---\nname: deploy\n---\n# Deploy\n\nRun make deploy."},
		},
		"sections": []obj{
			{"id": "addon-release", "title": "Release train", "body": "Ship on Tuesday.", "order": 44, "dynamic": true, "owner": "application:kxm", "sources": []string{"train.json"}},
			{"id": "addon-style", "title": "Style", "body": "Use tabs.", "order": 44, "owner": "application:kxm"},
		},
		"capabilities": capabilities(allTools...),
		"descriptors":  []obj{application()},
	}
}

func application() obj {
	return obj{
		"schema": "kxm.plugin-descriptor.v1", "id": "application:kxm", "title": "kxm", "description": "", "required": false, "default": "on",
		"contributions": []obj{}, "toolGroups": []obj{}, "sections": []string{},
	}
}

// launchOf returns the member launch of an input.
func launchOf(in obj) obj { return in["launch"].(obj) }

func encode(t testing.TB, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func parse(t testing.TB, in obj) *Input {
	t.Helper()
	parsed, err := ParseInput(encode(t, in))
	if err != nil {
		t.Fatalf("%v\n%s", err, encode(t, in))
	}
	return &parsed
}

func compiled(t testing.TB, in obj) *Pack {
	t.Helper()
	p, err := Compile(parse(t, in))
	if err != nil {
		t.Fatal(err)
	}
	checkPack(t, p)
	return p
}

func started(t testing.TB, in obj, before *Snapshot) *Launched {
	t.Helper()
	l, err := Start(parse(t, in), before, false)
	if err != nil {
		t.Fatal(err)
	}
	checkSizes(t, l)
	return l
}

func (p *Pack) section(id string) *Section {
	for i := range p.Sections {
		if p.Sections[i].ID == id {
			return &p.Sections[i]
		}
	}
	return nil
}

// checkPack holds what is true of every pack.
func checkPack(t testing.TB, p *Pack) {
	t.Helper()
	for i := range p.Sections {
		s := &p.Sections[i]
		if s.Body == "" || s.Size != length(s.Body) || s.Size > s.Budget {
			t.Errorf("the section %s has %d characters (%d by its size) of %d", s.ID, length(s.Body), s.Size, s.Budget)
		}
		if i > 0 && s.Order < p.Sections[i-1].Order {
			t.Errorf("the section %s stands behind a later one", s.ID)
		}
	}
	if !isPackID(p.ID) {
		t.Errorf("the id is %q", p.ID)
	}
}

// checkSizes holds the law of sizes: what is measured is the text, exactly.
func checkSizes(t testing.TB, l *Launched) {
	t.Helper()
	d := l.Pack.Delivery.Sizes
	if got, want := sum(d.System)+d.SystemFraming, length(l.System); got != want {
		t.Errorf("the sizes of the system prompt add up to %d, and it has %d characters", got, want)
	}
	if got, want := sum(d.Update)+d.UpdateFraming, length(l.Update); got != want {
		t.Errorf("the sizes of the update add up to %d, and it has %d characters", got, want)
	}
}

func sum(sizes []Size) (n int) {
	for _, s := range sizes {
		n += s.Characters
	}
	return n
}

// prose is text of about n bytes, with paragraphs.
func prose(r *rand.Rand, n int) string {
	words := strings.Fields("the release branch deploy build worker retry upload cache index server client request response review merge token")
	var b strings.Builder
	for b.Len() < n {
		for range 8 + r.IntN(12) {
			b.WriteString(words[r.IntN(len(words))])
			b.WriteByte(' ')
		}
		if r.IntN(6) == 0 {
			b.WriteString("\n\n")
		}
	}
	return strings.TrimSpace(b.String()[:n])
}

// bulk is an input of about n bytes: 12 sections, so many references, every tool.
func bulk(n, references int) obj {
	r := rand.New(rand.NewPCG(7, uint64(n)))
	in := base()
	var sections []obj
	for i := range 12 {
		sections = append(sections, obj{
			"id": fmt.Sprintf("app-%d", i), "title": fmt.Sprintf("Section %d", i), "body": prose(r, n/30), "order": 40 + i,
			"budget": 30_000, "dynamic": i%2 == 0, "owner": "application:kxm",
		})
	}
	var list []obj
	for i := range references {
		list = append(list, obj{"title": fmt.Sprintf("Issue %d", i), "source": fmt.Sprintf("https://git.example/%d", i), "text": prose(r, n*18/30/references)})
	}
	in["sections"] = sections
	launchOf(in)["references"] = list
	return in
}
