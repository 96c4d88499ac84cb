package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kxm/lib/cli"
	"kxm/lib/kxmtest"
)

// planted is a secret and a text that holds it. They are put together here so that
// scanners of this repository stay quiet.
type planted struct {
	name, text, secret string
}

func plantedSecrets() []planted {
	mixed := "Zf3D0LXCM3EI" + "MbgJpUNnkRtOfOueHznB"
	body := mixed + "+/" + mixed[2:] // one line of a key: an id has 128 characters at most
	all := []planted{
		{"AWS key", "", "AKIA" + "QYLPMN5HHHFPZAM2"},
		{"GitHub token", "", "ghp_" + "wWPw5k4aXcaT4fNP0UcnZwJUVFk6LO0pINUx"},
		{"GitLab token", "", "glpat-" + "ANbg1a7xS9dkw3TzQ2vK"},
		{"Slack token", "", "xoxb-" + "781236542736-2364535789652-GkwFDQoHqzXDVsC6GzqYUypD"},
		{"Stripe key", "", "sk_live_" + "51OuEMLAlTWGaDypq4P5cuDHbuKeG4tAGPYH"},
		{"private key", "-----BEGIN RSA " + "PRIVATE KEY----- " + body + " -----END RSA " + "PRIVATE KEY-----", body},
		{"web token", "", "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0NTY3ODkwIn0" + ".SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJVadQssw5cA"},
		{"npm token", "", "npm_" + "k3jh5k6mh7k8jp9k0jv1k2xh3w4jd5k6jh7q"},
		{"generic key", `api_key = "` + mixed + `"`, mixed},
		{"hub token", "KXM_AUTH_TOKEN=" + "correct-horse", "correct" + "-horse"},
	}
	for i := range all {
		if all[i].text == "" {
			all[i].text = all[i].secret
		}
	}
	return all
}

// pack is a run of the program in this process.
type pack struct {
	t      *testing.T
	dir    string
	secret string
	stdout bytes.Buffer
	stderr bytes.Buffer
}

// run runs the program, wants its exit status, and looks for the secret in all that it
// printed and wrote.
func (p *pack) run(status int, stdin string, args ...string) {
	p.t.Helper()
	p.stdout.Reset()
	p.stderr.Reset()
	got := cli.Run(program(), args, cli.Streams{
		In: strings.NewReader(stdin), Out: &p.stdout, Err: &p.stderr, Dir: p.dir, Now: kxmtest.Now, Getenv: func(string) string { return "" },
	})
	if got != status {
		p.t.Errorf("%q: status %d, want %d: %q", args, got, status, &p.stderr)
	}
	p.look("standard output", p.stdout.String(), args)
	p.look("standard error", p.stderr.String(), args)
	log, err := os.ReadFile(filepath.Join(p.dir, "log"))
	if err != nil && !os.IsNotExist(err) {
		p.t.Fatal(err)
	}
	p.look("the log", string(log), args)
}

// look looks for a secret in any letter case: words of a task are printed in lower case.
func (p *pack) look(where, text string, args []string) {
	p.t.Helper()
	if strings.Contains(strings.ToLower(text), strings.ToLower(p.secret)) {
		p.t.Errorf("%q: the secret is on %s: %s", args, where, text)
	}
}

// masked wants that what was to be printed was printed, with a mask.
func (p *pack) masked(args ...string) {
	p.t.Helper()
	if !strings.Contains(p.stdout.String()+p.stderr.String(), "[redacted:") {
		p.t.Errorf("%q: nothing is masked: %q, %q", args, &p.stdout, &p.stderr)
	}
}

func newPack(t *testing.T, secret string) *pack {
	t.Helper()
	t.Setenv("KXM_PROJECT", "")
	return &pack{t: t, dir: t.TempDir(), secret: secret}
}

// line is an item as a line of JSON, with the fields given.
func line(t *testing.T, set map[string]any) string {
	t.Helper()
	it := map[string]any{
		"id": "a", "kind": "knowledge", "project": "demo", "summary": "deploy words", "authority": "evidence", "confidence": "verified",
	}
	provenance := map[string]any{"sourceType": "peer"}
	for k, v := range set {
		if name, inside := strings.CutPrefix(k, "provenance."); inside {
			provenance[name] = v
		} else {
			it[k] = v
		}
	}
	it["provenance"] = provenance
	raw, err := json.Marshal(it)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw) + "\n"
}

