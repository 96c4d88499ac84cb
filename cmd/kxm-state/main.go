// Command kxm-state keeps what is true of a project now, who said so and on what
// evidence: values by key that change only by promotion, and a journal, as
// append-only events in a Git ref. Start with the grammar; desk.go opens the store,
// and the rules are lib/state's.
package main

import "kxm/lib/cli"

func main() { cli.Main(program()) }

func program() cli.Program {
	return cli.Program{Name: "kxm-state", Description: description, Grammar: &grammar{}}
}
