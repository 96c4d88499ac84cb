// Command kxm-pack selects from a pool of context items what an agent in a role is
// given for a task: a filter from items on standard input to a packet on standard
// output. Start with the grammar; selection itself is lib/packet's.
package main

import "kxm/lib/cli"

func main() { cli.Main(program()) }

func program() cli.Program {
	return cli.Program{Name: "kxm-pack", Description: description, Grammar: &grammar{}}
}
