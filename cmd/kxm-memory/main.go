// Command kxm-memory keeps what a project knows in its repository: authored facts,
// candidates and governed skills. It prints the pool of context items that other
// programs select from. Start with the grammar; records are lib/memory's and
// lib/skill's, and place.go finds where they are.
package main

import "kxm/lib/cli"

func main() { cli.Main(program()) }

func program() cli.Program {
	return cli.Program{Name: "kxm-memory", Description: description, Grammar: &grammar{}}
}
