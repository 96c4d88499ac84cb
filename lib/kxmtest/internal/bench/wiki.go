package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// wiki holds the bounds of kxm-wiki.
func (b *bench) wiki() {
	const claims = 10_000
	pool := b.claims(claims, "")
	program := filepath.Join(b.bin, "kxm-wiki")
	compile := func(pool, out string, flags ...string) command {
		return command{argv: append([]string{program, "compile", "--project", "demo", "--out", out, "-q"}, flags...), dir: b.dir, stdin: pool}
	}
	jq := command{argv: []string{"jq", "-c", "."}, stdin: pool}
	fresh := filepath.Join(b.dir, "wiki")
	b.ratio("kxm-wiki compile --out of 10,000 claims / jq -c .", 2, shellIn(pool, fmt.Sprintf("rm -rf '%s' && '%s' compile --project demo --out '%s' -q", fresh, program, fresh)), jq)
	b.ratio("kxm-wiki compile --check of 10,000 claims / jq -c .", 2, compile(pool, fresh, "--check"), jq)
	b.ratio("kxm-wiki compile, one claim changed / jq -c .", 2, compile(b.claims(claims, "x"), fresh), jq)
	// A program that only prints its version takes three times the 4 MB of 10,000 claims:
	// the promise is about what grows.
	const size = "kxm-wiki compile of 100,000 claims, resident size / input"
	if b.wanted(size) {
		large := b.claims(10*claims, "")
		info, err := os.Stat(large)
		if err != nil {
			fail(err)
		}
		b.memory(size, 6, compile(large, filepath.Join(b.dir, "wiki-size")), info.Size())
	}
}

// shellIn is a shell's line with a file at its standard input.
func shellIn(stdin, line string) command {
	return command{argv: []string{"sh", "-c", line}, stdin: stdin}
}

// claims writes a pool of n items that all have a place in the wiki and returns the
// file. Suffix, if any, is added to one summary.
func (b *bench) claims(n int, suffix string) string {
	name := filepath.Join(b.dir, fmt.Sprintf("claims-%d%s.ndjson", n, suffix))
	if _, err := os.Stat(name); err == nil {
		return name
	}
	r := rand.New(rand.NewPCG(3, uint64(n)))
	kinds := []string{"convention", "decision", "layout", "learning"}
	var text strings.Builder
	for i := range n {
		summary := prose(r)
		if i == n/2 {
			summary += suffix
		}
		switch i % 4 {
		case 0:
			fmt.Fprintf(&text, `{"schema":"kxm.context-item.v1","id":"ctx_%08x","kind":"state","project":"demo","summary":%q,"provenance":{"sourceType":"human","sourceRef":"proposal:%d","author":"agent-7","signer":"ada"},"authority":"policy","confidence":"verified","observedAt":"2026-0%d-01T00:00:00Z","validFrom":"2026-0%d-01T00:00:00Z","status":"current","stateKey":"part%d.key","evidenceRefs":["pr:%d"]}`+"\n",
				i, summary, i, 1+i%9, 1+i%9, i, i)
		case 1:
			fmt.Fprintf(&text, `{"schema":"kxm.context-item.v1","id":"journal_%08x","kind":"knowledge","project":"demo","summary":%q,"provenance":{"sourceType":"peer","author":"agent-7"},"authority":"evidence","confidence":"probable","observedAt":"2026-0%d-02T10:00:00Z","status":"current","journalCategory":"lesson","runId":"run-%d"}`+"\n",
				i, summary, 1+i%9, i%50)
		default:
			fmt.Fprintf(&text, `{"schema":"kxm.context-item.v1","id":"mem_fact-%d","kind":"knowledge","project":"demo","summary":%q,"provenance":{"sourceType":"git","sourceRef":"memory:fact-%d.md","path":".kxm/memory/fact-%d.md"},"authority":"instruction","confidence":"verified","scope":"project","status":"current","memoryKind":%q}`+"\n",
				i, summary, i, i, kinds[i%len(kinds)])
		}
	}
	write(name, text.String())
	return name
}
