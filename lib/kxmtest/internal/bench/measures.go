package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const task = "How do we rotate the release signing key before a deploy?"

// all holds every bound, in the order of the documentation.
func (b *bench) all() {
	empty := b.emptyProgram()
	version := func(name string) command { return command{argv: []string{filepath.Join(b.bin, name), "--version"}} }
	b.ratio("kxm-pack --version / an empty Go program", 4, version("kxm-pack"), command{argv: []string{empty}})
	b.ratio("kxm-memory --version / an empty Go program", 5, version("kxm-memory"), command{argv: []string{empty}})

	pack := func(pool string) command {
		return command{argv: []string{filepath.Join(b.bin, "kxm-pack"), "--role", "planner", "--task", task}, dir: b.dir, stdin: pool}
	}
	jq := func(pool string) command { return command{argv: []string{"jq", "-c", "."}, stdin: pool} }
	for _, n := range []int{100, 1_000, 10_000, 100_000} {
		pool := b.pool(n)
		switch n {
		case 100:
			b.ratio("kxm-pack on 100 items / --version", 3, pack(pool), version("kxm-pack"))
		case 1_000:
			b.ratio("kxm-pack on 1,000 items / --version", 8, pack(pool), version("kxm-pack"))
		default:
			b.ratio(fmt.Sprintf("kxm-pack on %d items / jq -c .", n), 1, pack(pool), jq(pool))
		}
		if n == 100_000 {
			info, err := os.Stat(pool)
			if err != nil {
				fail(err)
			}
			b.memory("kxm-pack on 100,000 items, resident size / input", 6, pack(pool), info.Size())
			// Ten times the items in at most 12 times the time: linear.
			b.ratio("kxm-pack on 100,000 items / on 10,000", 12, pack(pool), pack(b.pool(10_000)))
		}
	}

	small := b.facts("small", 0)
	cat := shell(small, "cat .kxm/memory/*.md")
	list := command{argv: []string{filepath.Join(b.bin, "kxm-memory"), "list"}, dir: small}
	b.ratio("kxm-memory list on 1,000 facts / cat", 3, list, cat)
	items := filepath.Join(b.dir, "items.ndjson")
	b.output(list, items)
	b.ratio("kxm-memory list | kxm-pack on 1,000 facts / cat | jq -c .", 1.5,
		shell(small, "kxm-memory list | kxm-pack --role planner --task '"+task+"'"), shell(small, "cat '"+items+"' | jq -c ."))
	const committed = "kxm-memory list --committed, 100,000 other files / cat"
	if b.wanted(committed) {
		large := b.facts("large", 100_000)
		b.ratio(committed, 3,
			command{argv: []string{filepath.Join(b.bin, "kxm-memory"), "list", "--committed"}, dir: large}, shell(large, "cat .kxm/memory/*.md"))
	}
	b.state()
	b.prompt(empty)
	b.wiki()
	b.steel(empty)
}

// emptyProgram builds what start-up is compared with.
func (b *bench) emptyProgram() string {
	dir := filepath.Join(b.dir, "empty")
	write(filepath.Join(dir, "main.go"), "package main\n\nfunc main() {}\n")
	write(filepath.Join(dir, "go.mod"), "module empty\n\ngo 1.26\n")
	cmd := exec.Command("go", "build", "-ldflags", "-s -w", "-o", "empty", ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		fail(fmt.Errorf("%v\n%s", err, out))
	}
	return filepath.Join(dir, "empty")
}

func write(name, text string) {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		fail(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		fail(err)
	}
}

var words = strings.Fields(`the release branch deploy build worker retry upload cache index server client request
 response review merge commit test runner package version schema field record packet budget agent planner critic
 before after every when must never always run use keep write read check page form table query column timeout limit`)

var alarming = []string{"key", "token", "secret", "auth"}

// prose is an ordinary sentence; one in five holds a word of the redaction rules.
func prose(r *rand.Rand) string {
	n := 8 + r.IntN(12)
	text := make([]string, 0, n+1)
	for range n {
		text = append(text, words[r.IntN(len(words))])
	}
	if r.IntN(5) == 0 {
		text[r.IntN(n)] = alarming[r.IntN(len(alarming))]
	}
	return strings.ToUpper(text[0][:1]) + strings.Join(text, " ")[1:]
}

// pool writes n items and returns the file.
func (b *bench) pool(n int) string {
	name := filepath.Join(b.dir, fmt.Sprintf("pool-%d.ndjson", n))
	if _, err := os.Stat(name); err == nil {
		return name
	}
	r := rand.New(rand.NewPCG(1, uint64(n)))
	var text strings.Builder
	for i := range n {
		project := "demo"
		if i%10 == 0 {
			project = "_shared"
		}
		switch i % 4 {
		case 0:
			fmt.Fprintf(&text, `{"schema":"kxm.context-item.v1","id":"ctx_%08x","kind":"state","project":%q,"summary":%q,"provenance":{"sourceType":"human","sourceRef":"proposal:%d"},"authority":"policy","confidence":"verified","observedAt":"2026-0%d-01T00:00:00Z","status":"current","stateKey":"part%d.key","evidenceRefs":["pr:%d"]}`+"\n",
				i, project, prose(r), i, 1+i%9, i, i)
		case 1:
			fmt.Fprintf(&text, `{"schema":"kxm.context-item.v1","id":"journal_%08x","kind":"evidence","project":%q,"summary":%q,"provenance":{"sourceType":"peer"},"authority":"evidence","confidence":"probable","observedAt":"2026-0%d-02T10:00:00Z","journalCategory":"observation","runId":"run-%d"}`+"\n",
				i, project, prose(r), 1+i%9, i%50)
		default:
			fmt.Fprintf(&text, `{"schema":"kxm.context-item.v1","id":"mem_fact-%d","kind":"knowledge","project":%q,"summary":%q,"provenance":{"sourceType":"git","sourceRef":"memory:fact-%d.md","path":".kxm/memory/fact-%d.md"},"authority":"instruction","confidence":"verified","scope":"project","status":"current"}`+"\n",
				i, project, prose(r), i, i)
		}
	}
	write(name, text.String())
	return name
}

// facts makes a repository with 1,000 facts and so many other files, in one commit.
func (b *bench) facts(name string, others int) string {
	dir := filepath.Join(b.dir, name)
	r := rand.New(rand.NewPCG(2, 1))
	write(filepath.Join(dir, ".kxm", "config.toml"), "project = \"demo\"\n")
	for i := range 1_000 {
		write(filepath.Join(dir, ".kxm", "memory", fmt.Sprintf("fact-%d.md", i)), fmt.Sprintf(`---
schema: kxm.memory.v1
id: fact-%d
scope: project
kind: convention
summary: %s
provenance:
  sourceType: git
  sourceRef: docs/part-%d.md
authority: instruction
confidence: verified
lifecycle: active
evidenceRefs: []
---
%s.
`, i, prose(r), i%40, prose(r)))
	}
	for i := range others {
		write(filepath.Join(dir, fmt.Sprintf("src/%d/%d.txt", i/500, i)), fmt.Sprintf("file %d\n", i))
	}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"}, {"add", "-A"},
		{"-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "gc.auto=0", "commit", "-q", "-m", "facts"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			fail(fmt.Errorf("git %v: %v\n%s", args, err, out))
		}
	}
	return dir
}
