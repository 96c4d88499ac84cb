package main

import (
	"context"
	"os"

	"kxm/lib/cli"
	"kxm/lib/fault"
	"kxm/lib/item"
	"kxm/lib/ndjson"
	"kxm/lib/project"
	"kxm/lib/skill"
)

// skillCmd groups the verbs of governed skills.
type skillCmd struct {
	List     skillListCmd     `cmd:"" help:"Print the skills, by status and id."`
	Show     skillShowCmd     `cmd:"" help:"Print one skill with its history."`
	Create   skillCreateCmd   `cmd:"" help:"Add a candidate from a folder or a SKILL.md."`
	Evaluate skillEvaluateCmd `cmd:"" help:"Record an evaluation; a failed functional or safety one quarantines the skill."`
	Promote  skillPromoteCmd  `cmd:"" help:"Move a candidate to the promoted skills."`
	Reject   skillRejectCmd   `cmd:"" help:"Move a skill to the rejected ones."`
	Verify   skillVerifyCmd   `cmd:"" help:"Recompute digests; exit 1 when one does not fit."`
}

// actor is who does something: a label, not a credential.
type actor struct {
	As string `placeholder:"NAME" env:"KXM_ACTOR" help:"Who does this; default: Git's user.email."`
}

// name returns the actor.
func (a actor) name(ctx context.Context, p *project.Place) (string, error) {
	if a.As != "" {
		return a.As, nil
	}
	if p.Repo != nil {
		email, ok, err := p.Repo.ConfigValue(ctx, "user.email")
		if err != nil {
			return "", err
		}
		if ok && email != "" {
			return email, nil
		}
	}
	return "", fault.New(fault.ActorUnknown, "nobody is named as the actor").WithHint("--as NAME, KXM_ACTOR or git config user.email")
}

// store opens the skills for writing.
func store(s *cli.Session) (*project.Place, *skill.Store, error) {
	ctx := context.Background()
	p, root, err := writable(s)
	if err != nil {
		return nil, nil, err
	}
	v, err := p.Worktree(ctx)
	if err != nil {
		return nil, nil, err
	}
	return p, &skill.Store{Kxm: root, Path: p.Folder(), Allow: allow(v)}, nil
}

// act carries out a verb on the skills as the actor, and prints the record that it
// leaves.
func (a actor) act(s *cli.Session, verb func(st *skill.Store, by string) (*skill.Skill, error)) error {
	p, st, err := store(s)
	if err != nil {
		return err
	}
	by, err := a.name(context.Background(), p)
	if err != nil {
		return err
	}
	done, err := verb(st, by)
	if err != nil {
		return err
	}
	return s.Emit(done)
}

func skillWriteCodes(codes ...fault.Code) []fault.Code {
	return append(append(recordCodes(), fault.ProjectNotConfigured, fault.ActorUnknown, fault.SecretFound, fault.ProtocolError,
		fault.SkillNotFound, fault.SkillIntegrityViolation, fault.InvalidSkillMetadata, fault.SkillsBusy), codes...)
}

type skillListCmd struct {
	Status string `placeholder:"S" enum:"candidate,promoted,quarantined,rejected," default:"" help:"Only candidate, promoted, quarantined or rejected ones."`
	Rev    string `placeholder:"REV" help:"Read a commit instead of the worktree."`
}

// Codes names what the command can end with.
func (*skillListCmd) Codes() []fault.Code { return append(recordCodes(), fault.RevisionNotFound) }

// Run prints one line a skill, then a gap for each folder that is none.
func (c *skillListCmd) Run(s *cli.Session) error {
	v, err := skillView(s, c.Rev)
	if err != nil {
		return err
	}
	var which []skill.Status
	if c.Status != "" {
		which = append(which, skill.Status(c.Status))
	}
	skills, problems := skill.List(v.Kxm, which...)
	var out []byte
	for i := range skills {
		out = append(skills[i].AppendJSON(out), '\n')
	}
	for _, p := range problems {
		g := item.Gap{Gap: p.Gap(), Detail: fault.Detail(p.Err)}
		out = append(g.AppendJSON(out), '\n')
		s.Warn("%s: %s", g.Gap, g.Detail)
	}
	s.Write(out)
	return nil
}

