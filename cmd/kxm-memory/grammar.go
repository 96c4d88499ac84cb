package main

import "kxm/lib/cli"

const description = `Keep and read what a project knows: facts, candidates, skills.

Facts are reviewed Markdown files in .kxm/memory, versioned with the code. list
prints them with the promoted skills as a pool of context items, one JSON object a
line, which kxm-pack selects from:

  kxm-memory list | kxm-pack --role planner --task "…"

Nothing here commits or pushes. Files are written only by the verbs that say so.`

// grammar is the command line.
type grammar struct {
	cli.Globals

	Init       initCmd       `cmd:"" help:"Write .kxm/config.toml and the folders; change nothing that exists."`
	List       listCmd       `cmd:"" help:"Print the pool: items by id, then gaps."`
	Show       showCmd       `cmd:"" help:"Print one record with its body and its history of commits."`
	Check      checkCmd      `cmd:"" help:"Look for what is wrong with the records and the instruction files."`
	Note       noteCmd       `cmd:"" help:"Note a fact as a candidate for review."`
	Candidates candidatesCmd `cmd:"" help:"Print the candidates, oldest first."`
	Promote    promoteCmd    `cmd:"" help:"Move a candidate to the facts; the pull request that brings it in is its review."`
	Deprecate  deprecateCmd  `cmd:"" help:"Mark a fact as no longer true."`
	Supersede  supersedeCmd  `cmd:"" help:"Mark a fact as replaced by another."`
	Brief      briefCmd      `cmd:"" help:"Print the facts that an agent starts with."`
	Sync       syncCmd       `cmd:"" help:"Write the facts into the block of AGENTS.md, CLAUDE.md and GEMINI.md."`
	Revision   revisionCmd   `cmd:"" help:"Print the name of the state of the facts and promoted skills."`
	Doctor     doctorCmd     `cmd:"" help:"Say what is set up, what is missing, and the command that mends it."`
	Skill      skillCmd      `cmd:"" help:"Create, evaluate, decide on and verify governed skills."`
	MergeBlock mergeBlockCmd `cmd:"" help:"Merge three versions of an instruction file; a Git merge driver."`
	Hook       hookCmd       `cmd:"" help:"Install, remove or print the pre-commit hook."`
}
