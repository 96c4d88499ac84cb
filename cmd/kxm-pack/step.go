package main

import (
	"bytes"
	"strings"
	"time"
	"unicode"

	"kxm/lib/cli"
	"kxm/lib/config"
	"kxm/lib/fault"
	"kxm/lib/item"
	"kxm/lib/packet"
)

// stepInput is what the verbs share that build the packet of a step.
type stepInput struct {
	clock
	Project string `placeholder:"NAME" env:"KXM_PROJECT" help:"The project that the packet is of; default: the step's, else the configuration's, else the only one in the pool."`
	Step    string `required:"" placeholder:"FILE" help:"The step: a JSON object with project, targetRole, task, plan, and, if any, acceptanceCriteria, predecessors, environment and instructions."`
	Budget  *int   `placeholder:"N" help:"Tokens that the packet may take, 1 to 200,000; default: 16,000."`
}

// clock is the time that is written into what is built.
type clock struct {
	Now string `placeholder:"TIME" help:"The time to write, as RFC 3339 with a zone or as a date; default: SOURCE_DATE_EPOCH, else the clock."`
}

func (c clock) time(s *cli.Session) (time.Time, error) {
	if c.Now == "" {
		return s.Now(), nil
	}
	t, err := item.ParseTime(c.Now)
	if err != nil {
		return t, fault.Wrap(err, fault.Usage, "--now")
	}
	return t, nil
}

// job is what the shared flags ask for.
type job struct {
	step   packet.Step
	budget int
	now    time.Time
}

// job checks the flags and reads the step.
func (c *stepInput) job(s *cli.Session) (j job, err error) {
	if j.now, err = c.clock.time(s); err != nil {
		return j, err
	}
	if j.budget, err = formalBudget(c.Budget, packet.DefaultFormalBudget); err != nil {
		return j, err
	}
	if err = label("--project", c.Project, item.MaxProject); err != nil {
		return j, err
	}
	data, err := readBeside(s, "--step", c.Step)
	if err != nil {
		return j, err
	}
	j.step, err = readDocument(bytes.NewReader(data), c.Step, "step", fault.InvalidStep, packet.ReadStep)
	return j, err
}

// project returns the project asked for: the flag's or environment's, the step's, else
// what counts for every pool. It must have one: a packet names it.
func (c *stepInput) project(step packet.Step, cfg *config.Config, pool item.Pool) (string, error) {
	if c.Project == "" && step.Project != "" {
		if step.Project == item.SharedProject {
			return "", fault.New(fault.InvalidStep, "the step's project cannot be %s, which every project reads", fault.Quote(item.SharedProject)).
				On("project").At(c.Step, 1, 0)
		}
		return step.Project, nil
	}
	name, err := input{c.Project}.project(cfg, pool)
	if err == nil && name == "" {
		err = fault.New(fault.Usage, "no project is given").WithHint("--project NAME, or project in %s", fault.Quote(c.Step))
	}
	return name, err
}

// formalBudget returns the tokens that a flag gives, within their range.
func formalBudget(flag *int, otherwise int) (int, error) {
	if flag == nil {
		return otherwise, nil
	}
	if *flag < packet.MinFormalBudget || *flag > packet.MaxFormalBudget {
		return 0, fault.New(fault.Usage, "--budget must lie between %d and %d tokens", packet.MinFormalBudget, packet.MaxFormalBudget)
	}
	return *flag, nil
}

// label checks a flag that becomes a name in a packet; it may be absent.
func label(flag, text string, most int) error {
	if strings.ContainsFunc(text, unicode.IsControl) {
		return fault.New(fault.Usage, "%s holds a control character", flag)
	}
	return length(flag, text, most)
}
