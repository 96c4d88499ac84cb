package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// TestPromptVerbsMaskSecrets gives each verb that reads a text one with a secret, also
// packs that the compiler did not make, and looks at all that is printed and recorded.
func TestPromptVerbsMaskSecrets(t *testing.T) {
	for _, s := range plantedSecrets() {
		t.Run(s.name, func(t *testing.T) {
			p := newPack(t, s.secret)
			text, err := json.Marshal("see " + s.text)
			if err != nil {
				t.Fatal(err)
			}
			raw := string(text)
			if err := os.Mkdir(filepath.Join(p.dir, "run"), 0o755); err != nil {
				t.Fatal(err)
			}
			input := `{"launch":{"wiki":{"text":` + raw + `},"references":[{"title":"t","text":` + raw + `}],"handoff":{"next":` + raw + `},"sessionState":{"todo":[{"text":` + raw + `}]}},"variant":{"sections":[{"id":"memory","body":` + raw + `}]},"capabilities":{"schema":"kxm.capability-set.v1","version":1,"tools":["todo_write"],"connectors":[],"contributions":[]}}`
			pack := `{"schema":"kxm.context-pack.v1","packId":"pk_0123456789abcdef","later":` + raw + `,"sections":[{"id":"a","title":` + raw + `,"body":` + raw + `,"part":"stable"}]}`
			for _, c := range []struct {
				stdin string
				args  []string
			}{
				{input, []string{"compile"}}, {input, []string{"launch", "--record", "run"}}, {input, []string{"section", "--builtin", "wiki"}},
				{"", []string{"show", "--run", "run"}},
				{pack, []string{"render"}}, {pack, []string{"render", "--sized"}}, {pack, []string{"sizes"}}, {pack, []string{"record", "--run", "run"}},
				{"", []string{"show", "--run", "run"}},
				{"see " + s.text, []string{"section", "--id", "a", "--title", "T", "--source=" + s.text}},
				{`{"request":` + raw + `,"todo":[{"text":` + raw + `}],"plan":{"body":` + raw + `}}`, []string{"checkpoint"}},
				{`{"objective":` + raw + `}`, []string{"checkpoint", "--handoff"}},
			} {
				p.run(0, c.stdin, append([]string{"prompt"}, c.args...)...)
				if c.args[0] != "sizes" && c.args[0] != "record" {
					p.masked(c.args...)
				}
				recorded, err := os.ReadFile(filepath.Join(p.dir, "run", "context.json"))
				if err != nil && !os.IsNotExist(err) {
					t.Fatal(err)
				}
				p.look("the record", string(recorded), c.args)
			}
			p.run(1, "", "prompt", "texts", "see "+s.text)
			p.run(2, "", "prompt", "compile", "--launch", s.text)
			p.run(4, `{"launch":{"mode":`+raw+`}}`, "prompt", "compile")
			p.run(4, `{"sections":[{"id":`+raw+`}]}`, "prompt", "compile")
		})
	}
}
