package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
)

// prompt measures the prompt compiler; what it costs in process is in the benchmarks
// of lib/prompt.
func (b *bench) prompt(empty string) {
	program := command{argv: []string{empty}}
	verb := func(stdin string, args ...string) command {
		return command{argv: append([]string{filepath.Join(b.bin, "kxm-pack"), "prompt"}, args...), dir: b.dir, stdin: stdin}
	}
	input, large, many := b.promptInput("input", 200_000, 40), b.promptInput("large", 400_000, 40), b.promptInput("many", 200_000, 400)
	b.ratio("kxm-pack prompt compile on 200 KB / an empty Go program", 6, verb(input, "compile"), program)
	b.ratio("kxm-pack prompt compile on 400 KB / on 200 KB", 2.3, verb(large, "compile"), verb(input, "compile"))
	b.ratio("kxm-pack prompt compile with 400 references / with 40", 2.3, verb(many, "compile"), verb(input, "compile"))

	answer, pack, snapshot := filepath.Join(b.dir, "launch.json"), filepath.Join(b.dir, "pack.json"), filepath.Join(b.dir, "snapshot.json")
	b.output(verb(input, "launch"), answer)
	b.output(verb(input, "compile"), pack)
	b.output(command{argv: []string{"jq", "-c", ".snapshot", answer}}, snapshot)
	b.ratio("kxm-pack prompt launch, unchanged snapshot / compile", 1.2, verb(input, "launch", "--snapshot", snapshot), verb(input, "compile"))
	b.ratio("kxm-pack prompt render / an empty Go program", 5, verb(pack, "render"), program)

	state, text := filepath.Join(b.dir, "state.json"), filepath.Join(b.dir, "text.md")
	write(state, `{"request":"Ship it","todo":[{"text":"write the test","status":"open"}],"compaction":"e91f"}`)
	write(text, "# Facts\n\nUse pnpm.\n")
	b.ratio("kxm-pack prompt checkpoint / an empty Go program", 3, verb(state, "checkpoint"), program)
	b.ratio("kxm-pack prompt section / an empty Go program", 3, verb(text, "section", "--id", "facts", "--title", "Facts"), program)
	b.ratio("kxm-pack prompt texts / an empty Go program", 3, verb("", "texts", "role"), program)
	b.history()
}

// history measures the search in a history of 50 MB.
func (b *bench) history() {
	const late, none = "kxm-pack prompt snapshot, in the last MB of 50 / jq", "kxm-pack prompt snapshot, none in 50 MB / jq"
	if !strings.Contains(late, b.only) && !strings.Contains(none, b.only) {
		return
	}
	for _, m := range []struct {
		name  string
		bound float64
		at    int
	}{{late, 0.05, 49_500_000}, {none, 0.3, -1}} {
		file := b.historyFile(50_000_000, m.at)
		ask := command{argv: []string{filepath.Join(b.bin, "kxm-pack"), "prompt", "snapshot", "--history", file}}
		if m.at < 0 {
			ask = shell(b.dir, `"`+strings.Join(ask.argv, `" "`)+`" 2>/dev/null || test $? = 1`)
		}
		b.ratio(m.name, m.bound, ask, command{argv: []string{"jq", "-c", `select(.type=="custom_message")`, file}})
	}
}

// historyFile writes a session's history of so many bytes, with an update behind the
// byte at, unless that is negative.
func (b *bench) historyFile(size, at int) string {
	name := filepath.Join(b.dir, fmt.Sprintf("history-%d.jsonl", at))
	r := rand.New(rand.NewPCG(4, 4))
	const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	var text strings.Builder
	for i := 0; text.Len() < size; i++ {
		if at >= 0 && text.Len() > at {
			fmt.Fprintf(&text, `{"type":"custom_message","id":"%08x","parentId":"%08x","customType":"kxm-context","content":"","display":false,"details":{"kxmContext":{"schema":"kxm.prompt-snapshot.v1","system":%q,"systemSections":[],"sections":[]}}}`+"\n", i, i-1, digest)
			at = -1
			continue
		}
		fmt.Fprintf(&text, `{"type":"message","id":"%08x","parentId":"%08x","message":{"role":"assistant","content":[{"type":"text","text":%q}],"usage":{"input":%d}}}`+"\n",
			i, i-1, prose(r)+"\n\n"+prose(r)+"\n\""+prose(r)+"\"", i)
	}
	write(name, text.String())
	return name
}

// promptInput writes an input of about so many bytes: 12 sections, so many references
// and the tools of the built-in groups.
func (b *bench) promptInput(name string, size, references int) string {
	r := rand.New(rand.NewPCG(3, uint64(size)))
	paragraphs := func(n int) string {
		var text strings.Builder
		for text.Len() < n {
			text.WriteString(prose(r) + ".\n\n")
		}
		return strings.TrimSpace(text.String()[:n])
	}
	type object = map[string]any
	var sections, list []object
	for i := range 12 {
		sections = append(sections, object{"id": fmt.Sprintf("app-%d", i), "title": fmt.Sprintf("Section %d", i), "body": paragraphs(size / 30), "order": 40 + i, "budget": 30_000, "dynamic": i%2 == 0})
	}
	for i := range references {
		list = append(list, object{"title": fmt.Sprintf("Issue %d", i), "source": fmt.Sprintf("https://git.example/%d", i), "text": paragraphs(size * 18 / 30 / references)})
	}
	raw, err := json.Marshal(object{
		"launch": object{"standard": object{"cwd": "/home/ada/app"}, "references": list, "wiki": object{"text": "12 pages"}}, "sections": sections,
		"capabilities": object{
			"schema": "kxm.capability-set.v1", "version": 1, "connectors": []string{}, "contributions": []string{},
			"tools": strings.Fields("bash checkpoint_write edit find grep ls plugin_propose read session_name todo_write update_goal web_read web_search write"),
		},
	})
	if err != nil {
		fail(err)
	}
	file := filepath.Join(b.dir, "prompt-"+name+".json")
	write(file, string(raw))
	return file
}
