//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"kxm/lib/steel/steeltest"
)

// Real browser libraries work over the relay. They are no part of the toolchain: what is
// not installed is left out. Node finds its packages by NODE_PATH, and AGENT_BROWSER names
// a program.
func TestRealLibrariesOverTheRelay(t *testing.T) {
	for name, why := range map[string]string{
		"playwright-core.js": lacksPackage("playwright-core"),
		"puppeteer-core.js":  lacksPackage("puppeteer-core"),
		"agent-browser.sh":   lacksProgram("AGENT_BROWSER"),
	} {
		t.Run(name, func(t *testing.T) {
			if why != "" {
				t.Skip(why)
			}
			const key = "the+key/of=the%test"
			c := newClient(t, "STEEL_API_KEY="+key)
			if err := c.server.StartBrowser(t.Context(), steeltest.ChromiumOf(os.Getenv)); err != nil {
				t.Fatal(err)
			}
			c.server.Set("key", key)
			site := steeltest.NewSite()
			t.Cleanup(site.Close)
			if e := c.run(t, "session", "start"); e.status != 0 {
				t.Fatalf("%+v", e)
			}
			script, err := filepath.Abs(filepath.Join("testdata", "drivers", name))
			if err != nil {
				t.Fatal(err)
			}
			argv := []string{"exec", "--", "node", script, site.URL + "/"}
			if strings.HasSuffix(name, ".sh") {
				argv = []string{"exec", "--", "sh", script, t.TempDir(), site.URL + "/"}
			}
			const want = "title: Shop login\npages: 2 1\ntitle: Shop login\n"
			if e := c.run(t, argv...); e.status != 0 || e.stdout != want {
				t.Fatalf("%+v, want %s", e, want)
			}
			if c.server.Calls("Browser.close") > 0 {
				t.Error("the browser was asked to end")
			}
			if e := c.run(t, "get", "title"); e.status != 0 || !strings.Contains(e.stdout, "Shop login") {
				t.Errorf("the tab is not as it was left: %+v", e)
			}
			if e := c.run(t, "session", "release"); e.status != 0 || !strings.Contains(e.stdout, `"released":true`) {
				t.Errorf("%+v", e)
			}
		})
	}
}

// lacksPackage says why a package of Node's cannot be used, or "".
func lacksPackage(name string) string {
	if err := exec.Command("node", "-e", "require.resolve(process.argv[1])", name).Run(); err != nil {
		return "Node has no package " + name + ": NODE_PATH names the folder of its packages"
	}
	return ""
}

func lacksProgram(variable string) string {
	if _, err := exec.LookPath(os.Getenv(variable)); err != nil {
		return variable + " names no program"
	}
	return ""
}
