// Command kxm-wiki shows what a project knows as pages for review: it compiles them
// from a pool of context items, lints them, and tells what was learned between two
// commits. Start with the grammar; pages are lib/wiki's, pool.go finds the pool and
// write.go writes files.
package main

import "kxm/lib/cli"

func main() { cli.Main(program()) }

func program() cli.Program {
	return cli.Program{Name: "kxm-wiki", Description: description, Grammar: &grammar{}}
}
