package redact

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

// planted is a secret of one kind. They are put together here so that scanners of
// this repository stay quiet.
type planted struct {
	name, text string // the text around the secret, which stands for %s
	secret     string
	rule       string
}

func plantedSecrets() []planted {
	low, mixed := "k3jh5k6m"+"h7k8jp9k0jv1k2xh3w4jd5k6jh7q", "Zf3D0LXCM3EI"+"MbgJpUNnkRtOfOueHznB"
	return []planted{
		{"AWS key", "%s", "AKIA" + "QYLPMN5HHHFPZAM2", "aws-access-token"},
		{"GitHub token", "%s", "ghp_" + "wWPw5k4aXcaT4fNP0UcnZwJUVFk6LO0pINUx", "github-pat"},
		{"GitLab token", "%s", "glpat-" + "ANbg1a7xS9dkw3TzQ2vK", "gitlab-pat"},
		{"Slack token", "%s", "xoxb-" + "781236542736-2364535789652-GkwFDQoHqzXDVsC6GzqYUypD", "slack-bot-token"},
		{"Stripe key", "%s", "sk_live_" + "51OuEMLAlTWGaDypq4P5cuDHbuKeG4tAGPYH", "stripe-access-token"},
		{"private key", "%s", "-----BEGIN RSA " + "PRIVATE KEY-----\n" + strings.Repeat("MIIEowIBAAKCAQEA"+mixed+"\n", 3) + "-----END RSA " + "PRIVATE KEY-----", "private-key"},
		{"web token", "%s", "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9" + ".eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkFkYSJ9" + ".SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c", "jwt"},
		{"npm token", "%s", "npm_" + low, "npm-access-token"},
		{"generic key", "api_key = \"%s\"", mixed, "generic-api-key"},
		{"generic token", "token=%s", mixed, "generic-api-key"},
		{"Steel key", "%s", "ste-" + mixed + mixed + mixed, "steel-api-key"},
		{"Steel variable", "STEEL_API_KEY=%s", "hunter-two-" + "and-more", "kxm-secret-variable"},
		{"hub token", "KXM_AUTH_TOKEN=%s", "s3cr3t" + "-hub", "kxm-secret-variable"},
		{"hub token in JSON", `{"KXM_AUTH_TOKEN": "%s"}`, "correct" + "-horse", "kxm-secret-variable"},
		{"hub token in a shell", "$env:KXM_AUTH_TOKEN = '%s'", "correct" + "-horse", "kxm-secret-variable"},
		{"webhook", "%s", "https://hooks.slack.com/services/" + "T0DCUJB1Q/B0DD08H5G/bJtrpFi1fO1JMCcwLx8uZyAg", "slack-webhook-url"},
	}
}

func TestPlantedSecretsNeverComeOut(t *testing.T) {
	around := map[string]string{
		"alone":          "%s",
		"start":          "%s is what we use for the build",
		"end":            "the build uses %s",
		"full stop":      "the build uses %s.",
		"comma":          "the build uses %s, and so do the tests",
		"brackets":       "the build (%s) and the tests [%s]",
		"quotes":         "the \"%s\" build, the '%s' tests, the `%s` docs",
		"typographic":    "der Build „%s“ läuft… —%s—",
		"Chinese":        "构建使用%s。测试也是",
		"lines":          "first line\n%s\nlast line\r\n",
		"list":           "- %s\n- %s\n",
		"question":       "is it %s? no!",
		"markup":         "<b>%s</b>",
		"after a secret": "AKIA" + "QYLPMN5HHHFPZAM2 %s",
	}
	for _, p := range plantedSecrets() {
		for where, frame := range around {
			text := strings.ReplaceAll(frame, "%s", strings.Replace(p.text, "%s", p.secret, 1))
			got, found := Redact(text)
			if strings.Contains(got, p.secret) || len(found) == 0 {
				t.Errorf("%s, %s: %q becomes %q", p.name, where, text, got)
			}
			if where == "alone" {
				if want := strings.Replace(p.text, "%s", "[redacted:"+p.rule+"]", 1); got != want {
					t.Errorf("%s: %q, want %q", p.name, got, want)
				}
			}
			checkRedact(t, text)
		}
	}
}

// A token with a form of its own is found inside identifiers and paths as well; a
// private key and a name with a value do not stand there.
func TestTokensAreFoundInIdentifiersAndPaths(t *testing.T) {
	frames := []string{"build_%s", "build-%s-2", "x_%s_y", "a/%s/b.md", "docs/%s.md", "git@%s:x", "memory:%s", "https://example.com/?t=%s&x=1", "key#%s", "%s\\n"}
	for _, p := range plantedSecrets() {
		if p.text != "%s" || p.rule == "private-key" || p.rule == "slack-webhook-url" {
			continue
		}
		for _, frame := range frames {
			text := strings.Replace(frame, "%s", p.secret, 1)
			if got, _ := Redact(text); strings.Contains(got, p.secret) {
				t.Errorf("%s: %q becomes %q", p.name, text, got)
			}
			if len(FindPath(text)) == 0 {
				t.Errorf("%s: nothing found in the name %q", p.name, text)
			}
		}
	}
}

