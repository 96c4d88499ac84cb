package steel

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"kxm/lib/config"
	"kxm/lib/fault"
)

// load reads settings from an environment ("A=b" lines), and from the user's file.
func load(t *testing.T, user string, env ...string) (*Settings, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(file, []byte(user), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(config.Options{UserFile: file})
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{"HOME": "/home/ada"}
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		values[name] = value
	}
	return Load(func(name string) string { return values[name] }, c)
}

func TestDefaults(t *testing.T) {
	s, err := load(t, "", "STEEL_API_URL=https://steel.example.com/base/v1/")
	if err != nil {
		t.Fatal(err)
	}
	got := []string{s.API.String(), s.UI.String(), s.CDP.String(), string(s.Mode), s.CDPAuth, s.StateDir, s.KeySource, s.ViewerURL("a b")}
	want := []string{"https://steel.example.com/base", "https://steel.example.com/base/ui", "wss://steel.example.com/base", "self", "auto", "/home/ada/.local/state/kxm/steel", "", "https://steel.example.com/base/ui?sessionId=a+b"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if s.Timeout != 5*time.Minute || s.MaxTimeout != 30*time.Minute || s.OrphanAge != 10*time.Minute || s.KeyCommand != nil {
		t.Errorf("%+v", s)
	}
}

// Each row of the table of settings, from each source: the environment wins.
func TestEverySettingFromEverySource(t *testing.T) {
	file := `[steel]
apiUrl = "https://file.example.com"
uiUrl = "https://file.example.com/view"
keyCommand = ["pass", "show"]
mode = "cloud"
cdpBase = "wss://file.example.com"
cdpAuth = "header"
allowHttp = true
timeout = 60000
maxTimeout = "1h"
orphanAge = "3m"
stateDir = "/file/state"
`
	s, err := load(t, file)
	if err != nil {
		t.Fatal(err)
	}
	show := func(s *Settings) []string {
		return []string{s.API.String(), s.UI.String(), strings.Join(s.KeyCommand, " "), s.KeySource, string(s.Mode), s.CDP.String(), s.CDPAuth, s.Timeout.String(), s.MaxTimeout.String(), s.OrphanAge.String(), s.StateDir}
	}
	want := []string{"https://file.example.com", "https://file.example.com/view", "pass show", "the key command", "cloud", "wss://file.example.com", "header", "1m0s", "1h0m0s", "3m0s", "/file/state"}
	if got := show(s); !slices.Equal(got, want) {
		t.Errorf("from the file\n%q, want\n%q", got, want)
	}
	for _, o := range s.Provenance {
		if inFile := strings.Contains(file, o.Name+" ="); inFile != strings.Contains(o.Source, "config.toml:") {
			t.Errorf("%s comes from %q", o.Name, o.Source)
		}
	}
	s, err = load(t, file, "STEEL_API_URL=http://env.example.com", "STEEL_UI_URL=http://env.example.com/v", `KXM_STEEL_KEY_COMMAND=["op","read"]`, "KXM_STEEL_MODE=self",
		"KXM_STEEL_CDP_BASE=ws://env.example.com", "KXM_STEEL_CDP_AUTH=query", "KXM_STEEL_ALLOW_HTTP=true", "KXM_STEEL_TIMEOUT=2m", "KXM_STEEL_ORPHAN_AGE=4m", "KXM_STEEL_STATE=/env/state")
	if err != nil {
		t.Fatal(err)
	}
	want = []string{"http://env.example.com", "http://env.example.com/v", "op read", "the key command", "self", "ws://env.example.com", "query", "2m0s", "1h0m0s", "4m0s", "/env/state"}
	if got := show(s); !slices.Equal(got, want) {
		t.Errorf("from the environment\n%q, want\n%q", got, want)
	}
	if s, err = load(t, file, "STEEL_API_KEY=a-key-of-mine"); err != nil || s.KeySource != "STEEL_API_KEY" || s.KeyCommand != nil {
		t.Errorf("the key itself does not stand above its command: %+v, %v", s, err)
	}
	if s, err = load(t, file, "USE_PASS_CLI=false", "KXM_STEEL_MODE=self"); err != nil || s.KeySource != "" || s.KeyCommand != nil {
		t.Errorf("the key command is on: %+v, %v", s, err)
	}
}

func TestRefusedSettings(t *testing.T) {
	const api = "STEEL_API_URL=https://steel.example.com"
	for _, c := range []struct {
		name, file string
		env        []string
		code       fault.Code
	}{
		{"nothing", "", nil, fault.SteelNoEndpoint},
		{"type of an address", "[steel]\napiUrl = 7\n", nil, fault.ConfigInvalid},
		{"no address", "", []string{"STEEL_API_URL=%zz"}, fault.SteelBadEndpoint},
		{"scheme", "", []string{"STEEL_API_URL=steel.example.com"}, fault.SteelBadEndpoint},
		{"host", "", []string{"STEEL_API_URL=https:///v1"}, fault.SteelBadEndpoint},
		{"user info", "", []string{"STEEL_API_URL=https://a:b@x.example.com"}, fault.SteelBadEndpoint},
		{"query", "", []string{"STEEL_API_URL=https://x.example.com?a"}, fault.SteelBadEndpoint},
		{"empty query", "", []string{"STEEL_API_URL=https://x.example.com?"}, fault.SteelBadEndpoint},
		{"fragment", "", []string{"STEEL_API_URL=https://x.example.com#a"}, fault.SteelBadEndpoint},
		{"clear text", "", []string{"STEEL_API_URL=http://10.0.0.1"}, fault.SteelInsecureEndpoint},
		{"nearly loopback", "", []string{"STEEL_API_URL=http://localhost.example.com"}, fault.SteelInsecureEndpoint},
		{"viewer in clear text", "", []string{api, "STEEL_UI_URL=http://x.example.com"}, fault.SteelInsecureEndpoint},
		{"socket in clear text", "", []string{api, "KXM_STEEL_CDP_BASE=ws://x.example.com"}, fault.SteelInsecureEndpoint},
		{"socket's scheme", "", []string{api, "KXM_STEEL_CDP_BASE=https://x.example.com"}, fault.SteelBadEndpoint},
		{"cloud without a key", "", []string{"STEEL_API_URL=https://api.steel.dev"}, fault.SteelNoKey},
		{"cloud elsewhere", "", []string{api, "KXM_STEEL_MODE=cloud"}, fault.SteelBadEndpoint},
		{"mode", "[steel]\nmode = 'both'\n", []string{api}, fault.ConfigInvalid},
		{"auth", "", []string{api, "KXM_STEEL_CDP_AUTH=cookie"}, fault.Usage},
		{"flag", "[steel]\nallowHttp = 'perhaps'\n", []string{api}, fault.ConfigInvalid},
		{"short key", "", []string{api, "STEEL_API_KEY=1234567"}, fault.SteelBadKey},
		{"long key", "", []string{api, "STEEL_API_KEY=" + strings.Repeat("k", 4097)}, fault.SteelBadKey},
		{"key of two lines", "", []string{api, "STEEL_API_KEY=12345678\n"}, fault.SteelBadKey},
		{"empty key command", "[steel]\nkeyCommand = []\n", []string{api}, fault.ConfigInvalid},
		{"key command of numbers", "[steel]\nkeyCommand = ['a', 1]\n", []string{api}, fault.ConfigInvalid},
		{"key command as a text", "", []string{api, "KXM_STEEL_KEY_COMMAND=pass show"}, fault.Usage},
		{"key command as an object", "", []string{api, `KXM_STEEL_KEY_COMMAND={"a":"b"}`}, fault.Usage},
		{"short timeout", "[steel]\ntimeout = 9999\n", []string{api}, fault.SteelTimeoutRange},
		{"long timeout", "[steel]\ntimeout = '31m'\n", []string{api}, fault.SteelTimeoutRange},
		{"timeout above one's own limit", "[steel]\ntimeout = '3m'\nmaxTimeout = '2m'\n", []string{api}, fault.SteelTimeoutRange},
		{"no duration", "", []string{api, "KXM_STEEL_ORPHAN_AGE=10 minutes"}, fault.Usage},
		{"negative duration", "[steel]\norphanAge = -1\n", []string{api}, fault.ConfigInvalid},
		{"type of a duration", "[steel]\norphanAge = true\n", []string{api}, fault.ConfigInvalid},
		{"relative state", "[steel]\nstateDir = 'state'\n", []string{api}, fault.ConfigInvalid},
		{"no home", "", []string{api, "HOME="}, fault.Usage},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := load(t, c.file, c.env...); !fault.Is(err, c.code) {
				t.Errorf("got %v, want %s", err, c.code)
			}
		})
	}
	for _, env := range []string{"STEEL_API_URL=http://127.0.0.1:3000", "STEEL_API_URL=http://[::1]:3000", "STEEL_API_URL=http://LocalHost", "STEEL_API_URL=http://127.8.9.1/v1"} {
		if _, err := load(t, "", env); err != nil {
			t.Errorf("%s: %v", env, err)
		}
	}
	s, err := load(t, "", "STEEL_API_URL=https://api.steel.dev", "STEEL_API_KEY=12345678")
	if err != nil || s.Mode != Cloud || s.CDP.String() != "wss://connect.steel.dev" {
		t.Errorf("the cloud: %+v, %v", s, err)
	}
	if s, err := load(t, "", "STEEL_API_URL=https://notsteel.dev"); err != nil || s.Mode != Self {
		t.Errorf("a host that only ends so: %v, %v", s, err)
	}
}

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"300000": 5 * time.Minute, "300s": 5 * time.Minute, "5m": 5 * time.Minute, "1": time.Millisecond, "1h30m": 90 * time.Minute,
		"0": 0, "-1": 0, "": 0, "5": 5 * time.Millisecond, "5 m": 0, "9223372036854775807": 0, "100000000000000000000": 0, "1e3": 0, "999999h": 0, "NaN": 0,
	} {
		if got, err := ParseDuration(text); got != want || (err == nil) != (want != 0) {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
}

func TestPageURLs(t *testing.T) {
	for _, text := range []string{"http://a", "https://a.example.com/x?y#z", "about:blank"} {
		if err := CheckPageURL(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{"", "a", "file:///etc/passwd", "FILE:///x", "javascript:1", "data:,x", "about:config", "chrome://version", "view-source:http://a", "http:", "http:///x", "https://%zz"} {
		if err := CheckPageURL(text); !fault.Is(err, fault.SteelURLRefused) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestPrintedURLs(t *testing.T) {
	for text, want := range map[string]string{
		"https://a/b?q=1#top":                       "https://a/b?q=1#top",
		"https://u:p@a/b":                           "https://[redacted]@a/b",
		"https://u@p@a":                             "https://[redacted]@a",
		"https://a/?code=1&Api_Key=2&x=3;sid=4":     "https://a/?code=[redacted]&Api_Key=[redacted]&x=3;sid=4",
		"https://a/?sessionId=1&coder=2&code":       "https://a/?sessionId=[redacted]&coder=2&code",
		"https://a/#access_token=1&state=2":         "https://a/#access_token=[redacted]&state=2",
		"https://a/#/callback?code=1":               "https://a/#/callback?code=[redacted]",
		"https://a/?%74oken=1&pass%77ord=2":         "https://a/?%74oken=[redacted]&pass%77ord=[redacted]",
		"https://a/?signature=1=2&passage=":         "https://a/?signature=[redacted]&passage=",
		"https://a/p@q?next=https://u:p@b":          "https://a/p@q?next=https://u:p@b",
		"about:blank":                               "about:blank",
		"":                                          "",
		"https://a/?oauth_state=1#?&;auth=2?token=": "https://a/?oauth_state=[redacted]#?&;auth=[redacted]?token=",
	} {
		if got := PrintedURL(text); got != want {
			t.Errorf("%s\n  %s, want\n  %s", text, got, want)
		}
	}
}

func FuzzPrintedURL(f *testing.F) {
	for _, text := range []string{"https://u:p@a/?code=1#token=2", "a?b=c&key=d", "#?&;=", "x://@"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		once := PrintedURL(text)
		if twice := PrintedURL(once); twice != once {
			t.Errorf("%q becomes %q, then %q", text, once, twice)
		}
		if PrintedURL("https://a/?"+"token=planted&"+text) == "https://a/?token=planted&"+text {
			t.Error("a token is printed")
		}
	})
}
