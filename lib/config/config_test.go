package config

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"kxm/lib/fault"
)

func load(t *testing.T, repository, user string) (*Config, error) {
	t.Helper()
	o := Options{UserFile: filepath.Join(t.TempDir(), "config.toml")}
	if repository != "" {
		o.Repository, o.RepositoryName = []byte(repository), FileName
	}
	if user != "" {
		if err := os.WriteFile(o.UserFile, []byte(user), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Load(o)
}

func TestRepositoryStandsAboveUserKeyByKey(t *testing.T) {
	c, err := load(t, `
project = "demo"
[pack]
contradictionShare = 0.0
[roles.scribe]
kinds = ["episode"]
[[secrets.allow]]
path = "a.md"
rule = "jwt"
`, `
project = "mine"
[pack]
role = "critic"
contradictionShare = 0.9
[roles.scribe]
budgetTokens = 700
kinds = ["skill"]
[steel]
keyCommand = ["pass", "show"]
timeout = "5m"
[paths]
data = "/data"
[wiki.sections]
decision = "decisions"
`)
	if err != nil {
		t.Fatal(err)
	}
	if c.Project != "demo" || c.Pack.Role != "critic" || *c.Pack.ContradictionShare != 0 || c.Paths.Data != "/data" {
		t.Errorf("merged to %+v", c.File)
	}
	scribe := c.Roles["scribe"]
	if len(scribe.Kinds) != 1 || scribe.Kinds[0] != "episode" || *scribe.BudgetTokens != 700 {
		t.Errorf("role merged to %+v", scribe)
	}
	if got := c.Origin("project"); got != FileName+":2" {
		t.Errorf("project comes from %q", got)
	}
	if got := c.Origin("roles.scribe"); got != FileName+":5" {
		t.Errorf("the role comes from %q", got)
	}
	if got := filepath.Base(c.Origin("pack.role")); got != "config.toml:4" {
		t.Errorf("pack.role comes from %q", got)
	}
	if got := c.Origin("state.format"); got != "" {
		t.Errorf("an absent key comes from %q", got)
	}
}

func TestRefusalsNameCodeAndPlace(t *testing.T) {
	for _, c := range []struct {
		name, repository, user string
		code                   fault.Code
		line                   int
	}{
		{"unknown key", "project = 'x'\n\nunknown = 1\n", "", fault.ConfigKeyUnknown, 3},
		{"unknown key below a table", "[pack]\nrole = 'x'\nrolle = 'y'\n", "", fault.ConfigKeyUnknown, 3},
		{"unknown key of an open table", "", "[steel]\napiUrl = 'x'\napiURL = 'y'\n", fault.ConfigKeyUnknown, 3},
		{"letter case counts", "Project = 'x'\n", "", fault.ConfigKeyUnknown, 1},
		{"syntax", "project = \n", "", fault.ConfigInvalid, 1},
		{"type", "project = 7\n", "", fault.ConfigInvalid, 1},
		{"duplicate key", "project = 'x'\nproject = 'y'\n", "", fault.ConfigInvalid, 2},
		{"shared project", "project = '_shared'\n", "", fault.ConfigInvalid, 1},
		{"empty project", "project = ' '\n", "", fault.ConfigInvalid, 1},
		{"share", "[pack]\ncontradictionShare = 1.01\n", "", fault.ConfigInvalid, 2},
		{"share not a number", "[pack]\ncontradictionShare = nan\n", "", fault.ConfigInvalid, 2},
		{"role kind", "[roles.x]\nkinds = ['fact']\n", "", fault.ConfigInvalid, 2},
		{"role kind twice", "[roles.x]\nkinds = ['skill', 'skill']\n", "", fault.ConfigInvalid, 2},
		{"role category", "[roles.x]\njournalCategories = ['news']\n", "", fault.ConfigInvalid, 2},
		{"role budget", "[roles.x]\nbudgetTokens = 511\n", "", fault.ConfigInvalid, 2},
		{"candidate days", "[memory]\ncandidateDays = -1\n", "", fault.ConfigInvalid, 2},
		{"allow without rule", "[[secrets.allow]]\npath = 'x'\n", "", fault.ConfigInvalid, 1},
		{"wiki section", "[wiki.sections]\na = 'b'\n", "", fault.ConfigInvalid, 2},
		{"remote ref", "[state]\nremoteRef = 'refs/heads/main'\n", "", fault.ConfigInvalid, 2},
		{"command in a repository", "[refine.command.mine]\nshell = 'x'\n", "", fault.ConfigKeyNotAllowed, 1},
		{"address in a repository", "[steel]\napiUrl = 'x'\n", "", fault.ConfigKeyNotAllowed, 2},
		{"hook in a repository", "[hooks]\ncaller = 'x'\n", "", fault.ConfigKeyNotAllowed, 2},
		{"path in a repository", "[paths]\nstate = '/s'\n", "", fault.ConfigKeyNotAllowed, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := load(t, c.repository, c.user)
			var e *fault.Error
			if !errors.As(err, &e) || e.Code != c.code || e.Line != c.line || e.Source == "" {
				t.Errorf("got %v, want %s at line %d", err, c.code, c.line)
			}
		})
	}
}

func TestNearlyRefused(t *testing.T) {
	for _, text := range []string{
		"", "# nothing\n", "project = '日本語'\n", "[pack]\ncontradictionShare = 1\n", "[steel]\ntimeout = 300000\nsnapshotBytes = 1\n",
		"[roles.'a b']\nbudgetTokens = 512\n", "[state]\nremoteRef = 'refs/heads/kxm/state'\n", "pack.role = 'x'\n", "[refine]\nk = 3\nexecutor = 'claude'\n",
	} {
		if _, err := load(t, text, ""); err != nil && text != "" {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestFindFolderStopsAtTheRoot(t *testing.T) {
	top := t.TempDir()
	for _, d := range []string{".kxm", "repo/.git", "repo/a/.kxm", "repo/a/b", "repo/c", "plain/.kxm", "plain/d"} {
		if err := os.MkdirAll(filepath.Join(top, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ from, want string }{
		{"repo/a/b", "repo/a"}, {"repo/a", "repo/a"}, {"repo/c", ""}, {"repo", ""}, {"plain", "plain"}, {"plain/d", ""},
	} {
		got, ok := FindFolder(filepath.Join(top, c.from), "")
		want := ""
		if c.want != "" {
			want = filepath.Join(top, c.want)
		}
		if got != want || ok != (want != "") {
			t.Errorf("from %s: %q, want %q", c.from, got, want)
		}
	}
	if got, ok := FindFolder(filepath.Join(top, "plain/d"), filepath.Join(top, "plain")); !ok || got != filepath.Join(top, "plain") {
		t.Errorf("with a given root: %q", got)
	}
}

func TestUserFile(t *testing.T) {
	env := func(kv map[string]string) func(string) string { return func(k string) string { return kv[k] } }
	for _, c := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"HOME": "/h"}, "/h/.config/kxm/config.toml"},
		{map[string]string{"HOME": "/h", "XDG_CONFIG_HOME": "/x"}, "/x/kxm/config.toml"},
		{map[string]string{"HOME": "/h", "XDG_CONFIG_HOME": "relative"}, "/h/.config/kxm/config.toml"},
		{nil, ""},
	} {
		if got := UserFile(env(c.env)); got != filepath.FromSlash(c.want) {
			t.Errorf("%v: %q, want %q", c.env, got, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("project = 'x'\n[roles.a]\nkinds = ['state']\n[[secrets.allow]]\npath = 'a'\nrule = 'b'\n"))
	f.Add([]byte("a.b.c = 1\n[a]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Load(Options{Repository: data, RepositoryName: FileName})
		if err != nil && fault.CodeOf(err).Exit() != fault.ExitUsage {
			t.Errorf("%q: %v is no configuration error", data, err)
		}
		if err == nil && c.Project != "" && c.Origin("project") == "" {
			t.Errorf("%q: a value without an origin", data)
		}
	})
}