// checkRedact checks what holds for every text.
func checkRedact(t *testing.T, text string) {
	t.Helper()
	got, found := Redact(text)
	if utf8.ValidString(text) && !utf8.ValidString(got) {
		t.Errorf("%q becomes invalid: %q", text, got)
	}
	if again, more := Redact(got); again != got || more != nil {
		t.Errorf("%q becomes %q and then %q", text, got, again)
	}
	if !slices.Equal(found, Find(text)) {
		t.Errorf("%q: Find differs from Redact", text)
	}
	at, want := 0, ""
	for _, f := range found {
		if f.Start < at || f.End <= f.Start || f.End > len(text) || ruleNumber(f.Rule) < 0 {
			t.Fatalf("%q: bad finding %+v in %+v", text, f, found)
		}
		if utf8.ValidString(text) && !(utf8.ValidString(text[:f.Start]) && utf8.ValidString(text[f.Start:f.End])) {
			t.Errorf("%q: %+v cuts a character", text, f)
		}
		want += text[at:f.Start] + "[redacted:" + f.Rule + "]"
		at = f.End
	}
	if want += text[at:]; got != want {
		t.Errorf("%q becomes %q, its findings say %q", text, got, want)
	}
}

func TestEverySampleIsRedactedForGood(t *testing.T) {
	for _, text := range samples() {
		checkRedact(t, text)
	}
}

func TestMaskingBringsOutWhatWasHidden(t *testing.T) {
	first, second := "npm_"+"k3jh5k6mh7k8jp9k0jv1k2xh3w4jd5k6jh7q", "ghp_"+"wWPw5k4aXcaT4fNP0UcnZwJUVFk6LO0pINUx"
	text := "see " + first + second + " there"
	if hits := product.scan(text, ""); len(hits) != 1 {
		t.Fatalf("%d hits in the first turn: the text does not show what it should", len(hits))
	}
	got, found := Redact(text)
	if got != "see [redacted:npm-access-token][redacted:github-pat] there" || len(found) != 2 || found[1].Start != found[0].End {
		t.Errorf("%q, %+v", got, found)
	}
	checkRedact(t, text)
}

func TestARejectedValueMayNameTheNextOne(t *testing.T) {
	secret := "Zf3D0LXCM3EI" + "MbgJpUNnkRtO"
	for _, text := range []string{"auth: access-token: " + secret, "keys: api-access, token-value=" + secret, "secret: password-token! key=" + secret} {
		if got, _ := Redact(text); strings.Contains(got, secret) {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}

func TestATokenWithPartsIsMaskedAsAWhole(t *testing.T) {
	parts := "ZXlKaGJHY2lPaU" + strings.Repeat("pKVTFNd0luUTVOaUlzSW1SbGJXOGlPa", 4)
	got, found := Redact("the header " + parts + " of it")
	if got != "the header [redacted:jwt-base64] of it" || len(found) != 1 {
		t.Errorf("%q, %+v", got, found)
	}
}

func TestOverlappingFindingsBecomeOne(t *testing.T) {
	token := "ghp_" + "wWPw5k4aXcaT4fNP0UcnZwJUVFk6LO0pINUx"
	got, found := Redact("GITHUB_TOKEN=" + token)
	if got != "GITHUB_TOKEN=[redacted:github-pat]" || len(found) != 1 {
		t.Errorf("%q, %+v: the rule that says more names it", got, found)
	}
}

func TestAPlaceholderIsNeverASecret(t *testing.T) {
	for i := range ruleCount {
		hole := "[redacted:" + ruleAt(i).id + "]"
		for _, frame := range []string{"%s", "token=%s", "api_key: \"%s\"", "KXM_AUTH_TOKEN=%s", "curl -u \"%s:%s\" x", "curl -H \"Authorization: Bearer %s\"", "%s%s"} {
			text := strings.ReplaceAll(frame, "%s", hole)
			if got, _ := Redact(text); got != text {
				t.Errorf("%q becomes %q", text, got)
			}
		}
	}
	fake := "token=[redacted:Zf3D0LXCM3EIMbgJ" + "pUNnkRtOfOueHznB] KXM_AUTH_TOKEN=hunter2" + "[redacted:jwt]"
	if got, _ := Redact(fake); strings.Contains(got, "hunter2") {
		t.Errorf("%q becomes %q: a secret hides beside a placeholder", fake, got)
	}
}

func TestASecretAroundAPlaceholderTakesItIn(t *testing.T) {
	hole := "[redacted:" + "github-pat]"
	for text, want := range map[string]string{
		"curl -u \"ada:l0ve" + hole + "\" x":   "curl -u [redacted:curl-auth-user] x",
		"curl -u \"" + hole + ":l0ve4ever\" x": "curl -u [redacted:curl-auth-user] x",
		"-----BEGIN PRIVATE " + "KEY-----\n" + strings.Repeat(hole+"\nMIIEowIBAAKCAQEA\n", 4) + "-----END PRIVATE " + "KEY-----.": "[redacted:private-key].",
	} {
		if got, _ := Redact(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
		checkRedact(t, text)
	}
	// A hit that begins or ends inside a placeholder covers all of it.
	text := "ab" + hole + "cd"
	whole := span{2, len(text) - 2}
	for _, h := range []span{{0, 5}, {4, len(text)}, {1, whole.end}, {whole.start, len(text)}} {
		got, ok := around(text, hit{mask: h}, placeholders(text))
		if want := (span{min(h.start, whole.start), max(h.end, whole.end)}); !ok || got.mask != want {
			t.Errorf("%v: %v and %v, want %v", h, got.mask, ok, want)
		}
	}
	for _, h := range []span{whole, {3, 9}} {
		if got, ok := around(text, hit{mask: h}, placeholders(text)); ok {
			t.Errorf("%v: %v is found again", h, got.mask)
		}
	}
	if got, ok := around(text, hit{mask: span{0, 2}}, placeholders(text)); !ok || got.mask != (span{0, 2}) {
		t.Errorf("a hit beside a placeholder becomes %v, %v", got.mask, ok)
	}
}

func TestPlacesInMaskedTextLeadBack(t *testing.T) {
	text := "0123456789abcdefghijklmnopqrstuvwxyz"
	found := []Finding{{"jwt", 0, 2}, {"github-pat", 2, 30}, {"npm-access-token", 33, 34}}
	masked := mask(text, found)
	holes := placeholders(masked)
	if len(holes) != len(found) {
		t.Fatalf("%q", masked)
	}
	for i, f := range found {
		if start, end := original(found, holes[i].start), original(found, holes[i].end); start != f.Start || end != f.End {
			t.Errorf("%+v leads back to %d, %d", f, start, end)
		}
	}
	for at := range len(masked) {
		inside := slices.ContainsFunc(holes, func(h span) bool { return h.start <= at && at < h.end })
		if !inside && masked[at] != text[original(found, at)] {
			t.Errorf("%d leads back to %d", at, original(found, at))
		}
	}
	if got := original(found, len(masked)); got != len(text) {
		t.Errorf("the end leads back to %d", got)
	}
}

func TestFindIsSafeForConcurrentUse(t *testing.T) {
	d, texts := &detector{}, samples()[:400]
	want := make([][]Finding, len(texts))
	for i, text := range texts {
		want[i] = Find(text)
	}
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range texts {
				i = (i + w*100) % len(texts)
				if got := d.find(texts[i]); !slices.Equal(got, want[i]) {
					t.Errorf("%q: %v, alone %v", texts[i], got, want[i])
				}
			}
		})
	}
	wg.Wait()
}

