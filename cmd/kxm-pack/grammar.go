package main

import "kxm/lib/cli"

const description = `Select context for an agent, by role and within a token budget.

    kxm-memory list | kxm-pack --role planner --task "…"

Reads context items (kxm-memory list prints them) on standard input and writes a
packet. The same items and the same request give the same bytes: no model, clock,
locale or order of the input takes part. It reads no repository and no network.`

// grammar is the command line.
type grammar struct {
	cli.Globals

	Packet  packetCmd  `cmd:"" default:"withargs" help:"Build the packet for a role and a task (the default command)."`
	Roles   rolesCmd   `cmd:"" help:"List the effective role policies and where each came from."`
	Recall  recallCmd  `cmd:"" help:"Search the pool; prints metadata, never summaries."`
	Explain explainCmd `cmd:"" help:"Say where an item comes from: its lineage, evidence and sources."`

	Formal   formalCmd   `cmd:"" help:"Build the formal packet of a step."`
	Prune    pruneCmd    `cmd:"" help:"Fit a formal packet into a budget; names what was removed."`
	Render   renderCmd   `cmd:"" help:"Render a formal packet as the Markdown that an agent is given."`
	Handoff  handoffCmd  `cmd:"" help:"Build or check a handoff manifest."`
	Dispatch dispatchCmd `cmd:"" help:"Select from a pool for an agent's step and build its packet."`
	Prompt   promptCmd   `cmd:"" help:"Compile model instructions: a stable system prompt, and updates with what changed."`
}
