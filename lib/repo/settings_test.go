package repo

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kxm/lib/fault"
	"kxm/lib/kxmtest"
)

// TestConfigValueAgreesWithGit sets keys in every place where Git looks, with files
// that include others, and asks for all of them.
func TestConfigValueAgreesWithGit(t *testing.T) {
	home, dir := must(filepath.EvalSymlinks(t.TempDir()))(t), kxmtest.NewRepo(t, map[string]string{"a": "a\n"})
	tree := filepath.Join(t.TempDir(), "tree")
	kxmtest.Git(t, dir, "worktree", "add", "-q", tree)
	kxmtest.Git(t, dir, "config", "extensions.worktreeConfig", "true")
	kxmtest.Git(t, tree, "config", "--worktree", "kxm.fromWorktree", "tree")
	kxmtest.Git(t, tree, "config", "--worktree", "kxm.twice", "tree")
	kxmtest.Git(t, dir, "config", "kxm.twice", "local")
	kxmtest.Git(t, dir, "config", "kxm.fromLocal", "local")
	kxmtest.Git(t, dir, "config", "include.path", "included")
	kxmtest.Git(t, dir, "config", "kxm.afterInclude", "local")
	files := map[string]string{
		".gitconfig":         "[user]\n\tname = Home\n\temail = one@example.com\n[include]\n\tpath = more/first\n[user]\n\tsigningKey = after\n[kxm \"Case.Sub\"]\n\tkey = sub\n[kxm]\n\tbare\n\tempty =\n",
		"more/first":         "[user]\n\temail = included@example.com\n\tsigningKey = before\n[include]\n\tpath = second\n\tpath = ~/third\n\tpath = missing\n",
		"more/second":        "[kxm]\n\tsecond = yes\n",
		"third":              "[kxm]\n\tthird = yes\n",
		".config/git/config": "[user]\n\temail = xdg@example.com\n[kxm]\n\txdg = yes\n",
		"other":              "[user]\n\temail = other@example.com\n",
		"system":             "[kxm]\n\tsystem = yes\n[user]\n\temail = system@example.com\n",
		"conditional":        "[user]\n\temail = always@example.com\n[includeIf \"gitdir:" + dir + "/\"]\n\tpath = other\n[includeIf \"gitdir:/nowhere/\"]\n\tpath = third\n",
	}
	kxmtest.WriteFiles(t, home, files)
	writeText(t, filepath.Join(dir, ".git/included"), "[kxm]\n\tincluded = yes\n\tafterInclude = included\n")
	keys := []string{"user.name", "user.email", "USER.SigningKey", "kxm.fromWorktree", "kxm.fromLocal", "kxm.twice", "kxm.included", "kxm.afterInclude",
		"kxm.Case.Sub.key", "kxm.case.sub.key", "kxm.bare", "kxm.empty", "kxm.second", "kxm.third", "kxm.xdg", "kxm.system", "kxm.none", "kxm.counted", "kxm.parameter"}
	base := []string{"HOME=" + home, "XDG_CONFIG_HOME=", "GIT_CONFIG_GLOBAL="}
	for name, env := range map[string][]string{
		"home":        base,
		"xdg":         {"HOME=" + home, "XDG_CONFIG_HOME=" + home + "/more", "GIT_CONFIG_GLOBAL="},
		"global":      {"HOME=" + home, "GIT_CONFIG_GLOBAL=" + home + "/other"},
		"system":      {"HOME=" + home, "GIT_CONFIG_GLOBAL=" + home + "/third", "GIT_CONFIG_NOSYSTEM=", "GIT_CONFIG_SYSTEM=" + home + "/system"},
		"counted":     append([]string{"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=kxm.Counted", "GIT_CONFIG_VALUE_0=", "GIT_CONFIG_KEY_1=user.name", "GIT_CONFIG_VALUE_1=Counted"}, base...),
		"parameters":  append([]string{"GIT_CONFIG_PARAMETERS='kxm.parameter=a b' 'user.name'='It'\\''s'"}, base...),
		"conditional": {"HOME=" + home, "GIT_CONFIG_GLOBAL=" + home + "/conditional"},
		"counted inc": append([]string{"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=include.path", "GIT_CONFIG_VALUE_0=" + home + "/other"}, base...),
	} {
		for _, where := range []string{dir, tree, filepath.Join(dir, ".git")} {
			// What is "" in env is unset for git.
			cleaned := env
			r := open(t, where, "", env...)
			for _, key := range keys {
				got, ok, err := r.ConfigValue(t.Context(), key)
				if err != nil {
					t.Fatalf("%s: %s: %v", name, key, err)
				}
				want, wantOK := gitValue(t, where, cleaned, key)
				if got != want || ok != wantOK {
					t.Errorf("%s in %s: %s is %q, %v; git: %q, %v", name, filepath.Base(where), key, got, ok, want, wantOK)
				}
			}
		}
	}
}