func TestSecretsOfItemsNeverComeOut(t *testing.T) {
	for _, s := range plantedSecrets() {
		list := []string{"pr:1", s.text, "see " + s.text + "."}
		for field, value := range map[string]any{
			"id": s.text, "project": s.text, "summary": "we deploy with " + s.text + ".", "stateKey": s.text, "supersedes": list[:2], "evidenceRefs": list,
			"provenance.path": "docs/" + s.text + ".md", "provenance.sourceRef": "note:" + s.text, "provenance.derivedFrom": list[:2],
			"provenance.author": s.text, "provenance.signer": s.text, "runId": s.text, "stageId": s.text,
		} {
			t.Run(s.name+" in "+field, func(t *testing.T) {
				p := newPack(t, s.secret)
				set := map[string]any{field: value}
				id := "a"
				switch field {
				case "id":
					id = s.text
				case "stateKey":
					set["kind"], set["status"] = "state", "current"
				case "runId", "stageId":
					set["journalCategory"] = "lesson"
				}
				pool := line(t, set)
				p.run(0, pool, "--role", "implementer", "--kinds", "state,knowledge", "--why", "--log", "log", "--task", "deploy "+s.text)
				p.masked(field)
				if n := strings.Count(p.stdout.String(), `"outcome":"selected"`); n != 1 {
					t.Errorf("%d items are selected: %s", n, &p.stdout)
				}
				p.run(0, pool, "--role", "implementer", "--kinds", "state,knowledge", "--format", "markdown", "--contradiction="+s.text)
				p.run(0, pool, "--role", "implementer", "--why", "--kinds", "evidence", "--run="+s.text, "--stage="+s.text) // not selected
				p.masked(field)
				p.run(0, pool, "recall", "--query="+s.text)
				p.run(0, pool, "recall", "--query", "")
				p.run(0, pool, "explain", "--", id)
				if !strings.Contains(p.stdout.String(), `"found":true`) {
					t.Errorf("not found: %s", &p.stdout)
				}
			})
		}
	}
}

func TestSecretsOfRequestsNeverComeOut(t *testing.T) {
	for _, s := range plantedSecrets() {
		t.Run(s.name, func(t *testing.T) {
			p := newPack(t, s.secret)
			pool := line(t, nil) + line(t, map[string]any{"id": "b", "summary": "deploy with " + s.text})
			for _, form := range []string{"json", "markdown"} {
				p.run(0, pool, "--role", "critic", "--task", "deploy "+s.text+" now", "--why", "--log", "log", "--format", form)
			}
			kxmtest.WriteFiles(t, p.dir, map[string]string{"task": "deploy\n" + s.text + "\n"})
			p.run(0, pool, "--role", "critic", "--task-file", "task", "--why")
			p.masked()
			p.run(0, pool, "--role", "critic", "--run="+s.text, "--stage="+s.text, "--contradiction="+s.text)
			p.masked()
			p.run(0, "", "--role", "critic", "--project="+s.text, "--log", "log")
			p.masked()
			if len([]rune(s.text)) <= 64 {
				p.run(0, pool, "--role="+s.text, "--log", "log")
				p.masked()
			}
			for _, args := range [][]string{{"--role", "critic", "--log", "log"}, {"--role", "critic", "--format", "markdown"}, {"recall", "--query", "deploy"}} {
				p.run(0, pool+gapLine(t, "memory_unreadable:"+s.text)+gapLine(t, s.text), args...)
				p.masked(args...)
			}
		})
	}
}

func TestSecretsOfTheWorkingStateNeverComeOut(t *testing.T) {
	for _, s := range plantedSecrets() {
		t.Run(s.name, func(t *testing.T) {
			p := newPack(t, s.secret)
			// Behind a name that tells, the value alone is one.
			name := "step"
			switch s.name {
			case "generic key":
				name = "api_key"
			case "hub token":
				name = "KXM_AUTH_TOKEN"
			}
			for _, state := range []any{
				map[string]any{"note": "we use " + s.text}, map[string]any{s.text: 1}, map[string]any{"a": []any{map[string]any{"b": []any{s.text, 1, nil}}}},
				map[string]any{name: s.secret}, map[string]any{"deep": map[string]any{name: []any{"x", s.secret}}}, map[string]any{s.text: s.text, s.text + " ": map[string]any{s.text: s.text}},
			} {
				if m, ok := state.(map[string]any); ok && s.name == "private key" && (m[name] != nil || m["deep"] != nil) {
					continue // a line of a key is a secret only between its head and its foot
				}
				raw, err := json.Marshal(state)
				if err != nil {
					t.Fatal(err)
				}
				kxmtest.WriteFiles(t, p.dir, map[string]string{"state.json": string(raw)})
				p.run(0, "", "--role", "critic", "--working-state", "state.json", "--log", "log")
				p.masked(string(raw))
				if !json.Valid(p.stdout.Bytes()) {
					t.Errorf("no JSON: %s", &p.stdout)
				}
			}
		})
	}
}

// A state's key names its value.
func TestSecretBehindItsStateKeyNeverComesOut(t *testing.T) {
	for key, secret := range map[string]string{"deploy.api_key": "Zf3D0LXCM3EI" + "MbgJpUNnkRtOfOueHznB", "KXM_AUTH_TOKEN": "correct" + "-horse"} {
		p := newPack(t, secret)
		pool := line(t, map[string]any{"kind": "state", "status": "current", "stateKey": key, "summary": secret})
		for _, form := range []string{"json", "markdown"} {
			p.run(0, pool, "--role", "planner", "--format", form)
			p.masked(form)
		}
	}
	p := newPack(t, "no secret is planted")
	p.run(0, line(t, map[string]any{"kind": "state", "status": "current", "stateKey": "token.storage", "summary": "Kept in local-storage-v2 since 2024"}), "--role", "planner")
	if strings.Contains(p.stdout.String(), "[redacted") {
		t.Errorf("prose is masked: %s", &p.stdout)
	}
}

