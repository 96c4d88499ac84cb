package main

import (
	"bytes"
	"io"

	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/item"
	"kxm/lib/ndjson"
	"kxm/lib/packet"
)

// formalCmd builds the formal packet of a step.
type formalCmd struct {
	stepInput
	Role string `placeholder:"NAME" help:"The role that the packet is for, 1 to 64 characters; default: the step's targetRole, else [pack] role of the configuration."`
}

// Help says what is read and what is made of it.
func (*formalCmd) Help() string {
	return `Standard input holds items (all of them go into the packet: nothing is selected) or the
answer of the packet command, whose items were selected. Their order is kept.`
}

// Codes names what the command can end with.
func (*formalCmd) Codes() []fault.Code {
	return append(poolCodes(), fault.ContextIsolationViolation, fault.InvalidStep, fault.InvalidPacket)
}

// Run prints the packet.
func (c *formalCmd) Run(s *cli.Session) error {
	cfg, err := loadConfig(s)
	if err != nil {
		return err
	}
	if err := label("--role", c.Role, packet.MaxRoleName); err != nil {
		return err
	}
	j, err := c.job(s)
	if err != nil {
		return err
	}
	step := j.step
	for _, role := range []string{c.Role, step.TargetRole, cfg.Pack.Role} {
		if role != "" {
			step.TargetRole = maskText(role)
			break
		}
	}
	if step.TargetRole == "" {
		return fault.New(fault.Usage, "no role is given").WithHint("--role NAME, or targetRole in %s", fault.Quote(c.Step))
	}
	pool, open, err := readSupply(s)
	if err != nil {
		return err
	}
	project, err := c.project(step, cfg, pool)
	if err != nil {
		return err
	}
	maskGaps(&pool)
	material, err := packet.FromPool(pool, project, open, maskItem)
	if err != nil {
		return err
	}
	step.Project = maskText(project)
	material.Budget = j.budget
	p, err := packet.Build(step, material, j.now)
	if err != nil {
		return err
	}
	return s.Emit(p)
}

// readSupply reads standard input: a pool, or the answer of the packet command, which
// also says what is in open contradiction.
func readSupply(s *cli.Session) (item.Pool, map[string]bool, error) {
	if cli.Terminal(s.In) {
		pool, err := readPool(s)
		return pool, nil, err
	}
	var seen bytes.Buffer // what the first value took, for the pool that it may begin
	decoder := ndjson.NewDecoder(io.TeeReader(s.In, &seen), "stdin")
	first, err := decoder.Next()
	if err != nil || !packet.Holds(first.Raw) {
		pool, err := item.ReadPool(io.MultiReader(&seen, s.In), "stdin")
		return pool, nil, err
	}
	if err := alone(decoder, "stdin", "packet", fault.InvalidPacket); err != nil {
		return item.Pool{}, nil, err
	}
	pool, open, err := packet.ReadSelected(first.Raw)
	return pool, open, placed(err, "stdin", first.Line)
}
