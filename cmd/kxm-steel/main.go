// Command kxm-steel opens, lists, releases and sweeps up browser sessions on a Steel
// server, and fetches single pages through it. Start with the grammar; desk.go puts a
// command's surroundings together, and the rules are lib/steel's.
package main

import "kxm/lib/cli"

func main() { cli.Main(program()) }

func program() cli.Program {
	return cli.Program{Name: "kxm-steel", Description: description, Grammar: &grammar{}}
}
