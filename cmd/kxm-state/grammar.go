package main

import "kxm/lib/cli"

const description = `Keep temporal state: one value a key, changed only by promotion.

Agents propose, operators promote on evidence with a signature, and the author of
a proposal cannot promote it. Every event stays in refs/kxm/state of the
repository; no branch, index or worktree is touched. Who may sign stands in
.kxm/allowed_signers at the trust point, the commit that was reviewed.

  kxm-state propose release.branch "Releases are cut from main" --evidence pr:12
  kxm-state promote PROPOSAL --evidence review:pr-12
  kxm-state get release.branch`

// grammar is the command line.
type grammar struct {
	cli.Globals

	Init           initCmd           `cmd:"" help:"Make a signing key if there is none, and allow it to sign; change nothing that exists."`
	Propose        proposeCmd        `cmd:"" help:"Propose a value for a key."`
	Promote        promoteCmd        `cmd:"" help:"Make a proposal the current value of its key; signed."`
	Reject         rejectCmd         `cmd:"" help:"Reject a proposal; signed."`
	Withdraw       withdrawCmd       `cmd:"" help:"Withdraw a proposal of one's own."`
	Get            getCmd            `cmd:"" help:"Print the value of a key, now or earlier."`
	List           listCmd           `cmd:"" help:"Print values and proposals."`
	History        historyCmd        `cmd:"" help:"Print every event of a key in order, with who made it and whether it counts."`
	Proposals      proposalsCmd      `cmd:"" help:"Print the open proposals."`
	Contradictions contradictionsCmd `cmd:"" help:"Print keys with several current values or several open proposals."`
	Journal        journalCmd        `cmd:"" help:"Add to, list and review the journal."`
	Episode        episodeCmd        `cmd:"" help:"Sum up a run."`
	Episodes       episodesCmd       `cmd:"" help:"Print what happened in runs, oldest first."`
	Batch          batchCmd          `cmd:"" help:"Carry out commands from standard input in one commit: all of them or none."`
	Log            logCmd            `cmd:"" help:"Print events as they were committed."`
	Sign           signCmd           `cmd:"" help:"Add a signature to events that exist."`
	Verify         verifyCmd         `cmd:"" help:"Check every event: path, digest, signature, ceiling, lineage."`
	Doctor         doctorCmd         `cmd:"" help:"Say what is set up and what is broken; --repair mends the ref."`
	Sync           syncCmd           `cmd:"" help:"Exchange events with a remote."`
	Export         exportCmd         `cmd:"" help:"Print every event with its signatures, to be imported elsewhere."`
	Import         importCmd         `cmd:"" help:"Read what export printed."`
	Compact        compactCmd        `cmd:"" help:"Pack the log's objects; never changes an event."`
}