// gitValue asks git; a variable with an empty value is left out of its environment.
func gitValue(t *testing.T, dir string, env []string, key string) (string, bool) {
	t.Helper()
	var unset []string
	for _, kv := range env {
		if name, value, _ := strings.Cut(kv, "="); value == "" && !strings.HasPrefix(name, "GIT_CONFIG_VALUE_") {
			unset = append(unset, "-u", name)
		}
	}
	out, ok := says(t, dir, env, append(append([]string{"env"}, unset...), "git", "config", "--get", key)...)
	return strings.TrimSuffix(out, "\n"), ok
}

func TestConfigValueRefusesWhatIsNoKey(t *testing.T) {
	r := open(t, kxmtest.NewRepo(t, nil), "")
	for _, key := range []string{"", "user", "user.", ".name"} {
		if _, _, err := r.ConfigValue(t.Context(), key); !fault.Is(err, fault.Usage) {
			t.Errorf("%q: %v", key, err)
		}
	}
}

func TestIncludesInACircle(t *testing.T) {
	dir := kxmtest.NewRepo(t, nil)
	kxmtest.Git(t, dir, "config", "include.path", "config")
	if _, _, err := open(t, dir, "").ConfigValue(t.Context(), "user.name"); !fault.Is(err, fault.ConfigInvalid) {
		t.Errorf("%v", err)
	}
}

func TestRemoteURL(t *testing.T) {
	dir := kxmtest.NewRepo(t, nil)
	for _, step := range []struct{ args, want string }{
		{"config core.bare false", ""},
		{"remote add hub https://example.com/hub.git", "https://example.com/hub.git"},
		{"remote add fork https://example.com/fork.git", ""},
		{"remote add origin https://example.com/kxm.git", "https://example.com/kxm.git"},
		{"remote set-url --add origin https://example.com/second.git", "https://example.com/kxm.git"},
	} {
		kxmtest.Git(t, dir, strings.Fields(step.args)...)
		if got, ok := open(t, dir, "").RemoteURL(t.Context()); got != step.want || ok != (step.want != "") {
			t.Errorf("after %q: %q, %v; want %q", step.args, got, ok, step.want)
		}
	}
}

func TestHooksDirAgreesWithGit(t *testing.T) {
	home, dir := t.TempDir(), must(filepath.EvalSymlinks(kxmtest.NewRepo(t, map[string]string{"sub/a": "a\n"})))(t)
	tree := filepath.Join(must(filepath.EvalSymlinks(t.TempDir()))(t), "tree")
	kxmtest.Git(t, dir, "worktree", "add", "-q", tree)
	for _, path := range []string{"", "relative/hooks", "/absolute/hooks", "~/hooks"} {
		if path != "" {
			kxmtest.Git(t, dir, "config", "core.hooksPath", path)
		}
		for _, where := range []string{dir, filepath.Join(dir, "sub"), tree} {
			r := open(t, where, "", "HOME="+home)
			got, err := r.HooksDir(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			// Asked at the top, where hooks run, relative to which git answers.
			out, ok := says(t, r.WorkTree(), []string{"HOME=" + home}, "git", "rev-parse", "--git-path", "hooks")
			if want := under(r.WorkTree(), strings.TrimSuffix(out, "\n")); !ok || got != want {
				t.Errorf("core.hooksPath %q in %s: %s, git: %s", path, where, got, want)
			}
		}
	}
}

func TestUnreadableConfigurationIsAnError(t *testing.T) {
	home, dir := t.TempDir(), kxmtest.NewRepo(t, nil)
	if err := os.Mkdir(filepath.Join(home, ".gitconfig"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, _, err := open(t, dir, "", "HOME="+home, "GIT_CONFIG_GLOBAL=").ConfigValue(t.Context(), "user.name"); !fault.Is(err, fault.IOFailed) {
		t.Errorf("%v", err)
	}
}
