package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"kxm/lib/steel/steeltest"
)

// steel holds the bounds of kxm-steel, against Chromium behind the fake server. What it
// is compared with is agent-browser's native program, which keeps a daemon: where it is
// not named, its rows are left out.
func (b *bench) steel(empty string) {
	program := filepath.Join(b.bin, "kxm-steel")
	b.ratio("kxm-steel --version / an empty Go program", 3, command{argv: []string{program, "--version"}}, command{argv: []string{empty}})
	if !b.wanted(steelRows) && !strings.HasPrefix(b.only, "kxm-steel") {
		return
	}
	site := steeltest.NewSite()
	defer site.Close()
	server := steeltest.New(time.Now)
	defer server.Close()
	if err := server.StartBrowser(context.Background(), steeltest.ChromiumOf(os.Getenv)); err != nil {
		fail(err)
	}
	for name, value := range map[string]string{"STEEL_API_URL": server.URL, "STEEL_API_KEY": "", "KXM_STEEL_STATE": filepath.Join(b.dir, "steel"), "KXM_STEEL_TIMEOUT": "30m"} {
		if err := os.Setenv(name, value); err != nil {
			fail(err)
		}
	}
	r := &rivals{b: b, program: program, site: site.URL, other: os.Getenv("AGENT_BROWSER")}
	r.cdp = "ws" + strings.TrimPrefix(server.URL, "http") + "/"
	b.run(r.ours("session", "start"))
	r.rows()
	b.run(r.ours("session", "release"))
}

// steelRows is in the name of each row that needs a browser.
const steelRows = "kxm-steel "

// The other program's sessions: one that has its daemon, and one that starts it.
const (
	warm  = "kxm-bench-warm"
	first = "kxm-bench-first"
)

// rivals are the two programs on one site.
type rivals struct {
	b                         *bench
	program, other, cdp, site string
}

func (r *rivals) ours(args ...string) command {
	return command{argv: append([]string{r.program}, args...), dir: r.b.dir}
}

// theirs is a command of the other program, in its session of that name.
func (r *rivals) theirs(session string, args ...string) command {
	return command{argv: append([]string{r.other, "--session", session, "--cdp", r.cdp}, args...), dir: r.b.dir}
}

func (r *rivals) rows() {
	b := r.b
	table := r.site + "/table"
	whole := r.ours("snapshot", "--max-bytes", "0", "--format", "text")
	b.run(r.ours("goto", table))
	b.memory("kxm-steel snapshot of a table of 500 rows, resident size / 64 MiB", 1, whole, 64<<20)
	b.size("kxm-steel snapshot of the table, capped / 16 KiB and a line", 1, r.ours("snapshot", "--format", "text"), 16<<10+64)
	if r.other == "" {
		fmt.Println("agent-browser is not installed: what is compared with it is left out")
		return
	}
	for _, session := range []string{warm, first} { // which a run that failed may have left
		end := r.theirs(session, "close")
		_ = exec.Command(end.argv[0], end.argv[1:]...).Run() // mostly there is none
	}
	defer b.run(r.theirs(warm, "close"))

	// The page is open in both when they are told to look at it.
	b.run(r.theirs(warm, "open", table))
	b.ratio("kxm-steel snapshot --max-bytes 0 of the table / agent-browser", 1, whole, r.theirs(warm, "snapshot"))
	b.sizes("kxm-steel snapshot of the table in bytes / agent-browser", 0.5, whole, r.theirs(warm, "snapshot"))

	opening := r.theirs(first, "open", r.site)
	end := r.theirs(first, "close")
	opening.before = &end
	b.ratio("kxm-steel goto, the first command / agent-browser's first open", 0.4, r.ours("goto", r.site), opening)
	b.run(end)
	b.ratio("kxm-steel goto / agent-browser open", 1, r.ours("goto", r.site), r.theirs(warm, "open", r.site))
	b.ratio("kxm-steel get url / agent-browser", 2.5, r.ours("get", "url"), r.theirs(warm, "get", "url"))
	b.ratio("kxm-steel eval 1+1 / agent-browser", 2.5, r.ours("eval", "1+1"), r.theirs(warm, "eval", "1+1"))
	b.ratio("kxm-steel snapshot of the login page / agent-browser", 2, r.ours("snapshot"), r.theirs(warm, "snapshot"))
	text := r.ours("snapshot", "--max-bytes", "0", "--format", "text")
	b.sizes("kxm-steel snapshot of the login page in bytes / agent-browser", 0.6, text, r.theirs(warm, "snapshot"))
	b.sizes("kxm-steel snapshot of the login page in bytes / agent-browser -i", 0.85, text, r.theirs(warm, "snapshot", "-i"))
	b.sizes("kxm-steel snapshot of the login page in JSON / agent-browser --json", 0.4, r.ours("snapshot"), r.theirs(warm, "snapshot", "--json"))

	loggedOut := r.ours("goto", r.site+"/logout")
	ours, theirs, cold := r.ourLogin(), r.theirLogin(warm), r.theirLogin(first)
	ours.before, theirs.before = &loggedOut, &loggedOut
	b.ratio("kxm-steel login of eight commands / agent-browser", 1.25, ours, theirs)
	noDaemon := shell(b.dir, fmt.Sprintf("kxm-steel goto %s/logout && '%s' --session %s close", r.site, r.other, first))
	cold.before = &noDaemon
	b.ratio("kxm-steel login / agent-browser with its daemon's start", 0.9, ours, cold)
	b.run(end)
}

// ourLogin and theirLogin are the same eight commands.
func (r *rivals) ourLogin() command {
	return shell(r.b.dir, fmt.Sprintf(`set -e
kxm-steel goto %[1]s
kxm-steel snapshot
kxm-steel fill 'label=Email' %[2]s
SECRET='%[3]s' kxm-steel fill label=Password --from-env SECRET
kxm-steel click 'text=Sign in' --nth 2 # the first is the heading
kxm-steel wait --text 'Welcome Ada'
kxm-steel get text css=h1
kxm-steel shot -o ours.png`, r.site, steeltest.Email, steeltest.Password))
}

func (r *rivals) theirLogin(session string) command {
	run := fmt.Sprintf("'%s' --session %s --cdp %s", r.other, session, r.cdp)
	return shell(r.b.dir, fmt.Sprintf(`set -e
%[4]s open %[1]s
%[4]s snapshot
%[4]s find label Email fill %[2]s
%[4]s find label Password fill '%[3]s'
%[4]s find role button click --name 'Sign in'
%[4]s wait --text 'Welcome Ada'
%[4]s get text h1
%[4]s screenshot theirs.png`, r.site, steeltest.Email, steeltest.Password, run))
}

// sizes prints the size of what x prints over that of what y prints.
func (b *bench) sizes(name string, bound float64, x, y command) {
	if !b.wanted(name) {
		return
	}
	p, q := b.printed(x), b.printed(y)
	b.print(name, float64(p)/float64(q), bound, fmt.Sprintf("%d / %d bytes", p, q))
}

// size prints the size of what x prints over a number of bytes.
func (b *bench) size(name string, bound float64, x command, bytes int64) {
	if !b.wanted(name) {
		return
	}
	n := b.printed(x)
	b.print(name, float64(n)/float64(bytes), bound, fmt.Sprintf("%d bytes", n))
}
