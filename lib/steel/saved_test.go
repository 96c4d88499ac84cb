package steel

import (
	"bytes"
	"strings"
	"testing"

	"kxm/lib/fault"
)

const goodCookie = `{"name":"a","value":"s3cret","domain":".example.com","path":"/","expires":4102444800.25,"httpOnly":true,"secure":true,"sameSite":"Lax","priority":"Medium","sourceScheme":"Secure","sourcePort":443,"partitionKey":{"topLevelSite":"https://example.org","hasCrossSiteAncestor":true}}`

func contextOf(cookies, origins string) string {
	return `{"schema":"kxm.steel-context.v1","cookies":[` + cookies + `],"origins":[` + origins + `]}`
}

func TestParseContextReadsWhatEncodeWrites(t *testing.T) {
	for _, text := range []string{
		contextOf("", ""),
		contextOf(goodCookie, `{"origin":"https://example.com","localStorage":[{"name":"","value":"é\u2028"}]},{"origin":"http://[::1]:8080","localStorage":[]}`),
		contextOf(`{"name":"","value":"v","domain":"localhost","path":"/a","httpOnly":false,"secure":false}`, ""),
	} {
		c, err := ParseContext([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		raw, err := c.Encode()
		if err != nil || strings.TrimSuffix(string(raw), "\n") != strings.ReplaceAll(text, `\u2028`, "\u2028") {
			t.Errorf("%s, %v; want %s", raw, err, text)
		}
	}
}

func TestReportCounts(t *testing.T) {
	c, err := ParseContext([]byte(contextOf(goodCookie, `{"origin":"https://a.example","localStorage":[{"name":"a","value":""},{"name":"b","value":""}]},{"origin":"https://b.example","localStorage":[{"name":"a","value":""}]}`)))
	if err != nil {
		t.Fatal(err)
	}
	if r := *c.Report("f"); r != (ContextReport{ContextReportSchema, "f", 1, 2, 3}) {
		t.Errorf("%+v", r)
	}
}

func TestParseContextRefuses(t *testing.T) {
	cookie := func(old, new string) string { return contextOf(strings.Replace(goodCookie, old, new, 1), "") }
	origin := func(o string) string { return contextOf("", `{"origin":"`+o+`","localStorage":[]}`) }
	for _, c := range []struct{ text, says string }{
		{"", "not JSON"},
		{"[]", "wrong type"},
		{contextOf("", "") + "{}", "not JSON"},
		{`{"schema":"kxm.steel-context.v1","cookies":[],"cookies":[],"origins":[]}`, "not JSON"},
		{`{"schema":"kxm.steel-context.v1","cookies":[],"origins":[],"s3cret":1}`, "unknown"},
		{`{"schema":"kxm.steel-context.v2","cookies":[],"origins":[]}`, "schema"},
		{`{"cookies":[],"origins":[]}`, "schema"},
		{`{"schema":"kxm.steel-context.v1","cookies":[]}`, "missing"},
		{`{"schema":"kxm.steel-context.v1","cookies":null,"origins":[]}`, "missing"},
		{cookie(`"name":"a"`, `"name":"a;s3cret"`), "cookie 1 has a wrong name"},
		{cookie(`"name":"a"`, `"name":"a=s3cret"`), "wrong name"},
		{cookie(`"name":"a","value":"s3cret"`, `"name":"","value":""`), "wrong name"},
		{cookie(`"s3cret"`, `"s3cret\n"`), "wrong value"},
		{cookie(`"s3cret"`, `7`), "wrong type"},
		{cookie(`".example.com"`, `"."`), "wrong domain"},
		{cookie(`".example.com"`, `"https://s3cret"`), "wrong domain"},
		{cookie(`"path":"/"`, `"path":"s3cret"`), "wrong path"},
		{cookie(`4102444800.25`, `-1`), "wrong expires"},
		{cookie(`"Lax"`, `"s3cret"`), "wrong sameSite"},
		{cookie(`"Medium"`, `"s3cret"`), "wrong priority"},
		{cookie(`"Secure"`, `"s3cret"`), "wrong sourceScheme"},
		{cookie(`443`, `65536`), "wrong sourcePort"},
		{cookie(`"https://example.org"`, `""`), "wrong partitionKey"},
		{contextOf(strings.Repeat(goodCookie+",", maxContextCookies)+goodCookie, ""), "more than 10000 cookies"},
		{origin(""), "origin 1 is none"},
		{origin("null"), "origin 1 is none"},
		{origin("file:///s3cret"), "origin 1 is none"},
		{origin("https://example.com/"), "origin 1 is none"},
		{origin("https://example.com?s3cret"), "origin 1 is none"},
		{origin("https://s3cret@example.com"), "origin 1 is none"},
		{origin("https://EXAMPLE.com"), "origin 1 is none"},
		{origin("https://:80"), "origin 1 is none"},
		{origin(`https://a.example","localStorage":[]},{"origin":"https://a.example`), "origin 2 stands there twice"},
		{contextOf("", `{"origin":"https://a.example"}`), "no localStorage"},
		{contextOf("", `{"origin":"https://a.example","localStorage":[`+strings.Repeat(`{"name":"","value":""},`, maxContextItems)+`{"name":"","value":""}]}`), "more than 100000 items"},
		{string(bytes.Repeat([]byte(" "), MaxContext+1)), "larger than 64 MiB"},
	} {
		_, err := ParseContext([]byte(c.text))
		if !fault.Is(err, fault.SteelBadContext) || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%.200s: %v, want %q", c.text, err, c.says)
		}
	}
}

// FuzzContext parses anything: what is taken is written and read again as the same, and
// an error holds nothing of the file.
func FuzzContext(f *testing.F) {
	f.Add([]byte(contextOf(goodCookie, `{"origin":"https://example.com","localStorage":[{"name":"a","value":"b"}]}`)))
	f.Add([]byte(contextOf(`{"name":"\u0000"}`, `{"origin":"http://a"}`)))
	f.Add([]byte(`{"schema":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := ParseContext(data)
		if err != nil {
			if !fault.Is(err, fault.SteelBadContext) {
				t.Errorf("%v", err)
			}
			return
		}
		raw, err := c.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseContext(raw)
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		if twice, err := again.Encode(); err != nil || !bytes.Equal(raw, twice) {
			t.Errorf("%s, then %s, %v", raw, twice, err)
		}
	})
}

func TestInDomain(t *testing.T) {
	for _, c := range []struct {
		cookie, domain string
		want           bool
	}{
		{"example.com", "", true},
		{"example.com", "example.com", true},
		{".example.com", "example.com", true},
		{"example.com", ".EXAMPLE.com", true},
		{"www.example.com", "example.com", true},
		{".www.example.com", "example.com", true},
		{"myexample.com", "example.com", false},
		{"example.com", "www.example.com", false},
		{"127.0.0.1", "127.0.0.1", true},
		{"127.0.0.1", "0.0.1", false},
		{"[::1]", "::1]", false},
	} {
		if got := inDomain(c.cookie, c.domain); got != c.want {
			t.Errorf("inDomain(%q, %q) = %v", c.cookie, c.domain, got)
		}
	}
}
