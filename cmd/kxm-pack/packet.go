package main

import (
	"encoding/json"
	"os"
	"strings"

	"kxm/lib/cli"
	"kxm/lib/config"
	"kxm/lib/fault"
	"kxm/lib/ndjson"
	"kxm/lib/packet"
)

// packetCmd builds a context packet.
type packetCmd struct {
	input
	Role          string   `placeholder:"NAME" help:"The role of the agent, 1 to 64 characters; default: [pack] role of the configuration."`
	Task          string   `placeholder:"TEXT" xor:"task" help:"What the agent is to do, at most 2,000 characters; without one nothing is relevant."`
	TaskFile      string   `placeholder:"FILE" xor:"task" help:"Read the task from FILE."`
	Budget        *int     `placeholder:"N" help:"Tokens to fill, 512 to 200,000; default: the role's."`
	Kinds         string   `placeholder:"K,K" listof:"evidence,state,episode,knowledge,skill" help:"Kinds of item, 1 to 5 of evidence, state, episode, knowledge, skill, strongest first; default: the role's."`
	RunID         string   `name:"run" placeholder:"ID" help:"Leave out journal items of other runs."`
	StageID       string   `name:"stage" placeholder:"ID" help:"Leave out journal items of other stages."`
	Contradiction []string `placeholder:"ID" sep:"none" help:"Treat this item as an open contradiction too; may be repeated."`
	WorkingState  string   `placeholder:"FILE" help:"A JSON object to carry along as the packet's workingState."`
	Why           bool     `help:"Add every live item's place, keys and outcome to the audit."`
	Format        string   `enum:"json,markdown" default:"json" placeholder:"FORM" help:"json or markdown."`
	Log           string   `placeholder:"FILE" help:"Append ids, counts, scores and sizes as one line to FILE; never the task or an item's text."`
}

// Codes names what the command can end with.
func (*packetCmd) Codes() []fault.Code {
	return append(poolCodes(), fault.ContextIsolationViolation)
}

// poolCodes are those of reading the configuration and a pool.
func poolCodes() []fault.Code {
	return []fault.Code{
		fault.ConfigInvalid, fault.ConfigKeyUnknown, fault.ConfigKeyNotAllowed, fault.RedactionUnavailable,
		fault.InvalidJSON, fault.InvalidContextItem, fault.InvalidContextField, fault.ContextLimitsExceeded,
		fault.ProtocolError, fault.ContextAuthorityViolation,
	}
}

// Run prints the packet.
func (c *packetCmd) Run(s *cli.Session) error {
	cfg, err := loadConfig(s)
	if err != nil {
		return err
	}
	request, asked, err := c.request(s, cfg)
	if err != nil {
		return err
	}
	workingState, err := c.workingState(s)
	if err != nil {
		return err
	}
	pool, err := readPool(s)
	if err != nil {
		return err
	}
	if request.Project, err = c.project(cfg, pool); err != nil {
		return err
	}
	asked.Project = request.Project
	maskGaps(&pool)
	selection, err := packet.Select(pool, request, maskItem)
	if err != nil {
		return err
	}
	answer, err := selection.Packet(workingState)
	if err != nil {
		return err
	}
	audit := selection.Audit(asked, c.Why, maskText)
	if c.Log != "" {
		if err := appendLog(s.Path(c.Log), request, answer, audit); err != nil {
			return err
		}
	}
	if c.Format == "markdown" {
		_, err := s.Write(answer.Markdown())
		return err
	}
	return s.Emit(struct {
		Packet packet.Packet `json:"packet"`
		Audit  packet.Audit  `json:"audit"`
	}{answer, audit})
}

