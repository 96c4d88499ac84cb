package main

import (
	"context"
	"strings"

	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/item"
	"kxm/lib/state"
)

// signable is what the verbs take that sign only when they are asked to: an agent that
// runs where a person's key is configured must not speak as that person by itself.
type signable struct {
	Origin string `placeholder:"O" enum:"human,workflow,peer," default:"" help:"Sign as human, workflow or peer; default: not signed."`
}

// proposeCmd proposes a value.
type proposeCmd struct {
	writing
	signable
	Key        string   `arg:"" optional:"" name:"key" help:"The key, such as release.branch, at most 200 characters; without it the proposal is read as a JSON object from standard input."`
	Summary    string   `arg:"" optional:"" name:"summary" help:"The value, at most 4,000 characters."`
	Evidence   []string `placeholder:"REF" sep:"none" help:"What it rests on; 1 to 32, one flag each."`
	Authority  string   `placeholder:"A" oneof:"policy,instruction,evidence,hypothesis" help:"policy, instruction, evidence or hypothesis; unsigned proposals claim evidence at most; default: evidence."`
	Confidence string   `placeholder:"C" oneof:"verified,probable,uncertain" help:"verified, probable or uncertain; default: probable."`
	ProposedBy string   `placeholder:"NAME" help:"Refuse unless this is the caller: the signer, or the actor when the proposal is not signed."`
}

// Codes names what the command can end with.
func (*proposeCmd) Codes() []fault.Code {
	return signCodes(fault.SecretFound, fault.InvalidJSON, fault.ContextAuthorityViolation, fault.StateProposerMismatch)
}

// Help says what stands on standard input.
func (*proposeCmd) Help() string {
	return `Without arguments the proposal is read from standard input:

  {"key":"release.branch","summary":"Releases are cut from main","evidenceRefs":["pr:12"],
   "authority":"evidence","confidence":"probable","proposedBy":"agent-1"}

The first three are required. What the flags say counts where the object says nothing.`
}

// Run writes the proposal and prints its id.
func (c *proposeCmd) Run(s *cli.Session) error {
	ctx := context.Background()
	proposal, err := c.command(s)
	if err != nil {
		return err
	}
	d, err := c.open(ctx, s)
	if err != nil {
		return err
	}
	drafts, err := c.act(ctx, d, proposal)
	if err != nil {
		return err
	}
	return s.Emit(struct {
		ProposalID string `json:"proposalId"`
		Key        string `json:"key"`
	}{drafts[0].ID, drafts[0].Event.Key})
}

// command is what the arguments say, or the object on standard input.
func (c *proposeCmd) command(s *cli.Session) (command, error) {
	flags := state.Command{
		Verb: state.TypePropose, Key: c.Key, Summary: c.Summary, Authority: item.Authority(c.Authority), Confidence: item.Confidence(c.Confidence),
		Evidence: c.Evidence, ProposedBy: c.ProposedBy, Origin: item.Origin(c.Origin),
	}
	if c.Key != "" {
		switch {
		case strings.TrimSpace(c.Summary) == "":
			return command{}, fault.New(fault.Usage, "a proposal needs a key and a summary")
		case len(c.Evidence) == 0:
			return command{}, fault.New(fault.Usage, "a proposal needs --evidence: what it rests on")
		}
		return command{Command: flags}, nil
	}
	all, err := readCommands(s, state.TypePropose)
	if err != nil {
		return command{}, err
	}
	if len(all) > 1 {
		return command{}, fault.New(fault.InvalidStateEvent, "standard input holds more than one proposal").At("stdin", all[1].line, 0).WithHint("kxm-state batch")
	}
	all[0].fill(flags)
	return all[0], nil
}
