package prompt

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"kxm/lib/kxmtest"
)

// TestGolden compares packs and texts of the three modes, with and without the
// standard sections, and of a subagent, with what is in testdata; -update writes them
// anew. A change of a cached prefix shows there in review.
func TestGolden(t *testing.T) {
	for name, change := range map[string]func(l obj){
		"normal": func(l obj) {},
		"plan":   func(l obj) { l["mode"] = "plan" },
		"side-question": func(l obj) {
			l["mode"], l["main"] = "side-question", obj{"system": "# kxm\n\nBe brief.", "update": "# Context update"}
		},
		"bare":      func(l obj) { l["standard"] = nil },
		"bare-plan": func(l obj) { l["standard"], l["mode"] = nil, "plan" },
		"subagent": func(l obj) {
			delete(l, "standard")
			delete(l, "spawn")
			l["parent"], l["profile"] = "run-1", "scout"
		},
	} {
		in := base()
		change(launchOf(in))
		l := started(t, in, nil)
		var pack bytes.Buffer
		if err := json.Indent(&pack, l.Pack.AppendJSON(nil), "", " "); err != nil {
			t.Fatal(err)
		}
		golden(t, name+".pack.json", pack.String()+"\n")
		golden(t, name+".system.md", l.System)
		golden(t, name+".update.md", l.Context+l.Update)
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "golden", name)
	if *kxmtest.Update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; after review: go test ./lib/prompt -run TestGolden -update\n%s", file, got)
	}
}
