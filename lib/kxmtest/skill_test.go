package kxmtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"kxm/lib/skill"
)

// agentSkill teaches the programs to a coding agent.
const agentSkill = "skills/kxm/SKILL.md"

// TestAgentSkillRunsAsPrinted runs its examples one after the other in one project, as
// an agent does, which has said that no person is there.
func TestAgentSkillRunsAsPrinted(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	env := onPath(t, home)
	script, err := filepath.Abs(filepath.Join("testdata", "skill-project.sh"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", script)
	cmd.Dir, cmd.Env = dir, env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	runAsPrinted(t, agentSkill, dir, append(env, "KXM_UNATTENDED=1"))
}

// TestAgentSkill holds the rules of Agent Skills, and that what it names exists.
func TestAgentSkill(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(agentSkill)))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := skill.ParseDocument(agentSkill, text)
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Base(filepath.Dir(agentSkill)); doc.Name != want {
		t.Errorf("its name is %q, its folder %q", doc.Name, want)
	}
	if n := strings.Count(string(text), "\n"); n >= 200 {
		t.Errorf("it has %d lines, which every session that uses it pays for", n)
	}
	verbs := map[string]bool{}
	for _, program := range programs(t) {
		for _, c := range grammarOf(t, installed(t), program).Commands {
			verbs[strings.TrimSpace(program+" "+c.Command)] = true
		}
	}
	_, body, _ := strings.Cut(strings.TrimPrefix(string(text), "---\n"), "\n---\n")
	named := regexp.MustCompile(`(kxm-[a-z]+) ([a-z]+)( [a-z]+)?`).FindAllStringSubmatch(body, -1)
	if len(named) < 20 {
		t.Errorf("only %d commands are named", len(named))
	}
	for _, m := range named {
		if !verbs[m[1]+" "+m[2]] && !verbs[m[1]+" "+m[2]+m[3]] {
			t.Errorf("there is no %q", m[0])
		}
	}
	for _, never := range []string{"promote, reject, review or sign", "allowed_signers", "--no-verify"} {
		if !strings.Contains(body[strings.Index(body, "\n## Never"):], never) {
			t.Errorf("it does not forbid %s", never)
		}
	}
}
