package redact

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// harmless returns texts that hold no secret, with the words that rules look for.
func harmless() []string {
	return []string{
		"",
		"x",
		"key",
		"The bearer token is never logged.",
		"The API key is rotated monthly.",
		"token: see the vault",
		"password: ask the operator, never write it down",
		"Auth: sessions end after an hour; access is checked on every request.",
		"The secret is kept in the manager; credentials expire.",
		"Tests. Tasks. Risks. Keys. They survey the money journey.",
		"Set KXM_AUTH_TOKEN before you start the hub.",
		"Export the hub admin token: export KXM_AUTH_TOKEN=\"replace-with-admin-token\"",
		"KXM_AUTH_TOKEN=$ADMIN_TOKEN kxm-state promote",
		"KXM_AUTH_TOKEN=\"$(pass-cli item view --item-title hub)\"",
		"KXM_AUTH_TOKEN: required for promotion",
		"KXM_SIGNING_KEY=~/.ssh/id_ed25519 and KXM_SIGNING_KEY=/home/ada/.ssh/id_ed25519",
		"`kxm context` answers 401 when KXM_AUTH_TOKEN is unset or wrong",
		"STEEL_API_KEY=ste-your-api-key-here",
		"USE_PASS_CLI=false, KXM_PROJECT=demo, KXM_STEEL_KEY_COMMAND=[\"pass-cli\",\"view\"]",
		"The access token endpoint is documented in docs/auth.md, section 4.",
		"api: https://docs.example.com/start, auth: see lib/redact/rule.go",
		"Authentication, authorization, accounting: the tokens are checked first.",
		"Le jeton d'accès expire; 秘密 の token は金庫にあります。",
		"curl the health page, then read the api docs",
		"[redacted:generic-api-key] and token=[redacted:aws-access-token] and \"[redacted:jwt]\"",
		"-----BEGIN PUBLIC KEY-----",
		"AKIA is the prefix of an access key id; ghp_ and glpat- begin tokens, ey begins a web token.",
	}
}

func TestOrdinaryTextIsReturnedAsItIs(t *testing.T) {
	for _, text := range append(harmless(), prose(t)...) {
		if got, found := Redact(text); got != text || found != nil {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}

// Ids and digests in the company of words that rules look for.
func TestIdsAndDigestsAreNotSecrets(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	hex := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteByte("0123456789abcdef"[random.IntN(16)])
		}
		return b.String()
	}
	sentences := []string{
		"%s", "%s.", "(%s)", "\"%s\"", "Since %s the token is rotated.", "The API key changed in %s, see the auth page.",
		"commit: %s", "token rotation, commit %s", "auth module at commit: %s", "\"key_sha256\": \"%s\"", "access log digest=%s",
		"the keys of %s and of %s", "supersedes %s", "sourcegraph index of %s", "key %s", "secret scan of tree %s: clean",
		"the datadog check ran on %s", "sentry release %s", "facebook login since revision: %s",
	}
	forms := map[string]func() string{
		"sha256":    func() string { return "sha256:" + hex(64) },
		"sha1":      func() string { return "sha1:" + hex(40) },
		"kxt1":      func() string { return "kxt1:" + hex(64) },
		"skill":     func() string { return "skill:api-key-rotation." + hex(12) + "@kxt1:" + hex(64) },
		"revision":  func() string { return "ctxrev_" + hex(64) },
		"packet":    func() string { return "ctxpkt_" + hex(16) },
		"candidate": func() string { return "cand_project_" + hex(12) },
		"memory":    func() string { return "mem_token-rotation-2026-q3-v2" },
		"state":     func() string { return "ctx_" + hex(16) + "-" + hex(32) },
		"event":     func() string { return hex(16) + "-" + hex(32) },
		"run":       func() string { return "20261201T091000Z-" + hex(6) },
		"journal":   func() string { return "journal_0198f3a2b4c60000-" + hex(32) },
		"object":    func() string { return hex(40) },
		"object256": func() string { return hex(64) },
	}
	for name, form := range forms {
		for _, sentence := range sentences {
			for range 8 {
				text := sentence
				for strings.Contains(text, "%s") {
					text = strings.Replace(text, "%s", form(), 1)
				}
				if got, found := Redact(text); got != text {
					t.Fatalf("%s: %q becomes %q (%v)", name, text, got, found)
				}
			}
		}
	}
	// An id in front of an assignment or behind one that names no credential.
	for _, text := range []string{"supersedes: mem_auth-v2-2026-flow-b", "token: ctx_0198f3a2b4c60000-" + hex(32), "api: cand_project_" + hex(12)} {
		if got, _ := Redact(text); got != text {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}

func TestAnIDsPrefixDoesNotHideASecret(t *testing.T) {
	for _, text := range []string{"token: mem_Zf3D0LXCM3EI" + "MbgJpUNnkRtO", "token: pk_Zf3D0LXCM3EI" + "MbgJpUNnkRtO", "token: ctxrev_zf3d0lxcm3ei" + "mbgjpunnkrto"} {
		if got, _ := Redact(text); got != "token: [redacted:generic-api-key]" {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}

func TestADigestThatACredentialIsSetToIsASecret(t *testing.T) {
	value := "3f786850e387550fdab836ed7e6dc881de23001b"
	for _, text := range []string{
		"api_key = \"" + value + "\"", "ACCESS_TOKEN=" + value, "token: " + value, "password_hash: " + value,
		"client_secret_digest = " + value, "datadog_api_key = " + value,
	} {
		if got, _ := Redact(text); strings.Contains(got, value) {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}