func TestFindPathKnowsFilesThatAreSecrets(t *testing.T) {
	for path, want := range map[string][]Finding{
		"deploy/store.p12":                  {{"pkcs12-file", 0, 16}},
		"deploy/store.p12.md":               nil,
		".kxm/memory/api-token-rotation.md": nil,
		"logo.png":                          nil,
		"AKIA" + "QYLPMN5HHHFPZAM2.png":     {{"aws-access-token", 0, 20}},
	} {
		if got := FindPath(path); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
}

func TestScanFileNamesThePlaceAndCountsWhatIsLetThrough(t *testing.T) {
	key := "AKIA" + "QYLPMN5HHHFPZAM2"
	file := "---\nid: x\n---\nçé " + key + "\n" + key + " # gitleaks:allow\nkey again: (" + key + ")"
	found, allowed := ScanFile("notes.md", []byte(file), nil)
	if want := []FileFinding{{"aws-access-token", 4, 4}, {"aws-access-token", 6, 13}}; !slices.Equal(found, want) || allowed != 1 {
		t.Errorf("%v and %d let through, want %v and 1", found, allowed, want)
	}
	allow := []Allow{{"other.md", "aws-access-token"}, {"notes.md", "github-pat"}, {"notes.md", "aws-access-token"}}
	if found, allowed := ScanFile("notes.md", []byte(file), allow[:2]); len(found) != 2 || allowed != 1 {
		t.Errorf("%v and %d let through: an entry for another file or rule counts", found, allowed)
	}
	if found, allowed := ScanFile("notes.md", []byte(file), allow); len(found) != 0 || allowed != 3 {
		t.Errorf("%v and %d let through, want none and 3", found, allowed)
	}
	if found, allowed := ScanFile("clean.md", []byte("nothing here\n"), allow); found != nil || allowed != 0 {
		t.Errorf("%v and %d in a clean file", found, allowed)
	}
	if found, _ := ScanFile("a/store.pfx", []byte{0, 1, 2}, nil); !slices.Equal(found, []FileFinding{{"pkcs12-file", 1, 1}}) {
		t.Errorf("key store: %v", found)
	}
	if found, _ := ScanFile("package-lock.json", []byte(file), nil); found != nil {
		t.Errorf("a lock file has findings: %v", found)
	}
}

func TestTheMarkDoesNotCountInText(t *testing.T) {
	key := "AKIA" + "QYLPMN5HHHFPZAM2"
	if got, _ := Redact(key + " gitleaks:allow"); strings.Contains(got, key) {
		t.Errorf("%q", got)
	}
}
