package cli

import (
	"fmt"

	"github.com/alecthomas/kong"
)

// Version is the release; scripts/build sets it with -ldflags -X.
var Version = "0.1.0"

// Date is the release's, as 2006-01-02, for the manual page; scripts/build sets it.
var Date = ""

func version() string { return Version }

type versionFlag bool

// BeforeReset prints the version and ends the parse, before kong asks for a
// command.
func (versionFlag) BeforeReset(app *kong.Kong, vars kong.Vars) error {
	if _, err := fmt.Fprintln(app.Stdout, vars["version"]); err != nil {
		return err
	}
	app.Exit(0)
	return nil
}
