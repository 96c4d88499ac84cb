package frontmatter

import (
	"testing"

	"go.yaml.in/yaml/v3"
)

// memoryFile is front matter as most memory files have it, with a comment and a
// flow mapping.
const memoryFile = "---\nschema: kxm.memory.v1\nid: test-runner                # the file is <id>.md\nscope: project\nkind: convention\n" +
	"summary: Run the test suite with npm test before every commit\nprovenance: {sourceType: git, sourceRef: docs/testing.md}\n" +
	"authority: instruction\nconfidence: verified\nlifecycle: active\nevidenceRefs: []\n---\nOptional body.\n"

// BenchmarkParse compares Parse with the YAML library alone, over the same text.
func BenchmarkParse(b *testing.B) {
	data := []byte(memoryFile)
	b.Run("Parse", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			if _, err := Parse("f.md", data); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("library", func(b *testing.B) {
		p, err := split(data)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			var n yaml.Node
			if err := yaml.Unmarshal(p.text(), &n); err != nil {
				b.Fatal(err)
			}
		}
	})
}