// request checks the flags. The second result is what was asked for, without
// defaults.
func (c *packetCmd) request(s *cli.Session, cfg *config.Config) (packet.Request, packet.AuditRequest, error) {
	fail := func(err error) (packet.Request, packet.AuditRequest, error) {
		return packet.Request{}, packet.AuditRequest{}, err
	}
	name := c.Role
	if name == "" {
		name = cfg.Pack.Role
	}
	if name == "" {
		return fail(fault.New(fault.Usage, "no role is given").WithHint("--role NAME, or role under [pack] in %s; %s roles lists them", config.FileName, s.Program))
	}
	if err := length("--role", name, packet.MaxRoleName); err != nil {
		return fail(err)
	}
	task := c.Task
	if c.TaskFile != "" {
		data, err := readBeside(s, "--task-file", c.TaskFile)
		if err != nil {
			return fail(err)
		}
		task = strings.TrimSpace(string(data))
	}
	if err := length("the task", task, packet.MaxTask); err != nil {
		return fail(err)
	}
	// From here on without secrets: the words of the task are part of what --why prints.
	task = maskText(task)
	budget := 0
	if c.Budget != nil {
		if budget = *c.Budget; budget < config.MinBudget || budget > config.MaxBudget {
			return fail(fault.New(fault.Usage, "--budget must lie between %d and %d tokens", config.MinBudget, config.MaxBudget))
		}
	}
	kinds, err := parseKinds(c.Kinds)
	if err != nil {
		return fail(err)
	}
	return packet.Request{
			Role: packet.FindRole(packet.Roles(cfg), name), Task: task, Budget: budget, Kinds: kinds,
			RunID: c.RunID, StageID: c.StageID, Contradictions: c.Contradiction, Share: share(cfg),
		}, packet.AuditRequest{
			Role: name, Task: task, BudgetTokens: budget, IncludeKinds: kinds, WorkflowRunID: c.RunID, StageID: c.StageID,
		}, nil
}

// share is the part of the budget that contradictions may take together.
func share(cfg *config.Config) float64 {
	if cfg.Pack.ContradictionShare != nil {
		return *cfg.Pack.ContradictionShare
	}
	return packet.DefaultShare
}

func (c *packetCmd) workingState(s *cli.Session) (json.RawMessage, error) {
	if c.WorkingState == "" {
		return nil, nil
	}
	data, err := readBeside(s, "--working-state", c.WorkingState)
	if err != nil {
		return nil, err
	}
	if len(data) > ndjson.MaxValue {
		return nil, fault.New(fault.InvalidJSON, "the working state is larger than %d MiB", ndjson.MaxValue>>20).At(c.WorkingState, 0, 0)
	}
	if err := ndjson.Validate(data); err != nil {
		return nil, fault.Place(err, c.WorkingState)
	}
	if ndjson.Kind(data) != '{' {
		return nil, fault.New(fault.InvalidJSON, "the working state must be a JSON object").At(c.WorkingState, 1, 0)
	}
	return maskJSON(nil, "", data), nil
}

// readBeside reads a file that a flag names beside the items on standard input.
func readBeside(s *cli.Session, flag, name string) ([]byte, error) {
	if name == "-" {
		return nil, fault.New(fault.Usage, "%s cannot be standard input, which holds the items", flag)
	}
	return s.ReadFile(name)
}

// appendLog adds one line to the log. A single write in append mode keeps lines of
// several processes whole.
func appendLog(path string, r packet.Request, p packet.Packet, a packet.Audit) error {
	line, err := ndjson.Marshal(struct {
		Schema          string    `json:"schema"`
		PacketID        string    `json:"packetId"`
		Project         string    `json:"project"`
		Role            string    `json:"role"`
		TaskCharacters  int       `json:"taskCharacters"`
		SelectedIDs     []string  `json:"selectedIds"`
		Scores          []float64 `json:"scores"`
		Candidates      int       `json:"candidateCount"`
		Superseded      int       `json:"excludedSuperseded"`
		EstimatedTokens int       `json:"estimatedTokens"`
		BudgetTokens    int       `json:"budgetTokens"`
		Gaps            int       `json:"gaps"`
	}{
		"kxm.pack-log.v1", p.PacketID, maskText(r.Project), maskText(r.Role.Name), len([]rune(r.Task)), a.SelectedIDs, a.Relevance.Selected,
		a.CandidateCount, a.ExcludedSuperseded, a.EstimatedTokens, a.BudgetTokens, len(a.UnresolvedGaps),
	})
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fault.Wrap(err, fault.IOFailed, "cannot open the log")
	}
	_, err = f.Write(append(line, '\n'))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fault.Wrap(err, fault.IOFailed, "cannot write the log")
	}
	return nil
}
