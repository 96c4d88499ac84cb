package main

import (
	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/packet"
)

// pruneCmd fits a formal packet into a budget.
type pruneCmd struct {
	Budget *int `placeholder:"N" help:"Tokens that the rendered packet may take, 1 to 200,000; default: the packet's allocatedTokens."`
}

// Help says what is removed.
func (*pruneCmd) Help() string {
	return `Reads a formal packet, or an answer that holds one, on standard input. Removed are, until
it fits: shared defaults, episodes and project knowledge, each from the end, then all
snippets, then all artifacts. The objective, the plan and the criteria stay whole. The
audit names what was removed. Fields that are not known are kept; they are no part of
what is measured and rendered.`
}

// Codes names what the command can end with.
func (*pruneCmd) Codes() []fault.Code { return documentCodes(fault.InvalidPacket) }

// pruned is the answer of the verbs that prune.
type pruned struct {
	Packet packet.Formal     `json:"packet"`
	Audit  packet.PruneAudit `json:"audit"`
}

// Run prints the packet and the audit.
func (c *pruneCmd) Run(s *cli.Session) error {
	if _, err := formalBudget(c.Budget, 0); err != nil {
		return err
	}
	p, err := readFormal(s)
	if err != nil {
		return err
	}
	budget, err := formalBudget(c.Budget, p.Budget.AllocatedTokens)
	if err != nil {
		return err
	}
	var answer pruned
	answer.Packet, answer.Audit = packet.Prune(p, budget)
	return s.Emit(answer)
}
