package main

import (
	"time"

	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/steel"
)

const description = `Open and release browser sessions on a Steel server.

The server is named by STEEL_API_URL or steel.apiUrl in the user's configuration; a
repository's configuration cannot name one. The key comes from STEEL_API_KEY or a key
command, and is printed nowhere. No program stays behind: each command looks at the
server and at the state on disk, does one thing and ends.

  kxm-steel doctor
  SESSION_ID=$(kxm-steel session start | jq -r .id)
  trap 'kxm-steel session release "$SESSION_ID"' EXIT

The open-source server has one browser and keeps its profile: cookies and storage of a
session are there in the next one. It also ends whatever session is current, whichever
id it is told; every release here looks first.`

// grammar is the command line.
type grammar struct {
	cli.Globals

	Session sessionCmd `cmd:"" help:"Start, list, show, adopt, release and sweep up sessions."`
	Goto    gotoCmd    `cmd:"" help:"Send the tab to a page."`
	Back    backCmd    `cmd:"" help:"Go back to the page before."`
	Reload  reloadCmd  `cmd:"" help:"Load the page again."`
	Eval    evalCmd    `cmd:"" help:"Run a script in the page and print its value."`
	Get     getCmd     `cmd:"" help:"Print one thing about the page or an element."`
	Wait    waitCmd    `cmd:"" help:"Wait until the page is as named."`

	Fill  fillCmd  `cmd:"" help:"Replace what a field holds."`
	Type  typeCmd  `cmd:"" help:"Type a text by keys."`
	Press pressCmd `cmd:"" help:"Press a key."`

	Select selectCmd `cmd:"" help:"Choose options of a list."`
	Check  checkCmd  `cmd:"" help:"Turn a checkbox, radio button or switch on or off."`
	Upload uploadCmd `cmd:"" help:"Give files to the page."`

	Click  clickCmd  `cmd:"" help:"Press an element."`
	Hover  hoverCmd  `cmd:"" help:"Move the mouse to an element."`
	Scroll scrollCmd `cmd:"" help:"Bring an element into sight, or scroll the page."`

	Console  consoleCmd  `cmd:"" help:"Print what the page said on its console, one message a line."`
	Network  networkCmd  `cmd:"" help:"Print what the page asked for, one request a line."`
	Snapshot snapshotCmd `cmd:"" help:"Print the page as lines of text, with references to its elements."`
	Shot     shotCmd     `cmd:"" help:"Write a picture of the tab."`
	PDF      pdfCmd      `cmd:"" name:"pdf" help:"Write the tab as a PDF document."`
	Download downloadCmd `cmd:"" help:"Write a file, read with the tab's cookies."`

	Tab      tabCmd      `cmd:"" help:"List, open, choose and close tabs."`
	Cookies  cookiesCmd  `cmd:"" help:"List and remove cookies."`
	Context  contextCmd  `cmd:"" help:"Keep a signed-in state in a file, and load it again."`
	Dialog   dialogCmd   `cmd:"" help:"Say how dialogs of pages are answered, and print the last ones."`
	Recover  recoverCmd  `cmd:"" help:"Close tabs that are stuck, revive crashed ones, and see to it that one works."`
	Takeover takeoverCmd `cmd:"" help:"Hand the tab to a person for a login, a code or a consent, and take it back."`

	Exec   execCmd   `cmd:"" help:"Run a program that controls the session, without the key."`
	CdpURL cdpURLCmd `cmd:"" name:"cdp-url" help:"Print the address of the session's browser."`

	Scrape     scrapeCmd     `cmd:"" help:"Print the text of one page, without a session."`
	Screenshot screenshotCmd `cmd:"" help:"Write a picture of one page, without a session."`
	Doctor     doctorCmd     `cmd:"" help:"Check configuration, key, server and state; change nothing."`
}

// sessionCmd is the verbs about sessions.
type sessionCmd struct {
	Start   startCmd   `cmd:"" help:"Create a session and record it."`
	List    listCmd    `cmd:"" help:"Print what server and records know, one session a line."`
	Show    showCmd    `cmd:"" help:"Print one session with its history."`
	Adopt   adoptCmd   `cmd:"" help:"Record a live session that something else created."`
	Release releaseCmd `cmd:"" help:"End a session."`
	Sweep   sweepCmd   `cmd:"" help:"Look for sessions that nobody looks after; with --release end them."`
}

// duration is a flag's: 300000 (milliseconds), 300s or 5m.
type duration time.Duration

// UnmarshalText reads it.
func (d *duration) UnmarshalText(text []byte) error {
	v, err := steel.ParseDuration(string(text))
	if err != nil {
		return fault.New(fault.Usage, "%s is no duration", fault.Quote(string(text))).WithHint("300000 (milliseconds), 300s or 5m")
	}
	*d = duration(v)
	return nil
}

// changing is the flag of what changes the server.
type changing struct {
	LockWait duration `placeholder:"D" default:"10s" help:"How long to wait for another program that is changing the server's sessions."`
}