func skillView(s *cli.Session, rev string) (*project.View, error) {
	ctx := context.Background()
	p, err := findPlace(ctx, s)
	if err != nil {
		return nil, err
	}
	return viewed(ctx, p, rev, false)
}

type skillShowCmd struct {
	ID  string `arg:"" name:"id" help:"The skill's id."`
	Rev string `placeholder:"REV" help:"Read a commit instead of the worktree."`
}

// Codes names what the command can end with.
func (*skillShowCmd) Codes() []fault.Code {
	return append(recordCodes(), fault.RevisionNotFound, fault.SkillNotFound, fault.SkillIntegrityViolation, fault.InvalidSkillMetadata, fault.InvalidJSON)
}

// Run prints the record, whether it verifies, what promotion still needs, and the
// history.
func (c *skillShowCmd) Run(s *cli.Session) error {
	v, err := skillView(s, c.Rev)
	if err != nil {
		return err
	}
	found, err := skill.Find(v.Kxm, c.ID)
	if err != nil {
		return err
	}
	lines, err := skill.History(v.Kxm, c.ID)
	if err != nil {
		return err
	}
	out := []byte(`{"schema":"kxm.skill-show.v1","skill":`)
	out = found.AppendJSON(out)
	verified := "true"
	if found.Verify(v.Kxm) != nil {
		verified = "false"
	}
	missing, err := ndjson.Marshal(found.Missing())
	if err != nil {
		return err
	}
	out = append(out, `,"verified":`+verified+`,"missing":`...)
	out = append(append(out, missing...), `,"history":[`...)
	for i, line := range lines {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, line...)
	}
	s.Write(append(out, "]}\n"...))
	return nil
}

type skillCreateCmd struct {
	actor
	From    string   `arg:"" name:"from" placeholder:"PATH" help:"A folder with a SKILL.md, or a SKILL.md; - reads one from standard input."`
	Model   []string `required:"" placeholder:"MODEL" sep:"none" help:"A model that the skill was made with or for; 1 to 16."`
	Runs    []string `name:"run" placeholder:"ID" sep:"none" help:"A run that it comes from; may be repeated."`
	Journal []string `placeholder:"ID" sep:"none" help:"A journal entry that it comes from; may be repeated."`
	Receipt []string `placeholder:"REF" sep:"none" help:"A receipt that it comes from; may be repeated."`
}

// Codes names what the command can end with.
func (*skillCreateCmd) Codes() []fault.Code {
	return skillWriteCodes(fault.SkillSourcesRequired, fault.InvalidSkillFrontmatter, fault.InvalidSkillName, fault.SkillCandidateExists, fault.TreeRefused)
}

// Run adds the candidate and prints its record.
func (c *skillCreateCmd) Run(s *cli.Session) error {
	p, st, err := store(s)
	if err != nil {
		return err
	}
	by, err := c.name(context.Background(), p)
	if err != nil {
		return err
	}
	candidate := skill.Candidate{
		Author: by, Models: c.Model, At: s.Now(),
		Sources: skill.Sources{RunIDs: c.Runs, JournalIDs: c.Journal, Receipts: c.Receipt},
	}
	if info, serr := os.Stat(s.Path(c.From)); c.From != "-" && serr == nil && info.IsDir() {
		root, err := os.OpenRoot(s.Path(c.From))
		if err != nil {
			return fault.Wrap(err, fault.IOFailed, "cannot open %s", fault.Quote(c.From))
		}
		defer root.Close()
		candidate.Files = root.FS()
	} else if candidate.Document, err = s.ReadFile(c.From); err != nil {
		return err
	}
	created, err := st.Create(candidate)
	if err != nil {
		return err
	}
	return s.Emit(created)
}

