package main

import (
	"os"

	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/item"
	"kxm/lib/packet"
)

// dispatchCmd builds the packet that an agent's step is given.
type dispatchCmd struct {
	stepInput
	Agent  string `required:"" placeholder:"ID" help:"The agent's id, 1 to 128 characters: a role's name, or one with a hyphen behind it and more; any other id is a role of its own."`
	Render bool   `help:"Print the Markdown that the agent is given, not the packet and its audit."`
}

// Help shows the pipe that the verb is made for.
func (*dispatchCmd) Help() string {
	return `    kxm-memory list --committed --pin ctxrev_… --scope project,operator --from memory,skills |
        kxm-pack dispatch --agent critic-arch --step step.json

At most 4,000 tokens are selected, and the packet is then pruned to its budget. What was
withheld or could not be loaded is a gap in budget.unresolvedGaps, never in the prompt, and
never an error: the step still runs.`
}

// Codes names what the command can end with.
func (*dispatchCmd) Codes() []fault.Code {
	return append(poolCodes(), fault.ContextIsolationViolation, fault.InvalidStep)
}

// Run prints the packet and its audit, or the rendered packet.
func (c *dispatchCmd) Run(s *cli.Session) error {
	cfg, err := loadConfig(s)
	if err != nil {
		return err
	}
	if c.Agent == "" {
		return fault.New(fault.Usage, "--agent is empty")
	}
	if err := label("--agent", c.Agent, item.MaxID); err != nil {
		return err
	}
	j, err := c.job(s)
	if err != nil {
		return err
	}
	pool, err := dispatchPool(s)
	if err != nil {
		return err
	}
	project, err := c.project(j.step, cfg, pool)
	if err != nil {
		return err
	}
	maskGaps(&pool)
	role := packet.AgentRole(packet.Roles(cfg), c.Agent)
	role.Name = maskText(role.Name)
	j.step.Project = maskText(project)
	r := packet.DispatchRequest{Project: project, Step: j.step, Role: role, Share: share(cfg), Budget: j.budget, Now: j.now}
	var answer pruned
	if answer.Packet, answer.Audit, err = packet.Dispatch(pool, r, maskItem); err != nil {
		return err
	}
	if c.Render {
		s.Print("%s\n", answer.Packet.Prompt(false))
		return nil
	}
	return s.Emit(answer)
}

// dispatchPool reads the pool. A stream that is not there, or that breaks, is a gap:
// what is wrong with an item is an error as it is everywhere.
func dispatchPool(s *cli.Session) (item.Pool, error) {
	if device(s.In) {
		return item.Pool{Gaps: []item.Gap{{Gap: packet.GapNotLoaded}}}, nil
	}
	pool, err := item.ReadPool(s.In, "stdin")
	if fault.Is(err, fault.IOFailed) {
		s.Warn("%s", err)
		return item.Pool{Gaps: []item.Gap{{Gap: packet.GapFailed}}}, nil
	}
	return pool, err
}

// device reports whether a stream is a terminal or another device, from which no pool
// comes. One that was closed is the null device to a Go program.
func device(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err != nil || info.Mode()&os.ModeCharDevice != 0
}