func TestSecretsOfErrorsNeverComeOut(t *testing.T) {
	for _, s := range plantedSecrets() {
		t.Run(s.name, func(t *testing.T) {
			p := newPack(t, s.secret)
			quoted, err := json.Marshal(s.text)
			if err != nil {
				t.Fatal(err)
			}
			role := []string{"--role", "critic"}
			for _, c := range []struct {
				status int
				code   string
				echo   bool // the message repeats the text
				stdin  string
				args   []string
			}{
				{1, "context_isolation_violation", true, line(t, map[string]any{"id": s.text, "project": "other"}), []string{"--role", "critic", "--project", "demo"}},
				{1, "context_isolation_violation", true, line(t, map[string]any{"project": s.text}), []string{"--role", "critic", "--project", "demo"}},
				{1, "context_isolation_violation", true, line(t, nil), []string{"--role", "critic", "--project=" + s.text}},
				{1, "context_isolation_violation", true, line(t, map[string]any{"id": s.text, "project": "other"}), []string{"recall", "--query", "x", "--project", "demo"}},
				{1, "context_isolation_violation", true, line(t, map[string]any{"id": s.text, "project": "other"}), []string{"explain", "x", "--project", "demo"}},
				{2, "usage", true, line(t, map[string]any{"project": s.text}) + line(t, map[string]any{"id": "b"}), role},
				{4, "invalid_context_item", true, line(t, map[string]any{"id": s.text}) + line(t, map[string]any{"id": s.text, "summary": "other"}), role},
				{4, "invalid_context_item", true, line(t, map[string]any{"schema": s.text}), role},
				{4, "invalid_context_field", true, line(t, map[string]any{"evidenceRefs": []string{s.text, s.text}}), role},
				{4, "invalid_context_field", false, line(t, map[string]any{"confidence": s.text}), role},
				{4, "invalid_context_field", false, line(t, map[string]any{"observedAt": s.text}), role},
				{4, "invalid_context_item", false, line(t, map[string]any{"id": s.text, "supersedes": []string{s.text}}), role},
				{4, "protocol_error", false, line(t, map[string]any{"summary": strings.Repeat(s.text+" ", 4000)}), role},
				{1, "context_authority_violation", false, line(t, map[string]any{"id": s.text, "password": s.text}), role},
				{4, "invalid_json", true, fmt.Sprintf("{%s:1,%s:2}", quoted, quoted), role},
				{4, "invalid_json", false, fmt.Sprintf("{\"id\":%s x}", quoted), role},
				{4, "invalid_json", false, s.text, role},
				{1, "item_not_found", true, line(t, nil), []string{"explain", "--", s.text}},
				{1, "no_match", false, line(t, nil), []string{"recall", "-e", "--query", "x" + s.text}},
				{2, "usage", true, "", []string{"--role", "critic", "--kinds=" + s.text}},
				{2, "usage", true, "", []string{"--role", "critic", "--working-state=" + s.text}},
				{2, "usage", true, "", []string{"--role", "critic", "--task-file", "absent/" + s.text}},
				{2, "usage", true, "", []string{"--role", "critic", "--chdir=" + s.text}},
				{2, "usage", true, "", []string{"--role", "critic", "--format=" + s.text}},
				{2, "usage", true, "", []string{"--role", "critic", "--budget=" + s.text}},
				{2, "usage", true, "", []string{"--generate=" + s.text}},
				{2, "usage", true, "", []string{"x " + s.text}},
				{3, "io_failed", true, "", []string{"--role", "critic", "-o", "absent/" + s.text}},
				{3, "io_failed", true, "", []string{"--role", "critic", "--log", "absent/" + s.text}},
			} {
				p.run(c.status, c.stdin, c.args...)
				if !strings.Contains(p.stderr.String(), "["+c.code+"]\n") {
					t.Errorf("%q: %q, want %s", c.args, &p.stderr, c.code)
				}
				if c.echo {
					p.masked(c.args...)
				}
				p.run(c.status, c.stdin, append([]string{"--errors=json"}, c.args...)...)
			}
			kxmtest.WriteFiles(t, p.dir, map[string]string{"state.json": string(quoted), "twice.json": fmt.Sprintf("{%s:1,%s:2}", quoted, quoted)})
			p.run(4, "", "--role", "critic", "--working-state", "state.json")
			p.run(4, "", "--role", "critic", "--working-state", "twice.json")
			p.masked("twice.json")
			kxmtest.WriteFiles(t, p.dir, map[string]string{".kxm/config.toml": fmt.Sprintf("[pack]\n%s = 1\n", quoted)})
			p.run(2, "", "--role", "critic")
			p.masked("config.toml")
		})
	}
}
