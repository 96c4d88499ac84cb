package main

import (
	"context"
	"slices"

	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/item"
	"kxm/lib/state"
)

// deciding is what the verbs take that always sign.
type deciding struct {
	writing
	Origin string `placeholder:"O" enum:"human,workflow" default:"human" help:"Sign as human or workflow; default: human."`
}

// promoteCmd promotes a proposal.
type promoteCmd struct {
	deciding
	Proposal string   `arg:"" name:"proposal" help:"The proposal's id."`
	Evidence []string `required:"" placeholder:"REF" sep:"none" help:"What the decision rests on; 1 to 32, one flag each."`
	Expect   []string `placeholder:"ID" sep:"none" help:"The value that is replaced: a promotion's id, one flag each, or none; default: the value that is current now."`
}

// Codes names what the command can end with.
func (*promoteCmd) Codes() []fault.Code {
	return decideCodes(fault.StatePromotionInvalid, fault.StateProposalNotFound, fault.StateProposalNotPromotable, fault.StateContradiction, fault.StateConflict)
}

// Run promotes and prints the new value.
func (c *promoteCmd) Run(s *cli.Session) error {
	promotion, k, err := c.decide(s, state.Command{
		Verb: state.TypePromote, Proposal: c.Proposal, Evidence: c.Evidence, Expect: c.Expect, Origin: item.Origin(c.Origin),
	})
	if err != nil {
		return err
	}
	// Another promotion may have replaced it already.
	for _, v := range append(slices.Clip(k.Current), k.Superseded...) {
		if slices.Contains(v.IDs(), promotion.ID) {
			return s.Emit(stateAnswer{State: &v.Item})
		}
	}
	return fault.New(fault.StateProposalNotPromotable, "the promotion %s is written and does not count", promotion.ID).WithHint("kxm-state verify")
}

// decide carries out a command about a proposal and folds the proposal's key after it.
func (w writing) decide(s *cli.Session, about state.Command) (*state.Draft, *state.Key, error) {
	ctx := context.Background()
	d, err := w.open(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	drafts, err := w.act(ctx, d, command{Command: about})
	if err != nil {
		return nil, nil, err
	}
	k, err := d.Key(ctx, drafts[0].Event.Key, state.When{})
	return drafts[0], &k, err
}

// end rejects or withdraws a proposal and prints what became of it.
func (w writing) end(s *cli.Session, about state.Command) error {
	ending, k, err := w.decide(s, about)
	if err != nil {
		return err
	}
	for i := range k.Proposals {
		if p := &k.Proposals[i]; slices.Contains(p.EndedBy, ending.ID) {
			return s.Emit(struct {
				Proposal *item.Item `json:"proposal"`
			}{&p.Item})
		}
	}
	return fault.New(fault.StateProposalNotPromotable, "the %s %s is written and does not count", ending.Event.Type(), ending.ID).WithHint("kxm-state verify")
}

// rejectCmd rejects a proposal.
type rejectCmd struct {
	deciding
	Proposal string `arg:"" name:"proposal" help:"The proposal's id."`
	Why      string `required:"" placeholder:"TEXT" help:"The reason."`
}

// Codes names what the command can end with.
func (*rejectCmd) Codes() []fault.Code {
	return decideCodes(fault.StateProposalNotFound, fault.StateProposalNotPromotable)
}

// Run rejects and prints the proposal.
func (c *rejectCmd) Run(s *cli.Session) error {
	return c.end(s, state.Command{Verb: state.TypeReject, Proposal: c.Proposal, Why: c.Why, Origin: item.Origin(c.Origin)})
}

// withdrawCmd withdraws a proposal.
type withdrawCmd struct {
	writing
	signable
	Proposal string `arg:"" name:"proposal" help:"The proposal's id."`
	Why      string `placeholder:"TEXT" help:"The reason."`
}

// Help says who may.
func (*withdrawCmd) Help() string {
	return `Only its author may: of a proposal that was signed, one of its signers, with --origin; of one that was
not, the same actor, both being labels.`
}

// Codes names what the command can end with.
func (*withdrawCmd) Codes() []fault.Code {
	return decideCodes(fault.StateProposalNotFound, fault.StateProposalNotPromotable, fault.StateProposerMismatch)
}

// Run withdraws and prints the proposal.
func (c *withdrawCmd) Run(s *cli.Session) error {
	return c.end(s, state.Command{Verb: state.TypeWithdraw, Proposal: c.Proposal, Why: c.Why, Origin: item.Origin(c.Origin)})
}
