package main

import "kxm/lib/cli"

const description = `Show what a project knows as pages that people review.

The pool is read from standard input, or from the repository with --repo and where
standard input is a terminal or the null device:

  kxm-memory list --all | kxm-wiki compile --out .
  kxm-wiki compile --repo --staged --check

Pages are a view and no store: nothing reads them back.`

// grammar is the command line.
type grammar struct {
	cli.Globals

	Compile compileCmd `cmd:"" help:"Compile the pages; without --out and --html print them."`
	Lint    lintCmd    `cmd:"" help:"Hold the pages against the pool."`
	Diff    diffCmd    `cmd:"" help:"Say what the project learned between two commits."`
}
