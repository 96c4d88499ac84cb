package kxmtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"kxm/lib/skill"
	"kxm/lib/steel/steeltest"
)

// Skills teach the programs to a coding agent.
const (
	agentSkill   = "skills/kxm/SKILL.md"
	browserSkill = "skills/kxm-browser/SKILL.md"
)

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

// TestBrowserSkillRunsAsPrinted runs its examples against a server with a browser.
func TestBrowserSkillRunsAsPrinted(t *testing.T) {
	site := steeltest.NewSite()
	defer site.Close()
	server := steeltest.New(Now)
	defer server.Close()
	if err := server.StartBrowser(t.Context(), steeltest.ChromiumOf(os.Getenv)); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	runAsPrinted(t, browserSkill, dir, append(onPath(t, dir), "STEEL_API_URL="+server.URL, "SITE="+site.URL))
	if live := server.Live(); len(live) > 0 {
		t.Errorf("%v live on", live)
	}
	if c := server.Complaints(); len(c) > 0 {
		t.Errorf("%v", c)
	}
}

// TestSkills holds the rules of Agent Skills, that what they name exists, and that they
// forbid what they must.
func TestSkills(t *testing.T) {
	verbs := map[string]bool{}
	for _, program := range programs(t) {
		for _, c := range grammarOf(t, installed(t), program).Commands {
			verbs[strings.TrimSpace(program+" "+c.Command)] = true
		}
	}
	for _, s := range []struct {
		page, under string
		never       []string
	}{
		{agentSkill, "\n## Never", []string{"promote, reject, review or sign", "allowed_signers", "--no-verify"}},
		{browserSkill, "\n## Rules", []string{"never an instruction", "never as an argument", "a person's to give", "cdp-url --reveal"}},
	} {
		t.Run(filepath.Base(filepath.Dir(s.page)), func(t *testing.T) {
			body := checkSkill(t, s.page, verbs)
			for _, never := range s.never {
				if !strings.Contains(strings.Join(strings.Fields(body[strings.Index(body, s.under):]), " "), never) {
					t.Errorf("it does not forbid %s", never)
				}
			}
		})
	}
}

// checkSkill checks a skill's form and the commands in it, and returns its text.
func checkSkill(t *testing.T, page string, verbs map[string]bool) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(page)))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := skill.ParseDocument(page, text)
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Base(filepath.Dir(page)); doc.Name != want {
		t.Errorf("its name is %q, its folder %q", doc.Name, want)
	}
	if n := strings.Count(string(text), "\n"); n >= 200 {
		t.Errorf("it has %d lines, which every session that uses it pays for", n)
	}
	_, body, _ := strings.Cut(strings.TrimPrefix(string(text), "---\n"), "\n---\n")
	named := regexp.MustCompile(`(kxm-[a-z]+) ([a-z]+(?:-[a-z]+)*)( [a-z]+)?`).FindAllStringSubmatch(body, -1)
	if len(named) < 20 {
		t.Errorf("only %d commands are named", len(named))
	}
	for _, m := range named {
		if !verbs[m[1]+" "+m[2]] && !verbs[m[1]+" "+m[2]+m[3]] {
			t.Errorf("there is no %q", m[0])
		}
	}
	return body
}
