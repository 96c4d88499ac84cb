package project

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kxm/lib/kxmtest"
	"kxm/lib/signature"
)

func TestTrustPointSetup(t *testing.T) {
	const commit = "0123456789abcdef0123456789abcdef01234567"
	for _, c := range []struct {
		point TrustPoint
		want  Setup
	}{
		{TrustPoint{true, commit, "HEAD", "there is no remote"}, Setup{Name: "trust-point", Detail: "HEAD (0123456789ab), since there is no remote"}},
		{TrustPoint{true, "", "HEAD", "there is no commit"}, Setup{Name: "trust-point", Detail: "HEAD, since there is no commit"}},
		{TrustPoint{Why: "nothing names one"}, Setup{"trust-point", Wrong, "none, since nothing names one", "git remote set-head origin -a, or git config kxm.trustRef REF"}},
	} {
		if got := c.point.Setup(); got != c.want {
			t.Errorf("%+v: %+v, want %+v", c.point, got, c.want)
		}
	}
}

func TestKeySetup(t *testing.T) {
	dir := t.TempDir()
	p := mustFind(t, kxmtest.NewRepo(t, nil))
	if err := os.WriteFile(filepath.Join(dir, "text"), []byte("no key\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	made, err := signature.GenerateKey(filepath.Join(dir, "key"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		key       string
		may       bool
		condition Condition
		detail    string
		fix       string
	}{
		{"", true, Off, "no signing key is configured: what must be signed is refused", "kxm-state init makes one"},
		{"nowhere", true, Off, "does not exist: what must be signed is refused", "correct the path"},
		{"text", true, Wrong, "text", ""},
		{"key", false, Off, made.Key().Fingerprint(), "kxm-state init, then commit and merge some/list"},
		{"key", true, Good, made.Key().Fingerprint(), ""},
	} {
		getenv := func(name string) string {
			switch {
			case name == "KXM_SIGNING_KEY":
				return c.key
			case name == "HOME":
				return dir
			}
			return ""
		}
		got := KeySetup(context.Background(), KeySource(context.Background(), p.Repo, dir, getenv), "some/list", func(k signature.Key) bool { return c.may && k == made.Key() })
		if got.Name != "signing-key" || got.Condition != c.condition || !strings.Contains(got.Detail, c.detail) || !strings.HasPrefix(got.Fix, c.fix) {
			t.Errorf("%q: %+v, want %+v", c.key, got, c)
		}
	}
}

func TestGitSetup(t *testing.T) {
	if got := GitSetup(context.Background()); got.Condition != Good || got.Fix != "" || !strings.HasPrefix(got.Detail, "2.") {
		t.Errorf("%+v", got)
	}
}