type skillEvaluateCmd struct {
	actor
	ID       string   `arg:"" name:"id" help:"The skill's id."`
	Kind     string   `arg:"" name:"kind" enum:"static-review,sandbox,functional,safety,optimization" help:"static-review, sandbox, functional, safety or optimization."`
	Result   string   `arg:"" name:"result" enum:"passed,failed" help:"passed or failed."`
	Evidence []string `placeholder:"REF" sep:"none" help:"A run, report or commit that shows it; may be repeated."`
	Notes    string   `placeholder:"TEXT" help:"What was found."`
}

// Codes names what the command can end with.
func (*skillEvaluateCmd) Codes() []fault.Code { return skillWriteCodes() }

// Run records the evaluation and prints the record.
func (c *skillEvaluateCmd) Run(s *cli.Session) error {
	return c.act(s, func(st *skill.Store, by string) (*skill.Skill, error) {
		return st.Evaluate(c.ID, skill.Evaluation{
			Kind: skill.EvaluationKind(c.Kind), Passed: c.Result == "passed", By: by, Evidence: c.Evidence, Notes: c.Notes,
		}, s.Now())
	})
}

type skillPromoteCmd struct {
	actor
	ID       string   `arg:"" name:"id" help:"The candidate's id."`
	Evidence []string `required:"" placeholder:"REF" sep:"none" help:"What the decision rests on; may be repeated."`
}

// Codes names what the command can end with.
func (*skillPromoteCmd) Codes() []fault.Code {
	return skillWriteCodes(fault.SkillPromotionInvalid, fault.SkillEvaluationsIncomplete)
}

// Run moves the skill and prints the record; the commit is left to a pull request.
func (c *skillPromoteCmd) Run(s *cli.Session) error {
	return c.act(s, func(st *skill.Store, by string) (*skill.Skill, error) {
		return st.Promote(c.ID, by, c.Evidence, s.Now())
	})
}

type skillRejectCmd struct {
	actor
	ID  string `arg:"" name:"id" help:"The skill's id."`
	Why string `required:"" placeholder:"TEXT" help:"The reason."`
}

// Codes names what the command can end with.
func (*skillRejectCmd) Codes() []fault.Code { return skillWriteCodes() }

// Run moves the skill and prints the record.
func (c *skillRejectCmd) Run(s *cli.Session) error {
	return c.act(s, func(st *skill.Store, by string) (*skill.Skill, error) { return st.Reject(c.ID, by, c.Why, s.Now()) })
}

type skillVerifyCmd struct {
	ID  string `arg:"" optional:"" name:"id" help:"The skill's id; default: every skill."`
	Rev string `placeholder:"REV" help:"Read a commit instead of the worktree."`
}

// Codes names what the command can end with.
func (*skillVerifyCmd) Codes() []fault.Code {
	return append(recordCodes(), fault.RevisionNotFound, fault.SkillNotFound, fault.SkillIntegrityViolation, fault.InvalidSkillMetadata)
}

// verified is one line of verify.
type verified struct {
	Schema   string `json:"schema"`
	ID       string `json:"id"`
	Status   string `json:"status"`
	Verified bool   `json:"verified"`
	Problem  string `json:"problem,omitempty"`
}

// Run prints one line a skill.
func (c *skillVerifyCmd) Run(s *cli.Session) error {
	v, err := skillView(s, c.Rev)
	if err != nil {
		return err
	}
	if c.ID != "" {
		found, err := skill.Find(v.Kxm, c.ID)
		if err != nil {
			return err
		}
		if err := found.Verify(v.Kxm); err != nil {
			return err
		}
		return s.Emit(verified{"kxm.skill-verify.v1", found.ID, string(found.Status), true, ""})
	}
	good, problems := skill.Verified(v.Kxm)
	for i := range good {
		if err := s.Emit(verified{"kxm.skill-verify.v1", good[i].ID, string(good[i].Status), true, ""}); err != nil {
			return err
		}
	}
	for _, p := range problems {
		if err := s.Emit(verified{"kxm.skill-verify.v1", maskText(p.ID), string(p.Status), false, maskText(fault.Detail(p.Err))}); err != nil {
			return err
		}
	}
	if len(problems) > 0 {
		return fault.New(fault.SkillIntegrityViolation, "%s does not verify", count(len(problems), "skill"))
	}
	return nil
}
